//! The policy that is in force, from a file that may change.
//!
//! A new table replaces the old one at once and as a whole, or not at all: one that cannot
//! be read, is malformed or does not fit this host leaves the old one in force, and the
//! error says why. Guards keep the policy that they began with.

use super::policy::{BindingError, Directories, Policy};
use arc_swap::ArcSwap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What tells one state of a file from another.
type Stamp = (u64, u64, u64, i64, i64);

/// A table file and the policy that was last read from it.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    directories: Directories,
    current: ArcSwap<Policy>,
    /// Of the file that was tried last, good or bad.
    tried: Mutex<Option<Stamp>>,
}

impl Store {
    /// Reads and binds a table for the first time.
    ///
    /// # Errors
    /// [`BindingError`]: then there is nothing to serve.
    pub fn open(path: impl Into<PathBuf>, directories: Directories) -> Result<Store, BindingError> {
        let path = path.into();
        let stamp = stamp(&path);
        let policy = Policy::load(&path, &directories)?;
        Ok(Store {
            path,
            directories,
            current: ArcSwap::from_pointee(policy),
            tried: Mutex::new(stamp),
        })
    }

    /// The policy in force. Takes no lock.
    #[must_use]
    pub fn current(&self) -> Arc<Policy> {
        self.current.load_full()
    }

    /// Reads the table again and puts it in force.
    ///
    /// # Errors
    /// [`BindingError`]; the policy that was in force stays so.
    pub fn reload(&self) -> Result<Arc<Policy>, BindingError> {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        *tried = stamp(&self.path);
        let policy = Arc::new(Policy::load(&self.path, &self.directories)?);
        self.current.store(Arc::clone(&policy));
        Ok(policy)
    }

    /// Reads the table again if its file is not the one that was tried last: by device,
    /// inode, length and time of change. `None` if it is.
    ///
    /// # Errors
    /// [`BindingError`], once for each state of the file; the policy in force stays so.
    pub fn reload_if_changed(&self) -> Result<Option<Arc<Policy>>, BindingError> {
        let now = stamp(&self.path);
        if now.is_some() && *self.tried.lock().unwrap_or_else(PoisonError::into_inner) == now {
            return Ok(None);
        }
        self.reload().map(Some)
    }

    /// Looks every so often whether the file has changed, until the watch is dropped, and
    /// tells what came of it.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn watch(
        self: &Arc<Self>,
        every: Duration,
        mut tell: impl FnMut(Result<Arc<Policy>, BindingError>) + Send + 'static,
    ) -> std::io::Result<Watch> {
        let store = Arc::clone(self);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("mero-watch".into()).spawn(move || {
            let mut missing = false;
            while !stopped.load(Ordering::Relaxed) {
                std::thread::park_timeout(every);
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                match store.reload_if_changed() {
                    Ok(None) => missing = false,
                    Ok(Some(policy)) => {
                        missing = false;
                        tell(Ok(policy));
                    }
                    // A file that is away is told once.
                    Err(BindingError::Read(..)) if missing => {}
                    Err(error) => {
                        missing = matches!(error, BindingError::Read(..));
                        tell(Err(error));
                    }
                }
            }
        })?;
        Ok(Watch { stop, thread: Some(thread) })
    }
}

/// A thread that watches a file; dropping it ends the watch.
#[derive(Debug)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // What it told panicked: that was said by the panic.
            let _ = thread.join();
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let m = std::fs::metadata(path).ok()?;
    Some((m.dev(), m.ino(), m.len(), m.mtime(), m.mtime_nsec()))
}
