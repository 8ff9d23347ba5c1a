//! Every construct, parsed.

use super::{parsed, tree};
use insta::assert_snapshot;
use meroc::syntax::ast::{ItemKind, StatementKind};

/// The example that opens the language document.
pub(super) const EXAMPLE: &str = include_str!("example.mero");

#[test]
fn the_example_of_the_language_document() {
    assert_snapshot!(tree(EXAMPLE));
}

#[test]
fn every_item() {
    assert_snapshot!(tree(
        r#####"edition 1
import "common.mero"
@allow(unused-import, "kept for the examples")
import "other.mero"
permission edit = read | write
param WORKSPACE
param HOME = "./home"
profile secrets { hide "*.pem" }
context a { }
context b narrows a { unconfined }
tool grep { requires core:fs.read, x:y uses read | edit readonly ability simple }
tool "mcp__x.y" { }
manager lead approves a, b,
test a { }
assert a never read "/x"
"#####
    ));
}

#[test]
fn every_statement() {
    assert_snapshot!(tree(
        r####"context a {
  use one, std::two,
  phases plan, default, accept_edits, trusted, bypass_permissions
  unconfined
  allow read | edit ask none deny all
  hide "*.pem", r"a\b", r#"q"q"#,
  grants core:fs.read, bare, a:b:c, x.y:z-1,
  env "CI", "LC_*"
  wrappers "timeout", "nice"
  mount root at "./x" { mount inner at "y" { on "*.md", "/a/**" { deny write ask none } } }
  commands {
    allow "git status"
    allow readonly "git (log|diff) ..." except "git log --x *", re"\bx\b",
    ask re#"a"b"#
    deny glob"rm *" deny text"rm -rf" deny glob#"a"b"# deny text#"c"# deny r"x\y" deny re"x"
    otherwise ask opaque deny env "A" wrappers "nohup"
  }
  tools { allow "file_*", "grep" ask "mcp__*" deny "bash" otherwise allow }
}"####
    ));
}

#[test]
fn every_expectation() {
    assert_snapshot!(tree(
        r#"test a {
  allow read "/x", "/y"
  deny read | write "/x" because not-granted
  ask run "git push" because approval-required
  deny argv "git", "push"
  deny argv ["git", "push",] because command-denied
  deny argv []
  allow tool "grep", "cat"
  deny permission execute | delete because denied
  in plan { deny write "/x" in default { allow read "/z" } }
}"#
    ));
}

#[test]
fn every_assertion() {
    assert_snapshot!(tree(
        r#"
assert a never write "**/.git/**"
assert a never ask read | write "x" except "y", "z" in plan, default
assert a always allow run "git status" in plan except re"x"
assert a never run glob"git push*"
assert a never allow argv "rm ..."
assert a always deny tool "bash"
assert a never permission execute in plan
assert a always deny permission execute | delete
"#
    ));
}

#[test]
fn keywords_are_names_elsewhere() {
    assert_snapshot!(tree(
        r#"
context use narrows context {
  use hide, grants, tool
  allow allow | mount
  mount read at "x" { } mount at at "y" { } mount mount at "z" { }
  grants allow:deny
}
context tools { } tool tool { } profile profile { } permission permission = read
manager manager approves test, assert
context item narrows test { phases plan }
"#
    ));
}

#[test]
fn trailing_commas_end_at_the_next_statement() {
    assert_snapshot!(tree(
        r#"context a { use b, allow read use c, hide "x", deny write grants x:y, mount m at "m" { }
  phases plan, use d, commands { } grants a:b, tools { } env "A", unconfined }
manager m approves a, test a { }
assert a never read "x" in plan, context b { }
"#
    ));
}

#[test]
fn strings_have_their_values() {
    assert_snapshot!(tree(
        r#####"context a { hide "a\"b\\c\n\t\u{e9}\u{1F600}", r"\d\", r#"say "hi" \"#, "ünï", "", r#"two
lines"# commands { deny re"\"  deny re#"["\]"# } }"#####
    ));
}

#[test]
fn documentation_belongs_to_what_follows() {
    assert_snapshot!(tree(
        r#"/// The first.
///   indented
//// a rule-off, not documentation
/// second paragraph
@allow(unused-profile, "shown in the guide")
/// after the annotation
profile a { // plain
  /// About reading.
  allow read
  /// trailing documentation belongs to nothing
}
/// B.
context b { commands { /// The rule.
    allow "x" } }
/// nothing follows
"#
    ));
}

#[test]
fn comments_are_kept_in_order() {
    let (file, ..) = parsed("// a\r\ncontext x { // b\n hide \"// no\" }\n/// c\n// d");
    let comments: Vec<_> = file.comments.iter().map(|c| c.text.as_str()).collect();
    assert_eq!(comments, ["// a", "// b", "/// c", "// d"]);
}

#[test]
fn spans_are_from_the_keyword_to_the_end() {
    let text =
        "@allow(x, \"y\")\ncontext a {\n  allow read // tail\n  mount root at \"x\" { }\n}\n";
    let (file, _, sources) = parsed(text);
    let item = &file.items[0];
    assert_eq!(sources.text(item.span), &text[15..text.len() - 1]);
    assert_eq!(sources.text(item.attributes.allows[0].span), "@allow(x, \"y\")");
    let ItemKind::Context { body, .. } = &item.kind else { panic!() };
    assert_eq!(sources.text(body[0].span), "allow read");
    assert_eq!(sources.text(body[1].span), "mount root at \"x\" { }");
    let StatementKind::Mount { slug, host, .. } = &body[1].kind else { panic!() };
    assert_eq!((sources.text(slug.span), sources.text(host.span)), ("root", "\"x\""));
}

#[test]
fn an_empty_file_is_a_file() {
    for text in ["", "\n", "// only this", "edition 1", "  \r\n\t"] {
        assert_eq!(parsed(text).1.len(), 0, "{text:?}");
    }
}
