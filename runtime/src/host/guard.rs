//! One agent under a policy, and the checks that everything it does goes through.

mod settle;

use self::settle::Begin;
use super::approval::ApprovalBackend;
use super::audit::Audit;
use super::error::{Error, ErrorKind};
use super::policy::{Bound, Policy, path_of};
use super::request::{Action, Requester};
use super::resolve::{End, Resolver, joined};
use crate::decision::{Decision, Effect, Kind, Permission, Phase, Reason};
use crate::eval::Session;
use crate::table::Context;
use arc_swap::ArcSwapOption;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Stat};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// One agent: a context of a policy, a phase, a working directory, who it is, who approves
/// for it, and where it is recorded. Every check of a host program goes through it.
///
/// Checks take no lock and may come from several threads.
pub struct Guard {
    under: Option<Under>,
    phase: AtomicU8,
    working_directory: ArcSwapOption<Vec<u8>>,
    home: Option<Vec<u8>>,
    requester: Requester,
    approval: Option<Arc<dyn ApprovalBackend>>,
    audit: Arc<Audit>,
    pub(crate) environment: Vec<(String, String)>,
}

/// A file, what it is, and its place without links.
pub(crate) type Opened = (OwnedFd, Stat, Vec<u8>);

/// What is meant by the last name of a path, if it is that of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// Where it leads.
    Followed,
    /// The link.
    Itself,
    /// Where it leads; and the whole path is the host's, not the agent's.
    OfHost,
}

/// The policy that a guard is under.
struct Under {
    policy: Arc<Policy>,
    /// The context's number.
    context: usize,
    name: String,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("context", &self.under.as_ref().map(|u| &u.name))
            .field("phase", &self.phase())
            .field("requester", &self.requester)
            .finish_non_exhaustive()
    }
}

impl Guard {
    /// A guard for an agent in a context of a policy, in the first of the phases `default`,
    /// `plan` and on that the context admits.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidRequest`] if the policy has no such context.
    pub fn new(policy: Arc<Policy>, context: &str) -> Result<Guard, Error> {
        let table = policy.table();
        let Some((index, found)) = table.contexts().enumerate().find(|(_, c)| c.name() == context)
        else {
            let names = table.contexts().map(|c| format!("`{}`", c.name())).collect::<Vec<_>>();
            let message =
                format!("the policy has no context `{context}`; it has {}", names.join(", "));
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        };
        let phase = std::iter::once(Phase::Default).chain(Phase::ALL).find(|p| found.admits(*p));
        let phase = phase.unwrap_or(Phase::Plan);
        let under = Under { context: index, name: context.to_owned(), policy };
        Ok(Guard { under: Some(under), phase: AtomicU8::new(phase as u8), ..Guard::unrestricted() })
    }

    /// A guard that lets everything through, for programs that want none and keep one way
    /// of doing things. It records as any other.
    #[must_use]
    pub fn unrestricted() -> Guard {
        Guard {
            under: None,
            phase: AtomicU8::new(Phase::BypassPermissions as u8),
            working_directory: ArcSwapOption::empty(),
            home: None,
            requester: Requester::default(),
            approval: None,
            audit: Arc::new(Audit::none()),
            environment: Vec::new(),
        }
    }

    /// Who asks.
    #[must_use]
    pub fn requester(mut self, requester: Requester) -> Guard {
        self.requester = requester;
        self
    }

    /// Who approves where the policy says `ask`. Without one, what is asked for is denied.
    #[must_use]
    pub fn approval(mut self, backend: Arc<dyn ApprovalBackend>) -> Guard {
        self.approval = Some(backend);
        self
    }

    /// Where decisions are recorded.
    #[must_use]
    pub fn audit(mut self, audit: Arc<Audit>) -> Guard {
        self.audit = audit;
        self
    }

    /// The home directory of the agent, if it is another than the policy's.
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Guard {
        self.home = Some(home.into().into_os_string().into_vec());
        self
    }

    /// A variable of the environment of processes that the guard starts. They have
    /// no others.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Guard {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The phase that the agent is in.
    #[must_use]
    pub fn phase(&self) -> Phase {
        let phase = self.phase.load(Ordering::Relaxed);
        Phase::ALL.into_iter().find(|p| *p as u8 == phase).unwrap_or(Phase::Plan)
    }

    /// Puts the agent into a phase: for the host, which may loosen.
    ///
    /// # Errors
    /// [`ErrorKind::PhaseDenied`] if the context does not admit the phase.
    pub fn set_phase(&self, phase: Phase) -> Result<(), Error> {
        if let Some(context) = self.context()
            && !context.admits(phase)
        {
            let message =
                format!("Denied: `{}` does not admit the phase `{phase}`", context.name());
            return Err(Error::new(ErrorKind::PhaseDenied, message));
        }
        self.phase.store(phase as u8, Ordering::Relaxed);
        Ok(())
    }

    /// Changes the phase on the agent's own wish: only to a stricter one. Leaving `plan`, as
    /// every loosening, is for the host ([`Self::set_phase`]).
    ///
    /// # Errors
    /// [`ErrorKind::PhaseDenied`].
    pub fn request_phase(&self, phase: Phase) -> Result<(), Error> {
        let now = self.phase();
        if phase > now {
            let message =
                format!("Denied: from the phase `{now}` only the host leads to `{phase}`");
            return Err(Error::new(ErrorKind::PhaseDenied, message));
        }
        self.set_phase(phase)
    }

    /// Moves the agent to a working directory, which it must be allowed to read.
    ///
    /// # Errors
    /// As for [`Self::path`].
    pub fn set_working_directory(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let kind = Kind::Directory;
        let end = self.passed(path, Permission::READ, kind, "working directory", Last::Followed)?;
        if end.kind != Some(Kind::Directory) {
            let action = path_action(path.as_os_str().as_bytes(), Permission::READ, None);
            return Err(Error::io(&action, std::io::ErrorKind::NotADirectory.into()));
        }
        // As the table places it: relative paths of requests begin there.
        let place = self.bound().map_or_else(|| end.real.clone(), |b| written(b, &end.real));
        self.working_directory.store(Some(Arc::new(place)));
        Ok(())
    }

    /// The directory in which the agent's processes run: its working directory, else that
    /// of the mount `root`.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        if let Some(directory) = self.working_directory.load_full() {
            let mount = self.bound().and_then(|b| b.of_written(&directory));
            return Some(match mount {
                Some((mount, rest)) => path_of(&joined(&mount.real, rest)),
                None => path_of(&directory),
            });
        }
        self.bound()?.mounts.iter().find(|m| &*m.slug == "root").map(|m| path_of(&m.real))
    }

    /// The policy that it is under.
    #[must_use]
    pub fn policy(&self) -> Option<&Arc<Policy>> {
        self.under.as_ref().map(|u| &u.policy)
    }

    pub(crate) fn context(&self) -> Option<Context<'_>> {
        let under = self.under.as_ref()?;
        under.policy.table().context_at(under.context)
    }

    pub(crate) fn bound(&self) -> Option<&Bound> {
        let under = self.under.as_ref()?;
        under.policy.bound(under.context)
    }

    /// Checks a set of permissions that is about no path.
    ///
    /// # Errors
    /// A denial, or what became of the approval; see [`ErrorKind`].
    pub fn permission(&self, permissions: Permission, detail: &str) -> Result<(), Error> {
        let action = || Action::Permission(permissions);
        self.check(detail, &action, &|c, _, s| c.permission(s, permissions))
    }

    /// Checks a grant.
    ///
    /// # Errors
    /// [`ErrorKind::GrantDenied`] if the context does not hold it.
    pub fn grant(&self, key: &str) -> Result<(), Error> {
        let decide = |c: &Context<'_>, _: &Bound, _: &Session<'_>| match c.holds(key) {
            true => Decision::new(Effect::Allow, Reason::Granted),
            false => Decision::new(Effect::Deny, Reason::GrantMissing),
        };
        self.check("", &|| Action::Grant(key.to_owned()), &decide)
    }

    /// Checks a tool call, with the grants that it requires besides those that the policy
    /// declares for the tool.
    ///
    /// # Errors
    /// A denial, or what became of the approval; see [`ErrorKind`].
    pub fn tool(&self, name: &str, requires: &[&str], detail: &str) -> Result<(), Error> {
        let action = || Action::Tool {
            name: name.to_owned(),
            requires: requires.iter().map(|&r| r.to_owned()).collect(),
        };
        self.check(detail, &action, &|c, _, s| c.tool(s, name, requires))
    }

    /// Checks a command string: every command, redirection and path in it, links on this
    /// host followed. To run it, see [`Self::shell`].
    ///
    /// # Errors
    /// A denial, or what became of the approval; see [`ErrorKind`].
    pub fn command(&self, command: &str, detail: &str) -> Result<(), Error> {
        let decide = |c: &Context<'_>, bound: &Bound, s: &Session<'_>| {
            let resolver = Resolver::new(bound, true);
            c.command(&Session { links: Some(&resolver), ..*s }, command)
        };
        self.check(detail, &|| Action::Command(command.to_owned()), &decide)
    }

    /// Checks an argument vector, paths in it as for [`Self::command`]. To run it, see
    /// [`Self::spawn`].
    ///
    /// # Errors
    /// A denial, or what became of the approval; see [`ErrorKind`].
    pub fn argv(&self, argv: &[&str], detail: &str) -> Result<(), Error> {
        let words = argv.iter().map(|w| w.as_bytes()).collect::<Vec<_>>();
        let decide = |c: &Context<'_>, bound: &Bound, s: &Session<'_>| {
            let resolver = Resolver::new(bound, true);
            c.argv(&Session { links: Some(&resolver), ..*s }, &words)
        };
        let action = || Action::Argv(argv.iter().map(|&w| w.to_owned()).collect());
        self.check(detail, &action, &decide)
    }

    /// Checks a path for a set of permissions, with all links on the way followed, and
    /// gives the place on this host that it leads to. What is there may have changed when
    /// the answer is used: to read or write, let the guard open it ([`Self::open`]).
    ///
    /// # Errors
    /// A denial, or what became of the approval; see [`ErrorKind`].
    pub fn path(
        &self,
        path: impl AsRef<Path>,
        permissions: Permission,
        detail: &str,
    ) -> Result<PathBuf, Error> {
        let path = path.as_ref();
        let end = self.passed(path, permissions, Kind::Unknown, detail, Last::Followed)?;
        Ok(path_of(&end.real))
    }

    /// As [`Self::path`], by the text of the path alone: no file system is looked at, and no
    /// link followed. For files that are not on this host, or to ask quickly first.
    ///
    /// # Errors
    /// A denial, or what became of the approval; see [`ErrorKind`].
    pub fn lexical(
        &self,
        path: impl AsRef<Path>,
        permissions: Permission,
        detail: &str,
    ) -> Result<(), Error> {
        let path = path.as_ref().as_os_str().as_bytes();
        let action = || path_action(path, permissions, None);
        self.check(detail, &action, &|c, _, s| c.path(s, path, permissions, Kind::Unknown))
    }

    /// Checks a path and says where it leads.
    pub(crate) fn passed(
        &self,
        path: &Path,
        permissions: Permission,
        kind: Kind,
        detail: &str,
        last: Last,
    ) -> Result<End, Error> {
        let path = path.as_os_str().as_bytes();
        let begin = Begin::now(&self.audit);
        let Some((under, context, bound)) = self.parts() else {
            let end = self.anywhere(path, last);
            let action = || path_action(path, permissions, Some(&end.real));
            self.unguarded(&begin, &action)?;
            return Ok(end);
        };
        let params = under.policy.params();
        let directory = self.working_directory.load();
        let session = self.session(under, &params, directory.as_ref().map(|d| d.as_slice()));
        let resolver = Resolver::new(bound, last != Last::Itself);
        let looking = Session { links: Some(&resolver), ..session };
        if misleads(path) {
            let decision = Decision::new(Effect::Deny, Reason::Invalid);
            let action = || path_action(path, permissions, None);
            let never = |_: &Context<'_>, _: &Bound, _: &Session<'_>| decision;
            self.settle(&begin, under, &context, &session, decision, detail, &action, &never)?;
        }
        let spelt = as_written(bound, path);
        let path_here = spelt.as_deref().unwrap_or(path);
        let decide = |kind| match last {
            Last::OfHost => context.host_path(&looking, path_here, permissions, kind),
            _ => context.path(&looking, path_here, permissions, kind),
        };
        let mut decision = decide(kind);
        if decision.reason == Reason::Hidden && kind == Kind::Unknown {
            // Hidden perhaps only if it were a directory: the file system knows.
            let file = decide(Kind::File);
            let is_file =
                resolver.end.borrow().as_ref().is_some_and(|e| e.kind == Some(Kind::File));
            if is_file && file.effect != Effect::Deny {
                decision = file;
            }
        }
        let end = resolver.end.take();
        let place = end.as_ref().map(|e| e.real.clone());
        let real = place.as_deref();
        let action = || path_action(path, permissions, real);
        let kind = end.as_ref().and_then(|e| e.kind).unwrap_or(kind);
        // Another context names its files otherwise: it is asked about the file itself.
        let would = |c: &Context<'_>, bound: &Bound, s: &Session<'_>| match real {
            Some(real) => c.host_path(s, &written(bound, real), permissions, kind),
            None => Decision::new(Effect::Deny, Reason::Outside),
        };
        self.settle(&begin, under, &context, &session, decision, detail, &action, &would)?;
        // Allowed or approved: then it was followed to its end.
        end.ok_or_else(|| {
            let denied = Decision::new(Effect::Deny, Reason::Outside);
            Error::denied(&denied, &action(), None, context.name(), session.phase)
        })
    }

    /// Opens a path that is allowed by its text, if it has no links: then the text is all
    /// there is to decide. `None` where it has to be looked at more closely, and where
    /// nothing may happen before it is recorded.
    pub(crate) fn at_once(
        &self,
        path: &[u8],
        permissions: Permission,
        open: impl Fn(BorrowedFd<'_>, &[u8]) -> rustix::io::Result<(OwnedFd, Stat)>,
    ) -> Option<Result<Opened, Error>> {
        let (under, context, bound) = self.parts()?;
        if self.audit.is_durable() || misleads(path) {
            return None;
        }
        let begin = Begin::now(&self.audit);
        let params = under.policy.params();
        let directory = self.working_directory.load();
        let session = self.session(under, &params, directory.as_ref().map(|d| d.as_slice()));
        let spelt = as_written(bound, path);
        let path_here = spelt.as_deref().unwrap_or(path);
        let decision = context.path(&session, path_here, permissions, Kind::File);
        if decision.effect != Effect::Allow {
            return None;
        }
        // Longer ones are looked at closely: to clear room for the longest takes long.
        let mut buffer = [0u8; 512];
        let place = context.place(&session, path_here).ok()?;
        let (mount, rest) = bound.of_written(place.copy_to(&mut buffer)?)?;
        let handle = mount.handle.as_ref().filter(|_| !mount.folds && !rest.contains(&b'\\'))?;
        let (opened, stat) = open(handle.as_fd(), rest).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        let real = joined(&mount.real, rest);
        let action = || path_action(path, permissions, Some(&real));
        let recorded = self.record(&begin, Some(&context), &decision, &action, None);
        Some(recorded.map(|()| (opened, stat, real.clone())))
    }

    /// What the policy says of a place on this host, nothing followed, asked or recorded.
    pub(crate) fn judge(&self, real: &[u8], permissions: Permission, kind: Kind) -> Decision {
        let Some((under, context, bound)) = self.parts() else {
            return Decision::new(Effect::Allow, Reason::Granted);
        };
        let params = under.policy.params();
        let directory = self.working_directory.load();
        let session = self.session(under, &params, directory.as_ref().map(|d| d.as_slice()));
        context.host_path(&session, &written(bound, real), permissions, kind)
    }

    /// Records that what the policy allows was refused for what was found there.
    pub(crate) fn refused_late(&self, real: &[u8], permissions: Permission) -> Result<(), Error> {
        let decision = Decision::new(Effect::Deny, Reason::Outside);
        let action = || path_action(real, permissions, Some(real));
        let context = self.context();
        self.record(&Begin::now(&self.audit), context.as_ref(), &decision, &action, None)
    }

    /// A denial in words.
    pub(crate) fn refusal(
        &self,
        decision: &Decision,
        real: &[u8],
        permissions: Permission,
    ) -> Error {
        let action = path_action(real, permissions, None);
        let context = self.context();
        let mount = decision.mount.zip(context).map(|(m, c)| c.slug(m));
        let name = context.map_or("", |c| c.name());
        Error::denied(decision, &action, mount, name, self.phase())
    }

    fn parts(&self) -> Option<(&Under, Context<'_>, &Bound)> {
        let under = self.under.as_ref()?;
        Some((under, self.context()?, self.bound()?))
    }

    fn session<'s>(
        &'s self,
        under: &'s Under,
        params: &'s [(&'s str, &'s [u8])],
        working_directory: Option<&'s [u8]>,
    ) -> Session<'s> {
        let session = under.policy.session(params);
        let home = self.home.as_deref().or(session.home);
        Session { phase: self.phase(), working_directory, home, ..session }
    }

    /// Where a path leads without a policy: as the system takes it.
    fn anywhere(&self, path: &[u8], last: Last) -> End {
        let path = match self.working_directory.load().as_ref() {
            Some(directory) if !path.starts_with(b"/") => path_of(&joined(directory, path)),
            _ => std::path::absolute(path_of(path)).unwrap_or_else(|_| path_of(path)),
        };
        let whole = || std::fs::canonicalize(&path).ok().filter(|_| last != Last::Itself);
        let beside = || {
            let directory = std::fs::canonicalize(path.parent()?).ok()?;
            Some(directory.join(path.file_name()?))
        };
        let real = whole().or_else(beside).unwrap_or(path);
        let kind = std::fs::symlink_metadata(&real).ok().map(|m| match m.file_type() {
            t if t.is_dir() => Kind::Directory,
            t if t.is_symlink() => Kind::Unknown,
            _ => Kind::File,
        });
        End { real: real.into_os_string().into_vec(), kind }
    }

    /// Decides, and lets through or not.
    fn check(
        &self,
        detail: &str,
        action: &dyn Fn() -> Action,
        decide: &dyn Fn(&Context<'_>, &Bound, &Session<'_>) -> Decision,
    ) -> Result<(), Error> {
        let begin = Begin::now(&self.audit);
        let Some((under, context, bound)) = self.parts() else {
            return self.unguarded(&begin, action);
        };
        let params = under.policy.params();
        let directory = self.working_directory.load();
        let session = self.session(under, &params, directory.as_ref().map(|d| d.as_slice()));
        let decision = decide(&context, bound, &session);
        self.settle(&begin, under, &context, &session, decision, detail, action, decide)
    }

    fn unguarded(&self, begin: &Begin, action: &dyn Fn() -> Action) -> Result<(), Error> {
        let decision = Decision::new(Effect::Allow, Reason::Granted);
        self.record(begin, None, &decision, action, None)
    }
}

fn path_action(path: &[u8], permissions: Permission, host: Option<&[u8]>) -> Action {
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    Action::Path { path: text(path), permissions, host: host.map(text) }
}

/// Whether a path holds characters that make it look like another: control characters,
/// marks of direction, and what has no width but joins nothing.
fn misleads(path: &[u8]) -> bool {
    let odd = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}')
    };
    !path.is_ascii() && path.utf8_chunks().any(|chunk| chunk.valid().contains(odd))
        || path.iter().any(u8::is_ascii_control)
}

/// A place on this host as the table places it.
fn written(bound: &Bound, real: &[u8]) -> Vec<u8> {
    match bound.of_real(real) {
        Some((mount, rest)) => joined(&mount.written, rest),
        None => real.to_vec(),
    }
}

/// A path that names a mount's directory as it is without links, as the table places it:
/// both spellings are the mount's.
fn as_written(bound: &Bound, path: &[u8]) -> Option<Vec<u8>> {
    if !path.starts_with(b"/") || bound.of_written(path).is_some() {
        return None;
    }
    let (mount, rest) = bound.of_real(path)?;
    Some(joined(&mount.written, rest))
}
