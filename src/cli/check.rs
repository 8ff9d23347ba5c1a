//! `meroc check`: all findings.

use super::{FOUND, Failure, Outcome, Terminal};
use crate::diag::{Diagnostic, Level, did_you_mean, registry, render};
use crate::driver::{self, Analysis, Host};
use clap::ValueEnum;
use std::io::Write;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Check {
    /// Policies: files, directories, `-` for standard input [default: .]
    policies: Vec<String>,
    /// Report a finding or group as an error
    #[arg(short = 'D', long = "deny", value_name = "CODE")]
    deny: Vec<String>,
    /// Report a finding or group as a warning; `info` stands for all notes
    #[arg(short = 'W', long = "warn", value_name = "CODE")]
    warn: Vec<String>,
    /// Do not report a finding or group
    #[arg(short = 'A', long = "allow", value_name = "CODE")]
    allow: Vec<String>,
    /// Exit with 1 on warnings too
    #[arg(long)]
    deny_warnings: bool,
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

impl Check {
    pub(super) fn run(mut self, host: &dyn Host, terminal: Terminal) -> Outcome {
        if self.policies.is_empty() {
            self.policies.push(".".to_owned());
        }
        let named =
            |list: &[String]| list.iter().map(|t| Named::parse(t)).collect::<Result<Vec<_>, _>>();
        let (deny, warn, allow) = (named(&self.deny)?, named(&self.warn)?, named(&self.allow)?);
        let mut analyses = Vec::new();
        for policy in &self.policies {
            let mut analysis = driver::analyse(host, policy)?;
            for d in &mut analysis.diagnostics {
                // Errors of the language stay errors: such a policy means nothing.
                let fixed = d.code.level == Level::Error;
                if warn.iter().any(|n| n.covers(d)) && !fixed {
                    d.level = Level::Warning;
                }
                if deny.iter().any(|n| n.covers(d)) {
                    d.level = Level::Error;
                }
            }
            analysis
                .diagnostics
                .retain(|d| d.code.level == Level::Error || !allow.iter().any(|n| n.covers(d)));
            analysis.diagnostics.retain(|d| d.level > Level::Note);
            analyses.push(analysis);
        }
        let count = |level: Level| {
            analyses.iter().flat_map(|a| &a.diagnostics).filter(|d| d.level == level).count()
        };
        let (errors, warnings) = (count(Level::Error), count(Level::Warning));
        let files = analyses.iter().flat_map(|a| &a.units).filter(|u| !u.std).count();
        let text = match self.format {
            Format::Human => {
                let mut text = rendered(&analyses, |d, s| render::human(d, s, terminal.color));
                if !text.is_empty() {
                    text.push('\n');
                }
                text + &summary(errors, warnings, files)
            }
            Format::Short => rendered(&analyses, render::short),
            Format::Json => json(&analyses, errors, warnings, files),
            Format::Sarif => {
                let found = analyses.iter().map(|a| (&a.diagnostics[..], a.sources()));
                let log = render::sarif(&found.collect::<Vec<_>>());
                serde_json::to_string_pretty(&log).unwrap_or_default() + "\n"
            }
            Format::Github => rendered(&analyses, render::github),
        };
        std::io::stdout().write_all(text.as_bytes())?;
        let failed = errors > 0 || (self.deny_warnings && warnings > 0);
        Ok(if failed { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
    }
}

fn rendered(
    analyses: &[Analysis],
    render: impl Fn(&[Diagnostic], &crate::source::SourceMap) -> String,
) -> String {
    analyses.iter().map(|a| render(&a.diagnostics, a.sources())).collect()
}

fn summary(errors: usize, warnings: usize, files: usize) -> String {
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    if errors == 0 && warnings == 0 {
        return format!("no findings in {}\n", plural(files, "file"));
    }
    let (e, w) = (plural(errors, "error"), plural(warnings, "warning"));
    let found = match (errors, warnings) {
        (0, _) => w,
        (_, 0) => e,
        _ => format!("{e}, {w}"),
    };
    format!("{found} in {}; `meroc code CODE` explains a finding\n", plural(files, "file"))
}

fn json(analyses: &[Analysis], errors: usize, warnings: usize, files: usize) -> String {
    let mut findings = Vec::new();
    for analysis in analyses {
        if let serde_json::Value::Array(list) =
            render::json::findings(&analysis.diagnostics, analysis.sources())
        {
            findings.extend(list);
        }
    }
    let value = serde_json::json!({
        "findings": findings,
        "summary": {
            "errors": errors,
            "warnings": warnings,
            "files": files,
            "proved": [],
            "unproved": [],
        },
    });
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}
