//! `overlap`: two rules of different effects share requests, and neither covers the
//! other. The stricter wins there, which may or may not be what was meant: a note.

use super::View;
use crate::analysis::commands::Alphabet;
use crate::automata::{is_subset, meets};
use crate::diag::registry as codes;
use crate::diag::{Diagnostic, Level};
use crate::hir::{CommandRule, Context};
use crate::limits::MAX_PRODUCT_STATES;
use crate::request::Ask;
use std::collections::BTreeSet;

/// Pairs of rules that are looked at in one context: a note is not worth more.
const MOST_PAIRS: usize = 20_000;

pub(super) fn check(view: &View<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    for context in &view.policy.contexts {
        let found = of_context(view, context).unwrap_or_else(|| {
            let message = format!("not proved: which rules of `{}` overlap", context.name);
            let mut unproved = Diagnostic::new(&codes::UNPROVED, context.span, message)
                .help("there are too many rules, or too large ones, to compare all pairs");
            // Of a note no more is made than a note.
            unproved.level = Level::Note;
            vec![unproved]
        });
        out.extend(found.into_iter().filter(|d| {
            let other = d.labels.first().map(|l| l.span);
            seen.insert((d.primary.span, other))
        }));
    }
    out
}

fn of_context(view: &View<'_>, context: &Context) -> Option<Vec<Diagnostic>> {
    let Some(block) = context.commands.as_ref() else { return Some(Vec::new()) };
    let count = |deny: bool| {
        block.rules.iter().filter(|r| (r.effect == mero_runtime::Effect::Deny) == deny).count()
    };
    if count(true).saturating_mul(count(false)) > MOST_PAIRS {
        return None;
    }
    let patterns = block.rules.iter().flat_map(|r| std::iter::once(&r.pattern).chain(&r.except));
    let Ok(alphabet) = Alphabet::new(patterns.map(|p| (p, 0))) else {
        // Then nothing could be judged, and that is said already.
        return Some(Vec::new());
    };
    let plain = alphabet.domain(alphabet.letters(), true).ok()?;
    let all = alphabet.domain(alphabet.letters(), false).ok()?;
    // As typed: that a denial also finds the program by a path is no disagreement.
    let read = |r: &CommandRule| alphabet.language(&r.pattern, &r.except).ok();
    let languages = block.rules.iter().map(|r| Some((r, read(r)?))).collect::<Option<Vec<_>>>()?;
    let mut out = Vec::new();
    for (index, (rule, own)) in languages.iter().enumerate() {
        for (other, theirs) in languages.iter().skip(index.saturating_add(1)) {
            let budget = MAX_PRODUCT_STATES;
            if rule.effect == other.effect
                || meets(own, theirs, budget) != Ok(true)
                || is_subset(own, theirs, budget) != Ok(false)
                || is_subset(theirs, own, budget) != Ok(false)
            {
                continue;
            }
            let both = crate::automata::intersect(own, theirs, budget).ok()?;
            let string =
                [&plain, &all].iter().find_map(|d| super::fate::common(&both, d).ok().flatten());
            let Some(string) = string else { continue };
            let stricter = if rule.effect < other.effect { rule } else { other };
            let message = format!(
                "this rule and another share commands, and the `{}` wins there",
                stricter.effect
            );
            let mut finding = Diagnostic::new(&codes::OVERLAP, other.span, message)
                .label(rule.span, "the other rule")
                .help("say with `except` what is meant for the commands that both match");
            let phase = super::fate::usual_phase(&context.phases);
            let ask = Ask::Argv(alphabet.words(&string));
            finding.witness = view.judge.witness(&context.name, phase, &ask);
            out.push(finding);
        }
    }
    Some(out)
}
