//! Searching what no single automaton holds: the states of several automata and
//! whatever else a question has to remember, made step by step.
//!
//! A [`Machine`] says where a search begins and what a byte does; [`explore`] visits
//! every state that is reached once, breadth first and in the order in which people
//! type letters, so the string that leads to a state is a shortest one. A machine
//! answers `None` where nothing that matters can follow: that is how a question about
//! one rule stays within the strings that the rule can match. Cost: states reached ×
//! letters that lead apart. Errors: [`TooLarge`] past the budget.

// Columns index classes of the automata they come from; nodes point at earlier ones.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::TooLarge;
use super::alphabet::typed_rank;
use super::dfa::{Dfa, Label};
use super::minimize::Columns;
use super::product::PairHasher;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash};

/// Something that reads bytes.
pub trait Machine {
    /// All that it remembers.
    type State: Clone + Eq + Hash;
    /// Before the first byte; `None` if no string matters.
    fn start(&self) -> Option<Self::State>;
    /// After one more byte; `None` if no string that goes on from there matters.
    fn step(&self, state: &Self::State, byte: u8) -> Option<Self::State>;
    /// The bytes worth trying: all others lead to one state. All bytes, if not known.
    fn busy(&self, _state: &Self::State) -> Bytes {
        Bytes::ALL
    }
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes([u64; 4]);

impl Bytes {
    /// All of them.
    pub const ALL: Bytes = Bytes([u64::MAX; 4]);

    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn contains(self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    /// The bytes of both sets.
    #[must_use]
    pub fn union(self, other: Bytes) -> Bytes {
        let mut all = self;
        all.0.iter_mut().zip(other.0).for_each(|(word, more)| *word |= more);
        all
    }

    /// Those of `letters` that are in the set, and the first of those that are not.
    fn of(self, letters: &[u8]) -> impl Iterator<Item = u8> {
        let mut other = false;
        letters
            .iter()
            .copied()
            .filter(move |&l| self.contains(l) || !std::mem::replace(&mut other, true))
    }
}

/// For each state of an automaton the bytes that do not lead where most do. A state within
/// a word has one: a search that knows does not try the sixty others one by one.
#[derive(Clone, Debug)]
pub struct Busy(Vec<Bytes>);

impl Busy {
    /// Of an automaton. One byte stands for each class.
    pub fn of<L: Label>(dfa: &Dfa<L>) -> Busy {
        let reps = dfa.classes.reps();
        let rows = dfa.trans.chunks_exact(dfa.classes.count());
        let of_row = |row: &[u32]| {
            // The candidate of a vote is the majority, if there is one.
            let (mut most, mut votes) = (0, 0_u32);
            for &to in row {
                match votes {
                    0 => (most, votes) = (to, 1),
                    _ if most == to => votes += 1,
                    _ => votes -= 1,
                }
            }
            let mut busy = Bytes::default();
            let others = row.iter().zip(reps).filter(|(to, _)| **to != most);
            others.for_each(|(_, &rep)| busy.insert(rep));
            busy
        };
        Busy(rows.map(of_row).collect())
    }

    /// Of a state.
    #[must_use]
    pub fn at(&self, state: u32) -> Bytes {
        self.0[state as usize]
    }
}

/// One byte for each group of bytes that several automata do not tell apart.
#[derive(Clone, Debug)]
pub struct Letters {
    columns: Option<Columns>,
    reps: Vec<u8>,
}

impl Default for Letters {
    fn default() -> Self {
        Letters::new()
    }
}

impl Letters {
    /// Tells nothing apart.
    #[must_use]
    pub fn new() -> Letters {
        Letters { columns: None, reps: Vec::new() }
    }

    /// Tells apart what this automaton does. All automata share their classes.
    pub fn add<L: Label>(&mut self, dfa: &Dfa<L>) {
        let own = Columns::of(dfa);
        self.reps = dfa.classes.reps().to_vec();
        self.columns = Some(match self.columns.take() {
            Some(known) => known.join(&own),
            None => own,
        });
    }

    /// Tells apart what others do too.
    pub fn join(&mut self, other: &Letters) {
        let Some(columns) = &other.columns else { return };
        self.reps.clone_from(&other.reps);
        self.columns = Some(match self.columns.take() {
            Some(known) => known.join(columns),
            None => columns.clone(),
        });
    }

    /// The bytes, the most readable first.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let Some(columns) = &self.columns else { return Vec::new() };
        let mut best: Vec<Option<u8>> = vec![None; columns.count()];
        for (&column, &rep) in columns.of_class.iter().zip(&self.reps) {
            let slot = &mut best[usize::from(column)];
            if slot.is_none_or(|known| typed_rank(rep) < typed_rank(known)) {
                *slot = Some(rep);
            }
        }
        let mut bytes: Vec<u8> = best.into_iter().flatten().collect();
        bytes.sort_by_key(|&byte| typed_rank(byte));
        bytes
    }
}

/// The states from which a label that is `wanted` can still be reached.
pub fn live<L: Label>(dfa: &Dfa<L>, wanted: impl Fn(&L) -> bool) -> Vec<bool> {
    distances(dfa, wanted).into_iter().map(|far| far != u32::MAX).collect()
}

/// How many bytes lead from each state to a label that is `wanted`, at least; `u32::MAX`
/// where none do.
pub fn distances<L: Label>(dfa: &Dfa<L>, wanted: impl Fn(&L) -> bool) -> Vec<u32> {
    let states = dfa.states();
    let width = dfa.classes.count();
    // Who leads to each state, one list behind the other.
    let mut at = vec![0_u32; states + 1];
    let edges = || {
        dfa.trans.chunks_exact(width).enumerate().flat_map(|(state, row)| {
            let changes = row.iter().enumerate().filter(|&(i, to)| i == 0 || row[i - 1] != *to);
            changes.map(move |(_, &to)| (state as u32, to))
        })
    };
    edges().for_each(|(_, to)| at[to as usize] += 1);
    let mut total = 0;
    for count in &mut at {
        total += *count;
        *count = total;
    }
    let mut from = vec![0_u32; total as usize];
    for (state, to) in edges() {
        let place = &mut at[to as usize];
        *place -= 1;
        from[*place as usize] = state;
    }
    let ends = |s: &u32| wanted(&dfa.labels[*s as usize]);
    let mut todo: Vec<u32> = (0..states as u32).filter(ends).collect();
    let mut far = vec![u32::MAX; states];
    todo.iter().for_each(|&s| far[s as usize] = 0);
    let mut done = 0;
    while let Some(&state) = todo.get(done) {
        done += 1;
        let next = far[state as usize] + 1;
        for &before in &from[at[state as usize] as usize..at[state as usize + 1] as usize] {
            if far[before as usize] == u32::MAX {
                far[before as usize] = next;
                todo.push(before);
            }
        }
    }
    far
}

/// A state that [`explore`] has come to, and the way there.
pub struct Found<'s, S> {
    /// The state.
    pub state: &'s S,
    nodes: &'s [(u32, u8)],
    at: usize,
}

impl<S> Found<'_, S> {
    /// A shortest string that leads to the state.
    #[must_use]
    pub fn string(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut node = self.at;
        while node != 0 {
            let (parent, byte) = self.nodes[node];
            out.push(byte);
            node = parent as usize;
        }
        out.reverse();
        out
    }
}

/// Visits the states of a machine in order of their shortest strings until `visit`
/// says to stop. Gives whether it was stopped: `false` means that all states were seen.
///
/// # Errors
/// [`TooLarge`] past `budget` states.
pub fn explore<M: Machine>(
    machine: &M,
    letters: &[u8],
    budget: usize,
    mut visit: impl FnMut(&Found<'_, M::State>) -> bool,
) -> Result<bool, TooLarge> {
    let Some(start) = machine.start() else { return Ok(false) };
    let mut nodes: Vec<(u32, u8)> = vec![(0, 0)];
    let mut states: Vec<M::State> = Vec::new();
    let mut seen = Numbers::default();
    let _ = seen.insert(start, &mut states);
    let mut done = 0;
    while done < states.len() {
        if visit(&Found { state: &states[done], nodes: &nodes, at: done }) {
            return Ok(true);
        }
        for byte in machine.busy(&states[done]).of(letters) {
            let Some(next) = machine.step(&states[done], byte) else { continue };
            if states.len() >= budget {
                return Err(TooLarge::States(budget));
            }
            if seen.insert(next, &mut states) {
                nodes.push((done as u32, byte));
            }
        }
        done += 1;
    }
    Ok(false)
}

/// A string that leads to a `wanted` state of a machine, if there is one; not a shortest
/// one. Tries first what is least `far`, and of that what was found first. Sees the states
/// that [`explore`] sees.
///
/// # Errors
/// [`TooLarge`] past `budget` states.
pub fn seek<M: Machine>(
    machine: &M,
    letters: &[u8],
    budget: usize,
    far: impl Fn(&M::State) -> u32,
    mut wanted: impl FnMut(&M::State) -> bool,
) -> Result<Option<Vec<u8>>, TooLarge> {
    let Some(start) = machine.start() else { return Ok(None) };
    let mut nodes: Vec<(u32, u8)> = vec![(0, 0)];
    let mut waiting = BinaryHeap::from([Reverse((0, 0))]);
    let mut states: Vec<M::State> = Vec::new();
    let mut seen = Numbers::default();
    let _ = seen.insert(start, &mut states);
    while let Some(Reverse((_, at))) = waiting.pop() {
        if wanted(&states[at]) {
            return Ok(Some(Found { state: &states[at], nodes: &nodes, at }.string()));
        }
        for byte in machine.busy(&states[at]).of(letters) {
            let Some(next) = machine.step(&states[at], byte) else { continue };
            if states.len() >= budget {
                return Err(TooLarge::States(budget));
            }
            let distance = far(&next);
            if seen.insert(next, &mut states) {
                waiting.push(Reverse((distance, states.len() - 1)));
                nodes.push((at as u32, byte));
            }
        }
    }
    Ok(None)
}

/// Which states are known: a table of their numbers, open addressing. The states
/// themselves stay in one list, in the order in which they were found.
#[derive(Default)]
struct Numbers {
    /// Number and one; a power of two of them, at most half taken.
    slots: Vec<u32>,
    hasher: BuildHasherDefault<PairHasher>,
}

impl Numbers {
    /// Adds a state; gives whether it is new.
    fn insert<S: Eq + Hash>(&mut self, state: S, states: &mut Vec<S>) -> bool {
        if self.slots.len() < 2 * (states.len() + 1) {
            let size = (self.slots.len() * 2).max(64);
            self.slots = vec![0; size];
            for (number, known) in states.iter().enumerate() {
                let mut at = self.hasher.hash_one(known) as usize & (size - 1);
                while self.slots[at] != 0 {
                    at = (at + 1) & (size - 1);
                }
                self.slots[at] = number as u32 + 1;
            }
        }
        let mask = self.slots.len() - 1;
        let mut at = self.hasher.hash_one(&state) as usize & mask;
        while self.slots[at] != 0 {
            if states[self.slots[at] as usize - 1] == state {
                return false;
            }
            at = (at + 1) & mask;
        }
        states.push(state);
        self.slots[at] = states.len() as u32;
        true
    }
}
