//! `meroc inspect`: what a table holds.

use super::compile::hex;
use super::engine::table_bytes;
use super::{Failure, Outcome};
use crate::driver::Host;
use mero_runtime::{Phase, Table, format};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Inspect {
    /// A table that `meroc compile` wrote
    table: String,
}

impl Inspect {
    pub(super) fn run(self, host: &dyn Host) -> Outcome {
        let bytes = table_bytes(host, &self.table)?.ok_or_else(|| {
            Failure::usage(
                format!("`{}` is no table", self.table),
                "compile a policy first: `meroc compile POLICY -o TABLE.merot`",
            )
        })?;
        let table = Table::from_bytes(&bytes)
            .map_err(|source| Failure::Table { path: self.table.clone(), source })?;
        std::io::stdout().write_all(text(&table).as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

fn text(table: &Table<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "format    version {}", format::VERSION);
    let _ = writeln!(out, "digest    {}", hex(&table.digest()));
    let _ = writeln!(out, "bytes     {}", table.bytes().len());
    let debug =
        if table.has_debug_info() { "yes" } else { "no (compile with --debug-info to name rules)" };
    let _ = writeln!(out, "debug     {debug}");
    let mut params = Vec::new();
    for (name, default) in table.params() {
        params.push(default.map_or_else(|| name.to_owned(), |d| format!("{name} = \"{d}\"")));
    }
    if !params.is_empty() {
        let _ = writeln!(out, "params    {}", params.join(", "));
    }
    let files = table.files().map(|(name, _)| name).collect::<Vec<_>>();
    if !files.is_empty() {
        let _ = writeln!(out, "from      {}", files.join(", "));
    }
    out.push_str("\nsections\n");
    for part in table.parts().filter(|p| p.bytes > 0) {
        let _ = writeln!(
            out,
            "  {:<14} {:>9} bytes {:>8} records",
            part.section.name(),
            part.bytes,
            part.records
        );
    }
    out.push_str("\ncontexts\n");
    for context in table.contexts() {
        let phases = Phase::ALL.into_iter().filter(|p| context.admits(*p)).map(Phase::name);
        let phases = phases.collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "  {}", context.name());
        let _ = writeln!(out, "    phases   {phases}");
        let mounts = context.mounts().map(|m| context.slug(m)).collect::<Vec<_>>();
        let mounts = match (mounts.len(), context.is_unconfined()) {
            (0, true) => "none: unconfined".to_owned(),
            (0, false) => "none: every path is outside".to_owned(),
            (n, _) if n > 12 => format!(
                "{} and {} more",
                mounts.get(..12).unwrap_or(&[]).join(", "),
                n.saturating_sub(12)
            ),
            _ => mounts.join(", "),
        };
        let _ = writeln!(out, "    mounts   {mounts}");
        let grants = context.grants().collect::<Vec<_>>();
        if !grants.is_empty() {
            let _ = writeln!(out, "    grants   {}", grants.join(", "));
        }
        let approves = context.approves().collect::<Vec<_>>();
        if !approves.is_empty() {
            let _ = writeln!(out, "    approves {}", approves.join(", "));
        }
    }
    out
}
