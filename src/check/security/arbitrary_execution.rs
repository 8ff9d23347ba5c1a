//! `arbitrary-execution`: whoever may run an interpreter, or a program with an option
//! that runs another, may run everything, and every other rule is void.

use super::matcher::Matcher;
use super::pattern::{base, commands, parse, typed};
use super::programs::{self, PROGRAMS};
use super::scene::{Scene, argv};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::CommandRule;
use crate::syntax::ast::PatternKind;
use mero_runtime::Effect;

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for (rule, matcher) in scene.of_effect(Effect::Allow) {
        let passing = candidates(rule)
            .into_iter()
            .filter(|c| matcher_accepts(matcher, c))
            .find_map(|c| scene.allowed(&argv(&c)).map(|w| (c, w)));
        let Some((command, witness)) = passing else { continue };
        let name = command.first().map_or("", |w| base(w));
        out.push(
            Diagnostic::new(
                &codes::ARBITRARY_EXECUTION,
                rule.span,
                format!("this lets any program run, as by `{}`", typed(&command)),
            )
            .help(format!(
                "allow the exact uses of `{name}` that are needed, with every option spelt out, or write \
                 `ask` instead of `allow`"
            ))
            .witness(witness),
        );
    }
    out
}

fn matcher_accepts(matcher: &Matcher, command: &[String]) -> bool {
    !command.is_empty() && matcher.matches(command)
}

/// Commands that run whatever the caller likes and that the rule may match: the known
/// forms, and the rule's own words with an option behind them.
fn candidates(rule: &CommandRule) -> Vec<Vec<String>> {
    let word = rule.pattern.kind == PatternKind::Word;
    let words = if word { parse(&rule.pattern.text) } else { Vec::new() };
    let own = commands(&words, "x", "x");
    let mut out: Vec<Vec<String>> = Vec::new();
    let mut called: Vec<String> = Vec::new();
    for first in own.iter().filter_map(|c| c.first()) {
        if !called.contains(first) {
            called.push(first.clone());
        }
    }
    let with = |name: &str, form: &[&str]| {
        std::iter::once(name).chain(form.iter().copied()).map(str::to_owned).collect::<Vec<_>>()
    };
    // As the rule calls it: by path, or with a version.
    for name in &called {
        if let Some(program) = programs::find(name) {
            out.extend(program.forms.iter().map(|f| with(name, f)));
        }
    }
    // A first word without wildcards is none of the others.
    let open = words.first().is_none_or(|w| !w.fixed());
    for program in PROGRAMS.iter().filter(|_| open) {
        for name in program.names {
            out.extend(program.forms.iter().map(|f| with(name, f)));
        }
    }
    if words.last().is_some_and(|w| w.rest) {
        for command in own {
            let Some((first, arguments)) = command.split_first() else { continue };
            let Some(program) = programs::find(first) else { continue };
            for (subcommand, added) in program.options {
                if subcommand.is_empty() || arguments.iter().any(|a| a == subcommand) {
                    let added = added.iter().map(|w| (*w).to_owned());
                    out.push(command.iter().cloned().chain(added).collect());
                }
            }
        }
    }
    out
}
