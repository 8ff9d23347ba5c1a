//! What the workload by number of rules does not show: one long list of public patterns,
//! long and deep paths, very many mounts.

use crate::engines::{self, mero::Mero};
use crate::measure::{Times, time};
use crate::workload::Workload;
use ignore::gitignore::GitignoreBuilder;
use std::fmt::Write;
use std::time::{Duration, Instant};

const PUBLIC: &str = include_str!("../../../tests/data/gitignore-public.txt");
const PATIENCE: Duration = Duration::from_secs(12);

/// All of it.
pub fn all() {
    list();
    lengths();
    mounts();
}

fn report(name: &str, times: &Times, rest: &str) {
    println!("{name:<38} p50 {:>7.0} ns  p99 {:>8.0} ns  {rest}", times.p50, times.p99);
}

/// The public collection of `.gitignore` templates as the list of one mount.
fn list() {
    let patterns = PUBLIC.lines().filter(|p| meroc::automata::glob::gitignore(p).is_ok());
    let patterns = patterns.collect::<Vec<_>>();
    println!("\n{} public patterns in one list, paths of the 1,000 rules", patterns.len());
    // Raw, but for one with a carriage return.
    let quoted = |p: &&str| match p.contains('\r') {
        true => format!("\"{}\"", p.replace('\r', "\\u{d}")),
        false => format!("r#\"{p}\"#"),
    };
    let list = patterns.iter().map(quoted).collect::<Vec<_>>().join(", ");
    let begin = Instant::now();
    let mero = Mero::of(&format!(
        "edition 1\ncontext w {{ mount root at \"./ws\" {{ allow read\nhide {list} }} }}\n"
    ));
    let took = begin.elapsed();
    // Every second path has a name in it that a pattern means.
    let mut paths = Workload::new(1_000, 4_000).paths;
    for (i, path) in paths.iter_mut().enumerate().filter(|(i, _)| i % 2 == 0) {
        let name = patterns[i * 7 % patterns.len()].trim_start_matches('!').trim_matches('/');
        let name = name.replace("**", "x").replace(['*', '?', '[', ']', '\\'], "a");
        let at = path.rfind('/').unwrap_or(0);
        path.insert_str(at, &format!("/{name}"));
    }
    let mut builder = GitignoreBuilder::new("");
    let begin = Instant::now();
    patterns.iter().for_each(|p| drop(builder.add_line(None, p)));
    let ignore = builder.build().expect("the patterns are good");
    let built = begin.elapsed();
    let hides =
        |p: &str| ignore.matched_path_or_any_parents(p.trim_start_matches('/'), false).is_ignore();
    let same = paths.iter().filter(|p| hides(p) != mero.reads(p)).count();
    let bytes = mero.table().bytes().len();
    let each = bytes as f64 / patterns.len() as f64;
    let load = time(&[String::new()], PATIENCE, |_| {
        mero_runtime::Table::from_bytes(mero.table().bytes()).is_ok()
    });
    let rest = format!(
        "compile {:.2} s, {:.0} KB, {each:.0} bytes a pattern, load {:.2} ms",
        took.as_secs_f64(),
        bytes as f64 / 1024.0,
        load.p50 / 1e6
    );
    report("mero", &time(&paths, PATIENCE, |p| mero.reads(p)), &rest);
    // It looks at the path before its parents, git the other way round.
    let rest = format!(
        "compile {:.2} s, agrees on {:.1} %",
        built.as_secs_f64(),
        100.0 * same as f64 / paths.len() as f64
    );
    report("ignore", &time(&paths, PATIENCE, hides), &rest);
}

/// Paths that go on below the last rule.
fn lengths() {
    println!("\n1,000 rules, paths that go on below the last rule by segments of six bytes");
    let workload = Workload::new(1_000, 2_000);
    let mero = engines::mero::new(&workload);
    let mut floor = engines::floors::automaton(&workload);
    for more in [0, 1, 2, 4, 8, 16, 32, 64, 128] {
        let longer = |p: &String| {
            let at = p.rfind('/').unwrap_or(0);
            format!("{}{}{}", &p[..at], "/middle".repeat(more), &p[at..])
        };
        let paths = workload.paths.iter().map(longer).collect::<Vec<_>>();
        let length = paths.iter().map(String::len).sum::<usize>() / paths.len();
        let walked = time(&paths, PATIENCE, |p| floor.allows(p));
        let times = time(&paths, PATIENCE, |p| mero.reads(p));
        let rest = format!("{:.2} of the floor", times.p50 / walked.p50);
        report(&format!("mero, {length} bytes on average"), &times, &rest);
    }
}

/// Nothing but mounts.
fn mounts() {
    println!("\nmounts alone, each read or write, all below one");
    for count in [1_000_usize, 10_000, 100_000] {
        let mut text =
            String::from("edition 1\ncontext w { mount root at \"./ws\" { allow read | write\n");
        for i in 0..count {
            let right = ["read", "write"][i % 2];
            writeln!(text, "mount m{i} at \"area{}/project{i}\" {{ allow {right} }}", i % 97)
                .unwrap();
        }
        let begin = Instant::now();
        let mero = match Mero::try_of(&(text + "} }\n")) {
            Ok(mero) => mero,
            Err(why) => {
                println!("mero, {count}: {why}");
                continue;
            }
        };
        let took = begin.elapsed();
        let paths = (0..5_000).map(|i| {
            let i = i * 31 % count;
            format!("/area{}/project{i}/src/main_{i}.rs", i % 97)
        });
        let bytes = mero.table().bytes();
        let begin = Instant::now();
        let loaded = mero_runtime::Table::from_bytes(bytes).is_ok();
        let rest = format!(
            "compile {:.2} s, {:.1} bytes a mount, load {:.2} ms{}",
            took.as_secs_f64(),
            bytes.len() as f64 / count as f64,
            begin.elapsed().as_secs_f64() * 1e3,
            if loaded { "" } else { " (refused)" }
        );
        report(
            &format!("mero, {count}"),
            &time(&paths.collect::<Vec<_>>(), PATIENCE, |p| mero.reads(p)),
            &rest,
        );
    }
}
