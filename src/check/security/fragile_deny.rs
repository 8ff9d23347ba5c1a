//! `fragile-deny`: a denial by the spelling of an option, while the same thing spelt
//! otherwise stays allowed: `rm -rf`, and `rm -fr`, `rm -r -f`, `rm --recursive --force`.

use super::pattern::{base, commands, parse, typed};
use super::scene::{Scene, argv};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::CommandRule;
use crate::syntax::ast::PatternKind;
use mero_runtime::Effect;

/// What a program (or a subcommand of it) takes.
struct Spelling {
    program: &'static str,
    /// Empty for a program without subcommands.
    subcommand: &'static str,
    /// Short options and what they are in full.
    pairs: &'static [(char, &'static str)],
    /// An option that changes nothing of weight and can stand before any other.
    harmless: &'static str,
}

const fn of(
    program: &'static str,
    subcommand: &'static str,
    pairs: &'static [(char, &'static str)],
    harmless: &'static str,
) -> Spelling {
    Spelling { program, subcommand, pairs, harmless }
}

static SPELLINGS: &[Spelling] = &[
    of("rm", "", &[('r', "recursive"), ('R', "recursive"), ('f', "force"), ('d', "dir")], "-v"),
    of("chmod", "", &[('R', "recursive")], "-v"),
    of("chown", "", &[('R', "recursive")], "-v"),
    of("cp", "", &[('r', "recursive"), ('R', "recursive"), ('f', "force")], "-v"),
    of("mv", "", &[('f', "force")], "-v"),
    of("sed", "", &[('i', "in-place"), ('e', "expression")], "-E"),
    of("grep", "", &[('r', "recursive"), ('f', "file")], "-n"),
    of(
        "curl",
        "",
        &[
            ('o', "output"),
            ('d', "data"),
            ('X', "request"),
            ('T', "upload-file"),
            ('F', "form"),
            ('k', "insecure"),
            ('K', "config"),
        ],
        "-s",
    ),
    of("wget", "", &[('O', "output-document"), ('q', "quiet")], "-q"),
    of("sort", "", &[('o', "output")], "-n"),
    of("npm", "install", &[('g', "global")], "--silent"),
    of("git", "push", &[('f', "force"), ('d', "delete")], "-v"),
    of("git", "clean", &[('f', "force")], "-q"),
    of("git", "commit", &[('n', "no-verify"), ('a', "all")], "-q"),
    of("git", "checkout", &[('f', "force")], "-q"),
    of("git", "reset", &[], "-q"),
    of("git", "branch", &[('d', "delete"), ('f', "force")], "-q"),
    of("git", "tag", &[('d', "delete"), ('f', "force")], ""),
    of("git", "add", &[('A', "all"), ('f', "force")], "-v"),
    of("git", "fetch", &[('f', "force")], "-q"),
    of("git", "rebase", &[('i', "interactive"), ('x', "exec")], "-q"),
    of("docker", "rm", &[('f', "force")], ""),
    of("docker", "run", &[], "--rm"),
    of("kubectl", "delete", &[('f', "filename")], ""),
];

/// Options that can stand between a program and its subcommand.
const GLOBAL: &[(&str, &[&[&str]])] = &[
    ("git", &[&["-C", "."], &["--no-pager"], &["-c", "x.y=z"]]),
    ("npm", &[&["--silent"]]),
    ("docker", &[&["--debug"], &["-l", "info"]]),
    ("kubectl", &[&["-v=1"], &["--v=1"]]),
    ("cargo", &[&["-q"]]),
];

/// Commands that denials of text kind are most often about.
const SEEDS: &[&[&str]] = &[
    &["rm", "-rf", "x"],
    &["rm", "-rf", "/"],
    &["rm", "-r", "x"],
    &["git", "push", "--force"],
    &["git", "push", "-f"],
    &["git", "push", "origin", "main", "--force"],
    &["git", "reset", "--hard"],
    &["git", "clean", "-fd"],
    &["git", "commit", "--no-verify"],
    &["git", "push", "origin", "main"],
    &["chmod", "-R", "777", "x"],
    &["curl", "-d", "x", "https://example.com"],
];

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for (rule, matcher) in scene.of_effect(Effect::Deny) {
        let denied = seeds(rule).into_iter().filter(|c| matcher.matches(c));
        let passing = denied.flat_map(|command| {
            let others = equal(&command);
            others.into_iter().map(move |other| (command.clone(), other))
        });
        let passing =
            passing.filter(|(_, other)| !matcher.matches(other)).find_map(|(c, other)| {
                let witness = scene.allowed(&argv(&other))?;
                Some((c, other, witness))
            });
        let Some((command, other, witness)) = passing else { continue };
        out.push(
            Diagnostic::new(
                &codes::FRAGILE_DENY,
                rule.span,
                format!("`{}` is denied, and its equal `{}` is allowed", typed(&command), typed(&other)),
            )
            .help(
                "options have many spellings: allow the exact forms that are wanted, so that the rest is denied \
                 because nothing allows it, or deny the program or subcommand as a whole",
            )
            .witness(witness),
        );
    }
    out
}

/// Commands that the rule denies, with operands where it leaves them open.
fn seeds(rule: &CommandRule) -> Vec<Vec<String>> {
    if rule.pattern.kind != PatternKind::Word {
        let owned = |c: &&[&str]| c.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        return SEEDS.iter().map(owned).collect();
    }
    let words = parse(&rule.pattern.text);
    let mut out = commands(&words, "x", "x");
    if words.last().is_some_and(|w| w.rest) {
        for command in out.clone() {
            let name = command.first().map(|w| base(w)).unwrap_or_default();
            let pushes = name == "git" && command.get(1).is_some_and(|w| w == "push");
            let operands: &[&str] = if pushes { &["origin", "main"] } else { &["x"] };
            let mut longer = command;
            longer.extend(operands.iter().map(|o| (*o).to_owned()));
            out.push(longer);
        }
    }
    out
}

/// Other spellings of a command, the plainest first.
fn equal(command: &[String]) -> Vec<Vec<String>> {
    let Some((program, arguments)) = command.split_first() else { return Vec::new() };
    let name = base(program);
    let subcommand = arguments.first().map_or("", String::as_str);
    let known = SPELLINGS
        .iter()
        .find(|s| s.program == name && (s.subcommand.is_empty() || s.subcommand == subcommand));
    let mut out = Vec::new();
    if let Some(known) = known {
        let skip = usize::from(!known.subcommand.is_empty());
        let head = command.get(..=skip).unwrap_or(command);
        let tail = command.get(skip.saturating_add(1)..).unwrap_or(&[]);
        let (options, operands): (Vec<String>, Vec<String>) =
            tail.iter().cloned().partition(|w| w.starts_with('-') && w.len() > 1);
        let mut add = |middle: &[String], end: &[String]| {
            out.push([head, middle, end].concat());
        };
        if !options.is_empty() {
            // A value that follows an option could be torn from it: those commands
            // keep their order.
            let settled =
                tail.iter().skip_while(|w| !operands.contains(w)).all(|w| operands.contains(w));
            for options in respelt(&options, known) {
                if settled {
                    add(&options, &operands);
                }
            }
            if !known.harmless.is_empty() {
                add(&[known.harmless.to_owned()], tail);
            }
            if settled && !takes_value(&options) {
                add(&operands, &options);
            }
            let forced = options.iter().any(|o| o == "-f" || o == "--force");
            if let ("push", true, [rest @ .., branch]) =
                (known.subcommand, forced, operands.as_slice())
                && !rest.is_empty()
            {
                add(rest, &[format!("+{branch}")]);
            }
        }
    }
    if arguments.first().is_some_and(|a| !a.starts_with('-')) {
        for (_, globals) in GLOBAL.iter().filter(|(n, _)| *n == name) {
            for global in *globals {
                let global = global.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
                out.push([std::slice::from_ref(program), &global, arguments].concat());
            }
        }
    }
    out
}

/// Options after which the next word is theirs, as far as the table goes.
fn takes_value(options: &[String]) -> bool {
    options
        .iter()
        .any(|o| matches!(o.as_str(), "-o" | "-d" | "-X" | "-T" | "-F" | "-e" | "-x" | "-O" | "-K"))
}

/// The same options, spelt otherwise.
fn respelt(options: &[String], known: &Spelling) -> Vec<Vec<String>> {
    let pairs = known.pairs;
    let mut out: Vec<Vec<String>> = Vec::new();
    let letters = |o: &String| {
        let o = o.strip_prefix('-')?;
        (!o.starts_with('-') && o.chars().all(|c| c.is_ascii_alphabetic())).then(|| o.to_owned())
    };
    let clusters = options.iter().map(letters).collect::<Option<Vec<_>>>();
    if let Some(clusters) = clusters {
        let all = clusters.concat();
        let turned = all.chars().rev().collect::<String>();
        out.push(vec![format!("-{turned}")]);
        out.push(vec![format!("-{all}")]);
        out.push(all.chars().map(|c| format!("-{c}")).collect());
        out.push(turned.chars().map(|c| format!("-{c}")).collect());
        let long =
            |c: char| pairs.iter().find(|(short, _)| *short == c).map(|(_, l)| format!("--{l}"));
        let longs =
            all.chars().map(|c| long(c).unwrap_or_else(|| format!("-{c}"))).collect::<Vec<_>>();
        if longs.iter().any(|l| l.starts_with("--")) {
            out.push(longs);
        }
        // Two letters for one option, as `-r` and `-R`.
        let twin = |c: char| {
            let (_, own) = pairs.iter().find(|(short, _)| *short == c)?;
            pairs.iter().find(|(short, l)| *short != c && l == own).map(|(short, _)| *short)
        };
        if all.chars().any(|c| twin(c).is_some()) {
            out.push(vec![format!(
                "-{}",
                all.chars().map(|c| twin(c).unwrap_or(c)).collect::<String>()
            )]);
        }
    } else {
        let short = |o: &String| {
            let name = o.strip_prefix("--")?;
            pairs.iter().find(|(_, l)| *l == name).map(|(c, _)| format!("-{c}"))
        };
        out.push(options.iter().map(|o| short(o).unwrap_or_else(|| o.clone())).collect());
        // Programs take any beginning of a long option that is only its own;
        // `--force` shares all of its own with `--force-with-lease`.
        let cut = |o: &String| {
            let shared = known.subcommand == "push" && o == "--force";
            let long = o.strip_prefix("--").is_some_and(|n| n.len() > 3 && !n.contains('='));
            let mut o = o.clone();
            if long && !shared {
                o.pop();
            }
            o
        };
        out.push(options.iter().map(cut).collect());
    }
    out.retain(|o| o != options);
    out
}
