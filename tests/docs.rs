//! What the documents say and the code can check.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mero_runtime::format::{SECTIONS, Section, VERSION};
use mero_runtime::{Phase, Reason};
use meroc::diag::Level;
use meroc::driver::{Memory, analyse};
use meroc::library::{DEFAULT_WRAPPERS, HARMLESS_ENV};
use std::path::PathBuf;

const LANGUAGE: &str = include_str!("../docs/language.md");
const FORMAT: &str = include_str!("../docs/format.md");

#[test]
fn the_example_of_the_language_has_no_finding() {
    let (_, rest) = LANGUAGE.split_once("```mero\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let common = "profile no_secrets { hide \".env*\" }\n\
                  context lead { mount root at \"./workspace\" { allow read } }\n";
    let files = [("policy.mero", example), ("common.mero", common)];
    let files = files.map(|(name, text)| (PathBuf::from(name), text.as_bytes().to_vec()));
    let memory = Memory { files: files.into(), input: Vec::new() };
    let analysis = analyse(&memory, "policy.mero").unwrap();
    let found = analysis
        .diagnostics
        .iter()
        .filter(|d| d.level > Level::Note)
        .map(|d| d.message.as_str())
        .collect::<Vec<_>>();
    assert!(found.is_empty(), "{found:#?}");
    assert!(meroc::table::compile(&analysis.policy, meroc::table::Options::default()).is_ok());
}

#[test]
fn the_language_names_what_there_is() {
    let words = LANGUAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    let order = Reason::ALL.map(|r| format!("`{r}`")).join(", ");
    assert!(words.contains(&order), "the order of the reasons is {order}");
    let names = HARMLESS_ENV.map(|n| format!("`{n}`")).join(", ");
    assert!(words.contains(&names), "the harmless names are {names}");
    let wrappers = format!("(default: `{}`;", DEFAULT_WRAPPERS.join(" "));
    assert!(words.contains(&wrappers), "the wrappers are {wrappers}");
    for phase in Phase::ALL {
        assert!(LANGUAGE.contains(&format!("\n| `{phase}` | ")), "the phase {phase} has a row");
    }
}

#[test]
fn the_format_has_every_section_at_its_size() {
    assert!(FORMAT.starts_with(&format!("# The table format, version {VERSION}\n")));
    assert!(FORMAT.contains(&format!("| 52 | `u32` | number of sections: {SECTIONS} |")));
    let begin = mero_runtime::format::HEADER + SECTIONS * mero_runtime::format::DIRECTORY_ENTRY;
    assert!(FORMAT.contains(&format!("begins at byte {begin},")));
    for section in Section::ALL {
        let row =
            format!("| {} | `{}` | {} | ", section as usize, section.name(), section.record());
        assert!(FORMAT.contains(&row), "the format has the row {row}");
    }
}

/// Offsets of the fields of every record, as far as a table lists them: they are
/// gapless, and the last field ends with the record.
#[test]
fn the_fields_of_the_format_leave_no_gap() {
    let sizes = |kind: &str| match kind {
        "`u8`" | "set" | "effect" => 1,
        "`u16`" => 2,
        "`u24`" => 3,
        "`u32`" => 4,
        "string" => 5,
        "list" | "string list" => 6,
        "3 × `u24`" => 9,
        "4 × `u24`" => 12,
        "6 × `u24`" => 18,
        "`u64`" | "8 bytes" => 8,
        "32 bytes" => 32,
        other => panic!("`{other}` is no type of a field"),
    };
    let mut ends = Vec::new();
    let mut end = 0;
    for line in FORMAT.lines() {
        let cells = line.split('|').map(str::trim).collect::<Vec<_>>();
        if line.starts_with("| offset |") {
            end = 0;
        } else if let (Some(Ok(offset)), true) =
            (cells.get(1).map(|c| c.parse::<usize>()), cells.len() == 5)
        {
            assert_eq!(offset, end, "{line}");
            end += sizes(cells[2]);
        } else if end > 0 && line.is_empty() {
            ends.push(std::mem::take(&mut end));
        }
    }
    use mero_runtime::format as f;
    let expected = [
        f::HEADER,
        f::symbol::SIZE,
        f::context::SIZE,
        f::anchor::SIZE,
        f::node::SIZE,
        f::mount::SIZE,
        f::class::SIZE,
        f::island::SIZE,
        f::automaton::SIZE,
        f::path_cell::SIZE,
        f::rule_cell::SIZE,
        f::rule::SIZE,
        f::hole::SIZE,
        f::tool::SIZE,
        f::param::SIZE,
        f::file::SIZE,
        f::rule_text::SIZE,
    ];
    assert_eq!(ends, expected);
}
