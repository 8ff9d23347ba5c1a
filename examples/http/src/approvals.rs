//! What is to be approved goes on a list, and the call waits for the person who reads it.
//!
//! An entry is on the list exactly as long as a call waits for it: answering takes it off
//! under the same lock under which a call gives up, so a person is never told that
//! something was approved that then does not happen for want of time.

use mero_runtime::host::Action;
use mero_runtime::host::approval::{
    Approval, ApprovalBackend, ApprovalRequest, BackendError, Remember, TimedOut,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Requests that may wait at a time; more are left undecided at once, and so denied.
pub const MOST_WAITING: usize = 16;

/// The list.
#[derive(Debug)]
pub struct Approvals {
    wait: Duration,
    list: Mutex<List>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct List {
    last: u64,
    entries: BTreeMap<u64, Entry>,
    closed: bool,
}

#[derive(Debug)]
struct Entry {
    shown: Value,
    answer: Option<Approval>,
}

impl Approvals {
    /// An empty list; a request waits this long.
    #[must_use]
    pub fn new(wait: Duration) -> Approvals {
        Approvals { wait, list: Mutex::default(), answered: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits for an answer, oldest first.
    #[must_use]
    pub fn waiting(&self) -> Vec<Value> {
        let list = self.lock();
        let open = list.entries.values().filter(|e| e.answer.is_none());
        open.map(|e| e.shown.clone()).collect()
    }

    /// Answers a request; whether it was waiting for that.
    pub fn answer(&self, id: u64, approve: bool) -> bool {
        let mut list = self.lock();
        let open = list.entries.get_mut(&id).filter(|e| e.answer.is_none());
        let Some(entry) = open else { return false };
        entry.answer = Some(match approve {
            true => Approval::Approved(Remember::Once),
            false => Approval::Denied("a person refused".to_owned()),
        });
        self.answered.notify_all();
        true
    }

    /// Leaves everything undecided, now and from now on.
    pub fn close(&self) {
        self.lock().closed = true;
        self.answered.notify_all();
    }
}

impl ApprovalBackend for Approvals {
    fn decide(&self, request: &ApprovalRequest) -> Result<Approval, BackendError> {
        let until = Instant::now().checked_add(self.wait);
        let mut list = self.lock();
        if list.closed || list.entries.len() >= MOST_WAITING {
            return Ok(Approval::Deferred);
        }
        let id = list.last.saturating_add(1);
        list.last = id;
        list.entries.insert(id, Entry { shown: shown(id, request), answer: None });
        loop {
            let left =
                until.map_or(Duration::ZERO, |u| u.saturating_duration_since(Instant::now()));
            let answer = list.entries.get_mut(&id).and_then(|e| e.answer.take());
            if let Some(answer) = answer {
                list.entries.remove(&id);
                return Ok(answer);
            }
            if list.closed || left.is_zero() {
                list.entries.remove(&id);
                return if list.closed {
                    Ok(Approval::Deferred)
                } else {
                    Err(TimedOut(self.wait).into())
                };
            }
            let woken = self.answered.wait_timeout(list, left);
            list = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A request as a person sees it. What the agent says of it is shown as its words, and so
/// that characters that cannot be seen are.
fn shown(id: u64, request: &ApprovalRequest) -> Value {
    let host = match &request.action {
        Action::Path { host, .. } => host.as_deref(),
        _ => None,
    };
    json!({
        "id": id,
        "action": request.action.to_string(),
        "leads_to": host.map(|h| h.escape_debug().to_string()),
        "context": request.context,
        "phase": request.phase.name(),
        "session": request.requester.session,
        "directory": request.directory.as_ref().map(|d| d.to_string_lossy().escape_debug().to_string()),
        "rule": request.rule,
        "agent_says": request.detail.escape_debug().to_string(),
    })
}
