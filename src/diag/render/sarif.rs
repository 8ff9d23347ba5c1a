//! SARIF 2.1.0, as code scanning services take it.
//!
//! One run. Its rules are the findings that occur, each with its page as help; its
//! results have regions in UTF-16 units, which the run states, and a fingerprint that
//! survives lines moving up and down.

use super::super::{Code, Diagnostic, Edit, Label, Level};
use crate::source::{FileId, SourceFile, SourceMap, Span};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Where the project lives, if the package says it: pages are linked to from there.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// A log of the findings of one or several compilations.
#[must_use]
pub fn sarif(found: &[(&[Diagnostic], &SourceMap)]) -> Value {
    let mut codes: BTreeMap<&str, &Code> = BTreeMap::new();
    for d in found.iter().flat_map(|(list, _)| *list) {
        let _ = codes.insert(d.code.id, d.code);
    }
    let index = |code: &Code| codes.keys().position(|id| *id == code.id);
    let mut seen = BTreeMap::new();
    let mut results = Vec::new();
    for (list, sources) in found {
        results.extend(list.iter().map(|d| result(d, sources, index(d.code), &mut seen)));
    }
    let mut driver = json!({
        "name": "meroc",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": codes.values().map(|code| rule(code)).collect::<Vec<_>>(),
    });
    if !REPOSITORY.is_empty() {
        put(&mut driver, "informationUri", json!(REPOSITORY));
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver },
            "columnKind": "utf16CodeUnits",
            "results": results,
        }],
    })
}

fn put(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(object) = object {
        let _ = object.insert(key.to_owned(), value);
    }
}

const fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    }
}

fn rule(code: &Code) -> Value {
    // Title, level, and then what the finding is about.
    let about = code.page.split("\n\n").nth(2).unwrap_or(code.summary);
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    let severity = match code.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "recommendation",
    };
    let mut rule = json!({
        "id": code.id,
        "name": code.name,
        "shortDescription": { "text": code.summary },
        "fullDescription": { "text": about },
        "help": { "text": code.page, "markdown": code.page },
        "defaultConfiguration": { "level": level(code.level) },
        "properties": {
            "tags": [code.group.name()],
            "precision": "very-high",
            "problem.severity": severity,
        },
    });
    if !REPOSITORY.is_empty() {
        put(
            &mut rule,
            "helpUri",
            json!(format!("{REPOSITORY}/blob/main/docs/rules/{}.md", code.id)),
        );
    }
    rule
}

fn result(
    d: &Diagnostic,
    sources: &SourceMap,
    index: Option<usize>,
    seen: &mut BTreeMap<u64, usize>,
) -> Value {
    let mut text = d.message.clone();
    for note in super::notes(d) {
        text.push('\n');
        text.push_str(&note);
    }
    let mut location = json!({ "physicalLocation": physical(d.primary.span, sources) });
    if !d.primary.message.is_empty() {
        put(&mut location, "message", message(&d.primary.message));
    }
    let mut out = json!({
        "ruleId": d.code.id,
        "ruleIndex": index,
        "level": level(d.level),
        "message": message(&text),
        "locations": [location],
        "partialFingerprints": { "finding/v1": fingerprint(d, sources, seen) },
    });
    let related = d.labels.iter().enumerate().map(|(i, l)| related(i, l, sources));
    let related = related.collect::<Vec<_>>();
    if !related.is_empty() {
        put(&mut out, "relatedLocations", Value::Array(related));
    }
    if !d.fix.is_empty() {
        put(&mut out, "fixes", json!([fix(d, sources)]));
    }
    if let Some(witness) = &d.witness {
        let mut request = witness.request.clone();
        let _ = request.insert("effect".to_owned(), json!(witness.effect));
        let _ = request.insert("reason".to_owned(), json!(witness.reason));
        put(&mut out, "properties", json!({ "witness": request }));
    }
    out
}

/// A text in which nothing passes for a link: `[text](target)` is one in SARIF.
fn message(text: &str) -> Value {
    let text = super::readable(text);
    if text.contains("](") {
        return json!({ "text": text.replace('[', "\\[") });
    }
    json!({ "text": text })
}

fn related(number: usize, label: &Label, sources: &SourceMap) -> Value {
    let built_in = file(label.span.file, sources).is_none_or(|f| f.name.starts_with("<std>/"));
    let mut text = label.message.clone();
    let mut out = Map::new();
    let _ = out.insert("id".to_owned(), json!(number.saturating_add(1)));
    if built_in {
        // There is no file to open.
        let name = file(label.span.file, sources).map_or("", |f| f.name.as_str());
        let name = name.trim_start_matches("<std>/").trim_end_matches(".mero");
        text = format!("{text} (in `std::{name}`)");
    } else {
        let _ = out.insert("physicalLocation".to_owned(), physical(label.span, sources));
    }
    let _ = out.insert("message".to_owned(), message(&text));
    Value::Object(out)
}

fn file(id: FileId, sources: &SourceMap) -> Option<&SourceFile> {
    sources.get(id)
}

fn physical(span: Span, sources: &SourceMap) -> Value {
    json!({ "artifactLocation": artifact(span.file, sources), "region": region(span, sources) })
}

fn artifact(id: FileId, sources: &SourceMap) -> Value {
    json!({ "uri": uri(file(id, sources).map_or("<unknown>", |f| f.name.as_str())) })
}

fn region(span: Span, sources: &SourceMap) -> Value {
    let Some(file) = file(span.file, sources) else { return json!({ "startLine": 1 }) };
    let (start, end) = (file.position_utf16(span.start), file.position_utf16(span.end));
    json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    })
}

/// A file's name as a reference: relative to the checkout as it is, absolute as a URI.
fn uri(name: &str) -> String {
    let name = name.strip_prefix("./").unwrap_or(name);
    let mut out = String::from(if name.starts_with('/') { "file://" } else { "" });
    for byte in name.bytes() {
        match byte {
            b'\\' if cfg!(windows) => out.push('/'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            // A `:` in the first segment would make a scheme of it.
            _ => {
                const HEX: [char; 16] = [
                    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
                ];
                let digit = |n: u8| HEX.get(usize::from(n)).copied().unwrap_or('0');
                out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
    out
}

fn fix(d: &Diagnostic, sources: &SourceMap) -> Value {
    let mut files: BTreeMap<FileId, Vec<&Edit>> = BTreeMap::new();
    for edit in &d.fix {
        files.entry(edit.span.file).or_default().push(edit);
    }
    let changes = files.into_iter().map(|(id, edits)| {
        let replacements = edits.into_iter().map(|edit| {
            json!({
                "deletedRegion": region(edit.span, sources),
                "insertedContent": { "text": edit.text },
            })
        });
        json!({
            "artifactLocation": artifact(id, sources),
            "replacements": replacements.collect::<Vec<_>>(),
        })
    });
    json!({
        "description": message(d.help.as_deref().unwrap_or(&d.message)),
        "artifactChanges": changes.collect::<Vec<_>>(),
    })
}

/// The finding and the line that it is on, whatever the line's number; how many there
/// were before of the same sort. Equal for the same finding in the next version of a file.
fn fingerprint(d: &Diagnostic, sources: &SourceMap, seen: &mut BTreeMap<u64, usize>) -> String {
    let line = file(d.primary.span.file, sources)
        .map_or("", |f| f.line(f.position(d.primary.span.start).line));
    let name = file(d.primary.span.file, sources).map_or("", |f| f.name.as_str());
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    // FNV-1a: not against malice, only stable.
    let hash = [d.code.id, name, &line, &d.message]
        .join("\0")
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let count = seen.entry(hash).or_default();
    *count = count.saturating_add(1);
    format!("{hash:016x}:{count}")
}
