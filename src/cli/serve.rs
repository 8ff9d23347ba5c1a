//! `meroc serve`: `eval` that stays, and notices when its policy changes.
//!
//! Requests come line by line on standard input or over a Unix socket, and each is
//! answered by one line. Before a line is answered the policy's files are looked at, at
//! most every so often; if they have changed, the policy is loaded again. A new version
//! that is not sound is told on standard error, and the old one answers on.

use super::engine::{Detail, Engine};
use super::eval::Defaults;
use super::{Binding, Failure, Outcome, Terminal};
use crate::driver::Host;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Longest request line, in bytes.
const MAX_LINE: u64 = 4 << 20;
/// Connections at a time.
const MAX_CONNECTIONS: usize = 64;
/// How often files are looked at, at most.
const EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    /// A `.mero` file, a directory, or a compiled table
    policy: String,
    /// Context of requests that name none
    #[arg(short, long, value_name = "CTX")]
    context: Option<String>,
    /// Phase of requests that name none
    #[arg(long, default_value = "default", value_name = "PHASE")]
    phase: String,
    /// Follow links of this host: a path is decided by every name that it has
    #[arg(long)]
    resolve: bool,
    /// Answer over this Unix socket, made for its owner alone, until interrupted
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    #[command(flatten)]
    binding: Binding,
}

/// The state of the files of a policy: what they hold, by length and time of change.
type Stamp = Vec<Option<(u64, std::time::SystemTime)>>;

/// The policy that answers, and what is known of its files.
struct Served<'s> {
    serve: &'s Serve,
    host: &'s (dyn Host + Sync),
    terminal: Terminal,
    engine: RwLock<Arc<Engine>>,
    looked: Mutex<(Instant, Stamp)>,
}

impl Serve {
    pub(super) fn run(self, host: &(dyn Host + Sync), terminal: Terminal) -> Outcome {
        if self.policy == "-" {
            return Err(Failure::usage(
                "standard input cannot be both the policy and the requests",
                "name the policy's file",
            ));
        }
        let engine = self.load(host, terminal)?;
        self.defaults().check(&engine.table())?;
        let stamp = stamp(host, &self.policy, &engine);
        let served = Served {
            serve: &self,
            host,
            terminal,
            engine: RwLock::new(Arc::new(engine)),
            looked: Mutex::new((host.now(), stamp)),
        };
        match &self.socket {
            None => {
                let mut out = std::io::stdout().lock();
                served.answer(&mut std::io::stdin().lock(), &mut out)?;
            }
            Some(path) => served.listen(path)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn defaults(&self) -> Defaults<'_> {
        Defaults { context: self.context.as_deref(), phase: &self.phase }
    }

    fn load(&self, host: &dyn Host, terminal: Terminal) -> Result<Engine, Failure> {
        let engine = Engine::load(host, &self.policy, &self.binding, terminal, Detail::Rules)?;
        if self.resolve { engine.following_links() } else { Ok(engine) }
    }
}

impl Served<'_> {
    /// Answers every line of `input` until it ends.
    fn answer(&self, input: &mut impl BufRead, out: &mut impl Write) -> Result<(), Failure> {
        let mut line = Vec::new();
        let mut number = 0usize;
        loop {
            line.clear();
            let read = input
                .by_ref()
                .take(MAX_LINE)
                .read_until(b'\n', &mut line)
                .map_err(|source| Failure::Requests { source })?;
            if read == 0 {
                return Ok(());
            }
            number = number.saturating_add(1);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if line.len() as u64 >= MAX_LINE && line.last() != Some(&b'\n') {
                let error = format!("a request is longer than {MAX_LINE} bytes");
                writeln!(out, "{}", serde_json::json!({ "error": error, "line": number }))?;
                // Where the next request begins is not known.
                return Ok(out.flush()?);
            }
            let engine = self.current();
            let (reply, _) = self.serve.defaults().line(&engine, &line, number);
            writeln!(out, "{reply}")?;
            out.flush()?;
        }
    }

    /// The policy in force, after a look at its files.
    fn current(&self) -> Arc<Engine> {
        let engine = || Arc::clone(&self.engine.read().unwrap_or_else(PoisonError::into_inner));
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.host.now();
        if now.saturating_duration_since(looked.0) < EVERY {
            return engine();
        }
        looked.0 = now;
        let stamp_now = stamp(self.host, &self.serve.policy, &engine());
        if stamp_now == looked.1 {
            return engine();
        }
        match self.serve.load(self.host, self.terminal) {
            Ok(new) => {
                looked.1 = stamp(self.host, &self.serve.policy, &new);
                *self.engine.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
                self.tell("the policy has changed and is in force");
            }
            Err(failure) => {
                looked.1 = stamp_now;
                self.tell(&format!(
                    "the policy has changed, and the old one answers on: {failure}"
                ));
            }
        }
        engine()
    }

    fn tell(&self, what: &str) {
        // Nobody may be listening there; the answers go on.
        let _ = writeln!(std::io::stderr(), "meroc: {}: {what}", self.serve.policy);
    }

    #[cfg(unix)]
    fn listen(&self, path: &std::path::Path) -> Result<(), Failure> {
        use std::os::unix::net::UnixListener;
        use std::sync::atomic::{AtomicUsize, Ordering};
        let failed = |source| Failure::Write { path: path.display().to_string(), source };
        // It has its name only once it is its owner's.
        let mut hidden = path.as_os_str().to_owned();
        hidden.push(format!(".{}", std::process::id()));
        let listener = UnixListener::bind(&hidden).map_err(failed)?;
        self.host.publish(hidden.as_ref(), path).map_err(failed)?;
        let open = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for connection in listener.incoming() {
                // One that cannot be accepted is the other side's to try again.
                let Ok(connection) = connection else { continue };
                if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
                    open.fetch_sub(1, Ordering::Relaxed);
                    let refusal = serde_json::json!({ "error": "too many connections", "line": 0 });
                    let _ = writeln!(&connection, "{refusal}");
                    continue;
                }
                let open = &open;
                scope.spawn(move || {
                    let mut input = BufReader::new(&connection);
                    // The other side may have gone: it is not told.
                    let _ = self.answer(&mut input, &mut &connection);
                    open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Ok(())
    }

    #[cfg(not(unix))]
    fn listen(&self, _: &std::path::Path) -> Result<(), Failure> {
        Err(Failure::usage("there are no Unix sockets here", "leave out `--socket`"))
    }
}

fn stamp(host: &dyn Host, name: &str, engine: &Engine) -> Stamp {
    let sources = engine.policy.iter().flat_map(|p| p.sources.iter());
    let mut files = sources.map(|(_, f)| f.name.clone()).collect::<Vec<_>>();
    files.push(name.to_owned());
    files.iter().map(|f| host.changed(f.as_ref())).collect()
}
