//! The curves: nanoseconds a decision against the number of rules, both by powers of ten.

use crate::Row;
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const EDGE: f64 = 40.0;

const COLOURS: [&str; 12] = [
    "#999999", "#bbbbbb", "#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#e377c2",
    "#f7b6d2", "#17becf", "#9edae5", "#bcbd22",
];

/// A picture of all rows.
pub fn curves(rows: &[Row]) -> String {
    let power = |n: f64| n.max(1.0).log10();
    let most = |f: fn(&Row) -> f64| rows.iter().map(f).fold(10.0, f64::max);
    let least = rows.iter().map(|r| r.rules as f64).fold(f64::MAX, f64::min);
    let (x0, x1) = (power(least), power(most(|r| r.rules as f64)).max(power(least) + 1.0));
    let (y0, y1) = (1.0, power(most(|r| r.times.p50)).ceil());
    let x = |rules: f64| LEFT + (power(rules) - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT);
    let y = |ns: f64| HEIGHT - EDGE - (power(ns) - y0) / (y1 - y0) * (HEIGHT - 2.0 * EDGE);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\">a path decision, median, by number of rules</text>\n"
    );
    for tick in 1..=y1 as u32 {
        let (ns, at) = (10f64.powi(tick as i32), y(10f64.powi(tick as i32)));
        let label = match ns {
            ns if ns < 1e3 => format!("{ns} ns"),
            ns if ns < 1e6 => format!("{} µs", ns / 1e3),
            ns => format!("{} ms", ns / 1e6),
        };
        let end = WIDTH - RIGHT;
        writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{end}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 8.0,
            at + 4.0
        )
        .unwrap();
    }
    let mut sizes = rows.iter().map(|r| r.rules).collect::<Vec<_>>();
    sizes.dedup();
    for rules in sizes {
        let at = x(rules as f64);
        let foot = HEIGHT - EDGE + 18.0;
        writeln!(out, "<text x=\"{at:.1}\" y=\"{foot}\" text-anchor=\"middle\">{rules}</text>")
            .unwrap();
    }
    let mut names = rows.iter().map(|r| r.name).collect::<Vec<_>>();
    names.sort_by_key(|n| crate::ALL.iter().position(|e| e.name == *n));
    names.dedup();
    // Labels at the ends of the lines, pushed apart.
    let end =
        |name: &str| rows.iter().rev().find(|r| r.name == name).map_or(0.0, |r| y(r.times.p50));
    let mut labels = names.iter().map(|n| (end(n), *n)).collect::<Vec<_>>();
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut low = f64::MIN;
    for (at, _) in &mut labels {
        *at = at.max(low + 14.0);
        low = *at;
    }
    for (number, name) in names.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let width = if *name == "mero" { 3.5 } else { 1.5 };
        let of = rows.iter().filter(|r| r.name == *name);
        let points = of.map(|r| format!("{:.1},{:.1}", x(r.rules as f64), y(r.times.p50)));
        let points = points.collect::<Vec<_>>().join(" ");
        let at = labels.iter().find(|(_, n)| n == name).map_or(0.0, |l| l.0) + 4.0;
        let beside = WIDTH - RIGHT + 8.0;
        writeln!(
            out,
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\
             <text x=\"{beside}\" y=\"{at:.1}\" fill=\"{colour}\">{name}</text>"
        )
        .unwrap();
    }
    out + "</svg>\n"
}
