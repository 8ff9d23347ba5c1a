//! The guard: decisions without and with the file system, opening beside plain opening,
//! and decisions of several threads at once. Compare ratios of one run, not figures.
#![cfg(unix)]
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::arithmetic_side_effects
)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mero_runtime::host::{Directories, Guard, OpenOptions, Policy};
use mero_runtime::{OwnedTable, Permission};
use meroc::driver::{Memory, analyse};
use meroc::table::{Options, compile};
use std::fs;
use std::hint::black_box;
use std::sync::Arc;

fn guard(base: &std::path::Path) -> Guard {
    let text = r#"edition 1
context w {
    grants core:fs.read
    mount root at "./ws" {
        allow read | write
        hide  "*.pem", ".env*", "node_modules/"
        mount data at "data" { allow read }
    }
    commands { allow "git (status|log) ..." allow "cat {read...}" }
    tools { allow "file_*" }
}
"#;
    let policy = analyse(&Memory::policy(text), "p.mero").unwrap().policy;
    let table = OwnedTable::from_bytes(compile(&policy, Options::default()).unwrap().bytes);
    let policy = Policy::bind(table.unwrap(), &Directories::new(base)).unwrap();
    Guard::new(Arc::new(policy), "w").unwrap()
}

fn checks(c: &mut Criterion) {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    let deep = "a/b/c/d/file.txt";
    fs::create_dir_all(base.join("ws/a/b/c/d")).unwrap();
    fs::create_dir_all(base.join("ws/data")).unwrap();
    fs::write(base.join("ws").join(deep), "text").unwrap();
    std::os::unix::fs::symlink("a/b", base.join("ws/link")).unwrap();
    let guard = guard(&base);
    let path = format!("/{deep}");

    let mut group = c.benchmark_group("decide");
    group.bench_function("path by its text", |b| {
        b.iter(|| guard.lexical(black_box(&path), Permission::READ, "").is_ok());
    });
    group.bench_function("grant", |b| b.iter(|| guard.grant(black_box("core:fs.read")).is_ok()));
    group
        .bench_function("tool", |b| b.iter(|| guard.tool(black_box("file_read"), &[], "").is_ok()));
    group.bench_function("argv", |b| {
        b.iter(|| guard.argv(black_box(&["git", "log", "-5"]), "").is_ok());
    });
    group.bench_function("path, links followed, depth 5", |b| {
        b.iter(|| guard.path(black_box(&path), Permission::READ, "").is_ok());
    });
    group.bench_function("path through a link", |b| {
        b.iter(|| guard.path(black_box("/link/c/d/file.txt"), Permission::READ, "").is_ok());
    });
    group.finish();

    let mut group = c.benchmark_group("open");
    let real = base.join("ws").join(deep);
    group.bench_function("std::fs", |b| b.iter(|| fs::File::open(black_box(&real)).unwrap()));
    let read = OpenOptions::new().read(true);
    group.bench_function("guard", |b| b.iter(|| guard.open(black_box(&path), read, "").unwrap()));
    group.finish();

    let mut group = c.benchmark_group("threads");
    const EACH: u64 = 20_000;
    for threads in [1, 2] {
        group.throughput(Throughput::Elements(EACH * threads));
        group.sample_size(20);
        group.bench_function(BenchmarkId::from_parameter(threads), |b| {
            b.iter(|| {
                std::thread::scope(|scope| {
                    for _ in 0..threads {
                        scope.spawn(|| {
                            for _ in 0..EACH {
                                black_box(guard.lexical(&path, Permission::READ, "").is_ok());
                            }
                        });
                    }
                });
            });
        });
    }
    group.finish();
}

criterion_group!(benches, checks);
criterion_main!(benches);
