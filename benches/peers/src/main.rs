//! The same requests, decided by Mero and by what people would use instead: first it is
//! checked that all give the same answers, then they are timed, all in one run.
//!
//! A decision is timed by itself: the clock is read before and after, and what reading it
//! costs is taken off. Of several rounds the fastest counts for each request, so that what
//! else the machine does is left out; then come the median (p50) and the 99th percentile
//! (p99) over the requests. Engines that take long decide fewer of them.

mod engines;
mod measure;
mod more;
mod picture;
mod workload;

use engines::{ALL, Entry};
use measure::{Times, resident, time};
use std::time::{Duration, Instant};
use workload::Workload;

/// One engine at one size.
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// How many rules it had.
    pub rules: usize,
    /// Of its decisions.
    pub times: Times,
    /// From rules to the first decision.
    pub load: Duration,
    /// What its table takes, where it has one.
    pub bytes: Option<usize>,
    /// What the process grew by.
    pub resident: usize,
}

struct Options {
    sizes: Vec<usize>,
    requests: usize,
    engines: Vec<String>,
    json: Option<String>,
    svg: Option<String>,
    export: Option<String>,
}

const USAGE: &str = "usage: mero-peers [--sizes 10,100,1000,10000] [--requests 10000] \
    [--engines NAME,…] [--json FILE] [--svg FILE] [--export FILE]";

fn options() -> Result<Options, String> {
    let mut options = Options {
        sizes: vec![10, 100, 1_000, 10_000],
        requests: 10_000,
        engines: Vec::new(),
        json: None,
        svg: None,
        export: None,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or(USAGE)?;
        let number = |text: &str| text.parse::<usize>().map_err(|_| USAGE.to_owned());
        match arg.as_str() {
            "--sizes" => options.sizes = value.split(',').map(number).collect::<Result<_, _>>()?,
            "--requests" => options.requests = number(&value)?,
            "--engines" => options.engines = value.split(',').map(str::to_owned).collect(),
            "--json" => options.json = Some(value),
            "--svg" => options.svg = Some(value),
            "--export" => options.export = Some(value),
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(options)
}

/// An engine that is asked this much longer than others is left out of larger sizes.
const PATIENCE: Duration = Duration::from_secs(12);

fn main() -> Result<(), String> {
    let options = options()?;
    if let Some(file) = &options.export {
        return export(&options, file);
    }
    let mut rows: Vec<Row> = Vec::new();
    for &rules in &options.sizes {
        let workload = Workload::new(rules, options.requests);
        let right = workload.paths.iter().map(|p| workload.right(p)).collect::<Vec<_>>();
        let length = workload.paths.iter().map(String::len).sum::<usize>() / right.len();
        let allowed = right.iter().filter(|r| **r).count() * 100 / right.len();
        println!("\n{rules} rules, paths of {length} bytes, {allowed} % allowed");
        println!(
            "{:<24} {:>10} {:>10} {:>8} {:>9} {:>9} {:>10} {:>9}",
            "", "p50 ns", "p99 ns", "/ floor", "/ mero", "load ms", "grown KB", "table KB"
        );
        let mut of_size = Vec::new();
        for entry in ALL {
            if !options.engines.is_empty()
                && !options.engines.iter().any(|e| entry.name.starts_with(e))
            {
                continue;
            }
            // It grew too slow at the last size.
            let slow = |r: &&Row| r.name == entry.name && r.times.p50 > 2e7;
            if rows.iter().rev().find(|r| r.name == entry.name).as_ref().is_some_and(slow) {
                println!("{:<24} left out: over 20 ms a decision at the last size", entry.name);
                continue;
            }
            of_size.push(measured(entry, &workload, &right)?);
        }
        let at = |name: &str| of_size.iter().find(|r| r.name == name).map(|r| r.times.p50);
        let (floor, mero) = (at("floor: automaton"), at("mero"));
        for row in &of_size {
            let ratio =
                |to: Option<f64>| to.map_or("".into(), |t| format!("{:.2}", row.times.p50 / t));
            println!(
                "{:<24} {:>10.0} {:>10.0} {:>8} {:>9} {:>9.2} {:>10} {:>9}",
                row.name,
                row.times.p50,
                row.times.p99,
                ratio(floor),
                ratio(mero),
                row.load.as_secs_f64() * 1e3,
                row.resident / 1024,
                row.bytes.map_or("".into(), |b| format!("{:.1}", b as f64 / 1024.0)),
            );
        }
        others(&workload);
        rows.extend(of_size);
    }
    if options.engines.is_empty() {
        more::all();
    }
    if let Some(file) = &options.svg {
        std::fs::write(file, picture::curves(&rows)).map_err(|e| format!("{file}: {e}"))?;
    }
    if let Some(file) = &options.json {
        let rows = rows.iter().map(|r| {
            serde_json::json!({
                "engine": r.name, "rules": r.rules, "p50_ns": r.times.p50, "p99_ns": r.times.p99,
                "requests": r.times.requests, "load_ms": r.load.as_secs_f64() * 1e3,
                "table_bytes": r.bytes, "grown_bytes": r.resident,
            })
        });
        let text = serde_json::Value::from(rows.collect::<Vec<_>>()).to_string();
        std::fs::write(file, text).map_err(|e| format!("{file}: {e}"))?;
    }
    Ok(())
}

/// Loads an engine, checks its answers, and times it.
fn measured(entry: &Entry, workload: &Workload, right: &[bool]) -> Result<Row, String> {
    let before = resident();
    let begin = Instant::now();
    let mut engine = (entry.load)(workload);
    let _ = engine.allows(&workload.paths[0]);
    let load = begin.elapsed();
    let resident = resident().saturating_sub(before);
    let begin = Instant::now();
    for (path, right) in workload.paths.iter().zip(right) {
        if begin.elapsed() > PATIENCE {
            break;
        }
        let got = engine.allows(path);
        if entry.decides && got != *right {
            return Err(format!(
                "{} says {got} of {path} with {} rules",
                entry.name, workload.rules
            ));
        }
    }
    let times = time(&workload.paths, PATIENCE, |path| engine.allows(path));
    Ok(Row {
        name: entry.name,
        rules: workload.rules,
        times,
        load,
        bytes: engine.bytes(),
        resident,
    })
}

/// What only Mero is asked.
fn others(workload: &Workload) {
    let mero = engines::mero::new(workload);
    let table = engines::mero::table(workload);
    let once = |name: &str, mut ask: Box<dyn FnMut() -> bool + '_>| {
        let times = time(&vec![String::new(); 2_000], PATIENCE, |_| ask());
        println!("  mero: {name}: p50 {:.0} ns", times.p50);
    };
    once("command string of four words", Box::new(|| mero.command("git log --oneline -5")));
    once("argument vector of four", Box::new(|| mero.argv(&[b"git", b"log", b"--oneline", b"-5"])));
    once("grant", Box::new(|| mero.grant("acme:widget")));
    once("loading the table", Box::new(|| mero_runtime::Table::from_bytes(&table).is_ok()));
}

/// Writes the workloads for the harness in Python.
fn export(options: &Options, file: &str) -> Result<(), String> {
    let all = options.sizes.iter().map(|&rules| {
        let w = Workload::new(rules, options.requests.min(2_000));
        let right = w.paths.iter().map(|p| w.right(p)).collect::<Vec<_>>();
        let hides = w.hides.iter().map(workload::pattern).collect::<Vec<_>>();
        serde_json::json!({
            "rules": rules, "policy": w.mero(), "mounts": w.mounts, "hides": hides, "paths": w.paths, "right": right,
        })
    });
    let text = serde_json::Value::from(all.collect::<Vec<_>>()).to_string();
    std::fs::write(file, text).map_err(|e| format!("{file}: {e}"))
}
