//! The forms of `meroc check` that other programs read: SARIF by its official schema,
//! workflow commands by GitHub's rules of escaping.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use meroc::diag::{Diagnostic, Edit, Level, Witness, registry, render};
use meroc::driver::{Memory, analyse};
use meroc::source::{SourceMap, Span};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

const SCHEMA: &str = include_str!("data/sarif-schema-2.1.0.json");

/// What the schema says against a log.
fn against(log: &Value) -> Vec<String> {
    // The pattern of a language has a bracket too many, which is no error in JavaScript.
    let schema = SCHEMA.replace("-[a-zA-Z]{2}]?$", "-[a-zA-Z]{2}?$");
    let schema = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    validator.iter_errors(log).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

fn analysed(text: &str) -> meroc::driver::Analysis {
    let files = [(PathBuf::from("p.mero"), text.as_bytes().to_vec())].into();
    analyse(&Memory { files, input: Vec::new() }, "p.mero").unwrap()
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    assert_eq!(against(&render::sarif(&[])), [""; 0]);
    assert!(!against(&json!({ "version": "2.1.0" })).is_empty());
    let mut log = render::sarif(&[]);
    log["runs"][0]["columnKind"] = json!("characters");
    assert!(!against(&log).is_empty());
}

/// The examples of all findings, each a log by itself and all in one.
#[test]
fn every_finding_is_valid_sarif() {
    let mut all = Vec::new();
    for code in registry::ALL {
        let (_, example) = code.page.split_once("\n## Example\n").unwrap();
        let Some((_, rest)) = example.split_once("```mero\n") else { continue };
        let text = rest.split("```").next().unwrap();
        let analysis = analysed(text);
        let log = render::sarif(&[(&analysis.diagnostics, analysis.sources())]);
        assert_eq!(against(&log), [""; 0], "{}", code.id);
        all.push(analysis);
    }
    let found = all.iter().map(|a| (&a.diagnostics[..], a.sources())).collect::<Vec<_>>();
    let log = render::sarif(&found);
    assert_eq!(against(&log), [""; 0]);
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(rules.len() > 15);
    let results = run["results"].as_array().unwrap();
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["help"]["markdown"].as_str().unwrap().starts_with("# M"));
        let about = rule["fullDescription"]["text"].as_str().unwrap();
        assert!(about.len() > 20 && !about.contains("Level:"), "{about}");
    }
    let prints = results.iter().map(|r| r["partialFingerprints"]["finding/v1"].as_str().unwrap());
    let mut prints = prints.collect::<Vec<_>>();
    prints.sort_unstable();
    prints.dedup();
    assert_eq!(prints.len(), results.len(), "no two results have one fingerprint");
}

fn one() -> (Vec<Diagnostic>, SourceMap) {
    let mut sources = SourceMap::default();
    let file = sources.add("./a b/über:x,y.mero", "é\n\"😀😀\", x\n");
    let std = sources.add("<std>/secrets.mero", "hide \".env\"\n");
    // Behind the two characters that are two units each.
    let span = Span::new(file, 15, 16);
    let mut d =
        Diagnostic::new(&registry::UNUSED_IMPORT, span, "100% [odd](x)\nsecond: line, {read}")
            .here("this")
            .label(Span::new(file, 0, 2), "the first")
            .label(Span::new(std, 5, 11), "hides it")
            .witness(Witness {
                request: json!({"context": "w", "path": "/x"}).as_object().unwrap().clone(),
                effect: "deny",
                reason: "hidden",
            })
            .help("remove it");
    d.fix.push(Edit { span, text: "y".to_owned() });
    d.fix.push(Edit { span: Span::new(file, 0, 0), text: "// new\n".to_owned() });
    let note = Diagnostic::new(&registry::UNTESTED_CONTEXT, Span::new(file, 0, 14), "note");
    let mut error = Diagnostic::new(&registry::FAILED_TEST, span, "error");
    error.level = Level::Error;
    (vec![d, note, error], sources)
}

#[test]
fn sarif_says_all_there_is() {
    let (found, sources) = one();
    let log = render::sarif(&[(&found, &sources)]);
    assert_eq!(against(&log), [""; 0]);
    let run = &log["runs"][0];
    assert_eq!(run["columnKind"], "utf16CodeUnits");
    let result = &run["results"][0];
    assert_eq!(
        result["locations"][0]["physicalLocation"],
        json!({
            "artifactLocation": {"uri": "a%20b/%C3%BCber%3Ax%2Cy.mero"},
            "region": {"startLine": 2, "startColumn": 9, "endLine": 2, "endColumn": 10},
        })
    );
    assert_eq!(
        result["message"]["text"],
        "100% \\[odd](x)\nsecond: line, {read}\nfor example {\"context\":\"w\",\"path\":\"/x\"} is \
         answered `deny` (hidden)\nhelp: remove it"
    );
    let related = result["relatedLocations"].as_array().unwrap();
    assert_eq!(related[0]["physicalLocation"]["region"]["endColumn"], 2);
    assert!(related[1].get("physicalLocation").is_none(), "built-in profiles are no files");
    assert_eq!(related[1]["message"]["text"], "hides it (in `std::secrets`)");
    let replacements = &result["fixes"][0]["artifactChanges"][0]["replacements"];
    assert_eq!(replacements[0]["insertedContent"]["text"], "y");
    assert_eq!(replacements[0]["deletedRegion"]["startColumn"], 9);
    assert_eq!(replacements[1]["deletedRegion"]["endColumn"], 1);
    assert_eq!(result["properties"]["witness"]["effect"], "deny");
    let levels = run["results"].as_array().unwrap().iter().map(|r| r["level"].as_str().unwrap());
    assert_eq!(levels.collect::<Vec<_>>(), ["warning", "note", "error"]);
}

#[test]
fn fingerprints_stay_when_lines_move() {
    let text = "edition 1\nprofile x { allow read }\nprofile y { allow read }\n";
    let print = |text: &str| {
        let analysis = analysed(text);
        let log = render::sarif(&[(&analysis.diagnostics, analysis.sources())]);
        let results = log["runs"][0]["results"].as_array().unwrap();
        results.iter().map(|r| r["partialFingerprints"].clone()).collect::<Vec<_>>()
    };
    let before = print(text);
    assert_eq!(before.len(), 2);
    assert_eq!(before, print(&text.replace("edition 1\n", "edition 1\n\n// a comment\n")));
}

#[test]
fn workflow_commands_are_escaped() {
    let (found, sources) = one();
    assert_eq!(
        render::github(&found, &sources),
        "::warning file=./a b/über%3Ax%2Cy.mero,line=2,col=7,endLine=2,endColumn=8,title=M0215 \
         unused-import::100%25 [odd](x)%0Asecond: line, {read}%0Afor example \
         {\"context\":\"w\",\"path\":\"/x\"} is answered `deny` (hidden)%0Ahelp: remove it\n\
         ::notice file=./a b/über%3Ax%2Cy.mero,line=1,col=1,endLine=2,title=M0503 \
         untested-context::note\n\
         ::error file=./a b/über%3Ax%2Cy.mero,line=2,col=7,endLine=2,endColumn=8,title=M0501 \
         failed-test::error\n"
    );
}

#[test]
fn check_prints_both() {
    let directory = tempfile::tempdir().unwrap();
    let text = "edition 1\nprofile x { allow read }\ncontext w { allow read  deny read }\n";
    std::fs::write(directory.path().join("p.mero"), text).unwrap();
    std::fs::write(directory.path().join("q.mero"), "edition 1\ncontext q { allow raed }\n")
        .unwrap();
    let run = |format: &str| {
        let done = Command::new(env!("CARGO_BIN_EXE_meroc"))
            .args(["check", "p.mero", "q.mero", "--format", format])
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(1));
        String::from_utf8(done.stdout).unwrap()
    };
    let log: Value = serde_json::from_str(&run("sarif")).unwrap();
    assert_eq!(against(&log), [""; 0]);
    assert_eq!(log["runs"].as_array().unwrap().len(), 1);
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 3);
    let lines = run("github");
    assert!(lines.starts_with("::warning file=p.mero,line=2,col=9,"), "{lines}");
    assert!(lines.contains("\n::error file=q.mero,line=2,col=19,"), "{lines}");
    assert_eq!(lines.lines().count(), 3);
}
