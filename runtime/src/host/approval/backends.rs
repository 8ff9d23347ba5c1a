//! Backends that need no thread and no terminal.

use super::{Approval, ApprovalBackend, ApprovalRequest, BackendError, Remember};
use crate::decision::{Effect, Phase};
use crate::host::request::Action;
use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Says yes to everything that the policy asks about.
#[derive(Clone, Copy, Debug, Default)]
pub struct AutoApprove;

impl ApprovalBackend for AutoApprove {
    fn decide(&self, _: &ApprovalRequest) -> Result<Approval, BackendError> {
        Ok(Approval::Approved(Remember::Once))
    }
}

/// Says no to everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct AutoDeny;

impl ApprovalBackend for AutoDeny {
    fn decide(&self, _: &ApprovalRequest) -> Result<Approval, BackendError> {
        Ok(Approval::Denied(String::new()))
    }
}

/// Asks a function of the host.
pub struct Callback<F>(F);

impl<F> Callback<F>
where
    F: Fn(&ApprovalRequest) -> Result<Approval, BackendError> + Send + Sync,
{
    /// From a function.
    pub fn new(function: F) -> Callback<F> {
        Callback(function)
    }
}

impl<F> fmt::Debug for Callback<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

impl<F> ApprovalBackend for Callback<F>
where
    F: Fn(&ApprovalRequest) -> Result<Approval, BackendError> + Send + Sync,
{
    fn decide(&self, request: &ApprovalRequest) -> Result<Approval, BackendError> {
        (self.0)(request)
    }
}

/// Asks several in order; the first that does not defer decides. One that fails ends it:
/// a later one must not say yes where an earlier one would have said no.
pub struct Chain(Vec<Arc<dyn ApprovalBackend>>);

impl Chain {
    /// In this order.
    #[must_use]
    pub fn new(backends: impl IntoIterator<Item = Arc<dyn ApprovalBackend>>) -> Chain {
        Chain(backends.into_iter().collect())
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain of {}", self.0.len())
    }
}

impl ApprovalBackend for Chain {
    fn decide(&self, request: &ApprovalRequest) -> Result<Approval, BackendError> {
        for backend in &self.0 {
            match backend.decide(request)? {
                Approval::Deferred => {}
                answer => return Ok(answer),
            }
        }
        Ok(Approval::Deferred)
    }
}

/// Approves on behalf of a manager (`manager M approves …`) what the manager itself would
/// be allowed to do without asking; defers otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delegation;

impl ApprovalBackend for Delegation {
    fn decide(&self, request: &ApprovalRequest) -> Result<Approval, BackendError> {
        let allowed = request.managers.iter().any(|(_, d)| d.effect == Effect::Allow);
        Ok(if allowed { Approval::Approved(Remember::Once) } else { Approval::Deferred })
    }
}

/// What an approval for a session is for: nothing wider than what was shown.
type Key = (Option<String>, String, Phase, Option<PathBuf>, Action);

/// Keeps approvals for a session, and asks another backend for the rest. An approval is for
/// the exact action (a path with the place that it led to), directory, context, phase and
/// session id. Requests without a session id are never remembered. Around a backend that
/// may be late, put it outside of the [`super::Timeout`]: what comes late is not kept then.
pub struct Remembered<B> {
    inner: B,
    approved: Mutex<HashSet<Key>>,
    most: usize,
}

impl<B> fmt::Debug for Remembered<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Remembered")
    }
}

impl<B: ApprovalBackend> Remembered<B> {
    /// Approvals that are kept; beyond that none is added.
    pub const MOST: usize = 10_000;

    /// Around a backend.
    #[must_use]
    pub fn new(inner: B) -> Remembered<B> {
        Remembered { inner, approved: Mutex::new(HashSet::new()), most: Remembered::<B>::MOST }
    }

    /// Forgets what was approved for a session.
    pub fn forget(&self, session: &str) {
        let mut approved = self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        approved.retain(|(id, ..)| id.as_deref() != Some(session));
    }
}

impl<B: ApprovalBackend> ApprovalBackend for Remembered<B> {
    fn decide(&self, request: &ApprovalRequest) -> Result<Approval, BackendError> {
        let Some(session) = &request.requester.session else { return self.inner.decide(request) };
        let key = (
            Some(session.clone()),
            request.context.clone(),
            request.phase,
            request.directory.clone(),
            request.action.clone(),
        );
        let lock = || self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        if lock().contains(&key) {
            return Ok(Approval::Approved(Remember::Session));
        }
        let answer = self.inner.decide(request)?;
        if answer == Approval::Approved(Remember::Session) {
            let mut approved = lock();
            if approved.len() < self.most {
                approved.insert(key);
            }
        }
        Ok(answer)
    }
}
