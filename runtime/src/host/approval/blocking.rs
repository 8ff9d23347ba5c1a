//! Backends that answer in a future, for callers that wait in a thread.
//!
//! A guard is synchronous: the thread that wants to act waits. [`Blocking`] polls such a
//! backend's future on that thread, parked until it is woken. It brings no runtime along;
//! whatever the future needs (timers, sockets) has to run elsewhere.

use super::{Approval, ApprovalBackend, ApprovalRequest, BackendError, TimedOut};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// An answer that is on its way.
pub type ApprovalFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Approval, BackendError>> + Send + 'a>>;

/// As [`ApprovalBackend`], in a future.
pub trait AsyncApprovalBackend: Send + Sync {
    /// Approves, denies, or leaves it to the next backend; fails as
    /// [`ApprovalBackend::decide`] does.
    fn decide(&self, request: ApprovalRequest) -> ApprovalFuture<'_>;
}

/// Waits for an [`AsyncApprovalBackend`] in the calling thread, for a bounded time.
///
/// When the time is over the future is dropped, and the answer is [`TimedOut`]. A poll that
/// blocks is not interrupted. Not to be called from a thread that the future needs to get
/// on, such as the only worker of a runtime.
#[derive(Clone)]
pub struct Blocking {
    inner: Arc<dyn AsyncApprovalBackend>,
    after: Duration,
}

impl Blocking {
    /// Gives `inner` the time `after`.
    #[must_use]
    pub fn new(inner: Arc<dyn AsyncApprovalBackend>, after: Duration) -> Blocking {
        Blocking { inner, after }
    }
}

impl fmt::Debug for Blocking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocking").field("after", &self.after).finish_non_exhaustive()
    }
}

/// Unparks a thread. The flag tells a wake from other reasons to be unparked.
struct Unpark {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

impl ApprovalBackend for Blocking {
    fn decide(&self, request: &ApprovalRequest) -> Result<Approval, BackendError> {
        let start = Instant::now();
        let unpark = Arc::new(Unpark { thread: thread::current(), woken: AtomicBool::new(false) });
        let waker = Waker::from(Arc::clone(&unpark));
        let mut future = self.inner.decide(request.clone());
        loop {
            if let Poll::Ready(answer) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return answer;
            }
            while !unpark.woken.swap(false, Ordering::Acquire) {
                let left = self.after.saturating_sub(start.elapsed());
                if left.is_zero() {
                    return Err(Box::new(TimedOut(self.after)));
                }
                thread::park_timeout(left);
            }
        }
    }
}
