//! `secret-near-miss`: somebody thought of `.env` and not of `.env.local`.

use super::paths::{place, rooted};
use super::scene::{Scene, path};
use crate::automata::{Dfa, Re, determinize, glob};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::limits::MAX_PATTERN_STATES;
use crate::request::Ask;
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
    for (mount, list) in lists.chain(own).filter(|(_, list)| !list.is_empty()) {
        let Some(directory) = place(scene, mount) else { continue };
        let lines = list.iter().filter_map(Line::new).collect::<Vec<_>>();
        let (back, hiding): (Vec<&Line<'_>>, Vec<_>) = lines.iter().partition(|l| l.includes);
        for family in FAMILIES {
            let found = hiding.iter().rev().find_map(|line| {
                let places =
                    std::iter::once("").chain((!line.below.is_empty()).then_some(line.below));
                let mut places = places.map(|below| Place { directory: &directory, below });
                places.find_map(|place| near_miss(scene, &place, line, &back, family))
            });
            out.extend(found);
        }
    }
    out
}

/// A line of a hide list.
struct Line<'p> {
    pattern: &'p Spanned<String>,
    includes: bool,
    dfa: Dfa<bool>,
    /// The directories that the pattern names before its last segment.
    below: &'p str,
}

impl<'p> Line<'p> {
    fn new(pattern: &'p Spanned<String>) -> Option<Line<'p>> {
        let ignore = glob::gitignore(&pattern.node).ok()?;
        let classes = Re::classes([&ignore.re]);
        let dfa = determinize(&ignore.re, &classes, MAX_PATTERN_STATES).ok()?;
        let text = pattern.node.trim_start_matches(['!', '/']).trim_end_matches('/');
        let (below, _) = text.rsplit_once('/').unwrap_or(("", ""));
        let below = if below.contains(['*', '?', '[', '\\']) { "" } else { below };
        Some(Line { pattern, includes: ignore.negated, dfa, below })
    }

    fn matches(&self, path: &str) -> bool {
        *self.dfa.run(path.as_bytes())
    }
}

/// Where a file is looked for.
struct Place<'p> {
    /// The list's directory, from the root mount.
    directory: &'p str,
    /// Below it.
    below: &'p str,
}

impl Place<'_> {
    /// As the list's patterns see the file.
    fn inner(&self, name: &str) -> String {
        if self.below.is_empty() { name.to_owned() } else { format!("{}/{name}", self.below) }
    }

    fn read(&self, scene: &Scene<'_>, name: &str) -> Ask {
        let inner = self.inner(name);
        let full = match self.directory {
            "" => inner,
            directory => format!("{directory}/{inner}"),
        };
        let request = if full.starts_with('/') { full } else { rooted(scene, &full) };
        path(&request, Permission::READ)
    }
}

/// A file of the family that the line hides, and one beside it that can be read.
fn near_miss(
    scene: &Scene<'_>,
    place: &Place<'_>,
    line: &Line<'_>,
    back: &[&Line<'_>],
    family: &[&str],
) -> Option<Diagnostic> {
    let hidden = family.iter().find(|name| {
        line.matches(&place.inner(name))
            && scene.decide(&place.read(scene, name)) == (Effect::Deny, Reason::Hidden)
    })?;
    let (open, witness) = family.iter().find_map(|name| {
        let witness = scene.allowed(&place.read(scene, name))?;
        let meant = back.iter().any(|l| l.matches(&place.inner(name)));
        (!meant).then_some((name, witness))
    })?;
    let message = format!("`{hidden}` is hidden, and `{open}` can be read");
    Some(
        Diagnostic::new(&codes::SECRET_NEAR_MISS, line.pattern.span, message)
            .help(format!("{}; or `use std::secrets`, which hides the usual ones", advice(hidden)))
            .witness(witness),
    )
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
