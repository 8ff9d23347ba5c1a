//! `phase-order` and `idle-phase`: phases are ordered from strict to loose for every
//! request, and one that decides as another does is not worth admitting.
//!
//! What a phase does to a decision depends only on which rules apply, not on the request:
//! the order is proved over all such combinations, reached or not, which are few. What
//! *is* reached matters for idle phases, and is visited.

use super::View;
use super::fate::SINGLES;
use crate::analysis::commands::{Tally, decide};
use crate::analysis::paths::Verdict;
use crate::analysis::tools::{Alphabet, Names};
use crate::automata::TooLarge;
use crate::compare::{Compare, Side};
use crate::diag::registry as codes;
use crate::diag::{Diagnostic, Level};
use crate::hir::{Context, Policy};
use mero_runtime::{Permission, Phase};
use std::collections::HashMap;

/// All ways in which rules can apply.
fn tallies() -> impl Iterator<Item = Tally> {
    let counts = || 0..3_u8;
    counts().flat_map(move |deny| {
        counts().flat_map(move |ask| {
            counts().flat_map(move |allow| {
                counts().flat_map(move |readonly| {
                    counts().map(move |refused| Tally { deny, ask, allow, readonly, refused })
                })
            })
        })
    })
}

/// All ways in which fields can stand.
fn verdicts() -> impl Iterator<Item = Verdict> {
    (0..4096_u16).flat_map(|n| {
        let set =
            |shift: u16| Permission::from_bits_truncate(u8::try_from(n >> shift & 15).unwrap_or(0));
        let (allow, ask, deny) = (set(0), set(4), set(8));
        [true, false].map(|hidden| Verdict {
            mount: Some(0),
            hidden,
            allow,
            ask,
            deny,
            below: None,
        })
    })
}

/// The phases that a context admits, from strict to loose.
fn admitted(context: &Context) -> Vec<Phase> {
    Phase::ALL.into_iter().filter(|p| context.phases.contains(p)).collect()
}

/// Whether one phase is stricter than another on some path. That is so of all contexts or
/// of none.
fn stricter_on_paths(strict: Phase, loose: Phase) -> bool {
    verdicts().any(|v| SINGLES.iter().any(|&p| v.decide(p, strict).0 > v.decide(p, loose).0))
}

/// A phase that is stricter than the one before it, if there is one. What was found out of
/// paths for other contexts is in `paths`.
///
/// # Errors
/// [`TooLarge`] where the tools of a policy cannot be looked at.
fn disorder(
    policy: &Policy,
    context: &Context,
    paths: &mut HashMap<(Phase, Phase), bool>,
) -> Result<Option<(Phase, &'static str)>, TooLarge> {
    let phases = admitted(context);
    let block = context.commands.as_ref();
    let mut pairs = phases.iter().zip(phases.iter().skip(1));
    let alphabet = Alphabet::new(&[policy], [])?;
    let names = Names::new(policy, context, &alphabet)?;
    Ok(pairs.find_map(|(&strict, &loose)| {
        let command = |t: Tally| decide(block, t, strict).0 > decide(block, t, loose).0;
        let mut path = || {
            let known = paths.entry((strict, loose));
            *known.or_insert_with(|| stricter_on_paths(strict, loose))
        };
        let tools = (0..policy.tools.len()).map(Some).chain([None]).collect::<Vec<_>>();
        let tool = |t: Tally| {
            tools
                .iter()
                .any(|&tool| names.decide(t, tool, strict).0 > names.decide(t, tool, loose).0)
        };
        match () {
            () if tallies().any(command) => Some((loose, "commands")),
            () if path() => Some((loose, "paths")),
            () if tallies().any(tool) => Some((loose, "tools")),
            () => None,
        }
    }))
}

/// `phase-order`.
pub(super) fn order(view: &View<'_>) -> Vec<Diagnostic> {
    let contexts = view.policy.contexts.iter();
    let mut paths = HashMap::new();
    contexts
        .filter_map(|context| {
            let (phase, what) = match disorder(view.policy, context, &mut paths) {
                Ok(found) => found?,
                Err(error) => {
                    let message = format!(
                        "not proved: the order of the phases of `{}`: {error}",
                        context.name
                    );
                    return Some(
                        Diagnostic::new(&codes::UNPROVED, context.span, message)
                            .help("simplify the names in `tools`"),
                    );
                }
            };
            let message = format!(
                "in `{}` the phase `{phase}` is stricter on some {what} than the one before it",
                context.name
            );
            Some(
                Diagnostic::new(&codes::PHASE_ORDER, context.span, message)
                    .help("this is a fault of meroc: please report it with the policy"),
            )
        })
        .collect()
}

/// `idle-phase`.
pub(super) fn idle(view: &View<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for context in &view.policy.contexts {
        // Who did not list phases did not mean each of them.
        let Some(span) = context.phases_span else { continue };
        let phases = admitted(context);
        for (&strict, &loose) in phases.iter().zip(phases.iter().skip(1)) {
            match same(view, context, strict, loose) {
                Ok(false) => {}
                Ok(true) => {
                    let message = format!(
                        "in `{}` the phase `{loose}` decides everything as `{strict}` does",
                        context.name
                    );
                    out.push(
                        Diagnostic::new(&codes::IDLE_PHASE, span, message)
                            .help("nothing is asked for, or nothing is left to be loosened"),
                    );
                }
                Err(error) => {
                    let message =
                        format!("not proved: whether `{loose}` loosens anything: {error}");
                    let mut unproved = Diagnostic::new(&codes::UNPROVED, span, message)
                        .help("there is too much to compare");
                    // Of a note no more is made than a note.
                    unproved.level = Level::Note;
                    out.push(unproved);
                }
            }
        }
    }
    out
}

/// Whether two phases of a context decide all requests alike: the context is compared
/// with itself, each side moved into its phase.
fn same(view: &View<'_>, context: &Context, strict: Phase, loose: Phase) -> Result<bool, TooLarge> {
    let side = || Side { policy: view.policy, context, judge: &view.judge };
    let compare = Compare { old: side(), new: side(), interest: |a, b| a != b, samples: 1 };
    compare.phases_agree(strict, loose)
}
