//! `loose-wildcard`: a `*` before the subcommand was meant for a name and takes options
//! as well, those that change what the program does among them.

use super::pattern::{Atom, Word, base, commands, parse, typed};
use super::scene::{Scene, argv};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::syntax::ast::PatternKind;
use mero_runtime::Effect;

/// Options that matter, by program; any other program gets one without a meaning.
const OPTIONS: &[(&str, &[&str])] = &[
    ("git", &["--exec-path=./x", "--git-dir=x"]),
    ("docker", &["--host=tcp://x"]),
    ("kubectl", &["--server=x", "--kubeconfig=x"]),
    ("gh", &["--hostname=x"]),
    ("npm", &["--prefix=x"]),
    ("cargo", &["--config=x"]),
    ("gcloud", &["--account=x"]),
];

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for (rule, matcher) in scene.of_effect(Effect::Allow) {
        if rule.pattern.kind != PatternKind::Word {
            continue;
        }
        let words = parse(&rule.pattern.text);
        for (at, subcommand) in loose(&words) {
            let program = words.first().and_then(Word::literal).unwrap_or_default();
            let known =
                OPTIONS.iter().find(|(n, _)| *n == base(&program)).map_or(&[][..], |(_, o)| o);
            let passing = known.iter().chain(&["--x"]).find_map(|option| {
                let mut words = words.clone();
                if let Some(word) = words.get_mut(at) {
                    word.atoms = option.chars().map(Atom::Literal).collect();
                }
                let command = commands(&words, "x", "x").into_iter().next()?;
                let taken = matcher.matches(&command);
                taken.then(|| scene.allowed(&argv(&command)).map(|w| (command, w))).flatten()
            });
            let Some((command, witness)) = passing else { continue };
            out.push(
                Diagnostic::new(
                    &codes::LOOSE_WILDCARD,
                    rule.span,
                    format!("the `*` before `{subcommand}` takes options too: `{}`", typed(&command)),
                )
                .help(
                    "write out what may stand there, as in `(issue|pr)`, or begin it with a class that no option \
                     begins with, as in `[a-z]*`",
                )
                .witness(witness),
            );
            break;
        }
    }
    out
}

/// Words that are only `*`, each with a subcommand behind it. After `--` nothing is an
/// option, and what follows an option is most likely its value.
fn loose(words: &[Word]) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    let mut before = String::new();
    for (at, word) in words.iter().enumerate() {
        let text = word.spellings("*", "").into_iter().next().unwrap_or_default();
        if text == "--" {
            break;
        }
        if at > 0 && word.atoms == [Atom::Star] && !word.hole && !before.starts_with('-') {
            let later = words.get(at.saturating_add(1)..).unwrap_or(&[]);
            let named = |w: &Word| {
                let first = w.spellings("", "").into_iter().next()?;
                let letter = first.starts_with(|c: char| c.is_ascii_alphabetic());
                (w.fixed() && letter).then_some(first)
            };
            if let Some(subcommand) = later.iter().find_map(named) {
                out.push((at, subcommand));
            }
        }
        before = text;
    }
    out
}
