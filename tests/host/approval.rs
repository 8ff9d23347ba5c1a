//! Who says yes, and what that is worth.

use super::{World, kind, reason};
use mero_runtime::host::approval::{
    Approval, ApprovalBackend, ApprovalRequest, AutoApprove, AutoDeny, BackendError, Callback,
    Chain, Delegation, Remember, Remembered, Terminal, Timeout,
};
use mero_runtime::host::{Action, ErrorKind, Guard, Requester};
use mero_runtime::{Phase, Reason};
use std::io::Cursor;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const BODY: &str = r#"
    mount root at "./work" { allow all  ask write  on "/no" { deny write } }
    commands { ask "npm ..." deny "rm ..." }
    tools { ask "x" }
"#;

fn asking(world: &World, backend: impl ApprovalBackend + 'static) -> Guard {
    world.guard(BODY).approval(Arc::new(backend))
}

fn session(id: &str) -> Requester {
    Requester { session: Some(id.to_owned()), ..Requester::default() }
}

#[test]
fn what_is_asked_for_needs_a_yes() {
    let world = World::new(&["work/a", "work/no"]);
    assert_eq!(kind(world.guard(BODY).write("/a", b"x", "")), ErrorKind::ApprovalUnresolved);
    assert_eq!(kind(asking(&world, AutoDeny).write("/a", b"x", "")), ErrorKind::ApprovalDenied);
    assert_eq!(world.text("work/a"), "work/a");
    let guard = asking(&world, AutoApprove);
    guard.write("/a", b"x", "").unwrap();
    guard.command("npm test", "").unwrap();
    guard.tool("x", &[], "").unwrap();
    assert_eq!(world.text("work/a"), "x");
}

#[test]
fn an_approval_never_lifts_a_denial() {
    let world = World::new(&["work/no", "out/x", "work/l -> ../out/x"]);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let guard = asking(
        &world,
        Callback::new(move |_: &ApprovalRequest| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(Approval::Approved(Remember::Session))
        }),
    );
    assert_eq!(reason(guard.write("/no", b"", "")), Reason::Denied);
    assert_eq!(reason(guard.write("/l", b"", "")), Reason::Outside);
    assert_eq!(reason(guard.command("npm test; rm -rf x", "")), Reason::CommandDenied);
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    guard.set_phase(Phase::Plan).unwrap();
    assert_eq!(reason(guard.write("/a", b"", "")), Reason::Phase);
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[test]
fn backends_that_fail_are_a_no() {
    let world = World::new(&["work/a"]);
    let write = |backend: Arc<dyn ApprovalBackend>| {
        world.guard(BODY).approval(backend).write("/a", b"x", "").unwrap_err()
    };
    let error = write(Arc::new(Callback::new(|_: &ApprovalRequest| Err("no line".into()))));
    assert_eq!(error.kind(), ErrorKind::ApprovalDenied);
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "no line");
    let panics =
        || Callback::new(|_: &ApprovalRequest| -> Result<Approval, BackendError> { panic!("oh") });
    assert_eq!(write(Arc::new(panics())).kind(), ErrorKind::ApprovalDenied);
    let within = Timeout::new(Arc::new(panics()), Duration::from_secs(10));
    assert_eq!(write(Arc::new(within)).kind(), ErrorKind::ApprovalDenied);
    let defers = || -> Arc<dyn ApprovalBackend> {
        Arc::new(Callback::new(|_: &ApprovalRequest| Ok(Approval::Deferred)))
    };
    assert_eq!(write(defers()).kind(), ErrorKind::ApprovalUnresolved);
    assert_eq!(
        write(Arc::new(Chain::new([defers(), defers()]))).kind(),
        ErrorKind::ApprovalUnresolved
    );
    // A later backend does not answer for one that failed.
    let chain = Chain::new([
        Arc::new(Callback::new(|_: &ApprovalRequest| Err("down".into())))
            as Arc<dyn ApprovalBackend>,
        Arc::new(AutoApprove),
    ]);
    assert_eq!(write(Arc::new(chain)).kind(), ErrorKind::ApprovalDenied);
    assert_eq!(world.text("work/a"), "work/a");
    let chain = Chain::new([defers(), Arc::new(AutoApprove), Arc::new(AutoDeny)]);
    asking(&world, chain).write("/a", b"x", "").unwrap();
}

#[test]
fn a_backend_that_hangs_times_out_and_answers_nobody_later() {
    let world = World::new(&["work/a"]);
    let release = Arc::new(Mutex::new(()));
    let held = release.lock().unwrap();
    let waits = Arc::clone(&release);
    let slow = Callback::new(move |_: &ApprovalRequest| {
        drop(waits.lock());
        Ok(Approval::Approved(Remember::Session))
    });
    let guard = asking(&world, Timeout::new(Arc::new(slow), Duration::from_millis(5)));
    let begin = Instant::now();
    let error = guard.write("/a", b"x", "").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ApprovalTimeout);
    assert!(error.to_string().starts_with("Not approved: write on `/a`"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(20));
    // Threads that wait are bounded; beyond them nobody is asked any more.
    for _ in 0..Timeout::MOST + 4 {
        assert_eq!(kind(guard.tool("x", &[], "")), ErrorKind::ApprovalTimeout);
    }
    drop(held);
    assert_eq!(world.text("work/a"), "work/a");
}

#[test]
fn what_is_remembered_is_exactly_what_was_shown() {
    let world = World::new(&["work/a", "work/b", "work/d/", "work/l -> a"]);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let backend = Arc::new(Remembered::new(Callback::new(move |_: &ApprovalRequest| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Approval::Approved(Remember::Session))
    })));
    let guard = |id: &str| world.guard(BODY).approval(backend.clone()).requester(session(id));
    let questions = |act: &dyn Fn()| {
        let before = asked.load(Ordering::Relaxed);
        act();
        asked.load(Ordering::Relaxed) - before
    };
    let one = guard("1");
    let command = |g: &Guard, text: &str| g.command(text, "").unwrap();
    assert_eq!(questions(&|| command(&one, "npm test && npm run build")), 1);
    assert_eq!(questions(&|| command(&one, "npm test && npm run build")), 0);
    // Nothing of a compound command by itself.
    assert_eq!(questions(&|| command(&one, "npm test")), 1);
    assert_eq!(questions(&|| command(&one, "npm test ")), 1);
    assert_eq!(questions(&|| command(&guard("2"), "npm test")), 1);
    one.set_working_directory("/d").unwrap();
    assert_eq!(questions(&|| command(&one, "npm test")), 1);
    one.set_working_directory("/").unwrap();
    one.set_phase(Phase::AcceptEdits).unwrap();
    assert_eq!(questions(&|| command(&one, "npm test")), 1);
    one.set_phase(Phase::Default).unwrap();
    let write = |path: &str| one.write(path, b"x", "").unwrap();
    assert_eq!(questions(&|| write("/a")), 1);
    assert_eq!(questions(&|| write("/a")), 0);
    assert_eq!(questions(&|| write("/b")), 1);
    assert_eq!(questions(&|| write("/l")), 1);
    // The name leads elsewhere now: that was not approved.
    std::fs::remove_file(world.at("work/l")).unwrap();
    std::os::unix::fs::symlink("b", world.at("work/l")).unwrap();
    assert_eq!(questions(&|| write("/l")), 1);
    backend.forget("1");
    assert_eq!(questions(&|| write("/a")), 1);
    // Without a session there is nothing to remember by.
    let nobody = world.guard(BODY).approval(backend.clone());
    assert_eq!(questions(&|| command(&nobody, "npm test")), 1);
    assert_eq!(questions(&|| command(&nobody, "npm test")), 1);
}

#[test]
fn an_approval_of_before_does_not_hold_in_plan() {
    let world = World::new(&["work/"]);
    let guard = world
        .guard(BODY)
        .approval(Arc::new(Remembered::new(Callback::new(|_: &ApprovalRequest| {
            Ok(Approval::Approved(Remember::Session))
        }))))
        .requester(session("1"));
    guard.command("npm test", "").unwrap();
    guard.request_phase(Phase::Plan).unwrap();
    assert_eq!(reason(guard.command("npm test", "")), Reason::Phase);
}

#[test]
fn a_manager_approves_what_it_may_do_itself() {
    let world = World::new(&["work/a", "work/b", "work/c"]);
    let text = r#"edition 1
context lead { mount root at "./work" { allow read | write  on "/b" { ask write }  on "/c" { deny write } } tools { ask "t" } }
context worker { mount root at "./work" { allow read | write  ask write } tools { ask "t" } }
context other { mount root at "./work" { allow read | write  ask write } }
manager lead approves worker
"#;
    let policy = Arc::new(world.bind_all(text).unwrap());
    let guard =
        |name: &str| Guard::new(policy.clone(), name).unwrap().approval(Arc::new(Delegation));
    let worker = guard("worker");
    worker.write("/a", b"x", "").unwrap();
    assert_eq!(kind(worker.write("/b", b"x", "")), ErrorKind::ApprovalUnresolved);
    assert_eq!(kind(worker.write("/c", b"x", "")), ErrorKind::ApprovalUnresolved);
    assert_eq!(kind(worker.tool("t", &[], "")), ErrorKind::ApprovalUnresolved);
    assert_eq!(kind(guard("other").write("/a", b"x", "")), ErrorKind::ApprovalUnresolved);
}

#[test]
fn a_manager_is_asked_about_the_file_and_not_about_its_name() {
    // `/data/x` is another file to each of them.
    let world = World::new(&["lead/data/x", "worker/data/x"]);
    let text = r#"edition 1
context lead { mount root at "./lead" { allow all } }
context worker { mount root at "./worker" { allow all  ask write } }
manager lead approves worker
"#;
    let guard = Guard::new(Arc::new(world.bind_all(text).unwrap()), "worker").unwrap();
    let guard = guard.approval(Arc::new(Delegation));
    assert_eq!(kind(guard.write("/data/x", b"", "")), ErrorKind::ApprovalUnresolved);
}

#[test]
fn a_terminal_shows_what_it_is_about() {
    let request = |command: &str| ApprovalRequest {
        action: Action::Command(command.to_owned()),
        detail: "tidy up".to_owned(),
        requester: Requester::default(),
        context: "w".to_owned(),
        phase: Phase::Default,
        directory: None,
        rule: None,
        managers: Vec::new(),
    };
    let answer = |typed: &str| {
        Terminal::new(Cursor::new(typed.to_owned()), Vec::new()).decide(&request("ls")).unwrap()
    };
    let no = Approval::Denied(String::new());
    for typed in ["", "\n", "n\n", "no\n", "what\nhm\n?\ny\n", "yess\n\n"] {
        assert_eq!(answer(typed), no, "{typed:?}");
    }
    assert_eq!(answer("y\n"), Approval::Approved(Remember::Once));
    assert_eq!(answer(" YES \n"), Approval::Approved(Remember::Once));
    assert_eq!(answer("what\ns\n"), Approval::Approved(Remember::Session));
    let mut shown = Vec::new();
    let terminal = Terminal::new(Cursor::new("y\n"), &mut shown);
    terminal.decide(&request("ls \u{202e}txt\u{1b}[2J")).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("`ls \\u{202e}txt\\u{1b}[2J`"), "{shown}");
    let path = Action::Path {
        path: "a` (`/tmp/ok".to_owned(),
        permissions: mero_runtime::Permission::WRITE,
        host: Some("/x".to_owned()),
    };
    assert_eq!(path.to_string(), "write on `a\\u{60} (\\u{60}/tmp/ok`");
    assert!(shown.contains("tidy up") && shown.contains("phase default"), "{shown}");
}

#[test]
fn a_backend_may_answer_in_a_future() {
    use mero_runtime::host::approval::{ApprovalFuture, AsyncApprovalBackend, Blocking};
    use std::task::Poll;
    /// Is woken by another thread, once.
    struct Later(bool);
    impl AsyncApprovalBackend for Later {
        fn decide(&self, _: ApprovalRequest) -> ApprovalFuture<'_> {
            let mut asked = false;
            Box::pin(std::future::poll_fn(move |cx| {
                if std::mem::replace(&mut asked, true) {
                    return Poll::Ready(Ok(Approval::Approved(Remember::Once)));
                }
                if self.0 {
                    let waker = cx.waker().clone();
                    std::thread::spawn(move || waker.wake());
                }
                Poll::Pending
            }))
        }
    }
    let world = World::new(&["work/a"]);
    let within = |backend: Later, time| asking(&world, Blocking::new(Arc::new(backend), time));
    within(Later(true), Duration::from_secs(20)).write("/a", b"x", "").unwrap();
    let never = within(Later(false), Duration::from_millis(10)).write("/a", b"", "");
    assert_eq!(kind(never), ErrorKind::ApprovalTimeout);
}
