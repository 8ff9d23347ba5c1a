//! `removable-control`: a block protects a path, and the directory above it may be
//! deleted or moved away with everything in it, and put back otherwise.

use super::scene::{Scene, path};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::request::Ask;
use crate::source::{Span, Spanned};
use mero_runtime::{Effect, Kind, Permission, Reason};

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let context = scene.context;
    let mut out = Vec::new();
    let prefix = |index: usize| {
        let root = Some(index) == context.root();
        context.mounts.get(index).map(|m| if root { String::new() } else { format!("/{}", m.slug) })
    };
    let root = context.root().into_iter().map(|r| (r, &context.hide));
    let own = context.mounts.iter().enumerate().map(|(i, m)| (i, &m.hide));
    for (index, list) in root.chain(own) {
        let Some(prefix) = prefix(index) else { continue };
        out.extend(list.iter().filter_map(|p| removable(scene, &prefix, p, p.span)));
    }
    for (index, mount) in context.mounts.iter().enumerate() {
        let Some(prefix) = prefix(index) else { continue };
        for block in &mount.on {
            let mut found =
                block.patterns.iter().filter_map(|p| removable(scene, &prefix, p, block.span));
            out.extend(found.next());
        }
    }
    out
}

fn removable(
    scene: &Scene<'_>,
    prefix: &str,
    pattern: &Spanned<String>,
    span: Span,
) -> Option<Diagnostic> {
    // Directories that the pattern names: those above a wildcard are anybody's.
    let segments =
        pattern.node.split('/').filter(|s| !s.is_empty() && *s != "**").collect::<Vec<_>>();
    let literal = segments.iter().take_while(|s| !s.contains(['*', '?', '[', '\\'])).count();
    let whole = pattern.node.trim_end_matches('/').ends_with("/**");
    let above = if whole { literal } else { literal.min(segments.len().saturating_sub(1)) };
    if above == 0 {
        return None;
    }
    let inner = super::paths::sample(&pattern.node)?;
    let named = |file: &str| {
        if prefix.is_empty() {
            super::paths::rooted(scene, file)
        } else {
            format!("{prefix}/{file}")
        }
    };
    let protected = named(&inner);
    let refused = |permission| {
        let (effect, reason) = scene.decide(&path(&protected, permission));
        effect == Effect::Deny && matches!(reason, Reason::Denied | Reason::Hidden)
    };
    if !refused(Permission::WRITE) && !refused(Permission::DELETE) {
        return None;
    }
    (1..=above).rev().find_map(|depth| {
        let directory = segments.get(..depth)?.join("/");
        let ask = Ask::Path {
            path: named(&directory).into_bytes(),
            permissions: Permission::DELETE,
            kind: Kind::Directory,
        };
        let witness = scene.allowed(&ask)?;
        let diagnostic = Diagnostic::new(
            &codes::REMOVABLE_CONTROL,
            span,
            format!("`{inner}` is protected, and `{directory}` above it may be moved or deleted with it"),
        );
        let help = format!(
            "write `on \"/{directory}/\" {{ deny delete }}`, or mount the protected directory: a mount counts \
             when what is above it is deleted"
        );
        Some(diagnostic.help(help).witness(witness))
    })
}
