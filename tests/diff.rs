//! `meroc diff`, end to end.
#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

#[path = "common/process.rs"]
mod process;

use process::{Run, files, meroc, meroc_with};
use serde_json::Value;
use std::process::Command;

const OLD: &str = r#"edition 1
context worker {
    mount root at "./workspace" {
        allow read | write
        ask   write
        hide  "*.pem", ".env*"
    }
    commands {
        allow "ls ..."
        allow "cat {read...}"
        ask   "git push ..."
    }
    tools { allow "grep" }
}
"#;

struct World(tempfile::TempDir);

impl World {
    fn new(old: &str, new: &str) -> World {
        World(files(&[("old.mero", old), ("new.mero", new)]))
    }

    fn meroc(&self, args: &[&str]) -> Run {
        meroc(self.0.path(), args)
    }

    fn json(&self, more: &[&str]) -> Value {
        self.meroc(&[&["diff", "old.mero", "new.mero", "--format", "json"], more].concat()).json()
    }

    /// Puts a request to one side.
    fn eval(&self, policy: &str, change: &Value) -> (String, String) {
        let mut request = change["request"].clone();
        request["context"] = change["context"].clone();
        request["phase"] = change["phase"].clone();
        let input = request.to_string();
        let run = meroc_with(self.0.path(), &["eval", policy], input.as_bytes(), &[]);
        let answer = run.json();
        (answer["effect"].as_str().unwrap().into(), answer["reason"].as_str().unwrap().into())
    }

    /// Every change is what `eval` says on both sides.
    fn confirmed(&self, diff: &Value) -> Vec<(String, String, String)> {
        let changes = diff["changes"].as_array().unwrap();
        let mut out = Vec::new();
        for change in changes {
            for (side, policy) in [("before", "old.mero"), ("after", "new.mero")] {
                let text = |key: &str| change[side][key].as_str().unwrap().to_owned();
                assert_eq!(self.eval(policy, change), (text("effect"), text("reason")), "{change}");
            }
            let text = |v: &Value| v.as_str().unwrap().to_owned();
            out.push((
                text(&change["direction"]),
                text(&change["before"]["effect"]),
                text(&change["after"]["effect"]),
            ));
        }
        out.sort();
        out.dedup();
        out
    }
}

fn of(direction: &str, before: &str, after: &str) -> (String, String, String) {
    (direction.to_owned(), before.to_owned(), after.to_owned())
}

#[test]
fn a_policy_is_equivalent_to_itself_however_spelt() {
    let world = World::new(OLD, &OLD.replace("\"ls ...\"", "\"(ls|ls) ...\""));
    let diff = world.json(&[]);
    assert_eq!((&diff["equivalent"], &diff["proved"]), (&true.into(), &true.into()), "{diff}");
    let out = world.meroc(&["diff", "old.mero", "new.mero", "--fail-on", "any"]);
    assert_eq!(out.code, 0);
}

#[test]
fn what_is_asked_for_no_more_widens() {
    let world = World::new(OLD, &OLD.replace("        ask   write\n", ""));
    let diff = world.json(&[]);
    assert_eq!(world.confirmed(&diff), [of("widens", "ask", "allow")]);
    assert_eq!(diff["proved"], true);
    let gate = |what: &str| world.meroc(&["diff", "old.mero", "new.mero", "--fail-on", what]);
    assert_eq!(gate("widen").code, 1);
    assert_eq!(gate("any").code, 1);
    assert_eq!(world.meroc(&["diff", "old.mero", "new.mero"]).code, 0);
}

#[test]
fn what_is_hidden_no_more_can_be_shown_by_commands_too() {
    let world = World::new(OLD, &OLD.replace(", \".env*\"", ""));
    let diff = world.json(&[]);
    let changes = world.confirmed(&diff);
    assert!(changes.contains(&of("widens", "deny", "allow")), "{changes:?}");
    let commands = diff["changes"].as_array().unwrap();
    let cat =
        |c: &&Value| c["request"]["command"].as_str().is_some_and(|c| c.starts_with("cat .env"));
    assert!(commands.iter().any(|c| cat(&c)), "{diff}");
    assert_eq!(diff["proved"], true, "{diff}");
}

#[test]
fn what_is_stricter_narrows_and_passes_the_gate() {
    let new = OLD
        .replace("allow \"ls ...\"", "ask \"ls ...\"")
        .replace("\"*.pem\"", "\"*.pem\", \"*.key\"");
    let world = World::new(OLD, &new);
    let diff = world.json(&[]);
    assert!(world.confirmed(&diff).iter().all(|(d, ..)| d == "narrows"), "{diff}");
    let out = world.meroc(&["diff", "old.mero", "new.mero", "--fail-on", "widen"]);
    assert_eq!(out.code, 0);
}

#[test]
fn reasons_are_shown_on_request() {
    let world = World::new(
        OLD,
        &OLD.replace("ask   \"git push ...\"", "ask   \"git push ...\"\n        deny  \"rm ...\""),
    );
    assert_eq!(world.json(&[])["equivalent"], true);
    let diff = world.json(&["--reasons"]);
    assert_eq!(world.confirmed(&diff), [of("reason", "deny", "deny")]);
}

#[test]
fn contexts_and_mounts_come_and_go() {
    let world = World::new(OLD, &OLD.replace("context worker", "context helper"));
    let diff = world.json(&[]);
    assert_eq!(diff["renamed"][0]["after"], "helper", "{diff}");
    assert_eq!(diff["changes"].as_array().unwrap().len(), 0);
    let world = World::new(OLD, &OLD.replace("./workspace", "/"));
    let diff = world.json(&[]);
    assert_eq!(diff["moved"][0]["direction"], "widens", "{diff}");
    let world = World::new(OLD, "edition 1\ncontext other { tools { allow \"x\" } }\n");
    let diff = world.json(&[]);
    assert_eq!((&diff["removed"][0], &diff["added"][0]), (&"worker".into(), &"other".into()));
}

/// Two policies by themselves.
fn between(old: &str, new: &str) -> (World, Value) {
    let world = World::new(old, new);
    let diff = world.json(&[]);
    (world, diff)
}

#[test]
fn a_mount_that_opens_another_directory_widens() {
    let old = "context w { mount root at \"./ws\" { allow read } }\n";
    let new = "context w { mount root at \"./ws\" { allow read } mount data at \"/srv/x\" { allow read } }\n";
    let (world, diff) = between(old, new);
    assert_eq!(diff["moved"][0]["before"], "./ws/data", "{diff}");
    assert_eq!(diff["moved"][0]["after"], "/srv/x");
    let gate = world.meroc(&["diff", "old.mero", "new.mero", "--fail-on", "widen"]);
    assert_eq!(gate.code, 1);
    // A mount where its name leads anyway is no move.
    let nested = "context w { mount root at \"./ws\" { allow read mount data at \"data\" { allow read } } }\n";
    assert_eq!(between(old, nested).1["equivalent"], true);
}

#[test]
fn parameters_are_compared_by_name_and_default() {
    let policy = |params: &str, second: &str| {
        format!(
            "{params}context w {{ mount root at \"$A\" {{ allow read }} mount m at \"${second}/x\" {{ allow read }} }}\n"
        )
    };
    let old = policy("param A\nparam B\n", "B");
    let (_, diff) = between(&old, &policy("param B\nparam A\n", "B"));
    assert_eq!(diff["equivalent"], true, "{diff}");
    let (_, diff) = between(&old, &policy("param A\nparam C\n", "C"));
    assert_eq!(
        (&diff["moved"][0]["before"], &diff["moved"][0]["after"]),
        (&"$B/x".into(), &"$C/x".into())
    );
    let (_, diff) = between(&old, &policy("param A = \"/\"\nparam B\n", "B"));
    assert_eq!(diff["moved"][0]["direction"], "widens", "{diff}");
}

#[test]
fn what_only_strings_show_is_shown_beside_other_changes() {
    let old = "context w { commands { allow \"git log\" } }\n";
    let new = "context w { commands { allow \"git log\" allow \"ls\" env \"MY_NAME\" } }\n";
    let (world, diff) = between(old, new);
    assert_eq!(world.confirmed(&diff), [of("widens", "deny", "allow")]);
    let commands = diff["changes"].as_array().unwrap();
    let commands = commands.iter().filter_map(|c| c["request"]["command"].as_str());
    let commands = commands.collect::<Vec<_>>();
    assert!(
        commands.contains(&"ls") && commands.iter().any(|c| c.starts_with("MY_NAME=x ")),
        "{commands:?}"
    );
}

#[test]
fn a_rule_on_a_wrapper_changes_what_it_runs() {
    let old = "context w { commands { allow \"git log\" } }\n";
    let new = "context w { commands { allow \"git log\" deny \"timeout ...\" } }\n";
    let (world, diff) = between(old, new);
    assert_eq!(world.confirmed(&diff), [of("narrows", "allow", "deny")]);
}

#[test]
fn what_surrounds_the_rules_counts() {
    for (name, more) in [
        ("otherwise", "otherwise ask"),
        ("opaque", "opaque ask"),
        ("env", "env \"MY_NAME\""),
        ("wrappers", "wrappers \"sudo\""),
    ] {
        let world = World::new(
            OLD,
            &OLD.replace(
                "        allow \"ls ...\"",
                &format!("        {more}\n        allow \"ls ...\""),
            ),
        );
        let diff = world.json(&[]);
        assert!(!world.confirmed(&diff).is_empty(), "{name}: {diff}");
    }
}

#[test]
fn a_revision_can_be_named() {
    let world = World::new(OLD, OLD);
    let git = |args: &[&str]| {
        let out = Command::new("git").args(args).current_dir(world.0.path()).output().unwrap();
        assert!(out.status.success(), "{out:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "old.mero"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x"]);
    std::fs::write(world.0.path().join("old.mero"), OLD.replace("ask   write", "deny write"))
        .unwrap();
    let out = world.meroc(&[
        "diff",
        "HEAD:old.mero",
        "old.mero",
        "--format",
        "markdown",
        "--fail-on",
        "any",
    ]);
    let text = &out.out;
    assert!(text.contains("narrows | `worker`"), "{text}");
    assert_eq!(out.code, 1);
}

#[test]
fn tables_with_their_text_are_compared() {
    let world = World::new(OLD, &OLD.replace("\"ls ...\"", "\"ls\""));
    for side in ["old", "new"] {
        let (policy, table) = (format!("{side}.mero"), format!("{side}.merot"));
        let run = world.meroc(&["compile", &policy, "-o", &table, "--debug-info"]);
        assert_eq!(run.code, 0, "{}", run.err);
    }
    let of_files = world.meroc(&["diff", "old.mero", "new.mero"]);
    assert!(of_files.out.contains("narrows worker"), "{}", of_files.out);
    for pair in [["old.merot", "new.merot"], ["old.mero", "new.merot"], ["old.merot", "new.mero"]] {
        assert_eq!(world.meroc(&["diff", pair[0], pair[1]]).out, of_files.out);
    }
    // The text is only believed if it compiles to the table.
    let path = world.0.path().join("old.merot");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(4).rposition(|w| w == b"grep").unwrap();
    bytes[at] = b'G';
    let digest = mero_runtime::format::DIGEST;
    let parts = [&bytes[..digest.start], &bytes[digest.end..]].map(mero_runtime::blake3).concat();
    bytes.splice(digest, mero_runtime::blake3(&parts));
    std::fs::write(&path, &bytes).unwrap();
    let run = world.meroc(&["diff", "old.merot", "new.merot"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("its text does not compile to it"), "{}", run.err);
    assert_eq!(world.meroc(&["compile", "old.mero", "-o", "old.merot"]).code, 0);
    let run = world.meroc(&["diff", "old.merot", "new.merot"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("compiled without `--debug-info`"), "{}", run.err);
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let world = World::new(OLD, "edition 1\ncontext worker { allow nothing }\n");
    assert_eq!(world.meroc(&["diff", "old.mero", "new.mero"]).code, 1);
    assert_eq!(world.meroc(&["diff", "old.mero", "missing.mero"]).code, 2);
}
