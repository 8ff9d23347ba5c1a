//! `flat-nesting`: a top-level mount inside another inherits nothing from it, which
//! is easily overlooked.

use super::scene::Scene;
use crate::diag::Diagnostic;
use crate::diag::registry as codes;

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let top = || scene.context.mounts.iter().filter(|m| m.parent.is_none());
    let mut out = Vec::new();
    for inner in top() {
        // The innermost of the mounts around it is where it would be written.
        let around = top().filter(|o| o.host != inner.host && o.host.covers(&inner.host));
        let Some(outer) = around.max_by_key(|o| o.host.segments.len()) else { continue };
        let below = inner.host.segments.get(outer.host.segments.len()..).unwrap_or(&[]);
        out.push(
            Diagnostic::new(
                &codes::FLAT_NESTING,
                inner.span,
                format!(
                    "the mount `{}` lies inside `{}` and takes over none of its `ask`, `deny` and `hide`",
                    inner.slug, outer.slug
                ),
            )
            .label(outer.host_span, "inside this directory")
            .help(format!(
                "write `mount {} at \"{}\" {{ … }}` inside `{}`",
                inner.slug,
                below.join("/"),
                outer.slug
            )),
        );
    }
    out
}
