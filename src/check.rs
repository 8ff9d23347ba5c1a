//! Findings on a resolved policy, one rule a file.
//!
//! A rule takes the whole policy and gives its findings. Rules are independent;
//! what they share (reading patterns, inheritance) they call, so that a finding
//! and the compiled decision cannot differ.

mod ask_without_allow;
mod command_fates;
mod contradiction;
mod declared_tools;
mod fate;
mod idle;
mod narrows;
mod overlap;
mod path_fates;
mod patterns;
mod phases;
mod powerless_mount;
mod security;
mod tests;
mod tool_fates;

use crate::analysis::grounds::Grounds;
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::Policy;
use crate::request::Judge;
use crate::table;

/// Patterns that cannot be read. Each stands by itself, so they are judged
/// whatever else is wrong.
#[must_use]
pub fn patterns(policy: &Policy) -> Vec<Diagnostic> {
    patterns::check(policy)
}

/// What every rule may look at.
pub(crate) struct View<'p> {
    /// The policy, without errors.
    pub(crate) policy: &'p Policy,
    /// Its table, to confirm a witness.
    pub(crate) judge: Judge<'p>,
    /// What questions about each context share.
    grounds: Vec<Grounds<'p>>,
    /// What becomes of each statement.
    fates: fate::Fates,
}

/// Runs all rules on a policy without errors.
///
/// # Errors
/// What keeps the policy from being compiled: then nothing can be said of its
/// decisions.
pub fn run(policy: &Policy) -> Result<Report, Box<Diagnostic>> {
    let compiled = table::compile(policy, table::Options::default())?;
    let mut out = Vec::new();
    let Ok(judge) = Judge::new(&compiled.bytes, policy) else { return Ok(Report::default()) };
    let grounds = Grounds::of(policy);
    let fates = fate::Fates::of(policy, &grounds, &judge);
    let view = View { policy, judge, grounds, fates };
    for check in RULES {
        out.extend(check(&view));
    }
    // What contradicts another rule, or asks in vain, needs no second word.
    let first = [codes::CONTRADICTION.id, codes::ASK_WITHOUT_ALLOW.id];
    let spoken = out.iter().filter(|d| first.contains(&d.code.id)).flat_map(|d| {
        let labels = d.labels.iter().map(|l| l.span);
        labels.chain([d.primary.span]).collect::<Vec<_>>()
    });
    let spoken = spoken.collect();
    out.extend(idle::check(&view, &spoken));
    out.extend(idle::unproved(&view));
    let proved = proved(policy, &out);
    let unproved = out.iter().filter(|d| d.code.id == codes::UNPROVED.id);
    let unproved = unproved.map(|d| d.message.clone()).collect();
    Ok(Report { findings: out, proved, unproved })
}

/// What the rules have to say.
#[derive(Debug, Default)]
pub struct Report {
    /// In no order.
    pub findings: Vec<Diagnostic>,
    /// Claims of the policy that hold for every request.
    pub proved: Vec<String>,
    /// Questions that outgrew their budget, whether they are shown or not.
    pub unproved: Vec<String>,
}

/// Claims about which nothing is found, neither that they fail nor that they could not be
/// proved.
fn proved(policy: &Policy, found: &[Diagnostic]) -> Vec<String> {
    let silent = |span| !found.iter().any(|d| d.primary.span == span);
    let mut out = Vec::new();
    let of_phases = |d: &Diagnostic| {
        d.code.id == codes::PHASE_ORDER.id
            || (d.code.id == codes::UNPROVED.id && d.message.contains("the order of the phases"))
    };
    if !found.iter().any(of_phases) {
        out.push("phase-monotonicity".to_owned());
    }
    for context in &policy.contexts {
        let wider = context.narrows.as_ref().filter(|n| silent(n.span));
        let wider = wider.and_then(|n| policy.contexts.get(n.node));
        out.extend(wider.map(|w| format!("{} narrows {}", context.name, w.name)));
    }
    for assert in policy.asserts.iter().filter(|a| silent(a.span)) {
        let context = policy.contexts.get(assert.context).map_or("", |c| c.name.as_str());
        out.push(format!("assert {context} {}", assert.text()));
    }
    out
}

/// Rules of their own, in no order: findings are sorted by place.
const RULES: &[fn(&View<'_>) -> Vec<Diagnostic>] = &[
    |v| ask_without_allow::check(v.policy),
    |v| contradiction::fields(v.policy),
    |v| contradiction::rules(v.policy),
    declared_tools::impossible,
    declared_tools::unused,
    declared_tools::unmatched,
    narrows::check,
    overlap::check,
    phases::order,
    phases::idle,
    tests::failed,
    tests::untested,
    security::check,
];
