//! The end of a process, waited for within bounds: of time, and of what it writes.
//!
//! What a process started and left behind may hold its pipes for longer than it lives.
//! They are read until it has ended, and not until they are closed.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Read;
use std::process::{Child, ChildStderr, ChildStdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether a process has ended.
const TICK: Duration = Duration::from_millis(20);

/// What came of a process.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: Output,
    pub(crate) err: Output,
    /// Its time was up, or the server's.
    pub(crate) killed: bool,
}

/// What was written to a stream.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) kept: Vec<u8>,
    /// Whether there was more.
    pub(crate) cut: bool,
}

impl Output {
    /// Reads what is there; what is too much is read and left, so that the process does
    /// not hang. Whether there may be more.
    fn take(&mut self, from: &mut impl Read, most: usize) -> bool {
        let mut buffer = [0; 16 * 1024];
        match from.read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                let room = most.saturating_sub(self.kept.len());
                self.cut |= count > room;
                self.kept.extend(buffer.iter().take(count.min(room)));
                true
            }
            Err(error) => error.kind() == std::io::ErrorKind::Interrupted,
        }
    }
}

/// Waits for the end of a process, and kills it after `time` or when the server stops.
pub(crate) fn finish(mut child: Child, time: Duration, most: usize, stop: &AtomicBool) -> Ended {
    let until = Instant::now().checked_add(time);
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let mut ended = Ended::default();
    loop {
        // Looked at first: what it wrote before its end is then there to be read.
        let over = child.try_wait();
        let more = gather(&mut out, &mut err, &mut ended, most);
        match over {
            Ok(Some(status)) => {
                let mut left = more;
                while left && until.is_none_or(|u| Instant::now() < u) {
                    left = gather(&mut out, &mut err, &mut ended, most);
                }
                ended.code = status.code();
                return ended;
            }
            Ok(None)
                if until.is_none_or(|u| Instant::now() < u) && !stop.load(Ordering::Relaxed) => {}
            Ok(None) | Err(_) => {
                // It has ended by itself if it cannot be killed.
                let _ = child.kill();
                ended.code = child.wait().ok().and_then(|s| s.code());
                ended.killed = true;
                return ended;
            }
        }
    }
}

/// Waits a tick for something to read, and reads it; whether there was something.
fn gather(
    out: &mut Option<ChildStdout>,
    err: &mut Option<ChildStderr>,
    ended: &mut Ended,
    most: usize,
) -> bool {
    let Ok(tick) = Timespec::try_from(TICK) else { return false };
    let flags = PollFlags::IN | PollFlags::HUP;
    let (from_out, from_err) = {
        let mut pipes = Vec::with_capacity(2);
        pipes.extend(out.as_ref().map(|o| PollFd::new(o, flags)));
        pipes.extend(err.as_ref().map(|e| PollFd::new(e, flags)));
        if !matches!(poll(&mut pipes, Some(&tick)), Ok(1..)) {
            return false;
        }
        let mut ready = pipes.iter().map(|p| !p.revents().is_empty());
        let from_out = out.is_some() && ready.next().unwrap_or(false);
        (from_out, err.is_some() && ready.next().unwrap_or(false))
    };
    if from_out
        && let Some(pipe) = out
        && !ended.out.take(pipe, most)
    {
        *out = None;
    }
    if from_err
        && let Some(pipe) = err
        && !ended.err.take(pipe, most)
    {
        *err = None;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn run(script: &str, time: Duration, stop: bool) -> Ended {
        let child = Command::new("/bin/sh")
            .args(["-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        finish(child, time, 100_000, &AtomicBool::new(stop))
    }

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn what_is_written_is_kept_within_bounds() {
        let ended = run("echo out; echo err >&2; exit 3", LONG, false);
        assert_eq!((ended.code, ended.killed), (Some(3), false));
        assert_eq!((&*ended.out.kept, &*ended.err.kept), (&b"out\n"[..], &b"err\n"[..]));
        let ended = run("head -c 99999 /dev/zero; head -c 5000000 /dev/zero >&2", LONG, false);
        assert_eq!((ended.out.kept.len(), ended.out.cut), (99_999, false));
        assert_eq!((ended.err.kept.len(), ended.err.cut), (100_000, true));
        assert_eq!((ended.code, ended.killed), (Some(0), false));
        let ended = run("exec >&- 2>&-; sleep 0.2; exit 4", LONG, false);
        assert_eq!(ended.code, Some(4), "it lives longer than its streams");
    }

    #[test]
    fn no_process_takes_longer_than_it_may() {
        let began = Instant::now();
        let ended = run("sleep 20 & echo out; wait", Duration::from_millis(300), false);
        assert_eq!((ended.killed, &*ended.out.kept), (true, &b"out\n"[..]));
        let ended = run("yes", Duration::from_millis(300), false);
        assert!(ended.killed && ended.out.cut);
        let ended = run("sleep 20", LONG, true);
        assert!(ended.killed, "the server stops");
        let ended = run("sleep 20 & echo out", LONG, false);
        assert_eq!((ended.code, &*ended.out.kept), (Some(0), &b"out\n"[..]), "it left one behind");
        assert!(began.elapsed() < Duration::from_secs(15));
    }
}
