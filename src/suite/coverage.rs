//! Which rules no test exercises: rules of commands and tools, `on` blocks, patterns of
//! hide lists.
//!
//! A rule is exercised if it takes part in the answer to some case, that is, if it
//! matches what is asked, whether or not it wins.

use super::cases;
use crate::hir::{Context, Policy};
use crate::request::{Ask, Judge};
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// What kind of rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleKind {
    /// A rule for commands.
    Command,
    /// One name of a rule for tools.
    Tool,
    /// An `on` block.
    On,
    /// One pattern of a hide list.
    Hide,
}

impl RuleKind {
    /// In a report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            RuleKind::Command => "command",
            RuleKind::Tool => "tool",
            RuleKind::On => "on",
            RuleKind::Hide => "hide",
        }
    }
}

/// How much of a policy its tests exercise.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// How many rules there are.
    pub total: usize,
    /// Those that no case exercises, by place.
    pub missed: Vec<(RuleKind, Span)>,
}

/// Whether a place is in one of the user's own files.
#[must_use]
pub(super) fn own(policy: &Policy, span: Span) -> bool {
    policy.sources.get(span.file).is_some_and(|f| !f.name.starts_with("<std>/"))
}

/// The rules of a policy's own files; one that several contexts take from a profile
/// counts once.
fn rules(policy: &Policy) -> BTreeMap<Span, RuleKind> {
    let mut out = BTreeMap::new();
    for context in &policy.contexts {
        let of = |c: &Context| {
            let commands = c.commands.iter().flat_map(|c| &c.rules);
            let tools = c.tools.iter().flat_map(|t| &t.rules);
            // A block that sets nothing cannot take part in anything.
            let blocks = c.mounts.iter().flat_map(|m| &m.on);
            let blocks = blocks.filter(|b| b.fields.iter().next().is_some());
            let hide = c.hide.iter().chain(c.mounts.iter().flat_map(|m| &m.hide));
            commands
                .map(|r| (r.span, RuleKind::Command))
                .chain(tools.map(|r| (r.pattern.span, RuleKind::Tool)))
                .chain(blocks.map(|b| (b.span, RuleKind::On)))
                .chain(hide.map(|p| (p.span, RuleKind::Hide)))
                .collect::<Vec<_>>()
        };
        out.extend(of(context).into_iter().filter(|(span, _)| own(policy, *span)));
    }
    out
}

/// Finds what no test exercises. The judge's table names rules if it was compiled with
/// debug information: without it, rules that decide a part of a command string whose
/// words are not known are missed. Cost: one walk through the oracle for each case, and
/// its steps times the rules.
#[must_use]
pub fn coverage(policy: &Policy, judge: &Judge<'_>) -> Coverage {
    let rules = rules(policy);
    let mut steps: BTreeSet<Span> = BTreeSet::new();
    let mut decided: BTreeSet<(String, u32, String)> = BTreeSet::new();
    for (context, case) in cases(policy) {
        let ask = case.ask();
        steps.extend(judge.trace(policy, context, case.phase, &ask).iter().map(|s| s.span));
        let Ask::Command(command) = &ask else { continue };
        let table = judge.table();
        for part in judge.parts(&context.name, case.phase, command) {
            if let Some(rule) = part.decision.rule.and_then(|r| table.rule(r)) {
                decided.insert((rule.file.to_owned(), rule.line, rule.text.to_owned()));
            }
        }
    }
    let named = |span: Span| {
        let Some(file) = policy.sources.get(span.file) else { return false };
        let line = policy.sources.position(span).line;
        let text = policy.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        decided.iter().any(|(name, at, shown)| {
            // Long texts are cut in a table.
            *name == file.name && *at == line && text.starts_with(shown.trim_end_matches('…'))
        })
    };
    let inside = |block: Span| {
        steps.iter().any(|s| s.file == block.file && block.start <= s.start && s.end <= block.end)
    };
    let exercised = |kind: RuleKind, span: Span| match kind {
        // What a block sets takes part, not the block.
        RuleKind::On => inside(span),
        _ => steps.contains(&span) || named(span),
    };
    let missed = rules.iter().filter(|(span, kind)| !exercised(**kind, **span));
    Coverage { total: rules.len(), missed: missed.map(|(span, kind)| (*kind, *span)).collect() }
}
