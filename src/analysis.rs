//! Questions about all requests at once, answered by searching automata.
//!
//! A policy's decisions on argument vectors, tools and paths are functions of
//! strings; here each becomes a few automata and a rule that combines what they say.
//! "Is there a request on which X and Y differ" is then a search for a state in which
//! they do ([`explore`](crate::automata::explore)), limited to the strings that the
//! rule in question can match, and the way there is a shortest witness. Nothing found
//! means that there is none.
//!
//! * [`commands`]: argument vectors, path words included.
//! * [`tools`]: names of tools.
//! * [`paths`]: places on the host, and virtual paths.
//!
//! A search that outgrows [`BUDGET`] is an answer too: the question is unproved, and
//! whoever asked says so by name.

pub mod commands;
pub mod grounds;
pub mod paths;
pub mod tools;

/// States that one search may visit.
pub const BUDGET: usize = 400_000;
