//! `glued-wildcard`: `ls*` was meant as "`ls` with anything" and means "whatever begins
//! with `ls`", which is also other programs.

use super::pattern::{Atom, base, commands, parse, typed};
use super::scene::{Scene, argv};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::CommandRule;
use crate::syntax::ast::PatternKind;
use mero_runtime::Effect;

/// Programs whose names begin with another's.
const PROGRAMS: &[&str] = &[
    "cpio",
    "cdrecord",
    "ddrescue",
    "diff3",
    "dockerd",
    "envsubst",
    "findmnt",
    "gitk",
    "gofmt",
    "lsof",
    "lsblk",
    "lsattr",
    "makepkg",
    "mvn",
    "nodemon",
    "pipx",
    "pipenv",
    "psql",
    "pstree",
    "pwdx",
    "pythonw",
    "rmdir",
    "shred",
    "sshd",
    "ssh-keygen",
    "sudoedit",
    "tailscale",
    "tarsnap",
    "timedatectl",
    "vimdiff",
    "yarnpkg",
    "zipcloak",
    "catdoc",
];

/// Subcommands by program; the last column says that unknown ones are programs of
/// that name (`git-x`, `cargo-x`), so that every longer name is one.
const SUBCOMMANDS: &[(&str, &[&str], bool)] = &[
    (
        "git",
        &[
            "difftool",
            "diff-files",
            "show-ref",
            "show-branch",
            "commit-tree",
            "checkout-index",
            "fetch-pack",
            "merge-file",
            "mergetool",
            "remote-ext",
        ],
        true,
    ),
    ("cargo", &[], true),
    ("kubectl", &[], true),
    ("npm", &["install-ci-test", "install-test"], false),
    ("gh", &[], true),
];

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for (rule, matcher) in scene.of_effect(Effect::Allow) {
        for glued in glued(rule) {
            let passing = others(&glued).into_iter().find_map(|other| {
                let mut tried = glued.commands.iter().map(|c| {
                    let mut command = c.clone();
                    if let Some(word) = command.get_mut(glued.at) {
                        word.clone_from(&other);
                    }
                    command
                });
                tried.find_map(|c| {
                    let taken = matcher.matches(&c);
                    taken.then(|| scene.allowed(&argv(&c)).map(|w| (c, w))).flatten()
                })
            });
            let Some((command, witness)) = passing else { continue };
            let shown = typed(command.get(..=glued.at).unwrap_or(&[]));
            let kind = if glued.at == 0 { "program" } else { "subcommand" };
            let what = if glued.at == 0 {
                glued.prefix.clone()
            } else {
                format!("{} {}", glued.program, glued.prefix)
            };
            out.push(
                Diagnostic::new(
                    &codes::GLUED_WILDCARD,
                    rule.span,
                    format!("`{what}*` is also every other {kind} that begins with `{}`: `{shown}`",
                        glued.prefix),
                )
                .help(format!(
                    "end the word before what may follow: `{what} ...` is `{what}` with any arguments, `{what} *` \
                     with exactly one"
                ))
                .witness(witness),
            );
            break;
        }
    }
    out
}

struct Glued {
    /// Which word: the program or its subcommand.
    at: usize,
    prefix: String,
    /// The program, for a subcommand.
    program: String,
    commands: Vec<Vec<String>>,
}

/// Names that end in a wildcard, in the places of program and subcommand.
fn glued(rule: &CommandRule) -> Vec<Glued> {
    let text = &rule.pattern.text;
    let mut out = Vec::new();
    match rule.pattern.kind {
        PatternKind::Word => {
            let words = parse(text);
            let commands = commands(&words, "x", "x");
            for (at, word) in words.iter().enumerate().take(2) {
                let Some((Atom::Star, name)) = word.atoms.split_last() else { continue };
                let literal =
                    name.iter().map(|a| if let Atom::Literal(c) = a { Some(*c) } else { None });
                let Some(prefix) = literal.collect::<Option<String>>().filter(|p| named(p)) else {
                    continue;
                };
                if word.hole {
                    continue;
                }
                let program = words.first().and_then(|w| w.literal()).unwrap_or_default();
                out.push(Glued { at, prefix, program, commands: commands.clone() });
            }
        }
        PatternKind::Glob => {
            let Some((head, _)) = text.split_once('*') else { return out };
            let words = head.split(' ').map(str::to_owned).collect::<Vec<_>>();
            let Some(at) = words.len().checked_sub(1).filter(|at| *at < 2) else { return out };
            let prefix = words.get(at).cloned().unwrap_or_default();
            if named(&prefix) && !head.contains(['?', '[', '\\']) {
                let program = words.first().cloned().unwrap_or_default();
                out.push(Glued { at, prefix, program, commands: vec![words] });
            }
        }
        PatternKind::Regex | PatternKind::Text => {}
    }
    out
}

/// Whether a wildcard behind it continues a name: `ls`, not `./` or `git-`.
fn named(prefix: &str) -> bool {
    prefix.ends_with(|c: char| c.is_ascii_alphanumeric()) && !prefix.starts_with('-')
}

/// Other names that the wildcard takes.
fn others(glued: &Glued) -> Vec<String> {
    let longer = |name: &&&str| name.len() > glued.prefix.len() && name.starts_with(&glued.prefix);
    let own =
        |list: &[&str]| list.iter().filter(longer).map(|n| (*n).to_owned()).collect::<Vec<_>>();
    if glued.at == 0 {
        let mut out = own(PROGRAMS);
        out.push(format!("{}x", glued.prefix));
        return out;
    }
    let Some((_, known, open)) = SUBCOMMANDS.iter().find(|(n, ..)| *n == base(&glued.program))
    else {
        return Vec::new();
    };
    let mut out = own(known);
    if *open {
        out.push(format!("{}x", glued.prefix));
    }
    out
}
