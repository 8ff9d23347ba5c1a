//! `bad-pattern` and `hole-in-deny`: patterns that cannot be read, or that could
//! match nothing.

use crate::automata::{Dfa, PatternError, argv, determinize, glob, nfa::Re, regex, text};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::Policy;
use crate::limits::{MAX_ALL_STATES, MAX_PATTERN_STATES};
use crate::source::{SourceMap, Span, Spanned};
use crate::syntax::ast::{Pattern, PatternKind};
use mero_runtime::Effect;
use std::collections::BTreeSet;

pub(super) fn check(policy: &Policy) -> Vec<Diagnostic> {
    let mut out =
        Out { sources: &policy.sources, list: Vec::new(), seen: BTreeSet::new(), states: 0 };
    for context in &policy.contexts {
        out.hide(&context.hide);
        for mount in &context.mounts {
            out.hide(&mount.hide);
            for block in &mount.on {
                for pattern in &block.patterns {
                    if !pattern.node.starts_with('!') {
                        out.path(pattern);
                    } else if out.is_new(pattern.span) {
                        let message = "a pattern of an `on` block cannot be negated";
                        let help = "write a second block after this one for what is to differ";
                        out.push(pattern.span, 0, message.into(), help.into());
                    }
                }
            }
        }
        if let Some(commands) = &context.commands {
            for rule in &commands.rules {
                out.command(&rule.pattern, rule.effect == Effect::Deny, false);
                rule.except.iter().for_each(|e| out.command(e, rule.effect == Effect::Deny, true));
            }
        }
        for rule in context.tools.iter().flat_map(|t| &t.rules) {
            out.tool(&rule.pattern.node, rule.pattern.span);
        }
    }
    for assert in &policy.asserts {
        for pattern in assert.pattern.iter().chain(&assert.except) {
            match assert.action {
                crate::hir::Action::Run | crate::hir::Action::Argv => {
                    out.command(pattern, false, true)
                }
                crate::hir::Action::Path(_) => {
                    out.path(&Spanned::new(pattern.text.clone(), pattern.span));
                }
                crate::hir::Action::Tool => out.tool(&pattern.text, pattern.span),
                crate::hir::Action::Permission(_) => {}
            }
        }
    }
    out.list
}

struct Out<'s> {
    sources: &'s SourceMap,
    list: Vec<Diagnostic>,
    /// Profiles are spliced into several contexts; their patterns are judged
    /// once.
    seen: BTreeSet<Span>,
    /// States that all patterns so far need by themselves.
    states: usize,
}

impl Out<'_> {
    /// Whether a pattern is still to be judged; none is once all together are
    /// too large.
    fn is_new(&mut self, span: Span) -> bool {
        self.states <= MAX_ALL_STATES && self.seen.insert(span)
    }

    /// Counts the states of a pattern, or of the attempt.
    fn count(&mut self, span: Span, states: usize) {
        self.states = self.states.saturating_add(states);
        if self.states > MAX_ALL_STATES {
            let message =
                format!("the patterns up to this one need more than {MAX_ALL_STATES} states");
            let help = "split the policy, or use fewer wildcards and repetitions";
            self.list.push(Diagnostic::new(&codes::TOO_LARGE, span, message).help(help));
        }
    }

    fn push(&mut self, span: Span, offset: usize, message: String, help: String) {
        self.list.push(
            Diagnostic::new(&codes::BAD_PATTERN, inner(self.sources, span, offset), message)
                .help(help),
        );
    }

    fn error(&mut self, span: Span, error: PatternError) {
        self.push(span, error.offset, error.message, error.help);
    }

    fn too_large(&mut self, span: Span, re: &Re) {
        let dfa = determinize(re, &Re::classes([re]), MAX_PATTERN_STATES);
        self.count(span, dfa.as_ref().map_or(MAX_PATTERN_STATES, Dfa::states));
        if let Err(error) = dfa {
            self.push(
                span,
                0,
                format!("the pattern {error}"),
                "use fewer wildcards before a fixed count of characters, or split the pattern"
                    .into(),
            );
        }
    }

    fn hide(&mut self, patterns: &[Spanned<String>]) {
        patterns.iter().for_each(|p| self.path(p));
    }

    fn path(&mut self, pattern: &Spanned<String>) {
        if !self.is_new(pattern.span) {
            return;
        }
        match glob::gitignore(&pattern.node) {
            Ok(ignore) => self.too_large(pattern.span, &ignore.re),
            Err(error) => self.error(pattern.span, error),
        }
    }

    fn tool(&mut self, pattern: &str, span: Span) {
        if self.is_new(span)
            && let Err(error) = glob::name(pattern)
        {
            self.error(span, error);
        }
    }

    fn command(&mut self, pattern: &Pattern, deny: bool, no_holes: bool) {
        let span = pattern.span;
        if !self.is_new(span) {
            return;
        }
        match pattern.kind {
            PatternKind::Word => match argv::words(&pattern.text, deny && !no_holes) {
                Ok(words) if words.holes.is_empty() => self.too_large(span, &words.re),
                Ok(_) if deny => self.list.push(
                    Diagnostic::new(
                        &codes::HOLE_IN_DENY,
                        span,
                        "a path word says where a rule applies, and a `deny` rule applies everywhere",
                    )
                    .help("deny the command with `*` or `...` in its place, or deny the path in its mount"),
                ),
                Ok(_) if no_holes => self.push(
                    span,
                    0,
                    "a path word cannot stand in an exception or an assertion".into(),
                    "write `*` for one argument or `...` for any further ones".into(),
                ),
                Ok(words) => self.too_large(span, &words.re),
                Err(error) => self.error(span, error),
            },
            PatternKind::Regex => match regex::search(&pattern.text) {
                Ok(search) => self.count(span, search.states()),
                Err(error) => {
                    self.count(span, MAX_PATTERN_STATES);
                    self.error(span, error);
                }
            },
            PatternKind::Glob | PatternKind::Text => {
                let read =
                    if pattern.kind == PatternKind::Glob { text::glob } else { text::literal };
                match read(&pattern.text) {
                    Ok(re) => self.too_large(span, &re),
                    Err(error) => self.error(span, error),
                }
            }
        }
    }
}

/// The place of a byte of a pattern, where its text stands as it is in the
/// source; else the whole pattern.
fn inner(sources: &SourceMap, span: Span, offset: usize) -> Span {
    let source = sources.text(span);
    let open = source.find('"').map_or(0, |i| i.saturating_add(1));
    if offset == 0 || source.contains("\\\"") || source.starts_with('"') && source.contains('\\') {
        return span;
    }
    let start = (span.start as usize).saturating_add(open).saturating_add(offset);
    let end = start.saturating_add(1);
    if end < span.end as usize { Span::new(span.file, start, end) } else { span }
}
