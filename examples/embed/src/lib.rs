//! A guarded file read: ask the table, then read, refuse otherwise.
//!
//! The table is compiled into the program. The program has no parser, no compiler and
//! no policy file that could be missing or changed at run time.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "guarding file reads is what it is for")]

use mero_runtime::{Decision, Effect, Kind, Permission, Reason, Session, Table};
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

/// `policy.mero`, compiled.
static TABLE: &[u8] = include_bytes!("../policy.merot");

/// Why a read did not happen.
#[derive(Debug)]
pub enum ReadError {
    /// The policy says no, or that somebody has to be asked first.
    Refused(Decision),
    /// The policy says yes, and the file system does not.
    Io(io::Error),
    /// The table does not fit this program.
    Setup(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Refused(d) if d.effect == Effect::Ask => {
                write!(f, "approval is needed ({})", d.reason)
            }
            ReadError::Refused(d) => write!(f, "refused ({})", d.reason),
            ReadError::Io(error) => write!(f, "{error}"),
            ReadError::Setup(what) => write!(f, "the policy cannot be used: {what}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads files on behalf of one context, below one base directory.
#[derive(Debug)]
pub struct Guard {
    table: Table<'static>,
    context: &'static str,
    base: PathBuf,
}

impl Guard {
    /// A guard for a context; `base` is the directory of the policy's `./…` mounts.
    ///
    /// # Errors
    /// Where the table is refused, has no such context, or does not fit `base`.
    pub fn new(context: &'static str, base: &Path) -> Result<Guard, ReadError> {
        let setup = |what: String| ReadError::Setup(what);
        // Links in the base are followed here, so that they are none below.
        let base = fs::canonicalize(base).map_err(ReadError::Io)?;
        let table = Table::from_bytes(TABLE).map_err(|e| setup(e.to_string()))?;
        let found = table.context(context);
        let guard = Guard { table, context, base };
        let found = found.ok_or_else(|| setup(format!("there is no context `{context}`")))?;
        found.check_binding(&guard.session()).map_err(|e| setup(e.to_string()))?;
        Ok(guard)
    }

    fn session(&self) -> Session<'_> {
        Session { base: self.base.as_os_str().as_encoded_bytes(), ..Session::default() }
    }

    /// Reads a file that a request names, if the policy allows it.
    ///
    /// # Errors
    /// [`ReadError::Refused`] where the answer is not `allow`.
    pub fn read(&self, path: &str) -> Result<String, ReadError> {
        let refused = |reason| ReadError::Refused(Decision::new(Effect::Deny, reason));
        let context = self
            .table
            .context(self.context)
            .ok_or_else(|| ReadError::Setup("the context is gone".to_owned()))?;
        let session = self.session();
        // Asks for a path, and gives the host path that it means.
        let ask = |path: &str| {
            let decision = context.path(&session, path.as_bytes(), Permission::READ, Kind::File);
            if !decision.is_allowed() {
                return Err(ReadError::Refused(decision));
            }
            let place = context.place(&session, path.as_bytes()).map_err(refused)?;
            Ok(PathBuf::from(place.to_string()))
        };
        let place = ask(path)?;
        // The table knows names, not links: where the real file lies is asked too. An
        // absolute path that lies in no mount would be read as one below `root`, so the
        // answer must be on the very path that was asked for.
        let real = fs::canonicalize(&place).map_err(ReadError::Io)?;
        if real != place {
            let meant = ask(real.to_str().ok_or_else(|| refused(Reason::Invalid))?)?;
            if meant != real {
                return Err(refused(Reason::Outside));
            }
        }
        fs::read_to_string(&real).map_err(ReadError::Io)
    }
}
