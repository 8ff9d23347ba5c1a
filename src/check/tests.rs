//! `failed-test`, `failed-assert` and `untested-context`: what the `test` and `assert`
//! items of a policy come to.
//!
//! Tests are run wherever a policy is checked, so that one which no longer holds is an
//! error like any other and not something that somebody has to remember to run.

use super::View;
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::{Assert, Context};
use crate::suite::{self, Answered, Subject, Verdict};
use crate::syntax::ast::Quantifier;

/// Statements that a failure names besides its own; a policy may have hundreds that
/// take part.
const MAX_LABELS: usize = 6;

pub(super) fn failed(view: &View<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for outcome in suite::run_on(view.policy, &view.judge, &view.grounds) {
        let (case, got) = match (outcome.subject, &outcome.verdict) {
            (_, Verdict::Passed) => continue,
            (Subject::Assert(assert), Verdict::Failed(got)) => {
                out.push(refuted(view, outcome.context, assert, got));
                continue;
            }
            (Subject::Assert(assert), Verdict::Unproved(why)) => {
                out.push(unproved(outcome.context, assert, why));
                continue;
            }
            (Subject::Case(case), Verdict::Failed(got)) => (case, got),
            (Subject::Case(_), Verdict::Unproved(_)) => continue,
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
        finding = traced(view, outcome.context, got, finding);
        out.push(finding);
    }
    out
}

/// Names what led to an answer, and the request.
fn traced(
    view: &View<'_>,
    context: &Context,
    got: &Answered,
    mut finding: Diagnostic,
) -> Diagnostic {
    let steps = view.judge.trace(view.policy, context, got.phase, &got.ask);
    // What applies last decides most.
    let skipped = steps.len().saturating_sub(MAX_LABELS);
    for step in steps.into_iter().skip(skipped) {
        finding = finding.label(step.span, step.note);
    }
    finding.witness = view.judge.witness(&context.name, got.phase, &got.ask);
    finding
}

/// An assertion that is neither proved nor refuted.
fn unproved(context: &Context, assert: &Assert, why: &str) -> Diagnostic {
    let message = format!("not proved: whether `{}` {}: {why}", context.name, assert.text());
    Diagnostic::new(&codes::UNPROVED, assert.span, message)
        .help("simplify the patterns that take part, or assert less at once")
}

/// An assertion that does not hold.
fn refuted(view: &View<'_>, context: &Context, assert: &Assert, got: &Answered) -> Diagnostic {
    let text = assert.text();
    let finding = Diagnostic::new(
        &codes::FAILED_ASSERT,
        assert.span,
        format!(
            "`{}` {text}: this does not hold, a request gets `{}` ({})",
            context.name, got.effect, got.reason
        ),
    )
    .help(match assert.quantifier {
        Quantifier::Never => "deny what is never to be, or carve it out with `except`",
        Quantifier::Always => "grant what is always to be, or carve it out with `except`",
    });
    traced(view, context, got, finding)
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
