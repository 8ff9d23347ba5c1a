//! What tools do, and who is asked.

use crate::server::{AGENT, PERSON, SECRET, server};
use mero_example_http::{MAX_OUTPUT, MOST_WAITING};
use serde_json::{Value, json};
use std::fs;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

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
    let calls = (0..MOST_WAITING).map(|_| ask()).collect::<Vec<_>>();
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
