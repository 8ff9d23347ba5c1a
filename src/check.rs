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

/// Runs all rules. Rules that build automata run only on patterns that can be
/// read.
#[must_use]
pub fn run(policy: &Policy) -> Vec<Diagnostic> {
    let mut out = patterns::check(policy);
    let readable = out.is_empty();
    out.extend(ask_without_allow::check(policy));
    out.extend(powerless_mount::check(policy));
    out.extend(contradiction::fields(policy));
    if readable {
        out.extend(contradiction::rules(policy));
    }
    out
}
