//! Words of which not all is known, on an automaton: the states that some value
//! leads to.
//!
//! A known byte maps the set; an unknown part closes it over every byte (but the
//! end of a word, where it is quoted). That is exact for one automaton and, over
//! several, errs on the side of more. Each closure visits a state at most once,
//! so the cost is that of the reachable part of the automaton.

use crate::automaton::Automaton;
use crate::format::rule_cell;
use crate::shell::{Part, Word};
use alloc::vec::Vec;

/// A set of states under way.
pub(crate) struct Walk<'a> {
    automaton: Automaton<'a>,
    /// One byte of each class.
    representatives: Vec<u8>,
    states: Vec<u32>,
    /// States that only unknown parts of a text led to.
    floating: Vec<u32>,
    seen: Vec<u64>,
}

/// Whether a rule that asks or denies matches.
fn matches(automaton: &Automaton<'_>, state: u32) -> bool {
    automaton.cell(state).u8(rule_cell::EFFECT) <= 1
}

impl<'a> Walk<'a> {
    /// At the start of an automaton.
    pub(crate) fn new(automaton: Automaton<'a>) -> Walk<'a> {
        let start = automaton.start();
        let states = alloc::vec![start];
        let (representatives, floating, seen) = Default::default();
        Walk { automaton, representatives, states, floating, seen }
    }

    /// The states that the input may have led to.
    pub(crate) fn states(&self) -> impl Iterator<Item = u32> {
        self.states.iter().chain(&self.floating).copied()
    }

    fn dedup(&mut self) {
        if self.states.len() > 1 {
            self.states.sort_unstable();
            self.states.dedup();
        }
    }

    /// Something known follows: what floated may be the beginning of a match.
    fn land(&mut self) {
        self.states.append(&mut self.floating);
    }

    /// Known bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.land();
        for state in &mut self.states {
            *state = self.automaton.walk(*state, bytes);
        }
        self.dedup();
    }

    /// One of two strings.
    fn either(&mut self, one: &[u8], other: &[u8]) {
        self.land();
        let both = self
            .states
            .iter()
            .flat_map(|&s| [self.automaton.walk(s, one), self.automaton.walk(s, other)]);
        self.states = both.collect();
        self.dedup();
    }

    fn mark(seen: &mut [u64], state: u32) -> bool {
        let Some(word) = seen.get_mut(state as usize / 64) else { return false };
        let bit = 1u64 << (state % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Any bytes; with `words`, also ends of words.
    pub(crate) fn anything(&mut self, words: bool) {
        self.close(words, &|_| true);
    }

    /// Closes the set over every byte, entering only states that `enter` takes.
    fn close(&mut self, words: bool, enter: &dyn Fn(u32) -> bool) {
        if self.representatives.is_empty() {
            self.representatives = self.automaton.representatives();
        }
        let bound = self.automaton.bound().saturating_add(63) / 64;
        self.seen.clear();
        self.seen.resize(bound, 0);
        for &state in &self.states {
            Self::mark(&mut self.seen, state);
        }
        let mut next = 0usize;
        while let Some(&state) = self.states.get(next) {
            next = next.saturating_add(1);
            if self.automaton.is_absorbing(state) {
                continue;
            }
            for &byte in &self.representatives {
                if byte == 0 && !words {
                    continue;
                }
                let target = self.automaton.step(state, byte);
                if Self::mark(&mut self.seen, target) && enter(target) {
                    self.states.push(target);
                }
            }
        }
        self.dedup();
    }

    /// Any bytes within a text that rules are searched in. What would match
    /// wholly inside unknown parts is data of arguments and no match; what takes
    /// in something known is one. So where no match is under way, the states
    /// that the unknown part leads to float, and match nothing by themselves.
    pub(crate) fn any_text(&mut self) {
        let automaton = self.automaton;
        let start = automaton.start();
        let fresh: [u32; 4] = [&b""[..], b" ", b"x", b"x "].map(|i| automaton.walk(start, i));
        let (idle, busy): (Vec<u32>, Vec<u32>) =
            self.states.iter().partition(|s| fresh.contains(s));
        self.states = busy;
        if !self.states.is_empty() {
            self.close(false, &|_| true);
        }
        let solid = core::mem::take(&mut self.states);
        self.states = core::mem::take(&mut self.floating);
        self.states.extend(idle);
        if !self.states.is_empty() {
            self.dedup();
            self.close(false, &|s| !matches(&automaton, s));
        }
        self.floating = core::mem::replace(&mut self.states, solid);
    }

    /// The blanks between two words of a text: what floats goes on floating.
    pub(crate) fn blanks(&mut self, blanks: &[u8]) {
        let automaton = self.automaton;
        for state in &mut self.floating {
            *state = automaton.walk(*state, blanks);
        }
        self.floating.retain(|s| !matches(&automaton, *s));
        for state in &mut self.states {
            *state = automaton.walk(*state, blanks);
        }
        self.dedup();
    }

    /// The parts of a word. `home` is the home directory, where it is known.
    ///
    /// Over argument vectors with `words`, else over texts.
    pub(crate) fn parts(&mut self, word: &Word, home: Option<&[u8]>, words: bool) {
        for part in &word.parts {
            match part {
                Part::Known(bytes) => self.bytes(bytes),
                Part::Either(one, other) => self.either(one, other),
                Part::Home => match home {
                    Some(home) => self.bytes(home),
                    None if words => self.anything(false),
                    None => self.any_text(),
                },
                Part::Unknown { quoted } if words => self.anything(!quoted),
                Part::Unknown { .. } => self.any_text(),
            }
        }
    }

    /// An argument of a vector: its parts and the NUL behind it, or nothing at
    /// all where it may vanish.
    pub(crate) fn argument(&mut self, word: &Word, home: Option<&[u8]>) {
        let before = if word.may_vanish { self.states.clone() } else { Vec::new() };
        self.parts(word, home, true);
        self.bytes(b"\0");
        self.states.extend(before);
        self.dedup();
    }
}
