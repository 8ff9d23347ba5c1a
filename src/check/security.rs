//! Holes: what a policy lets through that its author hardly means.
//!
//! Each rule knows something about programs or files that the language does not: which
//! options run other programs, which files are run later, which secrets have siblings.
//! From that knowledge it makes concrete requests, puts them to the compiled table, and
//! reports only what the table confirms. So a finding can be missed where the knowledge
//! ends, and none is ever wrong about the decision.

mod arbitrary_execution;
mod bare_deny;
mod bypass_admitted;
mod control;
mod dangerous_env;
mod dead_pattern;
mod flat_nesting;
mod fragile_deny;
mod glob_in_host;
mod glued_wildcard;
mod loose_wildcard;
mod matcher;
mod open_otherwise;
mod paths;
mod pattern;
mod programs;
mod removable_control;
mod scene;
mod secret_near_miss;
mod unconfined_context;
mod unguarded_path_argument;
mod writable_control;

use self::scene::Scene;
use super::View;
use crate::diag::Diagnostic;
use std::collections::BTreeSet;

/// Runs all rules on all contexts. A profile's statement is reported once, for the
/// first context in which it is a hole.
pub(super) fn check(view: &View<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    for context in &view.policy.contexts {
        let Some(scene) = Scene::new(view, context) else { continue };
        let found = RULES.iter().flat_map(|rule| rule(&scene));
        out.extend(found.filter(|d| seen.insert((d.code.id, d.primary.span))));
    }
    out
}

const RULES: &[fn(&Scene<'_>) -> Vec<Diagnostic>] = &[
    unconfined_context::check,
    bypass_admitted::check,
    open_otherwise::check,
    arbitrary_execution::check,
    unguarded_path_argument::check,
    glued_wildcard::check,
    loose_wildcard::check,
    bare_deny::check,
    fragile_deny::check,
    dead_pattern::check,
    writable_control::check,
    removable_control::check,
    secret_near_miss::check,
    dangerous_env::check,
    glob_in_host::check,
    flat_nesting::check,
];
