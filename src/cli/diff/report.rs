//! A difference as text: for terminals, programs, and comments on pull requests.

use super::{Class, Difference, Direction, in_phases};
use crate::request::{Ask, quoted};
use mero_runtime::Phase;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// What a request is, in words.
fn asked(ask: &Ask) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match ask {
        Ask::Path { path, permissions, kind } => {
            let kind = match kind {
                mero_runtime::Kind::Directory => " (a directory)",
                _ => "",
            };
            format!("{permissions} `{}`{kind}", text(path))
        }
        Ask::Permission(permissions) => format!("{permissions}, with no path"),
        Ask::Command(command) => format!("run `{command}`"),
        Ask::Argv(argv) => match quoted(argv) {
            Some(command) => format!("run `{command}`"),
            None => format!("run {argv:?}"),
        },
        Ask::Tool { name, requires } if requires.is_empty() => format!("the tool `{name}`"),
        Ask::Tool { name, requires } => {
            format!("the tool `{name}` that requires {}", requires.join(", "))
        }
    }
}

/// What kind of requests a class holds.
fn place(class: &Class) -> String {
    let like = class.rules.last().map(|r| format!(" where `{}` applies", r.text));
    let like = like.unwrap_or_default();
    match &class.change.ask {
        Ask::Path { .. } => format!("paths{like}"),
        Ask::Permission(_) => "requests with no path".to_owned(),
        Ask::Command(_) | Ask::Argv(_) => format!("commands{like}"),
        Ask::Tool { .. } => format!("tools{like}"),
    }
}

fn names(phases: &[Phase]) -> String {
    phases.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ")
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// One line that says it all.
fn summary(d: &Difference) -> String {
    if d.equivalent() {
        return "the two decide every request alike".to_owned();
    }
    let of =
        |direction| in_phases(&d.classes).iter().filter(|(c, _)| c.direction == direction).count();
    let mut parts = Vec::new();
    for (direction, words) in [
        (Direction::Widens, "decided more permissively"),
        (Direction::Narrows, "decided more strictly"),
        (Direction::Reason, "denied for another reason"),
    ] {
        if of(direction) > 0 {
            let noun = if of(direction) == 1 { "kind" } else { "kinds" };
            parts.push(format!("{} {noun} of requests {words}", of(direction)));
        }
    }
    if !d.moved.is_empty() {
        parts.push(format!("{} moved", count(d.moved.len(), "mount")));
    }
    for (list, words) in [(&d.added, "added"), (&d.removed, "removed")] {
        if !list.is_empty() {
            parts.push(format!("{} {words}", count(list.len(), "context")));
        }
    }
    if !d.renamed.is_empty() {
        parts.push(format!("{} renamed", count(d.renamed.len(), "context")));
    }
    if !d.unproved.is_empty() {
        parts.push(format!("{} not proved", count(d.unproved.len(), "question")));
    }
    parts.join(", ")
}

/// For a terminal.
pub(super) fn human(d: &Difference, color: bool) -> String {
    let paint = |text: &str, code: u8| match color {
        true => format!("\u{1b}[1;{code}m{text}\u{1b}[0m"),
        false => text.to_owned(),
    };
    let mut out = String::new();
    // Writing to a string does not fail.
    for (from, to) in &d.renamed {
        let _ = writeln!(out, "the context `{from}` is called `{to}` now, and decides the same\n");
    }
    for name in &d.added {
        let _ = writeln!(out, "the context `{name}` is new\n");
    }
    for name in &d.removed {
        let _ = writeln!(out, "the context `{name}` is gone\n");
    }
    for m in &d.moved {
        let word = if m.inside { paint("narrows", 33) } else { paint("widens", 31) };
        let (context, mount) = (&m.context, &m.mount);
        let _ = writeln!(
            out,
            "{word} {context}: the mount `{mount}` was `{}` and is `{}`: the same paths are other files\n",
            m.before, m.after
        );
    }
    for (class, phases) in in_phases(&d.classes) {
        let word = match class.direction {
            Direction::Widens => paint("widens", 31),
            Direction::Narrows => paint("narrows", 33),
            Direction::Reason => paint("reason", 36),
        };
        let change = &class.change;
        let _ = writeln!(out, "{word} {}: {}", class.context, asked(&change.ask));
        let _ = writeln!(
            out,
            "  {} ({}) → {} ({})  in {}",
            change.before.0,
            change.before.1,
            change.after.0,
            change.after.1,
            names(&phases)
        );
        for rule in &class.rules {
            let _ = writeln!(out, "  {}: {}:{}: {}", rule.side, rule.file, rule.line, rule.text);
        }
        out.push('\n');
    }
    for unproved in &d.unproved {
        let _ = writeln!(out, "{}: {unproved}\n", paint("not proved", 33));
    }
    out + &summary(d) + "\n"
}

/// For programs.
pub(super) fn json(d: &Difference) -> String {
    let answer = |(effect, reason): crate::compare::Answer| json!({ "effect": effect.name(), "reason": reason.name() });
    let changes = d.classes.iter().map(|class| {
        let change = &class.change;
        let request = change.ask.request(&class.context, Phase::Default).map(|mut r| {
            r.context = None;
            r
        });
        let rules = class
            .rules
            .iter()
            .map(|r| json!({ "side": r.side, "file": r.file, "line": r.line, "text": r.text }));
        json!({
            "context": class.context,
            "phase": change.phase.name(),
            "direction": class.direction.name(),
            "before": answer(change.before),
            "after": answer(change.after),
            "request": request,
            "where": place(class),
            "rules": rules.collect::<Vec<_>>(),
        })
    });
    let changes = changes.collect::<Vec<_>>();
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| drop(out.insert(key.to_owned(), value));
    put("equivalent", json!(d.equivalent()));
    put("proved", json!(d.unproved.is_empty()));
    put("changes", json!(changes));
    let moved = d.moved.iter().map(|m| {
        json!({
            "context": m.context, "mount": m.mount, "before": m.before, "after": m.after,
            "direction": if m.inside { "narrows" } else { "widens" },
        })
    });
    put("moved", json!(moved.collect::<Vec<_>>()));
    let renamed = d.renamed.iter().map(|(from, to)| json!({ "before": from, "after": to }));
    put("renamed", json!(renamed.collect::<Vec<_>>()));
    put("added", json!(d.added));
    put("removed", json!(d.removed));
    put("unproved", json!(d.unproved));
    serde_json::to_string_pretty(&Value::Object(out)).unwrap_or_default() + "\n"
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '|' => out.push_str("\\|"),
            '\n' | '\r' => out.push(' '),
            '<' => out.push_str("&lt;"),
            c => out.push(c),
        }
    }
    out
}

/// For a comment on a pull request.
pub(super) fn markdown(d: &Difference, old: &str, new: &str) -> String {
    let mut out = format!("### Policy: `{}` → `{}`\n\n", cell(old), cell(new));
    let verdict = match (d.equivalent(), d.widens()) {
        (true, _) => "✅ ",
        (_, true) => "⚠️ ",
        _ => "",
    };
    // Writing to a string does not fail.
    let _ = writeln!(out, "{verdict}**{}**\n", summary(d));
    for (from, to) in &d.renamed {
        let _ = writeln!(out, "- context `{}` is called `{}` now", cell(from), cell(to));
    }
    for m in &d.moved {
        let (context, mount) = (cell(&m.context), cell(&m.mount));
        let _ = writeln!(
            out,
            "- `{context}`: mount `{mount}` was `{}` and is `{}`",
            cell(&m.before),
            cell(&m.after)
        );
    }
    let classes = in_phases(&d.classes);
    if !classes.is_empty() {
        out.push_str("\n| | context | request | before | after | phases | rules |\n");
        out.push_str("|---|---|---|---|---|---|---|\n");
    }
    for (class, phases) in classes {
        let rules = class
            .rules
            .iter()
            .map(|r| format!("{}: `{}:{}` {}", r.side, cell(&r.file), r.line, cell(&r.text)));
        let change = &class.change;
        let _ = writeln!(
            out,
            "| {} | `{}` | {} | {} ({}) | {} ({}) | {} | {} |",
            class.direction.name(),
            cell(&class.context),
            cell(&asked(&change.ask)),
            change.before.0,
            change.before.1,
            change.after.0,
            change.after.1,
            names(&phases),
            rules.collect::<Vec<_>>().join("<br>"),
        );
    }
    for unproved in &d.unproved {
        let _ = writeln!(out, "\n- not proved: {}", cell(unproved));
    }
    out
}
