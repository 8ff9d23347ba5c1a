//! What the rules of one question are written over: byte classes, and letters for path
//! words.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "digits index what was built for them; letters are below 244"
)]

use super::Hit;
use crate::automata::argv::{self, Hole};
use crate::automata::{
    ByteSet, Classes, Dfa, PatternError, Re, TooLarge, determinize, difference, product, regex,
    text, vectors,
};
use crate::hir::{CommandRule, Commands};
use crate::limits::{MAX_PATTERN_STATES, MAX_PRODUCT_STATES};
use crate::syntax::ast::{Pattern, PatternKind};
use mero_runtime::{Effect, Permission, Phase};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

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
    /// The regular expressions among the patterns: building one takes long.
    searches: HashMap<String, regex::Search>,
}

pub(super) fn permissions(hole: &Hole) -> Permission {
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
        let mut searches = HashMap::new();
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
                PatternKind::Regex => {
                    if !searches.contains_key(&pattern.text) {
                        let search = regex::search(&pattern.text)?;
                        sets.extend(search.sets());
                        searches.insert(pattern.text.clone(), search);
                    }
                }
                PatternKind::Glob => text::glob(&pattern.text)?.sets(&mut sets),
                PatternKind::Text => text::literal(&pattern.text)?.sets(&mut sets),
            }
        }
        if keys.len() > MAX_KEYS {
            return Err(Unread::Keys);
        }
        let mut alphabet = Alphabet { classes: Arc::new(Classes::new([])), keys, searches };
        if !alphabet.keys.is_empty() {
            sets.push(alphabet.letters());
            for key in 0..alphabet.keys.len() {
                sets.extend([ASKED, GRANTED].map(|d| alphabet.at_least(key, d)));
            }
        }
        for name in mero_runtime::runners().iter().copied().chain(mero_runtime::transparent()) {
            sets.extend(name.bytes().map(ByteSet::of));
        }
        alphabet.classes = Arc::new(Classes::new(sets));
        Ok(alphabet)
    }

    /// The byte classes.
    #[must_use]
    pub fn classes(&self) -> &Arc<Classes> {
        &self.classes
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

    /// A regular expression.
    pub(super) fn search(&self, pattern: &str) -> Result<Cow<'_, regex::Search>, PatternError> {
        match self.searches.get(pattern) {
            Some(known) => Ok(Cow::Borrowed(known)),
            None => Ok(Cow::Owned(regex::search(pattern)?)),
        }
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
                let text = self.search(&pattern.text)?.to_dfa(&self.classes)?;
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

    /// As [`Alphabet::language`]; with `by_name`, a first word without `/` is any program
    /// of that name.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn reading(
        &self,
        pattern: &Pattern,
        except: &[Pattern],
        by_name: bool,
    ) -> Result<Dfa<bool>, Unread> {
        self.carved(pattern, except, by_name, 0, REFUSED)
    }

    /// A language without one vector, whatever its letters. `None` if the patterns do not
    /// tell the vector from others: what holds for it need not hold for them.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn except(
        &self,
        language: &Dfa<bool>,
        argv: &[Vec<u8>],
    ) -> Result<Option<Dfa<bool>>, TooLarge> {
        let map = self.classes.map();
        let alone = |&byte: &u8| {
            let class = map[usize::from(byte)];
            map.iter().filter(|&&c| c == class).count() == 1
        };
        if !argv.iter().flatten().all(alone) {
            return Ok(None);
        }
        let letter = || match self.keys.is_empty() {
            true => Re::Empty,
            false => Re::set(self.letters()),
        };
        let words = argv.iter().map(|w| Re::cat([letter(), Re::literal(w), Re::byte(0)]));
        let one = determinize(&Re::cat(words), &self.classes, MAX_PATTERN_STATES)?;
        Ok(Some(difference(language, &one, MAX_PRODUCT_STATES)?))
    }

    /// A vector as a string of this alphabet, with letters that refuse.
    #[must_use]
    pub fn string(&self, argv: &[Vec<u8>]) -> Vec<u8> {
        let mut out = Vec::new();
        for word in argv {
            if !self.keys.is_empty() {
                out.push(1);
            }
            out.extend_from_slice(word);
            out.push(0);
        }
        out
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
        let all = self.vectors(letters, plain);
        if !plain {
            return Ok(all);
        }
        Ok(difference(&all, &self.runners()?, MAX_PRODUCT_STATES)?)
    }

    /// All vectors with these letters; with `nonempty`, of words that are not empty.
    #[must_use]
    pub fn vectors(&self, letters: ByteSet, nonempty: bool) -> Dfa<bool> {
        vectors::valid(&self.classes, letters, nonempty)
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
        let mut names = mero_runtime::transparent().collect::<Vec<_>>();
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

    /// Of those, the ones whose inner commands are no words of the vector.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn scripts(&self) -> Result<Dfa<bool>, Unread> {
        let names = mero_runtime::transparent().collect::<Vec<_>>();
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
