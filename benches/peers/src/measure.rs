//! Times of single decisions, and what the process takes.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Nanoseconds over all requests.
pub struct Times {
    /// The median.
    pub p50: f64,
    /// Of a hundred requests, one takes longer.
    pub p99: f64,
    /// How many were timed.
    pub requests: usize,
}

/// Most rounds over all requests.
const ROUNDS: usize = 15;

/// Times what is asked of each path, for as long as `patience`.
pub fn time(paths: &[String], patience: Duration, mut ask: impl FnMut(&str) -> bool) -> Times {
    let empty = (0..10_000).map(|_| {
        let begin = Instant::now();
        begin.elapsed().as_nanos() as f64
    });
    let clock = empty.fold(f64::MAX, f64::min);
    let mut best: Vec<f64> = Vec::new();
    let start = Instant::now();
    for round in 0..ROUNDS {
        for (i, path) in paths.iter().enumerate() {
            if round > 0 && i >= best.len() {
                break;
            }
            let begin = Instant::now();
            black_box(ask(black_box(path)));
            let took = begin.elapsed().as_nanos() as f64 - clock;
            match best.get_mut(i) {
                Some(known) => *known = known.min(took),
                None => best.push(took),
            }
            if took > 1e5 && start.elapsed() > patience {
                break;
            }
        }
        if start.elapsed() > patience {
            break;
        }
    }
    best.sort_by(f64::total_cmp);
    let at = |part: f64| best[((best.len() - 1) as f64 * part) as usize].max(0.0);
    Times { p50: at(0.5), p99: at(0.99), requests: best.len() }
}

/// Bytes of the process that are in memory; 0 where that cannot be told.
pub fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|p| p.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
