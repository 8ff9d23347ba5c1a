//! What the tests of the splitter share: scripts written as text, and whether
//! an argument vector is among those a command may have.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use mero_runtime::shell::{Part, Redirect, Redirection, Script, Word, split};

pub mod cases;
pub mod generator;
pub mod more_cases;

/// Every literal case.
pub fn literal() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    cases::CASES.iter().chain(more_cases::MORE_CASES)
}

/// A script in one line: commands joined by ` ; `, `?` and `*` for what is not
/// known, `~` for the home directory, `(a|b)` for what shells disagree about.
pub fn render(source: &[u8]) -> String {
    let script = split(source);
    if let Some(opaque) = script.opaque.first() {
        return format!("!{:?}", opaque.cause);
    }
    written(&script)
}

/// The commands and redirections of a script, opaque or not.
pub fn written(script: &Script) -> String {
    let mut rows = Vec::new();
    for command in &script.commands {
        let mut row = Vec::new();
        for a in &command.assignments {
            row.push(format!("{}:={}", text(&a.name), word(&a.value)));
        }
        row.extend(command.words.iter().map(word));
        row.extend(command.redirections.iter().map(redirection));
        rows.push(row.join(" "));
    }
    let apart: Vec<String> = script.redirections.iter().map(redirection).collect();
    if !apart.is_empty() {
        rows.push(apart.join(" "));
    }
    rows.join(" ; ")
}

fn redirection(r: &Redirection) -> String {
    match r.kind {
        Redirect::Read => format!("<{}", word(&r.target)),
        Redirect::Write => format!(">{}", word(&r.target)),
        Redirect::ReadWrite => format!("<>{}", word(&r.target)),
        Redirect::Free => "&".to_owned(),
    }
}

fn word(w: &Word) -> String {
    let mut out = String::new();
    for part in &w.parts {
        match part {
            Part::Known(bytes) => out.push_str(&text(bytes)),
            Part::Either(a, b) => out.push_str(&format!("({}|{})", text(a), text(b))),
            Part::Home => out.push('~'),
            Part::Unknown { quoted: true } => out.push('?'),
            Part::Unknown { quoted: false } => out.push('*'),
        }
    }
    let vanishing = w.parts.iter().all(|p| *p == Part::Unknown { quoted: false });
    if w.parts.is_empty() || out.is_empty() || (vanishing && !w.may_vanish) {
        out.insert_str(0, "''");
    } else if w.may_vanish && w.parts.len() > 1 {
        out.insert_str(0, "()");
    }
    out
}

fn text(bytes: &[u8]) -> String {
    let mut out = String::new();
    for &b in bytes {
        match b {
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            b' ' | b'*' | b'?' | b'~' | b'<' | b'>' | b';' | b'|' | b'\\' | b'(' | b')' | b'!' => {
                out.push('\\');
                out.push(char::from(b));
            }
            0x21..=0x7E => out.push(char::from(b)),
            _ => out.push_str(&format!("\\x{b:02x}")),
        }
    }
    out
}

/// One step of the search for an argument vector in what words may be.
enum Step {
    Byte(u8),
    /// Any bytes but the end of an argument.
    Quoted,
    /// Any bytes.
    Unquoted,
    Split(usize),
    Jump(usize),
}

const HOME: &[u8] = b"/nowhere";

fn parts(steps: &mut Vec<Step>, parts: &[Part]) {
    let known = |steps: &mut Vec<Step>, bytes: &[u8]| {
        steps.extend(bytes.iter().map(|b| Step::Byte(*b)));
    };
    for part in parts {
        match part {
            Part::Known(bytes) => known(steps, bytes),
            Part::Home => known(steps, HOME),
            Part::Unknown { quoted: true } => steps.push(Step::Quoted),
            Part::Unknown { quoted: false } => steps.push(Step::Unquoted),
            Part::Either(a, b) => {
                steps.push(Step::Split(steps.len() + 2 + a.len()));
                known(steps, a);
                steps.push(Step::Jump(steps.len() + 1 + b.len()));
                known(steps, b);
            }
        }
    }
}

fn matches(steps: &[Step], input: &[u8]) -> bool {
    fn add(steps: &[Step], set: &mut Vec<usize>, seen: &mut [bool], at: usize) {
        if core::mem::replace(&mut seen[at], true) {
            return;
        }
        match steps.get(at) {
            Some(Step::Split(other)) => {
                add(steps, set, seen, at + 1);
                add(steps, set, seen, *other);
            }
            Some(Step::Jump(other)) => add(steps, set, seen, *other),
            Some(Step::Quoted | Step::Unquoted) => {
                set.push(at);
                add(steps, set, seen, at + 1);
            }
            _ => set.push(at),
        }
    }
    let fresh = || (Vec::new(), vec![false; steps.len() + 1]);
    let (mut set, mut seen) = fresh();
    add(steps, &mut set, &mut seen, 0);
    for &byte in input {
        let (mut next, mut seen) = fresh();
        for &at in &set {
            match steps.get(at) {
                Some(Step::Byte(b)) if *b == byte => add(steps, &mut next, &mut seen, at + 1),
                Some(Step::Quoted) if byte != 0 => add(steps, &mut next, &mut seen, at),
                Some(Step::Unquoted) => add(steps, &mut next, &mut seen, at),
                _ => {}
            }
        }
        set = next;
    }
    set.contains(&steps.len())
}

/// Whether words may have come out as these arguments, each ended by NUL.
pub fn covers(words: &[Word], argv: &[u8]) -> bool {
    let mut steps = Vec::new();
    for word in words {
        let hole = steps.len();
        if word.may_vanish {
            steps.push(Step::Split(0));
        }
        parts(&mut steps, &word.parts);
        steps.push(Step::Byte(0));
        if word.may_vanish {
            steps[hole] = Step::Split(steps.len());
        }
    }
    matches(&steps, argv)
}

/// Whether a command of the script, or one that `time` runs, has these
/// arguments.
pub fn runs(script: &Script, argv: &[u8]) -> bool {
    script.commands.iter().any(|command| {
        let mut words = &command.words[..];
        let mut found = covers(words, argv);
        while words.first().and_then(Word::known) == Some(b"time") {
            words = &words[1..];
            while matches!(words.first().and_then(Word::known), Some(b"-p" | b"--")) {
                words = &words[1..];
            }
            found |= covers(words, argv);
        }
        found
    })
}

/// Whether a redirection of the script creates this file.
pub fn creates(script: &Script, file: &[u8]) -> bool {
    let inner = script.commands.iter().flat_map(|c| &c.redirections);
    inner.chain(&script.redirections).any(|r| {
        let mut steps = Vec::new();
        parts(&mut steps, &r.target.parts);
        let within = [b"./", file].concat();
        matches!(r.kind, Redirect::Write | Redirect::ReadWrite)
            && (matches(&steps, file) || matches(&steps, &within))
    })
}
