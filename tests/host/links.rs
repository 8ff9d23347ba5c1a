//! Where links lead: the cases of public reports, on real trees.

use super::{World, kind, reason};
use mero_runtime::host::{ErrorKind, OpenOptions};
use mero_runtime::{Permission, Reason};

const READ: Permission = Permission::READ;
const WRITE: Permission = Permission::WRITE;
const ROOT: &str = r#"mount root at "./work" { allow all }"#;

#[test]
fn a_link_to_the_outside_is_outside() {
    let world =
        World::new(&["work/a", "out/secret", "work/link -> ../out/secret", "work/dir -> $W/out"]);
    let guard = world.guard(ROOT);
    for path in ["/link", "/dir/secret", "/dir/new", "/dir"] {
        assert_eq!(reason(guard.path(path, READ, "")), Reason::Outside, "{path}");
        assert_eq!(reason(guard.read(path, "")), Reason::Outside, "{path}");
        assert_eq!(reason(guard.write(path, b"x", "")), Reason::Outside, "{path}");
    }
    assert_eq!(world.text("out/secret"), "out/secret");
    assert!(guard.path("/a", READ, "").is_ok());
}

#[test]
fn a_link_that_stays_inside_is_followed() {
    let world = World::new(&["work/v2/a.txt", "work/cur -> v2", "work/abs -> $W/work/v2/a.txt"]);
    let guard = world.guard(ROOT);
    assert_eq!(guard.path("/cur/a.txt", READ, "").unwrap(), world.at("work/v2/a.txt"));
    assert_eq!(guard.read("/cur/a.txt", "").unwrap(), b"work/v2/a.txt");
    assert_eq!(guard.read("/abs", "").unwrap(), b"work/v2/a.txt");
    guard.write("/cur/new", b"n", "").unwrap();
    assert_eq!(world.text("work/v2/new"), "n");
}

#[test]
fn a_link_that_leads_nowhere_is_judged_by_what_would_be_made() {
    let world = World::new(&[
        "work/a -> b",
        "work/b -> $W/missing",
        "work/output/dangling -> ../outside/new.txt",
    ]);
    let guard = world.guard(
        r#"mount root at "./work" { allow read  mount output at "output" { allow read | write } }"#,
    );
    assert_eq!(reason(guard.path("/a", READ, "")), Reason::Outside);
    assert_eq!(reason(guard.write("/output/dangling", b"x", "")), Reason::NotGranted);
    let create = OpenOptions::new().write(true).create(true);
    assert_eq!(reason(guard.open("/output/dangling", create, "")), Reason::NotGranted);
    assert!(!super::exists(world.at("work/outside/new.txt")));
}

#[test]
fn loops_are_refused() {
    let world = World::new(&["work/a -> b", "work/b -> a", "work/self -> self/x"]);
    let guard = world.guard(ROOT);
    for path in ["/a", "/b/c", "/self"] {
        assert_eq!(reason(guard.path(path, READ, "")), Reason::Outside, "{path}");
    }
    // Forty links are followed, as the kernel does; more are not.
    let mut files = vec!["work/l0".to_owned()];
    files.extend((1..=41).map(|i| format!("work/l{i} -> l{}", i - 1)));
    let world = World::new(&files.iter().map(String::as_str).collect::<Vec<_>>());
    let guard = world.guard(ROOT);
    assert_eq!(guard.read("/l40", "").unwrap(), b"work/l0");
    assert_eq!(reason(guard.read("/l41", "")), Reason::Outside);
}

#[test]
fn a_mount_that_is_a_link_has_both_spellings() {
    let world = World::new(&["private/tmp/test.txt", "tmp -> private/tmp"]);
    let guard = world.guard(r#"mount root at "./tmp" { allow all  hide "*.key" }"#);
    for path in ["/test.txt".into(), world.at("tmp/test.txt"), world.at("private/tmp/test.txt")] {
        assert_eq!(guard.read(&path, "").unwrap(), b"private/tmp/test.txt", "{path:?}");
    }
    let hidden = world.at("private/tmp/a.key");
    assert_eq!(reason(guard.path(hidden, READ, "")), Reason::Hidden);
    guard.set_working_directory("/").unwrap();
    assert_eq!(guard.read("test.txt", "").unwrap(), b"private/tmp/test.txt");
    assert_eq!(guard.directory().unwrap(), world.at("private/tmp"));
}

#[test]
fn hidden_by_the_name_of_a_link_or_of_its_target() {
    let world = World::new(&[
        "work/.env",
        "work/plain -> .env",
        "work/public",
        "work/x.key -> public",
        "work/hop -> x.key",
        "shared/cfg/a",
        "work/inner/a",
        "work/cfg -> inner",
    ]);
    let guard =
        world.guard(r#"mount root at "./work" { allow all  hide ".env", "*.key", "cfg/" }"#);
    for path in ["/.env", "/plain", "/x.key", "/hop", "/cfg", "/cfg/a"] {
        assert_eq!(reason(guard.path(path, READ, "")), Reason::Hidden, "{path}");
    }
    assert_eq!(reason(guard.remove("/cfg", "")), Reason::Hidden);
    assert!(guard.path("/public", READ, "").is_ok());
}

#[test]
fn a_pattern_for_directories_leaves_files_alone() {
    let world = World::new(&["work/logs", "work/d/logs/x"]);
    let guard = world.guard(r#"mount root at "./work" { allow all  hide "logs/" }"#);
    assert!(guard.path("/logs", READ, "").is_ok());
    assert_eq!(reason(guard.path("/d/logs", READ, "")), Reason::Hidden);
    // Nothing there yet: it may become a directory.
    assert_eq!(reason(guard.path("/e/logs", WRITE, "")), Reason::Hidden);
}

#[test]
fn a_file_in_the_place_of_a_directory_ends_the_way() {
    let world = World::new(&["work/file"]);
    let guard = world.guard(ROOT);
    assert_eq!(reason(guard.path("/file/x", READ, "")), Reason::Outside);
    assert_eq!(guard.path("/missing/x", READ, "").unwrap(), world.at("work/missing/x"));
    assert_eq!(kind(guard.read("/missing/x", "")), ErrorKind::Io);
}

#[test]
fn without_mounts_links_are_followed_too() {
    let world = World::new(&["work/.env", "work/link -> .env", "work/a"]);
    let guard = world.guard(r#"unconfined  allow read  hide ".env""#);
    assert_eq!(guard.read(world.at("work/a"), "").unwrap(), b"work/a");
    assert_eq!(reason(guard.read(world.at("work/link"), "")), Reason::Hidden);
    assert_eq!(reason(guard.write(world.at("work/a"), b"", "")), Reason::NotGranted);
    // Relative paths have nowhere to begin, then they do.
    assert_eq!(reason(guard.read("a", "")), Reason::Outside);
    guard.set_working_directory(world.at("work")).unwrap();
    assert_eq!(guard.read("a", "").unwrap(), b"work/a");
    assert_eq!(reason(guard.read("../work/a", "")), Reason::Outside);
}

#[test]
fn a_name_with_a_backslash_is_not_a_path() {
    let world = World::new(&["work/x\\y", "work/l -> x\\y"]);
    let guard = world.guard(ROOT);
    assert_eq!(reason(guard.read("/l", "")), Reason::Outside);
}
