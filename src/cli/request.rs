//! Answers of `eval`, as JSON.

use super::engine::Engine;
use super::parts;
use crate::oracle::{Answer, Oracle, joined_text};
use crate::request::Ask;
use crate::source::Span;
use mero_runtime::message::{because, visible};
use mero_runtime::{Context, Decision, Effect, Phase, Reason};
use serde::Serialize;

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
        _ => engine.decide(context.name(), phase, |s| ask.decide(context, s)),
    };
    // The oracle knows the policy, and no links.
    let naive =
        if engine.follows_links() { None } else { oracle(engine, context.name(), phase, ask) };
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
    match decision.reason {
        Reason::Granted => return None,
        Reason::ApprovalRequired => return Some(format!("Approval required: {what}")),
        Reason::CommandOpaque if decision.effect == Effect::Ask => {
            return Some(format!("Approval required: {what} cannot be understood before it runs"));
        }
        _ => {}
    }
    let because = because(decision.reason, mount, context, phase);
    Some(format!("Denied: {what}: {because}"))
}
