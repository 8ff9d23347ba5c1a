//! Why an agent may not do what it asked for, in words that may be handed to a model.

use super::request::Action;
use crate::decision::{Decision, Phase, Reason};
use crate::message::because;
use std::fmt;

/// What kind of refusal or failure it is; the first ones as in the language's table of
/// reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No mount covers the path, it is hidden, or it is forbidden.
    PathAccessDenied,
    /// The permission is not granted.
    PermissionDenied,
    /// A command rule forbids it, none allows it, or it is not understood.
    CommandDenied,
    /// A tool rule forbids it, or none allows it.
    ToolDenied,
    /// A required grant is not held.
    GrantDenied,
    /// The phase forbids it.
    PhaseDenied,
    /// The request is malformed.
    InvalidRequest,
    /// It had to be approved, and was not.
    ApprovalDenied,
    /// It had to be approved, and no backend decided.
    ApprovalUnresolved,
    /// It had to be approved, and nobody answered in time.
    ApprovalTimeout,
    /// It was allowed, and could not be recorded as it has to be.
    AuditFailed,
    /// It was allowed, and the system failed to do it.
    Io,
}

impl ErrorKind {
    /// The kind of a denial.
    #[must_use]
    pub const fn of(reason: Reason) -> ErrorKind {
        match reason {
            Reason::Outside | Reason::Hidden | Reason::Denied => ErrorKind::PathAccessDenied,
            Reason::NotGranted => ErrorKind::PermissionDenied,
            Reason::CommandDenied | Reason::CommandNotAllowed | Reason::CommandOpaque => {
                ErrorKind::CommandDenied
            }
            Reason::ToolDenied | Reason::ToolNotAllowed => ErrorKind::ToolDenied,
            Reason::GrantMissing => ErrorKind::GrantDenied,
            Reason::Phase => ErrorKind::PhaseDenied,
            Reason::ApprovalRequired => ErrorKind::ApprovalUnresolved,
            Reason::Granted | Reason::Invalid => ErrorKind::InvalidRequest,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::PathAccessDenied => "PathAccessDenied",
            ErrorKind::PermissionDenied => "PermissionDenied",
            ErrorKind::CommandDenied => "CommandDenied",
            ErrorKind::ToolDenied => "ToolDenied",
            ErrorKind::GrantDenied => "GrantDenied",
            ErrorKind::PhaseDenied => "PhaseDenied",
            ErrorKind::InvalidRequest => "InvalidRequest",
            ErrorKind::ApprovalDenied => "ApprovalDenied",
            ErrorKind::ApprovalUnresolved => "ApprovalUnresolved",
            ErrorKind::ApprovalTimeout => "ApprovalTimeout",
            ErrorKind::AuditFailed => "AuditFailed",
            ErrorKind::Io => "Io",
        }
    }

    /// Whether the agent was refused, rather than the system failed.
    #[must_use]
    pub const fn is_denial(self) -> bool {
        !matches!(self, ErrorKind::Io)
    }
}

/// A refusal or failure of a guard.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    /// Absent where the system failed.
    reason: Option<Reason>,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// What kind it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Why the policy denied it; `None` where an approval, the audit or the system failed.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.reason
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, reason: None, message: message.into(), source: None }
    }

    pub(crate) fn because(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        self.source = Some(source.into());
        self
    }

    /// A denial of the policy. `mount` is the slug of the mount that decided.
    pub(crate) fn denied(
        decision: &Decision,
        action: &Action,
        mount: Option<&str>,
        context: &str,
        phase: Phase,
    ) -> Error {
        let why = because(decision.reason, mount, context, phase);
        Error {
            kind: ErrorKind::of(decision.reason),
            reason: Some(decision.reason),
            message: format!("Denied: {action}: {why}"),
            source: None,
        }
    }

    pub(crate) fn io(action: &Action, source: std::io::Error) -> Error {
        Error::new(ErrorKind::Io, format!("{action}: {source}")).because(source)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}
