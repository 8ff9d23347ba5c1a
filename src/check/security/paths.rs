//! Paths that a context protects, to see whether a command reaches them all the same.

use super::scene::{Scene, path};
use crate::hir::host::Anchor;
use mero_runtime::{Effect, Permission, Reason};

/// A path as a command's argument, and as a request names it.
pub(super) struct Target {
    pub(super) argument: String,
    request: String,
}

impl Target {
    /// Why the context refuses the permission on it, if it does for good.
    pub(super) fn refused(&self, scene: &Scene<'_>, permission: Permission) -> Option<Reason> {
        let (effect, reason) = scene.decide(&path(&self.request, permission));
        let lasting = matches!(
            reason,
            Reason::Hidden | Reason::Denied | Reason::NotGranted | Reason::Outside
        );
        (effect == Effect::Deny && lasting).then_some(reason)
    }
}

/// A path that a line of an ignore list most likely matches; none for `!` lines.
pub(super) fn sample(pattern: &str) -> Option<String> {
    let pattern = pattern.trim_end();
    if pattern.starts_with('!') {
        return None;
    }
    let segments = pattern.split('/').filter(|s| !s.is_empty()).collect::<Vec<_>>();
    let last = segments.len().checked_sub(1)?;
    let mut out = Vec::new();
    for (index, segment) in segments.into_iter().enumerate() {
        match segment {
            "**" if index < last => {}
            "*" | "**" => out.push("x".to_owned()),
            _ => out.push(plain(segment)),
        }
    }
    Some(out.join("/"))
}

/// A segment without wildcards: `*.pem` as `x.pem`, `.env*` as `.env`.
fn plain(segment: &str) -> String {
    let mut out = String::new();
    let mut chars = segment.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' if out.is_empty() => out.push('x'),
            '*' => {}
            '?' => out.push('x'),
            '\\' => out.extend(chars.next()),
            '[' => {
                let first = chars.next().unwrap_or('x');
                out.push(if matches!(first, '!' | '^') { 'x' } else { first });
                while chars.next().is_some_and(|c| c != ']') {}
            }
            c => out.push(c),
        }
    }
    out
}

/// Where a mount lies, as a command that runs in the root mount would write it.
pub(super) fn place(scene: &Scene<'_>, mount: usize) -> Option<String> {
    let context = scene.context;
    let mount = context.mounts.get(mount)?;
    let root = context.mounts.get(context.root()?)?;
    if root.host.covers(&mount.host) {
        return Some(mount.host.segments.get(root.host.segments.len()..)?.join("/"));
    }
    (mount.host.anchor == Anchor::Absolute).then(|| format!("/{}", mount.host.segments.join("/")))
}

/// The request for a file of the root mount, whatever mounts are called.
pub(super) fn rooted(scene: &Scene<'_>, file: &str) -> String {
    let first = file.split('/').next().unwrap_or(file);
    let slug = scene.context.mounts.iter().any(|m| m.slug == first);
    if slug { format!("/./{file}") } else { format!("/{file}") }
}

/// What is protected: hidden paths first, then blocks and nested mounts, at last what
/// lies outside.
pub(super) fn targets(scene: &Scene<'_>) -> Vec<Target> {
    let context = scene.context;
    let mut arguments: Vec<String> = context.hide.iter().filter_map(|h| sample(&h.node)).collect();
    let placed =
        || context.mounts.iter().enumerate().filter_map(|(i, m)| Some((m, place(scene, i)?)));
    let below = |place: &str, rest: String| {
        if place.is_empty() { rest } else { format!("{place}/{rest}") }
    };
    for (mount, place) in placed() {
        arguments
            .extend(mount.hide.iter().filter_map(|h| sample(&h.node)).map(|s| below(&place, s)));
    }
    for (mount, place) in placed() {
        let patterns = mount.on.iter().flat_map(|b| &b.patterns);
        arguments.extend(patterns.filter_map(|p| sample(&p.node)).map(|s| below(&place, s)));
        arguments.push(below(&place, "x".to_owned()));
    }
    let mut out: Vec<Target> = arguments
        .into_iter()
        .map(|argument| {
            let request =
                if argument.starts_with('/') { argument.clone() } else { format!("./{argument}") };
            Target { argument, request }
        })
        .collect();
    let outside = "/etc/passwd";
    let up =
        if context.mounts.is_empty() { String::new() } else { "..".to_owned() + &"/..".repeat(60) };
    out.push(Target { argument: outside.to_owned(), request: up + outside });
    out
}
