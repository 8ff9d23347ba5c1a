//! Statements without which nothing would change: unreachable, redundant, duplicate,
//! dead. Their fates are found in one pass (`fate`); each kind has its own words.

use super::View;
use super::fate::{Fate, Thing};
use crate::diag::registry as codes;
use crate::diag::{Code, Diagnostic, Edit, Witness};
use crate::source::Span;
use std::collections::BTreeSet;

/// What a statement is called.
fn noun(thing: Thing) -> &'static str {
    match thing {
        Thing::Command | Thing::Tool => "rule",
        Thing::Block => "block",
        Thing::Hide | Thing::Reinclude => "pattern",
        Thing::Field(_) => "field",
        Thing::Exception => "exception",
        Thing::Mount => "mount",
    }
}

/// What it matches.
fn matched(thing: Thing) -> &'static str {
    match thing {
        Thing::Command | Thing::Exception => "command",
        Thing::Tool => "tool",
        Thing::Block | Thing::Hide | Thing::Reinclude | Thing::Field(_) | Thing::Mount => "path",
    }
}

fn blaming(mut d: Diagnostic, by: &[Span], message: &str) -> Diagnostic {
    for &span in by {
        d = d.label(span, message);
    }
    d
}

fn shown(d: Diagnostic, witness: Option<&Witness>) -> Diagnostic {
    match witness {
        Some(witness) => d.witness(witness.clone()),
        None => d,
    }
}

/// All statements that change nothing.
pub(super) fn check(view: &View<'_>, spoken: &BTreeSet<Span>) -> Vec<Diagnostic> {
    let idle = view.fates.idle().filter(|(span, ..)| !spoken.contains(span));
    idle.filter_map(|(span, thing, fate)| finding(view, span, thing, fate)).collect()
}

fn new(code: &'static Code, span: Span, message: String) -> Diagnostic {
    Diagnostic::new(code, span, message)
}

fn finding(view: &View<'_>, span: Span, thing: Thing, fate: &Fate) -> Option<Diagnostic> {
    let (noun, matched) = (noun(thing), matched(thing));
    Some(match (thing, fate) {
        (_, Fate::Decides) => return None,
        (Thing::Reinclude, Fate::Below { by, directory }) => {
            let message = format!(
                "this brings nothing back: the directory `{directory}` is hidden, and with it all below"
            );
            new(&codes::DEAD_REINCLUDE, span, message).label(*by, "hides the directory").help(
                format!(
                    "hide its contents instead, as by `{directory}*`, then show what is to be seen"
                ),
            )
        }
        (Thing::Reinclude, Fate::Unreachable { by, .. }) => {
            let d = new(&codes::DEAD_REINCLUDE, span, "this brings nothing back".into());
            blaming(d, by, "hides it again")
                .help("the last pattern that matches wins: move it down")
        }
        (Thing::Reinclude, _) => {
            new(&codes::DEAD_REINCLUDE, span, "this brings nothing back: nothing hides it".into())
                .help("remove it")
        }
        (Thing::Hide, Fate::Redundant { by }) => {
            let message = "this hides nothing that is not hidden anyway".into();
            blaming(new(&codes::REDUNDANT_HIDE, span, message), by, "hides it").help("remove it")
        }
        (Thing::Hide, _) => {
            let message = "no path that this list is for matches this pattern".into();
            new(&codes::DEAD_HIDE, span, message).help(
                "patterns are relative to the mount whose list it is; what another mount governs \
                 has its own",
            )
        }
        (Thing::Exception, _) => {
            let message = "this exception removes nothing from the rule".into();
            new(&codes::DEAD_EXCEPTION, span, message)
                .help("the rule does not match it: remove the exception, or mend one of the two")
        }
        (Thing::Mount, Fate::Powerless) => return super::powerless_mount::finding(view, span),
        (Thing::Mount, Fate::Hidden { by }) => {
            let message = "all of this mount is hidden".into();
            let d = new(&codes::UNREACHABLE_MOUNT, span, message);
            let by = by.iter().copied().collect::<Vec<_>>();
            blaming(d, &by, "hides its directory").help("take the directory out of the hide list")
        }
        (Thing::Field("deny"), Fate::DeniesNothing { .. }) => {
            let message = "nothing that this denies is allowed without it".into();
            new(&codes::DENY_WITHOUT_EFFECT, span, message)
                .help("what is not allowed is denied: remove it, or say where it is to hold")
        }
        (Thing::Field(name), Fate::SaysNothing) => {
            let message = format!("this `{name}` repeats what holds without it");
            new(&codes::REDUNDANT_FIELD, span, message).help("remove it")
        }
        (_, Fate::DeniesNothing { witness }) => {
            let message = format!("no {matched} that this denies is allowed without it");
            shown(new(&codes::DENY_WITHOUT_EFFECT, span, message), witness.as_ref())
                .help("what no rule allows is denied: remove it, or say what it is to keep out")
        }
        (_, Fate::Duplicate { of }) => {
            let d = new(
                &codes::DUPLICATE_RULE,
                span,
                "another rule has the same effect on the same requests".into(),
            );
            let mut d = d.label(*of, "this one").help("remove one of the two");
            if thing == Thing::Command {
                let span = view.policy.sources.whole_lines(span);
                d.fix.push(Edit { span, text: String::new() });
            }
            d
        }
        (_, Fate::Redundant { by }) => {
            let message = format!("this {noun} changes no decision: others say the same");
            blaming(new(&codes::REDUNDANT_RULE, span, message), by, "covers it").help("remove it")
        }
        (_, Fate::SaysNothing) => {
            let message = format!("this {noun} changes no decision: it says what holds anyway");
            new(&codes::REDUNDANT_RULE, span, message).help("remove it")
        }
        (_, Fate::NeverApplies) => {
            let message = "this rule never applies: no path is granted what it needs".into();
            new(&codes::UNREACHABLE_RULE, span, message)
                .help("grant the permission on some mount, or remove the rule")
        }
        (_, Fate::Unreachable { by, witness }) => {
            let message = format!(
                "this {noun} never decides: every {matched} it matches is decided by others"
            );
            let d = blaming(new(&codes::UNREACHABLE_RULE, span, message), by, "decides");
            shown(d, witness.as_ref()).help(match thing {
                Thing::Block => "later blocks win, and what is hidden stays hidden",
                _ => "deny beats ask, and ask beats allow: remove it, or narrow what decides",
            })
        }
        _ => return None,
    })
}

/// Questions that outgrew their budget.
pub(super) fn unproved(view: &View<'_>) -> Vec<Diagnostic> {
    let unproved = view.fates.unproved.iter();
    unproved
        .map(|(span, what)| {
            Diagnostic::new(&codes::UNPROVED, *span, format!("not proved: {what}"))
                .help("simplify the patterns that take part; nothing is said about this question")
        })
        .collect()
}
