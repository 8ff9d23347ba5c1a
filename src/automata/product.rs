//! Two automata at once: combination, set operations, comparison.
//!
//! A product runs two automata side by side and labels each pair of states that is
//! reached. Sizes multiply in the worst case, so products are built under a budget
//! and minimised at once, and yes-or-no questions never build one: they look for a
//! pair of states lazily and stop at the first (see [`witness`](super::witness)).
//! Cost: pairs reached × columns. Errors: [`TooLarge`].

// Pair components are states of their automata; columns index rows of both.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::TooLarge;
use super::dfa::{Dfa, Label};
use super::minimize::{Columns, Rows, minimal, mix};
use super::witness::shortest_over_pair;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// The minimal automaton that labels each string with `f` of its two labels.
///
/// # Errors
/// [`TooLarge`] past `budget` pairs, or if the byte classes differ.
pub fn product<A: Label, B: Label, C: Label>(
    a: &Dfa<A>,
    b: &Dfa<B>,
    mut f: impl FnMut(&A, &B) -> C,
    budget: usize,
) -> Result<Dfa<C>, TooLarge> {
    if a.classes != b.classes {
        return Err(TooLarge::Classes);
    }
    let columns = Columns::of(a).join(&Columns::of(b));
    let mut numbers: PairMap<u32> = PairMap::default();
    let mut pairs = vec![(a.start, b.start)];
    numbers.insert(pair_key(a.start, b.start), 0);
    let mut trans = Vec::new();
    let mut labels = Vec::new();
    let mut done = 0;
    while done < pairs.len() {
        let (x, y) = pairs[done];
        done += 1;
        labels.push(f(a.label(x), b.label(y)));
        let (row_a, row_b) = (a.row(x), b.row(y));
        for &class in &columns.firsts {
            let to = (row_a[usize::from(class)], row_b[usize::from(class)]);
            let next = pairs.len();
            let number = *numbers.entry(pair_key(to.0, to.1)).or_insert(next as u32);
            if number as usize == next {
                if next >= budget {
                    return Err(TooLarge::States(budget));
                }
                pairs.push(to);
            }
            trans.push(number);
        }
    }
    Ok(minimal(&a.classes, &Rows { columns, trans, labels, start: 0 }))
}

/// Combines a list in order: a balanced tree of products of neighbours.
///
/// `f` must be associative; it need not be commutative. Where a product outgrows
/// `budget` or the sum of its parts (by a quarter, and by what a list may grow
/// by at all), the parts stay separate and the rest goes on around them. So the result
/// is one automaton if all goes well, and in any case a list in the same order
/// whose labels, combined by `f` from left to right, are those of the whole.
/// Deterministic. An empty list gives an empty list.
///
/// # Errors
/// [`TooLarge::Classes`] if the byte classes differ; nothing else.
pub fn product_tree<L: Label>(
    list: Vec<Dfa<L>>,
    f: &impl Fn(&L, &L) -> L,
    budget: usize,
) -> Result<Vec<Dfa<L>>, TooLarge> {
    spend(tree(list, f, budget)?, f, budget, false)
}

/// As [`product_tree`], for an `f` that commutes too: any two may be multiplied, so
/// that fewer stay separate. The order of the result means nothing.
///
/// # Errors
/// As [`product_tree`].
pub fn product_set<L: Label>(
    list: Vec<Dfa<L>>,
    f: &impl Fn(&L, &L) -> L,
    budget: usize,
) -> Result<Vec<Dfa<L>>, TooLarge> {
    spend(tree(list, f, budget)?, f, budget, true)
}

/// The product of two, unless it is much larger than they are.
///
/// # Errors
/// As [`product_tree`].
pub fn product_pair<L: Label>(
    a: &Dfa<L>,
    b: &Dfa<L>,
    f: &impl Fn(&L, &L) -> L,
    budget: usize,
) -> Result<Option<Dfa<L>>, TooLarge> {
    let sum = a.states() + b.states();
    fitting(a, b, f, sum + sum / 4 + 200, budget)
}

fn fitting<L: Label>(
    a: &Dfa<L>,
    b: &Dfa<L>,
    f: &impl Fn(&L, &L) -> L,
    limit: usize,
    budget: usize,
) -> Result<Option<Dfa<L>>, TooLarge> {
    // What minimisation takes away is seldom more than half.
    match product(a, b, f, budget.min(2 * limit)) {
        Ok(both) => Ok((both.states() <= limit).then_some(both)),
        Err(TooLarge::Classes) => Err(TooLarge::Classes),
        Err(_) => Ok(None),
    }
}

fn tree<L: Label>(
    mut list: Vec<Dfa<L>>,
    f: &impl Fn(&L, &L) -> L,
    budget: usize,
) -> Result<Vec<Dfa<L>>, TooLarge> {
    if list.len() < 2 {
        return Ok(list);
    }
    let right = list.split_off(list.len() / 2);
    let mut left = tree(list, f, budget)?;
    let mut right = tree(right, f, budget)?.into_iter();
    if let (Some(a), Some(b)) = (left.pop(), right.next()) {
        match product_pair(&a, &b, f, budget)? {
            Some(both) => left.push(both),
            None => left.extend([a, b]),
        }
    }
    left.extend(right);
    Ok(left)
}

/// Multiplies what a tree left, neighbours or `any` two, the smallest first, while no
/// product doubles and all together grow by no more than the list has states (or 1,000,
/// which is little): one walk less is worth that much.
fn spend<L: Label>(
    list: Vec<Dfa<L>>,
    f: &impl Fn(&L, &L) -> L,
    budget: usize,
    any: bool,
) -> Result<Vec<Dfa<L>>, TooLarge> {
    let total = list.iter().map(Dfa::states).sum::<usize>();
    let mut spare = total.max(1_000);
    let mut list = list.into_iter().enumerate().collect::<Vec<_>>();
    let mut names = list.len();
    let mut failed = HashSet::new();
    loop {
        let last = |i: usize| if any { list.len() } else { list.len().min(i + 2) };
        let pairs = (0..list.len()).flat_map(|i| (i + 1..last(i)).map(move |j| (i, j)));
        let sum = |&(i, j): &(usize, usize)| list[i].1.states() + list[j].1.states();
        let untried = pairs.filter(|&(i, j)| !failed.contains(&(list[i].0, list[j].0)));
        let Some((i, j)) = untried.min_by_key(|pair| (sum(pair), *pair)) else { break };
        let before = sum(&(i, j));
        let ((x, a), (y, b)) = (&list[i], &list[j]);
        match fitting(a, b, f, before + spare.min(before + 500), budget)? {
            Some(both) => {
                spare -= both.states().saturating_sub(before);
                list[i] = (names, both);
                list.remove(j);
                names += 1;
            }
            None => {
                failed.insert((*x, *y));
            }
        }
    }
    Ok(list.into_iter().map(|(_, dfa)| dfa).collect())
}

/// The strings that are not in the language.
pub fn complement(a: &Dfa<bool>) -> Dfa<bool> {
    // Swapping the labels keeps a minimal automaton minimal and its numbering canonical.
    let labels = a.labels.iter().map(|&label| !label).collect();
    Dfa { labels, ..a.clone() }
}

/// The strings in both languages.
///
/// # Errors
/// See [`product`].
pub fn intersect(a: &Dfa<bool>, b: &Dfa<bool>, budget: usize) -> Result<Dfa<bool>, TooLarge> {
    product(a, b, |&x, &y| x && y, budget)
}

/// The strings in either language.
///
/// # Errors
/// See [`product`].
pub fn union(a: &Dfa<bool>, b: &Dfa<bool>, budget: usize) -> Result<Dfa<bool>, TooLarge> {
    product(a, b, |&x, &y| x || y, budget)
}

/// The strings in the first language only.
///
/// # Errors
/// See [`product`].
pub fn difference(a: &Dfa<bool>, b: &Dfa<bool>, budget: usize) -> Result<Dfa<bool>, TooLarge> {
    product(a, b, |&x, &y| x && !y, budget)
}

/// Whether there is no string in the language.
pub fn is_empty(a: &Dfa<bool>) -> bool {
    super::witness::shortest(a, |&label| label).is_none()
}

/// Whether some string is in both languages. Builds nothing.
///
/// # Errors
/// [`TooLarge`] past `budget` pairs without an answer, or if the classes differ.
pub fn meets(a: &Dfa<bool>, b: &Dfa<bool>, budget: usize) -> Result<bool, TooLarge> {
    Ok(shortest_over_pair(a, b, |&x, &y| x && y, budget)?.is_some())
}

/// Whether every string of the first language is in the second. Builds nothing.
///
/// # Errors
/// [`TooLarge`] past `budget` pairs without an answer, or if the classes differ.
pub fn is_subset(a: &Dfa<bool>, b: &Dfa<bool>, budget: usize) -> Result<bool, TooLarge> {
    Ok(shortest_over_pair(a, b, |&x, &y| x && !y, budget)?.is_none())
}

/// Whether both give every string the same label. Builds nothing.
///
/// # Errors
/// [`TooLarge`] past `budget` pairs without an answer, or if the classes differ.
pub fn equivalent<L: Label>(a: &Dfa<L>, b: &Dfa<L>, budget: usize) -> Result<bool, TooLarge> {
    Ok(shortest_over_pair(a, b, |x, y| x != y, budget)?.is_none())
}

/// A map from pairs of states, with a hash that costs one multiplication: keys are
/// state numbers, which nobody chooses to collide.
pub(super) type PairMap<V> = QuickMap<u64, V>;

/// A map with that hash from whatever is made of state numbers or labels.
pub(super) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<PairHasher>>;

pub(super) fn pair_key(a: u32, b: u32) -> u64 {
    u64::from(a) << 32 | u64::from(b)
}

#[derive(Default)]
pub(super) struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        // The table takes its index from the low bits and its tag from the high.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0, word);
    }
}
