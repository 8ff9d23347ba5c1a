//! What the checker claims, on random policies: taking out a statement that is reported
//! as idle changes nothing and taking out another changes something; `diff` finds all
//! changes that enumeration finds; assertions and `narrows` agree with enumeration.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod common;

use common::random;
use mero_runtime::{Effect, Kind, Permission, Phase, Reason};
use meroc::compare::{Answer, Change, Compare, Comparison, Side};
use meroc::diag::Level;
use meroc::hir::{Context, Policy};
use meroc::request::{Ask, Judge};
use meroc::source::Span;
use meroc::suite::{self, Verdict};
use meroc::table::{Options, compile};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;

fn cases() -> u32 {
    std::env::var("MERO_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
}

/// Compares the only contexts of two policies.
fn compare(old: &Policy, new: &Policy, interest: fn(Answer, Answer) -> bool) -> Comparison {
    let (a, b) =
        (compile(old, Options::default()).unwrap(), compile(new, Options::default()).unwrap());
    let (a, b) = (Judge::new(&a.bytes, old).unwrap(), Judge::new(&b.bytes, new).unwrap());
    Compare {
        old: Side { policy: old, context: &old.contexts[0], judge: &a },
        new: Side { policy: new, context: &new.contexts[0], judge: &b },
        interest,
        samples: 3,
    }
    .run()
}

/// A policy without the statement at a place; `None` if there is none.
fn without(policy: &Policy, span: Span) -> Option<Policy> {
    let mut out = policy.clone();
    let context: &mut Context = &mut out.contexts[0];
    let before = format!("{context:?}");
    context.hide.retain(|p| p.span != span);
    let drop_fields = |fields: &mut meroc::hir::Fields| {
        for field in [&mut fields.allow, &mut fields.ask, &mut fields.deny] {
            if field.is_some_and(|f| f.span == span) {
                *field = None;
            }
        }
    };
    drop_fields(&mut context.fields);
    for mount in &mut context.mounts {
        drop_fields(&mut mount.fields);
        mount.hide.retain(|p| p.span != span);
        mount.on.retain(|b| b.span != span);
        mount.on.iter_mut().for_each(|b| drop_fields(&mut b.fields));
    }
    if let Some(commands) = &mut context.commands {
        commands.rules.retain(|r| r.span != span);
        commands.rules.iter_mut().for_each(|r| r.except.retain(|e| e.span != span));
    }
    if let Some(tools) = &mut context.tools {
        // What `otherwise` is by default depends on the rules that stand.
        let otherwise = tools.otherwise();
        tools.otherwise.get_or_insert(meroc::source::Spanned { node: otherwise, span });
        tools.rules.retain(|r| r.pattern.span != span);
    }
    (format!("{context:?}") != before).then_some(out)
}

/// Places of all statements that could be idle.
fn statements(policy: &Policy) -> Vec<Span> {
    let context = &policy.contexts[0];
    let mut out = context.hide.iter().map(|p| p.span).collect::<Vec<_>>();
    for mount in &context.mounts {
        out.extend(mount.hide.iter().map(|p| p.span));
        out.extend(mount.on.iter().map(|b| b.span));
        out.extend(mount.fields.iter().map(|(_, s)| s.span));
    }
    out.extend(context.commands.iter().flat_map(|c| &c.rules).map(|r| r.span));
    out.extend(context.tools.iter().flat_map(|t| &t.rules).map(|r| r.pattern.span));
    out
}

const IDLE: [&str; 7] = [
    "unreachable-rule",
    "redundant-rule",
    "duplicate-rule",
    "dead-hide",
    "redundant-hide",
    "dead-reinclude",
    "dead-exception",
];

/// A small world of requests, all of which can be asked.
fn world() -> Vec<Ask> {
    let mut paths: Vec<String> = vec![String::new()];
    let names = ["a", "b", "src", ".env", "x.pem", "secrets", "data"];
    let mut last = paths.clone();
    for _ in 0..2 {
        last = last.iter().flat_map(|p| names.map(|n| format!("{p}/{n}"))).collect();
        paths.extend(last.iter().cloned());
    }
    for slug in ["root", "data", "src", "m3"] {
        paths.extend(names.iter().map(|n| format!("/{slug}/{n}")));
    }
    let mut out = Vec::new();
    for path in paths {
        let path = if path.is_empty() { "/".to_owned() } else { path };
        for kind in [Kind::File, Kind::Directory] {
            for (_, permissions) in Permission::NAMES {
                out.push(Ask::Path { path: path.clone().into_bytes(), permissions, kind });
            }
        }
    }
    let words =
        ["git", "push", "status", "cat", "a", ".env", "rm", "-rf", "x", "tee", "--out=a", "cp"];
    let vectors = words.iter().map(|w| vec![*w]);
    let vectors = vectors
        .chain(words.iter().flat_map(|a| words.iter().map(|b| vec![*a, *b])))
        .chain(words.iter().flat_map(|a| words.iter().map(|b| vec!["git", *a, *b])))
        .chain(words.iter().flat_map(|a| words.iter().map(|b| vec!["cp", *a, *b])));
    out.extend(vectors.map(|v| Ask::Argv(v.iter().map(|w| w.as_bytes().to_vec()).collect())));
    for name in ["file_w", "grep", "bash", "file_x", "mcp__ab"] {
        out.push(Ask::Tool { name: name.to_owned(), requires: Vec::new() });
        out.push(Ask::Tool { name: name.to_owned(), requires: vec!["core:a".to_owned()] });
    }
    out.extend(Permission::NAMES.map(|(_, p)| Ask::Permission(p)));
    out
}

/// What makes two requests of one class, but for the answers.
fn kind(ask: &Ask) -> (u8, u8) {
    match ask {
        Ask::Path { permissions, .. } => (0, permissions.bits()),
        Ask::Permission(p) => (1, p.bits()),
        Ask::Command(_) | Ask::Argv(_) => (2, 0),
        Ask::Tool { .. } => (3, 0),
    }
}

type Class = ((u8, u8), Phase, Effect, Effect);

fn class(ask: &Ask, phase: Phase, before: (Effect, Reason), after: (Effect, Reason)) -> Class {
    (kind(ask), phase, before.0, after.0)
}

fn checked(text: &str) -> Option<meroc::driver::Analysis> {
    let analysis = common::analysis(text);
    let errors = analysis.diagnostics.iter().any(|d| d.level == Level::Error);
    (!errors).then_some(analysis)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn idle_statements_are_those_that_change_nothing(text in random::policy()) {
        let Some(analysis) = checked(&text) else { return Ok(()) };
        let policy = &analysis.policy;
        let unproved = analysis.diagnostics.iter().any(|d| d.code.name == "unproved");
        let reported = |names: &[&str]| {
            let found = analysis.diagnostics.iter().filter(|d| names.contains(&d.code.name));
            found.map(|d| d.primary.span).collect::<BTreeSet<_>>()
        };
        let idle = reported(&IDLE);
        for &span in &idle {
            let Some(less) = without(policy, span) else { continue };
            // A rule that no path lets apply still gives the path's reason for the denial.
            let path_words = policy.sources.text(span).contains('{');
            let differs = |a: (Effect, Reason), b: (Effect, Reason)| a != b;
            let effect = |a: (Effect, Reason), b: (Effect, Reason)| a.0 != b.0;
            let found = compare(policy, &less, if path_words { effect } else { differs });
            prop_assert!(found.changes.is_empty(), "{:?} {:?}\n{}", policy.sources.text(span), found.changes, text);
        }
        // `deny none` may change which reason a denial has.
        for span in reported(&["deny-without-effect", "redundant-field"]) {
            let Some(less) = without(policy, span) else { continue };
            let found = compare(policy, &less, |a, b| a.0 != b.0);
            prop_assert!(found.changes.is_empty(), "{:?} {:?}\n{}", policy.sources.text(span), found.changes, text);
        }
        let spoken = analysis.diagnostics.iter().flat_map(|d| {
            d.labels.iter().map(|l| l.span).chain([d.primary.span])
        });
        let spoken = spoken.collect::<BTreeSet<_>>();
        // Of rules on plain words nothing is left out. Of texts, path words, and fields
        // within what is idle itself, more is left unsaid than is proved.
        let commands = policy.contexts[0].commands.as_ref();
        let open = commands.is_some_and(|c| c.otherwise.is_some());
        let plain = |r: &meroc::hir::CommandRule| {
            let word = |p: &meroc::syntax::ast::Pattern| {
                p.kind == meroc::syntax::ast::PatternKind::Word && !p.text.contains('{')
            };
            word(&r.pattern) && r.except.is_empty()
        };
        let rules = commands.iter().filter(|_| !open).flat_map(|c| &c.rules).collect::<Vec<_>>();
        let all_plain = rules.iter().all(|r| plain(r));
        let judged = rules.iter().filter(|_| all_plain && !unproved).map(|r| r.span);
        for span in judged.filter(|s| !spoken.contains(s)) {
            let Some(less) = without(policy, span) else { continue };
            let found = compare(policy, &less, |a, b| a != b);
            let some = !found.changes.is_empty() || !found.unproved.is_empty();
            prop_assert!(some, "{:?} changes nothing\n{}", policy.sources.text(span), text);
        }
    }

    #[test]
    fn diff_finds_what_enumeration_finds(text in random::policy(), seed in any::<u64>()) {
        let Some(analysis) = checked(&text) else { return Ok(()) };
        let old = &analysis.policy;
        let all = statements(old);
        if all.is_empty() {
            return Ok(());
        }
        let span = all[usize::try_from(seed % all.len() as u64).unwrap()];
        let Some(new) = without(old, span) else { return Ok(()) };
        let (a, b) = (compile(old, Options::default()).unwrap(), compile(&new, Options::default()).unwrap());
        let (a, b) = (Judge::new(&a.bytes, old).unwrap(), Judge::new(&b.bytes, &new).unwrap());
        let found = compare(old, &new, |a, b| a.0 != b.0);
        let classes = found.changes.iter().map(|c: &Change| class(&c.ask, c.phase, c.before, c.after));
        let classes = classes.collect::<BTreeSet<_>>();
        for change in &found.changes {
            prop_assert_eq!(a.decide("w", change.phase, &change.ask), change.before);
            prop_assert_eq!(b.decide("w", change.phase, &change.ask), change.after);
        }
        if !found.unproved.is_empty() {
            return Ok(());
        }
        for ask in world() {
            for phase in old.contexts[0].phases.clone() {
                let (before, after) = (a.decide("w", phase, &ask), b.decide("w", phase, &ask));
                if before.0 != after.0 {
                    prop_assert!(
                        classes.contains(&class(&ask, phase, before, after)),
                        "{:?} in {} {:?} {:?}, without {:?}\n{}", ask, phase, before, after, old.sources.text(span), text
                    );
                }
            }
        }
    }

    #[test]
    fn assertions_agree_with_enumeration(
        text in random::policy(),
        assertion in select(vec![
            "never read \"*.pem\"", "never write \"/src/**\"", "always deny read \".env\"",
            "never allow delete \"/a\"", "always allow read \"/data/**\"", "never write \"secrets/\"",
            "never run \"git push ...\"", "never allow run \"rm ...\"", "always deny run \"cat .env\"",
            "never run \"cp * *\"", "never tool \"f*\"", "always ask tool \"grep\"",
            "never read \"a/b\" except \"/a/b\"", "never run re\"push\"", "never execute \"**\"",
        ]),
    ) {
        let text = format!("{text}assert w {assertion}\n");
        let analysis = common::analysis(&text);
        let errors = analysis.diagnostics.iter().any(|d| d.level == Level::Error && d.code.name != "failed-assert");
        if errors {
            return Ok(());
        }
        let policy = &analysis.policy;
        let bytes = compile(policy, Options::default()).unwrap().bytes;
        let judge = Judge::new(&bytes, policy).unwrap();
        let outcomes = suite::run(policy, &judge);
        let assert = &policy.asserts[0];
        let verdict = &outcomes.last().unwrap().verdict;
        if let Verdict::Failed(answered) = verdict {
            let got = judge.decide("w", answered.phase, &answered.ask);
            prop_assert_eq!(got, (answered.effect, answered.reason));
            prop_assert!(assert.forbids(got.0));
            return Ok(());
        }
        if matches!(verdict, Verdict::Unproved(_)) {
            return Ok(());
        }
        for ask in world() {
            if !meant(assertion, &ask) {
                continue;
            }
            for &phase in &assert.phases {
                let got = judge.decide("w", phase, &ask);
                prop_assert!(!assert.forbids(got.0), "{:?} in {} is {:?}\n{}", ask, phase, got, text);
            }
        }
    }

    #[test]
    fn narrowing_agrees_with_enumeration(text in random::policy(), other in random::policy()) {
        // The second policy's context, under another name, claims to narrow the first's.
        let Some(at) = other.find("context w {") else { return Ok(()) };
        let narrower = other[at..].replacen("context w {", "context n narrows w {", 1);
        let text = format!("{text}{narrower}");
        let analysis = common::analysis(&text);
        let errors = analysis.diagnostics.iter().any(|d| d.level == Level::Error && d.code.name != "not-narrower");
        if errors {
            return Ok(());
        }
        let said = |name: &str| analysis.diagnostics.iter().any(|d| d.code.name == name);
        if said("not-narrower") || said("unproved") {
            return Ok(());
        }
        let policy = &analysis.policy;
        let bytes = compile(policy, Options::default()).unwrap().bytes;
        let judge = Judge::new(&bytes, policy).unwrap();
        for ask in world() {
            for phase in Phase::ALL {
                let (wide, narrow) = (judge.decide("w", phase, &ask), judge.decide("n", phase, &ask));
                prop_assert!(narrow.0 <= wide.0, "{:?} in {}: {:?} {:?}\n{}", ask, phase, wide, narrow, text);
            }
        }
    }
}

/// Whether an assertion of the list above means a request, read by hand.
fn meant(assertion: &str, ask: &Ask) -> bool {
    let pattern = assertion.split('"').nth(1).unwrap();
    match ask {
        Ask::Path { path, permissions, kind } => {
            let text = String::from_utf8(path.clone()).unwrap();
            let segments = text.split('/').filter(|s| !s.is_empty()).collect::<Vec<_>>();
            if !assertion.contains(&format!(" {permissions} \"")) || segments.is_empty() {
                return false;
            }
            let at = |end: usize| segments[..end].join("/");
            let directory = |end: usize| end < segments.len() || *kind == Kind::Directory;
            let ends = 1..=segments.len();
            match pattern {
                "*.pem" => segments.iter().any(|s| s.ends_with(".pem")),
                ".env" => segments.contains(&".env"),
                "/a" => segments[0] == "a",
                "secrets/" => {
                    ends.into_iter().any(|e| segments[e - 1] == "secrets" && directory(e))
                }
                "/src/**" => segments[0] == "src" && segments.len() > 1,
                "/data/**" => segments[0] == "data" && segments.len() > 1,
                "**" => true,
                // `except` takes all of it away.
                "a/b" => at(2.min(segments.len())) == "a/b" && !assertion.contains("except"),
                _ => false,
            }
        }
        Ask::Argv(argv) => {
            let words = argv.iter().map(|w| std::str::from_utf8(w).unwrap()).collect::<Vec<_>>();
            if !assertion.contains(" run ") {
                return false;
            }
            match pattern {
                "git push ..." => words.len() >= 2 && words[0] == "git" && words[1] == "push",
                "rm ..." => words[0] == "rm",
                "cat .env" => words == ["cat", ".env"],
                "cp * *" => words.len() == 3 && words[0] == "cp",
                "push" => words.join(" ").contains("push"),
                _ => false,
            }
        }
        Ask::Tool { name, requires } => {
            requires.is_empty()
                && assertion.contains(" tool ")
                && match pattern {
                    "f*" => name.starts_with('f'),
                    _ => name == pattern,
                }
        }
        _ => false,
    }
}
