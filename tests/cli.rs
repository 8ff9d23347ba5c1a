//! The command line contract: exit codes, JSON shapes, what is written and what
//! is not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    reason = "tests run the program"
)]

use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const POLICY: &str = "edition 1\nparam P = \"./p\"\ncontext w {\n    mount root at \"./ws\" { allow read | write  hide \".env\"\n        mount p at \"sub\" { allow read } }\n    mount out at \"$P\" { allow write }\n    commands { allow \"git status\"  deny \"rm ...\" }\n    grants core:fs.read\n}\ntool t { requires core:fs.read }\n";

fn run(directory: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_meroc"))
        .args(arguments)
        .current_dir(directory)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that fails early does not read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    directory
}

fn answers(text: &str) -> Vec<Value> {
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn eval_answers_in_order_and_goes_on_after_mistakes() {
    let d = with(&[("p.mero", POLICY)]);
    let base = d.path().canonicalize().unwrap();
    let input = [
        json!({"path": "/x", "permission": "read|write", "kind": "file"}).to_string(),
        "{".into(),
        json!({"path": "/x"}).to_string(),
        json!({"path": "/x", "permission": "read", "color": "red"}).to_string(),
        json!({"command": "git status; rm x"}).to_string(),
        json!({"argv": ["git", "status"]}).to_string(),
        json!({"tool": "t", "requires": ["core:fs.write"]}).to_string(),
        json!({"tool": "t"}).to_string(),
        json!({"permission": "execute"}).to_string(),
        json!({"context": "v", "permission": "execute"}).to_string(),
        json!({"phase": "plan", "path": "/x", "permission": "write"}).to_string(),
        json!({"path": "/sub/.env", "permission": "read"}).to_string(),
        json!({"path": "/out/y", "permission": "write"}).to_string(),
    ]
    .join("\n");
    let got = run(d.path(), &["eval", "p.mero"], &input);
    assert_eq!(code(&got), 1, "{}", err(&got));
    let answers = answers(&out(&got));
    let short = answers
        .iter()
        .map(|a| {
            a.get("line").map_or_else(
                || format!("{} {}", a["effect"].as_str().unwrap(), a["reason"].as_str().unwrap()),
                |l| format!("error {l}"),
            )
        })
        .collect::<Vec<_>>();
    assert_eq!(
        short,
        [
            "allow granted",
            "error 2",
            "error 3",
            "error 4",
            "deny command-denied",
            "allow granted",
            "deny grant-missing",
            "allow granted",
            "deny not-granted",
            "error 10",
            "deny phase",
            "deny hidden",
            "allow granted",
        ]
    );
    assert_eq!(answers[0]["host"], json!(base.join("ws/x")));
    assert_eq!(answers[0]["mount"], "root");
    assert_eq!(
        answers[0]["rule"],
        json!({"file": "p.mero", "line": 4, "text": "allow read | write"})
    );
    assert!(answers[11].get("host").is_none());
    assert!(answers[11]["message"].as_str().unwrap().starts_with("Denied: "));
    assert_eq!(answers[12]["host"], json!(base.join("p/y")));

    let elsewhere = run(
        d.path(),
        &["eval", "p.mero", "--base", "/srv", "--param", "P=/q", "-c", "w", "--phase", "plan"],
        "{\"path\":\"/x\",\"permission\":\"read\"}\n",
    );
    assert_eq!((code(&elsewhere), answers_of(&elsewhere)["host"].clone()), (0, json!("/srv/ws/x")));
}

fn answers_of(output: &Output) -> Value {
    answers(&out(output)).into_iter().next().unwrap()
}

#[test]
fn tables_answer_as_their_source_does() {
    let d = with(&[("p.mero", POLICY)]);
    let compiled = run(
        d.path(),
        &["compile", "p.mero", "-o", "p.merot", "--debug-info", "--stats", "json"],
        "",
    );
    assert_eq!(code(&compiled), 0, "{}", err(&compiled));
    let stats: Value = serde_json::from_str(&out(&compiled)).unwrap();
    assert_eq!((stats["contexts"].clone(), stats["mounts"].clone()), (json!(1), json!(3)));
    let requests = "{\"path\":\"/x\",\"permission\":\"read\"}\n{\"path\":\"/.env\",\"permission\":\"read\"}\n{\"command\":\"rm x\"}\n";
    let (source, table) = (
        run(d.path(), &["eval", "p.mero"], requests),
        run(d.path(), &["eval", "p.merot"], requests),
    );
    let lines = |o: &Output| {
        answers(&out(o))
            .iter()
            .map(|a| {
                (
                    a["effect"].clone(),
                    a["reason"].clone(),
                    a["host"].clone(),
                    a["rule"]["line"].clone(),
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(lines(&source), lines(&table));
    let again = run(d.path(), &["compile", "p.mero", "-o", "q.merot", "--debug-info"], "");
    assert_eq!(code(&again), 0);
    assert_eq!(
        std::fs::read(d.path().join("p.merot")).unwrap(),
        std::fs::read(d.path().join("q.merot")).unwrap()
    );
    let inspect = run(d.path(), &["inspect", "p.merot"], "");
    assert!(
        code(&inspect) == 0
            && out(&inspect).contains("P = \"./p\"")
            && out(&inspect).contains("p.mero")
    );
    std::fs::write(d.path().join("bad.merot"), b"MEROTBL\0nonsense").unwrap();
    for verb in [&["inspect", "bad.merot"][..], &["eval", "bad.merot"]] {
        let got = run(d.path(), verb, "");
        assert_eq!(code(&got), 2);
        assert!(err(&got).contains("cannot be used as a table"), "{}", err(&got));
    }
}

#[test]
fn every_form_is_emitted() {
    let d = with(&[("p.mero", POLICY)]);
    for form in ["json", "ast", "hir"] {
        let got = run(d.path(), &["compile", "p.mero", "-o", "-", "--emit", form], "");
        assert_eq!(code(&got), 0, "{}", err(&got));
        let _: Value = serde_json::from_str(&out(&got)).unwrap();
    }
    let rust = run(d.path(), &["compile", "p.mero", "-o", "p.rs", "--emit", "rust"], "");
    assert_eq!(code(&rust), 0);
    assert!(
        std::fs::read_to_string(d.path().join("p.rs")).unwrap().contains("pub static TABLE: [u8; ")
    );
}

#[test]
fn findings_exit_with_1_and_nothing_is_written() {
    let d = with(&[("p.mero", "edition 1\ncontext w { allow raed }\n"), ("q.merot", "old")]);
    for verb in
        [&["check", "p.mero"][..], &["compile", "p.mero", "-o", "q.merot"], &["eval", "p.mero"]]
    {
        let got = run(d.path(), verb, "");
        assert_eq!(code(&got), 1, "{verb:?} {}", err(&got));
        assert!((out(&got) + &err(&got)).contains("did you mean `read`?"));
    }
    assert_eq!(std::fs::read(d.path().join("q.merot")).unwrap(), b"old");
    let names = std::fs::read_dir(d.path()).unwrap().count();
    assert_eq!(names, 2, "no temporary file is left");
}

#[test]
fn check_speaks_json_and_takes_levels() {
    let text = "edition 1\nprofile x { allow read }\ncontext w { allow read  deny read }\n";
    let d = with(&[("p.mero", text)]);
    let got = run(d.path(), &["check", "p.mero", "--format", "json"], "");
    assert_eq!(code(&got), 0, "warnings are no failure");
    let value: Value = serde_json::from_str(&out(&got)).unwrap();
    let names = value["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["name"].as_str().unwrap())
        .collect::<Vec<_>>();
    assert_eq!(names, ["unused-profile", "contradiction"]);
    let first = &value["findings"][0];
    assert_eq!(
        (first["level"].clone(), first["file"].clone(), first["span"]["start"].clone()),
        (json!("warning"), json!("p.mero"), json!({"line": 2, "column": 9}))
    );
    assert_eq!(value["summary"]["warnings"], 2);
    assert_eq!(value["summary"]["files"], 1);
    for (flags, expected) in [
        (&["--deny-warnings"][..], 1),
        (&["-D", "contradiction"], 1),
        (&["-A", "logic", "-D", "contradiction"], 0),
        (&["-D", "names"], 1),
        (&["-A", "names", "--deny-warnings", "-A", "M0301"], 0),
        (&["-D", "nonsense"], 2),
    ] {
        let got = run(d.path(), &[&["check", "p.mero"], flags].concat(), "");
        assert_eq!(code(&got), expected, "{flags:?}");
    }
    let short = run(d.path(), &["check", "p.mero", "--format", "short"], "");
    assert!(out(&short).starts_with("p.mero:2:9: warning[M0212]"), "{}", out(&short));
}

#[test]
fn policies_come_from_files_directories_input_and_revisions() {
    let d = with(&[
        ("dir/a.mero", "edition 1\nimport \"../lib/b.mero\"\ncontext w { use q }\n"),
        ("lib/b.mero", "edition 1\nprofile q { allow read }\n"),
        ("toml/mero.toml", "roots = [\"x/a.mero\"]\n"),
        ("toml/x/a.mero", "edition 1\ncontext w { allow read }\n"),
        ("toml/ignored.mero", "nonsense"),
        ("empty/readme", ""),
    ]);
    for policy in ["dir", "dir/a.mero", "toml"] {
        let got = run(d.path(), &["check", policy, "--deny-warnings"], "");
        assert_eq!(code(&got), 0, "{policy}: {}{}", out(&got), err(&got));
    }
    let stdin = run(d.path(), &["check", "-"], "edition 1\ncontext w { allow raed }\n");
    assert!(code(&stdin) == 1 && out(&stdin).contains("<stdin>:2:19"), "{}", out(&stdin));
    for (policy, what) in [
        ("empty", "holds no policy"),
        ("dir/b.mero", "did you mean `dir/a.mero`?"),
        ("none", "cannot read"),
    ] {
        let got = run(d.path(), &["check", policy], "");
        assert!(code(&got) == 2 && err(&got).contains(what), "{policy}: {}", err(&got));
    }
    let git = |arguments: &[&str]| {
        let status = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(arguments)
            .current_dir(d.path())
            .status()
            .unwrap();
        assert!(status.success());
    };
    git(&["init", "-q", "."]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "x"]);
    std::fs::write(d.path().join("dir/a.mero"), "broken {").unwrap();
    let old = run(d.path(), &["check", "HEAD:dir/a.mero", "--deny-warnings"], "");
    assert_eq!(code(&old), 0, "{}{}", out(&old), err(&old));
    assert_eq!(code(&run(d.path(), &["check", "dir"], "")), 1);
}

#[test]
fn usage_is_exit_2_and_the_rest_is_shown() {
    let d = with(&[("p.mero", POLICY)]);
    for arguments in [
        &["nonsense"][..],
        &["eval"],
        &["eval", "p.mero", "-c", "v"],
        &["eval", "p.mero", "--phase", "x"],
        &["eval", "p.mero", "--param", "Q=/x"],
        &["std", "x"],
        &["code", "x"],
        &["explain", "p.mero", "-c", "w", "raed", "/x"],
        &["compile", "p.mero", "-o", "no/such/dir/x"],
        &["inspect", "p.mero"],
    ] {
        let got = run(d.path(), arguments, "");
        assert_eq!(code(&got), 2, "{arguments:?}: {}", err(&got));
        assert!(!err(&got).is_empty());
    }
    for arguments in [
        &["std"][..],
        &["std", "secrets"],
        &["code"],
        &["code", "contradiction"],
        &["code", "m0301"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
    ] {
        let got = run(d.path(), arguments, "");
        assert!(code(&got) == 0 && !got.stdout.is_empty(), "{arguments:?}");
    }
    let init = run(d.path(), &["init", "."], "");
    assert_eq!(code(&init), 0);
    assert_eq!(code(&run(d.path(), &["check", "policy.mero", "--deny-warnings"], "")), 0);
    let twice = run(d.path(), &["init", "."], "");
    assert!(code(&twice) == 2 && err(&twice).contains("is there already"));
}

#[test]
fn explanations_name_what_took_part() {
    let d = with(&[("p.mero", POLICY)]);
    let got = run(
        d.path(),
        &["explain", "p.mero", "-c", "w", "--format", "json", "run", "git status; rm x > y"],
        "",
    );
    let value: Value = serde_json::from_str(&out(&got)).unwrap();
    assert_eq!(
        (value["effect"].clone(), value["reason"].clone()),
        (json!("deny"), json!("command-denied"))
    );
    let parts = value["parts"].as_array().unwrap();
    let short = parts
        .iter()
        .map(|p| {
            format!(
                "{} {} {}",
                p["kind"].as_str().unwrap(),
                p["text"].as_str().unwrap(),
                p["effect"].as_str().unwrap()
            )
        })
        .collect::<Vec<_>>();
    assert_eq!(short, ["command git status allow", "command rm x > y deny", "writes > y allow"]);
    assert_eq!(parts[1]["rule"]["text"], "deny \"rm ...\"");
    let path = run(d.path(), &["explain", "p.mero", "-c", "w", "read", "/.env"], "");
    assert!(
        out(&path).contains("deny (hidden)") && out(&path).contains("→ p.mero:4"),
        "{}",
        out(&path)
    );
    let plain =
        run(d.path(), &["explain", "p.mero", "-c", "w", "--color", "always", "read", "/x"], "");
    assert!(out(&plain).contains('\u{1b}'));
}

#[test]
fn a_closed_pipe_is_quiet() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_meroc"))
        .arg("code")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let got = child.wait_with_output().unwrap();
    assert_eq!((code(&got), err(&got)), (0, String::new()));
}
