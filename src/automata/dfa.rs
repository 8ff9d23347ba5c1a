//! Deterministic automata whose states carry labels.
//!
//! A [`Dfa`] is complete: every state has a successor for every byte class, and a
//! state from which nothing more can come is an ordinary state. It maps *every*
//! byte string to a label, so a language is a `Dfa<bool>` and a rule list a
//! `Dfa<Verdict>`. Running costs one look-up per byte. No errors.

// Invariant of every value: `trans.len() == labels.len() * classes.count()`, and
// `start` and all of `trans` are below `labels.len()`. Only this module's parent
// builds values, or `from_parts`, which checks.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::TooLarge;
use super::alphabet::Classes;
use super::minimize::{canonical, minimize};
use super::product::product;
use std::hash::Hash;
use std::sync::Arc;

/// What a state can carry.
pub trait Label: Clone + Eq + Hash + Ord {}
impl<T: Clone + Eq + Hash + Ord> Label for T {}

/// A complete deterministic automaton over shared byte classes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dfa<L> {
    pub(super) classes: Arc<Classes>,
    /// Row-major: `trans[state * classes.count() + class]`.
    pub(super) trans: Vec<u32>,
    pub(super) labels: Vec<L>,
    pub(super) start: u32,
}

impl<L: Label> Dfa<L> {
    /// The automaton that maps every string to one label.
    pub fn constant(classes: &Arc<Classes>, label: L) -> Dfa<L> {
        Dfa {
            classes: Arc::clone(classes),
            trans: vec![0; classes.count()],
            labels: vec![label],
            start: 0,
        }
    }

    /// An automaton from its parts, rows by class: `None` unless every row is complete
    /// and every state that is named exists. Not minimised.
    pub fn from_parts(
        classes: &Arc<Classes>,
        trans: Vec<u32>,
        labels: Vec<L>,
        start: u32,
    ) -> Option<Dfa<L>> {
        let exists = |state: &u32| (*state as usize) < labels.len();
        let whole = labels.len().checked_mul(classes.count()) == Some(trans.len());
        if !whole || !exists(&start) || !trans.iter().all(exists) {
            return None;
        }
        Some(Dfa { classes: Arc::clone(classes), trans, labels, start })
    }

    /// The byte classes that index the rows.
    pub fn classes(&self) -> &Arc<Classes> {
        &self.classes
    }

    /// The number of states.
    pub fn states(&self) -> usize {
        self.labels.len()
    }

    /// The state to begin in; 0 in a minimal automaton.
    pub fn start(&self) -> u32 {
        self.start
    }

    /// All transitions, row by row.
    pub fn transitions(&self) -> &[u32] {
        &self.trans
    }

    /// The successors of a state, one per class.
    pub fn row(&self, state: u32) -> &[u32] {
        let width = self.classes.count();
        let at = state as usize * width;
        &self.trans[at..at + width]
    }

    /// The successor of a state for a class.
    pub fn next(&self, state: u32, class: u8) -> u32 {
        self.trans[state as usize * self.classes.count() + usize::from(class)]
    }

    /// The successor of a state for a byte.
    pub fn step(&self, state: u32, byte: u8) -> u32 {
        self.next(state, self.classes.class(byte))
    }

    /// The state that a string leads to from `state`.
    pub fn advance(&self, state: u32, bytes: &[u8]) -> u32 {
        bytes.iter().fold(state, |state, &byte| self.step(state, byte))
    }

    /// The label of a string.
    pub fn run(&self, bytes: &[u8]) -> &L {
        self.label(self.advance(self.start, bytes))
    }

    /// The label of a state.
    pub fn label(&self, state: u32) -> &L {
        &self.labels[state as usize]
    }

    /// All labels, state by state.
    pub fn labels(&self) -> &[L] {
        &self.labels
    }

    /// Whether any run of some bytes is as good as one of them, wherever it stands.
    pub fn ignores_runs(&self, bytes: &[u8]) -> bool {
        let small = minimize(self);
        (0..small.states() as u32).all(|state| {
            let mut ends = bytes.iter().map(|&b| small.step(state, b));
            let Some(end) = ends.next() else { return true };
            ends.all(|e| e == end) && bytes.iter().all(|&b| small.step(end, b) == end)
        })
    }

    /// The state with a label that is never left, if there is one.
    pub fn sink(&self, label: &L) -> Option<u32> {
        let never_left = |&s: &u32| self.row(s).iter().all(|&to| to == s);
        (0..self.states() as u32).filter(|&s| self.label(s) == label).find(never_left)
    }

    /// Replaces labels, then minimises.
    pub fn map<M: Label>(&self, relabel: impl FnMut(&L) -> M) -> Dfa<M> {
        minimize(&Dfa {
            classes: Arc::clone(&self.classes),
            trans: self.trans.clone(),
            labels: self.labels.iter().map(relabel).collect(),
            start: self.start,
        })
    }

    /// Keeps the label of strings in `within` and gives all others `otherwise`.
    ///
    /// # Errors
    /// [`TooLarge`] past `budget` states, or if the byte classes differ.
    pub fn restrict(
        &self,
        within: &Dfa<bool>,
        otherwise: &L,
        budget: usize,
    ) -> Result<Dfa<L>, TooLarge> {
        product(
            self,
            within,
            |label, &inside| if inside { label.clone() } else { otherwise.clone() },
            budget,
        )
    }

    /// Makes labels that satisfy `shut` hold for everything below: once a prefix
    /// that is followed by `separator` has such a label, no longer string has
    /// another. This is how a hidden directory hides its contents.
    #[must_use]
    pub fn shut_below(&self, separator: u8, shut: impl FnMut(&L) -> bool) -> Dfa<L> {
        let (width, class) = (self.classes.count(), self.classes.class(separator));
        let closed: Vec<bool> = self.labels.iter().map(shut).collect();
        let mut all = self.clone();
        let mut ends: Vec<(L, u32)> = Vec::new();
        for state in (0..self.states()).filter(|&state| closed[state]) {
            let label = &self.labels[state];
            let end = match ends.iter().find(|(known, _)| known == label) {
                Some(&(_, end)) => end,
                None => {
                    let end = all.labels.len() as u32;
                    all.labels.push(label.clone());
                    all.trans.extend(std::iter::repeat_n(end, width));
                    ends.push((label.clone(), end));
                    end
                }
            };
            all.trans[state * width + usize::from(class)] = end;
        }
        minimize(&all)
    }

    /// The same automaton over finer classes.
    ///
    /// # Errors
    /// [`TooLarge::Classes`] if `classes` does not refine the automaton's own.
    pub fn over(&self, classes: &Arc<Classes>) -> Result<Dfa<L>, TooLarge> {
        if !classes.refines(&self.classes) {
            return Err(TooLarge::Classes);
        }
        let old: Vec<usize> =
            classes.reps().iter().map(|&rep| usize::from(self.classes.class(rep))).collect();
        let rows = self.trans.chunks_exact(self.classes.count());
        Ok(canonical(&Dfa {
            classes: Arc::clone(classes),
            trans: rows.flat_map(|row| old.iter().map(|&class| row[class])).collect(),
            labels: self.labels.clone(),
            start: self.start,
        }))
    }
}
