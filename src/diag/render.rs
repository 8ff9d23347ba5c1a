//! Findings as text for people and for programs.
//!
//! Each renderer takes findings in the order they are to be shown in and the
//! sources that they point into, and writes nothing itself.

mod github;
mod human;
pub mod json;
mod sarif;
mod short;

pub use github::github;
pub use human::human;
pub use sarif::sarif;
pub use short::short;

use super::{Diagnostic, Level, Witness};
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

/// A request as `eval` takes it, and the answer.
fn witness(w: &Witness) -> String {
    let request = serde_json::to_string(&w.request).unwrap_or_default();
    format!("{request} is answered `{}` ({})", w.effect, w.reason)
}

/// What a finding says besides its message: a request that shows it, and what to do.
fn notes(d: &Diagnostic) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(d.witness.as_ref().map(|w| format!("for example {}", witness(w))));
    notes.extend(d.help.as_ref().map(|help| format!("help: {}", readable(help))));
    notes
}
