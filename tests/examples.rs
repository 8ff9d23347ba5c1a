//! The examples: no findings, and every `test` item holds in the oracle and in the
//! table. What the READMEs show is what `meroc` prints; `UPDATE_EXAMPLES=1` writes it
//! anew.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod common;

use common::{Ask, hosts, oracle, runtime};
use mero_runtime::{Kind, Table};
use meroc::diag::Level;
use meroc::driver::{Analysis, System, analyse};
use meroc::hir::{Action, TestCase};
use meroc::oracle::Hosts;
use meroc::table::{Options, compile};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The examples with the number of their test cases and assertions.
const EXAMPLES: [(&str, usize, usize); 7] = [
    ("report-writer", 21, 2),
    ("code-review", 26, 2),
    ("release", 35, 3),
    ("team", 28, 2),
    ("embed", 6, 0),
    ("tools", 7, 0),
    ("http", 12, 0),
];

fn directory(example: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(example)
}

fn analysis(example: &str) -> Analysis {
    let path = directory(example).join("policy.mero");
    analyse(&System, path.to_str().unwrap()).unwrap()
}

/// A host with a directory of its own for every parameter.
fn bound(analysis: &Analysis) -> Hosts {
    let params = &analysis.policy.params;
    let params = params
        .iter()
        .map(|p| (p.name.clone(), format!("/srv/{}", p.name.to_lowercase()).into_bytes()));
    Hosts { params: params.collect(), ..hosts("/srv/example") }
}

fn ask(case: &TestCase) -> Ask {
    let first = || case.args[0].clone();
    match case.action {
        Action::Path(set) => Ask::Path(first().into_bytes(), set, Kind::Unknown),
        Action::Permission(set) => Ask::Permission(set),
        Action::Argv => Ask::Argv(case.args.iter().map(|w| w.clone().into_bytes()).collect()),
        Action::Tool => Ask::Tool(first(), Vec::new()),
        Action::Run => {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b" -_./:,+@%^=".contains(&b);
            assert!(first().bytes().all(plain), "`{}` is more than one plain command", first());
            Ask::Command(first())
        }
    }
}

#[test]
fn no_example_has_a_finding() {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory("")).unwrap() {
        found.push(entry.unwrap().file_name().into_string().unwrap());
    }
    found.sort();
    let mut listed = EXAMPLES.map(|(name, ..)| name);
    listed.sort_unstable();
    assert_eq!(found, listed, "every example is tested");
    for (name, ..) in EXAMPLES {
        let analysis = analysis(name);
        let said = analysis
            .diagnostics
            .iter()
            .filter(|d| d.level > Level::Note)
            .map(|d| d.message.as_str())
            .collect::<Vec<_>>();
        assert!(said.is_empty(), "{name}: {said:#?}");
        assert!(directory(name).join("README.md").is_file(), "{name} has a README");
    }
}

#[test]
fn every_test_case_holds() {
    for (name, cases, asserts) in EXAMPLES {
        let analysis = analysis(name);
        let policy = &analysis.policy;
        let hosts = bound(&analysis);
        let forms = [
            Options::default(),
            Options { debug_info: true, ..Options::default() },
            Options { separate: true, ..Options::default() },
        ];
        let tables = forms.map(|options| compile(policy, options).unwrap().bytes);
        let mut count = 0;
        for case in policy.tests.iter().flat_map(|t| t.cases.iter().map(move |c| (t.context, c))) {
            let (context, case) = (&policy.contexts[case.0].name, case.1);
            count += 1;
            let asked = ask(case);
            let mut answers =
                vec![oracle(policy, context, &hosts, case.phase, &asked).expect("an answer")];
            for bytes in &tables {
                let table = Table::from_bytes(bytes).unwrap();
                let context = table.context(context).unwrap();
                answers.push(runtime(&context, &hosts, case.phase, &asked));
            }
            for got in answers {
                let line = policy.sources.position(case.span).line;
                let place = format!("{name}:{line} {:?}: {got:?}", case.args);
                assert_eq!(got.effect, case.effect, "{place}");
                assert!(case.because.is_none_or(|r| r == got.reason), "{place}");
            }
        }
        assert_eq!((count, policy.asserts.len()), (cases, asserts), "cases of {name}");
    }
}

/// Runs the commands of a console block, `$ ` before each, in order.
#[cfg(unix)]
fn run(block: &str, directory: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_meroc"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
    let mut out = String::new();
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ ") else { continue };
        let _ = writeln!(out, "{line}");
        let mut command = command.to_owned();
        while command.ends_with('\\') {
            let more = lines.next().expect("a line that continues the command");
            let _ = writeln!(out, "{more}");
            command = format!("{command}\n{more}");
        }
        let done = Command::new("sh")
            .args(["-c", &format!("{{ {command}\n}} 2>&1")])
            .current_dir(directory)
            .env_clear()
            .env("PATH", &path)
            .output()
            .unwrap();
        out.push_str(&String::from_utf8(done.stdout).unwrap());
    }
    out
}

#[cfg(unix)]
#[test]
fn the_readmes_show_what_is_printed() {
    for (name, ..) in
        EXAMPLES.iter().filter(|(name, ..)| !["embed", "tools", "http"].contains(name))
    {
        let source = directory(name);
        let copy = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(&source).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
        let readme = fs::read_to_string(source.join("README.md")).unwrap();
        let mut shown = 0;
        let mut pieces = readme.split("```console\n");
        let mut actual = pieces.next().unwrap().to_owned();
        for piece in pieces {
            let (block, rest) = piece.split_once("```").expect("the end of a block");
            let _ = write!(actual, "```console\n{}```{rest}", run(block, copy.path()));
            shown += 1;
        }
        assert!(shown > 0, "the README of {name} shows commands");
        if std::env::var_os("UPDATE_EXAMPLES").is_some() {
            fs::write(source.join("README.md"), &actual).unwrap();
        } else {
            assert_eq!(readme, actual, "UPDATE_EXAMPLES=1 writes the README of {name} anew");
        }
    }
}
