//! Findings on a resolved policy, one rule a file.
//!
//! A rule takes the whole policy and gives its findings. Rules are independent;
//! what they share (reading patterns, inheritance) they call, so that a finding
//! and the compiled decision cannot differ.

mod ask_without_allow;
mod contradiction;
mod patterns;
mod powerless_mount;

use crate::diag::Diagnostic;
use crate::hir::Policy;

/// Patterns that cannot be read. Each stands by itself, so they are judged
/// whatever else is wrong.
#[must_use]
pub fn patterns(policy: &Policy) -> Vec<Diagnostic> {
    patterns::check(policy)
}

/// Runs all rules on a policy without errors.
#[must_use]
pub fn run(policy: &Policy) -> Vec<Diagnostic> {
    let mut out = ask_without_allow::check(policy);
    out.extend(powerless_mount::check(policy));
    out.extend(contradiction::fields(policy));
    out.extend(contradiction::rules(policy));
    out
}
