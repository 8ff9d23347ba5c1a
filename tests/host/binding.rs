//! Tables on hosts that they fit, and on such that they do not.

use super::World;
use mero_runtime::OwnedTable;
use mero_runtime::host::{BindingError, Directories, ErrorKind, Guard, Policy, Store};
use meroc::table::{Options, compile};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn mounts_that_are_one_directory_are_refused() {
    let world = World::new(&["data/", "work/", "work2 -> work"]);
    let error = world
        .bind(r#"mount root at "./work" { allow read }  mount other at "./work2" { allow all }"#)
        .unwrap_err();
    assert!(matches!(error, BindingError::Coincide { .. }), "{error}");
    let message = error.to_string();
    for part in ["`root`", "`other`", world.at("work").to_str().unwrap()] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn mounts_that_lie_otherwise_than_written_are_refused() {
    let world =
        World::new(&["work/inner/", "elsewhere -> work/inner", "far/", "work/data -> ../far"]);
    let error = world
        .bind(
            r#"mount root at "./work" { allow read }  mount other at "./elsewhere" { allow all }"#,
        )
        .unwrap_err();
    let BindingError::Nests { mount, assumed, found, .. } = &error else { panic!("{error}") };
    assert_eq!((mount.as_str(), assumed, found), ("other", &None, &Some("root".to_owned())));
    let error = world
        .bind(r#"mount root at "./work" { allow read  mount data at "data" { allow all } }"#)
        .unwrap_err();
    let BindingError::Nests { assumed, found, .. } = &error else { panic!("{error}") };
    assert_eq!((assumed, found), (&Some("root".to_owned()), &None));
    // In the same mount, elsewhere in it.
    let world = World::new(&["work/a/b/", "work/data -> a/b"]);
    let error = world
        .bind(r#"mount root at "./work" { allow read  mount data at "data" { allow all } }"#)
        .unwrap_err();
    assert!(error.to_string().contains("elsewhere there"), "{error}");
}

#[test]
fn directories_may_be_made_later() {
    let world = World::new(&[]);
    let guard =
        world.guard(r#"mount root at "./work" { allow all  mount data at "data" { allow read } }"#);
    assert_eq!(guard.read("/a", "").unwrap_err().kind(), ErrorKind::Io);
    std::fs::create_dir_all(world.at("work/data")).unwrap();
    guard.write("/a", b"now", "").unwrap();
    assert_eq!(guard.read("/a", "").unwrap(), b"now");
    assert_eq!(guard.write("/data/a", b"", "").unwrap_err().kind(), ErrorKind::PermissionDenied);
}

#[test]
fn parameters_have_values_or_defaults() {
    let world = World::new(&["given/a", "kept/a"]);
    let text =
        "edition 1\nparam P = \"./kept\"\ncontext w { mount root at \"$P\" { allow read } }\n";
    let table = OwnedTable::from_bytes(
        compile(&super::common::policy(text), Options::default()).unwrap().bytes,
    )
    .unwrap();
    let bind = |d: Directories| Policy::bind(table.clone(), &d);
    let read = |d: Directories| {
        let guard = Guard::new(Arc::new(bind(d).unwrap()), "w").unwrap();
        String::from_utf8(guard.read("/a", "").unwrap()).unwrap()
    };
    let base = Directories::new(world.root());
    assert_eq!(read(base.clone()), "kept/a");
    assert_eq!(read(base.clone().param("P", world.at("given"))), "given/a");
    let error = bind(base.param("Q", "/x")).unwrap_err();
    assert!(matches!(error, BindingError::UnknownParameter(_)), "{error}");
    let guard = Guard::new(Arc::new(bind(Directories::new(world.root())).unwrap()), "x");
    assert!(guard.unwrap_err().to_string().contains("it has `w`"));
}

#[test]
fn a_store_serves_the_last_good_table() {
    let world = World::new(&["work/a"]);
    let table = |allow: &str| {
        let text =
            format!("edition 1\ncontext w {{ mount root at \"./work\" {{ allow {allow} }} }}\n");
        compile(&super::common::policy(&text), Options::default()).unwrap().bytes
    };
    let file = world.at("p.merot");
    let put = |bytes: &[u8]| {
        let beside = world.at("p.new");
        std::fs::write(&beside, bytes).unwrap();
        std::fs::rename(&beside, &file).unwrap();
    };
    put(&table("read"));
    let store = Arc::new(Store::open(&file, Directories::new(world.root())).unwrap());
    let guard = || Guard::new(store.current(), "w").unwrap();
    let old = guard();
    assert!(guard().write("/a", b"", "").is_err());
    assert!(store.reload_if_changed().unwrap().is_none());

    put(&table("read | write"));
    assert!(store.reload_if_changed().unwrap().is_some());
    guard().write("/a", b"2", "").unwrap();
    // What has begun keeps its policy.
    assert!(old.write("/a", b"", "").is_err());

    for garbage in [&b"garbage"[..], &table("read")[..100], b""] {
        put(garbage);
        let error = store.reload_if_changed().unwrap_err();
        assert!(matches!(error, BindingError::Table(_)), "{error}");
        // Said once.
        assert!(store.reload_if_changed().unwrap().is_none());
        guard().write("/a", b"3", "").unwrap();
    }
    std::fs::remove_file(&file).unwrap();
    assert!(matches!(store.reload().unwrap_err(), BindingError::Read(..)));
    guard().write("/a", b"4", "").unwrap();

    let (send, receive) = std::sync::mpsc::channel();
    let watch = store
        .watch(Duration::from_millis(5), move |result| {
            let _ = send.send(result.map(|_| ()).map_err(|e| e.to_string()));
        })
        .unwrap();
    put(&table("read"));
    let begin = Instant::now();
    loop {
        let told = receive.recv_timeout(Duration::from_secs(20)).unwrap();
        if told.is_ok() {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
    assert!(guard().write("/a", b"", "").is_err());
    drop(watch);
}

#[test]
fn a_base_that_is_gone_is_an_error_and_no_other_directory() {
    let world = World::new(&["work/a", "out/a"]);
    let guard = world.guard(r#"mount root at "./work" { allow all }"#);
    std::fs::rename(world.at("work"), world.at("moved")).unwrap();
    std::os::unix::fs::symlink("out", world.at("work")).unwrap();
    // Another directory has its name; the one that was bound is meant, or none.
    let read = guard.read("/a", "");
    assert!(read.as_ref().map_or(true, |r| r == b"work/a"), "{read:?}");
    std::fs::remove_dir_all(world.at("moved")).unwrap();
    assert!(guard.read("/a", "").is_err());
    assert!(guard.write("/new", b"", "").is_err());
    assert!(!super::exists(world.at("out/new")));
}
