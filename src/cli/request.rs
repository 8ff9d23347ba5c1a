//! Requests and answers of `eval`, as JSON.

use super::engine::Engine;
use super::parts;
use crate::oracle::{Answer, Oracle, joined_text};
use crate::source::Span;
use mero_runtime::{Context, Decision, Effect, Kind, Permission, Phase, Reason};
use serde::{Deserialize, Serialize};

/// One line of `eval`'s input.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub(super) context: Option<String>,
    pub(super) phase: Option<String>,
    pub(super) path: Option<String>,
    pub(super) permission: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) command: Option<String>,
    pub(super) argv: Option<Vec<String>>,
    pub(super) tool: Option<String>,
    pub(super) requires: Option<Vec<String>>,
}

/// What a request asks for.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    Path { path: Vec<u8>, permissions: Permission, kind: Kind },
    Permission(Permission),
    Command(String),
    Argv(Vec<Vec<u8>>),
    Tool { name: String, requires: Vec<String> },
}

/// A rule in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct RuleAt {
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) text: String,
}

/// One line of `eval`'s output.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Reply {
    pub(super) effect: &'static str,
    pub(super) reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mount: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rule: Option<RuleAt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
}

fn permissions(text: &str) -> Result<Permission, String> {
    match Permission::parse(text) {
        Some(set) if !set.is_empty() => Ok(set),
        _ => Err(format!(
            "`permission` is `{text}`, expected `read`, `write`, `execute`, `delete`, joined by `|`, or `all`"
        )),
    }
}

impl Request {
    /// What is asked, or what is wrong with the request.
    pub(super) fn ask(&self) -> Result<Ask, String> {
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

/// Decides with the compiled table.
pub(super) fn decide(engine: &Engine, context: &Context<'_>, phase: Phase, ask: &Ask) -> Decision {
    let params = engine.params();
    let session = engine.session(phase, &params);
    match ask {
        Ask::Path { path, permissions, kind } => context.path(&session, path, *permissions, *kind),
        Ask::Permission(permissions) => context.permission(&session, *permissions),
        Ask::Command(command) => context.command(&session, command),
        Ask::Argv(argv) => {
            let words = argv.iter().map(Vec::as_slice).collect::<Vec<_>>();
            context.argv(&session, &words)
        }
        Ask::Tool { name, requires } => {
            let requires = requires.iter().map(String::as_str).collect::<Vec<_>>();
            context.tool(&session, name, &requires)
        }
    }
}

/// Decides with the oracle, where the policy's source is there. `None` for
/// command strings, which it does not read.
pub(super) fn oracle(engine: &Engine, context: &str, phase: Phase, ask: &Ask) -> Option<Answer> {
    let policy = engine.policy.as_ref()?;
    let context = policy.contexts.iter().find(|c| c.name == context)?;
    let oracle = Oracle::new(policy, context, &engine.hosts, phase);
    Some(match ask {
        Ask::Path { path, permissions, kind } => oracle.path(path, *permissions, *kind),
        Ask::Permission(permissions) => oracle.permission(*permissions),
        // What runners run is beyond the oracle.
        Ask::Argv(argv) if argv.first().is_some_and(|w| mero_runtime::is_runner(w)) => return None,
        Ask::Argv(argv) => oracle.argv(argv, &joined_text(argv)),
        Ask::Tool { name, requires } => {
            oracle.tool(name, &requires.iter().map(String::as_str).collect::<Vec<_>>())
        }
        Ask::Command(_) => return None,
    })
}

/// A statement of the policy as an answer names it.
pub(super) fn rule_at(engine: &Engine, span: Span) -> Option<RuleAt> {
    let sources = &engine.policy.as_ref()?.sources;
    let text = sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
    Some(RuleAt {
        file: sources.get(span.file)?.name.clone(),
        line: sources.position(span).line,
        text,
    })
}

/// Answers a request.
pub(super) fn answer(
    engine: &Engine,
    context: &Context<'_>,
    phase: Phase,
    ask: &Ask,
) -> Result<Reply, String> {
    let mut string_rule = None;
    let decision = match ask {
        Ask::Command(command) => {
            let (decision, parts) = parts::of(engine, context, phase, command);
            string_rule = parts::decisive(&decision, &parts).and_then(|p| p.rule.clone());
            decision
        }
        _ => decide(engine, context, phase, ask),
    };
    let naive = oracle(engine, context.name(), phase, ask);
    if let Some(naive) = &naive
        && (naive.effect, naive.reason) != (decision.effect, decision.reason)
    {
        return Err(format!(
            "the table says {} ({}) and the policy says {} ({})",
            decision.effect, decision.reason, naive.effect, naive.reason
        ));
    }
    let rule = match (&naive, decision.rule) {
        (Some(naive), _) => naive.rule.and_then(|span| rule_at(engine, span)),
        (None, Some(rule)) => context.table().rule(rule).map(|r| RuleAt {
            file: r.file.to_owned(),
            line: r.line,
            text: r.text.to_owned(),
        }),
        (None, None) => string_rule,
    };
    let params = engine.params();
    let session = engine.session(phase, &params);
    let host = match ask {
        Ask::Path { path, .. } if decision.effect != Effect::Deny => {
            context.place(&session, path).ok().map(|p| p.to_string())
        }
        _ => None,
    };
    let mount = decision.mount.map(|m| context.slug(m).to_owned());
    let message = message(&decision, ask, mount.as_deref(), context.name(), phase);
    Ok(Reply {
        effect: decision.effect.name(),
        reason: decision.reason.name(),
        mount,
        host,
        rule,
        message,
    })
}

/// A text with what cannot be seen written out.
fn visible(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => out.push(c),
            _ => out.extend(c.escape_debug()),
        }
    }
    out
}

/// A sentence for the agent and its user; it names what was asked and never what
/// is hidden.
fn message(
    decision: &Decision,
    ask: &Ask,
    mount: Option<&str>,
    context: &str,
    phase: Phase,
) -> Option<String> {
    let what = match ask {
        Ask::Path { path, permissions, .. } => {
            format!("{permissions} on `{}`", visible(&String::from_utf8_lossy(path)))
        }
        Ask::Permission(permissions) => permissions.to_string(),
        Ask::Command(command) => format!("`{}`", visible(command)),
        Ask::Argv(argv) => {
            format!("`{}`", visible(&String::from_utf8_lossy(&joined_text(argv))))
        }
        Ask::Tool { name, .. } => format!("the tool `{name}`"),
    };
    let on = mount.map_or(String::new(), |m| format!(" on the mount `{m}`"));
    let because = match decision.reason {
        Reason::Granted => return None,
        Reason::ApprovalRequired => return Some(format!("Approval required: {what}")),
        Reason::CommandOpaque if decision.effect == Effect::Ask => {
            return Some(format!("Approval required: {what} cannot be understood before it runs"));
        }
        Reason::Outside => "no mount covers it".to_owned(),
        Reason::Hidden => "it is hidden".to_owned(),
        Reason::Denied => format!("it is forbidden{on}"),
        Reason::NotGranted => format!("it is not granted{on}"),
        Reason::CommandDenied => "a rule forbids the command".to_owned(),
        Reason::CommandNotAllowed => "no rule allows the command".to_owned(),
        Reason::CommandOpaque => "the command cannot be understood before it runs".to_owned(),
        Reason::ToolDenied => "a rule forbids the tool".to_owned(),
        Reason::ToolNotAllowed => "no rule allows the tool".to_owned(),
        Reason::GrantMissing => "a grant that it requires is not held".to_owned(),
        Reason::Phase => format!("not in the phase `{phase}` of `{context}`"),
        Reason::Invalid => "the request is malformed".to_owned(),
    };
    Some(format!("Denied: {what}: {because}"))
}
