//! `bypass-admitted`: in `bypass_permissions`, what is merely not granted is allowed.

use super::scene::{Scene, argv, path};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::request::Ask;
use mero_runtime::{Effect, Permission, Phase};

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let context = scene.context;
    let Some(span) = context.phases_span else { return Vec::new() };
    if !context.phases.contains(&Phase::BypassPermissions) {
        return Vec::new();
    }
    let mut found = Diagnostic::new(
        &codes::BYPASS_ADMITTED,
        span,
        format!("`{}` admits `bypass_permissions`, where whatever is not denied is allowed", context.name),
    )
    .help("take it out of `phases`, and grant what the work needs; `trusted` already answers every question");
    // Something that the phase changes, most telling first.
    let tool = |name: &str| Ask::Tool { name: name.to_owned(), requires: Vec::new() };
    let asks = [
        argv(&["curl", "https://example.com/x", "-o", "x"]),
        argv(&["x"]),
        path("/x", Permission::DELETE),
        path("/x", Permission::WRITE),
        path("/x", Permission::EXECUTE),
        path("/x", Permission::READ),
        tool("shell"),
        tool("x"),
    ];
    let changed = asks.iter().find_map(|ask| {
        let before = scene.decide(ask).0;
        let witness = scene.allowed_in(Phase::BypassPermissions, ask)?;
        (before == Effect::Deny || scene.phase == Phase::BypassPermissions).then_some(witness)
    });
    if let Some(witness) = changed {
        found = found.witness(witness);
    }
    vec![found]
}
