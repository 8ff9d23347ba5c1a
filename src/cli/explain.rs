//! `meroc explain`: one decision with every statement that took part.

use super::engine::{Detail, Engine};
use super::eval::{context, phase};
use super::parts::{self, Part};
use super::request::{Reply, RuleAt, answer, rule_at};
use super::{Binding, Failure, Outcome, Terminal};
use crate::driver::Host;
use crate::request::Ask;
use clap::ValueEnum;
use mero_runtime::{Context, Kind, Permission, Phase};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Explain {
    /// A `.mero` file or a directory
    policy: String,
    /// Who asks
    #[arg(short, long, value_name = "CTX")]
    context: String,
    /// In which phase
    #[arg(long, default_value = "default", value_name = "PHASE")]
    phase: String,
    #[command(flatten)]
    binding: Binding,
    /// What the path is known to be: file or dir
    #[arg(long, value_name = "KIND", value_parser = ["file", "dir"])]
    kind: Option<String>,
    /// Grants that the request itself requires, for `tool`
    #[arg(long, value_name = "KEY")]
    requires: Vec<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// A permission (`read`, `"read|write"`), `run`, `argv`, `tool` or `permission`
    action: String,
    /// A path, a command, the words of an argument vector, a tool's name, or a permission
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Human,
    Json,
}

/// One decision, explained.
#[derive(Serialize)]
pub(super) struct Explanation {
    context: String,
    phase: &'static str,
    #[serde(flatten)]
    pub(super) reply: Reply,
    steps: Vec<JsonStep>,
    /// A command string taken apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct JsonStep {
    #[serde(flatten)]
    rule: RuleAt,
    note: String,
}

impl Explain {
    pub(super) fn run(self, host: &dyn Host, terminal: Terminal) -> Outcome {
        let usage = |m: String| Failure::usage(m, "see `meroc explain --help`");
        let phase = phase(&self.phase).map_err(usage)?;
        let ask = self.ask().map_err(usage)?;
        let engine = Engine::load(host, &self.policy, &self.binding, terminal, Detail::Rules)?;
        let table = engine.table();
        let context = context(&table, &self.context).map_err(usage)?;
        let explanation = explanation(&engine, &context, phase, &ask)?;
        let text = match self.format {
            Format::Json => serde_json::to_string_pretty(&explanation).unwrap_or_default() + "\n",
            Format::Human => human(&explanation, engine.policy.is_some(), terminal.color),
        };
        std::io::stdout().write_all(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }

    fn ask(&self) -> Result<Ask, String> {
        let one = || match &self.args[..] {
            [only] => Ok(only.clone()),
            _ => Err(format!("`{}` takes one argument", self.action)),
        };
        let set = |text: &str| {
            Permission::parse(text).filter(|p| !p.is_empty()).ok_or_else(|| {
                format!("`{text}` is no action: it is a permission (read, write, execute, delete), run, argv, tool or permission")
            })
        };
        Ok(match self.action.as_str() {
            "run" => Ask::Command(one()?),
            "argv" => Ask::Argv(self.args.iter().map(|w| w.clone().into_bytes()).collect()),
            "tool" => Ask::Tool { name: one()?, requires: self.requires.clone() },
            "permission" => Ask::Permission(set(&one()?)?),
            permissions => {
                let kind = match self.kind.as_deref() {
                    Some("file") => Kind::File,
                    Some("dir") => Kind::Directory,
                    _ => Kind::Unknown,
                };
                Ask::Path { permissions: set(permissions)?, path: one()?.into_bytes(), kind }
            }
        })
    }
}

/// Works out one decision with all that took part in it.
pub(super) fn explanation(
    engine: &Engine,
    context: &Context<'_>,
    phase: Phase,
    ask: &Ask,
) -> Result<Explanation, Failure> {
    let reply =
        answer(engine, context, phase, ask).map_err(|message| Failure::Internal { message })?;
    let steps = steps(engine, context.name(), phase, ask);
    let parts = match ask {
        Ask::Command(command) => parts::of(engine, context, phase, command).1,
        _ => Vec::new(),
    };
    let context = context.name().to_owned();
    Ok(Explanation { context, phase: phase.name(), reply, steps, parts })
}

fn steps(engine: &Engine, context: &str, phase: Phase, ask: &Ask) -> Vec<JsonStep> {
    let Some(policy) = &engine.policy else { return Vec::new() };
    let Some(context) = policy.contexts.iter().find(|c| c.name == context) else {
        return Vec::new();
    };
    ask.trace(policy, context, &engine.hosts, phase)
        .into_iter()
        .filter_map(|s| Some(JsonStep { rule: rule_at(engine, s.span)?, note: s.note }))
        .collect()
}

/// For people; `source`: the policy's own statements are known.
pub(super) fn human(e: &Explanation, source: bool, color: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} ({}) for `{}` in phase `{}`",
        paint(e.reply.effect, e.reply.effect, color),
        e.reply.reason,
        e.context,
        e.phase
    );
    if let Some(mount) = &e.reply.mount {
        let _ = writeln!(out, "  governed by the mount `{mount}`");
    }
    if let Some(host) = &e.reply.host {
        let _ = writeln!(out, "  on the host: {host}");
    }
    if !e.steps.is_empty() {
        out.push_str("  in the order in which they apply:\n");
    }
    let width = e.steps.iter().map(|s| place(&s.rule).chars().count()).max().unwrap_or(0);
    for step in &e.steps {
        let decisive = e.reply.rule.as_ref() == Some(&step.rule);
        let mark = if decisive { "→" } else { " " };
        let mut text = step.rule.text.clone();
        if text.chars().count() > 60 {
            text = text.chars().take(59).chain(['…']).collect();
        }
        let _ = writeln!(
            out,
            "  {mark} {:<width$}  {text}\n    {:<width$}    {}",
            place(&step.rule),
            "",
            step.note
        );
    }
    if let (Some(rule), true) =
        (&e.reply.rule, e.steps.iter().all(|s| Some(&s.rule) != e.reply.rule.as_ref()))
    {
        let _ = writeln!(out, "  decided by {}: {}", place(rule), rule.text);
    }
    apart(&mut out, e, color);
    let merely =
        matches!(e.reply.reason, "not-granted" | "command-not-allowed" | "tool-not-allowed");
    if e.reply.rule.is_none() && merely && source {
        out.push_str("  no rule grants it\n");
    }
    if let Some(message) = &e.reply.message {
        let _ = writeln!(out, "  {message}");
    }
    if !source {
        out.push_str("  (name the policy's source to see every statement that took part)\n");
    }
    out
}

/// The parts of a command string, one a line, each with its answer.
fn apart(out: &mut String, e: &Explanation, color: bool) {
    if e.parts.is_empty() {
        return;
    }
    out.push_str("  taken apart:\n");
    for part in &e.parts {
        let decisive = part.effect == e.reply.effect && part.reason == e.reply.reason;
        let mark = if decisive && part.effect != "allow" { "→" } else { " " };
        let effect = format!("{:<5}", part.effect);
        let shown = paint(&effect, part.effect, color);
        let mut text = part.text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.chars().count() > 70 {
            text = text.chars().take(69).chain(['…']).collect();
        }
        let kind = match part.kind {
            "command" => String::new(),
            "whole" => "  (searched as a whole)".to_owned(),
            other => format!("  ({other})"),
        };
        let _ = writeln!(out, "  {mark} {shown} {text}{kind}");
        let mut why = part.reason.to_owned();
        if let Some(cause) = part.cause {
            let _ = write!(why, ": {cause}");
        }
        if let Some(rule) = &part.rule {
            let _ = write!(why, ", {}: {}", place(rule), rule.text);
        }
        let _ = writeln!(out, "          {why}");
    }
}

fn paint(text: &str, effect: &str, color: bool) -> String {
    let code = match (color, effect) {
        (false, _) => return text.to_owned(),
        (true, "allow") => 32,
        (true, "ask") => 33,
        (true, _) => 31,
    };
    format!("\u{1b}[1;{code}m{text}\u{1b}[0m")
}

fn place(rule: &RuleAt) -> String {
    format!("{}:{}", rule.file, rule.line)
}
