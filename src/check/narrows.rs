//! `not-narrower`: a context says that it narrows another, and a request shows that it
//! is more permissive.

use super::View;
use crate::compare::{Compare, Side};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::request::Ask;
use mero_runtime::Phase;
use std::mem::discriminant;

/// Findings for one context: more would say the same again.
const MOST: usize = 4;

/// Claims that are examined in one policy.
const MOST_CLAIMS: usize = 500;

pub(super) fn check(view: &View<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let mut claims = 0_usize;
    for context in &view.policy.contexts {
        let Some(narrows) = &context.narrows else { continue };
        claims = claims.saturating_add(1);
        if claims > MOST_CLAIMS {
            let message = format!("not proved: that `{}` narrows another", context.name);
            out.push(
                Diagnostic::new(&codes::UNPROVED, narrows.span, message)
                    .help(format!("at most {MOST_CLAIMS} claims of a policy are examined")),
            );
            continue;
        }
        let Some(wider) = view.policy.contexts.get(narrows.node) else { continue };
        let side = |context| Side { policy: view.policy, context, judge: &view.judge };
        let mut comparison = Compare {
            old: side(wider),
            new: side(context),
            interest: |wide, narrow| narrow.0 > wide.0,
            samples: 4,
        }
        .run();
        // The phase that people have in mind first.
        comparison.changes.sort_by_key(|c| c.phase != Phase::Default);
        let mut shown: Vec<&Ask> = Vec::new();
        for change in &comparison.changes {
            // One of each kind is enough to go on with.
            let kind = |a: &&Ask| discriminant(*a) == discriminant(&change.ask);
            if shown.iter().any(kind) || shown.len() >= MOST {
                continue;
            }
            shown.push(&change.ask);
            let (may, and) = (change.after, change.before);
            let message = format!(
                "`{}` does not narrow `{}`: a request that is `{}` ({}) here is `{}` ({}) there",
                context.name, wider.name, may.0, may.1, and.0, and.1
            );
            let mut finding = Diagnostic::new(&codes::NOT_NARROWER, narrows.span, message)
                .help("take the permission from this context, or do not say that it narrows");
            for step in view.judge.trace(view.policy, context, change.phase, &change.ask) {
                finding = finding.label(step.span, step.note);
            }
            finding.witness = view.judge.witness(&context.name, change.phase, &change.ask);
            out.push(finding);
        }
        for what in comparison.unproved {
            let message =
                format!("not proved: that `{}` narrows `{}`: {what}", context.name, wider.name);
            out.push(
                Diagnostic::new(&codes::UNPROVED, narrows.span, message)
                    .help("simplify the patterns that take part"),
            );
        }
    }
    out
}
