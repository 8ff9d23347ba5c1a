//! The fates of command rules and their exceptions.

use super::fate::{Fate, Fates, Thing, common, cover, places, usual_phase};
use crate::analysis::BUDGET;
use crate::analysis::commands::{
    Alphabet, Class, Hit, Outcomes, Rule, Rules, Sees, Tally, Unread, decide, find,
};
use crate::automata::{Dfa, TooLarge, intersect};
use crate::hir::{CommandRule, Commands, Context};
use crate::limits::MAX_PRODUCT_STATES;
use crate::request::{Ask, Judge};
use crate::source::{Span, Spanned};
use crate::syntax::ast::PatternKind;
use mero_runtime::{Effect, Phase};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Rules of a context that are counted, and what those that are not may add.
struct Part<'p> {
    rules: Rules<'p>,
    perhaps: BTreeSet<Tally>,
}

impl<'p> Part<'p> {
    /// `some` are the rules of `all` that are counted.
    fn new(
        some: &'p Commands,
        all: &Rules<'_>,
        counted: impl Fn(&Rule<'_>) -> bool,
        alphabet: &Alphabet,
    ) -> Result<Part<'p>, Unread> {
        let mut perhaps = BTreeSet::from([Tally::default()]);
        for rule in all.rules.iter().filter(|r| !counted(r)) {
            for hit in [Hit::Refused, Hit::Ask, Hit::Full] {
                let more = perhaps.iter().map(|t| t.and(rule.tally(hit))).collect::<Vec<_>>();
                perhaps.extend(more);
            }
        }
        Ok(Part { rules: Rules::new(Some(some), alphabet, 0)?, perhaps })
    }
}

/// All that is asked about one context's rules in one class of phases.
struct Block<'p> {
    context: &'p Context,
    commands: &'p Commands,
    phases: Vec<Phase>,
    alphabet: &'p Alphabet,
    rules: &'p Rules<'p>,
    /// The rules that a vector decides.
    vectors: &'p Part<'p>,
    /// The rules that a text decides.
    texts: &'p Part<'p>,
    /// Ordinary commands first: witnesses are to be read. Then all, then those that may be
    /// allowed where no rule applies.
    domains: [Dfa<bool>; 3],
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
    let mut seen: HashMap<(Effect, bool, bool, Dfa<Hit>), Span> = HashMap::new();
    let mut single = commands.clone();
    single.rules.clear();
    for rule in &commands.rules {
        // Whole scripts are searched for texts only.
        let words = rule.pattern.kind == PatternKind::Word;
        let key = (rule.effect, rule.readonly, words, alphabet.hits(rule, 0)?);
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
    let outcomes = Outcomes::new(&alphabet, &[context]);
    let mut classes = context.phases.iter().map(|&p| Class::of(p)).collect::<Vec<_>>();
    classes.sort_unstable();
    classes.dedup();
    let rules = Rules::new(Some(&single), &alphabet, 0)?;
    let only = |counted: &dyn Fn(&Rule<'_>) -> bool| {
        let kept = rules.rules.iter().filter(|r| counted(r)).map(|r| r.rule.clone());
        Commands { rules: kept.collect(), ..single.clone() }
    };
    let is_vector = |r: &Rule<'_>| r.sees.is_vector();
    let is_text = |r: &Rule<'_>| r.sees.is_text();
    let (of_vectors, of_texts) = (only(&is_vector), only(&is_text));
    let vectors = Part::new(&of_vectors, &rules, is_vector, &alphabet)?;
    let texts = Part::new(&of_texts, &rules, is_text, &alphabet)?;
    let mut blocks = Vec::new();
    for class in classes {
        let letters = alphabet.possible(class, outcomes.letters(class));
        let of_class = |p: &Phase| Class::of(*p) == class;
        blocks.push(Block {
            context,
            commands: &single,
            phases: context.phases.iter().copied().filter(of_class).collect(),
            alphabet: &alphabet,
            rules: &rules,
            vectors: &vectors,
            texts: &texts,
            domains: [
                alphabet.domain(letters, true)?,
                alphabet.domain(letters, false)?,
                intersect(
                    &alphabet.domain(letters, false)?,
                    &alphabet.transparent(commands)?,
                    MAX_PRODUCT_STATES,
                )?,
            ],
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
            // Words and very blanks cannot be compared on vectors.
            let alone = CommandRule { except: vec![except.clone()], ..rule.clone() };
            let dead = alphabet.sees(&alone)? != Sees::Mixed && common(&left, &carved)?.is_none();
            let fate = if dead { Fate::Dead } else { Fate::Decides };
            fates.add(except.span, Thing::Exception, fate);
        }
    }
    Ok(())
}

/// What a search has found out about a rule.
#[derive(Default)]
struct Seen {
    applies: bool,
    refuses: bool,
    reason_only: bool,
    strongest: bool,
}

/// Whether some decision would be another without a rule.
fn decides(block: &Block<'_>, rule: &Rule<'_>, seen: &mut Seen) -> Result<bool, TooLarge> {
    let deny = rule.rule.effect == Effect::Deny;
    let part = if rule.sees.is_vector() { block.vectors } else { block.texts };
    for (number, domain) in block.domains.iter().enumerate() {
        let transparent = number == 2;
        let mut decides = false;
        let mut known = HashSet::new();
        find(
            &rule.hits,
            |h| *h != Hit::No,
            domain,
            &[&part.rules],
            BUDGET,
            |hit, tallies| {
                let Some(&with) = tallies.first() else { return false };
                if !known.insert((*hit, with)) {
                    return false;
                }
                let own = rule.tally(*hit);
                let without = with.without(own);
                seen.applies |= *hit != Hit::Refused;
                seen.strongest |= *hit != Hit::Refused
                    && with.deny == 0
                    && (rule.rule.effect == Effect::Ask || with.ask == 0);
                for &phase in &block.phases {
                    for &more in &part.perhaps {
                        let now = decide(Some(block.commands), with.and(more), phase);
                        let then = decide(Some(block.commands), without.and(more), phase);
                        // That a `deny` rule matches is an answer by itself.
                        let effect = now.0 != then.0;
                        let reason = !deny && now.1 != then.1;
                        // A rule that only ever gives a path's reason never applies.
                        seen.refuses |= reason && *hit == Hit::Refused;
                        decides |= effect || (reason && *hit != Hit::Refused);
                        seen.reason_only |= now != then;
                    }
                }
                // What a runner would run counts where no rule applies to it.
                decides |= transparent && with.any() != without.any();
                decides
            },
        )?;
        if decides {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether some command may be allowed or asked for.
fn grants(block: &Block<'_>) -> bool {
    let some = |e: &Option<Spanned<Effect>>| e.as_ref().is_some_and(|e| e.node != Effect::Deny);
    some(&block.commands.otherwise)
        || some(&block.commands.opaque)
        || block.phases.contains(&Phase::BypassPermissions)
        || block.commands.rules.iter().any(|r| r.effect != Effect::Deny)
}

/// Whether a text that is denied may stand in a script, in a comment or across commands
/// that are allowed, where no other text is denied.
fn denies_scripts(block: &Block<'_>, rule: &Rule<'_>) -> Result<bool, TooLarge> {
    let all = &block.domains[1];
    let found = find(
        &rule.hits,
        |h| *h != Hit::No,
        all,
        &[&block.texts.rules],
        BUDGET,
        |_, t| t.iter().all(|t| t.deny < 2),
    )?;
    Ok(found.is_some())
}

fn fate(blocks: &[Block<'_>], index: usize, judge: &Judge<'_>) -> Result<Fate, TooLarge> {
    let mut seen = Seen::default();
    let mut text_denial = false;
    for block in blocks {
        let Some(rule) = block.rules.rules.get(index) else { return Ok(Fate::Decides) };
        text_denial = rule.sees.is_text() && rule.rule.effect == Effect::Deny;
        if rule.sees == Sees::Mixed
            || (text_denial && grants(block) && denies_scripts(block, rule)?)
            || decides(block, rule, &mut seen)?
        {
            return Ok(Fate::Decides);
        }
    }
    let Seen { applies, refuses, reason_only, strongest } = seen;
    if applies && refuses {
        return Ok(Fate::Decides);
    }
    let Some(block) = blocks.first() else { return Ok(Fate::Decides) };
    let Some(rule) = block.rules.rules.get(index) else { return Ok(Fate::Decides) };
    if rule.rule.effect == Effect::Deny {
        return Ok(if reason_only {
            idle_denial(block, index, judge)
        } else {
            Fate::Redundant {
                by: blamed(block, index, |r| {
                    r.rule.effect == Effect::Deny && (!text_denial || r.sees.is_text())
                }),
            }
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
        &[block.rules],
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
    let language = |r: &Rule<'_>| r.hits.map(|&h| matches!(h, Hit::Ask | Hit::Full));
    let others = block.rules.rules.iter().enumerate().filter(|(i, r)| *i != index && of(r));
    let (picked, _) = cover(
        &language(rule),
        &block.domains[1],
        &others.map(|(_, r)| r).collect::<Vec<_>>(),
        |r, string| r.hit(string) > Hit::Refused,
        language,
        |r| r.rule.effect != rule.rule.effect,
    );
    places(picked.into_iter().map(|r| r.rule.span))
}

/// A command that a rule matches.
fn example(block: &Block<'_>, rule: &Rule<'_>) -> Option<Vec<Vec<u8>>> {
    let matches = rule.hits.map(|&h| h > Hit::Refused);
    let strings = block.domains.iter().find_map(|d| common(&matches, d).ok().flatten());
    strings.map(|s| block.alphabet.words(&s))
}
