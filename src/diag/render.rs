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

/// The word that people read for a level.
const fn severity(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "info",
    }
}
