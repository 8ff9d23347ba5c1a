//! `powerless-mount`: a mount on which no request is granted, most often since a
//! nested mount forgets `allow`: a grant is never inherited.

use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::{Context, Policy};
use mero_runtime::{Permission, Phase};

pub(super) fn check(policy: &Policy) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for context in &policy.contexts {
        for (index, mount) in context.mounts.iter().enumerate() {
            if powered(context, index) {
                continue;
            }
            let help = if mount.fields.allow.is_none() && mount.parent.is_some() {
                "a nested mount inherits no grant: add `allow read`, or what it is for"
            } else if mount.fields.allow.is_none() {
                "add `allow read`, or what it is for"
            } else {
                "its `deny` covers all of its `allow`; if it only shuts a directory off, say so with \
                 `@allow(powerless-mount, \"why\")`"
            };
            out.push(
                Diagnostic::new(
                    &codes::POWERLESS_MOUNT,
                    mount.span,
                    format!("nothing is granted on the mount `{}`", mount.slug),
                )
                .help(help),
            );
        }
    }
    out
}

/// Whether some permission is granted somewhere on the mount. Blocks are taken
/// as if any of them could be the last: that errs on the side of silence.
fn powered(context: &Context, index: usize) -> bool {
    let mut allows = vec![context.fields.allow.map_or(Permission::empty(), |s| s.set)];
    let mut denies = vec![context.fields.deny.map_or(Permission::empty(), |s| s.set)];
    for (level, at) in context.chain(index).into_iter().enumerate() {
        let Some(mount) = context.mounts.get(at) else { continue };
        if level > 0 {
            allows = vec![Permission::empty()];
        }
        if let Some(allow) = mount.fields.allow {
            allows = vec![allow.set];
        }
        if let Some(deny) = mount.fields.deny {
            denies = vec![deny.set];
        }
        allows.extend(mount.on.iter().filter_map(|b| b.fields.allow).map(|s| s.set));
        denies.extend(mount.on.iter().filter_map(|b| b.fields.deny).map(|s| s.set));
    }
    if context.phases.contains(&Phase::BypassPermissions) {
        allows.push(Permission::all());
    }
    // Many blocks set few different sets.
    for sets in [&mut allows, &mut denies] {
        sets.sort_unstable();
        sets.dedup();
    }
    allows.iter().any(|a| denies.iter().any(|d| !a.difference(*d).is_empty()))
}
