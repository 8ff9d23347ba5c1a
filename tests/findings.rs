//! Literate specification of the findings: `tests/findings/NAME.md`, one file a finding.
//!
//! Each `mero` block is a policy. A line that ends in `//~ NAME` is where a finding of
//! that name begins (several names are separated by blanks), and nothing else of the
//! file's own group is found in the block; other groups' findings and other notes may go
//! unmarked, or every policy here would have to be fit for use. `//~ NAME ! TEXT` also wants TEXT in the finding's
//! message or help, `//~ NAME ? TEXT` in its witness. A block without marks is a near
//! miss: nothing is found. Every file has both, and every witness is confirmed by a
//! table that is compiled here.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use mero_runtime::Phase;
use meroc::diag::registry;
use meroc::diag::{Diagnostic, Level};
use meroc::driver::{Analysis, Memory, analyse};
use meroc::request::{Judge, Request};
use meroc::table;
use std::collections::BTreeSet;
use std::path::PathBuf;

struct Block {
    file: String,
    line: usize,
    text: String,
}

fn files() -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/findings");
    let mut out = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        out.push((name, std::fs::read_to_string(&path).unwrap()));
    }
    out.sort();
    out
}

fn blocks(file: &str, text: &str) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        if line == "```mero" {
            inside = true;
            out.push(Block { file: file.to_owned(), line: number + 1, text: String::new() });
        } else if line == "```" {
            inside = false;
        } else if inside {
            let block = out.last_mut().unwrap();
            block.text += line;
            block.text.push('\n');
        }
    }
    out
}

fn analysed(block: &Block) -> Analysis {
    let files = [(PathBuf::from("p.mero"), block.text.clone().into_bytes())].into();
    analyse(&Memory { files, input: Vec::new() }, "p.mero").unwrap()
}

/// What is expected on a line: name, and a text wanted in message or help, or witness.
fn marks(line: &str) -> Vec<(String, Option<(char, String)>)> {
    let Some((_, marks)) = line.split_once("//~ ") else { return Vec::new() };
    for sign in ['!', '?'] {
        if let Some((name, text)) = marks.split_once(&format!(" {sign} ")) {
            return vec![(name.trim().to_owned(), Some((sign, text.trim().to_owned())))];
        }
    }
    marks.split_whitespace().map(|n| (n.to_owned(), None)).collect()
}

fn told(d: &Diagnostic) -> String {
    format!(
        "{}: {} {:?} {:?}",
        d.code.name,
        d.message,
        d.help,
        d.witness.as_ref().map(|w| &w.request)
    )
}

/// Compares a block with its marks; gives what is wrong.
fn judge(block: &Block) -> Vec<String> {
    let analysis = analysed(block);
    let mut wrong = Vec::new();
    let mut left: Vec<(usize, &Diagnostic)> = analysis
        .diagnostics
        .iter()
        .map(|d| (analysis.sources().position(d.primary.span).line as usize, d))
        .collect();
    for (index, line) in block.text.lines().enumerate() {
        for (name, wanted) in marks(line) {
            let at = |(l, d): &(usize, &Diagnostic)| *l == index + 1 && d.code.name == name;
            let Some(position) = left.iter().position(at) else {
                wrong.push(format!("line {}: no {name}", block.line + index + 1));
                continue;
            };
            let (_, found) = left.remove(position);
            let text = match &wanted {
                Some(('!', _)) => {
                    format!("{} {}", found.message, found.help.as_deref().unwrap_or(""))
                }
                _ => found
                    .witness
                    .as_ref()
                    .map_or_else(String::new, |w| serde_json::to_string(&w.request).unwrap()),
            };
            if let Some((_, wanted)) = wanted
                && !text.contains(&wanted)
            {
                wrong.push(format!("line {}: {text:?} lacks {wanted:?}", block.line + index + 1));
            }
        }
    }
    let own = registry::find(&block.file).unwrap();
    let counts = |d: &Diagnostic| {
        d.code.id == own.id
            || d.level == Level::Error
            || (d.level == Level::Warning && d.code.group == own.group)
    };
    left.retain(|(_, d)| counts(d));
    wrong.extend(left.iter().map(|(l, d)| format!("line {}: also {}", block.line + l, told(d))));
    wrong
}

#[test]
fn blocks_have_the_findings_that_they_mark() {
    let mut wrong = Vec::new();
    for (file, text) in files() {
        for block in blocks(&file, &text) {
            wrong.extend(judge(&block).into_iter().map(|w| format!("{}.md {w}", block.file)));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_finding_of_check_has_a_file_that_fires_it_and_a_near_miss() {
    let files = files();
    let names = files.iter().map(|(n, _)| n.as_str()).collect::<BTreeSet<_>>();
    let own = |id: &str| id > "M03" && names.contains(registry::find(id).unwrap().name);
    // No policy brings `phase-order` about: it would be a fault of the checker's own.
    for code in registry::ALL.iter().filter(|c| c.id > "M03" && c.name != "phase-order") {
        assert!(own(code.id), "tests/findings/{}.md is missing", code.name);
    }
    for (name, text) in &files {
        let code = registry::find(name).unwrap_or_else(|| panic!("{name}.md is of no finding"));
        let blocks = blocks(name, text);
        let fires = |b: &Block| b.text.lines().flat_map(marks).any(|(n, _)| n == code.name);
        assert!(blocks.iter().any(fires), "{name}.md never fires");
        let silent = |b: &Block| !b.text.contains("//~");
        assert!(blocks.iter().any(silent), "{name}.md has no near miss");
    }
}

#[test]
fn every_witness_is_confirmed() {
    let mut confirmed = 0;
    for (file, text) in files() {
        for block in blocks(&file, &text) {
            let analysis = analysed(&block);
            let witnesses =
                analysis.diagnostics.iter().filter_map(|d| Some((d, d.witness.as_ref()?)));
            let witnesses = witnesses.collect::<Vec<_>>();
            if witnesses.is_empty() {
                continue;
            }
            let compiled = table::compile(&analysis.policy, table::Options::default()).unwrap();
            let judge = Judge::new(&compiled.bytes, &analysis.policy).unwrap();
            for (d, witness) in witnesses {
                let value = serde_json::Value::Object(witness.request.clone());
                let request: Request = serde_json::from_value(value).unwrap();
                let phase =
                    request.phase.as_deref().map_or(Phase::Default, |p| Phase::parse(p).unwrap());
                let context = request.context.as_deref().expect("a witness names its context");
                let (effect, reason) = judge.decide(context, phase, &request.ask().unwrap());
                assert_eq!(
                    (effect.name(), reason.name()),
                    (witness.effect, witness.reason),
                    "{file}.md line {}: {}",
                    block.line,
                    told(d)
                );
                confirmed += 1;
            }
        }
    }
    assert!(confirmed > 0 || registry::ALL.iter().all(|c| c.level == Level::Error));
}
