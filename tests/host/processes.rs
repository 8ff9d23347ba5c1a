//! Commands and processes through a guard.

use super::{World, kind, reason};
use mero_runtime::host::{ErrorKind, Streams};
use mero_runtime::{Phase, Reason};

const BODY: &str = r#"
    mount root at "./work" { allow read | write  hide ".env" }
    commands { allow "cat {read...}" allow "echo ..." allow "env" allow "pwd ..." }
"#;

fn text(output: &[u8]) -> &str {
    std::str::from_utf8(output).unwrap().trim_end()
}

#[test]
fn what_is_allowed_runs_in_the_working_directory() {
    let world = World::new(&["work/a", "work/d/b"]);
    let guard = world.guard(BODY);
    let output = guard.shell_output("cat a && echo done", "").unwrap();
    assert_eq!(text(&output.stdout), "work/adone");
    guard.set_working_directory("/d").unwrap();
    let child = guard.spawn(&["cat", "b"], Streams::default(), "").unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), "work/d/b");
    guard.shell_output("echo x > made", "").unwrap();
    assert_eq!(world.text("work/d/made"), "x\n");
}

#[test]
fn what_is_not_allowed_does_not_run() {
    let world = World::new(&["work/a", "out/x", "work/.env"]);
    let guard = world.guard(BODY);
    assert_eq!(reason(guard.shell_output("rm a", "")), Reason::CommandNotAllowed);
    assert_eq!(reason(guard.shell_output("echo x; rm a", "")), Reason::CommandNotAllowed);
    assert_eq!(reason(guard.shell_output("cat .env", "")), Reason::Hidden);
    assert_eq!(reason(guard.shell_output("cat ../out/x", "")), Reason::Outside);
    assert_eq!(reason(guard.shell_output("echo x > ../out/x", "")), Reason::Outside);
    assert_eq!(
        reason(guard.spawn(&["rm", "a"], Streams::default(), "")),
        Reason::CommandNotAllowed
    );
    assert_eq!(kind(guard.spawn(&[], Streams::default(), "")), ErrorKind::InvalidRequest);
    assert_eq!(world.text("work/a"), "work/a");
    assert_eq!(world.text("out/x"), "out/x");
}

#[test]
fn paths_in_commands_are_followed() {
    let world = World::new(&[
        "work/.env",
        "work/plain -> .env",
        "work/out -> ../out",
        "out/x",
        "out/deep/y",
        "work/deep -> ../out/deep",
        "work/x",
    ]);
    let guard = world.guard(BODY);
    assert_eq!(reason(guard.command("cat plain", "")), Reason::Hidden);
    assert_eq!(reason(guard.command("cat out/x", "")), Reason::Outside);
    assert_eq!(reason(guard.argv(&["cat", "out/x"], "")), Reason::Outside);
    assert_eq!(reason(guard.command("echo x > out/new", "")), Reason::Outside);
    assert_eq!(reason(guard.command("timeout 5 cat plain", "")), Reason::Hidden);
    // `..` behind a link is the parent of where it leads.
    assert_eq!(reason(guard.command("cat deep/../x", "")), Reason::Outside);
    guard.command("cat x", "").unwrap();
}

#[test]
fn processes_inherit_nothing() {
    let world = World::new(&["work/"]);
    let guard = world.guard(BODY).variable("LANG", "C").variable("PATH", "/usr/bin:/bin");
    let output = guard.shell_output("env", "").unwrap();
    let mut names = text(&output.stdout)
        .lines()
        .map(|l| l.split('=').next().unwrap())
        // What the shell sets itself.
        .filter(|n| !["PWD", "OLDPWD", "SHLVL", "_"].contains(n))
        .collect::<Vec<_>>();
    names.sort_unstable();
    assert_eq!(names, ["LANG", "PATH"]);
}

#[test]
fn phases_only_get_stricter_by_the_agents_own_wish() {
    let world = World::new(&["work/a"]);
    let guard = world.guard(BODY);
    assert_eq!(guard.phase(), Phase::Default);
    assert_eq!(kind(guard.request_phase(Phase::Trusted)), ErrorKind::PhaseDenied);
    guard.request_phase(Phase::Plan).unwrap();
    assert_eq!(reason(guard.write("/a", b"", "")), Reason::Phase);
    assert_eq!(kind(guard.request_phase(Phase::Default)), ErrorKind::PhaseDenied);
    guard.set_phase(Phase::Default).unwrap();
    guard.write("/a", b"x", "").unwrap();
}

/// The directory that was bound is where commands run, whatever has its name.
#[cfg(target_os = "linux")]
#[test]
fn another_directory_of_that_name_is_not_run_in() {
    let world = World::new(&["work/d/here", "out/there"]);
    let guard = world.guard(BODY);
    guard.set_working_directory("/d").unwrap();
    std::fs::rename(world.at("work"), world.at("moved")).unwrap();
    std::os::unix::fs::symlink("out", world.at("work")).unwrap();
    let child = guard.spawn(&["pwd", "-P"], Streams::default(), "");
    let run = child.map(|c| text(&c.wait_with_output().unwrap().stdout).to_owned());
    assert!(run.as_ref().map_or(true, |p| p.ends_with("/moved/d")), "{run:?}");
}
