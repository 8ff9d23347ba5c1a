//! `meroc compile`: a policy into a table, or into one of its other forms.

use super::engine::{show, sound};
use super::{Failure, Outcome, Terminal};
use crate::driver::Host;
use crate::table::{self, Options, Stats};
use crate::validate::validate;
use clap::ValueEnum;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Compile {
    /// A `.mero` file, a directory, or `-`
    policy: String,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value_t = Emit::Table)]
    emit: Emit,
    /// Keep where rules stand and what they say, so that decisions name them
    #[arg(long)]
    debug_info: bool,
    /// Print counts; with `json`, for programs
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, default_missing_value = "human", value_parser = ["human", "json"])]
    stats: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// The decision table
    Table,
    /// A Rust module that holds the table
    Rust,
    /// The resolved policy with the table's digest, as JSON
    Json,
    /// The syntax trees, as JSON
    Ast,
    /// The resolved policy, as JSON
    Hir,
}

impl Compile {
    pub(super) fn run(self, host: &dyn Host, terminal: Terminal) -> Outcome {
        let analysis = sound(host, &self.policy, terminal)?;
        // Warnings are worth seeing where a table is made.
        show(&analysis.diagnostics, &analysis, terminal);
        // A table is what is put to use, so here a failed test counts as any error.
        if analysis.has_errors() {
            return Err(Failure::Unfit);
        }
        let options = Options { debug_info: self.debug_info, separate: false };
        let compiled = table::compile(&analysis.policy, options).map_err(|d| {
            show(&[*d], &analysis, terminal);
            Failure::Broken
        })?;
        let table = mero_runtime::Table::from_bytes(&compiled.bytes).map_err(|e| {
            Failure::Internal { message: format!("the table just written is refused: {e}") }
        })?;
        validate(&analysis.policy, &compiled.bytes)
            .map_err(|message| Failure::Internal { message })?;
        let digest = hex(&table.digest());
        let pretty = |v: &serde_json::Value| {
            (serde_json::to_string_pretty(v).unwrap_or_default() + "\n").into_bytes()
        };
        let value = |v: serde_json::Result<serde_json::Value>| {
            v.map_err(|e| Failure::Internal { message: e.to_string() })
        };
        let bytes = match self.emit {
            Emit::Table => compiled.bytes,
            Emit::Rust => rust(&compiled.bytes, &digest, &analysis.policy).into_bytes(),
            Emit::Hir => pretty(&value(serde_json::to_value(&analysis.policy))?),
            Emit::Ast => {
                let mut files = Vec::new();
                for unit in analysis.units.iter().filter(|u| !u.std) {
                    let name = analysis.sources().get(unit.file).map_or("", |f| f.name.as_str());
                    let tree = value(serde_json::to_value(&unit.tree))?;
                    files.push(serde_json::json!({ "file": name, "tree": tree }));
                }
                pretty(&serde_json::json!({ "files": files }))
            }
            Emit::Json => {
                let policy = value(serde_json::to_value(&analysis.policy))?;
                let stats = value(serde_json::to_value(&compiled.stats))?;
                pretty(&serde_json::json!({
                    "format": mero_runtime::format::VERSION,
                    "digest": digest,
                    "policy": policy,
                    "stats": stats,
                }))
            }
        };
        if self.output == Path::new("-") {
            std::io::stdout().write_all(&bytes)?;
        } else {
            host.write(&self.output, &bytes).map_err(|source| Failure::Write {
                path: self.output.display().to_string(),
                source,
            })?;
        }
        if let Some(format) = self.stats {
            let text = stats(&compiled.stats, &digest, &format);
            if self.output == Path::new("-") {
                // Standard output carries the table.
                let _ = std::io::stderr().write_all(text.as_bytes());
            } else {
                std::io::stdout().write_all(text.as_bytes())?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

fn stats(stats: &Stats, digest: &str, format: &str) -> String {
    if format == "json" {
        return serde_json::to_string(stats).unwrap_or_default() + "\n";
    }
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<10} {value}");
    };
    line("digest", digest.to_owned());
    line("bytes", stats.bytes.to_string());
    line("contexts", stats.contexts.to_string());
    line("mounts", stats.mounts.to_string());
    line("rules", stats.rules.to_string());
    line(
        "automata",
        format!(
            "{} with {} states ({} dense, {} displaced)",
            stats.automata, stats.states, stats.dense, stats.displaced
        ),
    );
    out
}

/// A module with the table as a constant and the names of its contexts.
fn rust(bytes: &[u8], digest: &str, policy: &crate::hir::Policy) -> String {
    let mut out = String::from("// Written by `meroc compile --emit rust`; do not edit.\n\n");
    let _ =
        writeln!(out, "/// BLAKE3 digest of the table.\npub const DIGEST: &str = \"{digest}\";\n");
    let names =
        policy.contexts.iter().map(|c| format!("{:?}", c.name)).collect::<Vec<_>>().join(", ");
    let _ = writeln!(
        out,
        "/// The contexts of the policy.\npub const CONTEXTS: &[&str] = &[{names}];\n"
    );
    let _ = writeln!(
        out,
        "/// The table, for `mero_runtime::Table::from_bytes`.\npub static TABLE: [u8; {}] = [",
        bytes.len()
    );
    for line in bytes.chunks(20) {
        let line = line.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "    {line},");
    }
    out.push_str("];\n");
    out
}
