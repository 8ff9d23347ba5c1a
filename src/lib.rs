//! Compiler and checker for Mero policies.
//!
//! ```text
//! .mero ──syntax──▶ tree ──hir──▶ policy ──table──▶ bytes of a table ──▶ mero-runtime
//!                                   ├──check──▶ findings
//!                                   └──oracle──▶ the decisions that are right
//! ```
//!
//! [`driver::analyse`] goes from a file's name to a checked policy, [`table::compile`]
//! from there to a table. `ARCHITECTURE.md` tells the whole story.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod automata;
pub mod check;
pub mod cli;
pub mod compare;
pub mod diag;
pub mod driver;
pub mod hir;
pub mod library;
pub mod limits;
pub mod oracle;
pub mod request;
pub mod source;
pub mod suite;
pub mod syntax;
pub mod table;
pub mod validate;

/// The Rust blocks of the README, as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
