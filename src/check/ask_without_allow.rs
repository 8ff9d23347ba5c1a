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
        let mounts = mount_allows(context);
        settle(context.fields.ask, context_allows(context, &mounts));
        for (mount, &here) in context.mounts.iter().zip(&mounts) {
            settle(mount.fields.ask, here);
            mount.on.iter().for_each(|block| settle(block.fields.ask, here));
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
fn context_allows(context: &Context, mounts: &[Permission]) -> Permission {
    let own = context.fields.allow.map_or(Permission::empty(), |s| s.set);
    let tops = context.mounts.iter().zip(mounts).filter(|(m, _)| m.parent.is_none());
    tops.filter(|(m, _)| m.fields.ask.is_none()).fold(own, |all, (_, allowed)| all | *allowed)
}

/// For each mount, what is allowed in it, its blocks, and the mounts below that
/// inherit its `ask`. Children stand behind their parents, so one pass from the
/// end hands everything up.
fn mount_allows(context: &Context) -> Vec<Permission> {
    let mut allowed = vec![Permission::empty(); context.mounts.len()];
    for (index, mount) in context.mounts.iter().enumerate().rev() {
        let own = match (mount.fields.allow, mount.parent) {
            (Some(s), _) => s.set,
            (None, None) => context.fields.allow.map_or(Permission::empty(), |s| s.set),
            (None, Some(_)) => Permission::empty(),
        };
        let blocks = mount.on.iter().filter_map(|b| b.fields.allow).map(|s| s.set);
        let here = blocks.fold(own, |all, set| all | set);
        let Some(slot) = allowed.get_mut(index) else { continue };
        *slot |= here;
        let all = *slot;
        let inherits = mount.parent.filter(|_| mount.fields.ask.is_none());
        if let Some(above) = inherits.and_then(|p| allowed.get_mut(p)) {
            *above |= all;
        }
    }
    allowed
}
