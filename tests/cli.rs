//! The command line as a contract: exit codes, machine-readable shapes, what is
//! written and what is left alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

#[path = "common/process.rs"]
mod process;

use process::{Run, meroc, meroc_with};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const POLICY: &str = r#"edition 1
context w {
    mount root at "./files" {
        allow read | write | delete
        ask delete
        hide "*.pem"
        mount data at "data" { allow read }
    }
    commands {
        allow "git status"
        ask "git push ..."
        deny "rm ..."
    }
    tools { allow "grep" }
    grants core:fs.read
}
context other { allow read }
"#;

const BROKEN: &str = "edition 1\ncontext w { alow read }\n";
/// `ask` without `allow` is a warning.
const WARNED: &str = "edition 1\ncontext w { ask read }\n";

/// A directory with `p.mero` in it.
fn with(policy: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("p.mero"), policy).unwrap();
    directory
}

fn eval(directory: &Path, arguments: &[&str], requests: &[Value]) -> Run {
    let input = requests.iter().map(|r| format!("{r}\n")).collect::<String>();
    meroc_with(directory, &[&["eval"], arguments].concat(), input.as_bytes(), &[])
}

fn files(directory: &Path) -> Vec<String> {
    let mut names = fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect::<Vec<_>>();
    names.sort();
    names
}

// Exit codes.

#[test]
fn usage_errors_are_2_and_help_is_0() {
    let dir = with(POLICY);
    let dir = dir.path();
    for arguments in [
        &["check", "--no-such-flag"][..],
        &["no-such-verb"],
        &[],
        &["compile", "p.mero"],
        &["check", "--format", "xml"],
        &["check", "p.mero", "-D", "no-such-finding"],
        &["eval", "missing.mero"],
        &["eval", "-"],
        &["eval", "p.mero", "-c", "nobody"],
        &["eval", "p.mero", "--phase", "never"],
        &["eval", "p.mero", "--param", "X"],
        &["eval", "p.mero", "--param", "X=/x"],
        &["explain", "p.mero", "-c", "nobody", "read", "/x"],
        &["explain", "p.mero", "-c", "w", "reed", "/x"],
        &["explain", "p.mero", "-c", "w", "read"],
        &["inspect", "p.mero"],
        &["inspect", "missing.merot"],
        &["std", "nothing"],
        &["code", "M9999"],
        &["completions", "nosuchshell"],
        &["init", "missing/directory"],
    ] {
        let run = meroc(dir, arguments).code(2);
        assert!(!run.err.is_empty() && run.out.is_empty(), "{arguments:?}");
    }
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["help", "check"],
        &["check", "--help"],
        &["explain", "--help"],
    ] {
        let run = meroc(dir, arguments).code(0);
        assert!(run.err.is_empty() && !run.out.is_empty(), "{arguments:?}");
    }
}

#[test]
fn near_misses_are_suggested() {
    let dir =
        with("edition 1\nparam WORK\ncontext worker { mount root at \"$WORK\" { allow read } }\n");
    let dir = dir.path();
    meroc(dir, &["code", "contradicton"]).code(2).says("contradiction");
    meroc(dir, &["std", "secrts"]).code(2).says("secrets");
    meroc(dir, &["check", "-D", "contradicton", "p.mero"]).code(2).says("contradiction");
    let bound = ["eval", "p.mero", "--param", "WORK=/w"];
    meroc(dir, &[&bound[..], &["-c", "wroker"]].concat()).code(2).says("worker");
    meroc(dir, &[&bound[..], &["--phase", "defalt"]].concat()).code(2).says("default");
    meroc(dir, &["eval", "p.mero", "--param", "WROK=/w"]).code(2).says("WORK");
    meroc(dir, &["eval", "p.mero"]).code(2).says("--param WORK=DIR");
}

#[test]
fn check_is_0_or_1() {
    let dir = with(POLICY);
    meroc(dir.path(), &["check", "p.mero"]).code(0).says("no findings in 1 file");
    meroc(dir.path(), &["check"]).code(0);
    let dir = with(BROKEN);
    meroc(dir.path(), &["check", "p.mero"])
        .code(1)
        .says("did you mean `allow`?")
        .says("p.mero:2:13");
    let dir = with(WARNED);
    meroc(dir.path(), &["check", "p.mero"]).code(0).says("warning[M0302 ask-without-allow]");
    meroc(dir.path(), &["check", "--deny-warnings", "p.mero"]).code(1);
    for name in ["M0302", "m0302", "ask-without-allow", "logic"] {
        meroc(dir.path(), &["check", "-D", name, "p.mero"]).code(1).says("error[M0302");
        meroc(dir.path(), &["check", "--deny-warnings", "-A", name, "p.mero"])
            .code(0)
            .says("no findings");
        meroc(dir.path(), &["check", "-W", name, "p.mero"]).code(0).says("warning[M0302");
    }
    // Errors of the language cannot be silenced.
    let dir = with(BROKEN);
    meroc(dir.path(), &["check", "-A", "syntax", "-W", "M0101", "p.mero"]).code(1);
}

// Shapes.

#[test]
fn check_as_json() {
    let dir = with(BROKEN);
    let run = meroc(dir.path(), &["check", "--format", "json", "p.mero"]).code(1);
    let report = run.json();
    assert!(run.err.is_empty());
    let finding = &report["findings"][0];
    assert_eq!(finding["code"], "M0101");
    assert_eq!(finding["name"], "syntax-error");
    assert_eq!(finding["level"], "error");
    assert_eq!(finding["file"], "p.mero");
    let span = json!({"start": {"line": 2, "column": 13}, "end": {"line": 2, "column": 17}});
    assert_eq!(finding["span"], span);
    assert!(finding["message"].is_string() && finding["help"].is_string());
    assert_eq!(finding["labels"][0]["file"], "p.mero");
    let summary = &report["summary"];
    assert_eq!(
        (&summary["errors"], &summary["warnings"], &summary["files"]),
        (&json!(1), &json!(0), &json!(1))
    );
    assert!(summary["proved"].is_array() && summary["unproved"].is_array());

    let dir = with(POLICY);
    let report = meroc(dir.path(), &["check", "--format", "json", "p.mero"]).code(0).json();
    assert_eq!(report["findings"], json!([]));
}

#[test]
fn columns_count_characters_and_findings_are_sorted() {
    let dir = with(
        "edition 1\ncontext w { grants \"é\", é }\ncontext v { alow read }\ncontext u { ask read }\ncontext u { }\n",
    );
    let run = meroc(dir.path(), &["check", "--format", "json", "p.mero"]).code(1);
    let report = run.json();
    let places = report["findings"].as_array().unwrap().iter().map(|f| {
        let start = &f["span"]["start"];
        (start["line"].as_u64().unwrap(), start["column"].as_u64().unwrap())
    });
    let places = places.collect::<Vec<_>>();
    assert!(places.is_sorted() && places.len() > 1, "{places:?}");
    let short = meroc(dir.path(), &["check", "--format", "short", "p.mero"]).code(1);
    assert_eq!(short.out.lines().count(), places.len());
    for (line, (l, c)) in short.out.lines().zip(places) {
        assert!(line.starts_with(&format!("p.mero:{l}:{c}: ")), "{line}");
    }
    // `é` is one character: the second of the two begins one column behind it.
    let dir = with("edition 1\n/* é */ context");
    let report = meroc(dir.path(), &["check", "--format", "json", "p.mero"]).code(1).json();
    assert!(report["findings"].as_array().is_some_and(|f| !f.is_empty()));
}

#[test]
fn eval_answers_every_request_in_order() {
    let dir = with(POLICY);
    let root = dir.path().canonicalize().unwrap();
    let run = eval(
        &root,
        &["p.mero", "-c", "w"],
        &[
            json!({"path": "/a.txt", "permission": "read|write", "kind": "file"}),
            json!({"path": "/data/a", "permission": "write"}),
            json!({"path": "/k.pem", "permission": "read"}),
            json!({"path": "/a", "permission": "delete", "kind": "file"}),
            json!({"context": "other", "path": "/a", "permission": "read"}),
            json!({"command": "git status"}),
            json!({"argv": ["git", "push", "-f"]}),
            json!({"command": "rm x"}),
            json!({"argv": ["ls"]}),
            json!({"tool": "grep"}),
            json!({"tool": "grep", "requires": ["core:fs.write"]}),
            json!({"tool": "bash"}),
            json!({"permission": "execute"}),
            json!({"phase": "plan", "path": "/a.txt", "permission": "write"}),
            json!({"phase": "trusted", "argv": ["git", "status"]}),
            json!({"path": "a\u{0}b", "permission": "read"}),
        ],
    )
    .code(0);
    let expected = [
        ("allow", "granted"),
        ("deny", "not-granted"),
        ("deny", "hidden"),
        ("ask", "approval-required"),
        ("deny", "outside"),
        ("allow", "granted"),
        ("ask", "approval-required"),
        ("deny", "command-denied"),
        ("deny", "command-not-allowed"),
        ("allow", "granted"),
        ("deny", "grant-missing"),
        ("deny", "tool-not-allowed"),
        ("deny", "not-granted"),
        ("deny", "phase"),
        ("deny", "phase"),
        ("deny", "invalid"),
    ];
    let answers = run.lines();
    assert_eq!(answers.len(), expected.len());
    for (number, (answer, (effect, reason))) in answers.iter().zip(expected).enumerate() {
        assert_eq!(
            (&answer["effect"], &answer["reason"]),
            (&json!(effect), &json!(reason)),
            "{number}: {answer}"
        );
        let path = number < 5 || number == 13 || number == 15;
        assert_eq!(answer.get("host").is_some(), path && effect != "deny", "{number}: {answer}");
        assert_eq!(answer.get("message").is_some(), effect != "allow", "{number}: {answer}");
    }
    assert_eq!(answers[0]["host"], json!(root.join("files/a.txt")));
    assert_eq!(answers[0]["mount"], "root");
    assert_eq!(answers[1]["mount"], "data");
    assert_eq!(
        answers[0]["rule"],
        json!({"file": "p.mero", "line": 4, "text": "allow read | write | delete"})
    );
    assert_eq!(answers[6]["rule"]["line"], 11);
    // What is hidden is not described any further than the request did.
    assert!(!answers[2]["message"].as_str().unwrap().contains("files"));
}

#[test]
fn malformed_requests_are_answered_and_the_rest_goes_on() {
    let dir = with(POLICY);
    let requests = [
        r#"{"context":"w","path":"/a","permission":"read"}"#,
        r#"{"context":"w","path":"/a","permission":"read","colour":"red"}"#,
        "not json",
        "",
        r#"{"context":"nobody","path":"/a","permission":"read"}"#,
        r#"{"context":"w","phase":"never","path":"/a","permission":"read"}"#,
        r#"{"path":"/a","permission":"read"}"#,
        r#"{"context":"w","path":"/a"}"#,
        r#"{"context":"w","path":"/a","permission":"reed"}"#,
        r#"{"context":"w","path":"/a","permission":"none"}"#,
        r#"{"context":"w","path":"/a","permission":"read","kind":"link"}"#,
        r#"{"context":"w","path":"/a","command":"x","permission":"read"}"#,
        r#"{"context":"w","tool":"x","permission":"read"}"#,
        r#"{"context":"w","requires":["a:b"]}"#,
        r#"{"context":"w","argv":"git status"}"#,
        r#"{"context":"w"}"#,
        r#"{"context":"w","path":"/a","permission":"read"} trailing"#,
        r#"{"context":"w","command":"git status"}"#,
    ];
    let run =
        meroc_with(dir.path(), &["eval", "p.mero"], requests.join("\n").as_bytes(), &[]).code(1);
    let answers = run.lines();
    // An empty line is no request.
    assert_eq!(answers.len(), requests.len() - 1);
    assert_eq!(answers[0]["effect"], "allow");
    assert_eq!(answers[answers.len() - 1]["effect"], "allow");
    for answer in &answers[1..answers.len() - 1] {
        let keys = answer.as_object().unwrap().keys().collect::<Vec<_>>();
        assert_eq!(keys, ["error", "line"], "{answer}");
    }
    assert_eq!(answers[1]["line"], 2);
    assert!(answers[1]["error"].as_str().unwrap().contains("colour"));
    assert_eq!(answers[3]["line"], 5, "empty lines count");
    assert!(run.err.is_empty());
    // No requests at all is fine.
    meroc_with(dir.path(), &["eval", "p.mero"], b"", &[]).code(0);
    meroc_with(dir.path(), &["eval", "p.mero"], b"\n  \n\r\n", &[]).code(0);
}

#[test]
fn base_home_cwd_and_parameters() {
    let dir = with(
        "edition 1\nparam OUT\nparam TMP = \"/tmp/x\"\nparam SUB = \"./sub\"\n\
         context w { mount root at \"./w\" { allow read } mount out at \"$OUT/o\" { allow read } \
         mount tmp at \"$TMP\" { allow read } mount sub at \"$SUB\" { allow read } mount home at \"~/n\" { allow read } }\n",
    );
    let ask = |path: &str| json!({"path": path, "permission": "read"});
    let bound = ["p.mero", "--base", "/base", "--param", "OUT=/out", "--home", "/home/me"];
    let requests = ["/a", "/out/a", "/tmp/a", "/sub/a", "/home/a", "~/n/b"].map(ask);
    let hosts = |arguments: &[&str], requests: &[Value]| {
        let answers = eval(dir.path(), arguments, requests).code(0).lines();
        answers.iter().map(|a| a["host"].as_str().unwrap_or("-").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        hosts(&bound, &requests),
        ["/base/w/a", "/out/o/a", "/tmp/x/a", "/base/sub/a", "/home/me/n/a", "/home/me/n/b"]
    );
    let given = [&bound[..], &["--param", "TMP=/t/../u", "--cwd", "/base/w/deep"]].concat();
    assert_eq!(
        hosts(&given, &[ask("/tmp/a"), ask("../a"), ask("./a")]),
        ["/u/a", "/base/w/a", "/base/w/deep/a"]
    );
    let missing = |arguments: &[&str], says: &str| {
        eval(dir.path(), arguments, &[]).code(2).says(says);
    };
    missing(&["p.mero", "--home", "/h"], "OUT");
    missing(&["p.mero", "--param", "OUT=/o"], "home");
    missing(&[&bound[..], &["--param", "TMP=/base/w"]].concat(), "same directory");
}

#[test]
fn explain_as_json_and_for_people() {
    let dir = with(POLICY);
    let dir = dir.path();
    let explain =
        |arguments: &[&str]| meroc(dir, &[&["explain", "p.mero", "-c", "w"], arguments].concat());
    let told = explain(&["--format", "json", "write", "/data/x"]).code(0).json();
    assert_eq!(
        (&told["effect"], &told["reason"], &told["mount"]),
        (&json!("deny"), &json!("not-granted"), &json!("data"))
    );
    assert_eq!((&told["context"], &told["phase"]), (&json!("w"), &json!("default")));
    let steps = told["steps"].as_array().unwrap();
    assert!(!steps.is_empty());
    for step in steps {
        assert_eq!(step["file"], "p.mero");
        assert!(step["line"].is_u64() && step["text"].is_string() && step["note"].is_string());
    }
    explain(&["read", "/x.pem"]).code(0).says("deny (hidden)").says("p.mero:6");
    explain(&["run", "git status"]).code(0).says("allow (granted)");
    explain(&["argv", "git", "push", "--force"]).code(0).says("ask (approval-required)");
    explain(&["tool", "grep"]).code(0).says("allow");
    explain(&["--requires", "x:y", "tool", "grep"]).code(0).says("grant-missing");
    explain(&["permission", "read"]).code(0).says("deny (not-granted)");
    explain(&["--phase", "plan", "write", "/x"]).code(0).says("deny (phase)");
    explain(&["--kind", "dir", "delete", "/"]).code(0).says("deny");
}

// Other ways to name a policy.

#[test]
fn a_policy_on_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let given =
        |arguments: &[&str], policy: &str| meroc_with(dir, arguments, policy.as_bytes(), &[]);
    given(&["check", "-"], POLICY).code(0);
    given(&["check", "-"], BROKEN).code(1).says("<stdin>:2:13");
    given(&["check", "--format", "json", "-"], BROKEN).code(1).says("\"file\": \"<stdin>\"");
    given(&["compile", "-", "-o", "x.merot"], POLICY).code(0);
    given(&["explain", "-", "-c", "w", "read", "/x"], POLICY).code(0).says("allow (granted)");
    assert_eq!(files(dir), ["x.merot"]);
}

#[test]
fn a_directory_as_policy() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::create_dir(dir.join("d")).unwrap();
    fs::write(dir.join("d/a.mero"), "edition 1\ncontext a { use shared }\n").unwrap();
    fs::write(dir.join("d/b.mero"), "edition 1\nprofile shared { allow read }\n").unwrap();
    fs::write(dir.join("d/notes.txt"), "no policy").unwrap();
    meroc(dir, &["check", "d"]).code(0).says("2 files");
    meroc(dir, &["compile", "d", "-o", "d.merot"]).code(0);
    // `mero.toml` says where to begin.
    fs::write(dir.join("d/broken.mero"), BROKEN).unwrap();
    meroc(dir, &["check", "d"]).code(1);
    fs::write(dir.join("d/mero.toml"), "roots = [\"a.mero\", \"b.mero\"]\n").unwrap();
    meroc(dir, &["check", "d"]).code(0);
    meroc(dir, &["check", "d", "d/broken.mero"]).code(1).says("broken.mero:2:13");
}

#[test]
fn a_file_of_a_revision() {
    let dir = with(POLICY);
    let dir = dir.path();
    let git = |arguments: &[&str]| {
        let status = Command::new("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.com",
                "-c",
                "commit.gpgsign=false",
            ])
            .args(arguments)
            .current_dir(dir)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    };
    fs::create_dir(dir.join("sub")).unwrap();
    fs::write(dir.join("sub/i.mero"), "import \"j.mero\"\ncontext i { allow p }\n").unwrap();
    fs::write(dir.join("sub/j.mero"), "permission p = read\n").unwrap();
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "policy"]);
    // The working tree is broken; the revision is not, its imports included.
    fs::write(dir.join("p.mero"), BROKEN).unwrap();
    fs::write(dir.join("sub/j.mero"), "").unwrap();
    meroc(dir, &["check", "p.mero"]).code(1);
    meroc(dir, &["check", "HEAD:p.mero"]).code(0);
    meroc(dir, &["check", "sub/i.mero"]).code(1);
    meroc(dir, &["check", "HEAD:sub/i.mero"]).code(0);
    meroc(dir, &["explain", "HEAD:p.mero", "-c", "w", "read", "/x"])
        .code(0)
        .says("allow (granted)");
    meroc(dir, &["compile", "HEAD:p.mero", "-o", "x.merot"]).code(0);
    meroc(dir, &["check", "HEAD:nothing.mero"]).code(2).says("cannot read");
    meroc(dir, &["check", "nosuchrev:p.mero"]).code(2).says("cannot read");
    meroc(dir, &["check", "--", "-x:p.mero"]).code(2).says("cannot read");
}

#[test]
fn a_table_as_policy() {
    let dir = with(POLICY);
    let dir = dir.path();
    let base = dir.canonicalize().unwrap();
    let base = base.to_str().unwrap();
    meroc(dir, &["compile", "p.mero", "-o", "p.merot"]).code(0);
    meroc(dir, &["compile", "--debug-info", "p.mero", "-o", "d.merot"]).code(0);
    // Known by its content, too.
    fs::copy(dir.join("p.merot"), dir.join("table")).unwrap();
    let requests = [
        json!({"context": "w", "path": "/a", "permission": "read"}),
        json!({"context": "w", "path": "/k.pem", "permission": "read"}),
        json!({"context": "w", "argv": ["rm", "x"]}),
    ];
    let of_source = eval(dir, &["p.mero"], &requests).code(0).lines();
    for name in ["p.merot", "d.merot", "table"] {
        let answers = eval(dir, &[name, "--base", base], &requests).code(0).lines();
        for (answer, expected) in answers.iter().zip(&of_source) {
            for field in ["effect", "reason", "mount", "host", "message"] {
                assert_eq!(answer.get(field), expected.get(field), "{name} {field}");
            }
            let rule = answer.get("rule");
            let expected = expected.get("rule").filter(|_| name == "d.merot");
            assert_eq!(rule.map(|r| &r["line"]), expected.map(|r| &r["line"]), "{name}");
        }
    }
    meroc(dir, &["explain", "d.merot", "-c", "w", "read", "/k.pem"])
        .code(0)
        .says("deny (hidden)")
        .says("p.mero:6");
    let inspected = meroc(dir, &["inspect", "d.merot"]).code(0).says("format    version 1");
    for part in [
        "digest",
        "p.mero",
        "sections",
        "automata",
        "contexts",
        "other",
        "core:fs.read",
        "rule-texts",
    ] {
        assert!(inspected.out.contains(part), "{part}");
    }
    meroc(dir, &["check", "p.merot"]).code(2).says("needs the policy's source");
    meroc(dir, &["check", "table"]).code(2).says("needs the policy's source");
}

// What is written.

#[test]
fn compile_writes_every_form() {
    let dir = with(POLICY);
    let dir = dir.path();
    let emit = |form: &str| meroc(dir, &["compile", "p.mero", "--emit", form, "-o", "-"]).code(0);
    let hir = emit("hir").json();
    assert_eq!(hir["contexts"][0]["name"], "w");
    let ast = emit("ast").json();
    assert_eq!(ast["files"][0]["file"], "p.mero");
    let whole = emit("json").json();
    assert_eq!(whole["format"], 1);
    assert_eq!(whole["digest"].as_str().unwrap().len(), 64);
    assert_eq!(whole["policy"], hir);
    assert!(whole["stats"]["states"].as_u64().unwrap() > 0);
    let rust = emit("rust");
    assert!(rust.out.contains("pub static TABLE: [u8; ") && rust.out.contains("\"other\""));
    assert!(rust.out.contains(whole["digest"].as_str().unwrap()));
    let stats =
        meroc(dir, &["compile", "p.mero", "-o", "x.merot", "--stats", "json"]).code(0).json();
    assert_eq!(stats["contexts"], 2);
    assert_eq!(stats["mounts"], 2);
    assert_eq!(stats["bytes"], fs::read(dir.join("x.merot")).unwrap().len());
    meroc(dir, &["compile", "p.mero", "-o", "x.merot", "--stats"]).code(0).says("contexts   2");
    // A table on standard output is nothing but the table.
    meroc(dir, &["compile", "p.mero", "-o", "x.merot"]).code(0);
    let piped = Command::new(env!("CARGO_BIN_EXE_meroc"))
        .args(["compile", "p.mero", "-o", "-", "--stats"])
        .current_dir(dir)
        .output()
        .unwrap();
    assert_eq!(piped.stdout, fs::read(dir.join("x.merot")).unwrap());
    assert!(String::from_utf8_lossy(&piped.stderr).contains("contexts"));
}

#[test]
fn nothing_is_written_when_compiling_fails() {
    let dir = with(BROKEN);
    let dir = dir.path();
    for form in ["table", "rust", "json", "ast", "hir"] {
        let run = meroc(dir, &["compile", "p.mero", "--emit", form, "-o", "x"]);
        assert!(run.code != 0 && run.out.is_empty(), "{form}");
        assert_eq!(files(dir), ["p.mero"], "{form}");
    }
    fs::write(dir.join("x"), "old").unwrap();
    assert_ne!(meroc(dir, &["compile", "p.mero", "-o", "x"]).code, 0);
    assert_ne!(meroc(dir, &["compile", "missing.mero", "-o", "x"]).code, 0);
    assert_eq!(fs::read(dir.join("x")).unwrap(), b"old");
    // Warnings do not keep a table from being written, and go to standard error.
    fs::write(dir.join("p.mero"), WARNED).unwrap();
    let run = meroc(dir, &["compile", "p.mero", "-o", "x"]).code(0);
    assert!(run.out.is_empty() && run.err.contains("warning[M0302"));
}

#[test]
fn the_output_is_replaced_whole_or_not_at_all() {
    let dir = with(POLICY);
    let dir = dir.path();
    fs::write(dir.join("x.merot"), "old").unwrap();
    let before = fs::File::open(dir.join("x.merot")).unwrap();
    meroc(dir, &["compile", "p.mero", "-o", "x.merot"]).code(0);
    // Who has the old file open still reads the old file: it was replaced, not
    // written over.
    assert_eq!(std::io::read_to_string(before).unwrap(), "old");
    assert!(fs::read(dir.join("x.merot")).unwrap().starts_with(b"MEROTBL\0"));
    assert_eq!(files(dir), ["p.mero", "x.merot"], "a temporary file is left");

    meroc(dir, &["compile", "p.mero", "-o", "missing/x.merot"]).code(2).says("cannot write");
    fs::create_dir(dir.join("d")).unwrap();
    meroc(dir, &["compile", "p.mero", "-o", "d"]).code(2).says("cannot write");
    assert!(files(&dir.join("d")).is_empty());
    assert_eq!(files(dir), ["d", "p.mero", "x.merot"], "a temporary file is left");
    // A file where a directory should be.
    meroc(dir, &["compile", "p.mero", "-o", "p.mero/x"]).code(2).says("cannot write");
}

#[test]
fn an_unwritable_directory_keeps_its_file() {
    let dir = with(POLICY);
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("x.merot"), "old").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    // Who may write anywhere cannot see the failure.
    let privileged = fs::write(closed.join("probe"), "").is_ok();
    if !privileged {
        meroc(dir.path(), &["compile", "p.mero", "-o", "closed/x.merot"])
            .code(2)
            .says("cannot write");
        assert_eq!(fs::read(closed.join("x.merot")).unwrap(), b"old");
        assert_eq!(files(&closed), ["x.merot"]);
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    // A full device fails for everybody.
    if Path::new("/dev/full").exists() {
        let full = Command::new("sh")
            .args(["-c", "exec \"$0\" compile p.mero -o - >/dev/full"])
            .arg(env!("CARGO_BIN_EXE_meroc"))
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert_eq!(full.status.code(), Some(2));
    }
}

#[test]
fn init_writes_a_policy_without_findings() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    meroc(dir, &["init"]).code(0).says("next:");
    assert_eq!(files(dir), ["policy.mero"]);
    meroc(dir, &["check", "--deny-warnings"]).code(0);
    meroc(dir, &["explain", "policy.mero", "-c", "agent", "read", "/README.md"]).code(0);
    meroc(dir, &["compile", "policy.mero", "-o", "policy.merot"]).code(0);
    let before = fs::read(dir.join("policy.mero")).unwrap();
    fs::write(dir.join("policy.mero"), [&before[..], b"// mine\n"].concat()).unwrap();
    meroc(dir, &["init"]).code(2).says("there already");
    assert!(fs::read(dir.join("policy.mero")).unwrap().ends_with(b"// mine\n"));
    fs::create_dir(dir.join("sub")).unwrap();
    meroc(dir, &["init", "sub"]).code(0);
    assert_eq!(files(&dir.join("sub")), ["policy.mero"]);
}

#[test]
fn what_is_built_in() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let codes = meroc(dir, &["code"]).code(0).out;
    assert!(codes.lines().count() > 20);
    for line in codes.lines() {
        let mut words = line.split_whitespace();
        let (id, name) = (words.next().unwrap(), words.next().unwrap());
        let by_id = meroc(dir, &["code", id]).code(0).says(name);
        let by_name = meroc(dir, &["code", name]).code(0);
        assert_eq!(by_id.out, by_name.out);
    }
    for line in meroc(dir, &["std"]).code(0).out.lines() {
        let name = line.split_whitespace().next().unwrap();
        let text = meroc(dir, &["std", name]).code(0).out;
        let bare = name.strip_prefix("std::").unwrap();
        assert_eq!(meroc(dir, &["std", bare]).code(0).out, text);
        assert!(text.contains(&format!("profile {bare}")));
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        meroc(dir, &["completions", shell]).code(0).says("explain");
    }
}

// Terminals and pipes.

#[test]
fn colour() {
    let dir = with(BROKEN);
    let colours = |arguments: &[&str], environment: &[(&str, &str)]| {
        let run = meroc_with(dir.path(), arguments, b"", environment);
        run.out.contains('\u{1b}')
    };
    let check = ["check", "p.mero"];
    assert!(!colours(&check, &[]), "no terminal, no colour");
    assert!(colours(&check, &[("CLICOLOR_FORCE", "1")]));
    assert!(!colours(&check, &[("CLICOLOR_FORCE", "0")]));
    assert!(!colours(&check, &[("CLICOLOR_FORCE", "")]));
    assert!(!colours(&check, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(colours(&check, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "")]));
    assert!(colours(&["--color", "always", "check", "p.mero"], &[("NO_COLOR", "1")]));
    assert!(colours(&["check", "--color", "always", "p.mero"], &[]));
    assert!(!colours(&["check", "--color", "never", "p.mero"], &[("CLICOLOR_FORCE", "1")]));
    for format in ["json", "short"] {
        let arguments = ["check", "--color", "always", "--format", format, "p.mero"];
        assert!(!colours(&arguments, &[]), "{format} is for programs");
    }
    // Errors of the tool as well.
    let failure = meroc(dir.path(), &["check", "missing.mero"]).code(2);
    assert!(!failure.err.contains('\u{1b}'));
    let failure = meroc(dir.path(), &["--color", "always", "check", "missing.mero"]).code(2);
    assert!(failure.err.contains('\u{1b}'));
}

#[test]
fn a_closed_pipe_is_quiet() {
    let dir = with(POLICY);
    fs::write(
        dir.path().join("many"),
        "{\"context\":\"w\",\"path\":\"/a\",\"permission\":\"read\"}\n".repeat(5_000),
    )
    .unwrap();
    for (verb, reader) in [
        ("code", "head -1"),
        ("std secrets", "head -1"),
        ("completions bash", "head -1"),
        ("compile p.mero --emit rust -o -", "head -1"),
        ("eval p.mero <many", "head -1"),
        ("--help", "head -1"),
        ("code", "true"),
        ("check p.mero", "true"),
    ] {
        let script = format!("{{ \"$M\" {verb} 2>err; echo $? >code; }} | {reader}");
        let output = Command::new("bash")
            .args(["-c", &script])
            .env("M", env!("CARGO_BIN_EXE_meroc"))
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read_to_string(dir.path().join("err")).unwrap(), "", "{script}");
        assert_eq!(fs::read_to_string(dir.path().join("code")).unwrap(), "0\n", "{script}");
    }
}

#[test]
fn nothing_shows_on_standard_error_when_all_is_well() {
    let dir = with(POLICY);
    for arguments in [
        &["check", "p.mero"][..],
        &["compile", "p.mero", "-o", "x.merot"],
        &["inspect", "x.merot"],
        &["explain", "p.mero", "-c", "w", "read", "/x"],
        &["eval", "p.mero"],
        &["code"],
        &["std"],
    ] {
        assert_eq!(meroc(dir.path(), arguments).code(0).err, "", "{arguments:?}");
    }
}
