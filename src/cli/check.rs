//! `meroc check`: all findings.

mod fix;
mod watch;

use super::{FOUND, Failure, Outcome, Terminal};
use crate::diag::{Diagnostic, Level, did_you_mean, registry, render};
use crate::driver::{self, Analysis, Host};
use clap::ValueEnum;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Check {
    /// Policies: files, directories, `-` for standard input [default: .]
    policies: Vec<String>,
    /// Report a finding or group as an error
    #[arg(short = 'D', long = "deny", value_name = "CODE")]
    deny: Vec<String>,
    /// Report a finding or group as a warning; `info` shows notes
    #[arg(short = 'W', long = "warn", value_name = "CODE")]
    warn: Vec<String>,
    /// Do not report a finding or group
    #[arg(short = 'A', long = "allow", value_name = "CODE")]
    allow: Vec<String>,
    /// Exit with 1 on warnings too
    #[arg(long)]
    deny_warnings: bool,
    /// Repair what can be repaired without changing what is meant, then report the rest
    #[arg(long, conflicts_with = "watch")]
    fix: bool,
    /// Check again whenever a file of the policy changes, until interrupted
    #[arg(long)]
    watch: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// With source lines
    Human,
    /// One line a finding
    Short,
    /// For programs
    Json,
    /// SARIF 2.1.0, for code scanning services
    Sarif,
    /// Workflow commands of GitHub Actions
    Github,
}

/// A code, a group, or all notes.
#[derive(Clone, Copy)]
enum Named {
    Code(&'static str),
    Group(&'static str),
    Notes,
}

impl Named {
    fn parse(text: &str) -> Result<Named, Failure> {
        if text == "info" {
            return Ok(Named::Notes);
        }
        if let Some(code) = registry::find(text) {
            return Ok(Named::Code(code.id));
        }
        let groups = ["syntax", "names", "logic", "security", "tests", "pedantic"];
        if let Some(group) = groups.into_iter().find(|g| *g == text) {
            return Ok(Named::Group(group));
        }
        let names = registry::ALL.iter().map(|c| c.name).chain(groups);
        Err(Failure::usage(
            format!("there is no finding or group `{text}`"),
            did_you_mean(text, names).map_or_else(
                || "`meroc code` lists all".to_owned(),
                |n| format!("did you mean `{n}`?"),
            ),
        ))
    }

    fn covers(self, d: &Diagnostic) -> bool {
        match self {
            Named::Code(id) => d.code.id == id,
            Named::Group(group) => d.code.group.name() == group,
            Named::Notes => d.level == Level::Note,
        }
    }
}

/// What levels findings get.
struct Levels {
    deny: Vec<Named>,
    warn: Vec<Named>,
    allow: Vec<Named>,
}

impl Levels {
    fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        let named = |list: &[Named], d: &Diagnostic| list.iter().any(|n| n.covers(d));
        let notes = self.warn.iter().any(|n| matches!(n, Named::Notes));
        for d in &mut *diagnostics {
            // Errors of the language stay errors: such a policy means nothing.
            let fixed = d.code.level == Level::Error;
            let by_name = |n: &&Named| !matches!(n, Named::Notes);
            if self.warn.iter().filter(by_name).any(|n| n.covers(d)) && !fixed {
                d.level = Level::Warning;
            }
            if named(&self.deny, d) {
                d.level = Level::Error;
            }
        }
        diagnostics.retain(|d| d.code.level == Level::Error || !named(&self.allow, d));
        diagnostics.retain(|d| notes || d.level > Level::Note);
    }
}

/// How many findings there are.
#[derive(Clone, Copy, Default)]
struct Counts {
    errors: usize,
    warnings: usize,
    notes: usize,
    files: usize,
}

impl Check {
    pub(super) fn run(mut self, host: &dyn Host, terminal: Terminal) -> Outcome {
        if self.policies.is_empty() {
            self.policies.push(".".to_owned());
        }
        let named =
            |list: &[String]| list.iter().map(|t| Named::parse(t)).collect::<Result<Vec<_>, _>>();
        let levels = Levels {
            deny: named(&self.deny)?,
            warn: named(&self.warn)?,
            allow: named(&self.allow)?,
        };
        if self.watch {
            return watch::watch(&self, host, &levels, terminal);
        }
        if self.fix {
            for policy in &self.policies {
                fix::repair(host, policy, &levels)?;
            }
        }
        let (text, failed) = self.report(&self.analyses(host, &levels)?, terminal);
        std::io::stdout().write_all(text.as_bytes())?;
        Ok(if failed { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
    }

    fn analyses(&self, host: &dyn Host, levels: &Levels) -> Result<Vec<Analysis>, Failure> {
        let mut out = Vec::new();
        for policy in &self.policies {
            let shown = super::progress::Progress::new(format!("checking {policy}"));
            let mut analysis = driver::analyse(host, policy)?;
            drop(shown);
            levels.apply(&mut analysis.diagnostics);
            out.push(analysis);
        }
        Ok(out)
    }

    /// The report, and whether it is a failure.
    fn report(&self, analyses: &[Analysis], terminal: Terminal) -> (String, bool) {
        let count = |level: Level| {
            analyses.iter().flat_map(|a| &a.diagnostics).filter(|d| d.level == level).count()
        };
        let counts = Counts {
            errors: count(Level::Error),
            warnings: count(Level::Warning),
            notes: count(Level::Note),
            files: analyses.iter().flat_map(|a| &a.units).filter(|u| !u.std).count(),
        };
        let text = match self.format {
            Format::Human => {
                let mut text = rendered(analyses, |d, s| render::human(d, s, terminal.color));
                if !text.is_empty() {
                    text.push('\n');
                }
                text + &summary(counts)
            }
            Format::Short => rendered(analyses, render::short),
            Format::Json => json(analyses, counts),
            Format::Sarif => {
                let found = analyses.iter().map(|a| (&a.diagnostics[..], a.sources()));
                let log = render::sarif(&found.collect::<Vec<_>>());
                serde_json::to_string_pretty(&log).unwrap_or_default() + "\n"
            }
            Format::Github => rendered(analyses, render::github),
        };
        (text, counts.errors > 0 || (self.deny_warnings && counts.warnings > 0))
    }
}

fn rendered(
    analyses: &[Analysis],
    render: impl Fn(&[Diagnostic], &crate::source::SourceMap) -> String,
) -> String {
    analyses.iter().map(|a| render(&a.diagnostics, a.sources())).collect()
}

fn summary(counts: Counts) -> String {
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let files = plural(counts.files, "file");
    let kinds = [(counts.errors, "error"), (counts.warnings, "warning"), (counts.notes, "note")];
    let found = kinds.iter().filter(|(n, _)| *n > 0).map(|(n, what)| plural(*n, what));
    let found = found.collect::<Vec<_>>();
    if found.is_empty() {
        return format!("no findings in {files}\n");
    }
    format!("{} in {files}; `meroc code CODE` explains a finding\n", found.join(", "))
}

fn json(analyses: &[Analysis], counts: Counts) -> String {
    let mut findings = Vec::new();
    for analysis in analyses {
        if let serde_json::Value::Array(list) =
            render::json::findings(&analysis.diagnostics, analysis.sources())
        {
            findings.extend(list);
        }
    }
    let proved = analyses.iter().flat_map(|a| &a.proved).collect::<BTreeSet<_>>();
    let unproved = analyses.iter().flat_map(|a| &a.unproved).collect::<BTreeSet<_>>();
    let value = serde_json::json!({
        "findings": findings,
        "summary": {
            "errors": counts.errors,
            "warnings": counts.warnings,
            "files": counts.files,
            "proved": proved,
            "unproved": unproved,
        },
    });
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}
