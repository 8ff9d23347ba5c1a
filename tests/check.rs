//! `meroc check` beyond its findings: levels, repairs, watching.
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

#[path = "common/process.rs"]
mod process;

use process::{files, told as run};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// A warning of `names`, one of `logic`, and a note of `tests`.
const DOUBTFUL: &str = "edition 1\nprofile x { allow read }\ncontext w { allow read  deny read }\n";

fn levels(policy: &str, flags: &[&str]) -> (i32, String) {
    let d = files(&[("p.mero", policy)]);
    let (code, out, err) =
        run(d.path(), &[&["check", "p.mero", "--format", "json"], flags].concat());
    let value: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    let shown = value["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| format!("{} {}", f["level"].as_str().unwrap(), f["name"].as_str().unwrap()));
    (code, shown.collect::<Vec<_>>().join(", "))
}

#[test]
fn levels_are_set_by_code_name_and_group() {
    let plain = "warning unused-profile, warning contradiction";
    for (flags, code, expected) in [
        (&[][..], 0, plain),
        (&["--deny-warnings"], 1, plain),
        (
            &["-W", "info"],
            0,
            "warning unused-profile, info untested-context, warning contradiction",
        ),
        (
            &["-W", "info", "--deny-warnings", "-A", "names", "-A", "logic"],
            0,
            "info untested-context",
        ),
        (
            &["-W", "untested-context"],
            0,
            "warning unused-profile, warning untested-context, warning contradiction",
        ),
        (&["-D", "tests", "-A", "names,logic"], 2, ""),
        (&["-D", "tests", "-A", "names", "-A", "logic"], 1, "error untested-context"),
        (&["-D", "M0301"], 1, "warning unused-profile, error contradiction"),
        (&["-D", "m0301", "-A", "unused-profile"], 1, "error contradiction"),
        (&["-A", "info", "-W", "info"], 0, plain),
        (
            &["-W", "info", "-D", "info", "-A", "names"],
            1,
            "error untested-context, warning contradiction",
        ),
    ] {
        if code == 2 {
            let d = files(&[("p.mero", DOUBTFUL)]);
            let got = run(d.path(), &[&["check", "p.mero"], flags].concat());
            assert!(got.0 == 2 && got.1.is_empty(), "{flags:?}");
            continue;
        }
        assert_eq!(levels(DOUBTFUL, flags), (code, expected.to_owned()), "{flags:?}");
    }
}

#[test]
fn errors_of_the_language_keep_their_level() {
    let broken = "edition 1\ncontext w { allow raed }\n";
    for flags in [&["-A", "names"][..], &["-W", "unknown-permission"], &["-A", "M0205"]] {
        assert_eq!(levels(broken, flags), (1, "error unknown-permission".to_owned()), "{flags:?}");
    }
    let failing = "edition 1\ncontext w { allow read }\ntest w { deny permission read }\n";
    assert_eq!(levels(failing, &["-A", "tests"]), (1, "error failed-test".to_owned()));
}

#[test]
fn the_summary_counts_what_is_shown() {
    let d = files(&[("p.mero", DOUBTFUL)]);
    let (_, out, _) = run(d.path(), &["check", "p.mero", "-W", "info", "-D", "logic"]);
    assert!(
        out.ends_with(
            "1 error, 1 warning, 1 note in 1 file; `meroc code CODE` explains a finding\n"
        ),
        "{out}"
    );
    let (code, out, _) = run(d.path(), &["check", "p.mero", "-A", "logic", "-A", "names"]);
    assert_eq!((code, out.as_str()), (0, "no findings in 1 file\n"));
}

const REPAIRABLE: &str = "edition 1\nimport \"a.mero\"\n  import \"b.mero\" // why\n\n\
    context w {\n    @allow(contradiction, \"old\")\n    allow read\n    \
    mount root at \"./ws\" { allow read  hide \"a\u{200b}b\" }\n}\n";

#[test]
fn what_is_safe_is_repaired() {
    let d = files(&[
        ("p.mero", REPAIRABLE),
        ("a.mero", "edition 1\npermission edit = read | write\n"),
        ("b.mero", "edition 1\nprofile q { allow read }\n"),
    ]);
    let before = run(d.path(), &["compile", "p.mero", "-o", "before.merot"]);
    assert_eq!(before.0, 0);
    let (code, out, err) = run(d.path(), &["check", "p.mero", "--fix"]);
    assert_eq!((code, out.as_str()), (0, "no findings in 1 file\n"), "{err}");
    assert_eq!(
        err.lines()
            .map(|l| l.split(": ").take(2).collect::<Vec<_>>().join(": "))
            .collect::<Vec<_>>(),
        [
            "fixed p.mero:2:1: unused-import",
            "fixed p.mero:3:3: unused-import",
            "fixed p.mero:6:5: unmatched-allow",
            "fixed p.mero:8:47: hidden-character",
        ],
        "{err}"
    );
    assert_eq!(
        fs::read_to_string(d.path().join("p.mero")).unwrap(),
        "edition 1\n   // why\n\ncontext w {\n    allow read\n    \
         mount root at \"./ws\" { allow read  hide \"a\\u{200b}b\" }\n}\n"
    );
    assert_eq!(run(d.path(), &["compile", "p.mero", "-o", "after.merot"]).0, 0);
    let bytes = |name| fs::read(d.path().join(name)).unwrap();
    assert_eq!(bytes("before.merot"), bytes("after.merot"), "nothing else has changed");
    let (_, _, err) = run(d.path(), &["check", "p.mero", "--fix"]);
    assert_eq!(err, "", "there is nothing left to repair");
    let names = fs::read_dir(d.path()).unwrap().count();
    assert_eq!(names, 5, "no temporary file is left");
}

#[test]
fn a_duplicate_goes_with_its_line() {
    let policy = |more: &str| {
        format!("edition 1\ncontext w {{\n  commands {{\n    allow \"a\"\n{more}  }}\n}}\n")
    };
    let d = files(&[("p.mero", &policy("    allow \"a\"\n"))]);
    let (code, out, err) = run(d.path(), &["check", "p.mero", "--fix"]);
    assert_eq!((code, out.as_str()), (0, "no findings in 1 file\n"), "{err}");
    assert_eq!(fs::read_to_string(d.path().join("p.mero")).unwrap(), policy(""));
}

#[test]
fn errors_are_repaired_where_one_repair_is_meant() {
    let d = files(&[(
        "p.mero",
        "edition 1\n# a comment\ncontext w {\n  allow read,\n  hide 'x',\n}\n",
    )]);
    let (code, out, err) = run(d.path(), &["check", "p.mero", "--fix"]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(
        fs::read_to_string(d.path().join("p.mero")).unwrap(),
        "edition 1\n// a comment\ncontext w {\n  allow read\n  hide \"x\",\n}\n"
    );
}

#[test]
fn what_is_silenced_or_not_ours_stays() {
    // Levels decide on repairs, too.
    let d = files(&[
        (
            "p.mero",
            "edition 1\nimport \"sub/a.mero\"\ncontext w { use std::secrets  allow read }\n",
        ),
        ("sub/a.mero", "edition 1\nimport \"b.mero\"\npermission edit = read | write\n"),
        ("sub/b.mero", "edition 1\nprofile q { allow read }\n"),
    ]);
    let text = |name| fs::read_to_string(d.path().join(name)).unwrap();
    let before = (text("p.mero"), text("sub/a.mero"));
    let (_, _, err) = run(d.path(), &["check", "p.mero", "--fix", "-A", "unused-import"]);
    assert_eq!((err.as_str(), (text("p.mero"), text("sub/a.mero"))), ("", before));
    // Imported files are repaired where they are.
    let (_, _, err) = run(d.path(), &["check", "sub/a.mero", "p.mero", "--fix"]);
    assert!(err.contains("fixed sub/a.mero:2:1: unused-import"), "{err}");
    assert_eq!(text("sub/a.mero"), "edition 1\npermission edit = read | write\n");
    let (code, _, err) = run(d.path(), &["check", "-", "--fix"]);
    assert!(code == 2 && err.contains("standard input"), "{err}");
    assert_eq!(run(d.path(), &["check", "p.mero", "--fix", "--watch"]).0, 2);
}

#[test]
fn links_and_modes_survive_a_repair() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let text = "edition 1\nimport \"b.mero\"\ncontext w { allow read }\n";
    let d =
        files(&[("real/p.mero", text), ("real/b.mero", "edition 1\n"), ("b.mero", "edition 1\n")]);
    let real = d.path().join("real/p.mero");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = d.path().join("p.mero");
    symlink("real/p.mero", &link).unwrap();
    let (code, out, err) = run(d.path(), &["check", "p.mero", "--fix"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "edition 1\ncontext w { allow read }\n");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_change_is_checked_again() {
    let d = files(&[
        ("p.mero", "edition 1\nimport \"lib/q.mero\"\ncontext w { use q  allow raed }\n"),
        ("lib/q.mero", "edition 1\nprofile q { hide \"x\" }\n"),
    ]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_meroc"))
        .args(["check", "p.mero", "--watch", "--format", "short"])
        .current_dir(d.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, lines) = channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        for line in stdout.lines() {
            if sender.send(line.unwrap()).is_err() {
                break;
            }
        }
    });
    // Nothing here waits for long unless something is wrong.
    let next = || lines.recv_timeout(Duration::from_secs(30)).expect("a report");
    let wait = |wanted: &str| {
        for _ in 0..5 {
            let line = next();
            assert!(!line.contains('\u{1b}'), "only terminals are cleared");
            if line.starts_with(wanted) {
                return;
            }
        }
        panic!("there is no report of {wanted}");
    };
    wait("p.mero:3:26: error[M0205]");
    fs::write(
        d.path().join("p.mero"),
        "edition 1\nimport \"lib/q.mero\"\n\ncontext w { use q  allow wriet }\n",
    )
    .unwrap();
    wait("p.mero:4:26: error[M0205]");
    // As editors do it, and in another directory.
    fs::write(d.path().join("lib/new"), "edition 1\nprofile q { hide \"x\"  deny raed }\n")
        .unwrap();
    fs::rename(d.path().join("lib/new"), d.path().join("lib/q.mero")).unwrap();
    wait("lib/q.mero:2:28: error[M0205]");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(lines);
    reader.join().unwrap();
}

#[test]
fn only_files_can_be_watched() {
    let d = files(&[("p.mero", DOUBTFUL)]);
    for policy in ["-", "none.mero", "HEAD:p.mero"] {
        let (code, out, err) = run(d.path(), &["check", policy, "--watch"]);
        assert!(
            code == 2 && out.is_empty() && err.contains("cannot be watched"),
            "{policy}: {err}"
        );
    }
}
