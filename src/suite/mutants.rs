//! Which changes of the rules no test notices.
//!
//! A mutant is the policy with one small change: a rule taken out or turned round, a set
//! of permissions or a pattern made a little wider or narrower. Each is compiled and put
//! to the tests. One that decides every request as the policy does cannot be noticed; of
//! the others, those under which every test still passes are reported, each with a request
//! that would notice it.

use super::coverage::own;
use super::{Verdict, run};
use crate::compare::{Compare, Side};
use crate::hir::{Context, Fields, Policy, Test};
use crate::limits::{MAX_MUTANT_STATES, MAX_MUTANTS, MAX_PRODUCT_STATES};
use crate::request::{Judge, Request};
use crate::source::{SourceMap, Span, Spanned};
use crate::syntax::ast::PatternKind;
use crate::table::{self, Options};
use mero_runtime::{Effect, Permission, Phase};
use std::collections::BTreeMap;

/// One small change of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// What is changed.
    pub span: Span,
    /// How.
    pub change: Change,
    /// The same in words.
    pub what: String,
}

/// How a statement is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Taken out.
    Drop,
    /// It does this instead.
    Effect(Effect),
    /// It holds for these permissions instead.
    Set(Permission),
    /// It matches this instead.
    Pattern(String),
    /// It does, or does not, hold in `plan`.
    Readonly(bool),
}

/// Survivors for which a request is looked for: who has more has other worries.
const MOST_TOLD: usize = 60;

/// A mutant that no test notices.
#[derive(Clone, Debug)]
pub struct Survivor {
    /// The change.
    pub mutant: Mutant,
    /// A request that the mutant answers otherwise: a test of it would notice. None if
    /// none could be found, or there are many survivors.
    pub request: Option<Request>,
}

/// What became of all mutants.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Some test failed.
    pub noticed: usize,
    /// It decides as the policy does.
    pub equal: usize,
    /// It is no policy, or outgrows a table.
    pub unfit: usize,
    /// There were too many.
    pub left: usize,
    /// No test failed.
    pub survivors: Vec<Survivor>,
}

/// One context by itself, which decides as it does in the whole policy.
struct Alone {
    policy: Policy,
    table: Vec<u8>,
    /// Which of its expectations hold.
    passed: Vec<bool>,
}

/// Tries all mutants of a policy's own statements, in the order of their places; at most
/// [`MAX_MUTANTS`], and as long as their tables have at most [`MAX_MUTANT_STATES`] states
/// together. `progress` is told how many are done, of how many.
#[must_use]
pub fn mutants(policy: &Policy, progress: &mut dyn FnMut(usize, usize)) -> Report {
    let contexts = (0..policy.contexts.len()).map(|index| alone(policy, index));
    let contexts = contexts.collect::<Vec<_>>();
    // A rule of a profile is changed in all contexts that use it.
    let mut all: BTreeMap<(Span, String), (Mutant, Vec<usize>)> = BTreeMap::new();
    for (index, context) in contexts.iter().enumerate() {
        for mutant in context.iter().flat_map(|c| list(&c.policy)) {
            if own(policy, mutant.span) {
                let key = (mutant.span, mutant.what.clone());
                all.entry(key).or_insert_with(|| (mutant, Vec::new())).1.push(index);
            }
        }
    }
    let mut report = Report::default();
    let mut states = 0usize;
    let total = all.len().min(MAX_MUTANTS);
    for (done, (mutant, within)) in all.into_values().enumerate() {
        if done >= MAX_MUTANTS || states > MAX_MUTANT_STATES {
            report.left = report.left.saturating_add(1);
            continue;
        }
        progress(done, total);
        let (mut fate, mut request) = (Fate::Equal, None);
        for context in within.iter().filter_map(|i| contexts.get(*i)?.as_ref()) {
            let tell = report.survivors.len() < MOST_TOLD;
            let (next, cost, would) = try_one(context, &mutant, tell);
            states = states.saturating_add(cost);
            fate = fate.max(next);
            request = request.or(would);
        }
        let count = match fate {
            Fate::Equal => &mut report.equal,
            Fate::Unfit => &mut report.unfit,
            Fate::Noticed => &mut report.noticed,
            Fate::Survives => {
                report.survivors.push(Survivor { mutant, request });
                continue;
            }
        };
        *count = count.saturating_add(1);
    }
    report
}

/// What becomes of a mutant; over several contexts the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Equal,
    Unfit,
    Survives,
    Noticed,
}

fn alone(policy: &Policy, index: usize) -> Option<Alone> {
    let mut context = policy.contexts.get(index)?.clone();
    context.narrows = None;
    let tests = policy.tests.iter().filter(|t| t.context == index);
    let asserts = policy.asserts.iter().filter(|a| a.context == index).cloned();
    let policy = Policy {
        params: policy.params.clone(),
        contexts: vec![context],
        tools: policy.tools.clone(),
        managers: Vec::new(),
        tests: tests.map(|t| Test { context: 0, ..t.clone() }).collect(),
        asserts: asserts.map(|a| crate::hir::Assert { context: 0, ..a }).collect(),
        sources: SourceMap::default(),
    };
    let table = table::compile(&policy, Options::default()).ok()?.bytes;
    let passed = passed(&policy, &table)?;
    Some(Alone { policy, table, passed })
}

fn passed(policy: &Policy, table: &[u8]) -> Option<Vec<bool>> {
    let judge = Judge::new(table, policy).ok()?;
    Some(run(policy, &judge).iter().map(|o| o.verdict == Verdict::Passed).collect())
}

/// What becomes of a mutant in one context, how many states it took to find out, and the
/// request that would notice it.
fn try_one(context: &Alone, mutant: &Mutant, tell: bool) -> (Fate, usize, Option<Request>) {
    let mut policy = context.policy.clone();
    apply(&mut policy, mutant);
    let Ok(compiled) = table::compile(&policy, Options::default()) else {
        return (Fate::Unfit, MAX_PRODUCT_STATES, None);
    };
    let cost = compiled.stats.states;
    if compiled.bytes == context.table {
        return (Fate::Equal, cost, None);
    }
    let Some(now) = passed(&policy, &compiled.bytes) else {
        return (Fate::Unfit, cost, None);
    };
    let noticed = context.passed.iter().zip(&now).any(|(before, now)| *before && !now);
    if noticed {
        return (Fate::Noticed, cost, None);
    }
    if !tell {
        return (Fate::Survives, cost, None);
    }
    let (would, equal) = telling(context, &policy, &compiled.bytes).unwrap_or((None, false));
    (if equal { Fate::Equal } else { Fate::Survives }, cost, would)
}

/// A request that a mutant answers otherwise, by its effect if there is such; and whether
/// it is proved that there is none.
fn telling(context: &Alone, mutant: &Policy, table: &[u8]) -> Option<(Option<Request>, bool)> {
    let (before, after) =
        (Judge::new(&context.table, &context.policy).ok()?, Judge::new(table, mutant).ok()?);
    let side = |policy, judge| -> Option<Side<'_>> {
        let policy: &Policy = policy;
        Some(Side { policy, context: policy.contexts.first()?, judge })
    };
    let comparison = Compare {
        old: side(&context.policy, &before)?,
        new: side(mutant, &after)?,
        interest: |a, b| a != b,
        samples: 1,
    }
    .run();
    let first = comparison
        .changes
        .iter()
        .min_by_key(|c| (c.before.0 == c.after.0, c.phase != Phase::Default));
    let name = context.policy.contexts.first().map_or("", |c| c.name.as_str());
    let request = first.and_then(|c| c.ask.request(name, c.phase));
    Some((request, comparison.changes.is_empty() && comparison.unproved.is_empty()))
}

/// All mutants of a policy of one context.
fn list(policy: &Policy) -> Vec<Mutant> {
    let mut out = Vec::new();
    for context in &policy.contexts {
        of_context(&mut out, context);
    }
    for tool in &policy.tools {
        out.extend(tool.requires.iter().map(|key| drop_one(key.span, &key.node)));
    }
    out
}

fn of_context(out: &mut Vec<Mutant>, context: &Context) {
    fields(out, &context.fields);
    paths(out, &context.hide);
    for mount in &context.mounts {
        fields(out, &mount.fields);
        paths(out, &mount.hide);
        for block in &mount.on {
            out.push(Mutant {
                span: block.span,
                change: Change::Drop,
                what: "the block is taken out".to_owned(),
            });
            fields(out, &block.fields);
            // Without its only pattern a block is gone, and that is above.
            let single = block.patterns.len() < 2;
            let before = out.len();
            paths(out, &block.patterns);
            if single && before < out.len() {
                out.remove(before);
            }
        }
    }
    if let Some(commands) = &context.commands {
        for rule in &commands.rules {
            effects(out, rule.span, rule.effect);
            if rule.effect != Effect::Deny {
                let (verb, change) =
                    if rule.readonly { ("taken out", false) } else { ("added", true) };
                out.push(Mutant {
                    span: rule.span,
                    change: Change::Readonly(change),
                    what: format!("`readonly` is {verb}"),
                });
            }
            let text = &rule.pattern.text;
            let other = match rule.pattern.kind {
                PatternKind::Word => match text.strip_suffix(" ...") {
                    Some(shorter) => Some(shorter.to_owned()),
                    None if !text.ends_with("...}") => Some(format!("{text} ...")),
                    None => None,
                },
                PatternKind::Glob => Some(match text.strip_suffix('*') {
                    Some(shorter) => shorter.to_owned(),
                    None => format!("{text}*"),
                }),
                PatternKind::Regex | PatternKind::Text => None,
            };
            out.extend(other.map(|new| pattern(rule.span, text, new)));
            for except in &rule.except {
                out.push(drop_one(except.span, &format!("except {}", except.text)));
            }
        }
        for chosen in [&commands.otherwise, &commands.opaque].into_iter().flatten() {
            turned(out, chosen.span, chosen.node);
        }
        out.extend(commands.env.iter().map(|name| drop_one(name.span, &name.node)));
    }
    if let Some(tools) = &context.tools {
        for rule in &tools.rules {
            effects(out, rule.pattern.span, rule.effect);
            let text = &rule.pattern.node;
            let new = match text.strip_suffix('*') {
                Some("") => None,
                Some(shorter) => Some(shorter.to_owned()),
                None => Some(format!("{text}*")),
            };
            out.extend(new.map(|new| pattern(rule.pattern.span, text, new)));
        }
        if let Some(chosen) = &tools.otherwise {
            turned(out, chosen.span, chosen.node);
        }
    }
    out.extend(context.grants.iter().map(|key| drop_one(key.span, &key.node)));
}

fn drop_one(span: Span, text: &str) -> Mutant {
    Mutant { span, change: Change::Drop, what: format!("`{text}` is taken out") }
}

fn pattern(span: Span, old: &str, new: String) -> Mutant {
    Mutant { span, what: format!("`{old}` becomes `{new}`"), change: Change::Pattern(new) }
}

/// The effect turned into each of the others.
fn turned(out: &mut Vec<Mutant>, span: Span, effect: Effect) {
    for other in [Effect::Deny, Effect::Ask, Effect::Allow] {
        if other != effect {
            let what = format!("`{effect}` becomes `{other}`");
            out.push(Mutant { span, change: Change::Effect(other), what });
        }
    }
}

/// A rule taken out, or with another effect.
fn effects(out: &mut Vec<Mutant>, span: Span, effect: Effect) {
    out.push(Mutant { span, change: Change::Drop, what: "the rule is taken out".to_owned() });
    turned(out, span, effect);
}

/// Each permission added where it lacks, and taken out where it is.
fn fields(out: &mut Vec<Mutant>, fields: &Fields) {
    for (keyword, setting) in fields.iter() {
        let span = setting.span;
        out.push(Mutant { span, change: Change::Drop, what: format!("`{keyword}` is taken out") });
        for (_, permission) in Permission::NAMES {
            let set = setting.set ^ permission;
            let what = format!("`{keyword} {}` becomes `{keyword} {set}`", setting.set);
            out.push(Mutant { span, change: Change::Set(set), what });
        }
    }
}

/// Path patterns taken out, wider and narrower.
fn paths(out: &mut Vec<Mutant>, patterns: &[Spanned<String>]) {
    for Spanned { node: text, span } in patterns {
        out.push(drop_one(*span, text));
        let (sign, plain) = match text.strip_prefix('!') {
            Some(rest) => ("!", rest),
            None => ("", text.as_str()),
        };
        let body = plain.strip_suffix('/').unwrap_or(plain);
        let anchored = body.strip_prefix('/');
        if anchored.unwrap_or(body).contains('/') {
            // Anchored by a slash inside it, whichever way.
        } else if let Some(free) = anchored {
            let tail = plain.strip_prefix('/').unwrap_or(free);
            out.push(pattern(*span, text, format!("{sign}{tail}")));
        } else {
            out.push(pattern(*span, text, format!("{sign}/{plain}")));
        }
        if body.len() < plain.len() && !body.is_empty() {
            out.push(pattern(*span, text, format!("{sign}{body}")));
        }
    }
}

/// Makes the change, at every statement of the mutant's place.
fn apply(policy: &mut Policy, mutant: &Mutant) {
    let at = |span: Span| span == mutant.span;
    for tool in &mut policy.tools {
        in_list(&mut tool.requires, mutant);
    }
    for context in &mut policy.contexts {
        in_fields(&mut context.fields, mutant);
        in_list(&mut context.hide, mutant);
        in_list(&mut context.grants, mutant);
        for mount in &mut context.mounts {
            in_fields(&mut mount.fields, mutant);
            in_list(&mut mount.hide, mutant);
            mount.on.retain(|b| !at(b.span));
            for block in &mut mount.on {
                in_fields(&mut block.fields, mutant);
                in_list(&mut block.patterns, mutant);
            }
        }
        if let Some(commands) = &mut context.commands {
            in_list(&mut commands.env, mutant);
            for chosen in [&mut commands.otherwise, &mut commands.opaque].into_iter().flatten() {
                if let (true, Change::Effect(effect)) = (at(chosen.span), &mutant.change) {
                    chosen.node = *effect;
                }
            }
            commands.rules.retain(|r| !(at(r.span) && mutant.change == Change::Drop));
            for rule in &mut commands.rules {
                rule.except.retain(|p| !at(p.span));
                match &mutant.change {
                    _ if !at(rule.span) => {}
                    Change::Effect(effect) => rule.effect = *effect,
                    Change::Pattern(text) => rule.pattern.text.clone_from(text),
                    Change::Readonly(readonly) => rule.readonly = *readonly,
                    Change::Drop | Change::Set(_) => {}
                }
                // A denial holds in every phase anyway.
                rule.readonly &= rule.effect != Effect::Deny;
            }
        }
        if let Some(tools) = &mut context.tools {
            if let (Some(chosen), Change::Effect(effect)) = (&mut tools.otherwise, &mutant.change)
                && at(chosen.span)
            {
                chosen.node = *effect;
            }
            tools.rules.retain(|r| !(at(r.pattern.span) && mutant.change == Change::Drop));
            for rule in tools.rules.iter_mut().filter(|r| at(r.pattern.span)) {
                match &mutant.change {
                    Change::Effect(effect) => rule.effect = *effect,
                    Change::Pattern(text) => rule.pattern.node.clone_from(text),
                    _ => {}
                }
            }
        }
    }
}

fn in_list(list: &mut Vec<Spanned<String>>, mutant: &Mutant) {
    match &mutant.change {
        Change::Drop => list.retain(|p| p.span != mutant.span),
        Change::Pattern(text) => {
            list.iter_mut().filter(|p| p.span == mutant.span).for_each(|p| p.node.clone_from(text));
        }
        _ => {}
    }
}

fn in_fields(fields: &mut Fields, mutant: &Mutant) {
    for field in [&mut fields.allow, &mut fields.ask, &mut fields.deny] {
        match (&mut *field, &mutant.change) {
            (Some(setting), _) if setting.span != mutant.span => {}
            (Some(_), Change::Drop) => *field = None,
            (Some(setting), Change::Set(set)) => setting.set = *set,
            _ => {}
        }
    }
}
