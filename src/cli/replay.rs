//! `meroc replay`: a recorded log, decided again.
//!
//! Takes the events that an audit of `mero-runtime` wrote (and any request lines of
//! `eval` with an `effect`), decides each request by a policy, and shows what would be
//! another answer than before: than was recorded, or with `--against` than another policy
//! gives. Requests are decided by their text; where a log says that a path led elsewhere
//! (`host`), links are not followed again.

use super::engine::{Detail, Engine};
use super::eval::context;
use super::request::answer;
use super::{Binding, FOUND, Outcome, Terminal};
use crate::driver::{Host, LoadError};
use crate::request::Request;
use clap::ValueEnum;
use mero_runtime::{Effect, Phase};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// Largest log that is read, in bytes.
const MAX_LOG: usize = 1 << 30;
/// Changes that are shown one by one to people.
const MOST_SHOWN: usize = 50;

#[derive(Debug, clap::Args)]
pub(super) struct Replay {
    /// The policy to decide by: a `.mero` file, a directory, or a compiled table
    policy: String,
    /// Compare with this policy's answers instead of those in the log
    #[arg(long, value_name = "OLD")]
    against: Option<String>,
    /// Logs, one JSON object a line
    #[arg(required = true)]
    logs: Vec<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[command(flatten)]
    binding: Binding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal
    Human,
    /// For programs
    Json,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Said {
    effect: String,
    reason: String,
}

/// Requests of one kind that get another answer now.
#[derive(Clone, Debug, Serialize)]
struct Change {
    context: String,
    phase: String,
    request: Value,
    direction: &'static str,
    before: Said,
    after: Said,
    rule: Option<super::request::RuleAt>,
    times: u64,
}

/// Numbers of a context.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    requests: u64,
    changed: u64,
    asks_before: u64,
    asks_after: u64,
}

#[derive(Default)]
struct Report {
    all: Counts,
    contexts: BTreeMap<String, Counts>,
    /// By the rule that decides now.
    rules: BTreeMap<String, Counts>,
    changes: BTreeMap<(String, String, String), Change>,
    /// Lines that hold no request, as those on grants.
    skipped: u64,
    lost: u64,
    malformed: Vec<(String, usize, String)>,
    /// Lines of the log.
    lines: usize,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        let fields = [
            (&mut self.requests, other.requests),
            (&mut self.changed, other.changed),
            (&mut self.asks_before, other.asks_before),
            (&mut self.asks_after, other.asks_after),
        ];
        fields.into_iter().for_each(|(to, from)| *to = to.saturating_add(from));
    }
}

impl Report {
    /// Takes up what comes `lines` lines later.
    fn merge(&mut self, other: Report, lines: usize) {
        self.all.add(&other.all);
        for (name, counts) in other.contexts {
            self.contexts.entry(name).or_default().add(&counts);
        }
        for (rule, counts) in other.rules {
            self.rules.entry(rule).or_default().add(&counts);
        }
        for (key, change) in other.changes {
            match self.changes.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(change);
                }
                Entry::Occupied(mut entry) => {
                    let times = &mut entry.get_mut().times;
                    *times = times.saturating_add(change.times);
                }
            }
        }
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.lost = self.lost.saturating_add(other.lost);
        let malformed = other.malformed.into_iter();
        self.malformed.extend(malformed.map(|(log, n, e)| (log, n.saturating_add(lines), e)));
        self.lines = self.lines.saturating_add(other.lines);
    }
}

impl Replay {
    pub(super) fn run(self, host: &dyn Host, terminal: Terminal) -> Outcome {
        let load = |name: &str| Engine::load(host, name, &self.binding, terminal, Detail::Rules);
        let new = load(&self.policy)?;
        let old = self.against.as_deref().map(load).transpose()?;
        let mut report = Report::default();
        for log in &self.logs {
            let read =
                if log == "-" { host.stdin(MAX_LOG) } else { host.read(Path::new(log), MAX_LOG) };
            let bytes = read.map_err(|source| {
                let help = "name a log that an audit wrote, or `-`".to_owned();
                LoadError::Read { path: log.clone(), source, help }
            })?;
            report.merge(decided(log, &bytes, &new, old.as_ref()), 0);
        }
        let text = match self.format {
            Format::Human => human(&report),
            Format::Json => json(&report),
        };
        std::io::stdout().write_all(text.as_bytes())?;
        let failed = !report.malformed.is_empty();
        Ok(if failed { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
    }
}

/// Bytes of a log that are worth a thread of their own.
const PIECE: usize = 1 << 20;

/// Decides all lines of a log again, in as many threads as the machine runs at once.
fn decided(log: &str, bytes: &[u8], new: &Engine, old: Option<&Engine>) -> Report {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(bytes.len() / PIECE).max(1);
    let mut pieces = Vec::new();
    let mut rest = bytes;
    for left in (1..=threads).rev() {
        // At the end of the line that the even share ends in.
        let share = rest.len().checked_div(left).unwrap_or(0);
        let end = rest.iter().skip(share).position(|&b| b == b'\n');
        let end = end.map_or(rest.len(), |n| share.saturating_add(n).saturating_add(1));
        let (piece, behind) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        pieces.push(piece);
        rest = behind;
    }
    let of_piece = |piece: &[u8]| {
        let mut report = Report::default();
        for line in piece.strip_suffix(b"\n").unwrap_or(piece).split(|&b| b == b'\n') {
            report.lines = report.lines.saturating_add(1);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if let Err(error) = one(line, new, old, &mut report) {
                report.malformed.push((log.to_owned(), report.lines, error));
            }
        }
        report
    };
    let mut whole = Report::default();
    std::thread::scope(|scope| {
        let of_piece = &of_piece;
        let (first, others) = pieces.split_first().unwrap_or((&bytes, &[]));
        let others = others.iter().map(|&piece| (piece, scope.spawn(move || of_piece(piece))));
        let others = others.collect::<Vec<_>>();
        whole.merge(of_piece(first), 0);
        for (piece, thread) in others {
            // What a thread was not able to do is done here.
            let report = thread.join().unwrap_or_else(|_| of_piece(piece));
            whole.merge(report, whole.lines);
        }
    });
    whole
}

/// Decides one line of a log again.
fn one(line: &[u8], new: &Engine, old: Option<&Engine>, report: &mut Report) -> Result<(), String> {
    let event: Map<String, Value> = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    match event.get("type").and_then(Value::as_str) {
        Some("mero.audit_lost") => {
            let lost = event.get("lost").and_then(Value::as_u64).unwrap_or(0);
            report.lost = report.lost.saturating_add(lost);
            return Ok(());
        }
        None | Some("mero.decision") => {}
        Some(_) => {
            report.skipped = report.skipped.saturating_add(1);
            return Ok(());
        }
    }
    const KEYS: [&str; 9] =
        ["context", "phase", "path", "permission", "kind", "command", "argv", "tool", "requires"];
    let request = event.iter().filter(|(key, _)| KEYS.contains(&key.as_str()));
    let request = request.map(|(k, v)| (k.clone(), v.clone())).collect::<Map<_, _>>();
    let shown = Value::Object(request.clone());
    let request: Request =
        serde_json::from_value(Value::Object(request)).map_err(|e| e.to_string())?;
    let ask = request.ask()?;
    let name = request.context.clone().ok_or("the event names no `context`")?;
    let phase_name = request.phase.clone().unwrap_or_else(|| "default".to_owned());
    let phase =
        Phase::parse(&phase_name).ok_or_else(|| format!("there is no phase `{phase_name}`"))?;
    // A context that is gone lets nothing through.
    let by = |engine: &Engine| match engine.table().context(&name) {
        Some(_) => {
            let table = engine.table();
            answer(engine, &context(&table, &name)?, phase, &ask)
                .map(|r| (Said { effect: r.effect.into(), reason: r.reason.into() }, r.rule))
        }
        None => Ok((Said { effect: "deny".into(), reason: "invalid".into() }, None)),
    };
    let before = match old {
        Some(old) => by(old)?.0,
        None => {
            let get = |key: &str| event.get(key).and_then(Value::as_str).map(str::to_owned);
            Said {
                effect: get("effect").ok_or("the event has no `effect`")?,
                reason: get("reason").unwrap_or_default(),
            }
        }
    };
    let (after, rule) = by(new)?;
    let order = [Effect::Deny, Effect::Ask, Effect::Allow];
    let rank = |said: &Said| order.iter().position(|e| e.name() == said.effect);
    let direction = match rank(&after).cmp(&rank(&before)) {
        std::cmp::Ordering::Greater => "widens",
        std::cmp::Ordering::Less => "narrows",
        std::cmp::Ordering::Equal => "reason",
    };
    let changed = after.effect != before.effect;
    let of_rule = rule
        .as_ref()
        .map_or_else(|| "no rule".to_owned(), |r| format!("{}:{}: {}", r.file, r.line, r.text));
    let counts = Counts {
        requests: 1,
        changed: u64::from(changed),
        asks_before: u64::from(before.effect == "ask"),
        asks_after: u64::from(after.effect == "ask"),
    };
    report.all.add(&counts);
    report.contexts.entry(name.clone()).or_default().add(&counts);
    report.rules.entry(of_rule).or_default().add(&counts);
    if changed {
        let key = (shown.to_string(), before.effect.clone(), after.effect.clone());
        let change = Change {
            context: name,
            phase: phase_name,
            request: shown,
            direction,
            before,
            after,
            rule,
            times: 0,
        };
        let change = report.changes.entry(key).or_insert(change);
        change.times = change.times.saturating_add(1);
    }
    Ok(())
}

fn json(report: &Report) -> String {
    let mut changes = report.changes.values().collect::<Vec<_>>();
    changes.sort_by_key(|c| std::cmp::Reverse(c.times));
    let malformed = report.malformed.iter().map(
        |(file, line, error)| serde_json::json!({ "file": file, "line": line, "error": error }),
    );
    let value = serde_json::json!({
        "summary": report.all,
        "contexts": report.contexts,
        "rules": report.rules,
        "changes": changes,
        "skipped": report.skipped,
        "lost": report.lost,
        "malformed": malformed.collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}

fn human(report: &Report) -> String {
    let mut out = String::new();
    let mut changes = report.changes.values().collect::<Vec<_>>();
    changes.sort_by_key(|c| (c.direction != "widens", std::cmp::Reverse(c.times)));
    for change in changes.iter().take(MOST_SHOWN) {
        let mut request = change.request.clone();
        if let Some(object) = request.as_object_mut() {
            object.remove("context");
            object.remove("phase");
        }
        let times =
            if change.times > 1 { format!("  {} times", change.times) } else { String::new() };
        let _ = writeln!(out, "{} {}: {request}{times}", change.direction, change.context);
        let said = |s: &Said| format!("{} ({})", s.effect, s.reason);
        let _ = writeln!(
            out,
            "  {} → {}  in {}",
            said(&change.before),
            said(&change.after),
            change.phase
        );
        if let Some(rule) = &change.rule {
            let _ = writeln!(out, "  now: {}:{}: {}", rule.file, rule.line, rule.text);
        }
    }
    if changes.len() > MOST_SHOWN {
        let _ = writeln!(out, "and {} more", changes.len().saturating_sub(MOST_SHOWN));
    }
    if !changes.is_empty() {
        out.push('\n');
    }
    for (name, c) in &report.contexts {
        let _ = writeln!(
            out,
            "{name}: {} requests, {} changed, asked {} times before and {} now",
            c.requests, c.changed, c.asks_before, c.asks_after
        );
    }
    let mut asking = report.rules.iter().filter(|(_, c)| c.asks_after > 0).collect::<Vec<_>>();
    asking.sort_by_key(|(_, c)| std::cmp::Reverse(c.asks_after));
    for (rule, c) in asking.iter().take(MOST_SHOWN) {
        let _ = writeln!(out, "  asked {} times by {rule}", c.asks_after);
    }
    let c = report.all;
    let _ = writeln!(
        out,
        "{} of {} requests decided otherwise; asked {} times before and {} now",
        c.changed, c.requests, c.asks_before, c.asks_after
    );
    if report.skipped > 0 {
        let _ = writeln!(out, "{} events hold no request", report.skipped);
    }
    if report.lost > 0 {
        let _ = writeln!(out, "{} events were lost when the log was written", report.lost);
    }
    for (file, line, error) in &report.malformed {
        let _ = writeln!(out, "error: {file}:{line}: {error}");
    }
    out
}
