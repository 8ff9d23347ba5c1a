//! Random policies, random requests: every engine gives the oracle's answer.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod common;

use common::random::{ask, hosts, policy, usual};
use common::{Ask, Engines, runtime};
use mero_runtime::{Kind, Permission, Phase, Session, Table};
use meroc::oracle::Hosts;
use proptest::prelude::*;
use proptest::sample::select;

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn engines_agree(text in policy(), asks in prop::collection::vec((ask(), select(&Phase::ALL[..])), 40), hosts in hosts()) {
        let analysis = common::analysis(&text);
        // Mounts of one directory, which the generator may make, are an error.
        if analysis.has_errors() {
            let only = analysis.diagnostics.iter().filter(|d| d.level == meroc::diag::Level::Error).all(|d| d.code.name == "duplicate-slug");
            prop_assert!(only, "{:?}\n{text}", analysis.diagnostics);
            return Ok(());
        }
        let engines = Engines::new(&text);
        // Binding refuses; there is no right answer to compare.
        if unbound(&engines, &hosts) {
            return Ok(());
        }
        for (ask, phase) in asks {
            let answers = engines.answers("w", &hosts, phase, &ask);
            let (_, right) = &answers[0];
            for (engine, got) in &answers[1..] {
                prop_assert_eq!(got, right, "{} on {:?} in {}\n{:?}\n{}", engine, ask, phase, hosts, text);
            }
        }
    }

    /// Usual paths are decided in a short way of their own. A doubled separator changes
    /// nothing but that it has to be the long one.
    #[test]
    fn the_short_way_is_the_long_way(text in policy(), paths in prop::collection::vec(usual(), 40), hosts in hosts()) {
        if common::analysis(&text).has_errors() {
            return Ok(());
        }
        let engines = Engines::new(&text);
        if unbound(&engines, &hosts) {
            return Ok(());
        }
        for (name, bytes) in &engines.tables {
            let table = Table::from_bytes(bytes).unwrap();
            let context = table.context("w").unwrap();
            for (path, at, permissions, kind) in &paths {
                let separators = path.match_indices('/').map(|(i, _)| i).collect::<Vec<_>>();
                let mut doubled = path.clone();
                doubled.insert(separators[at % separators.len()], '/');
                let got = |p: &str| runtime(&context, &hosts, Phase::Default, &Ask::Path(p.into(), *permissions, *kind));
                prop_assert_eq!(got(path), got(&doubled), "{}: {} {} {:?}\n{:?}\n{}", name, path, permissions, kind, hosts, text);
            }
        }
    }

    /// A looser phase is never stricter.
    #[test]
    fn phases_are_ordered(text in policy(), asks in prop::collection::vec(ask(), 20), hosts in hosts()) {
        let text = text.replace("phases accept_edits, plan\n", "phases plan, default, accept_edits, trusted, bypass_permissions\n");
        let analysis = common::analysis(&text);
        if analysis.has_errors() || analysis.policy.contexts[0].phases.len() < 5 {
            return Ok(());
        }
        for ask in asks {
            let effects = Phase::ALL.map(|p| common::oracle(&analysis.policy, "w", &hosts, p, &ask).unwrap().effect);
            prop_assert!(effects.is_sorted(), "{:?} {:?}\n{}", effects, ask, text);
        }
    }
}

/// Whether the context cannot be bound to these directories; both ways to find
/// out must agree.
fn unbound(engines: &Engines, hosts: &Hosts) -> bool {
    use meroc::hir::Anchor;
    let mut seen = std::collections::HashSet::new();
    let right = engines.policy.contexts[0].mounts.iter().any(|m| {
        let anchor = match m.host.anchor {
            Anchor::Absolute => "",
            Anchor::Base => std::str::from_utf8(&hosts.base).unwrap(),
            Anchor::Home => match &hosts.home {
                Some(home) => std::str::from_utf8(home).unwrap(),
                None => return true,
            },
            Anchor::Param(_) => std::str::from_utf8(&hosts.params[0].1).unwrap(),
        };
        !seen.insert(format!("{anchor}/{}", m.host.segments.join("/")))
    });
    let params = [("P", hosts.params[0].1.as_slice())];
    let session = Session {
        base: &hosts.base,
        home: hosts.home.as_deref(),
        params: &params,
        ..Session::default()
    };
    for (name, bytes) in &engines.tables {
        let table = Table::from_bytes(bytes).unwrap();
        let got = table.context("w").unwrap().check_binding(&session);
        assert_eq!(got.is_err(), right, "{name} {got:?}");
    }
    right
}

/// Found by the test above: the short way took the directory of a mount for one where it
/// was asked for as a file.
#[test]
fn engines_agree_on_the_directory_of_a_mount() {
    let text = "edition 1\ncontext w {\n mount root at \"./ws\" { hide \"secrets/\"\n \
                mount data at \"secrets\" { allow read }\n mount b at \"b\" { allow read } }\n}\n";
    let engines = Engines::new(text);
    let hosts = Hosts { base: b"/srv/m".to_vec(), ..Hosts::default() };
    let mut effects = Vec::new();
    for path in ["/data", "/data/", "/", "/b", "/b/", "/secrets", "/secrets/"] {
        for kind in [Kind::File, Kind::Directory, Kind::Unknown] {
            let ask = Ask::Path(path.as_bytes().to_vec(), Permission::READ, kind);
            let answers = engines.answers("w", &hosts, Phase::Default, &ask);
            let (_, right) = &answers[0];
            answers.iter().for_each(|(engine, got)| assert_eq!(got, right, "{engine} on {ask:?}"));
            effects.push((path, kind, right.effect));
        }
    }
    assert!(effects.contains(&("/data", Kind::File, mero_runtime::Effect::Allow)));
    assert!(effects.contains(&("/data", Kind::Directory, mero_runtime::Effect::Deny)));
}

fn cases() -> u32 {
    std::env::var("MERO_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}
