//! `unconfined-context`: without mounts and `unconfined`, every absolute path passes.

use super::scene::{Scene, path};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use mero_runtime::Permission;

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let Some(span) = scene.context.unconfined else { return Vec::new() };
    let mut found = Diagnostic::new(
        &codes::UNCONFINED_CONTEXT,
        span,
        format!("no mount confines `{}`", scene.context.name),
    )
    .help(
        "mount the directories it works in; `/` can be mounted too, with `hide` and `on` beside it",
    );
    let reached = [Permission::WRITE, Permission::DELETE, Permission::READ, Permission::EXECUTE]
        .into_iter()
        .find_map(|p| scene.allowed(&path("/etc/passwd", p)).map(|w| (p, w)));
    if let Some((permission, witness)) = reached {
        found = found.here(format!("`{permission}` on `/etc/passwd` is allowed")).witness(witness);
    }
    vec![found]
}
