//! The fates of tool rules.

use super::fate::{Fate, Fates, Thing, cover, places, usual_phase};
use crate::analysis::BUDGET;
use crate::analysis::tools::{Alphabet, Names, find, tally};
use crate::automata::{Dfa, TooLarge};
use crate::hir::{Context, Policy, ToolRule};
use crate::request::{Ask, Judge};
use crate::source::Span;
use mero_runtime::Effect;
use std::collections::HashMap;

pub(super) fn collect(policy: &Policy, judge: &Judge<'_>, fates: &mut Fates) {
    let alphabet = match Alphabet::new(&[policy], []) {
        Ok(alphabet) => alphabet,
        Err(error) => {
            let span = policy.contexts.first().map(|c| c.span);
            fates.unproved.extend(span.map(|s| (s, format!("which tool rules decide: {error}"))));
            return;
        }
    };
    for context in &policy.contexts {
        if let Err(error) = of_context(policy, context, &alphabet, judge, fates) {
            let what = format!("which tool rules of `{}` decide: {error}", context.name);
            fates.unproved.push((context.span, what));
        }
    }
}

fn of_context(
    policy: &Policy,
    context: &Context,
    alphabet: &Alphabet,
    judge: &Judge<'_>,
    fates: &mut Fates,
) -> Result<(), TooLarge> {
    let Some(tools) = &context.tools else { return Ok(()) };
    let mut seen: HashMap<(Effect, Dfa<bool>), Span> = HashMap::new();
    let mut single = context.clone();
    let mut rules: Vec<ToolRule> = Vec::new();
    for rule in &tools.rules {
        let span = rule.pattern.span;
        match seen.get(&(rule.effect, alphabet.language(&rule.pattern.node)?)) {
            Some(&of) if of == span => {}
            Some(&of) => fates.add(span, Thing::Tool, Fate::Duplicate { of }),
            None => {
                seen.insert((rule.effect, alphabet.language(&rule.pattern.node)?), span);
                rules.push(rule.clone());
            }
        }
    }
    if let Some(tools) = &mut single.tools {
        tools.rules.clone_from(&rules);
    }
    let names = Names::new(policy, &single, alphabet)?;
    for (index, rule) in rules.iter().enumerate() {
        let Some(matches) = names.rules.get(index) else { continue };
        // The last rule that grants keeps all other tools out: without it, and without
        // `otherwise`, they are allowed.
        let grants = |r: &&ToolRule| r.effect != Effect::Deny;
        let last = grants(&rule) && rules.iter().filter(grants).count() == 1;
        if last && tools.otherwise.is_none() {
            fates.add(rule.pattern.span, Thing::Tool, Fate::Decides);
            continue;
        }
        let own = tally(rule.effect);
        let (mut decides, mut reason_only, mut strongest) = (false, false, false);
        find(matches, alphabet, &[&names], BUDGET, |seen| {
            for &(with, tool) in seen {
                let without = with.without(own);
                strongest |= match rule.effect {
                    Effect::Deny => true,
                    Effect::Ask => with.deny == 0,
                    Effect::Allow => with.deny == 0 && with.ask == 0,
                };
                for &phase in &context.phases {
                    let now = names.decide(with, tool, phase);
                    let then = names.decide(without, tool, phase);
                    decides |= now.0 != then.0 || (rule.effect != Effect::Deny && now != then);
                    reason_only |= now != then;
                }
            }
            decides
        })?;
        let others = names.rules.iter().zip(&rules).enumerate().filter(|(i, _)| *i != index);
        let blamed = |weaker_too: bool| {
            let candidates = others.clone().map(|(_, pair)| pair);
            let candidates = candidates.filter(|(_, r)| weaker_too || r.effect < rule.effect);
            let (picked, _) = cover(
                matches,
                alphabet.names(),
                &candidates.collect::<Vec<_>>(),
                |(language, _), string| *language.run(string),
                |(language, _)| language.clone(),
                |(_, r)| r.effect != rule.effect,
            );
            places(picked.into_iter().map(|(_, r)| r.pattern.span))
        };
        let example = || {
            let found = super::fate::common(matches, alphabet.names()).ok().flatten()?;
            let name = String::from_utf8(found).ok()?;
            let phase = usual_phase(&context.phases);
            judge.witness(&context.name, phase, &Ask::Tool { name, requires: Vec::new() })
        };
        let fate = if decides {
            Fate::Decides
        } else if rule.effect == Effect::Deny && reason_only {
            Fate::DeniesNothing { witness: example() }
        } else if strongest {
            let by = blamed(true);
            if by.is_empty() { Fate::SaysNothing } else { Fate::Redundant { by } }
        } else {
            Fate::Unreachable { by: blamed(false), witness: example() }
        };
        fates.add(rule.pattern.span, Thing::Tool, fate);
    }
    Ok(())
}
