//! Directories: strings that end in the separator.
//!
//! A language of paths becomes one of files and directories; and what is below a
//! hidden directory stays hidden, whatever later patterns say. Both are linear
//! in the automaton, then minimised.

// States and classes index the automaton's own rows.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::dfa::{Dfa, Label};
use super::minimize::minimize;

impl Dfa<bool> {
    /// From paths (which do not end in the separator) to files and directories:
    /// each path as it is, unless `only` directories count, and each followed by
    /// one separator. With `below`, all that begins with such a directory too.
    #[must_use]
    pub fn with_directories(&self, separator: u8, only: bool, below: bool) -> Dfa<bool> {
        let (width, states) = (self.classes.count(), self.states());
        let class = usize::from(self.classes.class(separator));
        // A second copy of all states: the separator behind a path was just read.
        let mut trans = Vec::with_capacity(self.trans.len() * 2);
        let shift = u32::try_from(states).unwrap_or(u32::MAX);
        for copy in 0..2 {
            for state in 0..states {
                for column in 0..width {
                    let target = self.trans[state * width + column];
                    let closes = column == class && self.labels[state];
                    trans.push(if copy == 1 && below {
                        shift + u32::try_from(state).unwrap_or(0)
                    } else if closes {
                        shift + target
                    } else {
                        target
                    });
                }
            }
        }
        let files = self.labels.iter().map(|&l| l && !only);
        let labels = files.chain(std::iter::repeat_n(true, states)).collect();
        minimize(&Dfa { classes: self.classes.clone(), trans, labels, start: self.start })
    }
}

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
