//! Ignore patterns against git itself, on random patterns, lists and paths.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use meroc::automata::glob::{self, Shape, gitignore};
use meroc::automata::{Dfa, Re, determinize};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Xorshift: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// A line of a list: `None` if it can match nothing.
struct Line {
    negated: bool,
    directory_only: bool,
    dfa: Option<Dfa<bool>>,
}

fn read(pattern: &str) -> Line {
    match gitignore(pattern) {
        Ok(ignore) => {
            let dfa = determinize(&ignore.re, &Re::classes([&ignore.re]), 20_000).unwrap();
            Line { negated: ignore.negated, directory_only: ignore.directory_only, dfa: Some(dfa) }
        }
        Err(_) => Line { negated: false, directory_only: false, dfa: None },
    }
}

fn last_match(lines: &[Line], path: &[u8], directory: bool) -> Option<usize> {
    lines.iter().rposition(|line| {
        (directory || !line.directory_only) && line.dfa.as_ref().is_some_and(|dfa| *dfa.run(path))
    })
}

/// The line that decides on a path, as git tells it: that of the topmost ignored
/// directory, or else that of the path itself.
fn decides(lines: &[Line], path: &[u8]) -> Option<usize> {
    for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        match last_match(lines, &path[..at], true) {
            Some(line) if !lines[line].negated => return Some(line),
            _ => {}
        }
    }
    last_match(lines, path, false)
}

fn git(at: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(at)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", at)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["-c", "core.excludesFile=", "-c", "core.ignoreCase=false"]);
    git
}

/// Asks git about every list and path at once, each list in a directory of its own.
fn compare(cases: &[(Vec<String>, Vec<Vec<u8>>)]) -> (usize, usize) {
    let home = tempfile::tempdir().unwrap();
    assert!(git(home.path()).args(["init", "-q"]).status().unwrap().success());
    let mut asked: Vec<u8> = Vec::new();
    for (number, (list, paths)) in cases.iter().enumerate() {
        let directory = home.path().join(format!("d{number}"));
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join(".gitignore"), list.join("\n") + "\n").unwrap();
        for path in paths {
            asked.extend_from_slice(format!("d{number}/").as_bytes());
            asked.extend_from_slice(path);
            asked.push(0);
        }
    }
    let mut child = git(home.path())
        .args(["check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(&asked));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.code().unwrap() < 2, "{output:?}");

    let mut answers = output.stdout.split(|&byte| byte == 0);
    let (mut total, mut matched, mut wrong) = (0, 0, Vec::new());
    for (list, paths) in cases {
        let lines: Vec<Line> = list.iter().map(|pattern| read(pattern)).collect();
        for path in paths {
            let (_, line) = (answers.next().unwrap(), answers.next().unwrap());
            let (_, name) = (answers.next().unwrap(), answers.next().unwrap());
            assert!(name.ends_with(path), "{} {}", name.escape_ascii(), path.escape_ascii());
            let theirs: Option<usize> =
                std::str::from_utf8(line).unwrap().parse::<usize>().ok().map(|line| line - 1);
            let ours = decides(&lines, path);
            total += 1;
            matched += usize::from(theirs.is_some());
            if ours != theirs {
                wrong.push(format!(
                    "{list:?} on `{}`: {ours:?}, git {theirs:?}",
                    path.escape_ascii()
                ));
            }
        }
    }
    wrong.sort_by_key(String::len);
    assert!(
        wrong.is_empty(),
        "{} of {total} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(25)].join("\n")
    );
    (total, matched)
}

const TOKENS: &[&str] = &[
    "a",
    "b",
    "c",
    "ab",
    "foo",
    ".",
    "-",
    "é",
    "x",
    "a",
    "b",
    "/",
    "/",
    "/",
    "*",
    "*",
    "*",
    "**",
    "**",
    "***",
    "?",
    "?",
    "**/",
    "/**",
    "/**/",
    "[ab]",
    "[!a]",
    "[^b]",
    "[^b/]",
    "[/a]",
    "[a-c]",
    "[]a]",
    "[]-a]",
    "[!]a]",
    "[a\\]b]",
    "[[:alpha:]]",
    "[[:digit:][:space:]x]",
    "[[:foo:]]",
    "[[:alpha:",
    "[[:upper]",
    "[[:]a]",
    "[a",
    "[",
    "]",
    "\\",
    "\\*",
    "\\ ",
    " ",
    " ",
    "!",
    "#",
    "\\!",
    "\\#",
    "\\/",
    "[c-a]",
    "[a-]",
    "[-a]",
    "[\\]]",
    "[[a]",
    "[a-\\c]",
    "[\\a-c]",
    "[a-b-c]",
    "[[:alpha:]-z]",
    "[!-~]",
    "[\\",
    "[^",
    "[!]",
    "{a,b}",
    "\t",
    "\\a",
    "\\\\",
    "[é]",
    "//",
    "/./",
    "..",
    "\r",
];

const NAMES: &[&[u8]] = &[
    b"a",
    b"b",
    b"c",
    b"ab",
    b"foo",
    b".",
    b"-",
    "é".as_bytes(),
    b"x",
    b"a",
    b"b",
    b"a",
    b"b",
    b"*",
    b"?",
    b"[",
    b"]",
    b"\\",
    b"!",
    b"#",
    b" ",
    b"\xff",
    b"\x01",
    b"\n",
    b"\t",
    b":",
    b"A",
    b"7",
    b"^",
    b"{a,b}",
    b"\r",
    b"\x7f",
    b"/",
    b"/",
    b"/",
    b"/",
];

fn pattern(random: &mut Random) -> String {
    let start = ["", "", "", "", "!", "/", "**/", "*"];
    let mut pattern = random.pick(&start).to_owned();
    for _ in 0..1 + random.below(6) {
        pattern += random.pick(TOKENS);
    }
    pattern
}

/// A path, or nothing if what came out is none.
fn proper(path: Vec<u8>) -> Option<Vec<u8>> {
    let ok = path.split(|&byte| byte == b'/').all(|name| {
        !name.is_empty() && name != b"." && name != b".." && !name.eq_ignore_ascii_case(b".git")
    });
    (ok && !path.contains(&0)).then_some(path)
}

fn path(random: &mut Random) -> Option<Vec<u8>> {
    let length = 1 + random.below(6);
    proper((0..length).flat_map(|_| random.pick(NAMES).to_vec()).collect())
}

/// A path that has a fair chance to match a pattern.
fn alike(random: &mut Random, pattern: &str) -> Option<Vec<u8>> {
    let mut path = Vec::new();
    let mut rest = pattern.trim_start_matches(['!', '/']).trim_end_matches([' ', '/']);
    while let Some(next) = rest.chars().next() {
        let mut taken = next.len_utf8();
        if let Some(after) = rest.strip_prefix("**/") {
            path.extend_from_slice(random.pick(&[&b""[..], b"a/", b"b/foo/"]));
            rest = after;
            continue;
        }
        match next {
            '*' => path.extend_from_slice(random.pick(&[&b""[..], b"a", b"foo", b"a/b", b"\xff"])),
            '?' => path.extend_from_slice(random.pick(&[&b"a"[..], b"b", b"/", b"\xfe"])),
            '\\' if random.below(2) == 0 => {}
            '[' if random.below(4) > 0 => {
                path.extend_from_slice(random.pick(&[
                    &b"a"[..],
                    b"b",
                    b"c",
                    b"]",
                    b"-",
                    b"[",
                    b" ",
                    b":",
                ]));
                taken = rest.find(']').map_or(1, |close| close + 1);
            }
            _ => path.extend_from_slice(&rest.as_bytes()[..taken]),
        }
        rest = &rest[taken..];
    }
    if random.below(3) == 0 {
        path.extend_from_slice(random.pick(&[&b"/a"[..], b"/a/b", b"a", b"/"]));
    }
    if random.below(4) == 0 {
        let mut front = random.pick(&[&b"a/"[..], b"foo/b/", b"a"]).to_vec();
        front.append(&mut path);
        path = front;
    }
    proper(path)
}

#[test]
fn single_patterns_are_gits() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let cases: Vec<(Vec<String>, Vec<Vec<u8>>)> = (0..6_000)
        .map(|_| {
            let pattern = pattern(&mut random);
            let mut paths: Vec<Vec<u8>> =
                (0..8).filter_map(|_| alike(&mut random, &pattern)).collect();
            paths.extend((0..8).filter_map(|_| path(&mut random)));
            (vec![pattern], paths)
        })
        .collect();
    let (total, matched) = compare(&cases);
    assert!(total > 20_000 && matched > 4_000, "{matched} of {total} matched");
}

#[test]
fn lists_are_gits() {
    let mut random = Random(42);
    let cases: Vec<(Vec<String>, Vec<Vec<u8>>)> = (0..1_500)
        .map(|_| {
            let length = 2 + random.below(5);
            let list: Vec<String> = (0..length)
                .map(|at| {
                    let pattern = pattern(&mut random);
                    if at > 0 && random.below(3) == 0 { format!("!{pattern}") } else { pattern }
                })
                .collect();
            let mut paths: Vec<Vec<u8>> = (0..12)
                .filter_map(|_| {
                    let like = random.below(list.len());
                    alike(&mut random, &list[like])
                })
                .collect();
            paths.extend((0..12).filter_map(|_| path(&mut random)));
            (list, paths)
        })
        .collect();
    compare(&cases);
}

/// Every class against every byte.
#[test]
fn classes_are_gits() {
    let classes = [
        "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
        "upper", "xdigit", "word", "",
    ];
    let named = classes.iter().flat_map(|name| [format!("[[:{name}:]]"), format!("[^[:{name}:]]")]);
    let other = ["?", "*", "[!-~]", "[é]", "[^é]", "[\\--0]", "[a-z-9]", "[--0]", "[]-]"];
    let all: Vec<Vec<u8>> = (1..=255_u8).filter_map(|byte| proper(vec![byte])).collect();
    let cases: Vec<_> =
        named.chain(other.map(str::to_owned)).map(|pattern| (vec![pattern], all.clone())).collect();
    compare(&cases);
}

/// What is written and what it is taken for.
#[test]
fn readings() {
    let shape = |pattern: &str| gitignore(pattern).unwrap().shape;
    assert_eq!(shape(".env"), Shape::Literal(b".env".to_vec()));
    assert_eq!(shape("/a/b/"), Shape::Literal(b"a/b".to_vec()));
    assert_eq!(shape("\\!x\\*"), Shape::Literal(b"!x*".to_vec()));
    assert_eq!(shape("*.pem"), Shape::Suffix(b".pem".to_vec()));
    assert_eq!(shape("/*.pem"), Shape::Other(Vec::new()));
    assert_eq!(shape("tmp*"), Shape::Prefix(b"tmp".to_vec()));
    assert_eq!(shape("a*b*"), Shape::Other(b"a".to_vec()));
    assert_eq!(shape("a/**"), Shape::Other(b"a/".to_vec()));
    let ignore = gitignore("!docs/  ").unwrap();
    assert!(ignore.negated && ignore.directory_only && !ignore.anchored);
    assert!(gitignore("/docs").unwrap().anchored && gitignore("a/b").unwrap().anchored);
}

/// What can match nothing says why, and where.
#[test]
fn refusals() {
    let refused = [
        ("", 0, "blank"),
        ("   ", 0, "blank"),
        ("!", 0, "blank"),
        ("/", 0, "blank"),
        ("# note", 0, "comment"),
        ("a[bc", 1, "never closed"),
        ("!/x[", 3, "never closed"),
        ("foo\\", 3, "nothing to escape"),
        ("a[[:word:]]", 2, "unknown class"),
        ("a//b", 0, "no path"),
        ("./a", 0, "no path"),
        ("x/../y", 0, "no path"),
        ("a\nb", 1, "line break"),
        ("a\0b", 1, "NUL"),
    ];
    for (pattern, offset, message) in refused {
        let error = gitignore(pattern).unwrap_err();
        assert_eq!(error.offset, offset, "{pattern:?}: {error:?}");
        assert!(error.message.contains(message), "{pattern:?}: {error:?}");
    }
}

/// The language of paths is that of the paths.
#[test]
fn paths_are_paths() {
    let re = glob::paths();
    let dfa = determinize(&re, &Re::classes([&re]), 100).unwrap();
    for good in ["a", "a/b", ".a", "..a", "a/...", "a.", "é/ /x"] {
        assert!(dfa.run(good.as_bytes()), "{good}");
    }
    for bad in ["", "/", "/a", "a/", "a//b", ".", "..", "a/.", "../a", "a/./b", "a\0"] {
        assert!(!dfa.run(bad.as_bytes()), "{bad}");
    }
}
