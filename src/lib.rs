//! Compiler and checker for Mero policies.
#![forbid(unsafe_code)]

pub mod automata;
pub mod diag;
pub mod limits;
pub mod source;
pub mod syntax;
