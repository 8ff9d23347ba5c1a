//! `meroc eval`: JSON Lines in, JSON Lines out, in order.

use super::engine::{Detail, Engine};
use super::request::answer;
use super::{Binding, FOUND, Failure, Outcome, Terminal};
use crate::diag::did_you_mean;
use crate::driver::Host;
use crate::request::Request;
use mero_runtime::{Phase, Table};
use std::io::{BufRead, BufWriter, Write};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Eval {
    /// A `.mero` file, a directory, or a compiled table
    policy: String,
    /// Context of requests that name none
    #[arg(short, long, value_name = "CTX")]
    context: Option<String>,
    /// Phase of requests that name none
    #[arg(long, default_value = "default", value_name = "PHASE")]
    phase: String,
    /// Follow links of this host: a path is decided by every name that it has
    #[arg(long)]
    resolve: bool,
    #[command(flatten)]
    binding: Binding,
}

impl Eval {
    pub(super) fn run(self, host: &dyn Host, terminal: Terminal) -> Outcome {
        if self.policy == "-" {
            return Err(Failure::usage(
                "standard input cannot be both the policy and the requests",
                "name the policy's file",
            ));
        }
        let detail = if self.resolve { Detail::Rules } else { Detail::Decisions };
        let mut engine = Engine::load(host, &self.policy, &self.binding, terminal, detail)?;
        if self.resolve {
            engine = engine.following_links()?;
        }
        let defaults = Defaults { context: self.context.as_deref(), phase: &self.phase };
        defaults.check(&engine.table())?;
        let mut out = BufWriter::new(std::io::stdout().lock());
        let mut input = std::io::stdin().lock();
        let mut line = Vec::new();
        let mut number = 0usize;
        let mut failed = false;
        loop {
            line.clear();
            let read = input
                .read_until(b'\n', &mut line)
                .map_err(|source| Failure::Requests { source })?;
            if read == 0 {
                break;
            }
            number = number.saturating_add(1);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let (reply, malformed) = defaults.line(&engine, &line, number);
            failed |= malformed;
            writeln!(out, "{reply}")?;
        }
        out.flush()?;
        Ok(if failed { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
    }
}

/// What holds for requests that do not say it themselves.
pub(super) struct Defaults<'d> {
    pub(super) context: Option<&'d str>,
    pub(super) phase: &'d str,
}

impl Defaults<'_> {
    /// Checks them once, for all requests.
    pub(super) fn check(&self, table: &Table<'_>) -> Result<(), Failure> {
        phase(self.phase)
            .map_err(|m| Failure::usage(m, "phases are those of the language, section 7"))?;
        if let Some(name) = self.context {
            context(table, name)
                .map_err(|m| Failure::usage(m, "name one of the policy's contexts"))?;
        }
        Ok(())
    }

    /// Answers a line; `number` is for who reads the answer to one that is malformed, with
    /// whether it was.
    pub(super) fn line(&self, engine: &Engine, line: &[u8], number: usize) -> (String, bool) {
        let reply = self
            .request(engine, line)
            .and_then(|reply| serde_json::to_string(&reply).map_err(|e| e.to_string()));
        match reply {
            Ok(reply) => (reply, false),
            Err(error) => (serde_json::json!({ "error": error, "line": number }).to_string(), true),
        }
    }

    fn request(&self, engine: &Engine, line: &[u8]) -> Result<super::request::Reply, String> {
        let request: Request = serde_json::from_slice(line).map_err(|e| e.to_string())?;
        let ask = request.ask()?;
        let table = engine.table();
        let name = match request.context.as_deref().or(self.context) {
            Some(name) => name.to_owned(),
            None => only_context(&table)?,
        };
        let context = context(&table, &name)?;
        let phase = phase(request.phase.as_deref().unwrap_or(self.phase))?;
        answer(engine, &context, phase, &ask)
    }
}

fn only_context(table: &Table<'_>) -> Result<String, String> {
    let mut contexts = table.contexts();
    match (contexts.next(), contexts.next()) {
        (Some(only), None) => Ok(only.name().to_owned()),
        _ => Err("the request names no `context` (or give one for all with `-c`)".into()),
    }
}

/// A context by name, with the nearest name where there is none.
pub(super) fn context<'t>(
    table: &Table<'t>,
    name: &str,
) -> Result<mero_runtime::Context<'t>, String> {
    table.context(name).ok_or_else(|| {
        let names = table.contexts().map(|c| c.name()).collect::<Vec<_>>();
        let near = did_you_mean(name, names.iter().copied()).map_or_else(
            || format!("the policy has {}", list(&names)),
            |n| format!("did you mean `{n}`?"),
        );
        format!("there is no context `{name}`: {near}")
    })
}

fn list(names: &[&str]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

pub(super) fn phase(name: &str) -> Result<Phase, String> {
    Phase::parse(name).ok_or_else(|| {
        let near = did_you_mean(name, Phase::ALL.iter().map(|p| p.name())).map_or_else(
            || format!("phases are {}", list(&Phase::ALL.map(Phase::name))),
            |n| format!("did you mean `{n}`?"),
        );
        format!("there is no phase `{name}`: {near}")
    })
}
