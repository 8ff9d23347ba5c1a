//! What the checker has to say: one erased [`Diagnostic`] for every finding.
//!
//! A rule builds a `Diagnostic` from a [`Code`] of the [`registry`]; renderers
//! under `render` turn lists of them into text or JSON and never look further
//! than this type. Findings are about the *policy*; the tool's own failures
//! (I/O, usage, corrupt tables) are errors of `cli`, not diagnostics.

pub mod registry;
pub mod render;

use crate::source::{SourceMap, Span};

pub use registry::{Code, Group};

/// How serious a finding is; the order is by seriousness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Shown on request.
    Note,
    /// Reported, the policy still compiles.
    Warning,
    /// The policy does not compile.
    Error,
}

/// A place with a remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is to be said of it; may be empty for the primary label.
    pub message: String,
}

/// A request in `eval`'s own form, and what it is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The request object, as `eval` takes it.
    pub request: serde_json::Map<String, serde_json::Value>,
    /// The effect that the policy gives it (`allow`, `ask`, `deny`).
    pub effect: &'static str,
    /// The reason that comes with it.
    pub reason: &'static str,
}

/// One replacement of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What to replace; an empty span inserts.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Which rule speaks.
    pub code: &'static Code,
    /// The level it is reported at.
    pub level: Level,
    /// One sentence: lower case, no full stop, user text in backticks.
    pub message: String,
    /// The main place.
    pub primary: Label,
    /// Other places that take part.
    pub labels: Vec<Label>,
    /// A request that shows it.
    pub witness: Option<Witness>,
    /// What to do.
    pub help: Option<String>,
    /// Edits that repair it without changing what is meant.
    pub fix: Vec<Edit>,
}

impl Diagnostic {
    /// A finding of `code` at its default level.
    #[must_use]
    pub fn new(code: &'static Code, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            level: code.level,
            message: message.into(),
            primary: Label { span, message: String::new() },
            labels: Vec::new(),
            witness: None,
            help: None,
            fix: Vec::new(),
        }
    }

    /// Says something at the main place.
    #[must_use]
    pub fn here(mut self, message: impl Into<String>) -> Self {
        self.primary.message = message.into();
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Attaches a witness.
    #[must_use]
    pub fn witness(mut self, witness: Witness) -> Self {
        self.witness = Some(witness);
        self
    }
}

/// Sorts findings by file name and position, as every output has them.
pub fn sort(diagnostics: &mut [Diagnostic], sources: &SourceMap) {
    diagnostics.sort_by(|a, b| {
        let key = |d: &Diagnostic| {
            let span = d.primary.span;
            (sources.get(span.file).map(|f| f.name.clone()), span.start, span.end, d.code.id)
        };
        key(a).cmp(&key(b))
    });
}

/// The candidate nearest to `word`, if it is near enough to be meant: at most
/// a third of the letters differ (Damerau-Levenshtein), or only their case.
#[must_use]
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == word {
            continue;
        }
        let distance =
            if candidate.eq_ignore_ascii_case(word) { 0 } else { distance(word, candidate) };
        if distance <= limit && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, c)| c)
}

/// Optimal string alignment distance: edits and swaps of neighbours.
/// Cost: the product of the lengths, each cut at 64 characters.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut next = vec![i.saturating_add(1)];
        for (j, cb) in b.iter().enumerate() {
            let at = |r: &[usize], k: usize| r.get(k).copied().unwrap_or(usize::MAX / 2);
            let mut cost = at(&row, j)
                .saturating_add(usize::from(ca != cb))
                .min(at(&row, j.saturating_add(1)).saturating_add(1))
                .min(at(&next, j).saturating_add(1));
            let swapped = i
                .checked_sub(1)
                .zip(j.checked_sub(1))
                .is_some_and(|(i1, j1)| a.get(i1) == Some(cb) && b.get(j1) == Some(ca));
            if let (true, Some(j1)) = (swapped, j.checked_sub(1)) {
                cost = cost.min(at(&before, j1).saturating_add(1));
            }
            next.push(cost);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}
