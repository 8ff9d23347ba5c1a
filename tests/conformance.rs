//! Every recorded decision, through every engine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod common;

use common::{Ask, Engines, hosts};
use mero_runtime::{Kind, Permission, Phase};
use serde_json::Value;

fn run(file: &str, ask: impl Fn(&Value) -> Ask, expected_requests: usize) {
    let mut failures = Vec::new();
    let mut count = 0;
    for line in file.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let engines = Engines::new(case["policy"].as_str().unwrap());
        let hosts = hosts(case["base"].as_str().unwrap_or("/srv/mero"));
        let context = case["context"].as_str().unwrap();
        for request in case["requests"].as_array().unwrap() {
            count += 1;
            for (engine, got) in engines.answers(context, &hosts, Phase::Default, &ask(request)) {
                let same = got.effect.name() == request["effect"]
                    && got.reason.name() == request["reason"]
                    && request.get("host").is_none_or(|h| got.host.as_deref() == h.as_str());
                if !same {
                    failures.push(format!("{} {engine}: {request} got {got:?}", case["id"]));
                }
            }
        }
        if let Some(grants) = case.get("grants") {
            for (name, bytes) in &engines.tables {
                let table = mero_runtime::Table::from_bytes(bytes).unwrap();
                let held = table.context(context).unwrap().grants().collect::<Vec<_>>();
                assert_eq!(serde_json::json!(held), *grants, "{} {name}", case["id"]);
            }
        }
    }
    let shown = failures.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{} of {count} differ:\n{shown}", failures.len());
    assert_eq!(count, expected_requests);
}

#[test]
fn paths() {
    run(
        include_str!("conformance/paths.jsonl"),
        |r| {
            let kind = match r["kind"].as_str() {
                Some("file") => Kind::File,
                Some("dir") => Kind::Directory,
                _ => Kind::Unknown,
            };
            let permission = Permission::parse(r["permission"].as_str().unwrap()).unwrap();
            Ask::Path(r["path"].as_str().unwrap().as_bytes().to_vec(), permission, kind)
        },
        5703,
    );
}

#[test]
fn commands() {
    run(
        include_str!("conformance/commands.jsonl"),
        |r| Ask::Command(r["command"].as_str().unwrap().to_owned()),
        1235,
    );
}

#[test]
fn grants() {
    run(
        include_str!("conformance/grants.jsonl"),
        |r| {
            let requires = r["requires"].as_array().unwrap();
            let requires = requires.iter().map(|k| k.as_str().unwrap().to_owned()).collect();
            Ask::Tool(r["tool"].as_str().unwrap().to_owned(), requires)
        },
        400,
    );
}
