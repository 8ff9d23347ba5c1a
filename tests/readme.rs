//! The README is true: every block of it is run or checked, and what commands print is
//! compared exactly. `UPDATE_README=1` writes the output anew. Its Rust blocks are
//! doctests of the library.
#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Text and blocks of a page in turn: (text before, language, content).
struct Block<'a> {
    before: &'a str,
    language: &'a str,
    content: &'a str,
}

fn blocks(page: &str) -> (Vec<Block<'_>>, &str) {
    let mut out = Vec::new();
    let mut rest = page;
    while let Some((before, block)) = rest.split_once("```") {
        let (language, block) = block.split_once('\n').expect("a line after the fence");
        let (content, after) = block.split_once("```").expect("the end of a block");
        out.push(Block { before, language, content });
        rest = after;
    }
    (out, rest)
}

/// Runs a command line with the built `meroc`, in an environment of nothing else.
fn shell(command: &str, directory: &Path) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_meroc"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
    Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(directory)
        .env_clear()
        .env("PATH", path)
        .output()
        .unwrap()
}

/// The commands of a console block with what they print now.
fn transcript(block: &str, directory: &Path) -> String {
    let mut out = String::new();
    for command in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let _ = writeln!(out, "$ {command}");
        out.push_str(&String::from_utf8(shell(command, directory).stdout).unwrap());
    }
    assert!(!out.is_empty(), "a console block has commands, each after `$ `:\n{block}");
    out
}

/// A command for a fresh machine: of the README and therefore of the checks too.
fn fresh(command: &str, examples: &Path) {
    if let Some(arguments) = command.strip_prefix("cargo run -q -- ") {
        let done = shell(&format!("meroc {arguments}"), examples);
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{command}:\n{said}");
    } else {
        assert_eq!(command, "cargo test --workspace", "a command that this test knows");
        let checks = fs::read_to_string(root().join(".ci/run")).unwrap();
        assert!(checks.contains(&format!("\nstep {command}\n")), ".ci/run runs `{command}`");
    }
}

#[test]
fn the_readme_is_true() {
    let page = fs::read_to_string(root().join("README.md")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let example = Path::new("examples/report-writer");
    fs::create_dir_all(directory.join(example)).unwrap();
    let policy = example.join("policy.mero");
    fs::copy(root().join(&policy), directory.join(&policy)).unwrap();

    let (blocks, end) = blocks(&page);
    let mut actual = String::new();
    let (mut commands, mut policies) = (0, Vec::new());
    for Block { before, language, content } in &blocks {
        let mut content = (*content).to_owned();
        match *language {
            "sh" => {
                for command in content.lines() {
                    fresh(command, directory);
                    commands += 1;
                }
            }
            "console" => content = transcript(&content, directory),
            // The file that the text before it names; a console block checks it.
            "mero" => {
                let name = before.trim_end().strip_suffix("`:").and_then(|b| b.rsplit_once('`'));
                let (_, name) = name.expect("the name of the policy, as `name.mero`:");
                fs::write(directory.join(name), &content).unwrap();
                policies.push(name);
            }
            // Doctests of `src/lib.rs`.
            "rust" => {}
            other => panic!("a block of `{other}` that nothing checks:\n{content}"),
        }
        let _ = write!(actual, "{before}```{language}\n{content}```");
    }
    actual.push_str(end);
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(root().join("README.md"), &actual).unwrap();
    } else {
        assert_eq!(page, actual, "UPDATE_README=1 writes it anew");
    }
    assert_eq!(commands, 2, "one command does the main job, one passes all tests");
    for name in policies {
        let checked = |b: &&Block<'_>| {
            let mut lines = b.content.lines();
            b.language == "console"
                && lines.any(|l| l.starts_with("$ meroc check ") && l.contains(name))
        };
        assert!(blocks.iter().any(|b| checked(&b)), "a console block checks `{name}`");
    }
}

#[test]
fn the_verbs_are_those_of_the_program() {
    let page = fs::read_to_string(root().join("README.md")).unwrap();
    let listed = page
        .lines()
        .filter_map(|l| l.strip_prefix("| `"))
        .map(|l| l.split([' ', '`']).next().unwrap())
        .filter(|verb| *verb != "verb")
        .collect::<Vec<_>>();
    let help = shell("meroc --help", Path::new("."));
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, verbs) = help.split_once("Commands:\n").unwrap();
    let (verbs, _) = verbs.split_once("\n\n").unwrap();
    let verbs = verbs.lines().filter_map(|l| l.split_whitespace().next());
    let verbs = verbs.filter(|v| *v != "help").collect::<Vec<_>>();
    assert_eq!(listed, verbs, "the table of verbs is complete and in the order of the help");
}

/// Links to files of the project lead somewhere.
#[test]
fn links_lead_somewhere() {
    for name in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"] {
        let page = fs::read_to_string(root().join(name)).unwrap();
        for piece in page.split("](").skip(1) {
            let (target, _) = piece.split_once(')').expect("the end of a link");
            let target = target.split('#').next().unwrap();
            if !target.is_empty() && !target.contains("://") {
                assert!(root().join(target).exists(), "{name}: there is no `{target}`");
            }
        }
    }
}
