//! Invisible and look-alike characters.

use super::{lines, parsed, said};
use insta::assert_snapshot;
use meroc::diag::Level;

#[test]
fn outside_strings_they_are_errors() {
    assert_snapshot!(said(
        "context\u{a0}a {\n  al\u{200b}low read\n  // \u{202e} backwards\n  hide \"x\"\u{feff}\n}\r"
    ));
}

#[test]
fn in_strings_they_are_warnings() {
    let text = "context a { hide \"a\u{200b}b\", r\"c\u{202e}d\", \"\u{a0}\" }";
    assert_snapshot!(said(text));
    let (file, found, _) = parsed(text);
    assert!(found.iter().all(|d| d.level == Level::Warning));
    assert_eq!(found[0].fix[0].text, "\\u{200b}");
    assert!(found[1].fix.is_empty(), "raw strings have no escapes");
    assert_eq!(file.items.len(), 1);
}

#[test]
fn prose_in_comments_is_left_alone() {
    let text = "// caf\u{e9}\u{a0}! \u{26a0}\u{fe0f} 1\u{fe0f}\u{20e3} \u{1f468}\u{200d}\u{1f469} \u{3000}\ncontext a { }";
    assert_eq!(lines(text), Vec::<String>::new());
    assert_eq!(lines("// a\u{200b}b").len(), 1);
}

#[test]
fn look_alikes_are_named() {
    // The first word has a Cyrillic `е`, the second is Russian throughout.
    assert_snapshot!(said(
        "context a { hide \"s\u{435}crets\", \"секреты/отчёт.txt\", \"données\" allow read }"
    ));
    assert_eq!(lines("context a { hide \"a／b\" }").len(), 1);
}
