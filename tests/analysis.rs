//! The analysis' models of decisions against recorded ones: what the checker reasons
//! about is what the table decides.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod common;

use common::policy;
use mero_runtime::{Effect, Permission, Phase, Reason};
use meroc::analysis::commands::{self, Tally};
use meroc::analysis::paths::{Alphabet, Model, Virtual, Walker};
use serde_json::Value;

fn walk(walker: &Virtual<'_>, path: &str, permission: Permission) -> (Effect, Reason) {
    let mut state = walker.start();
    for byte in path.bytes() {
        state = walker.step(&state, byte);
    }
    walker.verdict(&state).decide(permission, Phase::Default)
}

#[test]
fn paths_are_decided_as_recorded() {
    let mut count = 0;
    for line in include_str!("conformance/paths.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let policy = policy(case["policy"].as_str().unwrap());
        let name = case["context"].as_str().unwrap();
        let context = policy.contexts.iter().find(|c| c.name == name).unwrap();
        let alphabet = Alphabet::new(&[context], []).unwrap();
        let model = Model::new(context, &alphabet).unwrap();
        let walker = Virtual::new(&model, &alphabet).unwrap();
        for request in case["requests"].as_array().unwrap() {
            let path = request["path"].as_str().unwrap();
            let Some(path) = path.strip_prefix('/') else { continue };
            let inner = path.strip_suffix('/').unwrap_or(path);
            let plain = |s: &str| !matches!(s, "" | "." | "..") && !s.contains('\\');
            // Spellings are the runtime's matter, and so are host paths of the base.
            if !inner.split('/').all(plain) || path.starts_with("srv/") || path.is_empty() {
                continue;
            }
            let permission = Permission::parse(request["permission"].as_str().unwrap()).unwrap();
            let file = || walk(&walker, path, permission);
            let dir = || walk(&walker, &format!("{inner}/"), permission);
            let got = match request["kind"].as_str() {
                Some("file") if path == inner => file(),
                Some("dir") => dir(),
                _ if path != inner => dir(),
                _ => file().min(dir()),
            };
            let expected = (request["effect"].as_str(), request["reason"].as_str());
            assert_eq!(
                (Some(got.0.name()), Some(got.1.name())),
                expected,
                "{}: {request}\n{}",
                case["id"],
                case["policy"].as_str().unwrap()
            );
            count += 1;
        }
    }
    assert!(count > 3_500, "{count}");
}

#[test]
fn commands_are_decided_as_recorded() {
    let mut count = 0;
    for line in include_str!("conformance/commands.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let policy = policy(case["policy"].as_str().unwrap());
        let name = case["context"].as_str().unwrap();
        let context = policy.contexts.iter().find(|c| c.name == name).unwrap();
        let block = context.commands.as_ref();
        let patterns = block.iter().flat_map(|b| &b.rules).map(|r| (&r.pattern, 0));
        let alphabet = commands::Alphabet::new(patterns).unwrap();
        let rules = commands::Rules::new(block, &alphabet, 0).unwrap();
        for request in case["requests"].as_array().unwrap() {
            let command = request["command"].as_str().unwrap();
            let script = mero_runtime::shell::split(command.as_bytes());
            let [only] = &script.commands[..] else { continue };
            let words = only.words.iter().map(|w| w.known());
            let Some(words) = words.collect::<Option<Vec<_>>>() else { continue };
            if command.contains("  ") || words.join(&b' ') != command.as_bytes() {
                continue;
            }
            let mut string = words.join(&0);
            string.push(0);
            let groups = [rules.denials().unwrap(), rules.grants().unwrap()];
            let tally = groups.iter().map(|g| g.tally(&string));
            let tally = tally.fold(Tally::default(), Tally::and);
            let got = commands::decide(block, tally, Phase::Default);
            let expected = (request["effect"].as_str(), request["reason"].as_str());
            assert_eq!((Some(got.0.name()), Some(got.1.name())), expected, "{request}");
            count += 1;
        }
    }
    assert!(count > 800, "{count}");
}
