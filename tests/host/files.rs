//! Files through a guard.

use super::{World, exists, kind, reason};
use mero_runtime::host::{EntryKind, ErrorKind, Guard, OpenOptions};
use mero_runtime::{Permission, Reason};
use std::io::{Read, Seek, Write};

const GIT: &str = r#"mount root at "./work" {
    allow all
    on "/.git/config" { deny write }
    mount hooks at ".git/hooks" { allow read }
    hide "*.key"
}"#;

#[test]
fn files_are_read_written_made_and_appended_to() {
    let world = World::new(&["work/a"]);
    let guard = world.guard(r#"mount root at "./work" { allow read | write }"#);
    assert_eq!(guard.read("/a", "").unwrap(), b"work/a");
    guard.write("/a", b"short", "").unwrap();
    assert_eq!(world.text("work/a"), "short");
    let mut file = guard.open("/a", OpenOptions::new().append(true), "").unwrap();
    file.write_all(b"er").unwrap();
    assert_eq!(world.text("work/a"), "shorter");
    let mut file = guard.open("/a", OpenOptions::new().read(true).write(true), "").unwrap();
    file.write_all(b"S").unwrap();
    file.rewind().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "Shorter");
    guard.create("/new", "").unwrap().write_all(b"n").unwrap();
    assert_eq!(kind(guard.create("/new", "")), ErrorKind::Io);
    guard.create_dir("/dir", "").unwrap();
    guard.write("/dir/x", b"x", "").unwrap();
    assert_eq!(kind(guard.create_dir("/dir", "")), ErrorKind::Io);
    assert_eq!(reason(guard.remove("/dir/x", "")), Reason::NotGranted);
}

#[test]
fn what_may_only_be_read_is_not_changed() {
    let world = World::new(&["work/a", "work/d/"]);
    let guard = world.guard(r#"mount root at "./work" { allow read }"#);
    let write = OpenOptions::new().write(true);
    for options in
        [write, write.truncate(true), OpenOptions::new().append(true), write.create(true)]
    {
        assert_eq!(reason(guard.open("/a", options, "")), Reason::NotGranted);
    }
    assert_eq!(reason(guard.create_dir("/e", "")), Reason::NotGranted);
    assert_eq!(reason(guard.remove("/a", "")), Reason::NotGranted);
    assert_eq!(reason(guard.rename("/a", "/b", "")), Reason::NotGranted);
    assert_eq!(reason(guard.symlink("a", "/l", "")), Reason::NotGranted);
    assert_eq!(world.text("work/a"), "work/a");
}

#[test]
fn a_file_with_other_names_is_not_written() {
    let world = World::new(&["out/data", "work/data = out/data", "work/own"]);
    let guard = world.guard(r#"mount root at "./work" { allow all }"#);
    assert_eq!(guard.read("/data", "").unwrap(), b"out/data");
    let error = guard.write("/data", b"x", "").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PathAccessDenied);
    assert!(error.to_string().contains("2 names"), "{error}");
    assert_eq!(world.text("out/data"), "out/data");
}

#[test]
fn only_plain_files_are_opened() {
    let world = World::new(&["work/dir/"]);
    let guard = world.guard(r#"mount root at "./work" { allow all }"#);
    let pipe = world.at("work/pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if made.is_ok_and(|s| s.success()) {
        // Nobody is at its other end: opening it must not wait.
        assert_eq!(kind(guard.read("/pipe", "")), ErrorKind::PathAccessDenied);
    }
    assert_eq!(kind(guard.read("/dir", "")), ErrorKind::PathAccessDenied);
}

#[test]
fn listings_leave_out_what_is_hidden() {
    let world = World::new(&["work/a", "work/b.key", "work/.env", "work/d/", "work/l -> a"]);
    let guard = world.guard(r#"mount root at "./work" { allow read  hide "*.key", ".env" }"#);
    let entries = guard.read_dir("/", "").unwrap();
    let seen = entries.iter().map(|e| (e.name.to_str().unwrap(), e.kind)).collect::<Vec<_>>();
    let expected = [("a", EntryKind::File), ("d", EntryKind::Directory), ("l", EntryKind::Link)];
    assert_eq!(seen, expected);
    assert_eq!(kind(guard.read_dir("/a", "")), ErrorKind::Io);
}

#[test]
fn protected_entries_stay_where_they_are() {
    let world = World::new(&["work/.git/config", "work/.git/hooks/x", "work/.git/HEAD", "work/a"]);
    let guard = world.guard(GIT);
    assert!(guard.rename("/.git", "/.git2", "").is_err());
    assert!(guard.remove_all("/.git", "").is_err());
    assert!(guard.rename("/.git/hooks", "/h", "").is_err());
    assert!(guard.remove_all("/.git/hooks", "").is_err());
    assert!(guard.rename("/a", "/.git/hooks", "").is_err());
    assert!(guard.rename("/a", "/.git/config", "").is_err());
    assert!(guard.symlink("a", "/.git/hooks", "").is_err());
    for file in ["work/.git/config", "work/.git/hooks/x", "work/.git/HEAD", "work/a"] {
        assert_eq!(world.text(file), file);
    }
    guard.rename("/.git/HEAD", "/head", "").unwrap();
    guard.remove("/head", "").unwrap();
}

#[test]
fn a_directory_does_not_move_or_vanish_over_what_is_hidden_in_it() {
    let world = World::new(&["work/d/x", "work/d/e/secret.key", "work/f/g/h", "work/new/"]);
    let guard = world.guard(GIT);
    let error = guard.remove_all("/d", "").unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
    assert!(guard.rename("/d", "/moved", "").is_err());
    assert_eq!(world.text("work/d/x"), "work/d/x");
    guard.rename("/f", "/new/f", "").unwrap();
    assert_eq!(world.text("work/new/f/g/h"), "work/f/g/h");
    guard.remove_all("/new", "").unwrap();
    assert!(!exists(world.at("work/new")));
}

#[test]
fn nothing_moves_to_where_it_would_be_hidden_or_forbidden() {
    let world = World::new(&["work/d/x", "work/ro/"]);
    let guard = world.guard(
        r#"mount root at "./work" { allow all  hide "/vault/x"  mount ro at "ro" { allow read } }"#,
    );
    assert_eq!(reason(guard.rename("/d/x", "/ro/x", "")), Reason::NotGranted);
    assert_eq!(kind(guard.rename("/d", "/vault", "")), ErrorKind::PathAccessDenied);
    assert_eq!(world.text("work/d/x"), "work/d/x");
}

#[test]
fn links_are_made_with_both_ends_in_view() {
    let world = World::new(&["ro/secret", "rw/own", "out/x"]);
    let guard =
        world.guard(r#"mount root at "./rw" { allow all }  mount ro at "./ro" { allow read }"#);
    assert_eq!(reason(guard.hard_link("/ro/secret", "/alias", "")), Reason::NotGranted);
    assert!(!exists(world.at("rw/alias")));
    guard.hard_link("/own", "/second", "").unwrap();
    assert_eq!(world.text("rw/second"), "rw/own");
    assert_eq!(reason(guard.symlink("../out/x", "/l", "")), Reason::Outside);
    assert_eq!(reason(guard.symlink(world.at("out/x"), "/l", "")), Reason::Outside);
    assert_eq!(reason(guard.symlink("/etc/passwd", "/l", "")), Reason::Outside);
    guard.symlink("own", "/l", "").unwrap();
    guard.symlink("../ro/secret", "/m", "").unwrap();
    assert_eq!(guard.read("/m", "").unwrap(), b"ro/secret");
    assert_eq!(reason(guard.write("/m", b"", "")), Reason::NotGranted);
}

#[test]
fn removing_a_link_leaves_what_it_leads_to() {
    let world = World::new(&["work/d/x", "work/l -> d", "out/y", "work/o -> ../out"]);
    let guard = world.guard(r#"mount root at "./work" { allow all }"#);
    guard.remove("/l", "").unwrap();
    assert_eq!(world.text("work/d/x"), "work/d/x");
    guard.remove_all("/o", "").unwrap();
    assert_eq!(world.text("out/y"), "out/y");
    assert!(!exists(world.at("work/o")));
    guard.write("/d/back", b"", "").unwrap();
    std::os::unix::fs::symlink(world.at("out"), world.at("work/d/out")).unwrap();
    guard.remove_all("/d", "").unwrap();
    assert_eq!(world.text("out/y"), "out/y");
}

#[test]
fn without_a_policy_everything_goes() {
    let world = World::new(&["a", "b = a", ".env"]);
    let guard = Guard::unrestricted();
    assert_eq!(guard.read(world.at(".env"), "").unwrap(), b".env");
    guard.write(world.at("b"), b"x", "").unwrap();
    assert_eq!(world.text("a"), "x");
    assert!(guard.path("/etc/passwd", Permission::all(), "").is_ok());
    guard.command("rm -rf /nowhere", "").unwrap();
    guard.tool("anything", &[], "").unwrap();
    guard.rename(world.at("a"), world.at("c"), "").unwrap();
    guard.remove(world.at("c"), "").unwrap();
    assert_eq!(guard.read_dir(world.root(), "").unwrap().len(), 2);
    // Links are followed, as by the system.
    std::os::unix::fs::symlink(".env", world.at("l")).unwrap();
    assert_eq!(guard.read(world.at("l"), "").unwrap(), b".env");
    guard.create_dir(world.at("d"), "").unwrap();
    std::os::unix::fs::symlink("d", world.at("e")).unwrap();
    guard.write(world.at("e/x"), b"y", "").unwrap();
    assert_eq!(world.text("d/x"), "y");
    guard.remove(world.at("e"), "").unwrap();
    guard.remove(world.at("d/x"), "").unwrap();
    guard.remove(world.at("d"), "").unwrap();
    assert!(!exists(world.at("d")));
}

#[test]
fn messages_say_what_is_missing_and_no_more() {
    let world = World::new(&["work/a", "work/x.key"]);
    let guard = world.guard(r#"mount root at "./work" { allow read  hide "*.key" }"#);
    let said = |r: Result<Vec<u8>, _>| {
        r.map_err(|e: mero_runtime::host::Error| e.to_string()).unwrap_err()
    };
    assert_eq!(said(guard.read("/x.key", "")), "Denied: read on `/x.key`: it is hidden");
    let error = guard.write("/a", b"", "").unwrap_err();
    assert!(error.to_string().ends_with("it is not granted on the mount `root`"), "{error}");
    assert!(said(guard.read("/a\u{202e}b", "")).contains("\\u{202e}"));
}

#[test]
fn no_message_tells_where_on_the_host_things_are() {
    let world = World::new(&["work/a", "work/d/secret.key", "work/gone -> d/none", "pkg/f"]);
    let guard = world.guard(
        r#"mount root at "./work" { allow read | write | delete  hide "*.key" }
           mount pkg at "./pkg" { allow read | write }"#,
    );
    let messages = [
        guard.read("/none", "").unwrap_err(),
        guard.read("/gone", "").unwrap_err(),
        guard.read("/pkg/none", "").unwrap_err(),
        guard.read_dir("/a", "").unwrap_err(),
        guard.create_dir("/pkg/f", "").unwrap_err(),
        guard.remove("/none", "").unwrap_err(),
        guard.remove("/pkg/f", "").unwrap_err(),
        guard.remove_all("/d", "").unwrap_err(),
        guard.rename("/none", "/x", "").unwrap_err(),
        guard.rename("/a", "/pkg/none/x", "").unwrap_err(),
        guard.write("/pkg/none/x", b"", "").unwrap_err(),
    ];
    let host = world.root();
    for error in &messages {
        let text = error.to_string();
        assert!(!text.contains(host.to_str().unwrap()), "{text}");
    }
    assert!(messages[2].to_string().contains("`/pkg/none`"), "{}", messages[2]);
    assert!(messages[1].to_string().contains("`/d/none`"), "{}", messages[1]);
}
