//! `bare-deny`: `deny "yarn"` denies the command without arguments, and the commands
//! that were meant stay allowed.

use super::pattern::{Word, base, commands, parse, typed};
use super::scene::{Scene, argv};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::syntax::ast::PatternKind;
use mero_runtime::Effect;

/// What is most often given to a program.
const ARGUMENTS: &[(&str, &str)] = &[
    ("yarn", "install"),
    ("npm", "install"),
    ("pnpm", "install"),
    ("pip", "install"),
    ("git", "push"),
    ("gh", "auth"),
    ("docker", "run"),
    ("kubectl", "delete"),
    ("curl", "https://example.com"),
    ("wget", "https://example.com"),
    ("ssh", "host"),
    ("push", "--force"),
];

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for (rule, _) in scene.of_effect(Effect::Deny) {
        if rule.pattern.kind != PatternKind::Word || !rule.except.is_empty() {
            continue;
        }
        let words = parse(&rule.pattern.text);
        // Options are for `fragile-deny`.
        if !words.iter().all(Word::fixed) || words.iter().any(is_option) {
            continue;
        }
        let bare = commands(&words, "", "");
        let passing = bare.iter().find_map(|command| {
            let last = command.last().map_or("", |w| base(w));
            let usual = ARGUMENTS.iter().filter(|(n, _)| *n == last).map(|(_, a)| *a);
            usual.chain(["x"]).find_map(|argument| {
                let mut longer = command.clone();
                longer.push(argument.to_owned());
                scene.allowed(&argv(&longer)).map(|w| (command, longer, w))
            })
        });
        let Some((command, longer, witness)) = passing else { continue };
        let bare = typed(command);
        out.push(
            Diagnostic::new(
                &codes::BARE_DENY,
                rule.span,
                format!(
                    "only `{bare}` without further arguments is denied: `{}` stays allowed",
                    typed(&longer)
                ),
            )
            .help(format!(
                "write `deny \"{} ...\"`: with any arguments, or none",
                rule.pattern.text.trim()
            ))
            .witness(witness),
        );
    }
    out
}

fn is_option(word: &Word) -> bool {
    word.spellings("", "").iter().any(|s| s.starts_with('-'))
}
