//! The language as written down: what parses, into what, and what is said of
//! what does not.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]
#![allow(clippy::arithmetic_side_effects)]

mod errors;
mod hidden;
mod limits;
mod renderers;
mod tree;

use meroc::diag::{Diagnostic, render};
use meroc::source::{FileId, SourceMap};
use meroc::syntax::{ast, parse};
use serde_json::Value;

/// Parses a text as file `p.mero`.
fn parsed(text: &str) -> (ast::File, Vec<Diagnostic>, SourceMap) {
    let mut sources = SourceMap::default();
    let id = sources.add("p.mero", text);
    assert_eq!(id, FileId(0));
    let (file, diagnostics) = parse(id, text);
    (file, diagnostics, sources)
}

/// The human rendering of everything said of a text.
fn said(text: &str) -> String {
    let (_, diagnostics, sources) = parsed(text);
    render::human(&diagnostics, &sources, false)
}

/// One line a finding.
fn lines(text: &str) -> Vec<String> {
    let (_, diagnostics, sources) = parsed(text);
    render::short(&diagnostics, &sources).lines().map(str::to_owned).collect()
}

/// A tree without places, one node a line; fails on findings.
fn tree(text: &str) -> String {
    let (file, diagnostics, sources) = parsed(text);
    assert!(diagnostics.is_empty(), "{}", render::human(&diagnostics, &sources, false));
    dump(&file)
}

fn dump(file: &ast::File) -> String {
    let mut out = String::new();
    if let Some(edition) = &file.edition {
        out.push_str(&format!("edition {}\n", edition.node));
    }
    for import in &file.imports {
        out.push_str(&format!("import {}\n", strip(serde_json::to_value(import).unwrap())));
    }
    for item in &file.items {
        node(&mut out, 0, &strip(serde_json::to_value(item).unwrap()));
    }
    out
}

/// Prints a node; the nodes of its body below it, indented.
fn node(out: &mut String, depth: usize, value: &Value) {
    let mut head = value.clone();
    let mut body = Vec::new();
    let kind = &mut head["kind"];
    if let Some(kind) = kind.as_object_mut() {
        for (name, inner) in kind.iter_mut() {
            let nested = match inner {
                Value::Object(fields) => fields.get_mut("body"),
                Value::Array(_) if matches!(name.as_str(), "commands" | "tools") => Some(inner),
                _ => None,
            };
            if let Some(Value::Array(nodes)) = nested {
                body = std::mem::take(nodes);
            }
        }
    }
    let attributes = &head["attributes"];
    for line in attributes["doc"].as_array().unwrap() {
        out.push_str(&format!("{:w$}/// {line}\n", "", w = depth * 2));
    }
    for allow in attributes["allows"].as_array().unwrap() {
        out.push_str(&format!("{:w$}@{allow}\n", "", w = depth * 2));
    }
    out.push_str(&format!("{:w$}{}\n", "", head["kind"], w = depth * 2));
    for inner in &body {
        node(out, depth + 1, inner);
    }
}

fn strip(value: Value) -> Value {
    match value {
        Value::Object(mut map) => {
            map.remove("span");
            if map.len() == 1 {
                for key in ["node", "names"] {
                    if let Some(inner) = map.remove(key) {
                        return strip(inner);
                    }
                }
            }
            Value::Object(map.into_iter().map(|(k, v)| (k, strip(v))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(strip).collect()),
        other => other,
    }
}
