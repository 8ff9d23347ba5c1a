//! From the trees of all files to a [`Policy`].
//!
//! Items first (names, parameters, tools), then contexts with their profiles
//! spliced in, then managers, tests and assertions, which refer to contexts;
//! last what nothing uses, and the `@allow` annotations, which silence
//! findings of the whole compilation and so are applied by the driver.

use super::context;
use super::host;
use super::scope::{Kind, Scope};
use super::{Action, Assert, Manager, Param, Policy, Setting, Test, TestCase, Tool};
use crate::diag::registry as codes;
use crate::diag::{Diagnostic, Edit, did_you_mean};
use crate::source::{SourceMap, Spanned};
use crate::syntax::ast::{self, ItemKind, Name, TestStatementKind, ToolStatementKind};
use mero_runtime::{Effect, Phase, Reason};

pub use super::scope::Unit;

/// Resolves a whole compilation.
#[must_use]
pub fn resolve(units: &[Unit], sources: &SourceMap) -> (Policy, Vec<Diagnostic>) {
    let scope = Scope::new(units);
    let mut policy = Policy { sources: sources.clone(), ..Policy::default() };
    let items = || units.iter().filter(|u| !u.std).flat_map(|u| &u.tree.items);
    for item in items() {
        match &item.kind {
            ItemKind::Param { name, default } => {
                policy.params.push(param(&scope, name, default.as_ref()))
            }
            ItemKind::Tool { name, body } => policy.tools.push(tool(&scope, name, body)),
            ItemKind::Permission { set, .. } => {
                scope.permissions(set);
            }
            _ => {}
        }
    }
    let params = policy.params.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    let names = items()
        .filter_map(|i| match &i.kind {
            ItemKind::Context { name, .. } => Some(name.node.clone()),
            _ => None,
        })
        .collect::<Vec<_>>();
    for item in items() {
        if let ItemKind::Context { name, narrows, body } = &item.kind {
            let mut context = context::resolve(&scope, &params, item, name, body);
            if let Some(other) = narrows.as_ref().filter(|o| scope.find(Kind::Context, o).is_some())
            {
                let index = names.iter().position(|n| *n == other.node);
                context.narrows = index.map(|i| Spanned::new(i, other.span));
            }
            policy.contexts.push(context);
        }
    }
    let context = |name: &Name| {
        scope.find(Kind::Context, name)?;
        names.iter().position(|n| *n == name.node)
    };
    for item in items() {
        match &item.kind {
            ItemKind::Manager { name, approves } => {
                let approver = context(name);
                let approves = approves.iter().filter_map(context).collect();
                if let Some(index) = approver {
                    policy.managers.push(Manager { context: index, approves, span: item.span });
                }
            }
            ItemKind::Test { context: name, body } => {
                let index = context(name);
                let mut cases = Vec::new();
                test_cases(&scope, body, Phase::Default, &mut cases);
                if let Some(context) = index {
                    policy.tests.push(Test { context, span: item.span, cases });
                }
            }
            ItemKind::Assert(assert) => {
                let phases =
                    assert.phases.iter().filter_map(|p| phase(&scope, p)).collect::<Vec<_>>();
                let action = action(&scope, &assert.action);
                if let Some(index) = context(&assert.context) {
                    let admitted = policy.contexts.get(index).map_or(&[][..], |c| &c.phases);
                    policy.asserts.push(Assert {
                        context: index,
                        quantifier: assert.quantifier.node,
                        effect: assert.effect.as_ref().map(|e| effect(e.node)),
                        action,
                        pattern: assert.pattern.clone(),
                        except: assert.except.clone(),
                        phases: if phases.is_empty() { admitted.to_vec() } else { phases },
                        span: item.span,
                    });
                }
            }
            _ => {}
        }
    }
    unused(&scope, units, sources);
    (policy, scope.diagnostics.into_inner())
}

pub(super) const fn effect(effect: ast::Effect) -> Effect {
    match effect {
        ast::Effect::Allow => Effect::Allow,
        ast::Effect::Ask => Effect::Ask,
        ast::Effect::Deny => Effect::Deny,
    }
}

fn param(scope: &Scope<'_>, name: &Name, default: Option<&Name>) -> Param {
    if let Some(text) = default {
        let whole = text.node.starts_with('/')
            || text.node.starts_with("./")
            || text.node.starts_with('~')
            || text.node == ".";
        let problem = if !whole {
            Some((
                format!("`{}` is no directory that a parameter can stand for", text.node),
                "write an absolute path, `./…` below the policy's base directory, or `~/…`"
                    .to_owned(),
            ))
        } else {
            host::top_level(&text.node, |_| None).err()
        };
        if let Some((message, help)) = problem {
            scope.report(Diagnostic::new(&codes::BAD_HOST, text.span, message).help(help));
        }
    }
    Param { name: name.node.clone(), default: default.map(|d| d.node.clone()), span: name.span }
}

fn tool(scope: &Scope<'_>, name: &Name, body: &[ast::ToolStatement]) -> Tool {
    let mut tool = Tool {
        name: name.node.clone(),
        span: name.span,
        requires: Vec::new(),
        uses: None,
        readonly: false,
        ability: None,
    };
    for statement in body {
        match &statement.kind {
            ToolStatementKind::Requires(keys) => {
                tool.requires.extend(keys.iter().filter(|k| grant_key(scope, k)).cloned());
            }
            ToolStatementKind::Uses(set) => {
                let before = tool.uses.map_or_else(Default::default, |s: Setting| s.set);
                tool.uses =
                    Some(Setting { set: before | scope.permissions(set), span: statement.span });
            }
            ToolStatementKind::Readonly => tool.readonly = true,
            ToolStatementKind::Ability(level) => {
                tool.ability = ability(scope, level).or(tool.ability)
            }
        }
    }
    tool
}

fn ability(scope: &Scope<'_>, level: &Name) -> Option<u8> {
    const LEVELS: [(&str, u8); 5] =
        [("simple", 1), ("basic", 2), ("intermediate", 4), ("proficient", 8), ("advanced", 16)];
    let found = LEVELS.iter().find(|(n, _)| *n == level.node).map(|(_, cost)| *cost);
    if found.is_none() {
        let near = did_you_mean(&level.node, LEVELS.iter().map(|(n, _)| *n));
        scope.report(
            Diagnostic::new(
                &codes::UNDEFINED_NAME,
                level.span,
                format!("there is no ability level `{}`", level.node),
            )
            .help(near.map_or_else(
                || {
                    "levels are `simple`, `basic`, `intermediate`, `proficient`, `advanced`"
                        .to_owned()
                },
                |n| format!("did you mean `{n}`?"),
            )),
        );
    }
    found
}

/// Whether a grant key is `namespace:name`; reports it where not.
pub(super) fn grant_key(scope: &Scope<'_>, key: &Name) -> bool {
    let parts = key.node.split(':').collect::<Vec<_>>();
    let (what, help) = match parts[..] {
        [namespace, name] if !namespace.is_empty() && !name.is_empty() => {
            if key.node.len() <= 255 {
                return true;
            }
            ("is longer than a table holds (255 bytes)", "shorten it".to_owned())
        }
        [bare] => (
            "has no namespace",
            format!("write `core:{bare}`, or your own namespace before the colon"),
        ),
        [_, _] => ("has an empty part", "write `namespace:name`".to_owned()),
        _ => (
            "has more than one colon",
            "write `namespace:name`; dots may stand in the name".to_owned(),
        ),
    };
    scope.report(
        Diagnostic::new(
            &codes::BARE_GRANT,
            key.span,
            format!("the grant key `{}` {what}", key.node),
        )
        .help(help),
    );
    false
}

/// Looks a phase up; reports a miss.
pub(super) fn phase(scope: &Scope<'_>, name: &Name) -> Option<Phase> {
    let found = Phase::parse(&name.node);
    if found.is_none() {
        let near = did_you_mean(&name.node, Phase::ALL.iter().map(|p| p.name()));
        scope.report(
            Diagnostic::new(
                &codes::UNKNOWN_PHASE,
                name.span,
                format!("there is no phase `{}`", name.node),
            )
            .help(near.map_or_else(
                || {
                    "phases are `plan`, `default`, `accept_edits`, `trusted`, `bypass_permissions`"
                        .to_owned()
                },
                |n| format!("did you mean `{n}`?"),
            )),
        );
    }
    found
}

fn action(scope: &Scope<'_>, action: &ast::Action) -> Action {
    match action {
        ast::Action::Path(set) => Action::Path(scope.permissions(set)),
        ast::Action::Run => Action::Run,
        ast::Action::Argv => Action::Argv,
        ast::Action::Tool => Action::Tool,
        ast::Action::Permission(set) => Action::Permission(scope.permissions(set)),
    }
}

fn test_cases(
    scope: &Scope<'_>,
    body: &[ast::TestStatement],
    current: Phase,
    out: &mut Vec<TestCase>,
) {
    for statement in body {
        match &statement.kind {
            TestStatementKind::In { phase: name, body } => {
                let inner = phase(scope, name).unwrap_or(current);
                test_cases(scope, body, inner, out);
            }
            TestStatementKind::Expect { effect: expected, action: asked, args, because } => {
                let reason = because.as_ref().and_then(|name| {
                    let found = Reason::parse(&name.node);
                    if found.is_none() {
                        unknown_reason(scope, name);
                    }
                    found
                });
                let asked = action(scope, asked);
                let case = |args: Vec<String>, span| TestCase {
                    phase: current,
                    effect: effect(expected.node),
                    because: reason,
                    action: asked.clone(),
                    args,
                    span,
                };
                if matches!(asked, Action::Argv | Action::Permission(_)) {
                    out.push(case(args.iter().map(|a| a.node.clone()).collect(), statement.span));
                } else if let [only] = &args[..] {
                    out.push(case(vec![only.node.clone()], statement.span));
                } else {
                    // Each argument is a case of its own, and so is its place.
                    out.extend(args.iter().map(|a| case(vec![a.node.clone()], a.span)));
                }
            }
        }
    }
}

fn unknown_reason(scope: &Scope<'_>, name: &Name) {
    let near = did_you_mean(&name.node, Reason::ALL.iter().map(|r| r.name()));
    scope.report(
        Diagnostic::new(
            &codes::UNDEFINED_NAME,
            name.span,
            format!("there is no reason `{}`", name.node),
        )
        .help(near.map_or_else(
            || format!("reasons are {}", Reason::ALL.map(|r| format!("`{r}`")).join(", ")),
            |n| format!("did you mean `{n}`?"),
        )),
    );
}

/// Reports what is defined and not used.
fn unused(scope: &Scope<'_>, units: &[Unit], sources: &SourceMap) {
    for ((kind, name), definition) in &scope.definitions {
        if definition.std || scope.is_used(*kind, name) {
            continue;
        }
        let (code, help) = match kind {
            Kind::Profile => (
                &codes::UNUSED_PROFILE,
                format!(
                    "no context has `use {name}`: add it where it is meant, or remove the profile"
                ),
            ),
            Kind::Param => (&codes::UNUSED_PARAM, format!("no mount begins with `${name}`")),
            Kind::Permission => (
                &codes::UNUSED_PERMISSION,
                "remove it, or name it in an `allow`, `ask` or `deny`".to_owned(),
            ),
            _ => continue,
        };
        scope.report(
            Diagnostic::new(
                code,
                definition.name,
                format!("the {} `{name}` is not used", kind.noun()),
            )
            .help(help),
        );
    }
    for unit in units {
        for (import, target) in unit.tree.imports.iter().zip(&unit.imports) {
            let Some(target) = target else { continue };
            let mut seen = vec![*target];
            let mut provides = false;
            let mut next = 0usize;
            while let Some(file) = seen.get(next).copied() {
                next = next.saturating_add(1);
                let Some(u) = units.iter().find(|u| u.file == file) else { continue };
                // Contexts, tools and tests take part by themselves.
                provides |= u.tree.items.iter().any(|i| {
                    !matches!(
                        i.kind,
                        ItemKind::Profile { .. }
                            | ItemKind::Param { .. }
                            | ItemKind::Permission { .. }
                    )
                });
                for further in u.imports.iter().flatten() {
                    if !seen.contains(further) {
                        seen.push(*further);
                    }
                }
            }
            provides |= scope
                .definitions
                .iter()
                .any(|((kind, name), d)| seen.contains(&d.file) && scope.is_used(*kind, name));
            if !provides {
                let mut finding = Diagnostic::new(
                    &codes::UNUSED_IMPORT,
                    import.span,
                    format!("nothing that `{}` defines is used", import.path.node),
                )
                .help("remove the import, or use what it provides");
                // What is annotated is there on purpose.
                if import.attributes.allows.is_empty() && import.attributes.doc.is_empty() {
                    let span = sources.whole_lines(import.span);
                    finding.fix.push(Edit { span, text: String::new() });
                }
                scope.report(finding);
            }
        }
    }
}
