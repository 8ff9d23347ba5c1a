//! A command string taken apart, for `explain` and for the rule in `eval`'s
//! answers.

use super::engine::Engine;
use super::request::{RuleAt, rule_at};
use crate::oracle::Oracle;
use mero_runtime::shell::Redirect;
use mero_runtime::{CommandPart, Context, Decision, PartKind, Phase};
use serde::Serialize;

/// One part of a command string.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Part {
    /// First byte and one past the last.
    span: [usize; 2],
    /// As written.
    pub(super) text: String,
    /// What it is.
    pub(super) kind: &'static str,
    /// The words, `null` where one is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<Vec<Option<String>>>,
    pub(super) effect: &'static str,
    pub(super) reason: &'static str,
    /// Why it is not understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rule: Option<RuleAt>,
}

/// Decides a command string and takes it apart.
pub(super) fn of(
    engine: &Engine,
    context: &Context<'_>,
    phase: Phase,
    command: &str,
) -> (Decision, Vec<Part>) {
    let (decision, parts) =
        engine.decide(context.name(), phase, |s| context.command_parts(s, command));
    let parts = parts.iter().map(|p| part(engine, context, phase, command, p)).collect();
    (decision, parts)
}

fn part(
    engine: &Engine,
    context: &Context<'_>,
    phase: Phase,
    command: &str,
    p: &CommandPart,
) -> Part {
    let text = command.get(p.span.clone()).unwrap_or("").trim().to_owned();
    let (kind, words, cause) = match &p.kind {
        PartKind::Command(words) if words.is_empty() => ("whole", None, None),
        PartKind::Command(words) => {
            let shown =
                words.iter().map(|w| w.as_ref().map(|w| String::from_utf8_lossy(w).into_owned()));
            ("command", Some(shown.collect()), None)
        }
        PartKind::Redirection(Redirect::Read) => ("reads", None, None),
        PartKind::Redirection(Redirect::ReadWrite) => ("reads and writes", None, None),
        PartKind::Redirection(_) => ("writes", None, None),
        PartKind::Assignment(_) => {
            let denied = p.decision.effect != mero_runtime::Effect::Allow;
            ("assignment", None, denied.then_some("`env` does not list the name"))
        }
        PartKind::Opaque(cause) => ("opaque", None, Some(cause.message())),
    };
    Part {
        span: [p.span.start, p.span.end],
        text,
        kind,
        words,
        effect: p.decision.effect.name(),
        reason: p.decision.reason.name(),
        cause,
        rule: rule(engine, context, phase, p),
    }
}

/// The rule behind a part: from the table's debug sections, or, for a command
/// whose words are all known, from the policy's source.
fn rule(
    engine: &Engine,
    context: &Context<'_>,
    phase: Phase,
    part: &CommandPart,
) -> Option<RuleAt> {
    if let Some(rule) = part.decision.rule.and_then(|r| context.table().rule(r)) {
        return Some(RuleAt {
            file: rule.file.to_owned(),
            line: rule.line,
            text: rule.text.to_owned(),
        });
    }
    let policy = engine.policy.as_ref()?;
    let source = policy.contexts.iter().find(|c| c.name == context.name())?;
    let PartKind::Command(words) = &part.kind else { return None };
    let argv = words.iter().cloned().collect::<Option<Vec<_>>>().filter(|a| !a.is_empty())?;
    let answer = Oracle::new(policy, source, &engine.hosts, phase).argv(&argv, &argv.join(&b' '));
    let same = (answer.effect, answer.reason) == (part.decision.effect, part.decision.reason);
    answer.rule.filter(|_| same).and_then(|span| rule_at(engine, span))
}

/// The rule that decided the whole: that of the first part with its answer.
pub(super) fn decisive<'p>(decision: &Decision, parts: &'p [Part]) -> Option<&'p Part> {
    let (effect, reason) = (decision.effect.name(), decision.reason.name());
    parts.iter().find(|p| p.effect == effect && p.reason == reason)
}
