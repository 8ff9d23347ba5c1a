//! Patterns as regular languages, and questions about them as reachability.
//!
//! Paths (bytes, separator `/`), argument vectors (bytes, a NUL after each word)
//! and command texts are byte strings; every pattern is a regular language over
//! them. The road is always the same:
//!
//! ```text
//! pattern ─▶ Re ─▶ Nfa ─▶ subsets ─▶ minimal Dfa<bool> ─▶ map, product ─▶ Dfa<L>
//!  glob, argv,  nfa       determinize      minimize           product        │
//!  text, regex                                                     witness ◀─┘
//! ```
//!
//! * [`alphabet`]: byte sets, and the byte classes that a list of automata shares.
//! * [`glob`], [`argv`], [`text`], [`regex`]: the pattern languages.
//! * [`determinize`](mod@determinize), [`minimize`](mod@minimize), [`product`](mod@product): construction, always under
//!   a budget, always ending in the *canonical* minimal automaton: equal languages
//!   over equal classes are equal values.
//! * [`witness`]: shortest strings that show an answer; [`explore`]: searches through
//!   several automata at once, for questions that no single one holds.
//!
//! Whatever can outgrow its budget returns [`TooLarge`]; a pattern that cannot be
//! read, or that could never match, is a [`PatternError`].

pub mod absorb;
pub mod alphabet;
pub mod argv;
pub mod determinize;
pub mod dfa;
pub mod explore;
pub mod glob;
pub mod minimize;
pub mod nfa;
mod pattern;
pub mod product;
pub mod regex;
pub mod text;
pub mod vectors;
pub mod witness;

pub use alphabet::{ByteSet, Classes};
pub use determinize::determinize;
pub use dfa::{Dfa, Label};
pub use minimize::minimize;
pub use nfa::{Nfa, Re};
pub use product::{
    complement, difference, equivalent, intersect, is_empty, is_subset, meets, product,
    product_pair, product_set, product_tree, union,
};

/// A construction that was given up because it outgrew its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TooLarge {
    /// More states than allowed.
    #[error("needs more than {0} states")]
    States(usize),
    /// More elementary steps than allowed.
    #[error("needs more than {0} steps to build")]
    Work(usize),
    /// More mounts than are looked at together.
    #[error("more than {0} mounts")]
    Mounts(usize),
    /// The automata do not share byte classes, or the classes are too coarse for
    /// the pattern: a mistake of the caller, refused rather than answered wrongly.
    #[error("byte classes do not tell apart what the pattern does")]
    Classes,
}

/// A pattern that cannot be read, or that could never match anything.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// Byte offset in the pattern at which the trouble is.
    pub offset: usize,
    /// What is wrong, in lower case.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl PatternError {
    pub(crate) fn new(
        offset: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> PatternError {
        PatternError { offset, message: message.into(), help: help.into() }
    }
}
