//! The rich form: source lines with what is wrong marked in them.

use super::super::{Diagnostic, Level};
use crate::source::{SourceMap, Span};
use codespan_reporting::diagnostic::{Diagnostic as Rich, Label, LabelStyle, Severity};
use codespan_reporting::files::SimpleFiles;
use codespan_reporting::term::termcolor::{Buffer, WriteColor};
use codespan_reporting::term::{self, Chars, Config};
use std::borrow::Cow;

/// Findings with source excerpts, one after another, a blank line after each.
/// The excerpt marks; `color` adds ANSI colours. Cost: linear in the sources
/// and the output.
#[must_use]
pub fn human(diagnostics: &[Diagnostic], sources: &SourceMap, color: bool) -> String {
    let mut files = SimpleFiles::new();
    for (_, file) in sources.iter() {
        files.add(file.name.as_str(), printable(&file.text));
    }
    let config = Config { tab_width: 4, chars: Chars::ascii(), ..Config::default() };
    let mut out = if color { Buffer::ansi() } else { Buffer::no_color() };
    for diagnostic in diagnostics {
        if !excerpt_fits(diagnostic, sources) {
            plain(&mut out, diagnostic, sources);
            continue;
        }
        let rich = rich(diagnostic, sources);
        if term::emit(&mut out, &config, &files, &rich).is_err() {
            plain(&mut out, diagnostic, sources);
        }
    }
    String::from_utf8_lossy(out.as_slice()).into_owned()
}

/// The text with what a terminal would obey, or reorder, replaced by marks of
/// the same length in bytes, so that spans keep their meaning.
fn printable(text: &str) -> Cow<'_, str> {
    let deceives = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    if !text.contains(deceives) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| match (deceives(c), c.len_utf8()) {
        (false, _) => c,
        (true, 1) => {
            if c == '\r' {
                ' '
            } else {
                '?'
            }
        }
        (true, 2) => '\u{b7}',
        (true, _) => '\u{fffd}',
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// Longest line of which an excerpt is shown, in bytes.
const MAX_LINE: usize = 2_000;

/// Whether the lines that a finding points at, with their neighbours, are short
/// enough to be shown.
fn excerpt_fits(diagnostic: &Diagnostic, sources: &SourceMap) -> bool {
    let spans = std::iter::once(&diagnostic.primary).chain(&diagnostic.labels).map(|l| l.span);
    spans.into_iter().all(|span| {
        let text = sources.get(span.file).map_or("", |f| &f.text);
        let range = span.range();
        let ends = [range.start.min(text.len()), range.end.min(text.len())];
        ends.into_iter().all(|at| {
            // Looked at in bytes, so that it costs no more than the limit.
            let (before, after) = text.as_bytes().split_at_checked(at).unwrap_or((b"", b""));
            let left = before.iter().rev().take(MAX_LINE).take_while(|b| **b != b'\n').count();
            let right = after.iter().take(MAX_LINE).take_while(|b| **b != b'\n').count();
            left.saturating_add(right) < MAX_LINE
        })
    })
}

/// A finding without an excerpt, where that would be too wide to be read or points
/// outside its sources.
fn plain(out: &mut impl WriteColor, diagnostic: &Diagnostic, sources: &SourceMap) {
    let Diagnostic { code, message, level, primary, help, .. } = diagnostic;
    let (severity, message) = (super::severity(*level), super::readable(message));
    let name = sources.get(primary.span.file).map_or("<unknown>", |f| f.name.as_str());
    let at = sources.position(primary.span);
    // A buffer in memory takes every write.
    let _ = writeln!(out, "{severity}[{} {}]: {message}", code.id, code.name);
    let _ = writeln!(out, "  --> {name}:{}:{} (a line too long to show)", at.line, at.column);
    if let Some(help) = help {
        let _ = writeln!(out, "  = help: {}", super::readable(help));
    }
    let _ = writeln!(out);
}

fn rich(d: &Diagnostic, sources: &SourceMap) -> Rich<usize> {
    let severity = match d.level {
        Level::Error => Severity::Error,
        Level::Warning => Severity::Warning,
        Level::Note => Severity::Note,
    };
    let mut labels = vec![label(LabelStyle::Primary, d.primary.span, &d.primary.message, sources)];
    for l in &d.labels {
        labels.push(label(LabelStyle::Secondary, l.span, &l.message, sources));
    }
    Rich::new(severity)
        .with_code(format!("{} {}", d.code.id, d.code.name))
        .with_message(super::readable(&d.message))
        .with_labels(labels)
        .with_notes(super::notes(d))
}

fn label(style: LabelStyle, span: Span, message: &str, sources: &SourceMap) -> Label<usize> {
    let len = sources.get(span.file).map_or(0, |f| f.text.len());
    let range = span.range();
    let range = range.start.min(len)..range.end.min(len);
    Label::new(style, span.file.0 as usize, range).with_message(super::readable(message))
}
