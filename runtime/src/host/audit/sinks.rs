//! Where events go.

use super::Event;
use std::collections::VecDeque;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Takes events.
pub trait Sink: Send + Sync {
    /// Writes an event.
    ///
    /// # Errors
    /// It was not written: a durable audit then refuses the action.
    fn record(&self, event: &Event) -> io::Result<()>;

    /// Sees to it that what was written stays.
    ///
    /// # Errors
    /// It may not.
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: Sink + ?Sized> Sink for Arc<S> {
    fn record(&self, event: &Event) -> io::Result<()> {
        (**self).record(event)
    }

    fn flush(&self) -> io::Result<()> {
        (**self).flush()
    }
}

/// One JSON object a line, each written with one call, so that lines of several threads
/// and, at the end of a file, of several programs stay whole.
pub struct JsonLines<W>(Mutex<W>);

impl<W> fmt::Debug for JsonLines<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JsonLines")
    }
}

impl<W: Write + Send> JsonLines<W> {
    /// To a writer, which should not buffer.
    pub fn new(writer: W) -> JsonLines<W> {
        JsonLines(Mutex::new(writer))
    }
}

impl JsonLines<File> {
    /// To the end of a file, which is made if there is none, for its owner alone. A link in
    /// its place is not followed.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn append(path: impl AsRef<Path>) -> io::Result<JsonLines<File>> {
        let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).custom_flags(flags);
        Ok(JsonLines::new(options.open(path)?))
    }
}

impl<W: Write + Send> Sink for JsonLines<W> {
    fn record(&self, event: &Event) -> io::Result<()> {
        let mut line = event.to_json().to_string();
        line.push('\n');
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writer.write_all(line.as_bytes())?;
        writer.flush()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

/// Keeps the last events in memory.
#[derive(Debug)]
pub struct Memory {
    events: Mutex<VecDeque<Event>>,
    most: usize,
}

impl Memory {
    /// At most this many; older ones go.
    #[must_use]
    pub fn new(most: usize) -> Memory {
        Memory { events: Mutex::new(VecDeque::new()), most: most.max(1) }
    }

    /// What is kept, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().cloned().collect()
    }
}

impl Sink for Memory {
    fn record(&self, event: &Event) -> io::Result<()> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        while events.len() >= self.most {
            events.pop_front();
        }
        events.push_back(event.clone());
        Ok(())
    }
}

/// Hands events to a function of the host.
pub struct Callback<F>(F);

impl<F: Fn(&Event) -> io::Result<()> + Send + Sync> Callback<F> {
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

impl<F: Fn(&Event) -> io::Result<()> + Send + Sync> Sink for Callback<F> {
    fn record(&self, event: &Event) -> io::Result<()> {
        (self.0)(event)
    }
}
