//! `meroc serve`, `replay` and `eval --resolve`, end to end.
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

use process::{files, meroc, meroc_with};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const POLICY: &str = r#"edition 1
context w {
    mount root at "./work" { allow read  hide ".env" }
    commands { allow "cat {read...}" ask "npm ..." }
}
"#;
const WAIT: Duration = Duration::from_secs(30);

/// A server that is stopped however a test ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(directory: &Path, more: &[&str]) -> Server {
    let child = Command::new(env!("CARGO_BIN_EXE_meroc"))
        .args(["serve", "p.mero", "-c", "w"])
        .args(more)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Server(child)
}

fn ask(out: &mut impl Write, input: &mut impl BufRead, line: &str) -> Value {
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
    let mut answer = String::new();
    input.read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{e}: {answer:?}"))
}

fn until(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + WAIT;
    while !done() {
        assert!(Instant::now() < end, "it takes too long");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_answers_and_follows_its_policy() {
    let world = files(&[("p.mero", POLICY)]);
    let mut server = serve(world.path(), &[]);
    let mut out = server.0.stdin.take().unwrap();
    let mut input = BufReader::new(server.0.stdout.take().unwrap());
    let write = r#"{"path":"/a","permission":"write"}"#;
    assert_eq!(ask(&mut out, &mut input, write)["reason"], "not-granted");
    assert_eq!(ask(&mut out, &mut input, "{")["line"], 2);
    assert_eq!(ask(&mut out, &mut input, r#"{"command":"npm test"}"#)["effect"], "ask");
    // One that means nothing leaves the old one in force.
    std::fs::write(world.path().join("p.mero"), "edition 1\ncontext w {").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(ask(&mut out, &mut input, write)["reason"], "not-granted");
    let new = POLICY.replace("allow read", "allow read | write");
    std::fs::write(world.path().join("p.mero"), new).unwrap();
    until(|| ask(&mut out, &mut input, write)["effect"] == "allow");
    drop(out);
    until(|| server.0.try_wait().unwrap().is_some());
    let mut told = String::new();
    std::io::Read::read_to_string(&mut server.0.stderr.take().unwrap(), &mut told).unwrap();
    assert!(told.contains("the old one answers on"), "{told}");
    assert!(told.contains("has changed and is in force"), "{told}");
}

#[test]
fn a_socket_is_its_owners_and_serves_several() {
    let world = files(&[("p.mero", POLICY)]);
    let path = world.path().join("s");
    let _server = serve(world.path(), &["--socket", "s"]);
    until(|| UnixStream::connect(&path).is_ok());
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let stream = UnixStream::connect(&path).unwrap();
                let mut input = BufReader::new(stream.try_clone().unwrap());
                let mut out = stream;
                for _ in 0..20 {
                    let request = r#"{"path":"/.env","permission":"read"}"#;
                    assert_eq!(ask(&mut out, &mut input, request)["reason"], "hidden");
                }
            });
        }
    });
    // What is there is not taken away.
    let run = meroc(world.path(), &["serve", "p.mero", "--socket", "s"]);
    assert_eq!(run.code, 2, "{}", run.err);
}

#[test]
fn links_are_followed_where_that_is_asked_for() {
    let world = files(&[("p.mero", POLICY), ("work/.env", "x"), ("work/a", "x"), ("out", "x")]);
    symlink(".env", world.path().join("work/plain")).unwrap();
    symlink("../out", world.path().join("work/away")).unwrap();
    let requests = [
        r#"{"context":"w","path":"/plain","permission":"read"}"#,
        r#"{"context":"w","path":"/away","permission":"read"}"#,
        r#"{"context":"w","path":"/a","permission":"read"}"#,
        r#"{"context":"w","command":"cat away"}"#,
    ]
    .join("\n");
    let reasons = |args: &[&str]| {
        let run = meroc_with(world.path(), args, requests.as_bytes(), &[]);
        assert_eq!(run.code, 0, "{}", run.err);
        let answers = run.out.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
        answers.map(|a| a["reason"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(reasons(&["eval", "p.mero"]), ["granted"; 4]);
    assert_eq!(
        reasons(&["eval", "p.mero", "--resolve"]),
        ["hidden", "outside", "granted", "outside"]
    );
}

#[test]
fn a_log_is_decided_again() {
    let new = POLICY.replace("ask \"npm ...\"", "allow \"npm test\" ask \"npm publish\"");
    let event = |request: Value, effect: &str, reason: &str| {
        let mut event = request;
        event["type"] = "mero.decision".into();
        event["context"] = "w".into();
        event["phase"] = "default".into();
        event["effect"] = effect.into();
        event["reason"] = reason.into();
        event["latency_ns"] = 100.into();
        event.to_string()
    };
    let log = [
        event(json!({ "command": "npm test" }), "ask", "approval-required"),
        event(json!({ "command": "npm test" }), "ask", "approval-required"),
        event(json!({ "command": "npm run x" }), "ask", "approval-required"),
        event(json!({ "command": "npm publish" }), "ask", "approval-required"),
        event(json!({ "path": "/.env", "permission": "read", "host": "/x" }), "deny", "hidden"),
        json!({ "type": "core:access_check", "payload": {} }).to_string(),
        json!({ "type": "mero.audit_lost", "lost": 7 }).to_string(),
        "not json".to_owned(),
    ]
    .join("\n");
    let world = files(&[("old.mero", POLICY), ("new.mero", &new), ("log", &log)]);
    let run = meroc(world.path(), &["replay", "new.mero", "log", "--format", "json"]);
    assert_eq!(run.code, 1, "a line is malformed");
    let report = run.json();
    assert_eq!(
        report["summary"],
        json!({ "requests": 5, "changed": 3, "asks_before": 4, "asks_after": 1 })
    );
    assert_eq!((&report["skipped"], &report["lost"]), (&1.into(), &7.into()));
    assert_eq!(report["malformed"][0]["line"], 8);
    let first = &report["changes"][0];
    assert_eq!((&first["direction"], &first["times"]), (&"widens".into(), &2.into()));
    assert_eq!(first["request"]["command"], "npm test");
    let text = meroc(world.path(), &["replay", "new.mero", "log"]).out;
    assert!(text.contains("widens w: {\"command\":\"npm test\"}  2 times"), "{text}");
    assert!(
        text.contains("3 of 5 requests decided otherwise; asked 4 times before and 1 now"),
        "{text}"
    );
    assert!(text.contains("asked 1 times by new.mero:4: ask \"npm publish\""), "{text}");
    // Against another policy, what was recorded does not count.
    let run = meroc(
        world.path(),
        &["replay", "old.mero", "--against", "old.mero", "log", "--format", "json"],
    );
    assert_eq!(run.json()["summary"]["changed"], 0);
}
