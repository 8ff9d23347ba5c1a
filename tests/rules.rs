//! The registry of findings and its pages: every code has a page whose example
//! fires it, and nothing else, and whose repaired form has no finding.
//!
//! A block with `// file: NAME` lines is split into files there; the first one is
//! the policy. `⟨U+XXXX⟩` stands for a character that cannot be seen.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use meroc::diag::registry::{self, Code, Group};
use meroc::diag::{Diagnostic, Level};
use meroc::driver::{Analysis, Memory, analyse};
use meroc::limits::{MAX_FILE_BYTES, MAX_NESTING};
use meroc::table;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The text between a heading and the next one of its level.
fn section<'p>(code: &Code, title: &str) -> &'p str {
    let heading = format!("\n## {title}\n");
    let (_, rest) = code.page.split_once(&heading).unwrap_or_else(|| {
        panic!("the page of {} has no section `{title}`", code.id);
    });
    rest.split("\n## ").next().unwrap_or(rest)
}

/// The `mero` blocks of a section.
fn blocks(section: &str) -> Vec<String> {
    section
        .split("```mero\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or(rest).to_owned())
        .collect()
}

/// A world with the files of a block, and the first one's name.
fn world(block: &str) -> (Memory, String) {
    let mut text = block.to_owned();
    while let Some((before, rest)) = text.split_once("⟨U+") {
        let (number, after) = rest.split_once('⟩').expect("a character's number");
        let c = char::from_u32(u32::from_str_radix(number, 16).unwrap()).unwrap();
        text = format!("{before}{c}{after}");
    }
    let mut files: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("// file: ") {
            files.push((name.to_owned(), String::new()));
            continue;
        }
        if files.is_empty() {
            files.push(("policy.mero".to_owned(), String::new()));
        }
        let last = &mut files.last_mut().unwrap().1;
        last.push_str(line);
        last.push('\n');
    }
    let first = files[0].0.clone();
    let files = files.into_iter().map(|(n, t)| (PathBuf::from(n), t.into_bytes()));
    (Memory { files: files.collect(), input: Vec::new() }, first)
}

fn of_bytes(bytes: Vec<u8>) -> Analysis {
    let files = [(PathBuf::from("policy.mero"), bytes)].into();
    analyse(&Memory { files, input: Vec::new() }, "policy.mero").unwrap()
}

fn of_block(block: &str) -> Analysis {
    let (memory, first) = world(block);
    analyse(&memory, &first).unwrap()
}

/// What a page describes and cannot show.
fn constructed(code: &Code) -> Option<Analysis> {
    let repaired = || blocks(section(code, "Repaired")).remove(0);
    Some(match code.name {
        "not-utf8" => {
            let text = repaired();
            let at = text.find('é').expect("a letter that Latin-1 has");
            let (before, after) = (&text[..at], &text[at + 'é'.len_utf8()..]);
            of_bytes([before.as_bytes(), b"\xe9", after.as_bytes()].concat())
        }
        "too-large" => {
            let mut bytes = repaired().into_bytes();
            bytes.extend(b"// padding\n".repeat(MAX_FILE_BYTES / 11));
            bytes.truncate(MAX_FILE_BYTES + 1);
            assert_eq!(bytes.len(), MAX_FILE_BYTES + 1);
            of_bytes(bytes)
        }
        "too-deep" => {
            let mount = |i: usize| {
                let name = if i == 0 { "root".to_owned() } else { format!("m{i}") };
                format!("mount {name} at \"./m{i}\" {{ allow read\n")
            };
            let mounts = (0..MAX_NESTING).map(mount).collect::<String>();
            of_bytes(format!("context worker {{\n{mounts}{}", "}".repeat(65)).into_bytes())
        }
        _ => return None,
    })
}

fn told(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics.iter().map(|d| format!("{} {}: {}", d.code.id, d.code.name, d.message)).collect()
}

/// The finding that no policy can bring about: it would be a fault of the checker's own.
const NEVER: &str = "phase-order";

/// Whether a finding counts on the page of a code; else every example would need tests.
fn matters(code: &Code, d: &Diagnostic) -> bool {
    d.code.id == code.id || d.level > Level::Note || d.code.group != Group::Tests
}

#[test]
fn every_example_fires_its_code_and_no_other() {
    for code in registry::ALL {
        let analyses = match constructed(code) {
            Some(analysis) => vec![analysis],
            None => blocks(section(code, "Example")).iter().map(|b| of_block(b)).collect(),
        };
        if code.name == NEVER {
            continue;
        }
        assert!(!analyses.is_empty(), "the page of {} has no example", code.id);
        for mut analysis in analyses {
            analysis.diagnostics.retain(|d| matters(code, d));
            let told = told(&analysis.diagnostics);
            assert!(!told.is_empty(), "the example of {} has no finding", code.id);
            assert!(
                analysis.diagnostics.iter().all(|d| d.code.id == code.id),
                "the example of {} has {told:#?}",
                code.id
            );
            assert!(
                analysis.diagnostics.iter().all(|d| d.level == code.level),
                "the example of {} is not reported at its level",
                code.id
            );
        }
    }
}

#[test]
fn no_repaired_form_has_a_finding() {
    for code in registry::ALL {
        let repaired = blocks(section(code, "Repaired"));
        if code.name == NEVER {
            continue;
        }
        assert!(!repaired.is_empty(), "the page of {} has no repaired form", code.id);
        for block in repaired {
            let analysis = of_block(&block);
            let found = analysis.diagnostics.iter().filter(|d| matters(code, d));
            let found = found.cloned().collect::<Vec<_>>();
            assert!(found.is_empty(), "the repaired {} has {:#?}", code.id, told(&found));
            let compiled = table::compile(&analysis.policy, table::Options::default());
            assert!(compiled.is_ok(), "the repaired {} does not compile", code.id);
        }
    }
}

#[test]
fn every_page_has_its_parts() {
    for code in registry::ALL {
        let level = match code.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        };
        let head = format!(
            "# {} {}\n\nLevel: {level}. Group: {}.\n\n",
            code.id,
            code.name,
            code.group.name()
        );
        assert!(code.page.starts_with(&head), "the page of {} begins otherwise", code.id);
        assert!(code.page.contains("\n**Why it matters.** "), "{} says no why", code.id);
        let silencing = section(code, "Silencing");
        let annotation = format!("@allow({}, \"", code.name);
        let said = if code.level == Level::Error { "cannot be silenced" } else { &annotation };
        assert!(silencing.contains(said), "{} does not say how it is silenced", code.id);
        let order = ["\n## Example\n", "\n## Repaired\n", "\n## Silencing\n"];
        let places = order.map(|h| code.page.find(h).unwrap());
        assert!(places.is_sorted(), "the sections of {} are in another order", code.id);
        assert!(code.page.ends_with('\n') && !code.page.ends_with("\n\n"), "{}", code.id);
    }
}

#[test]
fn the_registry_is_in_order() {
    let ids = registry::ALL.iter().map(|c| c.id).collect::<Vec<_>>();
    assert!(ids.is_sorted_by(|a, b| a < b), "codes are unique and sorted: {ids:?}");
    let names = registry::ALL.iter().map(|c| c.name).collect::<BTreeSet<_>>();
    assert_eq!(names.len(), registry::ALL.len(), "names are unique");
    for code in registry::ALL {
        let digits = code.id.strip_prefix('M').expect("M before the number");
        assert!(digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()), "{}", code.id);
        let kebab = code.name.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        });
        assert!(kebab, "`{}` is not in kebab-case", code.name);
        let group = match &digits[..2] {
            "01" => "syntax",
            "02" => "names",
            "03" if code.group == Group::Pedantic => "pedantic",
            "03" => "logic",
            "04" => "security",
            "05" => "tests",
            other => panic!("no group is numbered {other}"),
        };
        assert_eq!(code.group.name(), group, "{} is in another group", code.id);
        assert!(!code.summary.is_empty() && !code.summary.ends_with('.'), "{}", code.id);
        assert!(std::ptr::eq(registry::find(code.id).unwrap(), *code));
        assert!(std::ptr::eq(registry::find(&code.id.to_lowercase()).unwrap(), *code));
        assert!(std::ptr::eq(registry::find(code.name).unwrap(), *code));
    }
    let pages = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rules")).unwrap();
    for page in pages {
        let name = page.unwrap().file_name().into_string().unwrap();
        let id = name.strip_suffix(".md").expect("a page");
        assert!(ids.contains(&id), "the page {name} is of no code");
    }
}
