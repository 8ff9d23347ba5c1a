//! `impossible-tool`, `unused-grant`, `unmatched-tool`: what declared tools and the rules
//! and grants of contexts say of one another. Only policies that declare tools say
//! anything here.

use super::View;
use crate::automata::{Classes, Re, determinize, glob};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::{Context, Tool};
use crate::limits::MAX_PATTERN_STATES;
use crate::request::Ask;
use crate::source::Span;
use mero_runtime::{Effect, Permission, Phase, Reason};
use std::collections::{BTreeMap, BTreeSet};

/// Whether a glob matches a name.
fn matches(pattern: &str, name: &str) -> bool {
    let Ok(re) = glob::name(pattern) else { return true };
    let classes: std::sync::Arc<Classes> = Re::classes([&re]);
    determinize(&re, &classes, MAX_PATTERN_STATES).map_or(true, |d| *d.run(name.as_bytes()))
}

/// A decision on a tool in the loosest admitted phase, and that phase.
fn decided(view: &View<'_>, context: &Context, tool: &Tool) -> Vec<(Phase, Effect, Reason)> {
    let ask = Ask::Tool { name: tool.name.clone(), requires: Vec::new() };
    let phases = Phase::ALL.into_iter().filter(|p| context.phases.contains(p));
    phases
        .map(|phase| {
            let (effect, reason) = view.judge.decide(&context.name, phase, &ask);
            (phase, effect, reason)
        })
        .collect()
}

/// Permissions that a context grants somewhere.
fn granted(context: &Context) -> Permission {
    let fields = std::iter::once(&context.fields)
        .chain(context.mounts.iter().map(|m| &m.fields))
        .chain(context.mounts.iter().flat_map(|m| &m.on).map(|b| &b.fields));
    fields.filter_map(|f| f.allow).fold(Permission::empty(), |all, s| all | s.set)
}

/// The rule that allows or asks for a tool by name.
fn allowing(context: &Context, tool: &Tool) -> Option<Span> {
    let rules = context.tools.iter().flat_map(|t| &t.rules);
    let mut rules = rules.filter(|r| r.effect != Effect::Deny);
    rules.find(|r| matches(&r.pattern.node, &tool.name)).map(|r| r.pattern.span)
}

/// `impossible-tool`.
pub(super) fn impossible(view: &View<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for tool in &view.policy.tools {
        let mut possible = view.policy.contexts.is_empty();
        let mut lacking = Vec::new();
        for context in &view.policy.contexts {
            let answers = decided(view, context, tool);
            let runs = answers.iter().any(|(_, effect, _)| *effect > Effect::Deny);
            possible |= runs;
            let Some(rule) = allowing(context, tool) else { continue };
            let ask = Ask::Tool { name: tool.name.clone(), requires: Vec::new() };
            let missing = tool
                .requires
                .iter()
                .filter(|k| !context.grants.iter().any(|g| g.node == k.node))
                .map(|k| format!("`{}`", k.node))
                .collect::<Vec<_>>();
            let by_grant = answers.iter().any(|(.., r)| *r == Reason::GrantMissing);
            if by_grant && !missing.is_empty() {
                let phase = super::fate::usual_phase(&context.phases);
                let message = format!(
                    "`{}` is allowed in `{}` and cannot run there: {} is not held",
                    tool.name,
                    context.name,
                    missing.join(", ")
                );
                let mut finding = Diagnostic::new(&codes::IMPOSSIBLE_TOOL, rule, message)
                    .label(tool.span, "requires it")
                    .help("add the grant to the context, or take the tool from the rule");
                finding.witness = view.judge.witness(&context.name, phase, &ask);
                lacking.push(finding);
                continue;
            }
            let uses = tool.uses.map_or(Permission::empty(), |u| u.set);
            let lacks = uses.difference(granted(context));
            if runs && !lacks.is_empty() {
                let message = format!(
                    "`{}` is allowed in `{}` and uses `{lacks}`, which is granted nowhere there",
                    tool.name, context.name
                );
                lacking.push(
                    Diagnostic::new(&codes::IMPOSSIBLE_TOOL, rule, message)
                        .label(tool.span, "declared here")
                        .help("grant the permission on a mount, or take the tool from the rule"),
                );
            }
        }
        if !possible && lacking.is_empty() {
            let message = format!("no context can run the tool `{}`", tool.name);
            lacking.push(
                Diagnostic::new(&codes::IMPOSSIBLE_TOOL, tool.span, message)
                    .help("allow it where it is meant to be used, or remove its declaration"),
            );
        }
        out.extend(lacking);
    }
    out
}

/// `unused-grant`.
pub(super) fn unused(view: &View<'_>) -> Vec<Diagnostic> {
    if view.policy.tools.is_empty() {
        return Vec::new();
    }
    let required = view.policy.tools.iter().flat_map(|t| &t.requires).map(|k| k.node.as_str());
    let required = required.collect::<BTreeSet<_>>();
    let mut seen = BTreeSet::new();
    let grants = view.policy.contexts.iter().flat_map(|c| &c.grants);
    grants
        .filter(|g| !required.contains(g.node.as_str()) && seen.insert(g.span))
        .map(|g| {
            Diagnostic::new(
                &codes::UNUSED_GRANT,
                g.span,
                format!("no declared tool requires the grant `{}`", g.node),
            )
            .help("remove it, or declare the tool that needs it")
        })
        .collect()
}

/// `unmatched-tool`.
pub(super) fn unmatched(view: &View<'_>) -> Vec<Diagnostic> {
    if view.policy.tools.is_empty() {
        return Vec::new();
    }
    let rules = view.policy.contexts.iter().filter_map(|c| c.tools.as_ref());
    let rules = rules.flat_map(|t| &t.rules).map(|r| (r.pattern.span, r.pattern.node.as_str()));
    let none = |pattern: &str| !view.policy.tools.iter().any(|t| matches(pattern, &t.name));
    let near = |pattern: &str| {
        crate::diag::did_you_mean(pattern, view.policy.tools.iter().map(|t| t.name.as_str()))
    };
    rules
        .collect::<BTreeMap<_, _>>()
        .into_iter()
        .filter(|(_, pattern)| none(pattern))
        .map(|(span, pattern)| {
            let help = near(pattern).map_or_else(
                || "declare the tool that is meant, or remove the rule".to_owned(),
                |name| format!("did you mean `{name}`?"),
            );
            let message = format!("no declared tool is named `{pattern}`");
            Diagnostic::new(&codes::UNMATCHED_TOOL, span, message).help(help)
        })
        .collect()
}
