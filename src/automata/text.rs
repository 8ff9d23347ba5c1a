//! Patterns over a command's text: `glob"…"` and `text"…"`.
//!
//! Both ignore the case of ASCII letters and are exact on texts without NUL. Linear
//! in the pattern. Errors: [`PatternError`].

// Offsets are those of `char_indices`, or follow a class that was read to its end.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::PatternError;
use super::alphabet::ByteSet;
use super::nfa::Re;
use super::pattern::{self, ClassStyle};

/// Every text: any bytes but NUL.
pub fn any() -> Re {
    pattern::any(ByteSet::EMPTY)
}

/// A glob that the whole text must match: `*` any run, `?` one character or byte,
/// `[…]` and `[!…]` classes. Everything matches everything, also `/` and line
/// breaks. There is no escape character: `[*]` is a literal star.
///
/// # Errors
/// [`PatternError`] for an empty pattern and an unclosed class.
pub fn glob(pattern: &str) -> Result<Re, PatternError> {
    pattern::check(pattern)?;
    if pattern.is_empty() {
        return Err(PatternError::new(0, "pattern is empty", "`*` matches every text"));
    }
    let none = ByteSet::EMPTY;
    let style = ClassStyle { escapes: false, ignore_case: true, avoid: none };
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(next) = pattern[at..].chars().next() {
        let after = at + next.len_utf8();
        at = match next {
            '*' => {
                parts.push(pattern::any(none));
                after
            }
            '?' => {
                parts.push(pattern::one(none));
                after
            }
            '[' => {
                let (class, end) = pattern::class(pattern, at, style)?;
                parts.push(class);
                end
            }
            _ => {
                parts.push(Re::literal(&pattern.as_bytes()[at..after]).ignoring_case());
                after
            }
        };
    }
    Ok(Re::cat(parts))
}

/// Texts that hold `pattern` somewhere.
///
/// # Errors
/// [`PatternError`] for an empty pattern.
pub fn literal(pattern: &str) -> Result<Re, PatternError> {
    pattern::check(pattern)?;
    if pattern.is_empty() {
        return Err(PatternError::new(
            0,
            "pattern is empty, so every text holds it",
            "name the text to look for; `glob\"*\"` matches every text",
        ));
    }
    Ok(Re::cat([any(), Re::literal(pattern.as_bytes()).ignoring_case(), any()]))
}
