//! The machine form, as `check --format json` has it under `findings`.
//!
//! What a finding does not have is left out. Lines and columns are 1-based,
//! columns count characters, ends are exclusive.

use super::super::{Diagnostic, Witness};
use crate::source::{Position, SourceMap, Span};
use serde_json::{Map, Value, json};

/// The list of findings, in the order given.
#[must_use]
pub fn findings(diagnostics: &[Diagnostic], sources: &SourceMap) -> Value {
    Value::Array(diagnostics.iter().map(|d| finding(d, sources)).collect())
}

fn finding(d: &Diagnostic, sources: &SourceMap) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        let _ = out.insert(key.to_owned(), value);
    };
    put("code", json!(d.code.id));
    put("name", json!(d.code.name));
    put("level", json!(super::severity(d.level)));
    put("message", json!(d.message));
    put("file", file(d.primary.span, sources));
    put("span", span(d.primary.span, sources));
    let primary = (!d.primary.message.is_empty()).then_some(&d.primary);
    let labels: Vec<Value> = primary
        .into_iter()
        .chain(&d.labels)
        .map(|l| {
            json!({
                "file": file(l.span, sources),
                "span": span(l.span, sources),
                "message": l.message,
            })
        })
        .collect();
    if !labels.is_empty() {
        put("labels", Value::Array(labels));
    }
    if let Some(w) = &d.witness {
        put("witness", witness(w));
    }
    if let Some(help) = &d.help {
        put("help", json!(help));
    }
    if !d.fix.is_empty() {
        let edits: Vec<Value> = d
            .fix
            .iter()
            .map(|e| {
                json!({
                    "file": file(e.span, sources),
                    "span": span(e.span, sources),
                    "text": e.text,
                })
            })
            .collect();
        put("fix", json!({ "edits": edits }));
    }
    Value::Object(out)
}

fn witness(w: &Witness) -> Value {
    let mut request = w.request.clone();
    let _ = request.insert("effect".to_owned(), json!(w.effect));
    let _ = request.insert("reason".to_owned(), json!(w.reason));
    Value::Object(request)
}

fn file(span: Span, sources: &SourceMap) -> Value {
    json!(sources.get(span.file).map_or("<unknown>", |f| f.name.as_str()))
}

fn span(span: Span, sources: &SourceMap) -> Value {
    let end =
        sources.get(span.file).map_or(Position { line: 1, column: 1 }, |f| f.position(span.end));
    json!({ "start": sources.position(span), "end": end })
}
