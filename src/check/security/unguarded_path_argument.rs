//! `unguarded-path-argument`: `cat ...` reads what the mounts hide. Path rules hold for
//! commands only where a pattern says which argument is a path.

use super::paths::{Target, targets};
use super::pattern::{Atom, base, commands, parse, typed};
use super::scene::{Scene, argv};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::CommandRule;
use crate::syntax::ast::PatternKind;
use mero_runtime::{Effect, Permission, Reason};

/// A program that opens the files it is told to.
struct Handler {
    names: &'static [&'static str],
    /// What it does to the path, and the arguments around it, `@` being the path.
    uses: &'static [(Permission, &'static [&'static str])],
    /// How a guarded rule looks.
    guarded: &'static str,
}

const READ: Permission = Permission::READ;
const WRITE: Permission = Permission::WRITE;
const DELETE: Permission = Permission::DELETE;

const HANDLERS: &[Handler] = &[
    Handler {
        names: &[
            "cat", "tac", "head", "tail", "less", "more", "nl", "od", "xxd", "hexdump", "strings",
            "base64", "base32", "bat", "batcat", "fold", "fmt", "pr", "cut", "paste", "sort",
            "uniq", "comm", "diff", "cmp", "join", "column", "rev", "zcat", "source", ".",
        ],
        uses: &[(READ, &["@"])],
        guarded: "{read...}",
    },
    Handler {
        names: &["grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep"],
        uses: &[(READ, &["x", "@"])],
        guarded: "-- * {read...}",
    },
    Handler { names: &["jq", "yq"], uses: &[(READ, &[".", "@"])], guarded: "* {read...}" },
    Handler {
        names: &["sed", "gsed"],
        uses: &[(READ, &["-n", "p", "@"]), (WRITE, &["-i", "s/x/y/", "@"])],
        guarded: "-n [0-9]*p {read...}",
    },
    Handler {
        names: &["awk", "gawk", "mawk"],
        uses: &[(READ, &["{print}", "@"])],
        guarded: "-F* '{print $1}' {read...}",
    },
    Handler {
        names: &["cp", "ln", "install", "rsync"],
        uses: &[(READ, &["@", "x"]), (WRITE, &["x", "@"])],
        guarded: "{read} {write}",
    },
    Handler {
        names: &["mv"],
        uses: &[(DELETE, &["@", "x"]), (WRITE, &["x", "@"])],
        guarded: "{read|delete} {write}",
    },
    Handler {
        names: &["tee", "touch", "truncate", "mkdir"],
        uses: &[(WRITE, &["@"])],
        guarded: "{write...}",
    },
    Handler {
        names: &["chmod", "chown"],
        uses: &[(WRITE, &["755", "@"])],
        guarded: "755 {write...}",
    },
    Handler {
        names: &["rm", "rmdir", "unlink", "shred"],
        uses: &[(DELETE, &["@"])],
        guarded: "{delete...}",
    },
    Handler {
        names: &["dd"],
        uses: &[(READ, &["if=@"]), (WRITE, &["of=@"])],
        guarded: "if={read} of={write}",
    },
    Handler {
        names: &["tar"],
        uses: &[(READ, &["-cf", "-", "@"])],
        guarded: "-cf {write} {read...}",
    },
];

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    if scene.context.mounts.is_empty() && scene.context.unconfined.is_none() {
        return Vec::new();
    }
    let targets = targets(scene);
    // For each permission, the first path that is refused it.
    let refused = [READ, WRITE, DELETE].into_iter().filter_map(|permission| {
        let first = targets.iter().find_map(|t| Some((t, t.refused(scene, permission)?)));
        first.map(|(target, reason)| Refused { permission, target, reason })
    });
    let refused = refused.collect::<Vec<_>>();
    let mut out = Vec::new();
    for (rule, matcher) in scene.of_effect(Effect::Allow) {
        let mut tried = candidates(rule, &refused).into_iter();
        let passing = tried.find_map(|c| {
            let taken = matcher.matches(&c.command);
            taken.then(|| scene.allowed(&argv(&c.command)).map(|w| (c, w))).flatten()
        });
        let Some((found, witness)) = passing else { continue };
        let name = found.command.first().map_or("", |w| base(w));
        let verb = match found.permission {
            READ => "reads",
            WRITE => "writes",
            _ => "deletes",
        };
        let what = match found.reason {
            Reason::Hidden => "what is hidden",
            Reason::Denied => "what is denied",
            Reason::Outside => "outside of every mount",
            _ => "where that is not granted",
        };
        out.push(
            Diagnostic::new(
                &codes::UNGUARDED_PATH_ARGUMENT,
                rule.span,
                format!("no mount guards the paths given to `{name}`: `{}` {verb} {what}", typed(&found.command)),
            )
            .help(format!(
                "say which arguments are paths: `{}`; options are then written out in rules of their own",
                guarded(rule, name, found.guarded)
            ))
            .witness(witness),
        );
    }
    out
}

/// The rule as it should be: its own words where only the rest is free.
fn guarded(rule: &CommandRule, name: &str, form: &str) -> String {
    let text = rule.pattern.text.trim_end();
    match text.strip_suffix("...") {
        Some(head) if rule.pattern.kind == PatternKind::Word && form.ends_with("...}") => {
            let own = head.split_whitespace().count() > 1;
            let rest = form.rsplit(' ').next().unwrap_or(form);
            format!("{head}{}", if own { rest } else { form })
        }
        _ => format!("{name} {form}"),
    }
}

struct Candidate {
    command: Vec<String>,
    permission: Permission,
    reason: Reason,
    guarded: &'static str,
}

/// A path that is refused a permission, and why.
struct Refused<'t> {
    permission: Permission,
    target: &'t Target,
    reason: Reason,
}

fn candidates(rule: &CommandRule, refused: &[Refused<'_>]) -> Vec<Candidate> {
    let word = rule.pattern.kind == PatternKind::Word;
    let words = if word { parse(&rule.pattern.text) } else { Vec::new() };
    let own = commands(&words, "x", "x");
    let rest = words.last().is_some_and(|w| w.rest && !w.hole);
    let star_last = words.last().is_some_and(|w| w.atoms == [Atom::Star] && !w.hole);
    // A first word without wildcards is no other program.
    let open = words.first().is_none_or(|w| !w.fixed());
    let mut out = Vec::new();
    for handler in HANDLERS {
        for (permission, shape) in handler.uses {
            let Some(&Refused { target, reason, .. }) =
                refused.iter().find(|r| r.permission == *permission)
            else {
                continue;
            };
            let with = |head: &[String], shape: &[&str]| {
                let tail = shape.iter().map(|a| a.replace('@', &target.argument));
                head.iter().cloned().chain(tail).collect::<Vec<_>>()
            };
            let mut add = |command| {
                let (permission, guarded) = (*permission, handler.guarded);
                out.push(Candidate { command, permission, reason, guarded });
            };
            for command in &own {
                let Some((first, arguments)) = command.split_first() else { continue };
                if !handler.names.contains(&base(first)) {
                    continue;
                }
                add(with(std::slice::from_ref(first), shape));
                let operands =
                    |list: &[String]| list.iter().filter(|a| !a.starts_with('-')).count();
                let before =
                    shape.iter().take_while(|a| !a.contains('@')).filter(|a| !a.starts_with('-'));
                let wanted = before.count();
                let last = shape.last().is_some_and(|a| *a == "@");
                if rest && operands(arguments) < wanted.max(1) {
                    add(with(command, shape));
                } else if rest && last {
                    add(with(command, &["@"]));
                }
                let head = command.split_last().map_or(&[][..], |(_, head)| head);
                if star_last && last && operands(head.get(1..).unwrap_or(&[])) >= wanted {
                    add(with(head, &["@"]));
                }
            }
            for name in handler.names.iter().filter(|_| open) {
                add(with(&[(*name).to_owned()], shape));
            }
        }
    }
    out
}
