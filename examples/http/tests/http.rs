//! The server on a real tree, spoken to as any client would.
#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use mero_example_http::{Host, MAX_BODY, MAX_OUTPUT, MOST_SESSIONS, Tokens, serve};
use mero_runtime::host::audit::JsonLines;
use mero_runtime::host::{Directories, Store};
use meroc::driver::{Memory as Files, analyse};
use meroc::table::{Options, compile};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

const AGENT: &str = "the-token-of-the-agent";
const PERSON: &str = "the-token-of-the-person";
const SECRET: &str = "hunter2-in-the-clear";

fn table(policy: &str) -> Vec<u8> {
    let policy = analyse(&Files::policy(policy), "p.mero").unwrap().policy;
    compile(&policy, Options::default()).unwrap().bytes
}

/// A server on a tree of its own, which ends with the test.
struct Server {
    directory: tempfile::TempDir,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

fn server(wait: Duration) -> Server {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("base/src")).unwrap();
    fs::write(at("base/src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(at("base/.env"), SECRET).unwrap();
    fs::write(at("outside"), SECRET).unwrap();
    std::os::unix::fs::symlink(at("outside"), at("base/way_out")).unwrap();
    fs::write(at("policy.merot"), table(include_str!("../policy.mero"))).unwrap();

    let store = Store::open(at("policy.merot"), Directories::new(at("base"))).unwrap();
    let tokens = Tokens::new(AGENT, PERSON).unwrap();
    let host = Host::new(store, tokens, vec!["worker".to_owned()], wait)
        .log(JsonLines::append(at("audit.jsonl")).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = spawn(move || serve(&listener, &host, &stopped).unwrap());
    Server { directory, address, stop, thread: Some(thread) }
}

impl Server {
    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Sends bytes and gives status and body of the answer.
    fn raw(&self, request: &[u8]) -> (u16, Value) {
        exchange(self.address, request)
    }

    fn call(&self, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.raw(&request(self.address, token, method, path, body))
    }

    fn get(&self, token: &str, path: &str) -> (u16, Value) {
        self.call(token, "GET", path, &Value::Null)
    }

    fn session(&self) -> String {
        let (status, body) = self.call(AGENT, "POST", "/session", &json!({ "context": "worker" }));
        assert_eq!(status, 200, "{body}");
        body["session"].as_str().unwrap().to_owned()
    }

    fn tool(&self, session: &str, tool: &str, body: Value) -> (u16, Value) {
        self.call(AGENT, "POST", &format!("/session/{session}/tools/{tool}"), &body)
    }

    /// As [`Self::tool`], on a thread of its own.
    fn tool_meanwhile(&self, id: &str, tool: &str, body: Value) -> JoinHandle<(u16, Value)> {
        let path = format!("/session/{id}/tools/{tool}");
        let (address, bytes) = (self.address, request(self.address, AGENT, "POST", &path, &body));
        spawn(move || exchange(address, &bytes))
    }

    /// The first request on the list, once there is one.
    fn waiting(&self) -> Value {
        for _ in 0..200 {
            let (status, body) = self.get(PERSON, "/approvals");
            assert_eq!(status, 200, "{body}");
            if let Some(first) = body["waiting"].get(0) {
                return first.clone();
            }
            sleep(Duration::from_millis(20));
        }
        panic!("nothing waits for approval");
    }
}

fn request(to: SocketAddr, token: &str, method: &str, path: &str, body: &Value) -> Vec<u8> {
    let mut out = format!("{method} {path} HTTP/1.1\r\nHost: {to}\r\n");
    if !token.is_empty() {
        out += &format!("Authorization: Bearer {token}\r\n");
    }
    let body = if body.is_null() { String::new() } else { body.to_string() };
    if !body.is_empty() {
        out += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    }
    (out + "\r\n" + &body).into_bytes()
}

fn exchange(to: SocketAddr, request: &[u8]) -> (u16, Value) {
    let patience = Duration::from_secs(20);
    let mut stream = TcpStream::connect_timeout(&to, patience).unwrap();
    stream.set_read_timeout(Some(patience)).unwrap();
    stream.set_write_timeout(Some(patience)).unwrap();
    // The server may have seen enough before it has read everything.
    let _ = stream.write_all(request);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = String::new();
    stream.take(16 << 20).read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

#[test]
fn files_are_read_written_and_listed_as_the_policy_allows() {
    let server = server(Duration::from_secs(10));
    let id = server.session();
    let tool = |tool: &str, body: Value| server.tool(&id, tool, body);
    let (status, body) = tool("read", json!({ "path": "/src/main.rs" }));
    assert_eq!((status, &body["text"]), (200, &json!("fn main() {}\n")));
    let (status, body) = tool("list", json!({ "path": "/" }));
    assert_eq!(
        (status, &body["entries"]),
        (200, &json!(["src/", "way_out"])),
        "not what is hidden"
    );
    let (status, _) = tool("write", json!({ "path": "/src/lib.rs", "text": "mod a;\n" }));
    assert_eq!(status, 200);
    assert_eq!(fs::read_to_string(server.at("base/src/lib.rs")).unwrap(), "mod a;\n");

    let (status, body) = tool("read", json!({ "path": "/.env" }));
    assert_eq!((status, &body["reason"]), (403, &json!("hidden")));
    assert!(body["denied"].as_str().unwrap().starts_with("Denied: read on `/.env`"));
    for path in ["/way_out", "way_out", "../outside", "/src/../../outside"] {
        for (name, body) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "text": "x" })),
            ("run", json!({ "argv": ["wc", "-l", path] })),
        ] {
            let (status, body) = tool(name, body);
            assert_eq!(status, 403, "{name} {path}: {body}");
            let said = body.to_string();
            assert!(!said.contains(SECRET) && !said.contains("base"), "{said}");
        }
    }
    assert_eq!(fs::read_to_string(server.at("outside")).unwrap(), SECRET);
    assert_eq!(tool("write", json!({ "path": "/.git/config", "text": "" })).0, 403);
    std::os::unix::fs::symlink("src/absent", server.at("base/dangling")).unwrap();
    for path in ["/absent", "/etc/passwd", "/dangling"] {
        let (status, body) = tool("read", json!({ "path": path }));
        assert_eq!(status, 404, "{path}: {body}");
        // Neither where the tree is nor where a link leads.
        assert!(!body.to_string().contains("base") && !body.to_string().contains("src"), "{body}");
    }
    assert_eq!(tool("read", json!({ "path": "/src/main.rs/deeper" })).0, 403);
    assert_eq!(tool("write", json!({ "path": "/a\u{0}b", "text": "" })).0, 400);

    fs::write(server.at("base/long"), "x".repeat(MAX_OUTPUT + 1)).unwrap();
    let (status, body) = tool("read", json!({ "path": "/long" }));
    assert_eq!((status, &body["cut"]), (200, &json!(true)));
    assert_eq!(body["text"].as_str().unwrap().len(), MAX_OUTPUT);
}

#[test]
fn commands_run_as_the_policy_allows() {
    let server = server(Duration::from_secs(10));
    let id = server.session();
    let run = |body: Value| server.tool(&id, "run", body);
    for body in
        [json!({ "command": "wc -l src/main.rs" }), json!({ "argv": ["wc", "-l", "src/main.rs"] })]
    {
        let (status, body) = run(body);
        assert_eq!((status, &body["code"]), (200, &json!(0)), "{body}");
        assert!(body["out"].as_str().unwrap().contains("1 src/main.rs"), "{body}");
    }
    let (status, body) = run(json!({ "command": "wc -l src/main.rs absent" }));
    assert_eq!((status, &body["code"]), (200, &json!(1)), "{body}");
    for (command, reason) in [
        ("wc -l src/main.rs; touch src/made", "command-not-allowed"),
        ("wc -l $(touch src/made)", "command-not-allowed"),
        ("wc -l .env", "hidden"),
        ("wc -l src/main.rs > .env", "hidden"),
        ("cargo publish", "command-not-allowed"),
    ] {
        let (status, body) = run(json!({ "command": command }));
        assert_eq!(status, 403, "{command}: {body}");
        assert_eq!(body["reason"], reason, "{command}: {body}");
    }
    assert!(!server.at("base/src/made").exists());
    for body in [
        json!({}),
        json!({ "command": "wc", "argv": ["wc"] }),
        json!({ "argv": ["wc", 1] }),
        json!({ "argv": [] }),
        json!({ "command": 1 }),
    ] {
        let (status, answer) = run(body.clone());
        assert!(status == 400 || status == 403, "{body}: {answer}");
    }
}

#[test]
fn a_person_approves_and_refuses() {
    let server = server(Duration::from_secs(10));
    let id = server.session();
    let path = server.at("base/src/main.rs");
    let delete = json!({ "path": "/src/main.rs", "why": "it is \u{202e}not needed" });

    for (approve, expected) in [(false, 403), (true, 200)] {
        let call = server.tool_meanwhile(&id, "delete", delete.clone());
        let asked = server.waiting();
        assert_eq!(asked["action"], "delete on `/src/main.rs`");
        assert_eq!(asked["agent_says"], "it is \\u{202e}not needed");
        assert_eq!(asked["session"], json!(id));
        // A call that waits holds up no other, and its agent cannot answer it.
        assert_eq!(server.tool(&id, "read", json!({ "path": "/src/main.rs" })).0, 200);
        let to = format!("/approvals/{}", asked["id"]);
        let yes = json!({ "approve": true });
        assert_eq!(server.call(AGENT, "POST", &to, &yes).0, 403);
        assert_eq!(server.get(AGENT, "/approvals").0, 403);
        assert_eq!(server.call("", "POST", &to, &yes).0, 401);
        assert_eq!(server.call(PERSON, "POST", &to, &json!({ "approve": "yes" })).0, 400);
        assert_eq!(server.call(PERSON, "POST", &to, &json!({})).0, 400);
        assert!(path.exists());
        let answer = json!({ "approve": approve });
        assert_eq!(server.call(PERSON, "POST", &to, &answer).0, 200);
        let (status, body) = call.join().unwrap();
        assert_eq!(status, expected, "{body}");
        assert_eq!(path.exists(), !approve);
        // What is answered is off the list.
        assert_eq!(server.call(PERSON, "POST", &to, &answer).0, 404);
        assert_eq!(server.get(PERSON, "/approvals").1["waiting"], json!([]));
    }
}

#[test]
fn what_nobody_answers_is_denied() {
    let server = server(Duration::from_millis(300));
    let id = server.session();
    let (status, body) = server.tool(&id, "delete", json!({ "path": "/src/main.rs" }));
    assert_eq!((status, &body["reason"]), (504, &json!("ApprovalTimeout")), "{body}");
    assert!(server.at("base/src/main.rs").exists());
    assert_eq!(server.get(PERSON, "/approvals").1["waiting"], json!([]));
}

#[test]
fn more_than_a_list_holds_and_what_waits_at_the_end_is_undecided() {
    let server = server(Duration::from_secs(60));
    let id = server.session();
    let ask = || server.tool_meanwhile(&id, "delete", json!({ "path": "/src/main.rs" }));
    let calls = (0..mero_example_http::MOST_WAITING).map(|_| ask()).collect::<Vec<_>>();
    for _ in 0..500 {
        if server.get(PERSON, "/approvals").1["waiting"].as_array().unwrap().len() == calls.len() {
            break;
        }
        sleep(Duration::from_millis(20));
    }
    let (status, body) = ask().join().unwrap();
    assert_eq!((status, &body["reason"]), (409, &json!("ApprovalUnresolved")), "{body}");
    let began = Instant::now();
    server.stop.store(true, Ordering::Relaxed);
    for call in calls {
        assert_eq!(call.join().unwrap().0, 409);
    }
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(server.at("base/src/main.rs").exists());
}

#[test]
fn who_calls_is_asked_first() {
    let server = server(Duration::from_secs(10));
    let id = server.session();
    let body = json!({ "path": "/src/main.rs" });
    let to = format!("/session/{id}/tools/read");
    for token in ["", "x", "the-token-of-the-agenT", &AGENT[1..], ""] {
        assert_eq!(server.call(token, "POST", &to, &body).0, 401, "{token}");
        assert_eq!(server.get(token, "/audit").0, 401, "{token}");
    }
    assert_eq!(server.get(AGENT, "/audit").0, 403);
    assert_eq!(server.call(PERSON, "POST", &to, &body).0, 403, "a person calls no tools");
    let whole = String::from_utf8(request(server.address, AGENT, "POST", &to, &body)).unwrap();
    assert_eq!(server.raw(whole.as_bytes()).0, 200);
    let host = format!("Host: {}", server.address);
    let port = server.address.port();
    for (from, into, expected) in [
        (host.clone(), format!("{host}\r\nOrigin: http://localhost"), 403),
        (host.clone(), format!("{host}\r\nOrigin: null"), 403),
        (host.clone(), format!("Host: rebound.example:{port}"), 403),
        (host.clone(), "Host: 127.0.0.1:1".to_owned(), 403),
        (host.clone(), "X: y".to_owned(), 400),
        (host.clone(), format!("{host}\r\n{host}"), 400),
        (host.clone(), format!("Host: LOCALHOST:{port}"), 200),
        ("application/json".into(), "text/plain".into(), 415),
        ("application/json".into(), "application/json; charset=utf-8".into(), 200),
        ("Content-Type".into(), "X-Type".into(), 415),
    ] {
        let changed = whole.replace(&from, &into);
        let (status, body) = server.raw(changed.as_bytes());
        assert_eq!(status, expected, "{into}: {body}");
    }
}

#[test]
fn an_agent_opens_what_it_may() {
    let server = server(Duration::from_secs(10));
    let open = |token, body: Value| server.call(token, "POST", "/session", &body);
    let (status, body) = open(AGENT, json!({ "context": "worker", "phase": "plan" }));
    assert_eq!((status, &body["phase"]), (200, &json!("plan")));
    let planning = body["session"].as_str().unwrap();
    let (status, body) = server.tool(planning, "write", json!({ "path": "/a", "text": "" }));
    assert_eq!((status, &body["reason"]), (403, &json!("phase")));
    for phase in ["accept_edits", "trusted", "bypass_permissions"] {
        assert_eq!(open(AGENT, json!({ "context": "worker", "phase": phase })).0, 403, "{phase}");
    }
    assert_eq!(open(AGENT, json!({ "context": "reader" })).0, 403, "not in what was named");
    assert_eq!(open(PERSON, json!({ "context": "reader" })).0, 200);
    assert_eq!(open(PERSON, json!({ "context": "worker", "phase": "accept_edits" })).0, 200);
    assert_eq!(open(PERSON, json!({ "context": "absent" })).0, 400);
    assert_eq!(open(AGENT, json!({ "context": "worker", "phase": "lax" })).0, 400);
    assert_eq!(open(AGENT, json!({ "context": 1 })).0, 400);

    let mut last = String::new();
    // Three are open.
    for _ in 3..MOST_SESSIONS {
        last = server.session();
    }
    assert_eq!(open(AGENT, json!({ "context": "worker" })).0, 503);
    let ended = format!("/session/{last}");
    assert_eq!(server.call(AGENT, "DELETE", &ended, &Value::Null).0, 200);
    assert_eq!(server.call(AGENT, "DELETE", &ended, &Value::Null).0, 404);
    assert_eq!(server.tool(&last, "read", json!({ "path": "/src/main.rs" })).0, 404);
    server.session();
}

#[test]
fn what_is_no_request_is_answered_and_harms_nothing() {
    let server = server(Duration::from_secs(10));
    let id = server.session();
    let body = json!({ "path": "/src/main.rs" });
    let to = format!("/session/{id}/tools/read");
    let whole = String::from_utf8(request(server.address, AGENT, "POST", &to, &body)).unwrap();
    let (head, _) = whole.split_once("Content-Length").unwrap();
    let with = |rest: &str| server.raw(format!("{head}{rest}").as_bytes()).0;
    let huge = "x".repeat(MAX_BODY);
    assert_eq!(with(&format!("Content-Length: {}\r\n\r\n{huge}x", MAX_BODY + 1)), 413);
    assert_eq!(with("Content-Length: 18446744073709551615\r\n\r\n{}"), 413);
    assert_eq!(with("Content-Length: 99999999999999999999999\r\n\r\n{}"), 413);
    assert_eq!(with(&format!("Content-Length: {MAX_BODY}\r\n\r\n{huge}")), 400, "it is no JSON");
    assert_eq!(with("Content-Length: -1\r\n\r\n{}"), 400);
    assert_eq!(with("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), 400);
    assert_eq!(with("Content-Length: 9\r\n\r\n{}"), 400, "it is not whole");
    assert_eq!(with("Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), 411);
    assert_eq!(with("X: y\r\n\r\n"), 411);
    assert_eq!(with(&format!("X: {}\r\n\r\n", "y".repeat(100_000))), 431);
    assert_eq!(with(&"X: y\r\n".repeat(100)), 431);
    assert_eq!(server.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").0, 400);
    assert_eq!(server.raw(b"").0, 400);
    let deep = "[".repeat(100_000);
    for text in [
        "{",
        "[]",
        "null",
        "\"\\ud800\"",
        "{\"path\": 1}",
        "{\"path\": \"/\", \"odd\": 1}",
        "{}",
        &deep,
    ] {
        let answer = with(&format!("Content-Length: {}\r\n\r\n{text}", text.len()));
        assert_eq!(answer, 400, "{}", text.get(..20).unwrap_or(text));
    }
    assert_eq!(server.call(AGENT, "POST", "/session/unknown/tools/read", &body).0, 404);
    assert_eq!(server.tool(&id, "fly", json!({})).0, 404);
    assert_eq!(server.get(AGENT, "/nowhere").0, 404);
    assert_eq!(server.get(AGENT, &to).0, 405);
    assert_eq!(server.call(PERSON, "POST", "/approvals/x", &json!({ "approve": true })).0, 404);
    assert_eq!(server.tool(&id, "read", body).0, 200);
}

#[test]
fn the_audit_has_what_was_decided() {
    let server = server(Duration::from_millis(100));
    let id = server.session();
    server.tool(&id, "read", json!({ "path": "/src/main.rs" }));
    server.tool(&id, "read", json!({ "path": "/.env" }));
    server.tool(&id, "delete", json!({ "path": "/src/main.rs" }));
    server.tool(&id, "run", json!({ "command": "cargo publish" }));
    let (status, body) = server.get(PERSON, "/audit");
    assert_eq!((status, &body["lost"]), (200, &json!(0)));
    let events = body["events"].as_array().unwrap();
    let outcomes = events.iter().map(|e| e["outcome"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(outcomes, ["allowed", "denied", "timed-out", "denied"]);
    assert!(events.iter().all(|e| e["requester"]["session"] == json!(id)));
    let lines = fs::read_to_string(server.at("audit.jsonl")).unwrap();
    let lines = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect::<Vec<Value>>();
    assert_eq!(&lines, events);
}

#[test]
fn a_table_that_changes_is_for_new_sessions() {
    let server = server(Duration::from_secs(10));
    let (old, read) = (server.session(), json!({ "path": "/src/main.rs" }));
    let replace = |bytes: &[u8]| {
        fs::write(server.at("new"), bytes).unwrap();
        fs::rename(server.at("new"), server.at("policy.merot")).unwrap();
    };
    replace(b"no table");
    let new = server.session();
    assert_eq!(server.tool(&new, "read", read.clone()).0, 200, "the old table stays in force");
    assert!(server.get(PERSON, "/audit").1["table_not_in_force"].is_string());
    replace(&table("edition 1\ncontext worker { mount root at \".\" { allow write } }\n"));
    let new = server.session();
    assert_eq!(server.tool(&new, "read", read.clone()).0, 403);
    assert_eq!(server.tool(&old, "read", read).0, 200, "a session keeps what it began with");
    assert!(server.get(PERSON, "/audit").1["table_not_in_force"].is_null());
}
