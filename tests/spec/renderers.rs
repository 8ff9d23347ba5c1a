//! The three forms of a finding.

use insta::assert_snapshot;
use meroc::diag::{Diagnostic, Edit, Level, Witness, registry, render};
use meroc::source::{SourceMap, Span};
use serde_json::json;

fn findings() -> (Vec<Diagnostic>, SourceMap) {
    let mut sources = SourceMap::default();
    let file = sources.add("p.mero", "context a {\n\tuse é, naem // \u{1b}[31m\n}\n");
    let mut one = Diagnostic::new(
        &registry::UNDEFINED_NAME,
        Span::new(file, 21, 25),
        "no profile is named `naem`",
    )
    .here("not found")
    .label(Span::new(file, 8, 9), "used by this context")
    .witness(Witness {
        request: json!({"context": "a", "path": "/x", "permission": "read"})
            .as_object()
            .unwrap()
            .clone(),
        effect: "deny",
        reason: "outside",
    })
    .help("did you mean `name`?");
    one.fix.push(Edit { span: Span::new(file, 21, 25), text: "name".to_owned() });
    let mut two = Diagnostic::new(&registry::UNUSED_PROFILE, Span::new(file, 8, 9), "second");
    two.level = Level::Note;
    (vec![one, two], sources)
}

#[test]
fn human() {
    let (found, sources) = findings();
    assert_snapshot!(render::human(&found, &sources, false));
    assert!(render::human(&found, &sources, true).contains("\u{1b}["));
}

#[test]
fn short() {
    let (found, sources) = findings();
    assert_snapshot!(render::short(&found, &sources));
}

#[test]
fn json_leaves_out_what_is_absent() {
    let (found, sources) = findings();
    assert_snapshot!(
        serde_json::to_string_pretty(&render::json::findings(&found, &sources)).unwrap()
    );
}

#[test]
fn places_outside_the_sources_do_not_panic() {
    let d = Diagnostic::new(&registry::NOT_UTF8, Span::new(meroc::source::FileId(7), 5, 9), "x");
    let sources = SourceMap::default();
    assert!(render::human(std::slice::from_ref(&d), &sources, false).contains("M0102 not-utf8"));
    assert_eq!(render::short(&[d], &sources), "<unknown>:1:1: error[M0102]: x\n");
}
