//! The guard: the one place that a host program asks before it touches a file, starts a
//! process or calls a tool.
//!
//! ```text
//! table bytes ──Policy::bind──▶ Policy ──Guard──▶ guard.open / .command / .tool / …
//!      ▲                          ▲                │ decision (table, links of the host)
//!    Store (reload)          directories           │ approval, if the decision is `ask`
//!                            of this host          │ audit
//!                                                  ▼ the action itself, on what was decided
//! ```
//!
//! A [`Policy`] is a table bound to the directories of this host. A [`Guard`] is one agent
//! under it: a context, a phase, a working directory, and who it is. Every check goes the
//! same way: the decision; where it is `ask`, the [`approval`] backends, last; the
//! [`audit`] of what came of it. Only then something happens, and never to anything but
//! what was decided: files are opened beneath the handle of their mount, without following
//! a link, at the path that was decided.
//!
//! What fails is denied: a backend that errs or panics, an audit that must be durable and
//! is not, a path that cannot be followed to its end.

#![allow(
    clippy::disallowed_methods,
    reason = "this is the part of the runtime that files, processes and clocks are for"
)]

pub mod approval;
pub mod audit;
mod beneath;
mod error;
mod files;
mod fold;
mod guard;
mod policy;
mod process;
mod request;
mod resolve;
mod store;

pub use error::{Error, ErrorKind};
pub use files::{Entry, EntryKind, OpenOptions};
pub use guard::Guard;
pub use policy::{BindingError, Directories, Follow, Policy};
pub use process::Streams;
pub use request::{Action, Requester};
pub use store::{Store, Watch};
