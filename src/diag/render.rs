//! Findings as text for people and for programs.
//!
//! Each renderer takes findings in the order they are to be shown in and the
//! sources that they point into, and writes nothing itself.

mod human;
pub mod json;
mod short;

pub use human::human;
pub use short::short;

use super::Level;
use std::borrow::Cow;

/// Characters of one message that are shown: it may quote what a user wrote,
/// and that may be a whole file.
const MAX_SHOWN: usize = 1_000;

/// A message, cut where it is too long to be read.
fn readable(message: &str) -> Cow<'_, str> {
    match message.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => Cow::Owned(format!("{}…", message.get(..end).unwrap_or(""))),
        None => Cow::Borrowed(message),
    }
}

/// The word that people read for a level.
const fn severity(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "info",
    }
}
