//! Public bug reports and advisories on agents' permission systems, as policies
//! with one request each: what the answer may be.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod common;

use common::{Ask, hosts};
use mero_runtime::{Phase, Table};
use meroc::table::{Options, compile};
use serde_json::Value;

#[test]
fn commands_are_decided_as_they_should() {
    let mut failures = Vec::new();
    let (mut plain, mut beyond, mut right) = (0, 0, 0);
    for line in include_str!("conformance/agent-cases.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(text) = case["mero"].as_str() else { continue };
        let Some(command) = case["eval"]["command"].as_str() else { continue };
        let policy = common::policy(text);
        let bytes = compile(&policy, Options::default()).unwrap().bytes;
        let table = Table::from_bytes(&bytes).unwrap();
        let context = table.context(case["eval"]["context"].as_str().unwrap()).unwrap();
        let got = common::runtime(
            &context,
            &hosts("/work"),
            Phase::Default,
            &Ask::Command(command.to_owned()),
        );
        let fine = case["accept"].as_array().unwrap().iter().any(|a| a == got.effect.name());
        // What needs knowledge of a program's own options is counted, not required.
        if case["needs"].is_null() {
            plain += 1;
            if !fine {
                failures.push(format!(
                    "{}: `{command}` got {got:?}, accepted {}",
                    case["id"], case["accept"]
                ));
            }
        } else {
            beyond += 1;
            right += usize::from(fine);
            println!(
                "{} {} {} ({})",
                if fine { "right" } else { "wrong" },
                case["id"],
                got.effect,
                got.reason
            );
        }
    }
    println!("{right} of {beyond} that need more are right already");
    assert!(failures.is_empty(), "{} of {plain}:\n{}", failures.len(), failures.join("\n"));
    assert_eq!((plain, beyond), (55, 28));
}
