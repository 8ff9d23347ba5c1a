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

mod sees;

use crate::automata::argv::{self, Hole};
use crate::automata::explore::{Letters, Machine, explore, live};
use crate::automata::{
    ByteSet, Classes, Dfa, Label, PatternError, Re, TooLarge, determinize, difference, product,
    product_tree, regex, text, vectors,
};
use crate::hir::{CommandRule, Commands};
use crate::limits::{MAX_PATTERN_STATES, MAX_PRODUCT_STATES};
use crate::syntax::ast::{Pattern, PatternKind};
use mero_runtime::{Effect, Permission, Phase, Reason, phases};
use std::sync::Arc;

pub use sees::{Sees, Unit};

/// Kinds of path words that one alphabet tells apart.
const MAX_KEYS: usize = 5;

/// Why there is no automaton.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// A pattern that cannot be read; `check` reports it.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// An automaton that outgrew its budget.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// More kinds of path words than letters can tell apart.
    #[error("more than {MAX_KEYS} kinds of path words")]
    Keys,
}

/// Phases in which rules with path words apply alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// All others: as written.
    Written,
    /// `bypass_permissions`: what is merely not granted is granted.
    Bypass,
}

impl Class {
    /// The class of a phase.
    #[must_use]
    pub fn of(phase: Phase) -> Class {
        match phase {
            Phase::BypassPermissions => Class::Bypass,
            Phase::Plan | Phase::Default | Phase::AcceptEdits | Phase::Trusted => Class::Written,
        }
    }
}

/// One kind of path word: what stands before the path, and what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Which of the compared contexts is to grant it.
    pub side: usize,
    /// As [`Hole::prefixes`].
    pub prefixes: Vec<Vec<u8>>,
    /// All of these.
    pub permissions: Permission,
}

/// What all rules of one question are written over.
#[derive(Clone, Debug)]
pub struct Alphabet {
    classes: Arc<Classes>,
    keys: Vec<Key>,
}

fn permissions(hole: &Hole) -> Permission {
    hole.permissions.iter().filter_map(|p| Permission::parse(p)).collect()
}

/// What path words get, from least to most.
const REFUSED: u8 = 0;
const ASKED: u8 = 1;
const GRANTED: u8 = 2;

impl Alphabet {
    /// The alphabet of all patterns of a question, each with the side that it is of.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn new<'p>(
        patterns: impl IntoIterator<Item = (&'p Pattern, usize)>,
    ) -> Result<Alphabet, Unread> {
        let mut sets = vec![ByteSet::of(b' ')];
        let mut keys: Vec<Key> = Vec::new();
        for (pattern, side) in patterns {
            match pattern.kind {
                PatternKind::Word => {
                    let words = argv::words(&pattern.text, false)?;
                    words.re.sets(&mut sets);
                    for hole in &words.holes {
                        let (prefixes, permissions) = (hole.prefixes.clone(), permissions(hole));
                        let key = Key { side, prefixes, permissions };
                        if !keys.contains(&key) {
                            keys.push(key);
                        }
                    }
                }
                PatternKind::Regex => sets.extend(regex::search(&pattern.text)?.sets()),
                PatternKind::Glob => text::glob(&pattern.text)?.sets(&mut sets),
                PatternKind::Text => text::literal(&pattern.text)?.sets(&mut sets),
            }
        }
        if keys.len() > MAX_KEYS {
            return Err(Unread::Keys);
        }
        let mut alphabet = Alphabet { classes: Arc::new(Classes::new([])), keys };
        if !alphabet.keys.is_empty() {
            sets.push(alphabet.letters());
            for key in 0..alphabet.keys.len() {
                sets.extend([ASKED, GRANTED].map(|d| alphabet.at_least(key, d)));
            }
        }
        for name in mero_runtime::runners() {
            sets.extend(name.bytes().map(ByteSet::of));
        }
        alphabet.classes = Arc::new(Classes::new(sets));
        Ok(alphabet)
    }

    /// The kinds of path words.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// All letters; none if there are no path words.
    #[must_use]
    pub fn letters(&self) -> ByteSet {
        match u32::try_from(self.keys.len()) {
            Ok(0) | Err(_) => ByteSet::EMPTY,
            Ok(n) => ByteSet::range(1, u8::try_from(3_usize.pow(n)).unwrap_or(243)),
        }
    }

    /// The letter of a list of digits, one for each key.
    #[must_use]
    pub fn letter(&self, digits: &[u8]) -> u8 {
        digits.iter().rev().fold(0, |all, &d| all * 3 + d) + 1
    }

    /// The digit that a letter has for a key.
    #[must_use]
    pub fn digit(&self, letter: u8, key: usize) -> u8 {
        let mut rest = letter.saturating_sub(1);
        for _ in 0..key {
            rest /= 3;
        }
        rest % 3
    }

    fn at_least(&self, key: usize, digit: u8) -> ByteSet {
        self.letters().iter().filter(|&l| self.digit(l, key) >= digit).collect()
    }

    /// The letters that can be in a class of phases, of those that `real` has.
    #[must_use]
    pub fn possible(&self, class: Class, real: ByteSet) -> ByteSet {
        let fits = |letter: u8| {
            (0..self.keys.len()).all(|k| class == Class::Written || self.digit(letter, k) != ASKED)
        };
        real.iter().filter(|&l| fits(l)).collect()
    }

    fn text(&self, re: &Re) -> Result<Dfa<bool>, Unread> {
        let text = determinize(re, &self.classes, MAX_PATTERN_STATES)?;
        Ok(vectors::pulled_back(&text, self.letters()))
    }

    /// The vectors that a pattern matches, its path words granted at least `digit`.
    fn matches(
        &self,
        pattern: &Pattern,
        basename: bool,
        side: usize,
        digit: u8,
    ) -> Result<Dfa<bool>, Unread> {
        Ok(match pattern.kind {
            PatternKind::Word => {
                let letter = |hole: Option<&Hole>| {
                    if self.keys.is_empty() {
                        return Re::Empty;
                    }
                    let key = hole.and_then(|hole| {
                        let wanted = permissions(hole);
                        self.keys.iter().position(|k| {
                            k.side == side && k.permissions == wanted && k.prefixes == hole.prefixes
                        })
                    });
                    Re::set(key.map_or(self.letters(), |k| self.at_least(k, digit)))
                };
                let words = argv::words_with(&pattern.text, basename, &letter)?;
                determinize(&words.re, &self.classes, MAX_PATTERN_STATES)?
            }
            PatternKind::Regex => {
                let text = regex::search(&pattern.text)?.to_dfa(&self.classes)?;
                vectors::pulled_back(&text, self.letters())
            }
            PatternKind::Glob => self.text(&text::glob(&pattern.text)?)?,
            PatternKind::Text => self.text(&text::literal(&pattern.text)?)?,
        })
    }

    /// The vectors that a pattern without path words matches as typed, without what
    /// `except` matches; path words match whatever could be a path.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn language(&self, pattern: &Pattern, except: &[Pattern]) -> Result<Dfa<bool>, Unread> {
        self.carved(pattern, except, false, 0, REFUSED)
    }

    fn carved(
        &self,
        pattern: &Pattern,
        except: &[Pattern],
        basename: bool,
        side: usize,
        digit: u8,
    ) -> Result<Dfa<bool>, Unread> {
        let mut matched = self.matches(pattern, basename, side, digit)?;
        for e in except {
            let carved = self.matches(e, false, side, REFUSED)?;
            matched = difference(&matched, &carved, MAX_PRODUCT_STATES)?;
        }
        Ok(matched)
    }

    /// Where a rule applies, and how.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn hits(&self, rule: &CommandRule, side: usize) -> Result<Dfa<Hit>, Unread> {
        let at_least = |digit| {
            self.carved(&rule.pattern, &rule.except, rule.effect == Effect::Deny, side, digit)
        };
        let any = at_least(REFUSED)?;
        let full = |m: &bool| if *m { Hit::Full } else { Hit::No };
        let holes = rule.pattern.kind == PatternKind::Word
            && !argv::words(&rule.pattern.text, false)?.holes.is_empty();
        if !holes {
            return Ok(any.map(full));
        }
        let refused = any.map(|&m| if m { Hit::Refused } else { Hit::No });
        let asked = at_least(ASKED)?.map(|&m| if m { Hit::Ask } else { Hit::No });
        let best = |a: &Hit, b: &Hit| *a.max(b);
        let both = product(&refused, &asked, best, MAX_PRODUCT_STATES)?;
        Ok(product(&both, &at_least(GRANTED)?.map(full), best, MAX_PRODUCT_STATES)?)
    }

    /// The words of a string of this alphabet.
    #[must_use]
    pub fn words(&self, string: &[u8]) -> Vec<Vec<u8>> {
        let skip = usize::from(!self.keys.is_empty());
        let mut words = string.split(|&b| b == 0).collect::<Vec<_>>();
        words.pop();
        words.into_iter().map(|w| w.get(skip..).unwrap_or(&[]).to_vec()).collect()
    }

    /// The letters of a string of this alphabet, one for each word.
    #[must_use]
    pub fn letters_of(&self, string: &[u8]) -> Vec<u8> {
        let words = string.split(|&b| b == 0);
        if self.keys.is_empty() {
            Vec::new()
        } else {
            words.filter_map(|w| w.first().copied()).collect()
        }
    }

    /// All vectors with these letters; with `plain`, of words that are not empty, and
    /// whose command runs no other.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn domain(&self, letters: ByteSet, plain: bool) -> Result<Dfa<bool>, Unread> {
        let all = vectors::valid(&self.classes, letters, plain);
        if !plain {
            return Ok(all);
        }
        Ok(difference(&all, &self.runners()?, MAX_PRODUCT_STATES)?)
    }

    /// Commands that run others.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn runners(&self) -> Result<Dfa<bool>, Unread> {
        let names = mero_runtime::runners().join("|");
        self.programs(&format!("{names}|ld-linux*|ld-musl*"), true)
    }

    /// Commands that no rule need name to be allowed: wrappers and shells, for what they
    /// run counts, and builtins that set variables.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn transparent(&self, block: &Commands) -> Result<Dfa<bool>, Unread> {
        let mut names = vec!["export", "declare", "typeset", "local", "readonly", "eval"];
        names.extend(["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish"]);
        match &block.wrappers {
            Some(list) => {
                // Others are no runners, and nothing is known of them.
                let known = list.iter().map(|w| w.node.as_str());
                names.extend(known.filter(|w| mero_runtime::runners().contains(w)));
            }
            None => names.extend(crate::library::DEFAULT_WRAPPERS),
        }
        self.programs(&names.join("|"), false)
    }

    fn programs(&self, names: &str, anywhere: bool) -> Result<Dfa<bool>, Unread> {
        let pattern = Pattern {
            kind: PatternKind::Word,
            text: format!("({names}) ..."),
            span: crate::source::Span::new(crate::source::FileId(0), 0, 0),
        };
        self.matches(&pattern, anywhere, 0, REFUSED)
    }
}

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
}

impl Rule<'_> {
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
    /// Their tallies, which add up.
    pub tallies: Vec<Dfa<Tally>>,
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
        let (mut denials, mut grants) = (Vec::new(), Vec::new());
        for rule in block.map_or(&[][..], |b| &b.rules) {
            let hits = alphabet.hits(rule, side)?;
            let readonly = rule.readonly && only_reads(rule)?;
            let tally = hits.map(|&hit| Tally::of(rule.effect, readonly, hit));
            if rule.effect == Effect::Deny {
                denials.push(tally)
            } else {
                grants.push(tally)
            }
            rules.push(Rule { rule, readonly, hits, sees: alphabet.sees(rule)? });
        }
        let add = |a: &Tally, b: &Tally| a.and(*b);
        let mut tallies = product_tree(denials, &add, MAX_PRODUCT_STATES)?;
        tallies.extend(product_tree(grants, &add, MAX_PRODUCT_STATES)?);
        Ok(Rules { block, rules, tallies })
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
    let search = Search {
        asks: live(question, &of),
        question,
        stays: live(domain, |&d| d),
        domain,
        parts: sides.iter().flat_map(|s| &s.tallies).collect(),
    };
    let mut letters = Letters::new();
    letters.add(question);
    letters.add(domain);
    search.parts.iter().for_each(|p| letters.add(p));
    let mut found = None;
    explore(&search, &letters.bytes(), budget, |at| {
        let label = question.label(at.state[0]);
        if !of(label) || !*domain.label(at.state[1]) {
            return false;
        }
        let mut rest = &at.state[2..];
        let mut tallies = Vec::with_capacity(sides.len());
        for side in sides {
            let (own, others) = rest.split_at(side.tallies.len());
            let labels = side.tallies.iter().zip(own).map(|(p, &s)| *p.label(s));
            tallies.push(labels.fold(Tally::default(), Tally::and));
            rest = others;
        }
        if wanted(label, &tallies) {
            found = Some(at.string());
        }
        found.is_some()
    })?;
    Ok(found)
}
