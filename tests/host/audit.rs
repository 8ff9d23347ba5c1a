//! What is recorded, and what happens when it cannot be.

use super::{World, kind};
use mero_runtime::host::approval::{AutoApprove, AutoDeny};
use mero_runtime::host::audit::{Audit, Callback, Event, JsonLines, Memory, Outcome};
use mero_runtime::host::{ErrorKind, Guard, Requester};
use mero_runtime::{Permission, Phase};
use serde_json::Value;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const BODY: &str = r#"
    mount root at "./work" { allow read | write  ask write  hide ".env" }
    commands { allow "ls ..." }
    tools { allow "t" }
    grants core:fs.read
"#;
const WAIT: Duration = Duration::from_secs(20);

fn lines(world: &World) -> Vec<Value> {
    world.text("log").lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

fn recorded(world: &World, act: impl Fn(&Guard)) -> Vec<Value> {
    let audit = Arc::new(Audit::durable(JsonLines::append(world.at("log")).unwrap()));
    let requester = Requester {
        agent: Some("a1".into()),
        run: Some("r1".into()),
        session: Some("s1".into()),
        ..Requester::default()
    };
    let guard =
        world.guard(BODY).audit(audit.clone()).requester(requester).approval(Arc::new(AutoApprove));
    act(&guard);
    assert!(audit.flush(WAIT));
    lines(world)
}

#[test]
fn every_decision_is_an_event() {
    let world = World::new(&["work/a", "work/.env"]);
    let events = recorded(&world, |guard| {
        guard.read("/a", "").unwrap();
        guard.write("/a", b"x", "").unwrap();
        guard.read("/.env", "").unwrap_err();
        guard.command("ls -l", "").unwrap();
        guard.argv(&["rm", "x"], "").unwrap_err();
        guard.tool("t", &["core:fs.read"], "").unwrap();
        guard.permission(Permission::READ, "").unwrap_err();
    });
    let get = |key: &str| events.iter().map(|e| e[key].clone()).collect::<Vec<_>>();
    let texts = |key: &str| {
        get(key).into_iter().map(|v| v.as_str().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(texts("effect"), ["allow", "ask", "deny", "allow", "deny", "allow", "deny"]);
    assert_eq!(
        texts("outcome"),
        ["allowed", "approved", "denied", "allowed", "denied", "allowed", "denied"]
    );
    assert_eq!(get("seq"), (0..7).map(Value::from).collect::<Vec<_>>());
    let first = &events[0];
    assert_eq!(first["type"], "mero.decision");
    assert_eq!((&first["path"], &first["permission"]), (&"/a".into(), &"read".into()));
    assert_eq!(first["host"], world.at("work/a").to_str().unwrap());
    assert_eq!(first["requester"]["session"], "s1");
    assert_eq!(first["rule"]["text"], "allow read | write");
    assert_eq!(first["digest"].as_str().unwrap().len(), 64);
    assert!(first["time"].as_str().unwrap().ends_with('Z'));
    assert_eq!(events[2]["reason"], "hidden");
    assert_eq!(events[4]["argv"], serde_json::json!(["rm", "x"]));
    assert_eq!(events[5]["requires"], serde_json::json!(["core:fs.read"]));
}

#[test]
fn checks_of_grants_look_as_elsewhere() {
    let world = World::new(&["work/"]);
    let events = recorded(&world, |guard| {
        guard.grant("core:fs.read").unwrap();
        assert_eq!(kind(guard.grant("core:fs.write")), ErrorKind::GrantDenied);
    });
    let payload = |required: &str, allowed: bool| {
        serde_json::json!({
            "tool": "", "required": [required], "granted": ["core:fs.read"], "allowed": allowed
        })
    };
    for (event, expected) in
        events.iter().zip([payload("core:fs.read", true), payload("core:fs.write", false)])
    {
        assert_eq!(event["type"], "core:access_check");
        assert_eq!(event["payload"], expected);
        assert_eq!((&event["agent_id"], &event["run_id"]), (&"a1".into(), &"r1".into()));
        assert!(event["ts"].is_string() && event["parent_agent_id"].is_null());
    }
}

#[test]
fn what_is_refused_for_what_was_found_is_recorded_too() {
    let world = World::new(&["work/a", "work/b = work/a"]);
    let events = recorded(&world, |guard| {
        guard.write("/b", b"x", "").unwrap_err();
    });
    assert_eq!(events.last().unwrap()["outcome"], "denied");
}

#[test]
fn a_log_is_its_owners_and_no_link() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new(&["work/", "l -> work/elsewhere"]);
    assert!(JsonLines::append(world.at("l")).is_err());
    recorded(&world, |guard| guard.tool("t", &[], "").unwrap());
    let mode = std::fs::metadata(world.at("log")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[cfg(target_os = "linux")]
#[test]
fn durable_means_that_nothing_happens_unrecorded() {
    let world = World::new(&["work/a"]);
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let audit = Arc::new(Audit::durable(JsonLines::new(full())));
    let guard = world.guard(BODY).audit(audit.clone()).approval(Arc::new(AutoApprove));
    assert_eq!(kind(guard.read("/a", "")), ErrorKind::AuditFailed);
    assert_eq!(kind(guard.write("/a", b"x", "")), ErrorKind::AuditFailed);
    assert_eq!(kind(guard.shell_output("ls", "")), ErrorKind::AuditFailed);
    assert_eq!(world.text("work/a"), "work/a");
    // What is denied is denied for its own reason.
    assert_eq!(kind(guard.read("/.env", "")), ErrorKind::PathAccessDenied);
    assert_eq!(audit.lost(), 4);
    // Buffered, it goes on and is counted.
    let audit = Arc::new(Audit::buffered(JsonLines::new(full()), 16).unwrap());
    let guard = world.guard(BODY).audit(audit.clone());
    guard.read("/a", "").unwrap();
    let begin = Instant::now();
    while audit.lost() == 0 && begin.elapsed() < WAIT {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(audit.lost(), 1);
}

#[test]
fn what_does_not_fit_is_counted_and_the_gap_recorded() {
    let world = World::new(&["work/a"]);
    let gate = Arc::new(Mutex::new(()));
    let kept = Arc::new(Memory::new(100));
    let (wait, keep) = (Arc::clone(&gate), Arc::clone(&kept));
    let sink = Callback::new(move |event: &Event| {
        drop(wait.lock());
        mero_runtime::host::audit::Sink::record(&*keep, event)
    });
    let audit = Arc::new(Audit::buffered(sink, 2).unwrap());
    let guard = world.guard(BODY).audit(audit.clone());
    let held = gate.lock().unwrap();
    let begin = Instant::now();
    for _ in 0..50 {
        guard.read("/a", "").unwrap();
    }
    // No decision waited for the sink.
    assert!(begin.elapsed() < WAIT);
    assert!(!audit.flush(Duration::from_millis(20)));
    drop(held);
    assert!(audit.flush(WAIT));
    guard.read("/a", "").unwrap();
    assert!(audit.flush(WAIT));
    let lost = audit.lost();
    assert!((46..=48).contains(&lost), "{lost}");
    let events = kept.events();
    let gaps = events.iter().filter(|e| e.action.is_none()).map(|e| e.lost).sum::<u64>();
    assert_eq!(gaps, lost);
    assert_eq!(events.iter().filter(|e| e.action.is_some()).count() as u64, 51 - lost);
    let gap = events.iter().find(|e| e.action.is_none()).unwrap().to_json();
    assert_eq!(gap["type"], "mero.audit_lost");
}

#[test]
fn a_sink_that_panics_is_an_error_of_the_sink() {
    let world = World::new(&["work/a"]);
    let panics = || Callback::new(|_: &Event| -> io::Result<()> { panic!("sink") });
    let guard = world.guard(BODY).audit(Arc::new(Audit::durable(panics())));
    assert_eq!(kind(guard.read("/a", "")), ErrorKind::AuditFailed);
    let audit = Arc::new(Audit::buffered(panics(), 4).unwrap());
    let guard = world.guard(BODY).audit(audit.clone());
    guard.read("/a", "").unwrap();
    assert!(audit.flush(WAIT));
    assert_eq!(audit.lost(), 1);
}

#[test]
fn dropping_an_audit_writes_what_waits() {
    let world = World::new(&["work/a"]);
    let kept = Arc::new(Memory::new(3));
    let audit = Arc::new(Audit::buffered(Arc::clone(&kept), 100).unwrap());
    let guard = world.guard(BODY).audit(audit);
    for _ in 0..5 {
        guard.read("/a", "").unwrap();
    }
    drop(guard);
    let events = kept.events();
    assert_eq!(events.iter().map(|e| e.seq).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(events.iter().all(|e| e.outcome == Outcome::Allowed));
}

/// Counts writes, and keeps what was written.
#[derive(Clone, Default)]
struct Counted(Arc<Mutex<Vec<u8>>>, Arc<AtomicUsize>);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn threads_decide_at_once_while_tables_are_swapped() {
    let world = World::new(&["work/a"]);
    let written = Counted::default();
    let audit = Arc::new(Audit::durable(JsonLines::new(written.clone())));
    let policy = Arc::new(Mutex::new(Arc::new(world.bind(BODY).unwrap())));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let (audit, policy) = (audit.clone(), policy.clone());
            scope.spawn(move || {
                for _ in 0..100 {
                    let now = policy.lock().unwrap().clone();
                    let guard = Guard::new(now, "w").unwrap().audit(audit.clone());
                    guard.read("/a", "").unwrap();
                    assert_eq!(kind(guard.read("/.env", "")), ErrorKind::PathAccessDenied);
                }
            });
        }
        for _ in 0..20 {
            *policy.lock().unwrap() = Arc::new(world.bind(BODY).unwrap());
        }
    });
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    let mut numbers = text
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap()["seq"].as_u64().unwrap())
        .collect::<Vec<_>>();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..1_600).collect::<Vec<_>>());
    assert_eq!(written.1.load(Ordering::Relaxed), 1_600, "one write a line");
}

#[test]
fn refusals_of_approvals_are_told_apart() {
    let world = World::new(&["work/a"]);
    let kept = Arc::new(Memory::new(10));
    let audit = Arc::new(Audit::durable(Arc::clone(&kept)));
    let guard = world.guard(BODY).audit(audit.clone());
    guard.write("/a", b"", "").unwrap_err();
    let guard = world.guard(BODY).audit(audit).approval(Arc::new(AutoDeny));
    guard.write("/a", b"", "").unwrap_err();
    let outcomes = kept.events().iter().map(|e| e.outcome).collect::<Vec<_>>();
    assert_eq!(outcomes, [Outcome::Unresolved, Outcome::Refused]);
    assert_eq!(kept.events()[0].phase, Phase::Default);
}
