//! Argument vectors: the rules of section 6 that need no shell.

use super::{Answer, Oracle, words};
use crate::hir::CommandRule;
use crate::syntax::ast::{Pattern, PatternKind};
use mero_runtime::{Effect, Permission, Phase, Reason, phases};
use regex::bytes::{Regex, RegexBuilder};
use std::cell::RefCell;
use std::collections::HashMap;

/// The text of an argument vector: its words, joined by blanks.
#[must_use]
pub fn joined_text(argv: &[Vec<u8>]) -> Vec<u8> {
    argv.join(&b' ')
}

/// Whether a rule applies to a command.
enum Applies {
    No,
    /// It would, but for a path.
    Path(Answer),
    Yes(Effect),
}

impl Oracle<'_> {
    /// An argument vector, with the text that `re`, `glob` and `text` rules see.
    #[must_use]
    pub fn argv(&self, argv: &[Vec<u8>], text: &[u8]) -> Answer {
        if !self.admitted() {
            return Answer::deny(Reason::Phase);
        }
        if argv.first().is_none_or(Vec::is_empty) || argv.iter().any(|w| w.contains(&0)) {
            return Answer::deny(Reason::Invalid);
        }
        let rules = self.context.commands.as_ref().map_or(&[][..], |c| &c.rules);
        let mut best: Option<(Effect, &CommandRule)> = None;
        let mut readonly = false;
        let mut path: Option<Answer> = None;
        for rule in rules {
            let (applies, only_reads) = self.applies(rule, argv, text);
            match applies {
                Applies::No => {}
                Applies::Path(answer) => {
                    self.note(rule.span, || {
                        format!("would apply but for a path: {}", answer.reason)
                    });
                    path = Some(match path {
                        Some(p) => p.stricter(answer),
                        None => answer,
                    });
                }
                Applies::Yes(effect) => {
                    self.note(rule.span, || format!("applies: {effect}"));
                    readonly |= rule.readonly && only_reads;
                    if best.is_none_or(|(e, _)| effect < e) {
                        best = Some((effect, rule));
                    }
                }
            }
        }
        let otherwise = self.context.commands.as_ref().and_then(|c| c.otherwise.as_ref());
        let written = match (best, path) {
            (Some((Effect::Deny, rule)), _) => {
                return Answer::new(Effect::Deny, Reason::CommandDenied, Some(rule.span));
            }
            (Some((effect, rule)), _) => (effect, Some(rule.span)),
            (None, Some(path)) => return Answer { host: None, ..path },
            (None, None) => match otherwise {
                Some(effect) => (effect.node, Some(effect.span)),
                None => (Effect::Deny, None),
            },
        };
        let reason = match written.0 {
            Effect::Allow => Reason::Granted,
            Effect::Ask => Reason::ApprovalRequired,
            Effect::Deny => Reason::CommandNotAllowed,
        };
        let (effect, reason) = match (self.phase, written.0) {
            (Phase::Plan, Effect::Allow | Effect::Ask) if !readonly => {
                (Effect::Deny, Reason::Phase)
            }
            (phase, effect) => phases::loose(phase, (effect, reason)),
        };
        Answer::new(effect, reason, written.1)
    }

    /// Whether a rule applies, and whether its path words need nothing but `read`.
    fn applies(&self, rule: &CommandRule, argv: &[Vec<u8>], text: &[u8]) -> (Applies, bool) {
        let base = rule.effect == Effect::Deny;
        if rule.except.iter().any(|p| matches(p, argv, text, false).is_some()) {
            return (Applies::No, true);
        }
        let Some(paths) = matches(&rule.pattern, argv, text, base) else {
            return (Applies::No, true);
        };
        let word = rule.pattern.kind == PatternKind::Word;
        let only_reads = !word || Permission::READ.contains(words::needs(&rule.pattern.text));
        let mut effect = rule.effect;
        let mut refused: Option<Answer> = None;
        for (path, permissions) in paths {
            let answer = self.path_word(&path, permissions);
            match answer.effect {
                Effect::Deny => {
                    refused = Some(match refused {
                        Some(r) => r.stricter(answer),
                        None => answer,
                    });
                }
                Effect::Ask => effect = effect.min(Effect::Ask),
                Effect::Allow => {}
            }
        }
        (refused.map_or(Applies::Yes(effect), Applies::Path), only_reads)
    }
}

/// Whether a pattern matches; if so, the paths among the arguments with what
/// each needs.
fn matches(
    pattern: &Pattern,
    argv: &[Vec<u8>],
    text: &[u8],
    base: bool,
) -> Option<Vec<(Vec<u8>, Permission)>> {
    let plain = |matched: bool| matched.then(Vec::new);
    match pattern.kind {
        PatternKind::Word => words::matches(&pattern.text, argv, base),
        PatternKind::Regex => plain(regex(&pattern.text, |r| r.is_match(text))),
        PatternKind::Glob => {
            let lower = |t: &[u8]| t.to_ascii_lowercase();
            plain(words::text_glob(&pattern.text.to_ascii_lowercase(), &lower(text)))
        }
        PatternKind::Text => {
            let needle = pattern.text.to_ascii_lowercase().into_bytes();
            let hay = text.to_ascii_lowercase();
            plain(!needle.is_empty() && hay.windows(needle.len()).any(|w| w == needle))
        }
    }
}

thread_local! {
    /// Regular expressions that were compiled: a policy's few are asked thousands of times.
    static COMPILED: RefCell<HashMap<String, Option<Regex>>> = RefCell::new(HashMap::new());
}

/// Expressions that are kept; all are forgotten when there are more.
const MOST_COMPILED: usize = 1_000;

/// Whether a regular expression is valid and `holds`.
fn regex(pattern: &str, holds: impl Fn(&Regex) -> bool) -> bool {
    let build = |unicode: bool| {
        // `\b`, `\w` and kin are those of ASCII unless the pattern names other letters.
        let text = if unicode { pattern.replace("\\b", "(?-u:\\b)") } else { pattern.to_owned() };
        RegexBuilder::new(&text).case_insensitive(true).unicode(unicode).build()
    };
    COMPILED.with_borrow_mut(|known| {
        if known.len() > MOST_COMPILED {
            known.clear();
        }
        if !known.contains_key(pattern) {
            known.insert(pattern.to_owned(), build(false).or_else(|_| build(true)).ok());
        }
        known.get(pattern).and_then(Option::as_ref).is_some_and(holds)
    })
}
