//! Compiler and checker for Mero policies.
#![forbid(unsafe_code)]

pub mod automata;
pub mod check;
pub mod cli;
pub mod diag;
pub mod driver;
pub mod hir;
pub mod library;
pub mod limits;
pub mod oracle;
pub mod source;
pub mod syntax;
pub mod table;
