//! What a single command rule matches, to tell which rule lets a request through.

use crate::automata::argv::words;
use crate::automata::{ByteSet, Classes, Dfa, Re, argv, determinize, regex, text};
use crate::hir::CommandRule;
use crate::limits::MAX_PATTERN_STATES;
use crate::syntax::ast::{Pattern, PatternKind};
use mero_runtime::Effect;
use std::sync::Arc;

/// A rule as its own automata, exceptions apart.
pub(super) struct Matcher {
    pattern: One,
    except: Vec<One>,
}

struct One {
    over_words: bool,
    dfa: Dfa<bool>,
}

impl One {
    fn new(pattern: &Pattern, basename: bool) -> Option<One> {
        let over_words = pattern.kind == PatternKind::Word;
        let of_re = |re: Re| {
            let classes = Re::classes([&re]);
            determinize(&re, &classes, MAX_PATTERN_STATES).ok()
        };
        let dfa = match pattern.kind {
            PatternKind::Word => of_re(words(&pattern.text, basename).ok()?.re)?,
            PatternKind::Glob => of_re(text::glob(&pattern.text).ok()?)?,
            PatternKind::Text => of_re(text::literal(&pattern.text).ok()?)?,
            PatternKind::Regex => {
                let search = regex::search(&pattern.text).ok()?;
                let sets = search.sets().into_iter().chain([ByteSet::of(0)]);
                search.to_dfa(&Arc::new(Classes::new(sets))).ok()?
            }
        };
        Some(One { over_words, dfa })
    }

    fn matches(&self, words: &[String]) -> bool {
        if self.over_words {
            *self.dfa.run(&argv::join(words))
        } else {
            *self.dfa.run(words.join(" ").as_bytes())
        }
    }
}

impl Matcher {
    /// `None` where the rule's automaton outgrows its budget.
    pub(super) fn new(rule: &CommandRule) -> Option<Matcher> {
        Some(Matcher {
            pattern: One::new(&rule.pattern, rule.effect == Effect::Deny)?,
            except: rule.except.iter().map(|p| One::new(p, false)).collect::<Option<_>>()?,
        })
    }

    /// Whether the rule's words or text are those of the command, paths aside.
    pub(super) fn matches(&self, words: &[String]) -> bool {
        self.pattern.matches(words) && !self.except.iter().any(|e| e.matches(words))
    }
}
