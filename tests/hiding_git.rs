//! Hide lists of mounts against git itself: a real tree with an ignore file in
//! its root and in a directory, and the same lists in a mount and a nested one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    reason = "tests run git"
)]

mod common;

use common::{Ask, Engines, hosts};
use mero_runtime::{Kind, Permission, Phase, Reason};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const NAMES: [&str; 8] = ["a", "b", "c.pem", ".env", "a.b", "sub", "x-1", "d"];
const PATTERNS: [&str; 30] = [
    "a", "/a", "a/", "!a", "*.pem", "!c.pem", "*", "!*/", "!/a", "a/b", "a/*", "!a/b", "**/b",
    "a/**", "**", "a/**/b", "sub/**/b", "?", "[ab]", "[!a]*", ".*", "!.env", "sub/", "*/b", "d/*/",
    "\\a", "x-[0-9]", "/*", "!/sub", "!b/",
];

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn list(&mut self) -> Vec<&'static str> {
        (0..self.below(6)).map(|_| PATTERNS[self.below(PATTERNS.len())]).collect()
    }
}

fn git(directory: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("git is on every machine");
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap().stdout
}

fn lines(patterns: &[&str]) -> String {
    patterns.iter().map(|p| format!("{p}\n")).collect()
}

fn hide(patterns: &[&str]) -> String {
    if patterns.is_empty() {
        return String::new();
    }
    format!("hide {}\n", patterns.iter().map(|p| format!("{p:?}")).collect::<Vec<_>>().join(", "))
}

#[test]
fn hide_lists_mean_what_git_means() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut compared = 0;
    for round in 0..40 {
        let tree = tempfile::tempdir().unwrap();
        git(tree.path(), &["init", "-q", "."], b"");
        // A tree in which every name is a file or a directory, never both.
        let mut entries: Vec<(String, bool)> = vec![("sub".into(), true)];
        std::fs::create_dir(tree.path().join("sub")).unwrap();
        for _ in 0..40 {
            let parents = entries
                .iter()
                .filter(|(_, d)| *d)
                .map(|(p, _)| format!("{p}/"))
                .collect::<Vec<_>>();
            let parent = if random.below(3) == 0 {
                String::new()
            } else {
                parents[random.below(parents.len())].clone()
            };
            let path = format!("{parent}{}", NAMES[random.below(NAMES.len())]);
            if path.split('/').count() > 4 || entries.iter().any(|(p, _)| *p == path) {
                continue;
            }
            let directory = random.below(2) == 0;
            if directory {
                std::fs::create_dir(tree.path().join(&path)).unwrap();
            } else {
                std::fs::write(tree.path().join(&path), "").unwrap();
            }
            entries.push((path, directory));
        }
        let (outer, root, inner) = (random.list(), random.list(), random.list());
        let both = [outer.clone(), root.clone()].concat();
        std::fs::write(tree.path().join(".gitignore"), lines(&both)).unwrap();
        std::fs::write(tree.path().join("sub/.gitignore"), lines(&inner)).unwrap();
        let mut input = Vec::new();
        for (path, _) in &entries {
            input.extend(path.as_bytes());
            input.push(0);
        }
        let ignored = git(tree.path(), &["check-ignore", "--no-index", "--stdin", "-z"], &input);
        let ignored = ignored
            .split(|b| *b == 0)
            .map(|p| String::from_utf8_lossy(p).into_owned())
            .collect::<Vec<_>>();

        let mut text = String::from("edition 1\ncontext w {\n");
        write!(text, "{}mount root at \"./ws\" {{ allow read\n{}mount inner at \"sub\" {{ allow read\n{}}} }} }}\n", hide(&outer), hide(&root), hide(&inner)).unwrap();
        let engines = Engines::new(&text);
        for (path, directory) in &entries {
            let kind = if *directory { Kind::Directory } else { Kind::File };
            let ask = Ask::Path(format!("/root/{path}").into_bytes(), Permission::READ, kind);
            for (engine, got) in engines.answers("w", &hosts("/srv"), Phase::Default, &ask) {
                compared += 1;
                assert_eq!(
                    got.reason == Reason::Hidden,
                    ignored.contains(path),
                    "round {round}, {engine}: {path} (directory: {directory})\n{text}"
                );
            }
        }
    }
    assert!(compared > 2_000, "{compared}");
}
