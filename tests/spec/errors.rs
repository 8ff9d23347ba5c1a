//! Every kind of syntax error, with what is said of it.

use super::{lines, parsed, said};
use insta::assert_snapshot;
use std::fmt::Write;

/// All of a group's texts with what is said of each; each holds one mistake.
fn each(texts: &[&str]) -> String {
    let mut out = String::new();
    for text in texts {
        let n = parsed(text).1.len();
        let _ =
            writeln!(out, "## {}{text}\n\n{}", if n == 1 { "" } else { "(not one) " }, said(text));
    }
    out
}

/// The same, each inside a context.
fn in_context(texts: &[&str]) -> String {
    let texts: Vec<String> =
        texts.iter().map(|t| format!("context a {{\n  {t}\n  hide \"z\"\n}}")).collect();
    each(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn seven_mistakes_are_seven_errors() {
    let text = include_str!("seven.mero");
    assert_snapshot!(said(text));
    assert_eq!(lines(text).len(), 7);
    let (file, ..) = parsed(text);
    // What is sound around them is still there.
    assert_eq!(file.items.len(), 4);
}

#[test]
fn strings() {
    assert_snapshot!(in_context(&[
        r#"hide "*.pem"#,
        "hide \"one\ntwo\"",
        r#"hide "\d+""#,
        r#"hide "\u{110000}""#,
        r#"hide "\u41""#,
        "hide '*.pem'",
        "hide “*.pem”",
        "hide 'a\"b'",
        "hide it's",
        r#"hide r"abc"#,
        r##"hide r#"abc""##,
        "commands { deny re\"abc }",
    ]));
}

#[test]
fn comments() {
    assert_snapshot!(in_context(&["# a comment", "allow read # why", "/* a\n b */ allow read"]));
}

#[test]
fn braces() {
    assert_snapshot!(each(&[
        "context a {\n  allow read\n",
        "context a {\n  mount root at \"x\" {\n    allow read\n}\ncontext b { }\n",
        "context a {\n  mount root at \"x\" {\n    allow read\n  hide \"y\"\n}\n",
        "context a {\n  allow read\n}\n}\ncontext b { }\n",
        "context a {\n  mount root at \"x\" { allow read } }\n  hide \"x\"\n}\n",
        "context a\n  allow read\n}\ncontext b { }\n",
        "context a {\n  mount root at \"x\"\n    allow read\n  }\n  hide \"y\"\n}\n",
        "context a {\n  commands\n    allow \"x\"\n  }\n}\n",
        "tool t requires a:b }\n",
        "}",
        "{",
        "context a { allow read",
        "context a",
    ]));
}

#[test]
fn keywords() {
    assert_snapshot!(in_context(&[
        "alow read",
        "Deny write",
        "permissions: [read, write]",
        "block write",
        "ignore \"*.pem\"",
        "mont root at \"x\" { alow read }",
        "requires a:b",
        "frobnicate 1",
        "context b { }",
        "import \"x\"",
    ]));
    assert_snapshot!(
        "keywords_at_the_top",
        each(&[
            "contexts a { allow read }",
            "agent a { allow read }",
            "allow read\n",
            "version 1",
            "context a { }\nedition 1\n",
            "hello",
            "\"hello\"",
            "edition one",
            "edition = 1",
            "edition 2",
        ])
    );
}

#[test]
fn fields() {
    assert_snapshot!(in_context(&[
        "allow = read",
        "allow: read",
        "allow:read",
        "allow read, write",
        "allow read write",
        "allow read |",
        "allow",
        "allow *",
        "allow \"git status\"",
        "allow read \"/x\"",
        "allow read,",
        "allow read;",
        "allow read & write",
        "allow [read, write]",
    ]));
}

#[test]
fn lists() {
    assert_snapshot!(in_context(&[
        "hide *.pem",
        "hide .env, *.pem",
        "hide \"a\" \"b\"",
        "hide",
        "hide [\"a\", \"b\"]",
        "hide re\"x\"",
        "use a b",
        "use",
        "use \"a\"",
        "use std:x",
        "phases plan default",
        "grants \"a:b\"",
        "grants a/b",
        "env CI",
        "hide , \"a\"",
    ]));
}

#[test]
fn blocks() {
    assert_snapshot!(in_context(&[
        "mount root \"x\" { allow read }",
        "mount root at x { allow read }",
        "mount root att \"x\" { allow read }",
        "mount at \"x\" { allow read }",
        "mount \"root\" at \"x\" { allow read }",
        "mount root at \"x\" allow read",
        "mount root = \"x\" { }",
        "mount root at \"x\"",
        "on { deny write }",
        "on *.md { deny write }",
        "commands { allow git status }",
        "commands { allow read }",
        "commands { allow readonly }",
        "commands { alow \"x\" }",
        "commands { allow \"x\", \"y\" }",
        "commands { allow \"x\" except }",
        "commands { otherwise maybe }",
        "commands { allow re \"x\" }",
        "commands: { allow \"x\" }",
        "tools { allow grep }",
        "tools { allow re\"x\" }",
    ]));
}

#[test]
fn items() {
    assert_snapshot!(each(&[
        "context { }",
        "context \"a\" { }",
        "context wörker { }",
        "context a narrow b { }",
        "context a narrows { }",
        "permission edit read | write",
        "permission edit: read",
        "param X = ./x",
        "param \"x\"",
        "manager m approve a",
        "manager m approves",
        "import common.mero",
        "import common",
        "tool t { require a:b }",
        "tool t { uses \"read\" }",
        "tool t { ability }",
        "@allow(x)\ncontext a { }",
        "@alow(x, \"y\")\ncontext a { }",
        "@allow(x, y)\ncontext a { }",
        "context a { allow read @allow(x, \"y\") }",
    ]));
}

#[test]
fn tests_and_assertions() {
    assert_snapshot!(each(&[
        "test a { allow \"/x\" }",
        "test a { allow read }",
        "test a { allow read /x }",
        "test a { allow run git status }",
        "test a { allow }",
        "test a { expect read \"/x\" }",
        "test a { allow read \"/x\" because \"denied\" }",
        "test a { allow read \"/x\" becuase denied }",
        "test a { deny argv [\"a\" }",
        "test a { in { } }",
        "test a { in plan deny read \"/x\" }",
        "assert a read \"x\"",
        "assert a nver read \"x\"",
        "assert a always read \"x\"",
        "assert a never read",
        "assert a never read x",
        "assert a never \"x\"",
        "assert a never read \"x\" in",
        "assert a never read \"x\" unless \"y\"",
        "assert a never permission execute \"x\"",
    ]));
}

#[test]
fn errors_in_blocks_with_a_wrong_head_come_out_too() {
    let text = "context a {\n  mont root at \"x\" {\n    alow read\n    commands { deny git }\n  }\n}\ncontext { allow = read }\n";
    assert_eq!(lines(text).len(), 5, "{}", said(text));
}

#[test]
fn the_tree_of_what_did_parse() {
    let (file, ..) =
        parsed("context a { alow read }\ncontext b { hide x\n allow read }\nprofile c { }");
    assert_eq!(
        super::dump(&file),
        "{\"context\":{\"name\":\"a\",\"narrows\":null,\"body\":[]}}\n{\"context\":{\"name\":\"b\",\"narrows\":null,\"body\":[]}}\n  {\"field\":{\"field\":\"allow\",\"set\":[\"read\"]}}\n{\"profile\":{\"name\":\"c\",\"body\":[]}}\n"
    );
}

#[test]
fn mistakes_of_several_kinds_do_not_disturb_one_another() {
    let text = "context a {\n  mount root at \"x\" {\n    allow read\n  commands { allow \"x\" }\n  hide \"a\n}\ncontext b { allow read }\n}\nprofile p { allow write | }\n";
    assert_snapshot!(said(text));
    assert_eq!(lines(text).len(), 4);
    assert_eq!(parsed(text).0.items.len(), 3);
}
