//! `bad-pattern` and `hole-in-deny`: patterns that cannot be read, or that could
//! match nothing.

use crate::automata::{PatternError, argv, determinize, glob, nfa::Re, regex, text};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::Policy;
use crate::limits::MAX_PATTERN_STATES;
use crate::source::{SourceMap, Span, Spanned};
use crate::syntax::ast::{Pattern, PatternKind};
use mero_runtime::Effect;

pub(super) fn check(policy: &Policy) -> Vec<Diagnostic> {
    let mut out = Out { sources: &policy.sources, list: Vec::new(), seen: Vec::new() };
    for context in &policy.contexts {
        out.hide(&context.hide);
        for mount in &context.mounts {
            out.hide(&mount.hide);
            for block in &mount.on {
                for pattern in &block.patterns {
                    if pattern.node.starts_with('!') {
                        let message = "a pattern of an `on` block cannot be negated";
                        let help = "write a second block after this one for what is to differ";
                        out.push(pattern.span, 0, message.into(), help.into());
                    } else {
                        out.path(pattern);
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
            if let Err(error) = glob::name(&rule.pattern.node) {
                out.error(rule.pattern.span, error);
            }
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
                crate::hir::Action::Tool => {
                    if let Err(error) = glob::name(&pattern.text) {
                        out.error(pattern.span, error);
                    }
                }
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
    seen: Vec<Span>,
}

impl Out<'_> {
    fn push(&mut self, span: Span, offset: usize, message: String, help: String) {
        if self.seen.contains(&span) {
            return;
        }
        self.seen.push(span);
        self.list.push(
            Diagnostic::new(&codes::BAD_PATTERN, inner(self.sources, span, offset), message)
                .help(help),
        );
    }

    fn error(&mut self, span: Span, error: PatternError) {
        self.push(span, error.offset, error.message, error.help);
    }

    fn too_large(&mut self, span: Span, re: &Re) {
        if let Err(error) = determinize(re, &Re::classes([re]), MAX_PATTERN_STATES) {
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
        match glob::gitignore(&pattern.node) {
            Ok(ignore) => self.too_large(pattern.span, &ignore.re),
            Err(error) => self.error(pattern.span, error),
        }
    }

    fn command(&mut self, pattern: &Pattern, deny: bool, no_holes: bool) {
        let span = pattern.span;
        match pattern.kind {
            PatternKind::Word => match argv::words(&pattern.text, deny && !no_holes) {
                Ok(words) if words.holes.is_empty() => self.too_large(span, &words.re),
                Ok(_) if deny => {
                    if !self.seen.contains(&span) {
                        self.seen.push(span);
                        self.list.push(
                            Diagnostic::new(
                                &codes::HOLE_IN_DENY,
                                span,
                                "a path word says where a rule applies, and a `deny` rule applies everywhere",
                            )
                            .help("deny the command with `*` or `...` in its place, or deny the path in its mount"),
                        );
                    }
                }
                Ok(_) if no_holes => self.push(
                    span,
                    0,
                    "a path word cannot stand in an exception or an assertion".into(),
                    "write `*` for one argument or `...` for any further ones".into(),
                ),
                Ok(words) => self.too_large(span, &words.re),
                Err(error) => self.error(span, error),
            },
            PatternKind::Regex => {
                if let Err(error) = regex::search(&pattern.text) {
                    self.error(span, error);
                }
            }
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
