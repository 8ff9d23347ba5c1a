//! The fates of hide patterns and of `!` patterns.
//!
//! Whether a pattern matters could always be asked of the whole list, with and without
//! it, at every kind of path. For long lists with `!` that is slow, and seldom needed:
//! most patterns match some path that no other does, which is shown by one such path;
//! and most of the rest are covered by patterns from which nothing is taken back, or
//! take back what nothing hides, which is shown by looking at pairs of patterns.

use super::{At, Paths};
use crate::analysis::BUDGET;
use crate::analysis::paths::{Entry, Kind, Reader, Walker, find};
use crate::automata::absorb::shut_directories;
use crate::automata::{Dfa, TooLarge, difference, intersect, meets, union};
use crate::check::fate::{Covered, Fate, common, cover, places};
use crate::limits::MAX_PRODUCT_STATES;
use crate::source::Span;
use std::rc::Rc;

/// What pairs of patterns tell.
enum Glance {
    Decides,
    /// Others hide the same.
    Redundant(Vec<Span>),
    /// Nothing is different without it.
    Idle,
    Unknown,
}

/// Earlier patterns of which something may be taken back that are tried one by one.
const TRIED: usize = 12;

fn hides(entry: &Entry) -> bool {
    entry.kind == Kind::Hide { negated: false }
}

fn shows(entry: &Entry) -> bool {
    entry.kind == Kind::Hide { negated: true }
}

/// Errs on the side of yes.
fn may_meet(a: &Entry, b: &Entry) -> bool {
    meets(&a.applies, &b.applies, MAX_PRODUCT_STATES) != Ok(false)
}

impl Paths<'_> {
    pub(super) fn pattern(&self, at: At, entry: &Entry, negated: bool) -> Result<Fate, TooLarge> {
        match self.glance(at, entry)? {
            Glance::Decides => return Ok(Fate::Decides),
            Glance::Redundant(by) if self.alike(at, entry).is_none() => {
                return Ok(Fate::Redundant { by });
            }
            Glance::Redundant(_) | Glance::Idle => {}
            Glance::Unknown => {
                let (effect, reason) = self.compare(at, &Self::reach(entry), None)?;
                if effect || reason {
                    return Ok(Fate::Decides);
                }
            }
        }
        // Of two that are alike, the later one is spoken of.
        if self.alike(at, entry).is_some_and(|(_, later)| later) {
            return Ok(Fate::Decides);
        }
        let whole = Reader::new(self.model, at.space, None);
        let mine = |m: usize| whole.island_of(m) == Some(at.island);
        // Mostly the first path will do.
        let first = common(&entry.applies, self.alphabet.proper())?;
        let scope = match first.filter(|s| whole.at_end(s).mount.is_some_and(mine)) {
            None => find(&[&whole], Some(&entry.applies), self.alphabet, BUDGET, |v| {
                v.iter().any(|v| v.mount.is_some_and(mine))
            })?,
            first => first,
        };
        let Some(example) = scope else { return Ok(Fate::Dead) };
        if negated {
            return Ok(self.hidden_above(at, &example).unwrap_or(Fate::SaysNothing));
        }
        let others = |i: usize, e: &Entry| i != at.index && hides(e);
        let (by, _) = self.covering(at, entry, others);
        Ok(Fate::Redundant { by })
    }

    fn later(&self, at: At, index: usize) -> impl Iterator<Item = &Entry> {
        self.entries(at).iter().skip(index.saturating_add(1)).filter(|e| shows(e))
    }

    /// What a hide pattern matches and no later `!` pattern takes back, and all below.
    fn lasting(&self, at: At, index: usize, entry: &Entry) -> Result<Rc<Dfa<bool>>, TooLarge> {
        let place = At { index, ..at };
        if let Some(known) = self.lasting.borrow().get(&place) {
            return Ok(Rc::clone(known));
        }
        let mut left = entry.applies.clone();
        for negation in self.later(at, index) {
            if may_meet(negation, entry) {
                left = difference(&left, &negation.applies, MAX_PRODUCT_STATES)?;
            }
        }
        let lasting = Rc::new(shut_directories(&left, b'/', |&l| l));
        self.lasting.borrow_mut().insert(place, Rc::clone(&lasting));
        Ok(lasting)
    }

    fn glance(&self, at: At, entry: &Entry) -> Result<Glance, TooLarge> {
        // Most patterns matter for what they match first of all, which the products of the
        // list tell without asking all other patterns.
        if let Some(string) = common(&entry.applies, self.alphabet.proper())?
            && self.at_string(at, &string)
        {
            return Ok(Glance::Decides);
        }
        if shows(entry) { self.taken_back(at, entry) } else { self.hidden_by_others(at, entry) }
    }

    /// A `!` pattern: what does it take back?
    fn taken_back(&self, at: At, entry: &Entry) -> Result<Glance, TooLarge> {
        let later = |i: usize| i > at.index;
        match self.settled(at, &entry.applies, later).1 {
            Ok(()) => return Ok(Glance::Idle),
            Err(Some(string)) if self.at_string(at, &string) => return Ok(Glance::Decides),
            Err(_) => {}
        }
        let earlier = self.entries(at).iter().take(at.index).rev();
        let mut tried = 0_usize;
        let mut idle = true;
        for hide in earlier.filter(|e| hides(e)) {
            match self.matters_within(at, entry, hide, later)? {
                Some(Glance::Decides) => return Ok(Glance::Decides),
                Some(Glance::Idle) => {}
                Some(_) => idle = false,
                None => continue,
            }
            tried = tried.saturating_add(1);
            if tried == TRIED {
                return Ok(Glance::Unknown);
            }
        }
        Ok(if idle { Glance::Idle } else { Glance::Unknown })
    }

    /// Whether an entry matters for what another matches too; `None` if nothing is.
    fn matters_within(
        &self,
        at: At,
        entry: &Entry,
        other: &Entry,
        near: impl Fn(usize) -> bool,
    ) -> Result<Option<Glance>, TooLarge> {
        let Some(string) = common(&entry.applies, &other.applies)? else { return Ok(None) };
        if self.at_string(at, &string) {
            return Ok(Some(Glance::Decides));
        }
        let both = intersect(&entry.applies, &other.applies, MAX_PRODUCT_STATES)?;
        Ok(Some(match self.settled(at, &both, near).1 {
            Ok(()) => Glance::Idle,
            Err(Some(string)) if self.at_string(at, &string) => Glance::Decides,
            Err(_) => Glance::Unknown,
        }))
    }

    /// Covers a language, of what an entry matches, by paths for which the entry does not
    /// count: what other patterns hide for good, or have the last word on; and all that
    /// those match that hide and are `near`.
    fn settled(
        &self,
        at: At,
        question: &Dfa<bool>,
        near: impl Fn(usize) -> bool,
    ) -> Covered<(usize, &Entry)> {
        let own = |(i, e): (usize, &Entry)| i > at.index || (hides(e) && near(i));
        let language = |(i, e): (usize, &Entry)| -> Result<Dfa<bool>, TooLarge> {
            if shows(e) {
                return Ok(e.applies.clone());
            }
            let lasting = self.lasting(at, i, e)?;
            if own((i, e)) {
                return union(&lasting, &e.applies, MAX_PRODUCT_STATES);
            }
            Ok((*lasting).clone())
        };
        let others = self.entries(at).iter().enumerate();
        let others = others.filter(|&(i, e)| i != at.index && (hides(e) || i > at.index));
        cover(
            question,
            self.alphabet.proper(),
            &others.filter(|(_, e)| hides(e) || shows(e)).collect::<Vec<_>>(),
            |(i, e), string| {
                (own((i, e)) && *e.applies.run(string))
                    || (hides(e)
                        && Self::reaches(e, string)
                        && self.lasting(at, i, e).is_ok_and(|l| *l.run(string)))
            },
            // What is too large to tell covers nothing.
            |o| language(o).unwrap_or_else(|_| Dfa::constant(question.classes(), false)),
            |(_, e)| hides(e),
        )
    }

    /// A hide pattern: what does no other hide?
    fn hidden_by_others(&self, at: At, entry: &Entry) -> Result<Glance, TooLarge> {
        // What it hides again although an earlier `!` shows it; but for others that hide it
        // too, with no `!` between them and this that takes any of it back.
        let earlier = self.entries(at).iter().enumerate().take(at.index).rev();
        let mut negations = earlier.filter(|(_, e)| shows(e));
        let last = negations.clone().find(|(_, e)| may_meet(e, entry)).map(|(i, _)| i);
        let near = |i: usize| last.is_none_or(|last| i > last);
        let (by, covered) = self.settled(at, &entry.applies, near);
        match covered {
            Ok(()) if by.iter().all(|(_, e)| hides(e)) && !by.is_empty() => {
                let spans = places(by.into_iter().map(|(_, e)| e.span));
                return Ok(Glance::Redundant(spans));
            }
            Ok(()) => return Ok(Glance::Idle),
            Err(Some(string)) if self.at_string(at, &string) => return Ok(Glance::Decides),
            Err(_) => {}
        }
        let decides = |(_, negation): (usize, &Entry)| {
            let within = self.matters_within(at, entry, negation, near);
            matches!(within, Ok(Some(Glance::Decides)))
        };
        Ok(if negations.any(decides) { Glance::Decides } else { Glance::Unknown })
    }

    /// The hidden directory above a path that a `!` pattern would show, or the later
    /// pattern that hides it again.
    pub(super) fn hidden_above(&self, at: At, path: &[u8]) -> Option<Fate> {
        let entries = self.model.spaces.get(at.space)?.entries(at.island);
        let last = |string: &[u8]| {
            let hide = |e: &&Entry| matches!(e.kind, Kind::Hide { .. }) && *e.applies.run(string);
            entries.iter().rfind(hide)
        };
        for (end, _) in path.iter().enumerate().filter(|(_, b)| **b == b'/') {
            let directory = path.get(..=end)?;
            if let Some(entry) = last(directory)
                && entry.kind == (Kind::Hide { negated: false })
                && directory.len() < path.len()
            {
                let directory = self.shown(at, directory);
                return Some(Fate::Below { by: entry.span, directory });
            }
        }
        let entry = last(path)?;
        let hides = entry.kind == Kind::Hide { negated: false };
        hides.then(|| Fate::Unreachable { by: vec![entry.span], witness: None })
    }
}
