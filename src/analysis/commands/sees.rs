//! Whether a rule is decided by the words of a command or by its text.

use super::{Alphabet, Unread};
use crate::automata::{Dfa, Re, TooLarge, determinize, regex, text};
use crate::hir::CommandRule;
use crate::limits::MAX_PATTERN_STATES;
use crate::syntax::ast::PatternKind;

/// What of a command a rule looks at, where that matters.
///
/// In a script, the text that rules on texts see has the blanks that stand between the
/// words there, which a vector does not tell; and texts that are denied are searched in
/// the whole script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sees {
    /// Words, or a text in which one blank is as good as several: what the vector is
    /// decides.
    Words,
    /// Such a text, and nothing else.
    AnyBlanks,
    /// A text with its very blanks, and nothing else.
    Blanks,
    /// Both words and very blanks.
    Mixed,
}

impl Sees {
    /// Whether it is the text alone that decides whether the rule applies.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self, Sees::AnyBlanks | Sees::Blanks)
    }

    /// Whether the vector alone decides whether the rule applies.
    #[must_use]
    pub fn is_vector(self) -> bool {
        matches!(self, Sees::AnyBlanks | Sees::Words)
    }
}

impl Alphabet {
    /// What a rule looks at.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn sees(&self, rule: &CommandRule) -> Result<Sees, Unread> {
        let (mut words, mut blanks) = (false, false);
        for pattern in std::iter::once(&rule.pattern).chain(&rule.except) {
            let text = match pattern.kind {
                PatternKind::Word => {
                    words = true;
                    continue;
                }
                PatternKind::Regex => regex::search(&pattern.text)?.to_dfa(self.classes())?,
                PatternKind::Glob => self.plain(&text::glob(&pattern.text)?)?,
                PatternKind::Text => self.plain(&text::literal(&pattern.text)?)?,
            };
            blanks |= !text.ignores_runs(&[b' ', b'\t']);
        }
        Ok(match (words, blanks) {
            (true, false) => Sees::Words,
            (false, false) => Sees::AnyBlanks,
            (false, true) => Sees::Blanks,
            (true, true) => Sees::Mixed,
        })
    }

    fn plain(&self, re: &Re) -> Result<Dfa<bool>, TooLarge> {
        determinize(re, self.classes(), MAX_PATTERN_STATES)
    }
}
