//! Telling somebody who looks on that work goes on.
//!
//! After a second, a line on a terminal's standard error says what is done and for how
//! long; it is gone when the work ends. Where nobody looks on nothing is written.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Shows that something is being done, until it is dropped.
pub(super) struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    pub(super) fn new(what: impl Into<String>) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress(None);
        }
        let what = what.into();
        let (send, receive) = channel::<()>();
        let thread = std::thread::Builder::new().spawn(move || {
            let mut seconds = 0u32;
            while receive.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                seconds = seconds.saturating_add(1);
                tell(&format!("{what}, {seconds} s"));
            }
            if seconds > 0 {
                tell("");
            }
        });
        // Without a thread nothing is shown, and the work goes on.
        Progress(thread.ok().map(|thread| (send, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((send, thread)) = self.0.take() {
            drop(send);
            // It only writes, and ends with the channel.
            let _ = thread.join();
        }
    }
}

/// Puts a text into the line, over what stands there.
pub(super) fn tell(text: &str) {
    // Nobody is there to tell if standard error is closed.
    let _ = write!(std::io::stderr(), "\r{text}\u{1b}[K");
}
