//! Sessions: a guard each, by a name that cannot be guessed.

use mero_runtime::host::Guard;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Sessions at a time; beyond them, one has to be ended first.
pub const MOST_SESSIONS: usize = 64;
/// A session that is not used for this long may make room for another.
const IDLE: Duration = Duration::from_secs(3600);

/// The sessions of a server.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<String, Session>>);

struct Session {
    guard: Arc<Guard>,
    used: Instant,
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session; whether there was room.
    pub(crate) fn open(&self, id: &str, guard: Guard) -> bool {
        let mut sessions = self.lock();
        if sessions.len() >= MOST_SESSIONS {
            sessions.retain(|_, s| s.used.elapsed() < IDLE);
        }
        let room = sessions.len() < MOST_SESSIONS;
        if room {
            let session = Session { guard: Arc::new(guard), used: Instant::now() };
            sessions.insert(id.to_owned(), session);
        }
        room
    }

    /// The guard of a session, which is in use.
    pub(crate) fn guard(&self, id: &str) -> Option<Arc<Guard>> {
        let mut sessions = self.lock();
        let session = sessions.get_mut(id)?;
        session.used = Instant::now();
        Some(Arc::clone(&session.guard))
    }

    /// Ends a session; whether there was one. Calls that are under way come to their end.
    pub(crate) fn end(&self, id: &str) -> bool {
        self.lock().remove(id).is_some()
    }
}
