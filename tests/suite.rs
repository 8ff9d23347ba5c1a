//! `meroc test`: what passes, what fails and why, what is not covered, and which changes
//! go unnoticed.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    reason = "tests run the program"
)]

mod common;
#[path = "common/process.rs"]
mod process;

use meroc::limits::MAX_MUTANTS;
use meroc::request::Judge;
use meroc::suite::coverage::{RuleKind, coverage};
use meroc::suite::mutants::{Report, mutants};
use meroc::table::{Options, compile};
use process::{files, told as run};
use serde_json::Value;

const POLICY: &str = r#"edition 1
context w {
    mount root at "./ws" { allow read | write  hide ".env" }
    commands { allow "git status"  deny "rm ..." }
}
context v { allow read }
test w {
    allow read "/x", "/.env"
    allow run "git status; rm x && echo '<&>'"
    in plan { deny write "/x" because hidden }
    ask argv ["a", "b"]
}
test v { allow permission read }
assert w never write "/.env"
"#;

#[test]
fn failures_are_listed_with_what_led_to_them() {
    let d = files(&[("p.mero", POLICY)]);
    let (code, out, _) = run(d.path(), &["test", "p.mero"]);
    assert_eq!(code, 1);
    for wanted in [
        "failed p.mero:8: allow read \"/.env\"\n  expected allow, got deny (hidden)\n",
        "→ p.mero:3  \".env\"",
        "failed p.mero:10: deny write \"/x\" because hidden\n  expected deny (hidden), got deny (phase)\n",
        "→ deny  rm x",
        "failed p.mero:11: ask argv [\"a\", \"b\"]",
    ] {
        assert!(out.contains(wanted), "{wanted:?} is not in\n{out}");
    }
    assert!(out.ends_with("3 passed, 4 failed\n"), "{out}");
    assert!(!out.contains("on the host"), "made-up directories are not shown:\n{out}");

    // The policy still means something; only a table is not made of it.
    let explained = run(d.path(), &["explain", "p.mero", "-c", "w", "read", "/.env"]);
    assert_eq!(explained.0, 0, "{}", explained.2);
    assert_eq!(run(d.path(), &["check", "p.mero"]).0, 1);
    let compiled = run(d.path(), &["compile", "p.mero", "-o", "p.merot"]);
    assert!(compiled.0 == 1 && compiled.2.contains("fails its tests"), "{}", compiled.2);
    assert!(!d.path().join("p.merot").exists());
}

#[test]
fn programs_read_json_and_xml() {
    let d = files(&[("p.mero", POLICY)]);
    let (code, out, _) = run(d.path(), &["test", "p.mero", "--format", "json"]);
    assert_eq!(code, 1);
    let value: Value = serde_json::from_str(&out).unwrap();
    let summary = ["passed", "failed", "unproved"].map(|k| value["summary"][k].as_u64().unwrap());
    assert_eq!(summary, [3, 4, 0]);
    let tests = value["tests"].as_array().unwrap();
    let outcomes = tests.iter().map(|t| t["outcome"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(outcomes, ["passed", "failed", "failed", "failed", "failed", "passed", "passed"]);
    assert_eq!(tests[1]["got"]["reason"], "hidden");
    assert_eq!(tests[1]["got"]["steps"][0]["text"], "\".env\"");
    assert_eq!(tests[3]["request"]["phase"], "plan");
    assert!(value.get("coverage").is_none() && value.get("mutants").is_none());

    let (code, xml, _) = run(d.path(), &["test", "p.mero", "--format", "junit"]);
    assert_eq!(code, 1);
    assert!(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"meroc\" tests=\"7\" failures=\"4\" errors=\"0\" skipped=\"0\">"), "{xml}");
    assert!(xml.contains(
        "name=\"allow run &quot;git status; rm x &amp;&amp; echo &apos;&lt;&amp;&gt;&apos;&quot;\""
    ));
    assert!(xml.contains("<testsuite name=\"v\" tests=\"1\" failures=\"0\""));
    well_formed(&xml);
}

/// Tags are closed in order, and nothing that has to be escaped stands bare.
fn well_formed(xml: &str) {
    let mut open = Vec::new();
    let (_, body) = xml.split_once("?>").unwrap();
    for piece in body.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("the end of a tag");
        assert!(!text.contains('>') && !tag.contains('\n'), "{piece}");
        for (at, _) in piece.match_indices('&') {
            let entity = piece[at + 1..].split(';').next().unwrap();
            let known = ["amp", "lt", "gt", "quot", "apos", "#9", "#10", "#13"];
            assert!(known.contains(&entity), "{entity}");
        }
        let name = tag.trim_matches('/').split(' ').next().unwrap();
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn what_is_run_can_be_chosen() {
    let d = files(&[("p.mero", POLICY), ("q.mero", "edition 1\ncontext q { allow read }\n")]);
    let (code, out, _) = run(d.path(), &["test", "p.mero", "--filter", "permission read"]);
    assert_eq!((code, out.as_str()), (0, "1 passed, 0 failed\n"));
    let (code, out, _) = run(d.path(), &["test", "q.mero"]);
    assert_eq!((code, out.as_str()), (0, "no tests\n"));
    let (code, out, _) = run(d.path(), &["test", "q.mero", "p.mero", "--filter", "argv"]);
    assert!(code == 1 && out.ends_with("0 passed, 1 failed\n"), "{out}");
    for usage in [
        &["test", "p.mero", "--filter", "nowhere"][..],
        &["test", "p.mero", "--filter", "x", "--mutants"],
        &["test", "p.mero", "--format", "junit", "--coverage"],
        &["test", "none.mero"],
    ] {
        let (code, out, err) = run(d.path(), usage);
        assert!(code == 2 && out.is_empty() && !err.is_empty(), "{usage:?}: {out}{err}");
    }
    let d = files(&[(
        "p.mero",
        "edition 1\ncontext w { allow raed }\ntest w { allow permission read }\n",
    )]);
    let (code, out, err) = run(d.path(), &["test"]);
    assert!(code == 1 && out.is_empty() && err.contains("did you mean `read`?"), "{err}");
}

const COVERED: &str = r#"edition 1
profile shared { hide "*.pem", "*.bak" }
context w {
    use shared, std::secrets
    mount root at "./ws" {
        allow read | write
        hide "/old/", "!/old.bak"
        on "/a/" { deny write }
        on "/b/" { deny write }
    }
    commands {
        allow "git status"
        allow "git log ..." except "git log -p"
        deny re"secret"
        ask "cat {read...}"
        allow "git show ..."
    }
    tools { allow "f*", "g*"  deny "fx" }
}
test w {
    deny  read "/x.pem"
    deny  write "/a/x"
    allow run "git status; git show \"$X\""
    deny  run "echo secret"
    allow tool "fa"
}
"#;

#[test]
fn rules_that_no_test_exercises_are_listed() {
    let policy = common::policy(COVERED);
    let table = compile(&policy, Options { debug_info: true, ..Options::default() }).unwrap();
    let judge = Judge::new(&table.bytes, &policy).unwrap();
    let found = coverage(&policy, &judge);
    let missed = found.missed.iter().map(|(k, s)| (*k, policy.sources.text(*s)));
    assert_eq!(
        missed.collect::<Vec<_>>(),
        [
            (RuleKind::Hide, "\"*.bak\""),
            (RuleKind::Hide, "\"/old/\""),
            (RuleKind::Hide, "\"!/old.bak\""),
            (RuleKind::On, "on \"/b/\" { deny write }"),
            (RuleKind::Command, "allow \"git log ...\" except \"git log -p\""),
            (RuleKind::Command, "ask \"cat {read...}\""),
            (RuleKind::Tool, "\"g*\""),
            (RuleKind::Tool, "\"fx\""),
        ]
    );
    assert_eq!(found.total, 14, "built-in profiles are not counted");
}

fn report(text: &str) -> (Report, Vec<String>) {
    let policy = common::policy(text);
    let mut steps = 0;
    let report = mutants(&policy, &mut |done, total| {
        assert!(done < total);
        steps += 1;
    });
    let survivors = report.survivors.iter().map(|s| s.mutant.what.clone()).collect();
    assert_eq!(steps, report.noticed + report.equal + report.unfit + report.survivors.len());
    (report, survivors)
}

#[test]
fn changes_that_no_test_notices_are_listed() {
    let policy = "edition 1\ncontext w {\n mount root at \"./ws\" { allow read  hide \"*.pem\" }\n \
                  commands { deny \"rm ...\" }\n}\n";
    let (report, survivors) = report(&format!("{policy}test w {{ allow read \"/x\" }}"));
    assert_eq!(
        survivors,
        [
            "`allow read` becomes `allow read | delete`",
            "`allow read` becomes `allow read | execute`",
            "`allow read` becomes `allow read | write`",
            "`*.pem` becomes `/*.pem`",
            "`*.pem` is taken out",
            "`deny` becomes `allow`",
            "`deny` becomes `ask`",
            "`rm ...` becomes `rm`",
            "the rule is taken out",
        ]
    );
    assert_eq!((report.noticed, report.unfit, report.left), (2, 0, 0));
    let asked = report.survivors.iter().map(|s| s.request.as_ref().unwrap());
    let asked = asked.map(|r| r.path.clone().or_else(|| r.command.clone()).unwrap_or_default());
    let asked = asked.collect::<Vec<_>>();
    assert_eq!(asked[0..3], ["/", "/", "/"], "the mount's own directory is a path too");
    assert!(asked[3].ends_with(".pem") && asked[3].matches('/').count() > 1, "{asked:?}");
    assert_eq!(asked[7], "rm a", "`rm` alone stays denied");

    let tests = "test w { allow read \"/x\"  deny write | execute | delete \"/x\"\n \
                 deny write \"/x\"  deny execute \"/x\"  deny delete \"/x\"\n \
                 deny read \"/x.pem\", \"/d/x.pem\"\n \
                 deny run \"rm\" because command-denied  deny run \"rm x\" because command-denied }";
    let (_, survivors) = self::report(&format!("{policy}{tests}"));
    assert_eq!(survivors, [""; 0]);
}

/// What cannot be noticed is not reported; a profile's rule counts once, and any test of
/// any context that uses it will do.
#[test]
fn only_real_changes_are_reported_and_once() {
    let (report, survivors) = report(
        "edition 1\nprofile p { grants core:a  hide \".x\", \".x\" }\n\
         context a { use p  mount root at \".\" { allow read } }\n\
         context b { use p  mount root at \".\" { allow read } }\n\
         test a { deny read \"/.x\" because hidden  deny read \"/d/.x\" because hidden }\n",
    );
    assert!(report.equal > 0, "the second `.x` changes nothing");
    assert!(!survivors.iter().any(|s| s.contains(".x")), "{survivors:?}");
    assert_eq!(survivors.iter().filter(|s| s.contains("core:a")).count(), 1, "{survivors:?}");
}

#[test]
fn coverage_and_mutants_are_printed() {
    let d = files(&[("p.mero", COVERED)]);
    let (code, out, _) = run(d.path(), &["test", "p.mero", "--coverage", "--mutants"]);
    assert_eq!(code, 0, "{out}");
    assert!(
        out.contains("coverage: tests exercise 6 of 14 rules\n  p.mero:2  \"*.bak\"\n"),
        "{out}"
    );
    assert!(out.contains("  p.mero:18  \"g*\"\n"), "{out}");
    assert!(out.contains("mutants: tests notice "), "{out}");
    assert!(out.contains("  p.mero:2  \"*.bak\"\n      `*.bak` becomes `/*.bak`\n"), "{out}");
    let (_, out, err) =
        run(d.path(), &["test", "p.mero", "--coverage", "--mutants", "--format", "json"]);
    assert_eq!(err, "", "progress is for terminals");
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["coverage"][0]["rules"], 14);
    assert_eq!(value["coverage"][0]["missed"][0]["kind"], "hide");
    let survivor = &value["mutants"][0]["survivors"][0];
    assert!(survivor["change"].is_string() && survivor["line"].is_u64(), "{survivor}");
    // A test of the request, with what the policy answers, is one more that notices.
    let mut asked = survivor["request"].clone();
    asked["context"] = survivor["request"]["context"].clone();
    let input = asked.to_string();
    let answer = process::meroc_with(d.path(), &["eval", "p.mero"], input.as_bytes(), &[]).json();
    assert!(answer["effect"].is_string(), "{survivor} {answer}");
}

#[test]
fn the_work_is_bounded_and_says_so() {
    let keys = (0..MAX_MUTANTS).map(|i| format!("a:k{i}")).collect::<Vec<_>>().join(", ");
    let (report, _) = report(&format!(
        "edition 1\ncontext w {{\n mount root at \".\" {{ allow read }}\n grants {keys}\n}}\n\
         test w {{ allow read \"/x\" }}\n"
    ));
    assert_eq!(report.left, 5, "the five changes of `allow read` came first");
}

/// A list holds below the mount that it is written in and those nested in that one, and
/// nowhere else, wherever directories lie.
#[test]
fn lists_end_where_mounts_are_not_nested() {
    let d = files(&[(
        "p.mero",
        r#"edition 1
context w {
    mount root at "./ws" {
        allow read
        hide "*.key"
        mount a at "x" { allow read  hide "tmp*" }
        mount b at "x/y" { allow read }
        mount c at "x/y/z" { allow read }
        mount d at "p" { allow read }
        mount e at "p/q" { allow read }
        mount f at "r" { allow read
            mount g at "s" { allow read  hide "own" } }
        mount h at "r/s/t" { allow read }
    }
}
test w {
    deny  read "/a/tmp1" because hidden
    allow read "/b/tmp1"
    allow read "/c/tmp1"
    allow read "/x/y/tmp1"
    deny  read "/x/tmp1" because hidden
    deny  read "/c/k.key" because hidden
    deny  read "/e/k.key" because hidden
    deny  read "/p/q/d/k.key" because hidden
    allow read "/p/q/tmp1"
    deny  read "/g/own" because hidden
    allow read "/h/own"
    allow read "/r/s/t/own"
    allow read "/f/own"
    deny  read "/h/x.key" because hidden
}
"#,
    )]);
    let (code, out, err) = run(d.path(), &["test", "p.mero"]);
    assert_eq!((code, out.as_str()), (0, "14 passed, 0 failed\n"), "{err}");
}
