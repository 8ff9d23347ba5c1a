//! Who says yes where a policy says `ask`.
//!
//! A guard asks one backend, last of all: what the policy denies never gets here, so an
//! approval cannot lift a denial. Backends are put together: a [`Chain`] asks one after
//! another until one does not defer, a [`Timeout`] bounds how long an answer may take, a
//! [`Remembered`] keeps what was approved for a session. Nobody to ask, everybody
//! deferring, an error, a panic and no answer in time are all refusals.

mod backends;
#[cfg(feature = "async")]
mod blocking;
mod terminal;
mod timeout;

pub use backends::{AutoApprove, AutoDeny, Callback, Chain, Delegation, Remembered};
#[cfg(feature = "async")]
pub use blocking::{ApprovalFuture, AsyncApprovalBackend, Blocking};
pub use terminal::Terminal;
pub use timeout::{TimedOut, Timeout};

use super::error::{Error, ErrorKind};
use super::request::{Action, Requester};
use crate::decision::{Decision, Phase};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

/// What is to be approved.
#[derive(Clone)]
pub struct ApprovalRequest {
    /// What the agent wants to do. Its text form shows what cannot be seen.
    pub action: Action,
    /// What the host says about it, for whoever approves.
    pub detail: String,
    /// Who asks.
    pub requester: Requester,
    /// The context that the agent is in.
    pub context: String,
    /// The phase that it is in.
    pub phase: Phase,
    /// The directory in which relative paths and commands are meant, where there is one.
    pub directory: Option<PathBuf>,
    /// The rule that asks, as written; of tables with debug sections only.
    pub rule: Option<String>,
    /// Contexts that may approve for this one: managers, with what each would be answered
    /// to the same action.
    pub managers: Vec<(String, Decision)>,
}

impl std::fmt::Debug for ApprovalRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApprovalRequest")
            .field("action", &self.action)
            .field("context", &self.context)
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Yes.
    Approved(Remember),
    /// No, and why.
    Denied(String),
    /// Somebody else should say.
    Deferred,
}

/// How long an approval holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remember {
    /// For this one time.
    Once,
    /// For exactly this action, in this context and phase, until the session ends; if there
    /// is a [`Remembered`] to keep it.
    Session,
}

/// What a backend may fail with.
pub type BackendError = Box<dyn std::error::Error + Send + Sync>;

/// Somebody who approves.
pub trait ApprovalBackend: Send + Sync {
    /// Answers a request. May block; see [`Timeout`].
    ///
    /// # Errors
    /// Whatever keeps it from answering: the action is then refused.
    fn decide(&self, request: &ApprovalRequest) -> Result<Approval, BackendError>;
}

impl<B: ApprovalBackend + ?Sized> ApprovalBackend for Arc<B> {
    fn decide(&self, request: &ApprovalRequest) -> Result<Approval, BackendError> {
        (**self).decide(request)
    }
}

/// Asks a backend, and takes everything but a clear yes for a no.
///
/// # Errors
/// [`ErrorKind::ApprovalDenied`], [`ErrorKind::ApprovalUnresolved`] or
/// [`ErrorKind::ApprovalTimeout`].
pub fn resolve(
    backend: Option<&dyn ApprovalBackend>,
    request: &ApprovalRequest,
) -> Result<Remember, Error> {
    let action = &request.action;
    let Some(backend) = backend else {
        let message = format!("Not approved: {action}: nobody is there to approve it");
        return Err(Error::new(ErrorKind::ApprovalUnresolved, message));
    };
    let answer = catch_unwind(AssertUnwindSafe(|| backend.decide(request)));
    match answer {
        Ok(Ok(Approval::Approved(remember))) => Ok(remember),
        Ok(Ok(Approval::Denied(why))) => {
            let why = if why.is_empty() { String::new() } else { format!(": {why}") };
            Err(Error::new(
                ErrorKind::ApprovalDenied,
                format!("Denied: {action}: not approved{why}"),
            ))
        }
        Ok(Ok(Approval::Deferred)) => {
            let message = format!("Not approved: {action}: nobody decided about it");
            Err(Error::new(ErrorKind::ApprovalUnresolved, message))
        }
        Ok(Err(error)) if error.is::<TimedOut>() => {
            let message = format!("Not approved: {action}: {error}");
            Err(Error::new(ErrorKind::ApprovalTimeout, message).because(error))
        }
        Ok(Err(error)) => {
            let message = format!("Denied: {action}: the approval failed");
            Err(Error::new(ErrorKind::ApprovalDenied, message).because(error))
        }
        Err(_) => {
            let message = format!("Denied: {action}: the approval failed");
            Err(Error::new(ErrorKind::ApprovalDenied, message).because("the backend panicked"))
        }
    }
}
