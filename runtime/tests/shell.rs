//! Command strings and what they are taken apart into; no string, however
//! strange, stops the splitter or takes it long.
#![allow(clippy::disallowed_methods, reason = "tests run programs and read clocks")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod support;

use mero_runtime::shell::{Script, Word, split};
use proptest::prelude::*;
use std::time::{Duration, Instant};
use support::generator::Generator;

#[test]
fn literal_cases() {
    let mut wrong = String::new();
    for (source, expected) in support::literal() {
        let found = support::render(source.as_bytes());
        if found != *expected {
            wrong.push_str(&format!("    ({source:?}, {found:?}), // not {expected:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "taken apart otherwise:\n{wrong}");
}

#[test]
fn bytes_that_are_not_text() {
    assert_eq!(support::render(b"a\0b"), "!Nul");
    assert_eq!(support::render(b"a \xA0b"), "a \\xa0b");
    assert_eq!(support::render(b"a\xA0b"), "a\\xa0b");
    assert_eq!(support::render(b"a '\xFF\xFE'"), "a \\xff\\xfe");
    assert_eq!(support::render(b"a $'\\xff'"), "a (\\xff|$\\\\xff)");
}

/// Commands behind an opaque place are reported for the sake of denials.
#[test]
fn goes_on_behind_opaque_places() {
    for (source, expected) in [
        ("a; ${!x}; rm y", "a ; rm y"),
        ("a $(( x )); rm y", "rm y"),
        ("f() { rm y; }", "rm y"),
        ("a 'b; rm y", ""),
        ("a | ) ; rm y", "a ; rm y"),
    ] {
        let script = split(source.as_bytes());
        assert!(!script.opaque.is_empty(), "{source:?}");
        assert_eq!(support::written(&script), expected, "{source:?}");
    }
}

#[test]
fn where_commands_stand() {
    let source = b"a b; (c); for x in y; do d $(e); done";
    let script = split(source);
    let stands = |n: usize| &source[script.commands[n].span.clone()];
    assert_eq!(stands(0), b"a b");
    assert_eq!(stands(1), b"c");
    assert_eq!(stands(2), b"e");
    assert_eq!(stands(3), b"d $(e)");
    let depths: Vec<u16> = script.commands.iter().map(|c| c.depth).collect();
    assert_eq!(depths, [0, 1, 2, 1]);
    let repeats: Vec<bool> = script.commands.iter().map(|c| c.repeats).collect();
    assert_eq!(repeats, [false, false, true, true]);
    assert_eq!(script.variables.len(), 1);
    assert_eq!(script.variables[0].0, b"x");
}

fn in_bounds(source: &[u8], script: &Script) {
    let inside = |span: &core::ops::Range<usize>| {
        assert!(span.start <= span.end && span.end <= source.len(), "{span:?} of {source:?}");
    };
    let word = |w: &Word| inside(&w.span);
    for command in &script.commands {
        inside(&command.span);
        command.words.iter().for_each(word);
        for a in &command.assignments {
            inside(&a.span);
            word(&a.value);
        }
        for r in &command.redirections {
            inside(&r.span);
            word(&r.target);
        }
    }
    for r in &script.redirections {
        inside(&r.span);
        word(&r.target);
    }
    script.opaque.iter().for_each(|o| inside(&o.span));
    script.variables.iter().for_each(|v| inside(&v.1));
}

const TOKENS: [&str; 60] = [
    "a", "b", " ", " ", "\n", "\t", ";", "&", "|", "&&", "||", "(", ")", "{", "}", "[", "]", "<",
    ">", "<<E", "<<-E", "<<<", ">&", "&>", "<(", "$(", "$((", "))", "${", "$", "`", "'", "\"",
    "\\", "\\\n", "#", "!", "~", "*", "?", "=", "a=", "a[", "if ", "then ", "else ", "fi", "for ",
    "in ", "do ", "done", "case ", "esac", ";;", "while ", "\nE\n", "$'", "[[ ", " ]]", "{a,",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_bytes(source in proptest::collection::vec(any::<u8>(), 0..200)) {
        in_bounds(&source, &split(&source));
    }

    #[test]
    fn any_tokens(picks in proptest::collection::vec(0..TOKENS.len(), 0..60)) {
        let source: String = picks.iter().map(|p| TOKENS[*p]).collect();
        in_bounds(source.as_bytes(), &split(source.as_bytes()));
    }

    #[test]
    fn any_scripts(seed in any::<u64>()) {
        let mut generator = Generator::new(seed);
        let script = generator.script();
        in_bounds(&script, &split(&script));
        let damaged = generator.damage(&script, &script);
        in_bounds(&damaged, &split(&damaged));
    }
}

/// The longest strings of one sort, each in linear time.
#[test]
fn linear_time() {
    const MOST: usize = 1 << 20;
    let pieces = [
        "$(",
        "(",
        "`",
        "'",
        "\"",
        "${",
        "<<A ",
        "{",
        "[",
        "a=[",
        "a[",
        "{ ",
        "\\\n",
        "\\",
        "a ",
        "a;",
        "{$ ",
        "[\" ",
        "{\" ",
        "a[;",
        "<<A;",
        "<<A\n",
        "$((",
        "$((1+",
        "$'",
        "~",
        "a=~:",
        "<(",
        "a <(b) ",
        "${X-",
        "\"$(",
        "`a` ",
        "\"`a`\" ",
        "!",
        "! ",
        "if ",
        "if a; then ",
        "case x in a) ",
        "for x in ",
        "while ",
        "a|",
        "a&&",
        "1",
        "1 ",
        "12>",
        ">f ",
        "2>&1 ",
        "#",
        "#\n",
        "\n",
        " ",
        "[[ ",
        "a\\\n",
        "\\\n;",
        "{a,",
        "{a,b} ",
        "[a] ",
        "x{1..",
        "$@",
        "\"$@\"",
        "$X",
        "${X} ",
        "\u{e9}",
        "$(a)",
        "$(\n",
        "<<A $(\n)",
        "<<A `",
        "a=b ",
        "a=(",
        "f() ",
        "}",
        ")",
        ";;",
        "time ",
        "<<A\nA\n",
        "'a'",
        "$'a' ",
        "a\\ ",
        "cat <<A;cat <<B\nA\nB\n",
        "$(cat <<A\n\nA\n)",
        "&>f ",
        "{fd}>",
        "-",
        "i\\\nf",
    ];
    let tails = ["", "\n", "}", "]", ")", "'", "\"", "`", "\nA\n", "]=", ",b}"];
    for piece in pieces {
        for (n, tail) in tails.iter().enumerate() {
            let length = if n == 0 { MOST } else { MOST / 16 };
            let mut source = piece.repeat((length - tail.len()) / piece.len()).into_bytes();
            source.extend_from_slice(tail.as_bytes());
            let begin = Instant::now();
            let script = split(&source);
            let spent = begin.elapsed();
            assert!(spent < Duration::from_secs(4), "{piece:?}…{tail:?} took {spent:?}");
            if std::env::var_os("MERO_TIMES").is_some() && spent > Duration::from_millis(120) {
                println!("{piece:?}…{tail:?} {spent:?}");
            }
            in_bounds(&source, &script);
        }
    }
    assert_eq!(support::render(&vec![b'a'; MOST + 1]), "!TooLong");
}
