//! What is right: a direct evaluation of a resolved policy, written to be read
//! beside the language document. No automata, no table, nothing shared with
//! them but the types of a decision and the table of phases.
//!
//! Slow on purpose: lists are walked from the end, globs matched by
//! backtracking over memoised positions, paths kept as vectors of segments.

mod command;
mod glob;
mod path;
mod words;

use crate::hir::{Context, Policy, Tool};
use crate::source::Span;
use mero_runtime::{Effect, Permission, Phase, Reason, phases};
use std::cell::RefCell;

pub use command::joined_text;
pub use path::Hosts;

/// The oracle's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What is done.
    pub effect: Effect,
    /// Why.
    pub reason: Reason,
    /// The governing mount's slug.
    pub mount: Option<String>,
    /// The host path that the request means.
    pub host: Option<Vec<u8>>,
    /// The statement that decided, where one did.
    pub rule: Option<Span>,
}

impl Answer {
    fn new(effect: Effect, reason: Reason, rule: Option<Span>) -> Answer {
        Answer { effect, reason, mount: None, host: None, rule }
    }

    fn deny(reason: Reason) -> Answer {
        Answer::new(Effect::Deny, reason, None)
    }

    /// The less permissive; between equals the reason that comes first.
    fn stricter(self, other: Answer) -> Answer {
        if (other.effect, other.reason) < (self.effect, self.reason) { other } else { self }
    }
}

/// A statement that took part in an answer, and what it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The statement.
    pub span: Span,
    /// In a few words.
    pub note: String,
}

/// Answers requests of one context.
#[derive(Clone, Copy, Debug)]
pub struct Oracle<'p> {
    policy: &'p Policy,
    context: &'p Context,
    hosts: &'p Hosts,
    phase: Phase,
    trace: Option<&'p RefCell<Vec<Step>>>,
}

impl<'p> Oracle<'p> {
    /// An oracle for a context in a phase, on a host.
    #[must_use]
    pub fn new(policy: &'p Policy, context: &'p Context, hosts: &'p Hosts, phase: Phase) -> Self {
        Oracle { policy, context, hosts, phase, trace: None }
    }

    /// Also writes down every statement that takes part, in the order in which
    /// it applies.
    #[must_use]
    pub fn traced(self, trace: &'p RefCell<Vec<Step>>) -> Self {
        Oracle { trace: Some(trace), ..self }
    }

    fn note(&self, span: Span, note: impl FnOnce() -> String) {
        if let Some(trace) = self.trace {
            trace.borrow_mut().push(Step { span, note: note() });
        }
    }

    fn admitted(&self) -> bool {
        self.context.phases.contains(&self.phase)
    }

    /// Permissions with no path: the context's own fields.
    #[must_use]
    pub fn permission(&self, permissions: Permission) -> Answer {
        if !self.admitted() {
            return Answer::deny(Reason::Phase);
        }
        self.judge(path::Effective::of_context(self.context), permissions)
    }

    /// Deny beats ask beats allow, for each permission; the strictest counts.
    fn judge(&self, fields: path::Effective, permissions: Permission) -> Answer {
        let mut worst: Option<Answer> = None;
        for (_, p) in Permission::NAMES {
            if !permissions.contains(p) {
                continue;
            }
            let (effect, reason, rule) = if fields.deny.0.contains(p) {
                (Effect::Deny, Reason::Denied, fields.deny.1)
            } else if !fields.allow.0.contains(p) {
                (Effect::Deny, Reason::NotGranted, fields.allow.1)
            } else if fields.ask.0.contains(p) {
                (Effect::Ask, Reason::ApprovalRequired, fields.ask.1)
            } else {
                (Effect::Allow, Reason::Granted, fields.allow.1)
            };
            let (effect, reason) = phases::permission(self.phase, p, (effect, reason));
            let answer = Answer::new(effect, reason, rule);
            worst = Some(match worst {
                Some(w) => w.stricter(answer),
                None => answer,
            });
        }
        worst.unwrap_or(Answer::deny(Reason::Invalid))
    }

    /// A tool call: tool rules, then grants.
    #[must_use]
    pub fn tool(&self, name: &str, requires: &[&str]) -> Answer {
        if !self.admitted() {
            return Answer::deny(Reason::Phase);
        }
        let is_key = |k: &str| {
            let parts = k.split(':').collect::<Vec<_>>();
            parts.len() == 2 && parts.iter().all(|p| !p.is_empty()) && !k.contains('\0')
        };
        if name.is_empty() || name.contains('\0') || !requires.iter().all(|k| is_key(k)) {
            return Answer::deny(Reason::Invalid);
        }
        let declared = self.policy.tools.iter().find(|t| t.name == name);
        let ruled = self.tool_rules(name, declared);
        if matches!(ruled.reason, Reason::ToolDenied | Reason::ToolNotAllowed) {
            return ruled;
        }
        let held = |key: &str| self.context.grants.iter().any(|g| g.node == key);
        let declared = declared.map_or(&[][..], |t| &t.requires);
        for key in declared {
            let state = if held(&key.node) { "held" } else { "not held" };
            self.note(key.span, || format!("requires `{}`: {state}", key.node));
        }
        let all = declared.iter().all(|k| held(&k.node)) && requires.iter().all(|k| held(k));
        if all { ruled } else { Answer::deny(Reason::GrantMissing) }
    }

    fn tool_rules(&self, name: &str, declared: Option<&Tool>) -> Answer {
        let written = match &self.context.tools {
            None => Answer::new(Effect::Allow, Reason::Granted, None),
            Some(tools) => {
                let matching =
                    tools.rules.iter().filter(|r| glob::name(&r.pattern.node, name.as_bytes()));
                matching.clone().for_each(|r| {
                    self.note(r.pattern.span, || format!("matches: {}", r.effect));
                });
                let rule = matching.min_by_key(|r| r.effect);
                let (effect, span) = match rule {
                    Some(rule) => (rule.effect, Some(rule.pattern.span)),
                    None => (tools.otherwise(), tools.otherwise.as_ref().map(|o| o.span)),
                };
                let reason = match effect {
                    Effect::Allow => Reason::Granted,
                    Effect::Ask => Reason::ApprovalRequired,
                    Effect::Deny if rule.is_some() => Reason::ToolDenied,
                    Effect::Deny => Reason::ToolNotAllowed,
                };
                Answer::new(effect, reason, span)
            }
        };
        let readonly = declared.is_some_and(|t| t.readonly);
        let edits = Permission::READ | Permission::WRITE;
        let only_edits = declared.and_then(|t| t.uses).is_some_and(|u| edits.contains(u.set));
        let (effect, reason) = match (self.phase, written.effect) {
            (Phase::Plan, Effect::Allow | Effect::Ask) if !readonly => {
                (Effect::Deny, Reason::Phase)
            }
            (Phase::AcceptEdits, Effect::Ask) if only_edits => (Effect::Allow, Reason::Granted),
            _ => phases::loose(self.phase, (written.effect, written.reason)),
        };
        Answer { effect, reason, ..written }
    }
}
