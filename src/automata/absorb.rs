//! Hidden directories hide what is below them, whatever later patterns say.
//!
//! Directories are strings that end in the separator. Every step over a
//! separator into a state whose label shuts is led into a state that keeps that
//! label for ever. Linear in the automaton, then minimised.

// States and classes index the automaton's own rows.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::dfa::{Dfa, Label};
use super::minimize::minimize;

/// Makes labels that satisfy `shut` final once a directory has them.
#[must_use]
pub fn shut_directories<L: Label>(
    dfa: &Dfa<L>,
    separator: u8,
    shut: impl Fn(&L) -> bool,
) -> Dfa<L> {
    let width = dfa.classes.count();
    let class = usize::from(dfa.classes.class(separator));
    let mut all = dfa.clone();
    let mut ends: Vec<(L, u32)> = Vec::new();
    for state in 0..dfa.states() {
        let target = dfa.trans[state * width + class];
        let label = dfa.label(target);
        if !shut(label) {
            continue;
        }
        let end = match ends.iter().find(|(known, _)| known == label) {
            Some(&(_, end)) => end,
            None => {
                let end = u32::try_from(all.labels.len()).unwrap_or(u32::MAX);
                all.labels.push(label.clone());
                all.trans.extend(std::iter::repeat_n(end, width));
                ends.push((label.clone(), end));
                end
            }
        };
        all.trans[state * width + class] = end;
    }
    minimize(&all)
}
