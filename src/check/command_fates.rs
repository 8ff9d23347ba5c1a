//! The fates of command rules and their exceptions.

use super::fate::{Candidate, Fate, Fates, Thing, common, cover, usual_phase};
use crate::analysis::BUDGET;
use crate::analysis::commands::{
    Alphabet, Class, Hit, Outcomes, Rule, Rules, Tally, Unread, decide, find,
};
use crate::automata::{Dfa, TooLarge};
use crate::hir::{CommandRule, Commands, Context};
use crate::request::{Ask, Judge};
use crate::source::Span;
use mero_runtime::{Effect, Phase};
use std::collections::HashMap;

/// All that is asked about one context's rules in one class of phases.
struct Block<'p> {
    context: &'p Context,
    commands: &'p Commands,
    phases: Vec<Phase>,
    alphabet: &'p Alphabet,
    rules: Rules<'p>,
    /// Ordinary commands first: witnesses are to be read.
    domains: [Dfa<bool>; 2],
}

pub(super) fn collect(context: &Context, judge: &Judge<'_>, fates: &mut Fates) {
    let Some(commands) = &context.commands else { return };
    if let Err(error) = fates_of(context, commands, judge, fates) {
        let what = format!("which command rules of `{}` decide: {error}", context.name);
        fates.unproved.push((context.span, what));
    }
}

fn fates_of(
    context: &Context,
    commands: &Commands,
    judge: &Judge<'_>,
    fates: &mut Fates,
) -> Result<(), Unread> {
    let patterns = |r: &'_ CommandRule| {
        std::iter::once(&r.pattern).chain(&r.except).map(|p| (p.clone(), 0)).collect::<Vec<_>>()
    };
    let all = commands.rules.iter().flat_map(patterns).collect::<Vec<_>>();
    let alphabet = Alphabet::new(all.iter().map(|(p, s)| (p, *s)))?;
    exceptions(commands, &alphabet, fates)?;
    // Rules with one language and one effect count once.
    let mut seen: HashMap<(Effect, bool, Dfa<Hit>), Span> = HashMap::new();
    let mut single = commands.clone();
    single.rules.clear();
    for rule in &commands.rules {
        let key = (rule.effect, rule.readonly, alphabet.hits(rule, 0)?);
        match seen.get(&key) {
            // A rule of a profile that is used twice is one rule.
            Some(&of) if of == rule.span => {}
            Some(&of) => fates.add(rule.span, Thing::Command, Fate::Duplicate { of }),
            None => {
                seen.insert(key, rule.span);
                single.rules.push(rule.clone());
            }
        }
    }
    let real = Outcomes::new(&alphabet, &[context]).letters();
    let mut classes = context.phases.iter().map(|&p| Class::of(p)).collect::<Vec<_>>();
    classes.sort_unstable();
    classes.dedup();
    let mut blocks = Vec::new();
    for class in classes {
        let letters = alphabet.possible(class, real);
        let of_class = |p: &Phase| Class::of(*p) == class;
        blocks.push(Block {
            context,
            commands: &single,
            phases: context.phases.iter().copied().filter(of_class).collect(),
            alphabet: &alphabet,
            rules: Rules::new(Some(&single), &alphabet, 0)?,
            domains: [alphabet.domain(letters, true)?, alphabet.domain(letters, false)?],
        });
    }
    for index in 0..single.rules.len() {
        let fate = fate(&blocks, index, judge);
        let span = single.rules.get(index).map_or(context.span, |r| r.span);
        match fate {
            Ok(fate) => fates.add(span, Thing::Command, fate),
            Err(error) => {
                fates.add(span, Thing::Command, Fate::Decides);
                fates.unproved.push((span, format!("whether this rule ever decides: {error}")));
            }
        }
    }
    Ok(())
}

fn exceptions(commands: &Commands, alphabet: &Alphabet, fates: &mut Fates) -> Result<(), Unread> {
    for rule in &commands.rules {
        for (index, except) in rule.except.iter().enumerate() {
            let others = rule.except.iter().enumerate().filter(|(i, _)| *i != index);
            let others = others.map(|(_, e)| e.clone()).collect::<Vec<_>>();
            let bare = CommandRule { except: others, ..rule.clone() };
            let left = alphabet.hits(&bare, 0)?.map(|&h| h != Hit::No);
            let carved = alphabet.language(except, &[])?;
            let dead = common(&left, &carved)?.is_none();
            let fate = if dead { Fate::Dead } else { Fate::Decides };
            fates.add(except.span, Thing::Exception, fate);
        }
    }
    Ok(())
}

fn fate(blocks: &[Block<'_>], index: usize, judge: &Judge<'_>) -> Result<Fate, TooLarge> {
    let mut applies = false;
    let mut reason_only = false;
    let mut strongest = false;
    for block in blocks {
        let Some(rule) = block.rules.rules.get(index) else { return Ok(Fate::Decides) };
        let deny = rule.rule.effect == Effect::Deny;
        for (number, domain) in block.domains.iter().enumerate() {
            let runners_too = number == 1;
            let mut decides = false;
            find(
                &rule.hits,
                |h| *h != Hit::No,
                domain,
                &[&block.rules],
                BUDGET,
                |hit, tallies| {
                    let Some(&with) = tallies.first() else { return false };
                    let own = rule.tally(*hit);
                    let without = with.without(own);
                    applies |= *hit != Hit::Refused;
                    strongest |= *hit != Hit::Refused
                        && with.deny == 0
                        && (rule.rule.effect == Effect::Ask || with.ask == 0);
                    for &phase in &block.phases {
                        let now = decide(Some(block.commands), with, phase);
                        let then = decide(Some(block.commands), without, phase);
                        // That a `deny` rule matches is an answer by itself.
                        let effect = now.0 != then.0;
                        decides |= effect || (!deny && now.1 != then.1);
                        reason_only |= now != then;
                    }
                    // What a runner would run counts where no rule applies to it.
                    decides |= runners_too && !deny && with.any() != without.any();
                    decides
                },
            )?;
            if decides {
                return Ok(Fate::Decides);
            }
        }
    }
    let Some(block) = blocks.first() else { return Ok(Fate::Decides) };
    let Some(rule) = block.rules.rules.get(index) else { return Ok(Fate::Decides) };
    if rule.rule.effect == Effect::Deny {
        return Ok(if reason_only {
            idle_denial(block, index, judge)
        } else {
            Fate::Redundant { by: blamed(block, index, |r| r.rule.effect == Effect::Deny) }
        });
    }
    if !applies {
        return Ok(Fate::NeverApplies);
    }
    if strongest {
        let by = blamed(block, index, |_| true);
        return Ok(if by.is_empty() { Fate::SaysNothing } else { Fate::Redundant { by } });
    }
    let by = blamed(block, index, |r| r.rule.effect < rule.rule.effect);
    let witness = example(block, rule).and_then(|argv| {
        let phase = usual_phase(&block.context.phases);
        judge.witness(&block.context.name, phase, &Ask::Argv(argv))
    });
    Ok(Fate::Unreachable { by, witness })
}

/// A `deny` rule none of whose own commands was allowed. It may still keep a runner
/// from running one, or say no where what is opaque is asked for: then it has its use.
fn idle_denial(block: &Block<'_>, index: usize, judge: &Judge<'_>) -> Fate {
    let opaque = block.commands.opaque.as_ref().is_some_and(|o| o.node != Effect::Deny);
    let runner = runner_allowed(block);
    if opaque || runner {
        return Fate::Decides;
    }
    let witness = block.rules.rules.get(index).and_then(|r| example(block, r)).and_then(|argv| {
        let phase = usual_phase(&block.context.phases);
        judge.witness(&block.context.name, phase, &Ask::Argv(argv))
    });
    Fate::DeniesNothing { witness }
}

/// Whether some program that runs others may be run at all.
fn runner_allowed(block: &Block<'_>) -> bool {
    let Ok(runners) = block.alphabet.runners() else { return true };
    let found = find(
        &runners,
        |&r| r,
        &block.domains[1],
        &[&block.rules],
        BUDGET,
        |_, tallies| {
            tallies.iter().any(|t| {
                let granted = Tally { deny: 0, ..*t };
                let allowed =
                    |&p: &Phase| decide(Some(block.commands), granted, p).0 > Effect::Deny;
                block.phases.iter().any(allowed)
            })
        },
    );
    found != Ok(None)
}

/// The rules among `of` that together match what a rule matches.
fn blamed(block: &Block<'_>, index: usize, of: impl Fn(&Rule<'_>) -> bool) -> Vec<Span> {
    let Some(rule) = block.rules.rules.get(index) else { return Vec::new() };
    let matches = |r: &Rule<'_>| r.hits.map(|&h| matches!(h, Hit::Ask | Hit::Full));
    let question = rule.hits.map(|&h| matches!(h, Hit::Ask | Hit::Full));
    let others = block
        .rules
        .rules
        .iter()
        .enumerate()
        .filter(|(i, r)| *i != index && of(r))
        .map(|(_, r)| r)
        .filter(|r| meets(&r.hits, &question))
        .map(|r| (r, matches(r)))
        .collect::<Vec<_>>();
    let candidates = others
        .iter()
        .map(|(r, matches)| Candidate {
            span: r.rule.span,
            matches,
            preferred: r.rule.effect != rule.rule.effect,
        })
        .collect::<Vec<_>>();
    cover(&question, &block.domains[1], &candidates)
}

fn meets(hits: &Dfa<Hit>, question: &Dfa<bool>) -> bool {
    crate::automata::witness::shortest_over_pair(
        hits,
        question,
        |h, &q| q && *h > Hit::Refused,
        BUDGET,
    ) != Ok(None)
}

/// A command that a rule matches.
fn example(block: &Block<'_>, rule: &Rule<'_>) -> Option<Vec<Vec<u8>>> {
    let matches = rule.hits.map(|&h| h > Hit::Refused);
    let strings = block.domains.iter().find_map(|d| common(&matches, d).ok().flatten());
    strings.map(|s| block.alphabet.words(&s))
}
