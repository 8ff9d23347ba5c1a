//! The command line: arguments in, exit codes out. One verb a file.
//!
//! 0 is fine, 1 is findings or failures in what was examined, 2 means that the
//! command could not be carried out. Findings go to standard output; errors of
//! the tool go to standard error.

mod check;
mod code;
mod compile;
mod diff;
mod engine;
mod eval;
mod explain;
mod init;
mod inspect;
mod parts;
mod progress;
mod replay;
mod request;
mod serve;
mod test;

use crate::driver::{LoadError, System};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Policies for what AI agents may touch: checked, proved, compiled.
#[derive(Debug, Parser)]
#[command(name = "meroc", version, max_term_width = 100)]
struct Cli {
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    color: Color,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Color {
    /// On a terminal, unless `NO_COLOR` is set; `CLICOLOR_FORCE` forces it.
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write a commented starter policy
    Init(init::Init),
    /// Report everything that is wrong with policies
    Check(check::Check),
    /// Compile a policy into a table
    Compile(compile::Compile),
    /// Show what two versions of a policy decide differently
    Diff(diff::Diff),
    /// Show what a table holds
    Inspect(inspect::Inspect),
    /// Decide requests, JSON Lines in and out
    Eval(eval::Eval),
    /// Explain one decision, rule by rule
    Explain(explain::Explain),
    /// Decide a recorded log again, and show what would be answered otherwise
    Replay(replay::Replay),
    /// Decide requests until told to stop, and follow changes of the policy
    Serve(serve::Serve),
    /// Run the tests of policies
    Test(test::Test),
    /// Show the built-in profiles
    Std {
        /// Which; all names without
        name: Option<String>,
    },
    /// Explain a finding
    Code {
        /// Number or name, as M0301 or `contradiction`; all without
        code: Option<String>,
    },
    /// Print shell completions
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
}

/// The directories that a policy is bound to.
#[derive(Clone, Debug, Default, Args)]
struct Binding {
    /// Directory of `./…` mounts [default: the policy file's own]
    #[arg(long, value_name = "DIR")]
    base: Option<String>,
    /// Directory of a parameter; may be repeated
    #[arg(long = "param", value_name = "NAME=DIR", value_parser = parse_param)]
    params: Vec<(String, String)>,
    /// Home directory of the session: `~` in paths and mounts
    #[arg(long, value_name = "DIR")]
    home: Option<String>,
    /// Working directory of the session: relative paths resolve against it
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
}

fn parse_param(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, directory)) if !name.is_empty() && !directory.is_empty() => {
            Ok((name.to_owned(), directory.to_owned()))
        }
        _ => Err("expected NAME=DIR".to_owned()),
    }
}

/// Why a command could not be carried out: exit code 2.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(crate) enum Failure {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Load(#[from] LoadError),
    #[error("`{path}` cannot be used as a table")]
    #[diagnostic(
        code(meroc::table),
        help("compile the policy again: `meroc compile POLICY -o TABLE`")
    )]
    Table { path: String, source: mero_runtime::TableError },
    #[error("cannot write `{path}`")]
    #[diagnostic(code(meroc::write))]
    Write { path: String, source: std::io::Error },
    #[error("cannot read requests")]
    #[diagnostic(code(meroc::requests))]
    Requests { source: std::io::Error },
    #[error("cannot watch files: {message}")]
    #[diagnostic(code(meroc::watch), help("`meroc check` without `--watch` checks once"))]
    Watch { message: String },
    #[error("{message}")]
    #[diagnostic(code(meroc::usage), help("{help}"))]
    Usage { message: String, help: String },
    #[error("the policy has errors, so nothing was decided")]
    #[diagnostic(code(meroc::broken_policy), help("`meroc check` shows them"))]
    Broken,
    #[error("the policy fails its tests, so no table was written")]
    #[diagnostic(code(meroc::failed_tests), help("`meroc test` shows how each answer comes about"))]
    Unfit,
    #[error("internal error: {message}")]
    #[diagnostic(
        code(meroc::internal),
        help("this is a bug in meroc: please report it with the policy")
    )]
    Internal { message: String },
    #[error("cannot write to standard output")]
    #[diagnostic(code(meroc::stdout))]
    Stdout(#[from] std::io::Error),
}

impl Failure {
    fn usage(message: impl Into<String>, help: impl Into<String>) -> Failure {
        Failure::Usage { message: message.into(), help: help.into() }
    }
}

type Outcome = Result<ExitCode, Failure>;

const FOUND: u8 = 1;
const FAILED: u8 = 2;

/// What verbs print with.
#[derive(Clone, Copy, Debug)]
struct Terminal {
    color: bool,
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { FAILED } else { 0 };
            // A closed pipe is no reason to fail.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let terminal = Terminal { color: use_color(cli.color, std::io::stdout().is_terminal()) };
    match run(cli.verb, terminal) {
        Ok(code) => code,
        Err(Failure::Stdout(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            // Findings in a policy are findings, whichever verb meets them.
            let code =
                if matches!(failure, Failure::Broken | Failure::Unfit) { FOUND } else { FAILED };
            report(failure, use_color(cli.color, std::io::stderr().is_terminal()));
            ExitCode::from(code)
        }
    }
}

fn run(verb: Verb, terminal: Terminal) -> Outcome {
    let host = &System;
    match verb {
        Verb::Init(init) => init.run(host),
        Verb::Check(check) => check.run(host, terminal),
        Verb::Compile(compile) => compile.run(host, terminal),
        Verb::Diff(diff) => diff.run(host, terminal),
        Verb::Inspect(inspect) => inspect.run(host),
        Verb::Eval(eval) => eval.run(host, terminal),
        Verb::Explain(explain) => explain.run(host, terminal),
        Verb::Replay(replay) => replay.run(host, terminal),
        Verb::Serve(serve) => serve.run(host, terminal),
        Verb::Test(test) => test.run(host, terminal),
        Verb::Std { name } => code::std(name.as_deref()),
        Verb::Code { code } => code::code(code.as_deref()),
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "meroc", &mut script);
            std::io::stdout().write_all(&script)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "the environment decides on colour, as users expect")]
fn use_color(choice: Color, terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty() && v != "0");
    match choice {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) => false,
        Color::Auto => set("CLICOLOR_FORCE") || terminal,
    }
}

fn report(failure: Failure, color: bool) {
    let theme = if color {
        miette::GraphicalTheme::unicode()
    } else {
        miette::GraphicalTheme::unicode_nocolor()
    };
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_width(100);
    let mut text = String::new();
    if handler.render_report(&mut text, &failure).is_err() {
        text = failure.to_string();
    }
    // Nothing is left to do if standard error is closed too.
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
}
