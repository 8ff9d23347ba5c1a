//! `powerless-mount`: a mount on which no request is granted, most often since a
//! nested mount forgets `allow`: a grant is never inherited.

use super::View;
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::source::Span;

/// The finding about the mount whose slug stands at `span`.
pub(super) fn finding(view: &View<'_>, span: Span) -> Option<Diagnostic> {
    let mounts = view.policy.contexts.iter().flat_map(|c| &c.mounts);
    let mount = mounts.into_iter().find(|m| m.span == span)?;
    let help = if mount.fields.allow.is_none() && mount.parent.is_some() {
        "a nested mount inherits no grant: add `allow read`, or what it is for"
    } else if mount.fields.allow.is_none() {
        "add `allow read`, or what it is for"
    } else {
        "its `deny` covers all of its `allow`; if it only shuts a directory off, say so with \
         `@allow(powerless-mount, \"why\")`"
    };
    let message = format!("nothing is granted on the mount `{}`", mount.slug);
    Some(Diagnostic::new(&codes::POWERLESS_MOUNT, mount.span, message).help(help))
}
