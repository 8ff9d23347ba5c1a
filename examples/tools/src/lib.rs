//! The tools of an agent, each a few lines over the guard: nothing here asks what is
//! allowed, and nothing touches a file or a process but through it.
#![cfg(unix)]
#![forbid(unsafe_code)]

use mero_runtime::host::{EntryKind, Error, Guard};
use serde_json::{Value, json};
use std::path::Path;

/// Files that a search looks into, at most.
const MOST: usize = 10_000;

/// Answers a tool call: `{"ok": …}`, or `{"error": …}` with words for the model.
pub fn call(guard: &Guard, request: &Value) -> Value {
    let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default();
    let (path, why) = (text("path"), text("why"));
    let result = match text("tool") {
        "read_file" => guard.read(path, why).map(|b| json!(String::from_utf8_lossy(&b))),
        "write_file" => guard.write(path, text("text").as_bytes(), why).map(|()| json!(null)),
        "list_dir" => list(guard, path, why),
        "search" => search(guard, path, text("for"), why),
        "move_file" => guard.rename(path, text("to"), why).map(|()| json!(null)),
        "remove" => guard.remove_all(path, why).map(|()| json!(null)),
        "run" => run(guard, text("command"), why),
        other => return json!({ "error": format!("there is no tool `{other}`") }),
    };
    match result {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "error": error.to_string(), "kind": error.kind().name() }),
    }
}

fn list(guard: &Guard, path: &str, why: &str) -> Result<Value, Error> {
    let entries = guard.read_dir(path, why)?;
    let shown = entries.iter().map(|e| {
        let end = if e.kind == EntryKind::Directory { "/" } else { "" };
        format!("{}{end}", e.name.to_string_lossy())
    });
    Ok(json!(shown.collect::<Vec<_>>()))
}

/// Lines with a text in them, in all files below a directory that may be read.
fn search(guard: &Guard, path: &str, wanted: &str, why: &str) -> Result<Value, Error> {
    let mut found = Vec::new();
    let mut left = vec![Path::new(path).to_owned()];
    let mut looked = 0usize;
    while let Some(directory) = left.pop() {
        let entries = match guard.read_dir(&directory, why) {
            Ok(entries) => entries,
            // The place that was asked for has to be there; others may be closed.
            Err(error) if directory == Path::new(path) => return Err(error),
            Err(_) => continue,
        };
        for entry in entries {
            let name = directory.join(&entry.name);
            match entry.kind {
                EntryKind::Directory => left.push(name),
                EntryKind::File if looked < MOST => {
                    looked = looked.saturating_add(1);
                    let Ok(bytes) = guard.read(&name, why) else { continue };
                    let text = String::from_utf8_lossy(&bytes);
                    let lines = text.lines().enumerate().filter(|(_, l)| l.contains(wanted));
                    found.extend(lines.map(|(number, line)| {
                        format!("{}:{}: {line}", name.display(), number.saturating_add(1))
                    }));
                }
                _ => {}
            }
        }
    }
    Ok(json!(found))
}

fn run(guard: &Guard, command: &str, why: &str) -> Result<Value, Error> {
    let output = guard.shell_output(command, why)?;
    Ok(json!({
        "code": output.status.code(),
        "out": String::from_utf8_lossy(&output.stdout),
        "err": String::from_utf8_lossy(&output.stderr),
    }))
}
