//! `secret-near-miss`: somebody thought of `.env` and not of `.env.local`.

use super::paths::place;
use super::scene::{Scene, path};
use crate::automata::{Re, determinize, glob};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::limits::MAX_PATTERN_STATES;
use crate::source::Spanned;
use mero_runtime::{Effect, Permission, Reason};

/// Files that hold the same kind of secret, the most likely first.
const FAMILIES: &[&[&str]] = &[
    &[".env", ".env.local", ".env.production", ".env.development", ".env.staging", ".env.test"],
    &["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"],
    &["x.p12", "x.pfx"],
    &[".netrc", "_netrc"],
    &[".aws/credentials", ".aws/config"],
    &["secrets.yml", "secrets.yaml", "secrets.json"],
    &["terraform.tfstate", "terraform.tfstate.backup"],
    &["terraform.tfvars", "x.auto.tfvars"],
    &[".ssh/id_rsa", ".ssh/id_ed25519", ".ssh/id_ecdsa"],
];

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let context = scene.context;
    let mut out = Vec::new();
    let top = context.root().into_iter();
    let lists = top.map(|root| (root, &context.hide));
    let own = context.mounts.iter().enumerate().map(|(index, m)| (index, &m.hide));
    for (mount, list) in lists.chain(own) {
        let Some(directory) = place(scene, mount) else { continue };
        let patterns = list.iter().filter_map(|p| Some((p, Line::new(p)?))).collect::<Vec<_>>();
        for family in FAMILIES {
            if let Some(found) = near_miss(scene, &directory, &patterns, family) {
                out.push(found);
            }
        }
    }
    out
}

struct Line {
    includes: bool,
    anchored: bool,
    re: Re,
    /// The directories that the pattern names before its last segment.
    below: String,
}

impl Line {
    fn new(pattern: &Spanned<String>) -> Option<Line> {
        let ignore = glob::gitignore(&pattern.node).ok()?;
        let text = pattern.node.trim_start_matches(['!', '/']).trim_end_matches('/');
        let (below, _) = text.rsplit_once('/').unwrap_or(("", ""));
        let below = if below.contains(['*', '?', '[', '\\']) { "" } else { below };
        Some(Line {
            includes: ignore.negated,
            anchored: ignore.anchored,
            re: ignore.re,
            below: below.to_owned(),
        })
    }

    fn matches(&self, path: &str) -> bool {
        let classes = Re::classes([&self.re]);
        determinize(&self.re, &classes, MAX_PATTERN_STATES)
            .is_ok_and(|dfa| *dfa.run(path.as_bytes()))
    }
}

fn near_miss(
    scene: &Scene<'_>,
    directory: &str,
    patterns: &[(&Spanned<String>, Line)],
    family: &[&str],
) -> Option<Diagnostic> {
    let mut places = vec![""];
    places.extend(patterns.iter().filter(|(_, l)| l.anchored).map(|(_, l)| l.below.as_str()));
    places.dedup();
    for below in places {
        let full = |name: &str| {
            let parts = [directory, below, name];
            parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("/")
        };
        let inner =
            |name: &str| if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        let ask = |name: &str| {
            let full = full(name);
            let request = if full.starts_with('/') { full } else { format!("/./{full}") };
            path(&request, Permission::READ)
        };
        let hidden = family.iter().find_map(|name| {
            let (effect, reason) = scene.decide(&ask(name));
            let by = patterns.iter().rev().find(|(_, l)| !l.includes && l.matches(&inner(name)))?;
            (effect == Effect::Deny && reason == Reason::Hidden).then_some((name, by.0))
        });
        let Some((hidden, by)) = hidden else { continue };
        let open = family.iter().find_map(|name| {
            let brought_back = patterns.iter().any(|(_, l)| l.includes && l.matches(&inner(name)));
            let witness = scene.allowed(&ask(name)).filter(|_| !brought_back)?;
            Some((name, witness))
        });
        let Some((open, witness)) = open else { continue };
        return Some(
            Diagnostic::new(
                &codes::SECRET_NEAR_MISS,
                by.span,
                format!("`{hidden}` is hidden, and `{open}` can be read"),
            )
            .help(format!("{}; or `use std::secrets`, which hides the usual ones", advice(hidden)))
            .witness(witness),
        );
    }
    None
}

fn advice(hidden: &str) -> &'static str {
    if hidden.starts_with(".env") {
        "hide `.env*`, with `!.env.example` behind it if the sample is to be read"
    } else if hidden.contains("id_") {
        "hide `id_*`, or the whole of `.ssh/`"
    } else {
        "hide the siblings too"
    }
}
