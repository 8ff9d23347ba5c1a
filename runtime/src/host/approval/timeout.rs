//! Answers in time, or none.

use super::{Approval, ApprovalBackend, ApprovalRequest, BackendError};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Nobody answered in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut(
    /// How long it was waited for.
    pub Duration,
);

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nobody answered within {:?}", self.0)
    }
}

impl std::error::Error for TimedOut {}

/// Gives a backend a bounded time to answer. It is asked on a thread of its own, for one
/// request; what it answers later goes nowhere.
pub struct Timeout {
    inner: Arc<dyn ApprovalBackend>,
    after: Duration,
    /// Threads that have not come back.
    waiting: Arc<AtomicUsize>,
}

impl fmt::Debug for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeout").field("after", &self.after).finish_non_exhaustive()
    }
}

impl Timeout {
    /// Threads that may wait for a backend at a time; beyond them, requests time out at
    /// once.
    pub const MOST: usize = 64;

    /// Around a backend.
    #[must_use]
    pub fn new(inner: Arc<dyn ApprovalBackend>, after: Duration) -> Timeout {
        Timeout { inner, after, waiting: Arc::new(AtomicUsize::new(0)) }
    }
}

/// Counts a thread for as long as it lives, however it ends.
struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ApprovalBackend for Timeout {
    fn decide(&self, request: &ApprovalRequest) -> Result<Approval, BackendError> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(Arc::clone(&self.waiting));
        if before >= Timeout::MOST {
            return Err(TimedOut(Duration::ZERO).into());
        }
        let (send, receive) = sync_channel(1);
        let (inner, request) = (Arc::clone(&self.inner), request.clone());
        std::thread::Builder::new().name("mero-approval".into()).spawn(move || {
            let _waiting = waiting;
            // The one who asked may be gone.
            let _ = send.send(inner.decide(&request));
        })?;
        match receive.recv_timeout(self.after) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(TimedOut(self.after).into()),
            Err(RecvTimeoutError::Disconnected) => Err("the backend panicked".into()),
        }
    }
}
