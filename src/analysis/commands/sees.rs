//! Whether a rule is decided by the words of a command or by its text.

use super::{Alphabet, Unread};
use crate::automata::{Dfa, Re, TooLarge, argv, determinize, text};
use crate::hir::CommandRule;
use crate::limits::MAX_PATTERN_STATES;
use crate::syntax::ast::PatternKind;

/// Rules that are decided together where words of a command are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Patterns of words, and nothing else.
    Words,
    /// Patterns of texts, and nothing else.
    Texts,
    /// By itself: a rule with path words, or with exceptions of the other kind.
    Apart,
}

/// What of a command a rule looks at, where that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sees {
    /// With which others it is decided.
    pub unit: Unit,
    /// In a script, the text that rules on texts see has the blanks that stand between
    /// the words there, which a vector does not tell. Whether one blank is not as good as
    /// several.
    pub blanks: bool,
}

impl Alphabet {
    /// What a rule looks at.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn sees(&self, rule: &CommandRule) -> Result<Sees, Unread> {
        let (mut words, mut texts, mut blanks) = (false, false, false);
        for pattern in std::iter::once(&rule.pattern).chain(&rule.except) {
            let text = match pattern.kind {
                PatternKind::Word => {
                    words = true;
                    // A path word is a kind of its own.
                    texts |= !argv::words(&pattern.text, false)?.holes.is_empty();
                    continue;
                }
                PatternKind::Regex => self.search(&pattern.text)?.to_dfa(self.classes())?,
                PatternKind::Glob => self.plain(&text::glob(&pattern.text)?)?,
                PatternKind::Text => self.plain(&text::literal(&pattern.text)?)?,
            };
            texts = true;
            blanks |= !text.ignores_runs(b" \t");
        }
        let unit = match (words, texts) {
            (true, false) => Unit::Words,
            (false, _) => Unit::Texts,
            (true, true) => Unit::Apart,
        };
        Ok(Sees { unit, blanks })
    }

    fn plain(&self, re: &Re) -> Result<Dfa<bool>, TooLarge> {
        determinize(re, self.classes(), MAX_PATTERN_STATES)
    }
}
