//! Argument vectors: which rules match, how often, and what follows.
//!
//! Every rule becomes an automaton over vectors that says whether it applies. What
//! decides is only *how many* rules of each effect apply (none, one, several), so
//! the rules of a block multiply into few automata of [`Tally`] labels, and "what if
//! this rule were not there" is a subtraction.
//!
//! A rule with path words (`{read}`) applies where a path is granted, which no pattern
//! can say. So each word has a letter in front (see
//! [`vectors`](crate::automata::vectors)) with one digit for each kind of path word:
//! refused, asked for, granted. Searches try only letters that some path has.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "digits and states index what was built for them; letters are below 244"
)]

use crate::automata::explore::{Letters, Machine, explore, live};
use crate::automata::witness::shortest_over_pair;
use crate::automata::{Dfa, Label, PatternError, TooLarge, argv, product_tree};
use crate::hir::{CommandRule, Commands};
use crate::limits::MAX_PRODUCT_STATES;
use crate::syntax::ast::PatternKind;
use mero_runtime::{Effect, Permission, Phase, Reason, phases};
use smallvec::SmallVec;
use std::cell::OnceCell;

mod alphabet;
mod path_words;
mod sees;

use alphabet::permissions;
pub use alphabet::{Alphabet, Class, Key, Unread};
pub use path_words::Outcomes;
pub use sees::{Sees, Unit};

/// Whether a rule applies to a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hit {
    /// It does not.
    No,
    /// It would, but for a path.
    Refused,
    /// It does, and some path needs approval.
    Ask,
    /// It does.
    Full,
}

/// How many rules apply: none, one, or several (2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tally {
    /// `deny` rules.
    pub deny: u8,
    /// Rules that ask.
    pub ask: u8,
    /// Rules that allow.
    pub allow: u8,
    /// Of those that ask or allow, the `readonly` ones.
    pub readonly: u8,
    /// Rules that would apply but for a path.
    pub refused: u8,
}

impl Tally {
    /// What one rule adds.
    #[must_use]
    pub fn of(effect: Effect, readonly: bool, hit: Hit) -> Tally {
        let mut tally = Tally::default();
        match (effect, hit) {
            (_, Hit::No) => {}
            (_, Hit::Refused) => tally.refused = 1,
            (Effect::Deny, _) => tally.deny = 1,
            (Effect::Allow, Hit::Full) => tally.allow = 1,
            (Effect::Ask | Effect::Allow, _) => tally.ask = 1,
        }
        tally.readonly = u8::from(readonly) * (tally.ask + tally.allow);
        tally
    }

    fn zip(self, other: Tally, f: impl Fn(u8, u8) -> u8) -> Tally {
        Tally {
            deny: f(self.deny, other.deny),
            ask: f(self.ask, other.ask),
            allow: f(self.allow, other.allow),
            readonly: f(self.readonly, other.readonly),
            refused: f(self.refused, other.refused),
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Tally) -> Tally {
        self.zip(other, |a, b| (a + b).min(2))
    }

    /// Without one rule that was counted.
    #[must_use]
    pub fn without(self, rule: Tally) -> Tally {
        self.zip(rule, u8::saturating_sub)
    }

    /// Whether some rule decides, so that `otherwise` does not.
    #[must_use]
    pub fn any(self) -> bool {
        self != Tally::default()
    }
}

/// What a block answers where its rules apply as counted; a path's own reason is
/// `not-granted` here.
#[must_use]
pub fn decide(block: Option<&Commands>, tally: Tally, phase: Phase) -> (Effect, Reason) {
    if tally.deny > 0 {
        return (Effect::Deny, Reason::CommandDenied);
    }
    let otherwise = block.and_then(|b| b.otherwise.as_ref()).map_or(Effect::Deny, |o| o.node);
    let written = match tally {
        t if t.ask > 0 => Effect::Ask,
        t if t.allow > 0 => Effect::Allow,
        t if t.refused > 0 => return (Effect::Deny, Reason::NotGranted),
        _ => otherwise,
    };
    let reason = match written {
        Effect::Allow => Reason::Granted,
        Effect::Ask => Reason::ApprovalRequired,
        Effect::Deny => Reason::CommandNotAllowed,
    };
    match (phase, written) {
        (Phase::Plan, Effect::Allow | Effect::Ask) if tally.readonly == 0 => {
            (Effect::Deny, Reason::Phase)
        }
        _ => phases::loose(phase, (written, reason)),
    }
}

/// Whether a rule's path words need nothing but `read`.
fn only_reads(rule: &CommandRule) -> Result<bool, PatternError> {
    if rule.pattern.kind != PatternKind::Word {
        return Ok(true);
    }
    let words = argv::words(&rule.pattern.text, false)?;
    Ok(words.holes.iter().all(|h| Permission::READ.contains(permissions(h))))
}

/// One rule of a block.
pub struct Rule<'p> {
    /// As written.
    pub rule: &'p CommandRule,
    /// Whether it counts as `readonly`: its path words need nothing but `read`.
    pub readonly: bool,
    /// Where it applies.
    pub hits: Dfa<Hit>,
    /// What it looks at.
    pub sees: Sees,
    /// The state of `hits` from which it never applies.
    sink: Option<u32>,
}

impl Rule<'_> {
    /// Whether it applies to the vector of a string.
    #[must_use]
    pub fn hit(&self, string: &[u8]) -> Hit {
        let mut state = self.hits.start();
        for &byte in string {
            if Some(state) == self.sink {
                return Hit::No;
            }
            state = self.hits.step(state, byte);
        }
        *self.hits.label(state)
    }

    /// What it adds to the tally of a vector with this label.
    #[must_use]
    pub fn tally(&self, hit: Hit) -> Tally {
        Tally::of(self.rule.effect, self.readonly, hit)
    }
}

/// All rules of a context.
pub struct Rules<'p> {
    /// The block, if there is one.
    pub block: Option<&'p Commands>,
    /// In order.
    pub rules: Vec<Rule<'p>>,
    /// Built when a search needs them: often none does.
    tallies: OnceCell<Result<Tallies, TooLarge>>,
}

/// What all rules of a block come to.
struct Tallies {
    /// Of some rules each; they add up.
    parts: Vec<Dfa<Tally>>,
    /// What those tell apart.
    letters: Letters,
}

impl<'p> Rules<'p> {
    /// Reads a block.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn new(
        block: Option<&'p Commands>,
        alphabet: &Alphabet,
        side: usize,
    ) -> Result<Rules<'p>, Unread> {
        let mut rules = Vec::new();
        for rule in block.map_or(&[][..], |b| &b.rules) {
            let hits = alphabet.hits(rule, side)?;
            let readonly = rule.readonly && only_reads(rule)?;
            let sink = hits.sink(&Hit::No);
            rules.push(Rule { rule, readonly, hits, sees: alphabet.sees(rule)?, sink });
        }
        Ok(Rules { block, rules, tallies: OnceCell::new() })
    }

    fn tallies(&self) -> Result<&Tallies, TooLarge> {
        let build = || {
            let tally = |r: &Rule<'_>| r.hits.map(|&hit| r.tally(hit));
            let of = |deny: bool| {
                let rules = self.rules.iter().filter(|r| (r.rule.effect == Effect::Deny) == deny);
                rules.map(tally).collect::<Vec<_>>()
            };
            let add = |a: &Tally, b: &Tally| a.and(*b);
            let mut parts = product_tree(of(true), &add, MAX_PRODUCT_STATES)?;
            parts.extend(product_tree(of(false), &add, MAX_PRODUCT_STATES)?);
            let mut letters = Letters::new();
            parts.iter().for_each(|t| letters.add(t));
            Ok(Tallies { parts, letters })
        };
        self.tallies.get_or_init(build).as_ref().map_err(|e| *e)
    }

    /// Automata whose tallies add up to that of all rules.
    ///
    /// # Errors
    /// [`TooLarge`] if they outgrow their budget.
    pub fn parts(&self) -> Result<&[Dfa<Tally>], TooLarge> {
        self.tallies().map(|t| t.parts.as_slice())
    }

    /// The tally of one vector.
    #[must_use]
    pub fn tally(&self, string: &[u8]) -> Tally {
        let tallies = self.rules.iter().map(|r| r.tally(r.hit(string)));
        tallies.fold(Tally::default(), Tally::and)
    }

    /// Whether something of `question` might be allowed or asked for in one of the phases:
    /// by the rules one by one, whatever denies it. Cheap beside a search through all.
    #[must_use]
    pub fn may_grant(&self, question: &Dfa<bool>, phases: &[Phase]) -> bool {
        let granted = |tally| phases.iter().any(|&p| decide(self.block, tally, p).0 > Effect::Deny);
        granted(Tally::default())
            || self.rules.iter().any(|rule| {
                rule.rule.effect != Effect::Deny
                    && (granted(rule.tally(Hit::Full)) || granted(rule.tally(Hit::Ask)))
                    && shortest_over_pair(
                        &rule.hits,
                        question,
                        |h, &q| q && *h > Hit::Refused,
                        super::BUDGET,
                    ) != Ok(None)
            })
    }
}

struct Search<'a, Q> {
    question: &'a Dfa<Q>,
    asks: Vec<bool>,
    domain: &'a Dfa<bool>,
    stays: Vec<bool>,
    parts: Vec<&'a Dfa<Tally>>,
}

impl<Q: Label> Machine for Search<'_, Q> {
    /// Of the question, of the domain, and of each part.
    type State = SmallVec<[u32; 8]>;

    fn start(&self) -> Option<Self::State> {
        let mut state = SmallVec::from_slice(&[self.question.start(), self.domain.start()]);
        state.extend(self.parts.iter().map(|p| p.start()));
        let alive = self.asks[state[0] as usize] && self.stays[state[1] as usize];
        alive.then_some(state)
    }

    fn step(&self, state: &Self::State, byte: u8) -> Option<Self::State> {
        let question = self.question.step(state[0], byte);
        let domain = self.domain.step(state[1], byte);
        if !self.asks[question as usize] || !self.stays[domain as usize] {
            return None;
        }
        let mut next = SmallVec::from_slice(&[question, domain]);
        next.extend(self.parts.iter().zip(&state[2..]).map(|(p, &s)| p.step(s, byte)));
        Some(next)
    }
}

/// Visits every kind of string of `domain` whose label in `question` is `of` interest,
/// shortest first, with that label, the tallies of all `sides`, and the string for who
/// wants it. Stops when told to, and says whether it was.
///
/// # Errors
/// [`TooLarge`] if the search outgrows `budget`.
pub fn visit<Q: Label>(
    question: &Dfa<Q>,
    of: impl Fn(&Q) -> bool,
    domain: &Dfa<bool>,
    sides: &[&Rules<'_>],
    budget: usize,
    mut each: impl FnMut(&Q, &[Tally], &dyn Fn() -> Vec<u8>) -> bool,
) -> Result<bool, TooLarge> {
    let tallies = sides.iter().map(|s| s.tallies()).collect::<Result<Vec<_>, _>>()?;
    let search = Search {
        asks: live(question, &of),
        question,
        stays: live(domain, |&d| d),
        domain,
        parts: tallies.iter().flat_map(|t| &t.parts).collect(),
    };
    let mut letters = Letters::new();
    letters.add(question);
    letters.add(domain);
    tallies.iter().for_each(|t| letters.join(&t.letters));
    explore(&search, &letters.bytes(), budget, |at| {
        let label = question.label(at.state[0]);
        if !of(label) || !*domain.label(at.state[1]) {
            return false;
        }
        let mut rest = &at.state[2..];
        let mut seen = Vec::with_capacity(sides.len());
        for side in &tallies {
            let (own, others) = rest.split_at(side.parts.len());
            let labels = side.parts.iter().zip(own).map(|(p, &s)| *p.label(s));
            seen.push(labels.fold(Tally::default(), Tally::and));
            rest = others;
        }
        each(label, &seen, &|| at.string())
    })
}

/// A shortest string of `domain` whose label in `question` is `of` interest and which
/// is `wanted`, given that label and the tallies of all `sides`.
///
/// # Errors
/// [`TooLarge`] if the search outgrows `budget`.
pub fn find<Q: Label>(
    question: &Dfa<Q>,
    of: impl Fn(&Q) -> bool,
    domain: &Dfa<bool>,
    sides: &[&Rules<'_>],
    budget: usize,
    mut wanted: impl FnMut(&Q, &[Tally]) -> bool,
) -> Result<Option<Vec<u8>>, TooLarge> {
    let mut found = None;
    visit(question, of, domain, sides, budget, |label, tallies, string| {
        if wanted(label, tallies) {
            found = Some(string());
        }
        found.is_some()
    })?;
    Ok(found)
}
