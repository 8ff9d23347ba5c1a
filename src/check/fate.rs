//! What becomes of each statement: whether anything would be different without it.
//!
//! One pass over a policy finds the fate of every rule, pattern, block and field; the
//! rules of the checker say it. A statement of a profile stands in several contexts
//! and is spoken of only if it is idle in all of them.

use super::{command_fates, path_fates, tool_fates};
use crate::analysis::grounds::Grounds;
use crate::automata::explore::{Letters, Machine, explore, live};
use crate::automata::{Dfa, TooLarge, difference};
use crate::diag::Witness;
use crate::hir::Policy;
use crate::limits::MAX_PRODUCT_STATES;
use crate::request::Judge;
use crate::source::Span;
use mero_runtime::{Permission, Phase};
use std::collections::BTreeMap;

/// What a statement is, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Command,
    Tool,
    Block,
    Hide,
    Reinclude,
    Field(&'static str),
    Exception,
    Mount,
}

/// What becomes of a statement in one context.
#[derive(Clone, Debug)]
pub(super) enum Fate {
    /// Some decision would be another without it, or that cannot be told.
    Decides,
    /// It never decides: others, of another effect or later, decide all it matches.
    Unreachable { by: Vec<Span>, witness: Option<Witness> },
    /// Its paths are never granted, so it never applies.
    NeverApplies,
    /// Others decide the same.
    Redundant { by: Vec<Span> },
    /// Another has the same language and effect.
    Duplicate { of: Span },
    /// Nothing that it denies was allowed.
    DeniesNothing { witness: Option<Witness> },
    /// What `otherwise` or inheritance says anyway.
    SaysNothing,
    /// Nothing in its scope matches.
    Dead,
    /// What it would show is below a directory that is hidden.
    Below { by: Span, directory: String },
    /// No request is granted there.
    Powerless,
    /// All of it is hidden.
    Hidden { by: Option<Span> },
}

/// The fates of all statements.
#[derive(Debug, Default)]
pub(super) struct Fates {
    /// By place: what it is, and its fate in each context.
    pub(super) of: BTreeMap<(Span, Thing), Vec<Fate>>,
    /// Questions that outgrew their budget, with the place they are about.
    pub(super) unproved: Vec<(Span, String)>,
}

impl Fates {
    pub(super) fn of(policy: &Policy, all: &[Grounds<'_>], judge: &Judge<'_>) -> Fates {
        let mut fates = Fates::default();
        for grounds in all {
            command_fates::collect(grounds, judge, &mut fates);
            path_fates::collect(grounds, judge, &mut fates);
        }
        tool_fates::collect(policy, judge, &mut fates);
        fates
    }

    pub(super) fn add(&mut self, span: Span, thing: Thing, fate: Fate) {
        self.of.entry((span, thing)).or_default().push(fate);
    }

    /// Whether a statement is known to decide somewhere.
    pub(super) fn decides(&self, span: Span, thing: Thing) -> bool {
        let fates = self.of.get(&(span, thing));
        fates.is_some_and(|fates| fates.iter().any(|f| matches!(f, Fate::Decides)))
    }

    /// Statements that are idle wherever they stand, with the first of their fates.
    pub(super) fn idle(&self) -> impl Iterator<Item = (Span, Thing, &Fate)> {
        self.of.iter().filter_map(|((span, thing), fates)| {
            let idle = !fates.iter().any(|f| matches!(f, Fate::Decides));
            // Where contexts differ, the weakest statement is true of all.
            let first = fates.iter().max_by_key(|f| match f {
                Fate::DeniesNothing { .. } => 3,
                Fate::Redundant { .. } | Fate::SaysNothing => 2,
                Fate::Below { .. } | Fate::Duplicate { .. } => 1,
                _ => 0,
            })?;
            idle.then_some((*span, *thing, first))
        })
    }
}

/// Most rules that are named as covering another.
const MOST_BLAMED: usize = 8;

/// Candidates that are compared with all that is left, before the first is taken.
const MOST_COMPARED: usize = 8;

/// Candidates that were picked to match all of a language, and whether they do: the error is
/// a string that none of all candidates matches, if one was found.
pub(super) type Covered<T> = (Vec<T>, Result<(), Option<Vec<u8>>>);

/// A small set of candidates that together match all strings of `question` that `domain`
/// accepts, those that are `preferred` first; cut at [`MOST_BLAMED`].
pub(super) fn cover<T: Copy>(
    question: &Dfa<bool>,
    domain: &Dfa<bool>,
    candidates: &[T],
    matches: impl Fn(T, &[u8]) -> bool,
    language: impl Fn(T) -> Dfa<bool>,
    preferred: impl Fn(T) -> bool,
) -> Covered<T> {
    let mut picked: Vec<T> = Vec::new();
    let mut left = question.clone();
    while picked.len() < MOST_BLAMED {
        let string = match common(&left, domain) {
            Ok(Some(string)) => string,
            Ok(None) => return (picked, Ok(())),
            Err(_) => break,
        };
        let (mut matching, mut others) = (Vec::new(), Vec::new());
        for &candidate in candidates.iter().filter(|&&c| matches(c, &string)) {
            if preferred(candidate) {
                matching.push(candidate);
            } else {
                others.push(candidate);
            }
            if matching.len() == MOST_COMPARED {
                break;
            }
        }
        matching.extend(others);
        matching.truncate(MOST_COMPARED);
        let languages = matching.iter().map(|&c| language(c)).collect::<Vec<_>>();
        let whole = languages.iter().position(|l| subset(&left, l)).unwrap_or(0);
        let (Some(&next), Some(covered)) = (matching.get(whole), languages.get(whole)) else {
            return (picked, Err(Some(string)));
        };
        picked.push(next);
        let Ok(rest) = difference(&left, covered, MAX_PRODUCT_STATES) else { break };
        left = rest;
    }
    (picked, Err(None))
}

/// Places in order, each once.
pub(super) fn places(spans: impl IntoIterator<Item = Span>) -> Vec<Span> {
    spans.into_iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

fn subset(a: &Dfa<bool>, b: &Dfa<bool>) -> bool {
    crate::automata::is_subset(a, b, MAX_PRODUCT_STATES) == Ok(true)
}

/// A shortest string in both languages.
pub(super) fn common(a: &Dfa<bool>, b: &Dfa<bool>) -> Result<Option<Vec<u8>>, TooLarge> {
    struct Both<'a>(&'a Dfa<bool>, Vec<bool>, &'a Dfa<bool>, Vec<bool>);
    impl Machine for Both<'_> {
        type State = (u32, u32);
        fn start(&self) -> Option<(u32, u32)> {
            Some((self.0.start(), self.2.start()))
        }
        fn step(&self, (x, y): &(u32, u32), byte: u8) -> Option<(u32, u32)> {
            let next = (self.0.step(*x, byte), self.2.step(*y, byte));
            let alive = |v: &[bool], s: u32| v.get(s as usize).copied().unwrap_or(false);
            (alive(&self.1, next.0) && alive(&self.3, next.1)).then_some(next)
        }
    }
    let mut letters = Letters::new();
    letters.add(a);
    letters.add(b);
    let both = Both(a, live(a, |&l| l), b, live(b, |&l| l));
    let mut found = None;
    explore(&both, &letters.bytes(), MAX_PRODUCT_STATES, |at| {
        let (x, y) = *at.state;
        if *a.label(x) && *b.label(y) {
            found = Some(at.string());
        }
        found.is_some()
    })?;
    Ok(found)
}

/// The phase that examples are shown in: `default`, where it is admitted.
pub(super) fn usual_phase(phases: &[Phase]) -> Phase {
    if phases.contains(&Phase::Default) {
        return Phase::Default;
    }
    phases.first().copied().unwrap_or(Phase::Default)
}

/// Every single permission.
pub(super) const SINGLES: [Permission; 4] =
    [Permission::READ, Permission::WRITE, Permission::EXECUTE, Permission::DELETE];
