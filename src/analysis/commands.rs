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

use crate::automata::explore::{Busy, Bytes, Letters, Machine, distances, explore, live, seek};
use crate::automata::{Dfa, Label, PatternError, TooLarge, argv, product_tree};
use crate::hir::{CommandRule, Commands};
use crate::limits::MAX_PRODUCT_STATES;
use crate::syntax::ast::PatternKind;
use mero_runtime::{Effect, Permission, Phase, Reason, phases};
use std::cell::OnceCell;

mod alphabet;
mod path_words;
mod sees;

use alphabet::permissions;
pub use alphabet::{Alphabet, Class, Key, Unread};
pub use path_words::{Outcomes, ROOT};
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

/// Tallies of some rules, which add up, and what they tell apart.
pub struct Group {
    tallies: Vec<Dfa<Tally>>,
    busy: Vec<Busy>,
    letters: Letters,
}

impl Group {
    /// Counts some rules.
    ///
    /// # Errors
    /// [`TooLarge::Classes`] if the rules are not of one alphabet.
    pub fn new<'r>(rules: impl Iterator<Item = &'r Rule<'r>>) -> Result<Group, TooLarge> {
        Group::by(rules, |a, b| a.and(*b))
    }

    /// As [`Group::new`], telling none and some only: enough for what is decided, and
    /// smaller.
    ///
    /// # Errors
    /// As [`Group::new`].
    pub fn deciding<'r>(rules: impl Iterator<Item = &'r Rule<'r>>) -> Result<Group, TooLarge> {
        Group::by(rules, |a, b| a.zip(*b, u8::max))
    }

    fn by<'r>(
        rules: impl Iterator<Item = &'r Rule<'r>>,
        add: impl Fn(&Tally, &Tally) -> Tally,
    ) -> Result<Group, TooLarge> {
        let list = rules.map(|r| r.hits.map(|&hit| r.tally(hit))).collect();
        let tallies = product_tree(list, &add, MAX_PRODUCT_STATES)?;
        let mut letters = Letters::new();
        tallies.iter().for_each(|t| letters.add(t));
        Ok(Group { busy: tallies.iter().map(Busy::of).collect(), tallies, letters })
    }

    /// The tally of the vector of a string.
    #[must_use]
    pub fn tally(&self, string: &[u8]) -> Tally {
        self.tallies.iter().map(|t| *t.run(string)).fold(Tally::default(), Tally::and)
    }
}

/// A group that is built when it is first asked for: most questions are answered without
/// one or the other.
#[derive(Default)]
pub struct Lazy(OnceCell<Group>);

impl Lazy {
    /// The group.
    ///
    /// # Errors
    /// As `make`.
    pub fn get(&self, make: impl FnOnce() -> Result<Group, TooLarge>) -> Result<&Group, TooLarge> {
        match self.0.get() {
            Some(known) => Ok(known),
            None => {
                let made = make()?;
                Ok(self.0.get_or_init(|| made))
            }
        }
    }
}

/// All rules of a context.
pub struct Rules<'p> {
    /// The block, if there is one.
    pub block: Option<&'p Commands>,
    /// In order.
    pub rules: Vec<Rule<'p>>,
    denials: Lazy,
    grants: Lazy,
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
        Ok(Rules { block, rules, denials: Lazy::default(), grants: Lazy::default() })
    }

    fn of(&self, denials: bool) -> impl Iterator<Item = &Rule<'p>> {
        self.rules.iter().filter(move |r| (r.rule.effect == Effect::Deny) == denials)
    }

    /// The rules that deny, as [`Group::deciding`].
    ///
    /// # Errors
    /// As [`Group::new`].
    pub fn denials(&self) -> Result<&Group, TooLarge> {
        self.denials.get(|| Group::deciding(self.of(true)))
    }

    /// The rules that do not, as [`Group::deciding`].
    ///
    /// # Errors
    /// As [`Group::new`].
    pub fn grants(&self) -> Result<&Group, TooLarge> {
        self.grants.get(|| Group::deciding(self.of(false)))
    }

    /// Whether a `deny` rule adds nothing but denials to a tally.
    #[must_use]
    pub fn only_denials(&self) -> bool {
        self.of(true).all(|r| !r.hits.labels().contains(&Hit::Refused))
    }
}

struct Search<'a, Q> {
    question: &'a Dfa<Q>,
    asks: Vec<bool>,
    domain: &'a Dfa<bool>,
    stays: Vec<bool>,
    parts: Vec<&'a Dfa<Tally>>,
    /// Of the question, of the domain, and of each part.
    busy: [Busy; 2],
    busy_parts: Vec<&'a Busy>,
    letters: Vec<u8>,
}

impl<'a, Q: Label> Search<'a, Q> {
    fn new(
        question: &'a Dfa<Q>,
        of: impl Fn(&Q) -> bool,
        domain: &'a Dfa<bool>,
        sides: &[&[&'a Group]],
    ) -> Self {
        let groups = || sides.iter().copied().flatten();
        let mut letters = Letters::new();
        letters.add(question);
        letters.add(domain);
        groups().for_each(|g| letters.join(&g.letters));
        Search {
            asks: live(question, of),
            question,
            stays: live(domain, |&d| d),
            domain,
            parts: groups().flat_map(|g| &g.tallies).collect(),
            busy: [Busy::of(question), Busy::of(domain)],
            busy_parts: groups().flat_map(|g| &g.busy).collect(),
            letters: letters.bytes(),
        }
    }

    /// The label and the tallies of a state that is of interest.
    fn read(
        &self,
        state: &[u32],
        of: impl Fn(&Q) -> bool,
        sides: &[&[&Group]],
        tallies: &mut Vec<Tally>,
    ) -> Option<&'a Q> {
        let label = self.question.label(state[0]);
        if !of(label) || !*self.domain.label(state[1]) {
            return None;
        }
        tallies.clear();
        let mut rest = self.parts.iter().zip(&state[2..]);
        for side in sides {
            let count = side.iter().map(|g| g.tallies.len()).sum();
            let labels = rest.by_ref().take(count).map(|(p, &s)| *p.label(s));
            tallies.push(labels.fold(Tally::default(), Tally::and));
        }
        Some(label)
    }
}

impl<Q: Label> Machine for Search<'_, Q> {
    type State = Box<[u32]>;

    fn start(&self) -> Option<Self::State> {
        let mut state = vec![self.question.start(), self.domain.start()];
        state.extend(self.parts.iter().map(|p| p.start()));
        let alive = self.asks[state[0] as usize] && self.stays[state[1] as usize];
        alive.then(|| state.into_boxed_slice())
    }

    fn step(&self, state: &Self::State, byte: u8) -> Option<Self::State> {
        let question = self.question.step(state[0], byte);
        let domain = self.domain.step(state[1], byte);
        if !self.asks[question as usize] || !self.stays[domain as usize] {
            return None;
        }
        let mut next = Vec::with_capacity(state.len());
        next.extend([question, domain]);
        next.extend(self.parts.iter().zip(&state[2..]).map(|(p, &s)| p.step(s, byte)));
        Some(next.into_boxed_slice())
    }

    fn busy(&self, state: &Self::State) -> Bytes {
        let all = self.busy.iter().chain(self.busy_parts.iter().copied()).zip(state);
        all.fold(Bytes::default(), |known, (busy, &s)| known.union(busy.at(s)))
    }
}

/// Visits every kind of string of `domain` whose label in `question` is `of` interest,
/// shortest first, with that label, the tallies of all `sides` (none or some of each kind of
/// rule, no more), and the string for who wants it. Stops when told to, and says whether it was.
///
/// # Errors
/// [`TooLarge`] if the search outgrows `budget`.
pub fn visit<Q: Label>(
    question: &Dfa<Q>,
    of: impl Fn(&Q) -> bool,
    domain: &Dfa<bool>,
    sides: &[&Rules<'_>],
    budget: usize,
    each: impl FnMut(&Q, &[Tally], &dyn Fn() -> Vec<u8>) -> bool,
) -> Result<bool, TooLarge> {
    let groups =
        sides.iter().map(|s| Ok([s.denials()?, s.grants()?])).collect::<Result<Vec<_>, _>>()?;
    let groups = groups.iter().map(<[_; 2]>::as_slice).collect::<Vec<_>>();
    visit_groups(question, of, domain, &groups, budget, each)
}

/// As [`visit`], each side only those groups of rules.
///
/// # Errors
/// [`TooLarge`] if the search outgrows `budget`.
pub fn visit_groups<Q: Label>(
    question: &Dfa<Q>,
    of: impl Fn(&Q) -> bool,
    domain: &Dfa<bool>,
    sides: &[&[&Group]],
    budget: usize,
    mut each: impl FnMut(&Q, &[Tally], &dyn Fn() -> Vec<u8>) -> bool,
) -> Result<bool, TooLarge> {
    let search = Search::new(question, &of, domain, sides);
    let mut tallies = Vec::with_capacity(sides.len());
    explore(&search, &search.letters, budget, |at| {
        let Some(label) = search.read(at.state, &of, sides, &mut tallies) else { return false };
        each(label, &tallies, &|| at.string())
    })
}

/// Some string of `domain` whose label in `question` is `of` interest and which is `wanted`,
/// given that label and the tally of some groups of rules. Goes where an end is near, so
/// it is seldom a shortest one, and found sooner.
///
/// # Errors
/// [`TooLarge`] if the search outgrows `budget`.
pub fn any<Q: Label>(
    question: &Dfa<Q>,
    of: impl Fn(&Q) -> bool,
    domain: &Dfa<bool>,
    groups: &[&Group],
    budget: usize,
    mut wanted: impl FnMut(&Q, Tally) -> bool,
) -> Result<Option<Vec<u8>>, TooLarge> {
    let sides = [groups];
    let search = Search::new(question, &of, domain, &sides);
    let far = distances(question, &of);
    let mut tallies = Vec::with_capacity(1);
    seek(
        &search,
        &search.letters,
        budget,
        |s| far[s[0] as usize],
        |state| {
            let label = search.read(state, &of, &sides, &mut tallies);
            label.is_some_and(|label| wanted(label, tallies.first().copied().unwrap_or_default()))
        },
    )
}
