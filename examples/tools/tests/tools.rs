//! The tools on a real tree, and their log decided again.
#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use mero_example_tools::call;
use mero_runtime::host::approval::AutoDeny;
use mero_runtime::host::audit::{Audit, Memory};
use mero_runtime::host::{Directories, Guard, Policy};
use mero_runtime::{OwnedTable, Phase};
use meroc::driver::{Memory as Files, analyse};
use meroc::table::{Options, compile};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;

#[test]
fn tools_do_what_the_policy_allows() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("src")).unwrap();
    fs::write(at("src/main.rs"), "fn main() {}\n// secret here\n").unwrap();
    fs::write(at(".env"), "secret=1\n").unwrap();
    std::os::unix::fs::symlink("/etc", at("etc")).unwrap();

    let text = include_str!("../policy.mero");
    let policy = analyse(&Files::policy(text), "p.mero").unwrap().policy;
    let table = OwnedTable::from_bytes(compile(&policy, Options::default()).unwrap().bytes);
    let policy = Policy::bind(table.unwrap(), &Directories::new(directory.path())).unwrap();
    let seen = Arc::new(Memory::new(100));
    let guard = Guard::new(Arc::new(policy), "coder")
        .unwrap()
        .approval(Arc::new(AutoDeny))
        .audit(Arc::new(Audit::durable(Arc::clone(&seen))));

    let ok = |request: Value| call(&guard, &request)["ok"].clone();
    let kind = |request: Value| call(&guard, &request)["kind"].as_str().unwrap().to_owned();
    assert_eq!(ok(json!({ "tool": "list_dir", "path": "/" })), json!(["etc", "src/"]));
    assert_eq!(
        ok(json!({ "tool": "search", "path": "/", "for": "secret" })),
        json!(["/src/main.rs:2: // secret here"])
    );
    ok(json!({ "tool": "write_file", "path": "/src/lib.rs", "text": "pub fn f() {}\n" }));
    assert_eq!(ok(json!({ "tool": "read_file", "path": "/src/lib.rs" })), "pub fn f() {}\n");
    ok(json!({ "tool": "move_file", "path": "/src/lib.rs", "to": "/src/f.rs" }));
    assert!(at("src/main.rs").exists());
    assert_eq!(kind(json!({ "tool": "read_file", "path": "/.env" })), "PathAccessDenied");
    assert_eq!(kind(json!({ "tool": "read_file", "path": "/etc/passwd" })), "PathAccessDenied");
    assert_eq!(
        kind(json!({ "tool": "write_file", "path": "/.git", "text": "" })),
        "PathAccessDenied"
    );
    assert_eq!(kind(json!({ "tool": "remove", "path": "/src/main.rs" })), "ApprovalDenied");
    assert_eq!(
        kind(json!({ "tool": "run", "command": "cargo test; rm -rf src" })),
        "CommandDenied"
    );
    guard.set_phase(Phase::Plan).unwrap();
    assert_eq!(kind(json!({ "tool": "write_file", "path": "/x", "text": "" })), "PhaseDenied");
    assert!(call(&guard, &json!({ "tool": "fly" }))["error"].as_str().unwrap().contains("fly"));
    assert!(seen.events().len() > 10);
}
