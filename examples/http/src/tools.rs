//! The tools, each a few lines over the guard: nothing here asks what is allowed, and
//! nothing touches a file or a process but through it.

use super::child;
use super::http::Answer;
use super::routes::{fields, refused, text};
use mero_runtime::host::{EntryKind, Guard, OpenOptions, Streams};
use serde_json::{Map, Value, json};
use std::io::Read;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Bytes of a file, or of each of a command's streams, that are handed on.
pub const MAX_OUTPUT: usize = 256 * 1024;
/// How long a command may run.
pub const MAX_TIME: Duration = Duration::from_secs(60);
/// Entries of a directory that are handed on.
const MAX_LISTED: usize = 10_000;
/// Bytes of a path or command: what is asked for is kept, on the list and in the audit.
pub const MAX_ASKED: usize = 16 * 1024;
/// Characters of the words that a person is shown.
const MAX_WHY: usize = 500;

/// Calls a tool. Every one takes `why`, the agent's words for the person who approves.
pub(crate) fn call(
    guard: &Guard,
    tool: &str,
    body: &Map<String, Value>,
    stop: &AtomicBool,
) -> Result<Value, Answer> {
    let known: &[&str] = match tool {
        "read" | "list" | "delete" => &["path", "why"],
        "write" => &["path", "text", "why"],
        "run" => &["command", "argv", "why"],
        _ => return Err(Answer::error(404, "there is no such tool")),
    };
    fields(body, known)?;
    let length = |v: &Value| match v {
        Value::String(text) => text.len(),
        // With what stands between the words.
        Value::Array(_) => v.to_string().len(),
        _ => 0,
    };
    if ["path", "command", "argv"]
        .iter()
        .filter_map(|k| body.get(*k))
        .any(|v| length(v) > MAX_ASKED)
    {
        return Err(Answer::error(413, "the path or command is too long"));
    }
    let why = if body.contains_key("why") { text(body, "why")? } else { "" };
    let why = why.chars().take(MAX_WHY).collect::<String>();
    if tool == "run" {
        return run(guard, body, &why, stop);
    }
    let path = text(body, "path")?;
    match tool {
        "read" => read(guard, path, &why),
        "list" => list(guard, path, &why),
        "write" => {
            let text = text(body, "text")?;
            guard.write(path, text.as_bytes(), &why).map_err(refused)?;
            Ok(json!({ "written": text.len() }))
        }
        _ => {
            guard.remove(path, &why).map_err(refused)?;
            Ok(json!({ "deleted": path }))
        }
    }
}

fn read(guard: &Guard, path: &str, why: &str) -> Result<Value, Answer> {
    let file = guard.open(path, OpenOptions::new().read(true), why).map_err(refused)?;
    let mut bytes = Vec::new();
    // One more than is handed on tells whether there is more.
    let most = u64::try_from(MAX_OUTPUT).unwrap_or(u64::MAX).saturating_add(1);
    if file.take(most).read_to_end(&mut bytes).is_err() {
        return Err(Answer::error(422, "the file cannot be read"));
    }
    let cut = bytes.len() > MAX_OUTPUT;
    bytes.truncate(MAX_OUTPUT);
    Ok(json!({ "text": String::from_utf8_lossy(&bytes), "cut": cut }))
}

fn list(guard: &Guard, path: &str, why: &str) -> Result<Value, Answer> {
    let entries = guard.read_dir(path, why).map_err(refused)?;
    let shown = entries.iter().take(MAX_LISTED).map(|entry| {
        let end = if entry.kind == EntryKind::Directory { "/" } else { "" };
        format!("{}{end}", entry.name.to_string_lossy())
    });
    let shown = shown.collect::<Vec<_>>();
    Ok(json!({ "entries": shown, "cut": entries.len() > MAX_LISTED }))
}

fn run(
    guard: &Guard,
    body: &Map<String, Value>,
    why: &str,
    stop: &AtomicBool,
) -> Result<Value, Answer> {
    let streams = Streams::default();
    let child = match (body.get("command"), body.get("argv")) {
        (Some(Value::String(command)), None) => guard.shell(command, streams, why),
        (None, Some(Value::Array(words))) => {
            let argv = words.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
            let argv = argv.ok_or_else(|| Answer::error(400, "`argv` has texts only"))?;
            guard.spawn(&argv, streams, why)
        }
        _ => return Err(Answer::error(400, "either the text `command` or the list `argv`")),
    };
    let ended = child::finish(child.map_err(refused)?, MAX_TIME, MAX_OUTPUT, stop);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(json!({
        "code": ended.code,
        "out": text(&ended.out.kept),
        "err": text(&ended.err.kept),
        "cut": ended.out.cut || ended.err.cut,
        "killed": ended.killed,
    }))
}
