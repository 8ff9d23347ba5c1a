//! Translation validation: whether a table answers as the policy that it was compiled
//! from.
//!
//! The searches of [`analysis`](crate::analysis) visit every kind of decision that a
//! policy makes; one request of each is put to the table and to the oracle, which reads
//! the policy itself, and the two must agree. So a fault of the compiler shows when a
//! table is made, not when it is used. Requests are tried in all admitted phases. Where a
//! search outgrows its budget, what it has found so far is compared.

use crate::analysis::commands::{Alphabet, Rules, Tally, visit};
use crate::analysis::{paths, tools};
use crate::automata::Dfa;
use crate::compare::path;
use crate::hir::{Context, Policy};
use crate::oracle::{Oracle, joined_text};
use crate::request::{Ask, Judge};
use mero_runtime::{Permission, Phase};
use std::collections::BTreeSet;

/// States that one search may visit: this runs whenever something is compiled.
const BUDGET: usize = 60_000;

/// Requests of one sort in one context.
const MOST: usize = 2_000;

/// Compares a table with its policy on a request of every kind; gives how many requests
/// were compared.
///
/// # Errors
/// A request on which they differ, or why the table cannot be read, in a sentence.
pub fn validate(policy: &Policy, table: &[u8]) -> Result<usize, String> {
    let judge =
        Judge::new(table, policy).map_err(|e| format!("the table just written is refused: {e}"))?;
    let mut count = 0_usize;
    for context in &policy.contexts {
        let mut asks = Permission::NAMES.map(|(_, p)| Ask::Permission(p)).to_vec();
        asks.extend(of_paths(context));
        asks.extend(of_commands(context));
        asks.extend(of_tools(policy, context));
        for ask in &asks {
            for phase in Phase::ALL {
                compared(policy, context, &judge, phase, ask)?;
                count = count.saturating_add(1);
            }
        }
    }
    Ok(count)
}

fn compared(
    policy: &Policy,
    context: &Context,
    judge: &Judge<'_>,
    phase: Phase,
    ask: &Ask,
) -> Result<(), String> {
    let oracle = Oracle::new(policy, context, judge.hosts(), phase);
    let right = match ask {
        Ask::Path { path, permissions, kind } => oracle.path(path, *permissions, *kind),
        Ask::Permission(permissions) => oracle.permission(*permissions),
        Ask::Argv(argv) => oracle.argv(argv, &joined_text(argv)),
        Ask::Tool { name, requires } => {
            oracle.tool(name, &requires.iter().map(String::as_str).collect::<Vec<_>>())
        }
        Ask::Command(_) => return Ok(()),
    };
    let got = judge.decide(&context.name, phase, ask);
    if got == (right.effect, right.reason) {
        return Ok(());
    }
    Err(format!(
        "in `{}`, phase `{phase}`, the table answers {} ({}) where the policy says {} ({}), on {ask:?}",
        context.name, got.0, got.1, right.effect, right.reason
    ))
}

fn of_paths(context: &Context) -> Vec<Ask> {
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    let mut work = || {
        let alphabet = paths::Alphabet::new(&[context], [])?;
        let model = paths::Model::new(context, &alphabet)?;
        let walker = paths::Virtual::new(&model, &alphabet)?;
        paths::visit(&[&walker], None, &alphabet, BUDGET, |verdicts, string| {
            if verdicts.first().is_some_and(|v| seen.insert(*v)) {
                let string = string();
                out.extend(Permission::NAMES.map(|(_, p)| path(&string, p)));
            }
            out.len() >= MOST
        })
    };
    // What was found before a budget ran out is compared.
    let _ = work();
    out
}

fn of_commands(context: &Context) -> Vec<Ask> {
    let block = context.commands.as_ref();
    let rules = block.map_or(&[][..], |b| &b.rules);
    if rules.is_empty() {
        // All commands are alike.
        return vec![Ask::Argv(vec![b"a".to_vec()])];
    }
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    let patterns = rules.iter().flat_map(|r| std::iter::once(&r.pattern).chain(&r.except));
    let work = || {
        let alphabet = Alphabet::new(patterns.map(|p| (p, 0)))?;
        let rules = Rules::new(block, &alphabet, 0)?;
        let any = Dfa::constant(alphabet.classes(), true);
        // What runners run is beyond the oracle.
        let domain = alphabet.domain(alphabet.letters(), true)?;
        visit(
            &any,
            |&a| a,
            &domain,
            &[&rules],
            BUDGET,
            |_, tallies, string| {
                let tally: Tally = tallies.first().copied().unwrap_or_default();
                if seen.insert(tally) {
                    out.push(Ask::Argv(alphabet.words(&string())));
                }
                out.len() >= MOST
            },
        )?;
        Ok::<(), crate::analysis::commands::Unread>(())
    };
    let _ = work();
    out
}

fn of_tools(policy: &Policy, context: &Context) -> Vec<Ask> {
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    let mut work = || {
        let alphabet = tools::Alphabet::new(&[policy], [])?;
        let names = tools::Names::new(policy, context, &alphabet)?;
        tools::visit(alphabet.names(), &alphabet, &[&names], BUDGET, |found, name| {
            if found.first().is_some_and(|f| seen.insert(*f)) {
                let ask = |name| Ask::Tool { name, requires: Vec::new() };
                out.extend(name().map(ask));
            }
            out.len() >= MOST
        })
    };
    let _ = work();
    out
}
