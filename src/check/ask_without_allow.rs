//! `ask-without-allow`: `ask` alone does not grant. A permission that is asked
//! for where nothing allows it is denied, and nobody is ever asked.

use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::{Context, Policy, Setting};
use mero_runtime::{Permission, Phase};
use std::collections::BTreeMap;

pub(super) fn check(policy: &Policy) -> Vec<Diagnostic> {
    // A profile's statement counts as allowed if any context allows it.
    let mut unmet: BTreeMap<crate::source::Span, (Setting, Permission)> = BTreeMap::new();
    for context in &policy.contexts {
        if context.phases.contains(&Phase::BypassPermissions) {
            // There, what is not granted is allowed; asking has an effect.
            continue;
        }
        let mut settle = |ask: Option<Setting>, allowed: Permission| {
            let Some(ask) = ask else { return };
            let missing = ask.set.difference(allowed);
            let entry = unmet.entry(ask.span).or_insert((ask, missing));
            entry.1 &= missing;
        };
        settle(context.fields.ask, context_allows(context));
        for (index, mount) in context.mounts.iter().enumerate() {
            settle(mount.fields.ask, mount_allows(context, index));
            for block in &mount.on {
                let here = mount_allows(context, index);
                settle(block.fields.ask, here);
            }
        }
    }
    unmet
        .into_values()
        .filter(|(_, missing)| !missing.is_empty())
        .map(|(ask, missing)| {
            Diagnostic::new(
                &codes::ASK_WITHOUT_ALLOW,
                ask.span,
                format!(
                    "`{missing}` is asked for and nowhere allowed: it is denied without a question"
                ),
            )
            .help(format!("add `allow {missing}` where it is meant, or take it out of this `ask`"))
        })
        .collect()
}

/// What is allowed anywhere that the context's own `ask` can reach.
fn context_allows(context: &Context) -> Permission {
    let own = context.fields.allow.map_or(Permission::empty(), |s| s.set);
    let tops = context.mounts.iter().enumerate().filter(|(_, m)| m.parent.is_none());
    tops.filter(|(_, m)| m.fields.ask.is_none())
        .fold(own, |all, (index, _)| all | mount_allows(context, index))
}

/// What is allowed in a mount, its blocks, and the mounts below that inherit
/// its `ask`.
fn mount_allows(context: &Context, index: usize) -> Permission {
    let Some(mount) = context.mounts.get(index) else { return Permission::empty() };
    let own = match (mount.fields.allow, mount.parent) {
        (Some(s), _) => s.set,
        (None, None) => context.fields.allow.map_or(Permission::empty(), |s| s.set),
        (None, Some(_)) => Permission::empty(),
    };
    let blocks = mount.on.iter().filter_map(|b| b.fields.allow).fold(own, |all, s| all | s.set);
    let children = context.mounts.iter().enumerate().filter(|(_, m)| m.parent == Some(index));
    children
        .filter(|(_, m)| m.fields.ask.is_none())
        .fold(blocks, |all, (child, _)| all | mount_allows(context, child))
}
