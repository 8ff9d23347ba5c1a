//! The walk and the grammar's own `file` rule accept the same texts.

#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "a test")]

use super::grammar::{Mero, Rule};
use crate::diag::Level;
use crate::source::FileId;
use pest::Parser as _;
use proptest::prelude::*;

const EXAMPLE: &str = include_str!("../../tests/spec/example.mero");

/// Whether the walk finds no error, and whether the grammar takes the text.
fn both(text: &str) -> (bool, bool) {
    let (_, found) = super::parse(FileId(0), text);
    let sound = found.iter().all(|d| d.level < Level::Error);
    (sound, Mero::parse(Rule::file, text).is_ok())
}

#[test]
fn on_the_example_and_on_every_gap_in_it() {
    for from in 0..EXAMPLE.len() {
        let text = format!("{}{}", &EXAMPLE[..from], EXAMPLE.get(from + 1..).unwrap_or(""));
        let (walk, grammar) = both(&text);
        assert_eq!(walk, grammar, "{text}");
    }
}

#[test]
fn on_the_example_without_any_one_line_or_word() {
    for (from, _) in EXAMPLE.match_indices([' ', '\n']) {
        let rest = &EXAMPLE[from + 1..];
        for to in [rest.find(' '), rest.find('\n')].into_iter().flatten() {
            let text = format!("{}{}", &EXAMPLE[..from], &rest[to..]);
            let (walk, grammar) = both(&text);
            assert_eq!(walk, grammar, "{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn on_words_in_any_order(words in proptest::collection::vec(prop::sample::select(vec![
        "a", "b", "allow", "ask", "deny", "read", "|", ",", "\"x\"", "re\"x\"", "use", "hide", "grants",
        "a:b", "commands", "tools", "{", "}", "mount", "at", "on", "phases", "unconfined", "@allow(x, \"y\")",
        "otherwise", "except", "readonly", "env", "// c\n", "r#\"x\"#", "mount a at \"x\" {", "std::a",
    ]), 0..12)) {
        let text = format!("context a {{ {} }}", words.join(" "));
        let (walk, grammar) = both(&text);
        prop_assert_eq!(walk, grammar, "{}", text);
    }

    #[test]
    fn on_items_in_any_order(words in proptest::collection::vec(prop::sample::select(vec![
        "context", "a", "{", "}", "test", "assert", "never", "always", "allow", "read", "\"x\"", "in",
        "plan", "except", ",", "permission", "param", "=", "manager", "approves", "tool", "import",
        "edition 1", "narrows", "run", "argv", "because", "test a {", "assert a never read \"x\"",
    ]), 0..12)) {
        let text = words.join(" ");
        let (walk, grammar) = both(&text);
        prop_assert_eq!(walk, grammar, "{}", text);
    }
}
