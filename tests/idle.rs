//! Findings about idle statements against the tables: small random policies, one
//! statement a line, from which each line that is said to change nothing is taken out,
//! and everything is asked again. `IDLE_FIRST` and `IDLE_ROUNDS` choose the policies;
//! `IDLE_SILENT` lists the lines that could go and of which nothing is said.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use mero_runtime::{Effect, Kind, Permission, Phase, Reason};
use meroc::driver::{Analysis, Memory, analyse};
use meroc::request::{Ask, Judge};
use meroc::table;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const WORDS: [&str; 16] = [
    r#""a ...""#,
    r#""a b""#,
    r#""a (b|c)""#,
    r#""a * ...""#,
    r#""(a|b) c ...""#,
    r#""a {read}""#,
    r#""a {write}""#,
    r#""a {read...}""#,
    r#""timeout ...""#,
    r#""timeout * a ...""#,
    r#""export ...""#,
    r#"re"^a b$""#,
    r#"re"a\s+b""#,
    r#"text"b c""#,
    r#"glob"a *""#,
    r#"text"b""#,
];

const PATTERNS: [&str; 14] =
    ["a", "b", "a/", "/a", "/a/b", "*", "a/*", "**/b", "a/**", "[ab]", "b/", "/b/", "!a", "!b/"];

fn policy(dice: &mut Dice) -> String {
    let mut lines = vec!["context w {".to_owned()];
    lines.push(format!(
        "phases {}",
        dice.of(&[
            "plan, default, accept_edits",
            "default",
            "default, trusted",
            "plan, default, bypass_permissions",
        ])
    ));
    let sets = ["read", "write", "read | write", "all", "none", "delete"];
    let fields = |dice: &mut Dice, lines: &mut Vec<String>, all: bool| {
        for name in ["allow", "ask", "deny"] {
            if dice.below(if all { 2 } else { 3 }) == 0 {
                lines.push(format!("{name} {}", dice.of(&sets)));
            }
        }
    };
    fields(dice, &mut lines, false);
    let hides = |dice: &mut Dice, lines: &mut Vec<String>, most: usize| {
        for _ in 0..dice.below(most) {
            lines.push(format!("hide \"{}\"", dice.of(&PATTERNS)));
        }
    };
    hides(dice, &mut lines, 2);
    let plain = &PATTERNS[..12];
    let mount = |dice: &mut Dice, lines: &mut Vec<String>, head: &str, close: bool| {
        lines.push(head.to_owned());
        fields(dice, lines, true);
        hides(dice, lines, 4);
        for _ in 0..dice.below(3) {
            let field = dice.of(&["allow", "ask", "deny"]);
            lines.push(format!("on \"{}\" {{ {field} {} }}", dice.of(plain), dice.of(&sets)));
        }
        if close {
            lines.push("}".into());
        }
    };
    mount(dice, &mut lines, "mount root at \"./w\" {", false);
    if dice.below(2) == 0 {
        let head = dice.of(&["mount m at \"a\" {", "mount m at \"b/a\" {"]);
        mount(dice, &mut lines, head, true);
    }
    lines.push("}".into());
    if dice.below(3) == 0 {
        let head = dice.of(&["mount n at \"./n\" {", "mount n at \"./w/b\" {"]);
        mount(dice, &mut lines, head, true);
    }
    lines.push("commands {".into());
    if dice.below(3) == 0 {
        lines.push(dice.of(&["otherwise ask", "otherwise allow", "opaque ask"]).into());
    }
    for _ in 0..2 + dice.below(4) {
        let effect = dice.of(&["allow", "allow readonly", "ask", "deny"]);
        let pattern = dice.of(&WORDS);
        if effect == "deny" && pattern.contains('{') {
            continue;
        }
        let except = if dice.below(5) == 0 {
            format!(" except {}", dice.of(&WORDS[..5]))
        } else {
            String::new()
        };
        lines.push(format!("{effect} {pattern}{except}"));
    }
    lines.push("}".into());
    lines.push("tools {".into());
    for _ in 0..1 + dice.below(4) {
        lines.push(format!(
            "{} \"{}\"",
            dice.of(&["allow", "ask", "deny"]),
            dice.of(&["a", "*", "a*", "[ab]", "b", "?"])
        ));
    }
    lines.push("}".into());
    lines.push("grants x:y".into());
    lines.push("}".into());
    lines.push("tool a { uses read  readonly }".into());
    lines.push("tool b { requires x:z }".into());
    lines.join("\n")
}

fn analysed(text: &str) -> Analysis {
    let files = [(PathBuf::from("p.mero"), text.as_bytes().to_vec())].into();
    analyse(&Memory { files, input: Vec::new() }, "p.mero").unwrap()
}

/// All requests that policies are told apart by.
fn requests() -> Vec<Ask> {
    let mut all = Vec::new();
    let mut paths = vec![String::new()];
    for _ in 0..3 {
        let longer = paths.iter().flat_map(|p| ["a", "b", "c"].map(|n| format!("{p}/{n}")));
        let longer = longer.collect::<Vec<_>>();
        paths.extend(longer);
    }
    paths.sort();
    paths.dedup();
    let slugs = ["/m", "/n"].iter().flat_map(|s| paths.iter().map(move |p| format!("{s}{p}")));
    let slugs = slugs.collect::<Vec<_>>();
    paths.extend(slugs);
    for (_, permissions) in Permission::NAMES {
        all.push(Ask::Permission(permissions));
        for path in &paths {
            for kind in [Kind::File, Kind::Directory] {
                let path = format!("/{}", path.trim_start_matches('/')).into_bytes();
                all.push(Ask::Path { path, permissions, kind });
            }
        }
    }
    for name in ["a", "b", "ab", "c"] {
        all.push(Ask::Tool { name: name.into(), requires: Vec::new() });
    }
    for command in [
        "a",
        "a b",
        "a c",
        "a d",
        "a b c",
        "a  b",
        "a\tb",
        "a 'b c'",
        "a b  c",
        "'a b'",
        "b c",
        "b  c d",
        "/x/a b",
        "a b # b c",
        "a b; a c",
        "a c # b",
        "timeout 5 a b",
        "timeout 5 a c",
        "timeout 5",
        "timeout 5 d",
        "export CI=1",
        "export X=1",
        "sh -c 'a b'",
        "env a b",
        "a $x",
        "a \"$x\"",
        "$x",
        "d",
        "a /w/a",
        "a a",
        "a a b",
        "a -b",
        "a b/a",
        "a \"$(a b)\"",
        "a b; d",
    ] {
        all.push(Ask::Command(command.into()));
    }
    for argv in ["a|b", "a b", "a|b|c", "a|c", "timeout|5|a|b", "d", "a|b c", "a|", "a|a", "a|c|b"]
    {
        all.push(Ask::Argv(argv.split('|').map(|w| w.as_bytes().to_vec()).collect()));
    }
    all
}

fn answers(analysis: &Analysis, asks: &[Ask]) -> Option<Vec<(Phase, Effect, Reason)>> {
    let compiled = table::compile(&analysis.policy, table::Options::default()).ok()?;
    let judge = Judge::new(&compiled.bytes, &analysis.policy).ok()?;
    let phases = Phase::ALL.iter();
    let all = phases.flat_map(|&phase| {
        let answer = |ask| judge.decide("w", phase, ask);
        asks.iter().map(answer).map(move |(e, r)| (phase, e, r)).collect::<Vec<_>>()
    });
    Some(all.collect())
}

/// Whether some rule of a policy, or what holds without one, allows or asks for commands.
fn may_run(text: &str) -> bool {
    let analysis = analysed(text);
    let commands = analysis.policy.contexts[0].commands.as_ref();
    commands.is_some_and(meroc::hir::Commands::may_run)
}

fn built_in(ask: &Ask) -> bool {
    matches!(ask, Ask::Command(text) if text.starts_with("export"))
}

fn only<T: Copy>(all: &[T], kept: impl Fn(&usize) -> bool) -> Vec<T> {
    (0..all.len()).filter(kept).map(|i| all[i]).collect()
}

/// Findings that say that a line could go.
const IDLE: [&str; 8] = [
    "deny-without-effect",
    "redundant-field",
    "unreachable-rule",
    "redundant-rule",
    "duplicate-rule",
    "dead-hide",
    "redundant-hide",
    "dead-reinclude",
];

#[test]
fn what_is_idle_can_be_taken_out() {
    let asks = requests();
    let (mut idle, mut silent) = (BTreeMap::<&str, usize>::new(), Vec::new());
    let number = |name| std::env::var(name).ok().and_then(|r| r.parse().ok());
    let first = number("IDLE_FIRST").unwrap_or(0);
    for seed in first..first + number("IDLE_ROUNDS").unwrap_or(60) {
        let text = policy(&mut Dice(seed));
        let analysis = analysed(&text);
        let Some(with) = answers(&analysis, &asks) else { continue };
        let lines = text.lines().collect::<Vec<_>>();
        let mut spoken = BTreeMap::new();
        for d in &analysis.diagnostics {
            let line = analysis.sources().position(d.primary.span).line as usize;
            spoken.insert(line - 1, d.code.name);
        }
        for (number, line) in lines.iter().enumerate() {
            let name = spoken.get(&number).copied().unwrap_or("");
            if line.ends_with('{') || *line == "}" || line.starts_with("phases") {
                continue;
            }
            let rest = lines.iter().enumerate().filter(|(i, _)| *i != number);
            let rest = rest.map(|(_, l)| *l).collect::<Vec<_>>().join("\n");
            let Some(without) = answers(&analysed(&rest), &asks) else { continue };
            let effects = |a: &[(Phase, Effect, Reason)]| a.iter().map(|x| x.1).collect::<Vec<_>>();
            let reasons_too = !matches!(name, "deny-without-effect");
            let never_applies = name == "unreachable-rule" && line.contains('{');
            if IDLE.contains(&name) {
                *idle.entry(name).or_default() += 1;
                // No request that it matches is decided by it. But that there is a rule at
                // all lets built-ins run, which no rule need name.
                let last = name == "unreachable-rule" && !may_run(&rest);
                let kept = |i: &usize| !last || !built_in(&asks[i % asks.len()]);
                let (now, then) = (only(&with, kept), only(&without, kept));
                let differs = if reasons_too && !never_applies && !line.contains("none") {
                    now != then
                } else {
                    effects(&now) != effects(&then)
                };
                let place = with.iter().zip(&without).position(|(a, b)| a != b);
                let ask = place.map(|p| (&asks[p % asks.len()], with[p], without[p]));
                assert!(
                    !differs,
                    "seed {seed}: {name} on line {}: {line}\n{ask:?}\n{text}",
                    number + 1
                );
            } else if with == without && name.is_empty() {
                silent.push((seed, number + 1, line.to_string()));
            }
        }
    }
    if std::env::var("IDLE_SILENT").is_ok() {
        for (seed, number, line) in &silent {
            println!("seed {seed} line {number}: {line}");
        }
    }
    println!("{idle:?}, silent {}", silent.len());
    assert!(idle.len() >= 6, "{idle:?}");
}
