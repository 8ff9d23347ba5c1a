//! The fates of command rules and their exceptions.

use super::fate::{Fate, Fates, Thing, common, cover, places, usual_phase};
use crate::analysis::BUDGET;
use crate::analysis::commands::{
    Alphabet, Class, Hit, Outcomes, Rule, Rules, Sees, Tally, Unit, Unread, decide, find,
};
use crate::automata::{ByteSet, Dfa, TooLarge, intersect};
use crate::hir::{CommandRule, Commands, Context};
use crate::limits::MAX_PRODUCT_STATES;
use crate::request::{Ask, Judge};
use crate::source::{Span, Spanned};
use mero_runtime::{Effect, Phase};
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Rules of a context that are counted on when others are judged.
///
/// A rule is judged on vectors. Scripts have more: blanks between the words that only
/// texts tell, comments that only texts that are denied are searched in, and words that
/// are not known, for which rules of different units are asked one by one, and texts only
/// for what takes in something known. So a rule of another unit than the judged one's may
/// apply or not; that is all that is said of it, unless it denies by words.
struct Part<'p> {
    rules: Rules<'p>,
    /// Of all rules, which are counted.
    counted: Vec<bool>,
}

/// Whether `rule` is counted where others are judged: such on words only, or others too.
fn counts(rule: &Rule<'_>, only_words: bool) -> bool {
    match rule.sees.unit {
        _ if rule.sees.blanks => false,
        // A text that is denied is found in a script as it is in a vector.
        Unit::Texts => rule.rule.effect == Effect::Deny,
        Unit::Words => true,
        // What some value is denied for is denied, whichever rule does it.
        Unit::Apart => !only_words || rule.rule.effect == Effect::Deny,
    }
}

/// What rules that are not counted may add where a rule hits.
fn perhaps(block: &Block<'_>, part: &Part<'_>, index: usize) -> BTreeSet<Tally> {
    let mut all = BTreeSet::from([Tally::default()]);
    let Some(judged) = block.rules.rules.get(index) else { return all };
    let others = block.rules.rules.iter().zip(&part.counted).enumerate();
    for (_, (rule, _)) in others.filter(|(i, (_, counted))| *i != index && !**counted) {
        if rule.sees.blanks || meets(&rule.hits, &judged.hits.map(|&h| h != Hit::No)) {
            let hits = [Hit::No, Hit::Refused, Hit::Ask, Hit::Full];
            all = all.iter().flat_map(|t| hits.map(|h| t.and(rule.tally(h)))).collect();
        }
    }
    all
}

/// All that is asked about one context's rules in one class of phases.
struct Block<'p> {
    context: &'p Context,
    commands: &'p Commands,
    phases: Vec<Phase>,
    alphabet: &'p Alphabet,
    rules: &'p Rules<'p>,
    /// For rules on words, and for all others.
    parts: &'p [Part<'p>; 2],
    /// Ordinary commands first: witnesses are to be read. Then all, then those that may be
    /// allowed where no rule applies.
    domains: [Dfa<bool>; 3],
    /// The same, as if a path could be granted anything: one that is not known is asked
    /// for where a rule would ask.
    wide: [Dfa<bool>; 3],
    /// Whether some program that runs others may be run, once that was asked.
    runner: OnceCell<bool>,
}

fn domains(
    alphabet: &Alphabet,
    commands: &Commands,
    letters: ByteSet,
) -> Result<[Dfa<bool>; 3], Unread> {
    let all = alphabet.domain(letters, false)?;
    let transparent = alphabet.transparent(commands)?;
    let transparent = intersect(&all, &transparent, MAX_PRODUCT_STATES)?;
    Ok([alphabet.domain(letters, true)?, all, transparent])
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
    let mut seen: HashMap<(Effect, bool, Sees, Dfa<Hit>), Span> = HashMap::new();
    let mut single = commands.clone();
    single.rules.clear();
    for rule in &commands.rules {
        // In scripts, rules that see something else differ.
        let key = (rule.effect, rule.readonly, alphabet.sees(rule)?, alphabet.hits(rule, 0)?);
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
    let counted =
        [true, false].map(|w| rules.rules.iter().map(|r| counts(r, w)).collect::<Vec<_>>());
    let some = counted.each_ref().map(|counted| {
        let kept = single.rules.iter().zip(counted).filter(|(_, c)| **c).map(|(r, _)| r.clone());
        Commands { rules: kept.collect(), ..single.clone() }
    });
    let [words, others] = counted;
    let parts = [
        Part { rules: Rules::new(Some(&some[0]), &alphabet, 0)?, counted: words },
        Part { rules: Rules::new(Some(&some[1]), &alphabet, 0)?, counted: others },
    ];
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
            parts: &parts,
            domains: domains(&alphabet, commands, letters)?,
            wide: domains(&alphabet, commands, alphabet.possible(class, alphabet.letters()))?,
            runner: OnceCell::new(),
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
            let sees = alphabet.sees(&alone)?;
            let mixed = sees.unit == Unit::Apart && sees.blanks;
            let dead = !mixed && common(&left, &carved)?.is_none();
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
fn decides(block: &Block<'_>, index: usize, seen: &mut Seen) -> Result<bool, TooLarge> {
    let Some(rule) = block.rules.rules.get(index) else { return Ok(true) };
    let deny = rule.rule.effect == Effect::Deny;
    let [words, others] = block.parts;
    let part = if rule.sees.unit == Unit::Words && !deny { words } else { others };
    let perhaps = perhaps(block, part, index);
    let asks = rule.rule.effect == Effect::Ask && rule.sees.unit == Unit::Apart;
    let domains = if asks { &block.wide } else { &block.domains };
    // Where nothing is granted, a denial only ever changes reasons.
    let only_reason = deny
        && perhaps.len() == 1
        && !block.rules.may_grant(&rule.hits.map(|&h| h != Hit::No), &block.phases);
    let judge = |seen: &mut Seen, hit: Hit, with: Tally, transparent: bool| {
        let own = rule.tally(hit);
        let without = with.without(own);
        seen.applies |= hit != Hit::Refused;
        seen.strongest |= hit != Hit::Refused
            && with.deny == 0
            && (rule.rule.effect == Effect::Ask || with.ask == 0);
        let mut decides = false;
        for &phase in &block.phases {
            for &more in &perhaps {
                let now = decide(Some(block.commands), with.and(more), phase);
                let then = decide(Some(block.commands), without.and(more), phase);
                // That a `deny` rule matches is an answer by itself.
                let effect = now.0 != then.0;
                let reason = !deny && now.1 != then.1;
                // A rule that only ever gives a path's reason never applies.
                seen.refuses |= reason && hit == Hit::Refused;
                decides |= effect || (reason && hit != Hit::Refused);
                seen.reason_only |= now != then;
            }
        }
        // What a runner would run counts where no rule applies to it.
        decides || (transparent && with.any() != without.any())
    };
    for (number, domain) in domains.iter().enumerate() {
        let transparent = number == 2;
        if only_reason && !transparent {
            // One example may tell all that there is to know.
            let example = common(&rule.hits.map(|&h| h > Hit::Refused), domain)?;
            if let Some(string) = example {
                judge(seen, rule.hit(&string), part.rules.tally(&string), false);
            }
        }
        if only_reason && !transparent && seen.applies && seen.reason_only {
            continue;
        }
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
                decides |= known.insert((*hit, with)) && judge(seen, *hit, with, transparent);
                decides || (only_reason && !transparent && seen.applies && seen.reason_only)
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

fn fate(blocks: &[Block<'_>], index: usize, judge: &Judge<'_>) -> Result<Fate, TooLarge> {
    let mut seen = Seen::default();
    for block in blocks {
        let Some(rule) = block.rules.rules.get(index) else { return Ok(Fate::Decides) };
        let text = rule.sees.blanks || rule.sees.unit == Unit::Texts;
        // Of texts, only this can be told: where nothing is granted, none matters.
        let idle = rule.rule.effect == Effect::Deny && !grants(block);
        if (text && !idle) || (!text && decides(block, index, &mut seen)?) {
            return Ok(Fate::Decides);
        }
        seen.reason_only |= text;
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
    let runner = *block.runner.get_or_init(|| runner_allowed(block));
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
    let runners = block.alphabet.runners().map_err(drop);
    let runners =
        runners.and_then(|r| intersect(&r, &block.domains[1], MAX_PRODUCT_STATES).map_err(drop));
    runners.map_or(true, |r| block.rules.may_grant(&r, &block.phases))
}

/// The rules among `of` that together match what a rule matches.
fn blamed(block: &Block<'_>, index: usize, of: impl Fn(&Rule<'_>) -> bool) -> Vec<Span> {
    let Some(rule) = block.rules.rules.get(index) else { return Vec::new() };
    let language = |r: &Rule<'_>| r.hits.map(|&h| matches!(h, Hit::Ask | Hit::Full));
    let others = block
        .rules
        .rules
        .iter()
        .enumerate()
        .filter(|(i, r)| *i != index && of(r) && counts(r, false));
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
