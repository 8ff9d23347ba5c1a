//! Workflow commands of GitHub Actions: findings as annotations of a change.

use super::super::{Diagnostic, Level};
use crate::source::SourceMap;
use std::fmt::Write;

/// `::error file=…,line=…,col=…,endLine=…,title=…::message`, one line each.
#[must_use]
pub fn github(diagnostics: &[Diagnostic], sources: &SourceMap) -> String {
    let mut out = String::new();
    for d in diagnostics {
        let command = match d.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "notice",
        };
        let span = d.primary.span;
        let start = sources.position(span);
        let file = sources.get(span.file);
        let end = file.map_or(start, |f| f.position(span.end));
        let name = property(file.map_or("<unknown>", |f| f.name.as_str()));
        let title = property(&format!("{} {}", d.code.id, d.code.name));
        // Columns are those of one line only.
        let column = if start.line == end.line {
            format!(",endColumn={}", end.column)
        } else {
            String::new()
        };
        let mut message = super::readable(&d.message).into_owned();
        for note in super::notes(d) {
            message.push('\n');
            message.push_str(&note);
        }
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "::{command} file={name},line={},col={},endLine={}{column},title={title}::{}",
            start.line,
            start.column,
            end.line,
            data(&message)
        );
    }
    out
}

/// A message: what would end the line is written out.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property: what would end it, too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
