//! What was decided, for the record: one structured event for each decision.
//!
//! An [`Audit`] takes events and hands them to a [`Sink`]. Buffered, a thread of its own
//! writes, and a decision never waits: what does not fit is counted, and the count is
//! itself recorded when there is room again, so a gap is seen as one. Durable, an event is
//! written before what it is about happens, and where it cannot be written nothing
//! happens.

mod event;
mod sinks;

pub use event::{Event, Outcome};
pub use sinks::{Callback, JsonLines, Memory, Sink};

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Where decisions are recorded. Shared by guards in an [`Arc`].
pub struct Audit {
    mode: Mode,
    next: AtomicU64,
    lost: Arc<AtomicU64>,
}

enum Mode {
    None,
    Durable(Box<dyn Sink>),
    Buffered(Buffered),
}

struct Buffered {
    /// Absent once it is dropped: that ends the writer.
    send: Option<SyncSender<Message>>,
    done: Arc<AtomicBool>,
    writer: Option<JoinHandle<()>>,
}

enum Message {
    Event(Box<Event>),
    /// Everything before it is written; then this is answered.
    Flush(SyncSender<()>),
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            Mode::None => "none",
            Mode::Durable(_) => "durable",
            Mode::Buffered(_) => "buffered",
        };
        f.debug_struct("Audit").field("mode", &mode).field("lost", &self.lost()).finish()
    }
}

impl Audit {
    /// How long dropping a buffered audit waits for its writer.
    const PATIENCE: Duration = Duration::from_secs(5);

    fn new(mode: Mode, lost: Arc<AtomicU64>) -> Audit {
        Audit { mode, next: AtomicU64::new(0), lost }
    }

    /// Records nothing.
    #[must_use]
    pub fn none() -> Audit {
        Audit::new(Mode::None, Arc::default())
    }

    /// Writes each event before what it is about happens. An action whose event cannot be
    /// written is refused.
    #[must_use]
    pub fn durable(sink: impl Sink + 'static) -> Audit {
        Audit::new(Mode::Durable(Box::new(sink)), Arc::default())
    }

    /// Hands events to a thread that writes them; at most `capacity` wait. What does not
    /// fit, and what the sink fails to write, is counted ([`Self::lost`]).
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn buffered(sink: impl Sink + 'static, capacity: usize) -> io::Result<Audit> {
        let (send, receive) = sync_channel(capacity.max(1));
        let lost = Arc::new(AtomicU64::new(0));
        let done = Arc::new(AtomicBool::new(false));
        let (counted, finished) = (Arc::clone(&lost), Arc::clone(&done));
        let writer = std::thread::Builder::new().name("mero-audit".into()).spawn(move || {
            write_all(&receive, &sink, &counted);
            finished.store(true, Ordering::Release);
        })?;
        let buffered = Buffered { send: Some(send), done, writer: Some(writer) };
        Ok(Audit::new(Mode::Buffered(buffered), lost))
    }

    /// Whether anything is recorded.
    #[must_use]
    pub fn is_on(&self) -> bool {
        !matches!(self.mode, Mode::None)
    }

    /// Whether each event is written before what it is about happens.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        matches!(self.mode, Mode::Durable(_))
    }

    /// Events that were not written.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Waits until what was recorded before is written, at most this long; whether it is.
    pub fn flush(&self, within: Duration) -> bool {
        match &self.mode {
            Mode::None => true,
            Mode::Durable(sink) => guarded(|| sink.flush()).is_ok(),
            Mode::Buffered(buffered) => {
                let end = Instant::now().checked_add(within);
                let (send, receive) = sync_channel(1);
                let mut message = Message::Flush(send);
                let Some(channel) = &buffered.send else { return false };
                loop {
                    match channel.try_send(message) {
                        Ok(()) => break,
                        Err(TrySendError::Disconnected(_)) => return false,
                        Err(TrySendError::Full(back)) => message = back,
                    }
                    if end.is_none_or(|e| Instant::now() >= e) {
                        return false;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                let left =
                    end.map_or(Duration::ZERO, |e| e.saturating_duration_since(Instant::now()));
                receive.recv_timeout(left).is_ok()
            }
        }
    }

    /// Records an event; numbers it. Never blocks unless durable.
    ///
    /// # Errors
    /// Durable only: it could not be written.
    pub fn record(&self, mut event: Event) -> io::Result<()> {
        event.seq = self.next.fetch_add(1, Ordering::Relaxed);
        match &self.mode {
            Mode::None => Ok(()),
            Mode::Durable(sink) => guarded(|| sink.record(&event)).inspect_err(|_| {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }),
            Mode::Buffered(buffered) => {
                let sent =
                    buffered.send.as_ref().map(|s| s.try_send(Message::Event(Box::new(event))));
                if !matches!(sent, Some(Ok(()))) {
                    self.lost.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }
        }
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        let Mode::Buffered(buffered) = &mut self.mode else { return };
        buffered.send = None;
        let Some(writer) = buffered.writer.take() else { return };
        let end = Instant::now().checked_add(Audit::PATIENCE);
        // A sink that hangs does not hang the host.
        while !buffered.done.load(Ordering::Acquire) && end.is_some_and(|e| Instant::now() < e) {
            if writer.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if writer.is_finished() || buffered.done.load(Ordering::Acquire) {
            // It catches what its sink throws.
            let _ = writer.join();
        }
    }
}

/// A sink's own panic is an error of the sink.
fn guarded(act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    catch_unwind(AssertUnwindSafe(act))
        .unwrap_or_else(|_| Err(io::Error::other("the audit's sink panicked")))
}

fn write_all(receive: &Receiver<Message>, sink: &dyn Sink, lost: &AtomicU64) {
    let mut told = 0u64;
    for message in receive {
        match message {
            Message::Event(event) => {
                let now = lost.load(Ordering::Relaxed);
                if now > told {
                    let gap = Event::lost(now.saturating_sub(told), &event);
                    if guarded(|| sink.record(&gap)).is_ok() {
                        told = now;
                    }
                }
                if guarded(|| sink.record(&event)).is_err() {
                    lost.fetch_add(1, Ordering::Relaxed);
                }
            }
            Message::Flush(answer) => {
                if guarded(|| sink.flush()).is_ok() {
                    // Who asked may have gone.
                    let _ = answer.send(());
                }
            }
        }
    }
    let _ = guarded(|| sink.flush());
}
