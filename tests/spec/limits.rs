//! Sizes, encodings, and texts that nobody means.

use super::tree::EXAMPLE;
use super::{lines, parsed, said};
use insta::assert_snapshot;
use meroc::limits::{MAX_FILE_BYTES, MAX_NESTING, MAX_SYNTAX_ERRORS};
use meroc::source::{FileId, SourceMap};
use meroc::syntax::{ast::File, decode, parse};
use proptest::prelude::*;
use std::time::{Duration, Instant};

#[test]
fn bytes_to_text() {
    assert_eq!(decode(FileId(0), b"\xef\xbb\xbfedition 1").unwrap(), "edition 1");
    assert_eq!(decode(FileId(0), b"").unwrap(), "");
    let error = decode(FileId(0), b"a\nb\xff").unwrap_err();
    assert_eq!(error.code.name, "not-utf8");
    assert_eq!(error.message, "the file is not UTF-8 text: byte 0xff at offset 3, line 2");
    assert_eq!(
        decode(FileId(0), b"\xff\xfec\0").unwrap_err().help.unwrap(),
        "it looks like UTF-16; save it as UTF-8"
    );
    let error = decode(FileId(0), &vec![b' '; MAX_FILE_BYTES + 1]).unwrap_err();
    assert_eq!(error.code.name, "too-large");
}

/// Codes found in a text, and that it took no longer than it may.
fn codes(text: &str, limit: Duration) -> Vec<&'static str> {
    let start = Instant::now();
    let (_, found) = parse(FileId(0), text);
    assert!(start.elapsed() < limit, "took {:?} for {:?}", start.elapsed(), text.get(..20));
    found.iter().map(|d| d.code.name).collect()
}

#[test]
fn hostile_sizes_answer_quickly() {
    let quick = Duration::from_secs(30);
    assert_eq!(codes(&"{".repeat(50 << 20), quick), ["too-large"]);
    assert_eq!(codes(&"{".repeat(MAX_FILE_BYTES), quick), ["too-deep"]);
    assert_eq!(codes(&"mount a at \"a\" {".repeat(100_000), quick), ["too-deep"]);
    assert_eq!(codes(&"context a { mount a at \"a\" {".repeat(100_000), quick), ["too-deep"]);
    assert_eq!(codes(&"(".repeat(100_000), quick), ["too-deep"]);
}

#[test]
fn megabytes_of_mistakes_take_linear_time() {
    let long = Duration::from_secs(120);
    for text in [
        "}",
        "allow ",
        "a ",
        "\"",
        "'",
        "\"\n",
        "a\n",
        ",",
        "context a {} }\n",
        "@",
        "\u{a0}",
        "# x\n",
        "context a { b }",
        "use a, ",
        "context a { allow allow | ",
        "r#\"",
        "/*",
        "//\n",
        "\u{200b}a",
    ] {
        let n = (MAX_FILE_BYTES / 2) / text.len();
        let found = codes(&text.repeat(n), long);
        assert!(found.len() <= MAX_SYNTAX_ERRORS * 5, "{text:?}: {}", found.len());
    }
    let chain = format!("context a {{ {} }}", "allow ".repeat(1 << 20));
    codes(&chain, long);
    let list = format!("context a {{ hide {} }}", "\"a\", ".repeat(1 << 20));
    assert_eq!(codes(&list, long), [""; 0]);
}

#[test]
fn eight_megabytes_of_sound_text() {
    let n = MAX_FILE_BYTES / (EXAMPLE.len() + 1);
    let body = EXAMPLE.strip_prefix("edition 1\n").unwrap();
    let text = body.repeat(n);
    assert_eq!(codes(&text, Duration::from_secs(120)), [""; 0]);
}

#[test]
fn nesting_up_to_the_limit() {
    let nested = |n: usize| {
        format!("context a {{ {} {} }}", "mount a at \"a\" { ".repeat(n - 1), "}".repeat(n - 1))
    };
    assert_eq!(lines(&nested(MAX_NESTING)), Vec::<String>::new());
    assert_snapshot!(said(&nested(MAX_NESTING + 1).replace("{ ", "{\n")));
}

#[test]
fn only_so_many_errors() {
    let text = "context a {\n  alow read\n".to_owned() + &"  alow read\n".repeat(100) + "}";
    let (_, found, _) = parsed(&text);
    assert_eq!(found.len(), MAX_SYNTAX_ERRORS);
    assert!(found.last().unwrap().help.as_ref().unwrap().contains("left out"));
}

/// All places lie inside the text, on character boundaries, in order.
fn sane(text: &str) -> File {
    let mut sources = SourceMap::default();
    let id = sources.add("p", text);
    let (file, found) = parse(id, text);
    for d in &found {
        let spans = d.labels.iter().map(|l| l.span).chain([d.primary.span]);
        for span in spans.chain(d.fix.iter().map(|e| e.span)) {
            assert!(text.get(span.range()).is_some(), "{:?} {}", span, d.message);
        }
    }
    let _ = meroc::diag::render::human(&found, &sources, false);
    file
}

#[test]
fn every_prefix_and_every_gap() {
    for i in 0..EXAMPLE.len() {
        if EXAMPLE.is_char_boundary(i) {
            let _ = sane(&EXAMPLE[..i]);
            let _ = sane(&format!("{}{}", &EXAMPLE[..i], EXAMPLE.get(i + 1..).unwrap_or("")));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_parses_to_something(text in "\\PC{0,200}") {
        let _ = sane(&text);
    }

    #[test]
    fn any_bytes_decode_or_do_not(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(text) = decode(FileId(0), &bytes) {
            let _ = sane(&text);
        }
    }

    #[test]
    fn tokens_in_any_order(words in proptest::collection::vec(prop::sample::select(vec![
        "context", "a", "{", "}", "mount", "at", "\"x\"", "allow", "read", "|", ",", "\n", "commands",
        "tools", "on", "use", "test", "assert", "never", "in", "plan", "@allow(x, \"y\")", "re\"x\"",
        "'", "\"", "//", "///d\n", "#", "=", "[", "]", "(", ")", "edition 1", "std::x", "\u{200b}", "é",
    ]), 0..60)) {
        let _ = sane(&words.join(" "));
    }

    #[test]
    fn mutated_examples(at in 0..EXAMPLE.len(), len in 0usize..20, new in "\\PC{0,3}") {
        let mut end = (at + len).min(EXAMPLE.len());
        while !EXAMPLE.is_char_boundary(end) { end += 1; }
        let mut at = at;
        while !EXAMPLE.is_char_boundary(at) { at -= 1; }
        let _ = sane(&format!("{}{new}{}", &EXAMPLE[..at], &EXAMPLE[end..]));
    }
}
