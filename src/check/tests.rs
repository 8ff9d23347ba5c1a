//! `failed-test` and `untested-context`: what the `test` items of a policy come to.
//!
//! Tests are run wherever a policy is checked, so that one which no longer holds is an
//! error like any other and not something that somebody has to remember to run.

use super::View;
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::suite::{self, Subject, Verdict};

/// Statements that a failure names besides its own; a policy may have hundreds that
/// take part.
const MAX_LABELS: usize = 6;

pub(super) fn failed(view: &View<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for outcome in suite::run(view.policy, &view.judge) {
        let (Subject::Case(case), Verdict::Failed(got)) = (outcome.subject, &outcome.verdict)
        else {
            continue;
        };
        let answer = format!("`{}` ({})", got.effect, got.reason);
        let mut finding = Diagnostic::new(
            &codes::FAILED_TEST,
            case.span,
            format!("the test `{}` gets {answer}", case.text()),
        )
        .here(format!("expected {}", case.expected()))
        .help(if got.effect == case.effect {
            "the effect is as expected and its reason is not: change `because`, or the rule"
                .to_owned()
        } else {
            format!("`meroc test` shows how the answer comes about in `{}`", outcome.context.name)
        });
        let steps = view.judge.trace(view.policy, outcome.context, got.phase, &got.ask);
        // What applies last decides most.
        let skipped = steps.len().saturating_sub(MAX_LABELS);
        for step in steps.into_iter().skip(skipped) {
            finding = finding.label(step.span, step.note);
        }
        finding.witness = view.judge.witness(&outcome.context.name, got.phase, &got.ask);
        out.push(finding);
    }
    out
}

pub(super) fn untested(view: &View<'_>) -> Vec<Diagnostic> {
    let policy = view.policy;
    let tested = |index: usize| {
        policy.tests.iter().any(|test| test.context == index && !test.cases.is_empty())
    };
    let untested = policy.contexts.iter().enumerate().filter(|(index, _)| !tested(*index));
    untested
        .map(|(_, context)| {
            let name = &context.name;
            Diagnostic::new(
                &codes::UNTESTED_CONTEXT,
                context.span,
                format!("no test is about the context `{name}`"),
            )
            .help(format!("add `test {name} {{ … }}` with what must never change"))
        })
        .collect()
}
