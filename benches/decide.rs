//! Decisions and compilation, beside a floor: the same bytes walked through an
//! automaton of 256 columns. Compare ratios of one run, not figures.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mero_runtime::{Context, Kind, Permission, Session, Table};
use meroc::driver::{Memory, analyse};
use meroc::hir::Policy;
use meroc::table::{Options, compile};
use std::fmt::Write;
use std::hint::black_box;

/// A realistic policy: half nested mounts, three tenths hide patterns, two
/// tenths command rules.
fn workload(rules: usize) -> String {
    let (mounts, hides, commands) = (rules / 2, rules * 3 / 10, rules / 5);
    let mut text = String::from(
        "edition 1\ncontext w {\n    grants core:fs.read, core:fs.write, acme:widget\n    mount root at \"./ws\" {\n        allow read | write\n        hide \"*.pem\"",
    );
    for i in 1..hides {
        let pattern = match i % 6 {
            0 => format!("*.ext{i}"),
            1 => format!("secret{i}"),
            2 => format!("/build{i}/"),
            3 => format!("docs{i}/*.md"),
            4 => format!("tmp{i}*"),
            _ => format!("cache{i}/"),
        };
        write!(text, ", {pattern:?}").unwrap();
    }
    text.push('\n');
    for i in 1..mounts {
        let right = ["allow read", "allow read | write", "allow read deny delete"][i % 3];
        writeln!(text, "        mount m{i} at \"pkg{}/module{i}\" {{ {right} }}", i % 20).unwrap();
    }
    text.push_str("    }\n    commands {\n        allow \"git (status|log|diff) ...\"\n");
    for i in 1..commands {
        let effect = ["allow", "ask", "deny"][i % 3];
        writeln!(text, "        {effect} \"tool{i} (run|test) --flag{} ...\"", i % 7).unwrap();
    }
    text + "    }\n}\n"
}

fn policy(rules: usize) -> Policy {
    let analysis = analyse(&Memory::policy(&workload(rules)), "p.mero").unwrap();
    assert!(!analysis.has_errors(), "{:?}", analysis.diagnostics);
    analysis.policy
}

fn paths(rules: usize) -> Vec<String> {
    let mounts = (rules / 2).max(2);
    (0..64)
        .map(|i: usize| {
            let m = (i * 7) % mounts;
            match i % 4 {
                0 => format!("/pkg{}/module{m}/src/components/button{i}.tsx", m % 20),
                1 => format!("/m{}/src/lib/deeply/nested/file_number_{i}.rs", m.max(1)),
                2 => format!("/docs/guide/chapter{i}/section/paragraph.md"),
                _ => format!("/pkg{}/other{i}/keys/server{i}.pem", m % 20),
            }
        })
        .collect()
}

/// The floor: one load a byte, no decision.
struct Floor {
    rows: Vec<[u16; 256]>,
}

impl Floor {
    fn new() -> Floor {
        let mut rows = vec![[0u16; 256]; 64];
        for (s, row) in rows.iter_mut().enumerate() {
            for (b, next) in row.iter_mut().enumerate() {
                *next = ((s * 31 + b * 7) % 64) as u16;
            }
        }
        Floor { rows }
    }

    fn walk(&self, bytes: &[u8]) -> u16 {
        bytes.iter().fold(0, |s, &b| self.rows[s as usize][b as usize])
    }
}

fn decide(c: &mut Criterion) {
    let session = Session { base: b"/srv/agent", ..Session::default() };
    let floor = Floor::new();
    let mut group = c.benchmark_group("path");
    for rules in [10, 100, 1_000] {
        let compiled = compile(&policy(rules), Options::default()).unwrap();
        println!("{rules} rules: {:?}", compiled.stats);
        let table = Table::from_bytes(&compiled.bytes).unwrap();
        let context = table.context("w").unwrap();
        let paths = paths(rules);
        group.throughput(Throughput::Elements(paths.len() as u64));
        group.bench_with_input(BenchmarkId::new("floor", rules), &paths, |b, paths| {
            b.iter(|| {
                paths.iter().map(|p| u32::from(floor.walk(black_box(p.as_bytes())))).sum::<u32>()
            });
        });
        group.bench_with_input(BenchmarkId::new("mero", rules), &paths, |b, paths| {
            b.iter(|| paths.iter().filter(|p| one(&context, &session, p)).count());
        });
    }
    group.finish();

    let compiled = compile(&policy(1_000), Options::default()).unwrap();
    let table = Table::from_bytes(&compiled.bytes).unwrap();
    let context = table.context("w").unwrap();
    c.bench_function("grant", |b| b.iter(|| context.holds(black_box("acme:widget"))));
    let argv: [&[u8]; 4] = [b"git", b"log", b"--oneline", b"-5"];
    c.bench_function("argv", |b| b.iter(|| context.argv(&session, black_box(&argv))));
    let pipeline = "git status && npm run build 2>&1 | tail -20";
    let script = "git log --oneline -5 && tool1 run --flag1 'a b' > out.txt\n".repeat(170);
    let unknown = "git log \"$a\" $b \"$(git status)\" *.rs ${c}";
    for (name, text) in [
        ("pipeline", pipeline),
        ("script of 10 KB", script.as_str()),
        ("five unknown words", unknown),
    ] {
        let mut group = c.benchmark_group("command string");
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("split", name), |b| {
            b.iter(|| mero_runtime::shell::split(black_box(text.as_bytes())).commands.len());
        });
        group.bench_function(BenchmarkId::new("decide", name), |b| {
            b.iter(|| context.command(&session, black_box(text)));
        });
        group.finish();
    }
    let mut load = c.benchmark_group("load");
    for rules in [10, 100, 1_000] {
        let compiled = compile(&policy(rules), Options::default()).unwrap();
        load.throughput(Throughput::Bytes(compiled.bytes.len() as u64));
        load.bench_function(BenchmarkId::from_parameter(rules), |b| {
            b.iter(|| Table::from_bytes(black_box(&compiled.bytes)).unwrap().contexts().count());
        });
    }
    load.finish();
}

fn one(context: &Context<'_>, session: &Session<'_>, path: &str) -> bool {
    context.path(session, black_box(path.as_bytes()), Permission::READ, Kind::File).is_allowed()
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile");
    group.sample_size(10);
    for rules in [100, 1_000] {
        let policy = policy(rules);
        group.bench_function(BenchmarkId::from_parameter(rules), |b| {
            b.iter(|| compile(black_box(&policy), Options::default()).unwrap().bytes.len());
        });
    }
    group.finish();
    // Bytes a rule of literal mounts, which is a count and no time.
    let mut text =
        String::from("edition 1\ncontext w {\n    mount root at \"./ws\" {\n        allow read\n");
    for i in 0..1_000 {
        writeln!(text, "        mount m{i} at \"pkg{}/module{i}\" {{ allow read }}", i % 20)
            .unwrap();
    }
    text += "    }\n}\n";
    let analysis = analyse(&Memory::policy(&text), "p.mero").unwrap();
    let bytes = compile(&analysis.policy, Options::default()).unwrap().bytes.len();
    println!("1000 literal mounts: {bytes} bytes, {:.1} a rule", bytes as f64 / 1_000.0);
}

criterion_group!(benches, decide, build);
criterion_main!(benches);
