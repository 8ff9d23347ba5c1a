//! Shortest strings that show an answer, and lazy searches.
//!
//! Breadth-first search over states, or over pairs or tuples of states, in an
//! order of letters that puts what people type first: the first hit is a shortest
//! string, and among the shortest the one with the most readable first difference.
//! Deterministic. Cost: states (tuples) reached × columns.

// States index arrays of their automaton's size; search nodes point at earlier ones.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::TooLarge;
use super::alphabet::typed_rank;
use super::dfa::{Dfa, Label};
use super::minimize::Columns;
use super::product::{PairMap, pair_key};
use std::collections::{BTreeMap, HashSet};

/// A shortest string whose label satisfies `wanted`.
pub fn shortest<L: Label>(dfa: &Dfa<L>, mut wanted: impl FnMut(&L) -> bool) -> Option<Vec<u8>> {
    let letters = letters(dfa, &Columns::of(dfa));
    let mut seen = vec![false; dfa.states()];
    seen[dfa.start as usize] = true;
    let mut search = Search::new(dfa.start);
    if wanted(dfa.label(dfa.start)) {
        return Some(Vec::new());
    }
    while let Some((node, state)) = search.take() {
        for &(class, byte) in &letters {
            let to = dfa.next(state, class);
            if !std::mem::replace(&mut seen[to as usize], true) {
                search.push(node, byte, to);
                if wanted(dfa.label(to)) {
                    return Some(search.path());
                }
            }
        }
    }
    None
}

/// A shortest string for every label that some string has.
pub fn witnesses<L: Label>(dfa: &Dfa<L>) -> BTreeMap<L, Vec<u8>> {
    let letters = letters(dfa, &Columns::of(dfa));
    let mut seen = vec![false; dfa.states()];
    seen[dfa.start as usize] = true;
    let mut search = Search::new(dfa.start);
    let mut found = BTreeMap::from([(dfa.label(dfa.start).clone(), Vec::new())]);
    while let Some((node, state)) = search.take() {
        for &(class, byte) in &letters {
            let to = dfa.next(state, class);
            if !std::mem::replace(&mut seen[to as usize], true) {
                search.push(node, byte, to);
                if !found.contains_key(dfa.label(to)) {
                    found.insert(dfa.label(to).clone(), search.path());
                }
            }
        }
    }
    found
}

/// A shortest string whose two labels satisfy `wanted`, without building a product.
///
/// # Errors
/// [`TooLarge`] past `budget` pairs without an answer, or if the byte classes differ.
pub fn shortest_over_pair<A: Label, B: Label>(
    a: &Dfa<A>,
    b: &Dfa<B>,
    mut wanted: impl FnMut(&A, &B) -> bool,
    budget: usize,
) -> Result<Option<Vec<u8>>, TooLarge> {
    if a.classes != b.classes {
        return Err(TooLarge::Classes);
    }
    let letters = letters(a, &Columns::of(a).join(&Columns::of(b)));
    // Where one automaton is stuck and no label of the other helps, nothing follows: most
    // pairs of rules part at their first letter.
    let (of_a, of_b) = (kinds(a), kinds(b));
    let stuck_a = stuck(a, |x| of_b.as_ref().is_none_or(|b| b.iter().any(|y| wanted(x, y))));
    let stuck_b = stuck(b, |y| of_a.as_ref().is_none_or(|a| a.iter().any(|x| wanted(x, y))));
    let mut seen: PairMap<()> = PairMap::default();
    seen.insert(pair_key(a.start, b.start), ());
    if wanted(a.label(a.start), b.label(b.start)) {
        return Ok(Some(Vec::new()));
    }
    let mut search = Search::new((a.start, b.start));
    while let Some((node, (x, y))) = search.take() {
        let (row_a, row_b) = (a.row(x), b.row(y));
        for &(class, byte) in &letters {
            let (x, y) = (row_a[usize::from(class)], row_b[usize::from(class)]);
            if stuck_a.contains(&x)
                || stuck_b.contains(&y)
                || seen.insert(pair_key(x, y), ()).is_some()
            {
                continue;
            }
            search.push(node, byte, (x, y));
            if wanted(a.label(x), b.label(y)) {
                return Ok(Some(search.path()));
            }
            if seen.len() > budget {
                return Err(TooLarge::States(budget));
            }
        }
    }
    Ok(None)
}

/// The labels that states have, each once; `None` if they are many.
fn kinds<L: Label>(dfa: &Dfa<L>) -> Option<Vec<&L>> {
    let mut kinds: Vec<&L> = Vec::new();
    for label in &dfa.labels {
        if !kinds.contains(&label) {
            if kinds.len() == MOST_KINDS {
                return None;
            }
            kinds.push(label);
        }
    }
    Some(kinds)
}

/// Labels that are tried one by one.
const MOST_KINDS: usize = 8;

/// The states that lead to themselves only and whose label does not `help`; of a minimal
/// automaton at most one a label.
fn stuck<L: Label>(dfa: &Dfa<L>, mut help: impl FnMut(&L) -> bool) -> Vec<u32> {
    let rows = dfa.trans.chunks_exact(dfa.classes.count()).zip(0_u32..);
    let stays = rows.filter(|(row, state)| row.iter().all(|to| to == state)).map(|(_, s)| s);
    stays.filter(|&state| !help(dfa.label(state))).collect()
}

/// A shortest string whose labels in all automata together satisfy `wanted`: for
/// lists that [`product_tree`](super::product_tree) kept apart.
///
/// # Errors
/// [`TooLarge`] past `budget` tuples without an answer, or if the byte classes differ.
pub fn shortest_over_all<L: Label>(
    list: &[&Dfa<L>],
    mut wanted: impl FnMut(&[&L]) -> bool,
    budget: usize,
) -> Result<Option<Vec<u8>>, TooLarge> {
    let Some(&first) = list.first() else {
        return Ok(wanted(&[]).then(Vec::new));
    };
    if list.iter().any(|dfa| dfa.classes != first.classes) {
        return Err(TooLarge::Classes);
    }
    let columns =
        list.iter().skip(1).fold(Columns::of(first), |all, dfa| all.join(&Columns::of(dfa)));
    let letters = letters(first, &columns);
    let mut hit = |tuple: &[u32]| {
        let labels: Vec<&L> =
            list.iter().zip(tuple).map(|(dfa, &state)| dfa.label(state)).collect();
        wanted(&labels)
    };
    let start: Box<[u32]> = list.iter().map(|dfa| dfa.start).collect();
    if hit(&start) {
        return Ok(Some(Vec::new()));
    }
    let mut seen: HashSet<Box<[u32]>> = HashSet::from([start.clone()]);
    let mut search = Search::new(start);
    while let Some((node, tuple)) = search.take() {
        for &(class, byte) in &letters {
            let to: Box<[u32]> =
                list.iter().zip(&tuple).map(|(dfa, &state)| dfa.next(state, class)).collect();
            if seen.contains(&to) {
                continue;
            }
            seen.insert(to.clone());
            let found = hit(&to);
            search.push(node, byte, to);
            if found {
                return Ok(Some(search.path()));
            }
            if seen.len() > budget {
                return Err(TooLarge::States(budget));
            }
        }
    }
    Ok(None)
}

/// One class and its most readable byte per column, most readable first.
fn letters<L>(dfa: &Dfa<L>, columns: &Columns) -> Vec<(u8, u8)> {
    let mut best: Vec<Option<(u8, u8)>> = vec![None; columns.count()];
    for (class, (&column, &rep)) in columns.of_class.iter().zip(dfa.classes.reps()).enumerate() {
        let slot = &mut best[usize::from(column)];
        if slot.is_none_or(|(_, known)| typed_rank(rep) < typed_rank(known)) {
            *slot = Some((class as u8, rep));
        }
    }
    let mut letters: Vec<(u8, u8)> = best.into_iter().flatten().collect();
    letters.sort_by_key(|&(_, byte)| typed_rank(byte));
    letters
}

/// A breadth-first search tree: node, its parent, the byte between them.
struct Search<S> {
    nodes: Vec<(S, usize, u8)>,
    done: usize,
}

impl<S: Clone> Search<S> {
    fn new(start: S) -> Search<S> {
        Search { nodes: vec![(start, 0, 0)], done: 0 }
    }

    fn take(&mut self) -> Option<(usize, S)> {
        let (state, _, _) = self.nodes.get(self.done)?;
        self.done += 1;
        Some((self.done - 1, state.clone()))
    }

    fn push(&mut self, parent: usize, byte: u8, state: S) {
        self.nodes.push((state, parent, byte));
    }

    /// The bytes that lead to the node pushed last.
    fn path(&self) -> Vec<u8> {
        let mut path = Vec::new();
        let mut node = self.nodes.len() - 1;
        while node != 0 {
            let (_, parent, byte) = self.nodes[node];
            path.push(byte);
            node = parent;
        }
        path.reverse();
        path
    }
}
