//! One line a finding, as compilers have had it for fifty years.

use super::super::Diagnostic;
use crate::source::SourceMap;
use std::fmt::Write;

/// `file:line:col: error[M0201]: message`, one line each.
#[must_use]
pub fn short(diagnostics: &[Diagnostic], sources: &SourceMap) -> String {
    let mut out = String::new();
    for d in diagnostics {
        let span = d.primary.span;
        let name = sources.get(span.file).map_or("<unknown>", |f| f.name.as_str());
        let at = sources.position(span);
        let message = super::readable(&d.message).replace('\n', " ");
        let level = super::severity(d.level);
        // Writing to a string does not fail.
        let _ =
            writeln!(out, "{name}:{}:{}: {level}[{}]: {message}", at.line, at.column, d.code.id);
    }
    out
}
