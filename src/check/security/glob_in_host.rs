//! `glob-in-host`: a mount's directory is one directory, and wildcards in it are
//! letters of its name.

use super::scene::Scene;
use crate::diag::Diagnostic;
use crate::diag::registry as codes;

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for mount in &scene.context.mounts {
        // What stands in a nested mount's own text, not in its parent's.
        let above = mount.parent.and_then(|p| scene.context.mounts.get(p));
        let own = above.map_or(0, |p| p.host.segments.len());
        let segments = mount.host.segments.get(own..).unwrap_or(&[]);
        let Some(segment) = segments.iter().find(|s| is_glob(s)) else { continue };
        out.push(
            Diagnostic::new(
                &codes::GLOB_IN_HOST,
                mount.host_span,
                format!("`{segment}` is the name of one directory, not a pattern"),
            )
            .help(
                "mount the directory above, and grant by `on \"…\" { … }` in it, where patterns hold; \
                 if the directory has this name, say so with `@allow(glob-in-host, \"why\")`",
            ),
        );
    }
    out
}

fn is_glob(segment: &str) -> bool {
    let class =
        segment.find('[').is_some_and(|at| segment.get(at..).is_some_and(|s| s.contains(']')));
    class || segment.contains(['*', '?'])
}
