//! Requests in `eval`'s own form, and putting them to a compiled policy.
//!
//! A [`Request`] is the JSON object that users write and that findings carry as
//! their witness; [`Ask`] is what it means. A [`Judge`] holds a policy's table bound
//! to directories that overlap with no mount, and answers: whatever the checker
//! claims of a request, it has asked the table itself.

use crate::diag::Witness;
use crate::hir::{self, Policy};
use crate::oracle::{Hosts, Oracle, Step, joined_text};
use mero_runtime::{
    CommandPart, Context, Decision, Effect, Kind, PartKind, Permission, Phase, Reason, Session,
    Table, TableError,
};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

/// One line of `eval`'s input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Who asks; may be given once for all requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// In which phase; `default` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// A path; goes with `permission`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Permissions, joined by `|`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<String>,
    /// `file`, `dir`, or absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// A command string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// An argument vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// A tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Grants that the tool requires besides its declared ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires: Option<Vec<String>>,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ask {
    /// Permissions on a path.
    Path {
        /// The virtual path.
        path: Vec<u8>,
        /// What is to be done.
        permissions: Permission,
        /// Whether it is a directory.
        kind: Kind,
    },
    /// Permissions with no path.
    Permission(Permission),
    /// A command string.
    Command(String),
    /// An argument vector.
    Argv(Vec<Vec<u8>>),
    /// A tool.
    Tool {
        /// Its name.
        name: String,
        /// Grants that it requires besides its declared ones.
        requires: Vec<String>,
    },
}

impl Request {
    /// What is asked.
    ///
    /// # Errors
    /// What is wrong with the request, in a sentence.
    pub fn ask(&self) -> Result<Ask, String> {
        let kinds =
            [self.path.is_some(), self.command.is_some(), self.argv.is_some(), self.tool.is_some()];
        if kinds.iter().filter(|k| **k).count() > 1 {
            return Err("a request has one of `path`, `command`, `argv`, `tool`".into());
        }
        if self.requires.is_some() && self.tool.is_none() {
            return Err("`requires` goes with `tool`".into());
        }
        if self.kind.is_some() && self.path.is_none() {
            return Err("`kind` goes with `path`".into());
        }
        if self.permission.is_some()
            && (self.command.is_some() || self.argv.is_some() || self.tool.is_some())
        {
            return Err("`permission` goes with `path`, or stands alone".into());
        }
        let set = self.permission.as_deref().map(permissions).transpose()?;
        if let Some(path) = &self.path {
            let kind = match self.kind.as_deref() {
                None => Kind::Unknown,
                Some("file") => Kind::File,
                Some("dir") => Kind::Directory,
                Some(other) => {
                    return Err(format!("`kind` is `{other}`, expected `file` or `dir`"));
                }
            };
            let permissions = set.ok_or("a path needs a `permission`")?;
            return Ok(Ask::Path { path: path.clone().into_bytes(), permissions, kind });
        }
        if let Some(command) = &self.command {
            return Ok(Ask::Command(command.clone()));
        }
        if let Some(argv) = &self.argv {
            return Ok(Ask::Argv(argv.iter().map(|w| w.clone().into_bytes()).collect()));
        }
        if let Some(name) = &self.tool {
            let requires = self.requires.clone().unwrap_or_default();
            return Ok(Ask::Tool { name: name.clone(), requires });
        }
        set.map(Ask::Permission).ok_or_else(|| {
            "a request has one of `path`, `command`, `argv`, `tool`, `permission`".into()
        })
    }
}

fn permissions(text: &str) -> Result<Permission, String> {
    match Permission::parse(text) {
        Some(set) if !set.is_empty() => Ok(set),
        _ => Err(format!(
            "`permission` is `{text}`, expected `read`, `write`, `execute`, `delete`, joined by `|`, or `all`"
        )),
    }
}

impl Ask {
    /// The request as `eval` takes it; `None` where its bytes are no text.
    #[must_use]
    pub fn request(&self, context: &str, phase: Phase) -> Option<Request> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let set = |p: Permission| p.to_string().replace(' ', "");
        let mut request = Request {
            context: Some(context.to_owned()),
            phase: (phase != Phase::Default).then(|| phase.name().to_owned()),
            ..Request::default()
        };
        match self {
            Ask::Path { path, permissions, kind } => {
                request.path = Some(text(path)?);
                request.permission = Some(set(*permissions));
                request.kind = match kind {
                    Kind::File => Some("file".to_owned()),
                    Kind::Directory => Some("dir".to_owned()),
                    Kind::Unknown => None,
                };
            }
            Ask::Permission(permissions) => request.permission = Some(set(*permissions)),
            Ask::Command(command) => request.command = Some(command.clone()),
            Ask::Argv(argv) => {
                request.argv = Some(argv.iter().map(|w| text(w)).collect::<Option<_>>()?);
            }
            Ask::Tool { name, requires } => {
                request.tool = Some(name.clone());
                request.requires = (!requires.is_empty()).then(|| requires.clone());
            }
        }
        Some(request)
    }

    /// The statements that take part in the answer, in the order in which they apply.
    /// None for command strings, which have to be taken apart first.
    #[must_use]
    pub fn trace(
        &self,
        policy: &Policy,
        context: &hir::Context,
        hosts: &Hosts,
        phase: Phase,
    ) -> Vec<Step> {
        let trace = RefCell::default();
        let oracle = Oracle::new(policy, context, hosts, phase).traced(&trace);
        match self {
            Ask::Path { path, permissions, kind } => drop(oracle.path(path, *permissions, *kind)),
            Ask::Permission(permissions) => drop(oracle.permission(*permissions)),
            Ask::Argv(argv) => drop(oracle.argv(argv, &joined_text(argv))),
            Ask::Tool { name, requires } => {
                drop(oracle.tool(name, &requires.iter().map(String::as_str).collect::<Vec<_>>()));
            }
            Ask::Command(_) => {}
        }
        let mut seen: Vec<Step> = Vec::new();
        for step in trace.into_inner() {
            if !seen.contains(&step) {
                seen.push(step);
            }
        }
        seen
    }

    /// Puts the question to a context of a table.
    pub fn decide(&self, context: &Context<'_>, session: &Session<'_>) -> Decision {
        match self {
            Ask::Path { path, permissions, kind } => {
                context.path(session, path, *permissions, *kind)
            }
            Ask::Permission(permissions) => context.permission(session, *permissions),
            Ask::Command(command) => context.command(session, command),
            Ask::Argv(argv) => {
                let words = argv.iter().map(Vec::as_slice).collect::<Vec<_>>();
                context.argv(session, &words)
            }
            Ask::Tool { name, requires } => {
                let requires = requires.iter().map(String::as_str).collect::<Vec<_>>();
                context.tool(session, name, &requires)
            }
        }
    }
}

/// A command string for an argument vector; `None` where a word is no printable text.
#[must_use]
pub fn quoted(argv: &[Vec<u8>]) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:+@%=".contains(c);
    let word = |word: &Vec<u8>| {
        let text = String::from_utf8(word.clone()).ok()?;
        if text.chars().any(char::is_control) {
            return None;
        }
        let bare = !text.is_empty() && text.chars().all(plain);
        Some(if bare { text } else { format!("'{}'", text.replace('\'', "'\\''")) })
    };
    Some(argv.iter().map(word).collect::<Option<Vec<_>>>()?.join(" "))
}

/// Directories for a policy that is examined and not used: no two of them lie in one
/// another, and no mount is likely to name them.
#[must_use]
pub fn placeholders(policy: &Policy) -> Hosts {
    let params = policy.params.iter();
    Hosts {
        base: b"/\x01base".to_vec(),
        home: Some(b"/\x01home".to_vec()),
        working_directory: None,
        params: params
            .map(|p| (p.name.clone(), format!("/\u{1}param/{}", p.name).into_bytes()))
            .collect(),
    }
}

/// A compiled policy that answers requests.
#[derive(Debug)]
pub struct Judge<'b> {
    table: Table<'b>,
    hosts: Hosts,
}

impl<'b> Judge<'b> {
    /// Judges by a table that was compiled from `policy`.
    ///
    /// # Errors
    /// [`TableError`] if the bytes are no table.
    pub fn new(bytes: &'b [u8], policy: &Policy) -> Result<Judge<'b>, TableError> {
        Ok(Judge { table: Table::from_bytes(bytes)?, hosts: placeholders(policy) })
    }

    /// The directories that requests are judged with.
    #[must_use]
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Decides one request; `invalid` for a context that does not exist.
    #[must_use]
    pub fn decide(&self, context: &str, phase: Phase, ask: &Ask) -> (Effect, Reason) {
        let decided = self.within(context, phase, |c, session| ask.decide(c, session));
        decided.map_or((Effect::Deny, Reason::Invalid), |d| (d.effect, d.reason))
    }

    /// The table that answers.
    #[must_use]
    pub fn table(&self) -> Table<'b> {
        self.table
    }

    /// What a command string is made of, each part with its decision.
    #[must_use]
    pub fn parts(&self, context: &str, phase: Phase, command: &str) -> Vec<CommandPart> {
        self.within(context, phase, |c, session| c.command_parts(session, command).1)
            .unwrap_or_default()
    }

    /// The statements that take part in an answer, in the order in which they apply; of
    /// a command string those of each command in it whose words are known.
    #[must_use]
    pub fn trace(
        &self,
        policy: &Policy,
        context: &hir::Context,
        phase: Phase,
        ask: &Ask,
    ) -> Vec<Step> {
        let Ask::Command(command) = ask else {
            return ask.trace(policy, context, &self.hosts, phase);
        };
        let mut out: Vec<Step> = Vec::new();
        for part in self.parts(&context.name, phase, command) {
            let PartKind::Command(words) = part.kind else { continue };
            let Some(argv) = words.into_iter().collect::<Option<Vec<_>>>() else { continue };
            for step in Ask::Argv(argv).trace(policy, context, &self.hosts, phase) {
                if !out.contains(&step) {
                    out.push(step);
                }
            }
        }
        out
    }

    /// The statement that decided a request, where one did.
    #[must_use]
    pub fn rule(
        &self,
        policy: &Policy,
        context: &hir::Context,
        phase: Phase,
        ask: &Ask,
    ) -> Option<crate::source::Span> {
        let oracle = Oracle::new(policy, context, &self.hosts, phase);
        match ask {
            Ask::Path { path, permissions, kind } => oracle.path(path, *permissions, *kind).rule,
            Ask::Permission(permissions) => oracle.permission(*permissions).rule,
            Ask::Argv(argv) => oracle.argv(argv, &joined_text(argv)).rule,
            Ask::Tool { name, requires } => {
                oracle.tool(name, &requires.iter().map(String::as_str).collect::<Vec<_>>()).rule
            }
            Ask::Command(command) => {
                let whole = self.decide(&context.name, phase, ask);
                let parts = self.parts(&context.name, phase, command);
                let decisive = |p: &&CommandPart| (p.decision.effect, p.decision.reason) == whole;
                let PartKind::Command(words) = &parts.iter().find(decisive)?.kind else {
                    return None;
                };
                let argv = words.iter().cloned().collect::<Option<Vec<_>>>()?;
                oracle.argv(&argv, &joined_text(&argv)).rule
            }
        }
    }

    fn within<T>(
        &self,
        context: &str,
        phase: Phase,
        ask: impl FnOnce(&Context<'b>, &Session<'_>) -> T,
    ) -> Option<T> {
        let context = self.table.context(context)?;
        let params =
            self.hosts.params.iter().map(|(n, d)| (n.as_str(), d.as_slice())).collect::<Vec<_>>();
        let session = Session {
            phase,
            base: &self.hosts.base,
            home: self.hosts.home.as_deref(),
            working_directory: self.hosts.working_directory.as_deref(),
            params: &params,
            links: None,
        };
        Some(ask(&context, &session))
    }

    /// The request with its answer, for a finding; `None` where it is no text.
    #[must_use]
    pub fn witness(&self, context: &str, phase: Phase, ask: &Ask) -> Option<Witness> {
        let (effect, reason) = self.decide(context, phase, ask);
        let request = serde_json::to_value(ask.request(context, phase)?).ok()?;
        let serde_json::Value::Object(request) = request else { return None };
        Some(Witness { request, effect: effect.name(), reason: reason.name() })
    }
}
