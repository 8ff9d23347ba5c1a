//! A policy's own expectations, put to its compiled table.
//!
//! [`run`] takes every `test` case as a request to the [`Judge`] and compares what it
//! answers; an [`Outcome`] says how that went and, where it failed, with which request.
//! [`coverage`] asks which rules no case exercises, [`mutants`] which changes of the
//! rules no case notices.

mod asserts;
pub mod coverage;
pub mod mutants;

use crate::analysis::grounds::Grounds;
use crate::hir::{Action, Assert, Context, Policy, TestCase};
use crate::request::{Ask, Judge};
use crate::source::Span;
use mero_runtime::{Effect, Kind, Phase, Reason};
use std::fmt::Write as _;

/// How one expectation went.
#[derive(Clone, Debug)]
pub struct Outcome<'p> {
    /// The context that it is about.
    pub context: &'p Context,
    /// What was expected.
    pub subject: Subject<'p>,
    /// Whether it is so.
    pub verdict: Verdict,
}

/// One expectation of a policy.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'p> {
    /// Of a single request.
    Case(&'p TestCase),
    /// Of all requests of a pattern.
    Assert(&'p Assert),
}

/// Whether an expectation holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Passed,
    /// It does not, as this request shows.
    Failed(Answered),
    /// It could not be proved, for this reason.
    Unproved(String),
}

/// A request with what the table answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// In this phase.
    pub phase: Phase,
    /// What was asked.
    pub ask: Ask,
    /// What is done.
    pub effect: Effect,
    /// Why.
    pub reason: Reason,
}

impl Subject<'_> {
    /// Where it stands.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Subject::Case(case) => case.span,
            Subject::Assert(assert) => assert.span,
        }
    }
}

impl TestCase {
    /// The request that the case makes. What kind a path is of stays open.
    #[must_use]
    pub fn ask(&self) -> Ask {
        let first = || self.args.first().cloned().unwrap_or_default();
        match self.action {
            Action::Path(permissions) => {
                Ask::Path { path: first().into_bytes(), permissions, kind: Kind::Unknown }
            }
            Action::Permission(permissions) => Ask::Permission(permissions),
            Action::Run => Ask::Command(first()),
            Action::Argv => Ask::Argv(self.args.iter().map(|w| w.clone().into_bytes()).collect()),
            Action::Tool => Ask::Tool { name: first(), requires: Vec::new() },
        }
    }

    /// Whether an answer is the expected one.
    #[must_use]
    pub fn accepts(&self, effect: Effect, reason: Reason) -> bool {
        self.effect == effect && self.because.is_none_or(|r| r == reason)
    }

    /// The case as it would stand alone: `deny read "/x" because hidden`.
    #[must_use]
    pub fn text(&self) -> String {
        let words = self.args.iter().map(|a| format!("{a:?}")).collect::<Vec<_>>();
        let mut out = match self.action {
            Action::Path(set) => format!("{} {set}", self.effect),
            Action::Permission(set) => format!("{} permission {set}", self.effect),
            Action::Run => format!("{} run", self.effect),
            Action::Argv => format!("{} argv [{}]", self.effect, words.join(", ")),
            Action::Tool => format!("{} tool", self.effect),
        };
        if matches!(self.action, Action::Path(_) | Action::Run | Action::Tool) {
            out.extend([" ", &words.concat()]);
        }
        if let Some(reason) = self.because {
            // Writing to a string does not fail.
            let _ = write!(out, " because {reason}");
        }
        out
    }

    /// What is expected: `deny (hidden)`, or the effect alone.
    #[must_use]
    pub fn expected(&self) -> String {
        let because = self.because.map_or_else(String::new, |r| format!(" ({r})"));
        format!("{}{because}", self.effect)
    }
}

/// All cases with their contexts, in the order of the policy.
pub fn cases(policy: &Policy) -> impl Iterator<Item = (&Context, &TestCase)> {
    policy.tests.iter().flat_map(|test| {
        let context = policy.contexts.get(test.context);
        context.into_iter().flat_map(move |c| test.cases.iter().map(move |case| (c, case)))
    })
}

/// Puts all test cases of a policy to its table, and proves its assertions.
#[must_use]
pub fn run<'p>(policy: &'p Policy, judge: &Judge<'_>) -> Vec<Outcome<'p>> {
    run_on(policy, judge, &Grounds::of(policy))
}

/// As [`run`], where others ask about the same contexts.
#[must_use]
pub fn run_on<'p>(
    policy: &'p Policy,
    judge: &Judge<'_>,
    grounds: &[Grounds<'_>],
) -> Vec<Outcome<'p>> {
    let mut out = Vec::new();
    for (context, case) in cases(policy) {
        out.push(Outcome {
            context,
            subject: Subject::Case(case),
            verdict: one(judge, context, case),
        });
    }
    for (index, (context, grounds)) in policy.contexts.iter().zip(grounds).enumerate() {
        let own = policy.asserts.iter().filter(|a| a.context == index).collect::<Vec<_>>();
        if own.is_empty() {
            continue;
        }
        let prover = asserts::Prover::new(policy, grounds, judge, &own);
        out.extend(own.iter().map(|assert| Outcome {
            context,
            subject: Subject::Assert(assert),
            verdict: prover.prove(assert),
        }));
    }
    out
}

/// Puts one case to a table.
#[must_use]
pub fn one(judge: &Judge<'_>, context: &Context, case: &TestCase) -> Verdict {
    let ask = case.ask();
    let (effect, reason) = judge.decide(&context.name, case.phase, &ask);
    if case.accepts(effect, reason) {
        return Verdict::Passed;
    }
    Verdict::Failed(Answered { phase: case.phase, ask, effect, reason })
}
