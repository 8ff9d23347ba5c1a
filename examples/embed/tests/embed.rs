//! The embedded table is that of the policy, and the guard keeps to it.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use mero_example_embed::{Guard, ReadError};
use mero_runtime::{Effect, Reason};
use std::fs;
use std::path::Path;

fn here(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name).to_str().unwrap().to_owned()
}

#[test]
fn the_table_is_that_of_the_policy() {
    let analysis = meroc::driver::analyse(&meroc::driver::System, &here("policy.mero")).unwrap();
    assert!(!analysis.has_errors());
    let options = meroc::table::Options::default();
    let compiled = meroc::table::compile(&analysis.policy, options).unwrap().bytes;
    assert!(
        compiled == fs::read(here("policy.merot")).unwrap(),
        "examples/embed/policy.merot is out of date; to write it again:\n\
         cargo run -p meroc -- compile examples/embed/policy.mero -o examples/embed/policy.merot"
    );
}

fn world() -> tempfile::TempDir {
    let base = tempfile::tempdir().unwrap();
    let notes = base.path().join("notes");
    fs::create_dir_all(notes.join("drafts")).unwrap();
    fs::create_dir_all(base.path().join("other")).unwrap();
    for (name, text) in [
        ("notes/today.md", "tea at four\n"),
        ("notes/.env", "TOKEN=1\n"),
        ("other/x", "not yours\n"),
    ] {
        fs::write(base.path().join(name), text).unwrap();
    }
    base
}

fn refused(guard: &Guard, path: &str) -> Reason {
    match guard.read(path) {
        Err(ReadError::Refused(decision)) => {
            assert_ne!(decision.effect, Effect::Allow);
            decision.reason
        }
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn what_is_allowed_is_read() {
    let base = world();
    let guard = Guard::new("assistant", base.path()).unwrap();
    for path in ["/today.md", "today.md", "/root/today.md", "/drafts/../today.md"] {
        assert_eq!(guard.read(path).unwrap(), "tea at four\n", "{path}");
    }
    assert!(matches!(guard.read("/none.md"), Err(ReadError::Io(_))));
}

#[test]
fn all_else_is_refused() {
    let base = world();
    let guard = Guard::new("assistant", base.path()).unwrap();
    assert_eq!(refused(&guard, "/.env"), Reason::Hidden);
    assert_eq!(refused(&guard, "/../other/x"), Reason::Outside);
    assert_eq!(refused(&guard, "~/x"), Reason::Invalid);
    assert_eq!(refused(&guard, ""), Reason::Invalid);
}

#[cfg(unix)]
#[test]
fn a_link_leads_nowhere_else() {
    let base = world();
    let notes = base.path().join("notes");
    std::os::unix::fs::symlink(base.path().join("other/x"), notes.join("out.md")).unwrap();
    std::os::unix::fs::symlink(notes.join(".env"), notes.join("env.md")).unwrap();
    let guard = Guard::new("assistant", base.path()).unwrap();
    assert_eq!(refused(&guard, "/out.md"), Reason::Outside);
    assert_eq!(refused(&guard, "/env.md"), Reason::Hidden);
}

#[test]
fn a_context_that_is_not_there_is_no_guard() {
    let base = world();
    assert!(matches!(Guard::new("nobody", base.path()), Err(ReadError::Setup(_))));
}
