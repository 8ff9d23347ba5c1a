//! The fates of command rules and their exceptions.

use super::fate::{Fate, Fates, Thing, common, cover, places, usual_phase};
use crate::analysis::BUDGET;
use crate::analysis::commands::{
    Alphabet, Class, Group, Hit, Lazy, Rule, Rules, Sees, Tally, Unit, Unread, any, decide,
};
use crate::analysis::grounds::Grounds;
use crate::automata::{ByteSet, Dfa, TooLarge, difference, intersect};
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
///
/// Each of [`Judged`] has a number here.
#[derive(Default)]
struct Parts {
    /// Of all rules, which are counted.
    counted: [Vec<bool>; 3],
    /// Without texts, and with them, where they are counted.
    denials: [Lazy; 2],
    grants: [Lazy; 3],
}

/// What kind of rule is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    /// It allows or asks, by words.
    Words,
    /// It allows or asks, by something else.
    Others,
    /// It denies.
    Denial,
}

impl Judged {
    const ALL: [Judged; 3] = [Judged::Words, Judged::Others, Judged::Denial];

    fn of(rule: &Rule<'_>) -> Judged {
        match rule.sees.unit {
            _ if rule.rule.effect == Effect::Deny => Judged::Denial,
            Unit::Words => Judged::Words,
            _ => Judged::Others,
        }
    }
}

/// Whether `rule` is counted where such others are judged.
fn counts(rule: &Rule<'_>, judged: Judged) -> bool {
    match rule.sees.unit {
        _ if rule.sees.blanks => false,
        // A text that is denied is found in a script as it is in a vector; but not where
        // it is a value of what is not known, which words are denied for.
        Unit::Texts => rule.rule.effect == Effect::Deny && judged != Judged::Denial,
        Unit::Words => true,
        // What some value is denied for is denied, whichever rule does it.
        Unit::Apart => judged != Judged::Words || rule.rule.effect == Effect::Deny,
    }
}

/// What rules that are not counted may add where a rule hits.
fn perhaps(block: &Block<'_>, which: Judged, index: usize) -> BTreeSet<Tally> {
    let mut all = BTreeSet::from([Tally::default()]);
    let Some(judged) = block.rules.rules.get(index) else { return all };
    let mut question = None;
    for (_, rule) in block.counted(which, false).filter(|(i, _)| *i != index) {
        let mut meeting = || {
            let question = question.get_or_insert_with(|| judged.hits.map(|&h| h != Hit::No));
            meets(&rule.hits, question)
        };
        if rule.sees.blanks || meeting() {
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
    parts: &'p Parts,
    /// Ordinary commands first: witnesses are to be read. Then all, then those that may be
    /// allowed where no rule applies.
    domains: [Dfa<bool>; 3],
    /// The same, as if a path could be granted anything: one that is not known is asked
    /// for where a rule would ask.
    wide: Option<[Dfa<bool>; 3]>,
    /// Commands that run others.
    runners: &'p Dfa<bool>,
    runner_allowed: OnceCell<bool>,
}

impl<'p> Block<'p> {
    /// The rules that are counted, or those that are not, with their numbers.
    fn counted(&self, which: Judged, wanted: bool) -> impl Iterator<Item = (usize, &'p Rule<'p>)> {
        let counted = self.parts.counted.get(which as usize).into_iter().flatten();
        let rules = self.rules.rules.iter().enumerate().zip(counted);
        rules.filter(move |(_, counted)| **counted == wanted).map(|(rule, _)| rule)
    }

    fn group(&self, which: Judged, denials: bool) -> Result<Group, TooLarge> {
        let deny = |r: &Rule<'_>| r.rule.effect == Effect::Deny;
        Group::new(self.counted(which, true).map(|(_, r)| r).filter(|r| deny(r) == denials))
    }

    /// Counted rules that deny.
    fn denials(&self, which: Judged) -> Result<&Group, TooLarge> {
        let texts = self.counted(which, true).any(|(_, r)| r.sees.unit == Unit::Texts);
        let [words, all] = &self.parts.denials;
        let lazy = if texts { all } else { words };
        lazy.get(|| self.group(which, true))
    }

    /// Counted rules that do not.
    fn grants(&self, which: Judged) -> Result<&Group, TooLarge> {
        let [.., denials] = &self.parts.grants;
        let lazy = self.parts.grants.get(which as usize).unwrap_or(denials);
        lazy.get(|| self.group(which, false))
    }

    /// The tally of the vector of a string.
    fn tally(&self, which: Judged, string: &[u8]) -> Result<Tally, TooLarge> {
        if self.rules.rules.len() > FEW_RULES {
            return Ok(self.denials(which)?.tally(string).and(self.grants(which)?.tally(string)));
        }
        let tallies = self.counted(which, true).map(|(_, r)| r.tally(r.hit(string)));
        Ok(tallies.fold(Tally::default(), Tally::and))
    }

    /// Whether some program that runs others may be run at all.
    fn runner_allowed(&self) -> bool {
        *self.runner_allowed.get_or_init(|| runner_allowed(self) != Ok(None))
    }
}

/// Rules that are asked one by one about a single vector, before they are multiplied.
const FEW_RULES: usize = 200;

fn domains(
    alphabet: &Alphabet,
    runners: &Dfa<bool>,
    transparent: &Dfa<bool>,
    letters: ByteSet,
) -> Result<[Dfa<bool>; 3], Unread> {
    let all = alphabet.domain(letters, false)?;
    let transparent = intersect(&all, transparent, MAX_PRODUCT_STATES)?;
    let plain = difference(&alphabet.vectors(letters, true), runners, MAX_PRODUCT_STATES)?;
    Ok([plain, all, transparent])
}

pub(super) fn collect(grounds: &Grounds<'_>, judge: &Judge<'_>, fates: &mut Fates) {
    let context = grounds.context;
    let Some(commands) = &context.commands else { return };
    if let Err(error) = fates_of(grounds, commands, judge, fates) {
        let what = format!("which command rules of `{}` decide: {error}", context.name);
        fates.unproved.push((context.span, what));
    }
}

fn fates_of(
    grounds: &Grounds<'_>,
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
    let context = grounds.context;
    let outcomes = grounds.outcomes(&alphabet);
    let mut classes = context.phases.iter().map(|&p| Class::of(p)).collect::<Vec<_>>();
    classes.sort_unstable();
    classes.dedup();
    let rules = Rules::new(Some(&single), &alphabet, 0)?;
    let counted = Judged::ALL.map(|j| rules.rules.iter().map(|r| counts(r, j)).collect::<Vec<_>>());
    let parts = Parts { counted, ..Parts::default() };
    let runners = alphabet.runners()?;
    let transparent = alphabet.transparent(commands)?;
    let domains = |letters| domains(&alphabet, &runners, &transparent, letters);
    let wide = rules.rules.iter().any(asks_apart);
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
            domains: domains(letters)?,
            wide: match wide {
                true => Some(domains(alphabet.possible(class, alphabet.letters()))?),
                false => None,
            },
            runners: &runners,
            runner_allowed: OnceCell::new(),
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

/// Whether a rule asks where a path is refused.
fn asks_apart(rule: &Rule<'_>) -> bool {
    rule.rule.effect == Effect::Ask && rule.sees.unit == Unit::Apart
}

/// How a decision with a rule and one without it differ.
#[derive(Default)]
struct Compared {
    decides: bool,
    refuses: bool,
    reason_only: bool,
}

/// Whether some decision would be another without a rule.
fn decides(block: &Block<'_>, index: usize, seen: &mut Seen) -> Result<bool, TooLarge> {
    let Some(rule) = block.rules.rules.get(index) else { return Ok(true) };
    let deny = rule.rule.effect == Effect::Deny;
    let which = Judged::of(rule);
    let perhaps = perhaps(block, which, index);
    let wide = block.wide.as_ref().filter(|_| asks_apart(rule));
    let [plain, all, transparent] = wide.unwrap_or(&block.domains);
    let compared = |hit: Hit, with: Tally, transparent: bool| {
        let without = with.without(rule.tally(hit));
        // What a runner would run counts where no rule applies to it.
        let mut out =
            Compared { decides: transparent && with.any() != without.any(), ..Compared::default() };
        for &phase in &block.phases {
            for &more in &perhaps {
                let now = decide(Some(block.commands), with.and(more), phase);
                let then = decide(Some(block.commands), without.and(more), phase);
                // That a `deny` rule matches is an answer by itself.
                let effect = now.0 != then.0;
                let reason = !deny && now.1 != then.1;
                // A rule that only ever gives a path's reason never applies.
                out.refuses |= reason && hit == Hit::Refused;
                out.decides |= effect || (reason && hit != Hit::Refused);
                out.reason_only |= now != then;
            }
        }
        out
    };
    let mut known = HashSet::new();
    let mut differs = |hit: Hit, with: Tally, transparent: bool, seen: &mut Seen| {
        if !known.insert((transparent, hit, with)) {
            return false;
        }
        let compared = compared(hit, with, transparent);
        seen.applies |= hit != Hit::Refused;
        seen.strongest |= hit != Hit::Refused
            && with.deny == 0
            && (rule.rule.effect == Effect::Ask || with.ask == 0);
        seen.refuses |= compared.refuses;
        seen.reason_only |= compared.reason_only;
        compared.decides
    };
    // Most rules decide on the first vector that comes to mind.
    let hits = rule.hits.map(|&h| h > Hit::Refused);
    if let Ok(Some(string)) = common(&hits, all)
        && differs(rule.hit(&string), block.tally(which, &string)?, false, seen)
    {
        return Ok(true);
    }
    let matched = |h: &Hit| *h != Hit::No;
    let grants = [block.grants(which)?];
    // Or where they would if no other rule denied.
    let loose = |domain: &Dfa<bool>, transparent: bool| {
        any(&rule.hits, matched, domain, &grants, BUDGET, |&hit, tally| {
            let own = if deny { rule.tally(hit) } else { Tally::default() };
            compared(hit, tally.and(own), transparent).decides
        })
    };
    let mut never = deny && block.rules.only_denials();
    for (domain, transparent) in [(all, false), (transparent, true)] {
        let found = loose(domain, transparent);
        never &= found == Ok(None);
        if let Ok(Some(string)) = found
            && differs(rule.hit(&string), block.tally(which, &string)?, transparent, seen)
        {
            return Ok(true);
        }
    }
    if never {
        if !seen.reason_only {
            let denials = [block.denials(which)?];
            let alone = |_: &Hit, t: Tally| t.deny < 2;
            seen.reason_only = any(&rule.hits, matched, all, &denials, BUDGET, alone)?.is_some();
        }
        return Ok(false);
    }
    let groups = [block.denials(which)?, block.grants(which)?];
    let mut search = |domain: &Dfa<bool>, transparent: bool, seen: &mut Seen| {
        let differs = |hit: &Hit, with| differs(*hit, with, transparent, seen);
        any(&rule.hits, matched, domain, &groups, BUDGET, differs)
    };
    match search(all, false, seen) {
        Ok(Some(_)) => Ok(true),
        Ok(None) => Ok(search(transparent, true, seen)?.is_some()),
        // Among fewer vectors some may still be found.
        Err(_) if matches!(search(plain, false, seen), Ok(Some(_))) => Ok(true),
        Err(error) => Err(error),
    }
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
    let runner = block.runner_allowed();
    if opaque || runner {
        return Fate::Decides;
    }
    let witness = block.rules.rules.get(index).and_then(|r| example(block, r)).and_then(|argv| {
        let phase = usual_phase(&block.context.phases);
        judge.witness(&block.context.name, phase, &Ask::Argv(argv))
    });
    Fate::DeniesNothing { witness }
}

/// Whether some program that runs others would be run if no rule denied.
fn runner_allowed(block: &Block<'_>) -> Result<Option<Vec<u8>>, TooLarge> {
    let all = &block.domains[1];
    let allowed = |tally: Tally| {
        let granted = Tally { deny: 0, ..tally };
        let allowed = |&p: &Phase| decide(Some(block.commands), granted, p).0 > Effect::Deny;
        block.phases.iter().any(allowed)
    };
    let grants = block.rules.grants()?;
    if block.rules.only_denials() {
        return any(block.runners, |&r| r, all, &[grants], BUDGET, |_, t| allowed(t));
    }
    let both = [block.rules.denials()?, grants];
    any(block.runners, |&r| r, all, &both, BUDGET, |_, t| allowed(t))
}

/// The rules among `of` that together match what a rule matches.
fn blamed(block: &Block<'_>, index: usize, of: impl Fn(&Rule<'_>) -> bool) -> Vec<Span> {
    let Some(rule) = block.rules.rules.get(index) else { return Vec::new() };
    // Any denial may keep a rule from being reached.
    let judged = match Judged::of(rule) {
        Judged::Words => Judged::Others,
        judged => judged,
    };
    let language = |r: &Rule<'_>| r.hits.map(|&h| matches!(h, Hit::Ask | Hit::Full));
    let others = block
        .rules
        .rules
        .iter()
        .enumerate()
        .filter(|(i, r)| *i != index && of(r) && counts(r, judged));
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
