//! `meroc test`: the expectations of a policy, and what they leave open.

mod junit;

use super::engine::{Detail, Engine, sound};
use super::explain::{self, Explanation};
use super::{FOUND, Failure, Outcome, Terminal};
use crate::driver::Host;
use crate::hir::Policy;
use crate::request::Judge;
use crate::source::Span;
use crate::suite::coverage::{Coverage, coverage};
use crate::suite::mutants::{Report, mutants};
use crate::suite::{self, Answered, Subject, Verdict};
use clap::ValueEnum;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Test {
    /// Policies: files, directories, `-` for standard input [default: .]
    policies: Vec<String>,
    /// Only tests whose context or text contains this
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["coverage", "mutants"])]
    filter: Option<String>,
    /// Also list the rules that no test exercises
    #[arg(long)]
    coverage: bool,
    /// Also change the rules one by one and list the changes that no test notices
    #[arg(long)]
    mutants: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Failures with what led to them, and a summary
    Human,
    /// For programs
    Json,
    /// XML, as build servers read it
    Junit,
}

/// One expectation, ready to be shown.
struct Line {
    context: String,
    phase: Option<&'static str>,
    file: String,
    line: u32,
    /// As it would be written alone.
    text: String,
    /// What a case expects; nothing for assertions, whose text says it.
    expected: Option<String>,
    /// The request of a case, or the one that an assertion fails with.
    request: Option<Value>,
    result: Shown,
}

enum Shown {
    Passed,
    Failed(Box<Explanation>),
    /// An assertion that is neither proved nor refuted, and why.
    Unproved(String),
}

/// All that is said of one policy.
struct Tested {
    lines: Vec<Line>,
    coverage: Option<(usize, Vec<Value>)>,
    mutants: Option<Value>,
}

#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    unproved: usize,
}

impl Counts {
    fn of<'l>(lines: impl Iterator<Item = &'l Line>) -> Counts {
        let mut counts = Counts::default();
        for line in lines {
            let count = match line.result {
                Shown::Passed => &mut counts.passed,
                Shown::Failed(_) => &mut counts.failed,
                Shown::Unproved(_) => &mut counts.unproved,
            };
            *count = count.saturating_add(1);
        }
        counts
    }

    fn total(&self) -> usize {
        self.passed.saturating_add(self.failed).saturating_add(self.unproved)
    }
}

impl Test {
    pub(super) fn run(mut self, host: &dyn Host, terminal: Terminal) -> Outcome {
        if self.format == Format::Junit && (self.coverage || self.mutants) {
            return Err(Failure::usage(
                "JUnit's XML has no place for coverage and mutants",
                "use `--format json` for them",
            ));
        }
        if self.policies.is_empty() {
            self.policies.push(".".to_owned());
        }
        let mut all = Vec::new();
        for name in &self.policies {
            all.push(self.one(host, name, terminal)?);
        }
        let counts = Counts::of(all.iter().flat_map(|t| &t.lines));
        if let (Some(filter), 0) = (&self.filter, counts.total()) {
            return Err(Failure::usage(
                format!("no test contains `{filter}`"),
                "`--filter` looks into names of contexts and texts of tests",
            ));
        }
        let text = match self.format {
            Format::Human => human(&all, &counts, terminal.color),
            Format::Json => machine(&all, &counts),
            Format::Junit => junit::xml(all.iter().flat_map(|t| &t.lines), &counts),
        };
        std::io::stdout().write_all(text.as_bytes())?;
        // What is not proved does not hold up a claim either.
        Ok(if counts.failed > 0 || counts.unproved > 0 {
            ExitCode::from(FOUND)
        } else {
            ExitCode::SUCCESS
        })
    }

    fn one(&self, host: &dyn Host, name: &str, terminal: Terminal) -> Result<Tested, Failure> {
        let analysis = sound(host, name, terminal)?;
        let engine = Engine::examined(&analysis, terminal, Detail::Rules)?;
        let policy = &analysis.policy;
        let judge = Judge::new(engine.table().bytes(), policy)
            .map_err(|source| Failure::Table { path: name.to_owned(), source })?;
        let mut lines = Vec::new();
        for outcome in suite::run(policy, &judge) {
            let line = line(&engine, policy, &outcome)?;
            let wanted = |f: &String| line.context.contains(f) || line.text.contains(f);
            if self.filter.as_ref().is_none_or(wanted) {
                lines.push(line);
            }
        }
        Ok(Tested {
            lines,
            coverage: self.coverage.then(|| missed(policy, &coverage(policy, &judge))),
            mutants: self.mutants.then(|| survivors(policy, &tried(policy))),
        })
    }
}

/// Tells how far the mutants are, where somebody looks on.
fn tried(policy: &Policy) -> Report {
    let shown = std::io::stderr().is_terminal();
    let tell = |text: &str| {
        if shown {
            super::progress::tell(text);
        }
    };
    let report = mutants(policy, &mut |done, total| tell(&format!("change {done} of {total}")));
    tell("");
    report
}

fn line(engine: &Engine, policy: &Policy, outcome: &suite::Outcome<'_>) -> Result<Line, Failure> {
    let span = outcome.subject.span();
    let name = &outcome.context.name;
    let (text, phase, expected) = match outcome.subject {
        Subject::Case(case) => (case.text(), Some(case.phase), Some(case.expected())),
        Subject::Assert(_) => (one_line(policy, span), None, None),
    };
    let asked = match (&outcome.verdict, outcome.subject) {
        (Verdict::Failed(got), _) => Some((got.phase, got.ask.clone())),
        (_, Subject::Case(case)) => Some((case.phase, case.ask())),
        _ => None,
    };
    let request =
        asked.and_then(|(phase, ask)| serde_json::to_value(ask.request(name, phase)?).ok());
    let result = match &outcome.verdict {
        Verdict::Passed => Shown::Passed,
        Verdict::Unproved(why) => Shown::Unproved(why.clone()),
        Verdict::Failed(Answered { phase, ask, .. }) => {
            let table = engine.table();
            let context = table.context(name).ok_or_else(|| Failure::Internal {
                message: format!("the table lacks the context `{name}`"),
            })?;
            let mut explanation = explain::explanation(engine, &context, *phase, ask)?;
            // The directories are made up.
            explanation.reply.host = None;
            Shown::Failed(Box::new(explanation))
        }
    };
    Ok(Line {
        context: name.clone(),
        phase: phase.map(mero_runtime::Phase::name),
        file: policy.sources.get(span.file).map_or_else(String::new, |f| f.name.clone()),
        line: policy.sources.position(span).line,
        text,
        expected,
        request,
        result,
    })
}

fn one_line(policy: &Policy, span: Span) -> String {
    policy.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A statement in a report: where, and what it says.
fn statement(policy: &Policy, span: Span) -> Map<String, Value> {
    let file = policy.sources.get(span.file).map_or("", |f| f.name.as_str());
    let at = policy.sources.position(span);
    let mut out = Map::new();
    for (key, value) in
        [("file", json!(file)), ("line", json!(at.line)), ("text", json!(one_line(policy, span)))]
    {
        let _ = out.insert(key.to_owned(), value);
    }
    out
}

fn missed(policy: &Policy, coverage: &Coverage) -> (usize, Vec<Value>) {
    let missed = coverage.missed.iter().map(|(kind, span)| {
        let mut out = statement(policy, *span);
        let _ = out.insert("kind".to_owned(), json!(kind.name()));
        Value::Object(out)
    });
    (coverage.total, missed.collect())
}

fn survivors(policy: &Policy, report: &Report) -> Value {
    let survivors = report.survivors.iter().map(|survivor| {
        let mut out = statement(policy, survivor.mutant.span);
        let _ = out.insert("change".to_owned(), json!(survivor.mutant.what));
        if let Some(request) = &survivor.request {
            let _ = out.insert("request".to_owned(), json!(request));
        }
        Value::Object(out)
    });
    json!({
        "noticed": report.noticed,
        "equal": report.equal,
        "unfit": report.unfit,
        "left": report.left,
        "survivors": survivors.collect::<Vec<_>>(),
    })
}

fn machine(all: &[Tested], counts: &Counts) -> String {
    let tests = all.iter().flat_map(|t| &t.lines).map(|line| {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| {
            let _ = out.insert(key.to_owned(), value);
        };
        put("context", json!(line.context));
        if let Some(phase) = line.phase {
            put("phase", json!(phase));
        }
        put("file", json!(line.file));
        put("line", json!(line.line));
        put("text", json!(line.text));
        put("outcome", json!(line.outcome()));
        if let Some(request) = &line.request {
            put("request", request.clone());
        }
        if let Shown::Unproved(why) = &line.result {
            put("why", json!(why));
        }
        if let Shown::Failed(explanation) = &line.result {
            put("got", serde_json::to_value(explanation).unwrap_or_default());
        }
        Value::Object(out)
    });
    let mut out = json!({
        "tests": tests.collect::<Vec<_>>(),
        "summary": {
            "passed": counts.passed,
            "failed": counts.failed,
            "unproved": counts.unproved,
        },
    });
    if let Value::Object(out) = &mut out {
        let covered = all
            .iter()
            .filter_map(|t| t.coverage.as_ref())
            .map(|(total, missed)| json!({ "rules": total, "missed": missed }));
        let covered = covered.collect::<Vec<_>>();
        if !covered.is_empty() {
            let _ = out.insert("coverage".to_owned(), Value::Array(covered));
        }
        let mutants = all.iter().filter_map(|t| t.mutants.clone()).collect::<Vec<_>>();
        if !mutants.is_empty() {
            let _ = out.insert("mutants".to_owned(), Value::Array(mutants));
        }
    }
    serde_json::to_string_pretty(&out).unwrap_or_default() + "\n"
}

impl Line {
    fn outcome(&self) -> &'static str {
        match self.result {
            Shown::Passed => "passed",
            Shown::Failed(_) => "failed",
            Shown::Unproved(_) => "unproved",
        }
    }

    /// What a failure says in one line.
    fn failure(&self, explanation: &Explanation) -> String {
        let got = format!("{} ({})", explanation.reply.effect, explanation.reply.reason);
        match &self.expected {
            Some(expected) => format!("expected {expected}, got {got}"),
            None => format!("does not hold: got {got}"),
        }
    }
}

fn human(all: &[Tested], counts: &Counts, color: bool) -> String {
    let mut out = String::new();
    let paint = |text: &str, code: u8| match color {
        true => format!("\u{1b}[1;{code}m{text}\u{1b}[0m"),
        false => text.to_owned(),
    };
    for line in all.iter().flat_map(|t| &t.lines) {
        let (word, explanation) = match &line.result {
            Shown::Passed => continue,
            Shown::Failed(explanation) => (paint("failed", 31), Ok(explanation)),
            Shown::Unproved(why) => (paint("not proved", 33), Err(why)),
        };
        // Writing to a string does not fail.
        let _ = writeln!(out, "{word} {}:{}: {}", line.file, line.line, line.text);
        let explanation = match explanation {
            Ok(explanation) => explanation,
            Err(why) => {
                let _ = writeln!(out, "  {why}\n");
                continue;
            }
        };
        let _ = writeln!(out, "  {}", line.failure(explanation));
        if let (None, Some(request)) = (&line.expected, &line.request) {
            let _ = writeln!(out, "  for {request}");
        }
        for shown in explain::human(explanation, true, color).lines() {
            let _ = writeln!(out, "  {shown}");
        }
        out.push('\n');
    }
    for tested in all {
        if let Some((total, missed)) = &tested.coverage {
            let exercised = total.saturating_sub(missed.len());
            let _ = writeln!(out, "coverage: tests exercise {exercised} of {total} rules");
            places(missed, &mut out);
        }
        if let Some(mutants) = &tested.mutants {
            let count = |key: &str| mutants.get(key).and_then(Value::as_u64).unwrap_or(0);
            let survivors = mutants.get("survivors").and_then(Value::as_array);
            let survivors = survivors.map_or(&[][..], Vec::as_slice);
            let noticed = count("noticed");
            let tried = noticed.saturating_add(survivors.len() as u64);
            let _ = write!(out, "mutants: tests notice {noticed} of {tried} changes");
            let _ = match count("left") {
                0 => writeln!(out),
                left => writeln!(out, "; {left} more were not tried"),
            };
            places(survivors, &mut out);
        }
    }
    let mut summary = format!("{} passed, {} failed", counts.passed, counts.failed);
    if counts.unproved > 0 {
        let _ = write!(summary, ", {} not proved", counts.unproved);
    }
    let code = if counts.failed > 0 { 31 } else { 32 };
    let _ = writeln!(
        out,
        "{}",
        if counts.total() == 0 { "no tests".to_owned() } else { paint(&summary, code) }
    );
    out
}

/// Statements, one a line, and what was changed in each below it.
fn places(list: &[Value], out: &mut String) {
    let mut before = None;
    for entry in list {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or("");
        let line = entry.get("line").and_then(Value::as_u64).unwrap_or(0);
        let mut rule = text("text").to_owned();
        if rule.chars().count() > 60 {
            rule = rule.chars().take(59).chain(['…']).collect();
        }
        let shown = format!("  {}:{line}  {rule}", text("file"));
        if before.as_ref() != Some(&shown) {
            let _ = writeln!(out, "{shown}");
            before = Some(shown);
        }
        if entry.get("change").is_some() {
            let _ = writeln!(out, "      {}", text("change"));
            if let Some(request) = entry.get("request") {
                let _ = writeln!(out, "        would be noticed by {request}");
            }
        }
    }
}
