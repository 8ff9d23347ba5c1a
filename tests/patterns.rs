//! Regular expressions, command, text and name patterns against naive matchers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use meroc::automata::argv::{self, Words};
use meroc::automata::witness::shortest;
use meroc::automata::{Classes, Dfa, Re, determinize, glob, regex as search, text};
use std::sync::Arc;

const BUDGET: usize = 20_000;

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

fn dfa(re: &Re, classes: &Arc<Classes>) -> Dfa<bool> {
    determinize(re, classes, BUDGET).unwrap()
}

const REGEXES: &[&str] = &[
    r"\bmkfs\b",
    r"rm\s+-(r|f|rf|fr)\b",
    r"^git push",
    r"--force$",
    r"^\s*$",
    r"^$",
    "",
    r"\b",
    r"\B",
    r"\B\B",
    r"a\b",
    r"\ba",
    r"\Ba\B",
    r"(?m)^rm",
    r"(?m)rm$",
    r"(?m)^$",
    r"(?s)a.b",
    r"a.b",
    r"\Agit\z",
    r"\Aa|b\z",
    r"^a|b$",
    r"^(a|b)*$",
    r"(a*)*b",
    r"a{2,3}",
    r"a{0}",
    r"[^a]",
    r"[a-c&&[^b]]",
    r"[^\s]+\.pem",
    r"\d{3}",
    r"\D\W\S",
    r"\w+@\w+",
    r"(?-i)RM",
    r"(?i:rM)",
    r"curl.*\|\s*(ba)?sh",
    r">\s*/dev/sd[a-z]",
    r":\(\)\s*\{",
    r"(?x) r m # comment",
    r"\x41",
    r"\xff",
    r"[\x80-\xff]",
    r"\.\./",
    r"\\",
    r"/etc/(passwd|shadow)",
    r"sudo(\s|$)",
    r"(^|\s)sudo",
    r"(^|[;&|])\s*dd\b",
    r"\b(a|ab)(c|bcd)\b",
    r"a??b",
    r"a*?b+?$",
    r"(?:)",
    r"$^",
    r"^^a$$",
    r"$a",
    r"a^",
    r"\b{start}rm",
    r"rm\b{end}",
    r"\b{start-half}-",
    r"(?R)a$",
    r"(?mR)^b",
    r"[[:alpha:]]{2}",
    r"\n",
    r"[\n;]rm",
    r"é",
    r"[a\-]+$",
    r"(?U)a+b",
    r"x*",
    r"\b\w{2}\b",
];

#[test]
fn regular_expressions_are_searched_as_the_regex_crate_does() {
    let mut random = Random(7);
    let pieces: [&[u8]; 44] = [
        b"a",
        b"b",
        b"c",
        b"rm",
        b"RM",
        b"mkfs",
        b" ",
        b" ",
        b"\n",
        b"\r\n",
        b"\r",
        b"-rf",
        b"git",
        b"push",
        b"--force",
        b".pem",
        b"x",
        b"@",
        b"1",
        b"123",
        b"_",
        b"curl",
        b"|",
        b"sh",
        b"/dev/sda",
        b">",
        b":(){",
        b"\xff",
        b"\x80",
        "é".as_bytes(),
        "É".as_bytes(),
        b"../",
        b"\\",
        b"/etc/shadow",
        b"sudo",
        b";",
        b"&",
        b"dd",
        b"ab",
        b"bcd",
        b"A",
        b"B",
        b"-",
        "K".as_bytes(),
    ];
    let mut texts: Vec<Vec<u8>> = vec![Vec::new()];
    texts.extend(pieces.iter().map(|piece| piece.to_vec()));
    texts.extend((0..1_500).map(|_| {
        let length = 1 + random.below(7);
        (0..length).flat_map(|_| random.pick(&pieces).to_vec()).collect()
    }));
    let searches: Vec<_> = REGEXES
        .iter()
        .map(|re| search::search(re).unwrap_or_else(|e| panic!("{re}: {e}")))
        .collect();
    let shared = Arc::new(Classes::new(searches.iter().flat_map(search::Search::sets)));
    for (pattern, ours) in REGEXES.iter().zip(&searches) {
        let dfa = ours.to_dfa(&shared).unwrap();
        let theirs = regex::bytes::RegexBuilder::new(pattern)
            .unicode(false)
            .case_insensitive(true)
            .build()
            .unwrap();
        for text in &texts {
            assert_eq!(
                *dfa.run(text),
                theirs.is_match(text),
                "{pattern} on {}",
                text.escape_ascii()
            );
        }
        assert!(!dfa.run(b"mkfs rm a\0"), "no text holds a NUL");
    }
}

#[test]
fn unicode_where_it_is_needed() {
    let hits = |pattern: &str, text: &str| {
        let search = search::search(pattern).unwrap();
        let classes = Arc::new(Classes::new(search.sets()));
        *search.to_dfa(&classes).unwrap().run(text.as_bytes())
    };
    assert!(hits("[éè]x", "aÈX"));
    assert!(hits(r"\p{Greek}", "aλ"));
    assert!(!hits(r"\p{Greek}", "al"));
    // ASCII boundaries still: there is one between `é` and `a`.
    assert!(hits(r"[é]\ba", "éa"));
    assert!(hits("(?u:é)", "É"));
}

#[test]
fn regular_expressions_that_cannot_be() {
    for (pattern, offset, message) in [
        ("a(?=b)", 1, "look-ahead"),
        ("(?<!a)b", 0, "look-ahead"),
        (r"(a)\1", 3, "back-references"),
        ("a(b", 1, "unclosed"),
        ("a**{", 3, ""),
        ("[z-a]", 1, "range"),
    ] {
        let error = search::search(pattern).unwrap_err();
        assert_eq!(error.offset, offset, "{pattern}: {error:?}");
        assert!(error.message.contains(message), "{pattern}: {error:?}");
    }
}

/// The rest of a word pattern after its first piece, and the same of alternatives.
fn close(pattern: &[u8], open: usize) -> usize {
    let mut depth = 0;
    let mut at = open;
    loop {
        match pattern[at] {
            b'\\' => at += 1,
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
        at += 1;
    }
}

fn split(pattern: &[u8]) -> Vec<&[u8]> {
    let (mut depth, mut from, mut at, mut parts) = (0, 0, 0, Vec::new());
    while at < pattern.len() {
        match pattern[at] {
            b'\\' => at += 1,
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'|' if depth == 0 => {
                parts.push(&pattern[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(&pattern[from..]);
    parts
}

/// A word against a word pattern of ASCII, by backtracking; `slash`: wildcards match `/`.
fn matches(pattern: &[u8], word: &[u8], slash: bool) -> bool {
    let wild = |byte: u8| slash || byte != b'/';
    match pattern.first() {
        None => word.is_empty(),
        Some(b'*') => (0..=word.len())
            .take_while(|&n| n == 0 || wild(word[n - 1]))
            .any(|n| matches(&pattern[1..], &word[n..], slash)),
        Some(b'?') => {
            !word.is_empty() && wild(word[0]) && matches(&pattern[1..], &word[1..], slash)
        }
        Some(b'(') => {
            let end = close(pattern, 0);
            split(&pattern[1..end])
                .into_iter()
                .any(|choice| matches(&[choice, &pattern[end + 1..]].concat(), word, slash))
        }
        Some(b'[') => {
            let end = pattern.iter().position(|&byte| byte == b']').unwrap();
            let (negated, members) = if pattern[1] == b'!' {
                (true, &pattern[2..end])
            } else {
                (false, &pattern[1..end])
            };
            !word.is_empty()
                && wild(word[0])
                && members.contains(&word[0]) != negated
                && matches(&pattern[end + 1..], &word[1..], slash)
        }
        Some(b'{') => word.first().is_some_and(|&byte| byte != b'-'),
        Some(b'\\') => {
            word.first() == Some(&pattern[1]) && matches(&pattern[2..], &word[1..], slash)
        }
        Some(literal) => word.first() == Some(literal) && matches(&pattern[1..], &word[1..], slash),
    }
}

fn matches_vector(pattern: &[String], vector: &[&[u8]], basename: bool) -> bool {
    for (at, word) in pattern.iter().enumerate() {
        let rest = vector.get(at..).unwrap_or_default();
        if word == "..." {
            return at > 0 || !rest.is_empty();
        }
        if word == "{read...}" {
            return rest.iter().all(|word| matches(b"{", word, true));
        }
        let Some(&first) = rest.first() else { return false };
        let base = first.iter().rposition(|&byte| byte == b'/').map(|slash| &first[slash + 1..]);
        let hit = matches(word.as_bytes(), first, at > 0)
            || (basename
                && at == 0
                && base.is_some_and(|base| matches(word.as_bytes(), base, false)));
        if !hit {
            return false;
        }
    }
    vector.len() == pattern.len()
}

#[test]
fn command_patterns_match_word_by_word() {
    let mut random = Random(99);
    let pieces = [
        "a",
        "b",
        "git",
        "-",
        "*",
        "?",
        "[ab]",
        "[!a]",
        "(a|b)",
        "(git|a*|)",
        "(a|(b|-)x)",
        "\\*",
        "\\ ",
        "x",
        "\\(",
        "'",
    ];
    let names: [&[u8]; 14] =
        [b"a", b"b", b"git", b"-", b"x", b"*", b" ", b"(", b"'", b"/", b"\xff", b"\n", b"ax", b"c"];
    let mut hits = 0;
    for _ in 0..1_500 {
        let count = 1 + random.below(3);
        let mut pattern: Vec<String> = (0..count)
            .map(|_| (0..1 + random.below(3)).map(|_| random.pick(&pieces)).collect())
            .collect();
        let plain = |word: &String| !word.contains(['*', '?', '[']);
        match random.below(6) {
            0 => pattern.push("...".to_owned()),
            1 => pattern.push("{read...}".to_owned()),
            2 => pattern.push("{read|write}".to_owned()),
            3 if pattern.last().is_some_and(plain) => {
                pattern.last_mut().unwrap().push_str("{write}")
            }
            _ => {}
        }
        let basename = random.below(2) == 0;
        let words = argv::words(&pattern.join("  "), basename).unwrap();
        let dfa = dfa(&words.re, &Re::classes([&words.re]));
        let found = shortest(&dfa, |&label| label).unwrap();
        let found: Vec<&[u8]> = found[..found.len() - 1].split(|&byte| byte == 0).collect();
        assert!(matches_vector(&pattern, &found, basename), "{pattern:?} {basename} {found:?}");
        for _ in 0..60 {
            // A vector of any words, or a match with some of its words exchanged.
            let like = random.below(2) == 0;
            let length = if like { found.len() + random.below(2) } else { random.below(5) };
            let vector: Vec<Vec<u8>> = (0..length)
                .map(|at| match found.get(at) {
                    Some(word) if like && random.below(3) > 0 => word.to_vec(),
                    _ => (0..random.below(4)).flat_map(|_| random.pick(&names).to_vec()).collect(),
                })
                .collect();
            let vector: Vec<&[u8]> = vector.iter().map(Vec::as_slice).collect();
            let naive = matches_vector(&pattern, &vector, basename);
            hits += usize::from(naive);
            assert_eq!(*dfa.run(&argv::join(&vector)), naive, "{pattern:?} {basename} {vector:?}");
        }
    }
    assert!(hits > 2_000, "{hits}");
}

fn words(pattern: &str) -> Words {
    argv::words(pattern, false).unwrap()
}

#[test]
fn command_patterns_tell_what_they_hold() {
    let git = words("git (status|log) ...");
    assert_eq!((git.words, git.rest), (2, true));
    assert_eq!(git.first_literal, Some(vec!["git".to_owned()]));
    assert_eq!(words("g(it|rep) x").first_literal, Some(vec!["git".to_owned(), "grep".to_owned()]));
    assert_eq!(words("g* x").first_literal, None);
    let holes = words("cp (-o|--out=){write|read|write} {read...}").holes;
    assert_eq!(holes[0].word, 1);
    assert_eq!(holes[0].prefixes, [b"-o".to_vec(), b"--out=".to_vec()]);
    assert_eq!(holes[0].permissions, ["write", "read"]);
    assert_eq!((holes[1].word, holes[1].many), (2, true));
    assert_eq!(holes[1].prefixes, [Vec::<u8>::new()]);
    // A blank does not split where it is escaped or enclosed.
    assert_eq!(words("a\\ b (c |d) [ ]").words, 3);
    assert_eq!(words("'a").words, 1);
    let hit = |pattern: &str, vector: &[&str]| {
        let re = words(pattern).re;
        *dfa(&re, &Re::classes([&re])).run(&argv::join(vector))
    };
    // One question mark is one character; a class holds characters.
    assert!(hit("x ?", &["x", "é"]) && hit("x [é]", &["x", "é"]) && hit("x [!é]", &["x", "λ"]));
    assert!(!hit("x [é]", &["x", "λ"]) && !hit("x [!é]", &["x", "é"]));
    assert!(hit("x [a-z]", &["x", "q"]) && hit("x [[:digit:]]", &["x", "4"]));
    assert!(hit("...", &["/bin/sh", "x"]) && !hit("...", &[]));
}

#[test]
fn command_patterns_that_cannot_be() {
    for (pattern, offset, message) in [
        ("", 0, "empty"),
        ("  ", 0, "empty"),
        ("git (a|b", 4, "never closed"),
        ("git [ab", 4, "never closed"),
        ("git {read", 4, "never closed"),
        ("git ... x", 8, "follows"),
        ("cat {read...} x", 14, "follows"),
        ("cat {red}", 4, "no permission"),
        ("cat {}", 4, "no permission"),
        ("cat {a,b}", 4, "no permission"),
        ("cat {read}x", 10, "tail"),
        ("cat x*{read}", 4, "literal"),
        ("cat x{read...}", 5, "whole"),
        ("cat ({read})", 5, "parentheses"),
        ("a | b", 2, "outside"),
        ("a )", 2, "without"),
        ("a \\", 2, "nothing to escape"),
        ("a [z-a]", 3, "wrong way"),
        ("a [[:word:]]", 3, "unknown class"),
    ] {
        let error = argv::words(pattern, false).unwrap_err();
        assert_eq!(error.offset, offset, "{pattern:?}: {error:?}");
        assert!(error.message.contains(message), "{pattern:?}: {error:?}");
    }
    let deep = format!("x{}a{}", "(".repeat(65), ")".repeat(65));
    assert!(argv::words(&deep, false).unwrap_err().message.contains("nest"));
    assert!(argv::words(&"a".repeat(5_000), false).unwrap_err().message.contains("longer"));
}

#[test]
fn texts_and_names() {
    let hit = |re: Re, text: &str| *dfa(&re, &Re::classes([&re])).run(text.as_bytes());
    let glob = |pattern: &str, text: &str| hit(text::glob(pattern).unwrap(), text);
    assert!(glob("git *", "GIT push\n/x") && !glob("git *", "xgit push") && !glob("git", "git "));
    assert!(
        glob("[!a]b", "xB") && !glob("[!a]b", "Ab") && glob("[a-c]?", "Bé") && glob("a\\", "a\\")
    );
    assert!(glob("[*]", "*") && !glob("[*]", "x"));
    assert!(
        hit(text::literal("rm -rf").unwrap(), "x; RM -rf /")
            && !hit(text::literal("rm").unwrap(), "r m")
    );
    let name = |pattern: &str, text: &str| hit(glob::name(pattern).unwrap(), text);
    assert!(
        name("mcp__*__?", "mcp__a/b__x")
            && name("\\*", "*")
            && !name("\\*", "x")
            && !name("A", "a")
    );
    assert!(glob::name("").is_err() && glob::name("a\\").is_err() && text::glob("[").is_err());
}
