//! Decides what an AI agent may touch, from a table compiled by `meroc`.
//!
//! A [`Table`] is read in place from bytes: [`Table::from_bytes`] checks all of
//! it once, after which no decision allocates, loops without bound, or panics.
//! A [`Context`] of the table answers requests on paths, permissions, grants,
//! tools and argument vectors with a [`Decision`].
//!
//! ```
//! # fn demo(bytes: &[u8]) -> Result<(), mero_runtime::TableError> {
//! use mero_runtime::{Effect, Kind, Permission, Phase, Session, Table};
//!
//! let table = Table::from_bytes(bytes)?;
//! if let Some(worker) = table.context("worker") {
//!     let session = Session { phase: Phase::Default, base: b"/srv/agent", ..Session::default() };
//!     let decision = worker.path(&session, b"/data/q3.csv", Permission::READ, Kind::File);
//!     assert!(decision.effect <= Effect::Allow);
//! }
//! # Ok(()) }
//! ```
//!
//! The core is `no_std`, allocates nothing and holds no `unsafe`. Whatever goes
//! wrong while deciding is a denial.
//!
//! Features: `alloc` for command strings; `std` for the guard (`host`, on Unix), which
//! opens files and starts processes as decided, asks for approvals and records; `async`
//! for approval backends that answer in a future.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod automaton;
mod bind;
mod command;
mod decision;
mod digest;
mod error;
mod eval;
pub mod format;
#[cfg(all(feature = "std", unix))]
pub mod host;
mod links;
#[cfg(feature = "alloc")]
pub mod message;
mod names;
mod outline;
#[cfg(feature = "alloc")]
mod owned;
mod path;
mod quick;
#[cfg(feature = "alloc")]
mod runners;
#[cfg(feature = "alloc")]
mod script;
#[cfg(feature = "alloc")]
mod sets;
#[cfg(feature = "alloc")]
pub mod shell;
mod table;
mod tool;
mod validate;
mod verdict;
#[cfg(feature = "alloc")]
pub mod windows;

pub use automaton::Automaton;
pub use bind::BindError;
pub use decision::{Decision, Effect, Kind, MountId, Permission, Phase, Reason, RuleId, phases};
pub use digest::blake3;
pub use error::TableError;
pub use eval::Session;
pub use links::Links;
pub use names::{is_runner, runners, transparent};
#[cfg(feature = "alloc")]
pub use owned::OwnedTable;
pub use path::{MAX_PATH, Place};
#[cfg(feature = "alloc")]
pub use runners::command_at;
#[cfg(feature = "alloc")]
pub use script::{CommandPart, PartKind};
pub use table::{Context, RuleText, Table, TableParts};
