//! Scripts and what they are taken apart into.

/// Source, and the script as [`super::render`] writes it.
pub const CASES: &[(&str, &str)] = &[];
