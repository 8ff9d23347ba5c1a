//! Every limit on input in one place: what is refused, and at what size.
//!
//! A limit is checked *before* the work that it bounds, and running into one is
//! a diagnostic that names it; none is ever silent.

/// Largest source file in bytes.
pub const MAX_FILE_BYTES: usize = 8 << 20;
/// Deepest nesting of braces (and of parentheses in patterns).
pub const MAX_NESTING: usize = 64;
/// Syntax errors reported for one file before the rest is left out.
pub const MAX_SYNTAX_ERRORS: usize = 40;
/// Files in one compilation, imports included.
pub const MAX_FILES: usize = 1_000;
/// Profiles that use one another in a row.
pub const MAX_PROFILE_DEPTH: usize = 64;
/// Text of all profiles together, each counted wherever it is used.
pub const MAX_SPLICED_BYTES: usize = 32 << 20;
/// Longest single pattern in bytes.
pub const MAX_PATTERN_BYTES: usize = 4_096;
/// States one pattern may need.
pub const MAX_PATTERN_STATES: usize = 20_000;
/// States that all patterns of a policy may need, each by itself.
pub const MAX_ALL_STATES: usize = 4_000_000;
/// States a product of patterns may reach before they stay separate automata.
pub const MAX_PRODUCT_STATES: usize = 60_000;
/// Mutants of one policy that are tried.
pub const MAX_MUTANTS: usize = 2_000;
/// States that the tables of all mutants may have together.
pub const MAX_MUTANT_STATES: usize = 10_000_000;
/// Mounts of one context about all of whose paths questions are answered; beyond that
/// they are unproved.
pub const MAX_ANALYSED_MOUNTS: usize = 500;
