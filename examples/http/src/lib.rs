//! The tools of agents over HTTP on loopback: a server that knows two bearers, the agent
//! that calls tools and the person that approves, and leaves every question of what is
//! allowed to the guard.
//!
//! Everything that a caller can make grow has a bound: connections, what is read of each
//! and for how long, sessions, tool calls at a time, requests that wait for a person, and
//! the output of commands. A connection carries one request, so none is held open.
#![cfg(unix)]
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "a host program has a clock, and reads random bytes for its tokens"
)]

mod approvals;
mod auth;
mod child;
mod http;
mod routes;
mod sessions;
mod tools;

pub use approvals::{Approvals, MOST_WAITING};
pub use auth::{Tokens, random};
pub use http::{MAX_BODY, MAX_HEAD};
pub use sessions::MOST_SESSIONS;
pub use tools::{MAX_ASKED, MAX_OUTPUT, MAX_TIME};

use self::http::{Answer, BRIEFLY, Connection, PARTING};
use self::sessions::Sessions;
use mero_runtime::host::approval::Timeout;
use mero_runtime::host::audit::{Audit, Event, JsonLines, Memory, Sink};
use mero_runtime::host::{Error, Guard, Policy, Requester, Store};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Connections at a time; more are told to come back.
pub const MOST_CONNECTIONS: usize = 64;
/// Tool calls at a time. Fewer than connections: whatever agents do, there is room for the
/// person who approves.
pub const MOST_CALLS: usize = 32;
/// Events that `GET /audit` can show.
pub const MOST_EVENTS: usize = 1_000;
/// How often a stop is looked for.
const TICK: Duration = Duration::from_millis(100);

/// What the server serves.
pub struct Host {
    store: Store,
    tokens: Tokens,
    /// Contexts that an agent may open a session in by itself.
    contexts: Vec<String>,
    approvals: Arc<Approvals>,
    /// The list, with a bound on how long it may take.
    backend: Arc<Timeout>,
    audit: Arc<Audit>,
    events: Arc<Memory>,
    sessions: Sessions,
    calls: Gate,
    /// Why the table that is there now is not in force.
    unfit: Mutex<Option<String>>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("contexts", &self.contexts).finish_non_exhaustive()
    }
}

impl Host {
    /// Serves the table of a store. A person has `wait` to answer what the policy asks.
    ///
    /// An agent opens sessions in `contexts`; if none is named, in that of a table that has
    /// just one. The bearer of the person's token opens any, in any phase.
    #[must_use]
    pub fn new(store: Store, tokens: Tokens, contexts: Vec<String>, wait: Duration) -> Host {
        let approvals = Arc::new(Approvals::new(wait));
        // The list gives up first, so that nobody approves what is no longer waited for;
        // this bound is for a list that does not.
        let late = wait.saturating_add(Duration::from_secs(1));
        let backend = Arc::new(Timeout::new(approvals.clone(), late));
        let events = Arc::new(Memory::new(MOST_EVENTS));
        let audit = Arc::new(Audit::durable(Arc::clone(&events)));
        let (sessions, calls) = (Sessions::default(), Gate::new(MOST_CALLS));
        let unfit = Mutex::new(None);
        Host { store, tokens, contexts, approvals, backend, audit, events, sessions, calls, unfit }
    }

    /// Records every decision in a file as well, as JSON lines, before what it is about
    /// happens.
    #[must_use]
    pub fn log(mut self, lines: JsonLines<File>) -> Host {
        self.audit = Arc::new(Audit::durable(Both(lines, Arc::clone(&self.events))));
        self
    }

    /// The policy in force. A table that changed is taken up here; one that does not fit
    /// leaves the old one in force, as it does sessions that are open.
    fn policy(&self) -> Arc<Policy> {
        let mut unfit = self.unfit.lock().unwrap_or_else(PoisonError::into_inner);
        match self.store.reload_if_changed() {
            // Each state of the file is told once: until there is another, it stays unfit.
            Ok(None) => {}
            Ok(Some(_)) => *unfit = None,
            Err(error) => *unfit = Some(error.to_string()),
        }
        self.store.current()
    }

    /// A guard for a session.
    fn guard(&self, policy: Arc<Policy>, session: &str, context: &str) -> Result<Guard, Error> {
        let requester = Requester {
            session: Some(session.to_owned()),
            agent: Some("http".to_owned()),
            ..Requester::default()
        };
        let guard = Guard::new(policy, context)?;
        Ok(guard.requester(requester).approval(self.backend.clone()).audit(Arc::clone(&self.audit)))
    }
}

/// Writes an event to a file, then keeps it.
struct Both(JsonLines<File>, Arc<Memory>);

impl Sink for Both {
    fn record(&self, event: &Event) -> io::Result<()> {
        self.0.record(event)?;
        self.1.record(event)
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Lets a bounded number in at a time.
struct Gate {
    inside: AtomicUsize,
    most: usize,
}

/// A place inside of a gate, free again when it is dropped.
struct Place<'g>(&'g Gate);

impl Gate {
    fn new(most: usize) -> Gate {
        Gate { inside: AtomicUsize::new(0), most }
    }

    fn enter(&self) -> Option<Place<'_>> {
        let place = Place(self);
        (self.inside.fetch_add(1, Ordering::Relaxed) < self.most).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves until `stop` is set, then refuses what still waits for a person, and returns when
/// every call has ended.
///
/// # Errors
/// If the listener is not on loopback or cannot be listened to.
pub fn serve(listener: &TcpListener, host: &Host, stop: &AtomicBool) -> io::Result<()> {
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        // Tokens go over the wire as they are.
        return Err(io::Error::other("the address is not on loopback"));
    }
    listener.set_nonblocking(true)?;
    let connections = Gate::new(MOST_CONNECTIONS);
    std::thread::scope(|scope| {
        while !stop.load(Ordering::Relaxed) {
            let Some(stream) = accept(listener) else { continue };
            let Some(place) = connections.enter() else {
                // The next one is not accepted before this one has gone.
                let busy = Answer::error(503, "too many connections");
                Connection::new(stream).send(&busy, BRIEFLY);
                continue;
            };
            // Where no thread can be had, the connection is closed.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || {
                let _place = place;
                converse(stream, host, address.port(), stop);
            });
        }
        host.approvals.close();
    });
    Ok(())
}

/// The next connection, if there is one within a tick.
fn accept(listener: &TcpListener) -> Option<TcpStream> {
    let tick = Timespec::try_from(TICK).ok()?;
    let mut ready = [PollFd::new(listener, PollFlags::IN)];
    match poll(&mut ready, Some(&tick)) {
        Ok(0) | Err(_) => return None,
        Ok(_) => {}
    }
    match listener.accept() {
        Ok((stream, _)) => {
            // On some systems it has this of the listener.
            stream.set_nonblocking(false).ok()?;
            Some(stream)
        }
        Err(error) => {
            // The system is out of handles, say: others have to end first.
            if error.kind() != io::ErrorKind::WouldBlock {
                std::thread::sleep(TICK);
            }
            None
        }
    }
}

/// One request and its answer.
fn converse(stream: TcpStream, host: &Host, port: u16, stop: &AtomicBool) {
    let mut connection = Connection::new(stream);
    let answer = connection
        .head()
        .and_then(|head| routes::answer(host, port, stop, &head, &mut connection))
        .unwrap_or_else(|answer| answer);
    connection.send(&answer, PARTING);
}
