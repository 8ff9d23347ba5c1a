//! `writable-control`: what an agent may write is often run by somebody else, outside of
//! every policy: hooks, workflows, settings, start-up files.
//!
//! Whether `.git/hooks` means anything depends on the directory. It is taken for a
//! working tree if the policy lies in it, if the policy names such files itself, or if a
//! command rule names a program that one uses in working trees.

use super::control::{Control, HOME, SCRIPTS, SYSTEM, TREE, TREE_PROGRAMS};
use super::paths::{place, rooted};
use super::pattern::{base, commands, parse, typed};
use super::scene::{Scene, argv, path};
use crate::diag::registry as codes;
use crate::diag::{Diagnostic, Witness};
use crate::hir::host::Anchor;
use crate::hir::{Host, Mount};
use crate::syntax::ast::PatternKind;
use mero_runtime::{Effect, Permission};

struct Writable {
    /// The mount that governs the path.
    mount: usize,
    path: String,
    why: String,
    protect: String,
    witness: Witness,
}

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (index, mount) in scene.context.mounts.iter().enumerate() {
        if mount.parent.is_none() {
            files(scene, index, mount, &mut found);
        }
    }
    let mut out = Vec::new();
    for (index, mount) in scene.context.mounts.iter().enumerate() {
        let here = found.iter().filter(|w| w.mount == index).collect::<Vec<_>>();
        let Some(first) = here.first() else { continue };
        let others = here.len().saturating_sub(1);
        let also = here.iter().skip(1).take(3).map(|w| format!("`{}`", w.path)).collect::<Vec<_>>();
        let more = match others {
            0 => String::new(),
            1..=3 => format!("; likewise {}", also.join(", ")),
            _ => format!("; likewise {} and {} more", also.join(", "), others.saturating_sub(3)),
        };
        let protect = protect(&here);
        let below = if mount.parent.is_some() { "the mount around it" } else { "the mount" };
        out.push(
            Diagnostic::new(
                &codes::WRITABLE_CONTROL,
                mount.span,
                format!("`{}` may write `{}`: {}{more}", scene.context.name, first.path, first.why),
            )
            .help(format!("protect it in {below}, as by `on {protect} {{ deny write | delete }}`"))
            .witness(first.witness.clone()),
        );
    }
    out
}

/// The patterns of a block that protects them all; many names that begin with a dot
/// are taken together.
fn protect(found: &[&Writable]) -> String {
    let mut patterns = found.iter().map(|w| w.protect.as_str()).collect::<Vec<_>>();
    patterns.dedup();
    if patterns.iter().filter(|p| p.starts_with("/.")).count() > 3 {
        patterns.retain(|p| !p.starts_with("/."));
        patterns.push(".*");
    }
    patterns.iter().map(|p| format!("\"{p}\"")).collect::<Vec<_>>().join(", ")
}

/// What is writable below a top-level mount.
fn files(scene: &Scene<'_>, index: usize, mount: &Mount, out: &mut Vec<Writable>) {
    let mut add = |file: &str, why: String, protect: String| {
        let request = request(scene, index, mount, file);
        let Some(witness) = scene.allowed(&path(&request, Permission::WRITE)) else { return };
        let mount = governing(scene, index, mount, file);
        if !out.iter().any(|w| w.mount == mount && w.path == file) {
            out.push(Writable { mount, path: file.to_owned(), why, protect, witness });
        }
    };
    // The policy lies in its base directory, and most often so does its table.
    let base_of_policy = mount.host.anchor == Anchor::Base && mount.host.segments.is_empty();
    if base_of_policy && let Some((_, file)) = scene.policy.sources.iter().next() {
        let name = file.name.rsplit(['/', '\\']).next().unwrap_or(&file.name);
        add(name, "it is the policy itself".to_owned(), format!("/{name}*"));
        add(&format!("{name}t"), "it is the policy's table".to_owned(), format!("/{name}*"));
    }
    let mut known = |list: &[Control]| {
        for c in list {
            add(c.path, c.who.to_owned(), c.protect.to_owned());
        }
    };
    // Commands run in the root mount; others are not known to be working trees.
    if base_of_policy || (Some(index) == scene.context.root() && is_tree(scene)) {
        known(TREE);
    }
    let segments = mount.host.segments.iter().map(String::as_str).collect::<Vec<_>>();
    match (mount.host.anchor, segments.as_slice()) {
        (Anchor::Home, []) | (Anchor::Absolute, ["root"] | ["home" | "Users", _]) => known(HOME),
        (Anchor::Absolute, []) => known(SYSTEM),
        _ => {}
    }
    if mount.slug != "root" {
        return;
    }
    for (file, runs) in SCRIPTS {
        let run = runs.iter().find(|c| scene.allowed(&argv(c)).is_some());
        if let Some(run) = run {
            add(file, format!("`{}` runs it and is allowed", typed(run)), format!("/{file}"));
        }
    }
    for (rule, _) in scene.of_effect(Effect::Allow) {
        if rule.pattern.kind != PatternKind::Word {
            continue;
        }
        for command in commands(&parse(&rule.pattern.text), "x", "x") {
            let Some(script) = command.first() else { continue };
            let file = script.trim_start_matches("./");
            let relative =
                script.contains('/') && !script.starts_with('/') && !script.starts_with("..");
            if relative && scene.allowed(&argv(&command)).is_some() {
                add(
                    file,
                    format!("`{}` runs it and is allowed", typed(&command)),
                    format!("/{file}"),
                );
            }
        }
    }
}

/// The request for a file of a top-level mount.
fn request(scene: &Scene<'_>, index: usize, mount: &Mount, file: &str) -> String {
    if Some(index) == scene.context.root() {
        rooted(scene, file)
    } else {
        format!("/{}/{file}", mount.slug)
    }
}

/// The deepest mount that covers the file.
fn governing(scene: &Scene<'_>, index: usize, mount: &Mount, file: &str) -> usize {
    let mut segments = mount.host.segments.clone();
    segments.extend(file.split('/').map(str::to_owned));
    let host = Host { anchor: mount.host.anchor, segments };
    let around = scene.context.mounts.iter().enumerate().filter(|(_, m)| m.host.covers(&host));
    around.max_by_key(|(_, m)| m.host.segments.len()).map_or(index, |(i, _)| i)
}

/// Whether the policy treats its directories as a working tree.
fn is_tree(scene: &Scene<'_>) -> bool {
    let context = scene.context;
    let control = |text: &str| {
        text.split(['/', '\\']).any(|s| {
            let s = s.trim_start_matches('!');
            matches!(
                s,
                ".git" | ".github" | ".claude" | ".codex" | ".vscode" | ".husky" | ".gitlab-ci.yml"
            )
        })
    };
    let hides = context.hide.iter().chain(context.mounts.iter().flat_map(|m| &m.hide));
    let blocks = context.mounts.iter().flat_map(|m| &m.on).flat_map(|b| &b.patterns);
    let mut places = (0..context.mounts.len()).filter_map(|i| place(scene, i));
    if hides.chain(blocks).any(|p| control(&p.node)) || places.any(|p| control(&p)) {
        return true;
    }
    scene.rules.iter().any(|(rule, _)| {
        let text = &rule.pattern.text;
        let first = match rule.pattern.kind {
            PatternKind::Word => {
                let words = parse(text);
                let named = words.first().map(|w| w.spellings("", ""));
                return named.is_some_and(|n| n.iter().any(|n| TREE_PROGRAMS.contains(&base(n))));
            }
            PatternKind::Regex => text.trim_start_matches(['^', '\\', 'b']),
            PatternKind::Glob | PatternKind::Text => text,
        };
        let end =
            first.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(first.len());
        first.get(..end).is_some_and(|n| TREE_PROGRAMS.contains(&n))
    })
}
