//! Who may ask for what, and what is no request.

use crate::server::{AGENT, PERSON, request, server, table};
use mero_example_http::{MAX_ASKED, MAX_BODY, MOST_CONNECTIONS, MOST_SESSIONS};
use serde_json::{Value, json};
use std::fs;
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

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
    let long = "x".repeat(MAX_ASKED + 1);
    assert_eq!(server.tool(&id, "read", json!({ "path": long })).0, 413);
    assert_eq!(server.tool(&id, "run", json!({ "command": long })).0, 413);
    assert_eq!(server.tool(&id, "run", json!({ "argv": ["wc", long] })).0, 413);
    assert_eq!(server.get(AGENT, "/nowhere").0, 404);
    assert_eq!(server.get(AGENT, &to).0, 405);
    assert_eq!(server.call(PERSON, "POST", "/approvals/x", &json!({ "approve": true })).0, 404);
    assert_eq!(server.tool(&id, "read", body).0, 200);
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

#[test]
fn connections_that_say_nothing_are_bounded_and_hold_up_no_other() {
    let server = server(Duration::from_secs(10));
    let idle = || TcpStream::connect_timeout(&server.address, Duration::from_secs(10)).unwrap();
    let mut held = (1..MOST_CONNECTIONS).map(|_| idle()).collect::<Vec<_>>();
    assert_eq!(server.get(PERSON, "/approvals").0, 200);
    // The one that was answered leaves a place when the server sees it go.
    let full = (0..200).any(|_| {
        held.push(idle());
        server.get(PERSON, "/approvals").0 == 503
    });
    assert!(full, "there is no more room");
    drop(held);
    let again = (0..200).any(|_| {
        sleep(Duration::from_millis(20));
        server.get(PERSON, "/approvals").0 == 200
    });
    assert!(again, "there is room again");
}
