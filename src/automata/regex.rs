//! Regular expressions: `re"…"`, searched in a command's text.
//!
//! `regex-syntax` parses, `regex-automata` builds a dense automaton in which all
//! look-arounds (`^ $ \A \z \b \B`) are part of the states; from there the search is
//! re-expressed as a minimal [`Dfa<bool>`] whose label says whether the text *so far*,
//! were it the whole, holds a match. Once a match is certain the state never
//! changes again.
//!
//! The search ignores case; `\w \d \s \b` are ASCII's, text is bytes and need not be
//! UTF-8; a NUL, which no text holds, is never part of a match nor of a text that
//! has one. A pattern that needs Unicode (`[é]`, `\p{L}`) is read in Unicode mode,
//! with ASCII word boundaries still.
//!
//! Cost: bounded by [`MAX_PATTERN_STATES`] states. Errors: [`PatternError`] for syntax,
//! look-ahead and back-references, and for what is too large.

// A row has one entry per class of the alphabet made from the dense automaton's own.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::alphabet::{ByteSet, Classes};
use super::dfa::Dfa;
use super::minimize::minimize;
use super::pattern;
use super::{PatternError, TooLarge};
use crate::limits::MAX_PATTERN_STATES;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::{primitives::StateID, start};
use regex_automata::{Anchored, MatchKind};
use regex_syntax::ParserBuilder;
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::{Hir, HirKind, Look};
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes that the intermediate automata may take.
const NFA_BYTES: usize = 4 << 20;
const DFA_BYTES: usize = 8 << 20;

/// A regular expression ready to be searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Over classes of its own.
    dfa: Dfa<bool>,
}

impl Search {
    /// The byte sets to make shared classes from.
    pub fn sets(&self) -> Vec<ByteSet> {
        self.dfa.classes().sets()
    }

    /// How many states it has over classes of its own.
    pub fn states(&self) -> usize {
        self.dfa.states()
    }

    /// The texts in which there is a match, as a minimal automaton.
    ///
    /// # Errors
    /// [`TooLarge::Classes`] if `classes` do not tell apart what the pattern does.
    pub fn to_dfa(&self, classes: &Arc<Classes>) -> Result<Dfa<bool>, TooLarge> {
        self.dfa.over(classes)
    }
}

/// Reads a regular expression that is to be searched for in texts.
///
/// # Errors
/// See the module.
pub fn search(pattern: &str) -> Result<Search, PatternError> {
    pattern::check(pattern)?;
    let hir = parse(pattern)?;
    let dense = build(&hir).map_err(|message| {
        PatternError::new(
            0,
            format!("regular expression is too large: {message}"),
            "use smaller repetition counts, fewer `.{n}` and `\\p` classes, or several patterns",
        )
    })?;
    Ok(Search { dfa: convert(&dense)? })
}

fn parse(pattern: &str) -> Result<Hir, PatternError> {
    let read = |unicode: bool| {
        let mut builder = ParserBuilder::new();
        builder
            .unicode(unicode)
            .utf8(false)
            .case_insensitive(true)
            .build()
            .parse(pattern)
            .map_err(Box::new)
    };
    let hir = match read(false) {
        Err(error) if matches!(*error, regex_syntax::Error::Translate(_)) => read(true),
        other => other,
    };
    hir.map(|hir| ascii_boundaries(&hir)).map_err(|error| match *error {
        regex_syntax::Error::Parse(error) => {
            let (message, help) = explain(error.kind());
            PatternError::new(error.span().start.offset, message, help)
        }
        regex_syntax::Error::Translate(error) => PatternError::new(
            error.span().start.offset,
            error.kind().to_string(),
            "see the syntax of the `regex` crate",
        ),
        other => PatternError::new(0, other.to_string(), "see the syntax of the `regex` crate"),
    })
}

fn explain(kind: &ErrorKind) -> (String, &'static str) {
    match kind {
        ErrorKind::UnsupportedLookAround => (
            "look-ahead and look-behind are not supported: rules are decided in linear time, on \
             automata, which cannot express them"
                .to_owned(),
            "match the wanted text itself, use `\\b`, or move the condition to an `except` pattern",
        ),
        ErrorKind::UnsupportedBackreference => (
            "back-references are not supported: rules are decided in linear time, on automata, \
             which cannot express them"
                .to_owned(),
            "write the alternatives out, as in `(aa|bb)`",
        ),
        other => (other.to_string(), "see the syntax of the `regex` crate; `\\` escapes"),
    }
}

/// The expression with Unicode word boundaries replaced by ASCII ones. As deep as
/// the expression, which the parser bounds.
fn ascii_boundaries(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => hir.clone(),
        HirKind::Look(look) => Hir::look(match look {
            Look::WordUnicode => Look::WordAscii,
            Look::WordUnicodeNegate => Look::WordAsciiNegate,
            Look::WordStartUnicode => Look::WordStartAscii,
            Look::WordEndUnicode => Look::WordEndAscii,
            Look::WordStartHalfUnicode => Look::WordStartHalfAscii,
            Look::WordEndHalfUnicode => Look::WordEndHalfAscii,
            other => *other,
        }),
        HirKind::Repetition(repetition) => {
            Hir::repetition(repetition.with(ascii_boundaries(&repetition.sub)))
        }
        // What a group captured is of no interest, and `(?:x)` is `x`.
        HirKind::Capture(capture) => ascii_boundaries(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(ascii_boundaries).collect()),
        HirKind::Alternation(choices) => {
            Hir::alternation(choices.iter().map(ascii_boundaries).collect())
        }
    }
}

fn build(hir: &Hir) -> Result<dense::DFA<Vec<u32>>, String> {
    let nfa = thompson::Compiler::new()
        .configure(
            thompson::Config::new()
                .utf8(false)
                .nfa_size_limit(Some(NFA_BYTES))
                .which_captures(thompson::WhichCaptures::None),
        )
        .build_from_hir(hir)
        .map_err(|error| error.to_string())?;
    dense::Builder::new()
        .configure(
            dense::Config::new()
                .start_kind(StartKind::Unanchored)
                .match_kind(MatchKind::LeftmostFirst)
                .accelerate(false)
                .dfa_size_limit(Some(DFA_BYTES))
                .determinize_size_limit(Some(DFA_BYTES)),
        )
        .build_from_nfa(&nfa)
        .map_err(|error| error.to_string())
}

fn convert(dense: &dense::DFA<Vec<u32>>) -> Result<Dfa<bool>, PatternError> {
    let too_large = || {
        PatternError::new(
            0,
            format!(
                "regular expression is too large: it needs more than {MAX_PATTERN_STATES} states"
            ),
            "use smaller repetition counts, fewer `.{n}` and `\\p` classes, or several patterns",
        )
    };
    let mut sets: HashMap<u8, ByteSet> = HashMap::new();
    for byte in 0..=u8::MAX {
        sets.entry(dense.byte_classes().get(byte)).or_default().insert(byte);
    }
    let mut sets: Vec<ByteSet> = sets.into_values().collect();
    sets.sort_unstable();
    let classes = Arc::new(Classes::new(sets));
    let begin = start::Config::new().anchored(Anchored::No);
    let begin = dense.start_state(&begin).map_err(|error| {
        PatternError::new(0, error.to_string(), "see the syntax of the `regex` crate")
    })?;

    // State 0 is where a NUL leads, state 1 where a match is certain.
    const NEVER: u32 = 0;
    const FOUND: u32 = 1;
    let width = classes.count();
    let mut trans = vec![NEVER; width];
    trans.extend(
        (0..=u8::MAX).take(width).map(
            |class| {
                if class == classes.class(0) { NEVER } else { FOUND }
            },
        ),
    );
    let mut labels = vec![false, true];
    let mut numbers: HashMap<StateID, u32> = HashMap::new();
    let mut order: Vec<StateID> = Vec::new();
    let mut number = |id: StateID, order: &mut Vec<StateID>| {
        if dense.is_match_state(id) {
            return FOUND;
        }
        *numbers.entry(id).or_insert_with(|| {
            order.push(id);
            order.len() as u32 + FOUND
        })
    };
    let start = number(begin, &mut order);
    let mut done = 0;
    while done < order.len() {
        let id = order[done];
        done += 1;
        if order.len() > 4 * MAX_PATTERN_STATES {
            return Err(too_large());
        }
        // Matches are reported one byte late, at the end by a step of their own.
        labels.push(dense.is_match_state(dense.next_eoi_state(id)));
        for &rep in classes.reps() {
            let to = if rep == 0 { NEVER } else { number(dense.next_state(id, rep), &mut order) };
            trans.push(to);
        }
    }
    let dfa = minimize(&Dfa { classes, trans, labels, start });
    if dfa.states() > MAX_PATTERN_STATES { Err(too_large()) } else { Ok(dfa) }
}
