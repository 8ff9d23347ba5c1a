//! The checker and `diff` on the examples and on generated policies of 1,000 and 10,000
//! rules; the most memory that was resident is printed after each size.
//!
//! The generated policies are not kind: four programs in five have rules of several
//! effects that meet, hide patterns of all shapes lie in one mount, and a tenth of the
//! rules are `on` blocks.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use meroc::check;
use meroc::compare::{Compare, Side};
use meroc::driver::{Memory, analyse};
use meroc::hir::Policy;
use meroc::request::Judge;
use meroc::table::{Options, compile};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

const PROGRAMS: &str = "git npm cargo pip go make docker kubectl terraform aws gcloud az helm yarn \
    pnpm bundle rake mvn gradle dotnet swift ruby node deno bun ls cat grep rg find sed awk jq curl \
    wget tar zip";
const VERBS: &str = "status log diff show push pull fetch build test run install publish list get \
    describe apply delete create update lint format check deploy start stop restart logs exec add \
    remove";
const OPTIONS: &str = "--all --verbose -v --force -f --dry-run --output=json -o -n --name --tag \
    --prod --dev --watch";

/// Numbers that are the same in every run (the constants of Knuth's MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn word<'w>(&mut self, words: &'w str) -> &'w str {
        let words = words.split_whitespace().collect::<Vec<_>>();
        words[self.below(words.len())]
    }
}

fn command(numbers: &mut Numbers) -> String {
    let effect = numbers.word("allow allow:readonly ask deny").replace(':', " ");
    let (program, verb) = (numbers.word(PROGRAMS), numbers.word(VERBS));
    let rest = match numbers.below(20) {
        0..6 => format!("{verb} ..."),
        6..10 => format!("{verb} {} ...", numbers.word(OPTIONS)),
        10..12 => format!("({verb}|{}) *", numbers.word(VERBS)),
        12..14 => format!("{verb} {} part-{}", numbers.word(OPTIONS), numbers.below(1_000)),
        14..16 => format!("{verb} package-{}*", numbers.below(5_000)),
        16 if effect != "deny" => format!("{verb} x{} {{read...}}", numbers.below(3_000)),
        _ => format!("{verb}-{} ...", numbers.below(2_000)),
    };
    format!("{effect} \"{program} {rest}\"")
}

fn hidden(numbers: &mut Numbers) -> String {
    match numbers.below(10) {
        0..4 => format!("secret-{}.key", numbers.below(20_000)),
        4..6 => format!("*.ext{}", numbers.below(4_000)),
        6..8 => format!("/dir{}/private{}/", numbers.below(900), numbers.below(90)),
        8 => format!("cache{}*", numbers.below(3_000)),
        _ => format!("build{}/", numbers.below(800)),
    }
}

fn several(count: usize, mut make: impl FnMut() -> String) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    while out.len() < count {
        let one = make();
        if seen.insert(one.clone()) {
            out.push(one);
        }
    }
    out
}

/// Half command rules, a quarter hide patterns, a tenth `on` blocks, the rest tools and
/// mounts. With `changed`, one command rule and one hide pattern in a hundred differ.
fn policy(rules: usize, changed: bool) -> String {
    let mut numbers = Numbers(5);
    let mut commands = several(rules / 2, || command(&mut numbers));
    let mut hides = several(rules / 4, || hidden(&mut numbers));
    if changed {
        for rule in commands.iter_mut().step_by(100) {
            *rule = match rule.strip_prefix("deny") {
                Some(rest) => format!("ask{rest}"),
                None => {
                    format!("deny {}", &rule[rule.find('"').unwrap()..]).replace("{read...}", "...")
                }
            };
        }
        for pattern in hides.iter_mut().step_by(100) {
            pattern.insert_str(0, "other-");
        }
    }
    let mut text = String::from(
        "edition 1\ncontext w {\n    allow read\n    mount root at \"./ws\" {\n        allow read | write\n        hide ",
    );
    let hides = hides.iter().map(|h| format!("{h:?}")).collect::<Vec<_>>();
    writeln!(text, "{}", hides.join(", ")).unwrap();
    for i in 0..rules / 40 {
        writeln!(text, "        mount m{i} at \"pkg{i}\" {{ allow read | write  deny delete }}")
            .unwrap();
    }
    for i in 0..rules / 10 {
        writeln!(text, "        on \"/gen{i}/**\", \"lock{i}.json\" {{ deny write }}").unwrap();
    }
    writeln!(text, "    }}\n    commands {{\n        {}\n    }}", commands.join("\n        "))
        .unwrap();
    let tools =
        (0..rules / 20).map(|i| format!("{} \"tool{i}_*\"", numbers.word("allow ask deny")));
    writeln!(text, "    tools {{ {} }}\n}}", tools.collect::<Vec<_>>().join(" ")).unwrap();
    text
}

fn resolved(files: Vec<(PathBuf, Vec<u8>)>) -> Policy {
    let name = files[0].0.to_str().unwrap().to_owned();
    let memory = Memory { files: files.into_iter().collect(), input: Vec::new() };
    analyse(&memory, &name).unwrap().policy
}

fn examples() -> Vec<Policy> {
    let read = |name: &str| {
        let path = PathBuf::from("examples").join(name);
        let text = std::fs::read(&path).unwrap();
        (path, text)
    };
    vec![
        resolved(vec![read("code-review/policy.mero")]),
        resolved(vec![read("embed/policy.mero")]),
        resolved(vec![read("release/policy.mero")]),
        resolved(vec![read("report-writer/policy.mero")]),
        resolved(vec![read("team/policy.mero"), read("team/common.mero")]),
    ]
}

/// Classes of requests that two policies decide differently.
fn changes(old: &Policy, new: &Policy) -> usize {
    let tables = [old, new].map(|p| compile(p, Options::default()).unwrap().bytes);
    let judges = [Judge::new(&tables[0], old).unwrap(), Judge::new(&tables[1], new).unwrap()];
    let pairs = old.contexts.iter().zip(&new.contexts);
    pairs
        .map(|(was, is)| {
            let compare = Compare {
                old: Side { policy: old, context: was, judge: &judges[0] },
                new: Side { policy: new, context: is, judge: &judges[1] },
                interest: |a, b| a.0 != b.0,
                samples: 16,
            };
            let comparison = compare.run();
            assert_eq!(comparison.unproved, Vec::<String>::new());
            comparison.changes.len()
        })
        .sum()
}

/// The most memory that was resident so far, where the system tells.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |l| l.trim().to_owned())
}

fn checker(c: &mut Criterion) {
    let mut group = c.benchmark_group("check");
    group.sample_size(10).warm_up_time(Duration::from_millis(500));
    let all = examples();
    group.bench_function("examples", |b| {
        b.iter(|| all.iter().map(|p| check::run(p).unwrap().findings.len()).sum::<usize>());
    });
    let mut differ = Vec::new();
    for rules in [1_000, 10_000] {
        let [old, new] = [false, true]
            .map(|changed| resolved(vec![("p.mero".into(), policy(rules, changed).into_bytes())]));
        group.bench_with_input(BenchmarkId::from_parameter(rules), &old, |b, policy| {
            b.iter(|| check::run(policy).unwrap().findings.len());
        });
        println!("most resident after {rules} rules: {}", peak());
        differ.push((rules, old, new));
    }
    group.finish();

    let mut group = c.benchmark_group("diff");
    group.sample_size(10).warm_up_time(Duration::from_millis(500));
    let less = all.iter().map(|p| {
        let mut less = p.clone();
        less.contexts.iter_mut().filter_map(|c| c.commands.as_mut()).for_each(|c| {
            c.rules.pop();
        });
        less
    });
    let less = less.collect::<Vec<_>>();
    group.bench_function("examples", |b| {
        b.iter(|| all.iter().zip(&less).map(|(p, l)| changes(p, l)).sum::<usize>());
    });
    for (rules, old, new) in &differ {
        group.bench_with_input(BenchmarkId::from_parameter(rules), &(old, new), |b, (old, new)| {
            b.iter(|| changes(old, new));
        });
        println!("most resident after {rules} rules: {}", peak());
    }
    group.finish();
}

criterion_group!(benches, checker);
criterion_main!(benches);
