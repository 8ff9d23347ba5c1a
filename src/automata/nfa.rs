//! Regular expressions over bytes, and nondeterministic automata for them.
//!
//! [`Re`] is the common currency: every pattern language compiles to it. An
//! [`Nfa`] is built back to front, each expression being given the state to go on
//! to, so that only alternatives and repetitions need silent steps. Linear in the
//! size of the expression. No errors; recursion is as deep as the expression,
//! whose depth the pattern parsers bound.

// State numbers come from `push` and are below `states.len()`.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::alphabet::{ByteSet, Classes};
use std::sync::Arc;

/// A regular expression over bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Re {
    /// No string at all.
    Never,
    /// The empty string.
    Empty,
    /// One byte of a set.
    Set(ByteSet),
    /// One after the other.
    Cat(Vec<Re>),
    /// Any of them.
    Alt(Vec<Re>),
    /// Any number of times.
    Star(Box<Re>),
}

impl Re {
    /// One byte of a set.
    pub fn set(set: ByteSet) -> Re {
        if set.is_empty() { Re::Never } else { Re::Set(set) }
    }

    /// One particular byte.
    pub fn byte(byte: u8) -> Re {
        Re::Set(ByteSet::of(byte))
    }

    /// These bytes, in order.
    pub fn literal(bytes: &[u8]) -> Re {
        Re::cat(bytes.iter().map(|&byte| Re::byte(byte)))
    }

    /// One after the other.
    pub fn cat(parts: impl IntoIterator<Item = Re>) -> Re {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Re::Never => return Re::Never,
                Re::Empty => {}
                Re::Cat(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => Re::Empty,
            1 => flat.swap_remove(0),
            _ => Re::Cat(flat),
        }
    }

    /// Any of them.
    pub fn alt(choices: impl IntoIterator<Item = Re>) -> Re {
        let mut flat = Vec::new();
        for choice in choices {
            match choice {
                Re::Never => {}
                Re::Alt(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => Re::Never,
            1 => flat.swap_remove(0),
            _ => Re::Alt(flat),
        }
    }

    /// Any number of times, also none.
    #[must_use]
    pub fn star(self) -> Re {
        match self {
            Re::Never | Re::Empty => Re::Empty,
            Re::Star(_) => self,
            other => Re::Star(Box::new(other)),
        }
    }

    /// Once or more.
    #[must_use]
    pub fn plus(self) -> Re {
        Re::cat([self.clone(), self.star()])
    }

    /// Once or not at all.
    #[must_use]
    pub fn optional(self) -> Re {
        Re::alt([Re::Empty, self])
    }

    /// The strings that do not hold a byte of `set`.
    #[must_use]
    pub fn avoiding(&self, set: ByteSet) -> Re {
        match self {
            Re::Never => Re::Never,
            Re::Empty => Re::Empty,
            Re::Set(own) => Re::set(own.minus(set)),
            Re::Cat(parts) => Re::cat(parts.iter().map(|part| part.avoiding(set))),
            Re::Alt(choices) => Re::alt(choices.iter().map(|choice| choice.avoiding(set))),
            Re::Star(inner) => inner.avoiding(set).star(),
        }
    }

    /// With each ASCII letter its other case.
    #[must_use]
    pub fn ignoring_case(&self) -> Re {
        match self {
            Re::Never => Re::Never,
            Re::Empty => Re::Empty,
            Re::Set(set) => Re::Set(set.ignoring_case()),
            Re::Cat(parts) => Re::Cat(parts.iter().map(Re::ignoring_case).collect()),
            Re::Alt(choices) => Re::Alt(choices.iter().map(Re::ignoring_case).collect()),
            Re::Star(inner) => Re::Star(Box::new(inner.ignoring_case())),
        }
    }

    /// Adds every byte set that occurs to `into`.
    pub fn sets(&self, into: &mut Vec<ByteSet>) {
        match self {
            Re::Never | Re::Empty => {}
            Re::Set(set) => into.push(*set),
            Re::Cat(parts) | Re::Alt(parts) => parts.iter().for_each(|part| part.sets(into)),
            Re::Star(inner) => inner.sets(into),
        }
    }

    /// The byte classes that a list of expressions needs.
    pub fn classes<'a>(list: impl IntoIterator<Item = &'a Re>) -> Arc<Classes> {
        let mut sets = Vec::new();
        for re in list {
            re.sets(&mut sets);
        }
        Arc::new(Classes::new(sets))
    }
}

/// A state of an [`Nfa`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Reads one byte of the set and goes on.
    Read(ByteSet, u32),
    /// Goes on in any of these without reading.
    Split(Vec<u32>),
    /// Accepts.
    Accept,
}

/// A nondeterministic automaton with silent steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nfa {
    states: Vec<State>,
    start: u32,
}

impl Nfa {
    /// The automaton of an expression.
    pub fn new(re: &Re) -> Nfa {
        let mut nfa = Nfa { states: vec![State::Accept], start: 0 };
        nfa.start = nfa.build(re, 0);
        nfa
    }

    /// All states.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The state to begin in.
    pub fn start(&self) -> u32 {
        self.start
    }

    fn push(&mut self, state: State) -> u32 {
        self.states.push(state);
        (self.states.len() - 1) as u32
    }

    fn build(&mut self, re: &Re, next: u32) -> u32 {
        match re {
            Re::Never => self.push(State::Split(Vec::new())),
            Re::Empty => next,
            Re::Set(set) => self.push(State::Read(*set, next)),
            Re::Cat(parts) => parts.iter().rev().fold(next, |next, part| self.build(part, next)),
            Re::Alt(choices) => {
                let entries = choices.iter().map(|choice| self.build(choice, next)).collect();
                self.push(State::Split(entries))
            }
            Re::Star(inner) => {
                let around = self.push(State::Split(Vec::new()));
                let body = self.build(inner, around);
                self.states[around as usize] = State::Split(vec![body, next]);
                around
            }
        }
    }
}
