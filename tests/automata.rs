//! Laws of the automata, and the pattern languages against naive matchers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use meroc::automata::argv::{self, Words};
use meroc::automata::witness::{shortest, shortest_over_all, shortest_over_pair, witnesses};
use meroc::automata::{
    ByteSet, Classes, Dfa, Re, TooLarge, complement, determinize, difference, equivalent, glob,
    intersect, is_empty, is_subset, meets, minimize, product, product_tree, regex as search, text,
    union,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

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

fn abc() -> Arc<Classes> {
    Arc::new(Classes::new([b'a', b'b', b'c'].map(ByteSet::of)))
}

fn re() -> impl Strategy<Value = Re> {
    let leaf = prop_oneof![
        Just(Re::Empty),
        Just(Re::Never),
        "[abc]{1,3}".prop_map(|s| Re::literal(s.as_bytes())),
        Just(Re::set(ByteSet::range(b'a', b'b'))),
        Just(Re::set(ByteSet::of(b'a').complement())),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Re::Cat),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Re::Alt),
            inner.prop_map(|re| Re::Star(Box::new(re))),
        ]
    })
}

/// Membership by definition: the ends of matches that begin at `from`.
fn ends(re: &Re, text: &[u8], from: usize) -> BTreeSet<usize> {
    match re {
        Re::Never => BTreeSet::new(),
        Re::Empty => BTreeSet::from([from]),
        Re::Set(set) => {
            text.get(from).filter(|b| set.contains(**b)).map(|_| from + 1).into_iter().collect()
        }
        Re::Cat(parts) => parts.iter().fold(BTreeSet::from([from]), |at, part| {
            at.into_iter().flat_map(|at| ends(part, text, at)).collect()
        }),
        Re::Alt(choices) => choices.iter().flat_map(|choice| ends(choice, text, from)).collect(),
        Re::Star(inner) => {
            let mut all = BTreeSet::from([from]);
            let mut fresh = vec![from];
            while let Some(at) = fresh.pop() {
                fresh.extend(ends(inner, text, at).into_iter().filter(|&end| all.insert(end)));
            }
            all
        }
    }
}

fn strings(letters: &[u8], longest: usize) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut at = 0;
    while at < all.len() {
        if all[at].len() < longest {
            for &letter in letters {
                let mut longer = all[at].clone();
                longer.push(letter);
                all.push(longer);
            }
        }
        at += 1;
    }
    all
}

fn dfa(re: &Re, classes: &Arc<Classes>) -> Dfa<bool> {
    determinize(re, classes, BUDGET).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_automaton_accepts_its_expression(re in re()) {
        let dfa = dfa(&re, &abc());
        for text in strings(b"abcz", 4) {
            prop_assert_eq!(*dfa.run(&text), ends(&re, &text, 0).contains(&text.len()));
        }
    }

    #[test]
    fn laws_hold_and_equal_languages_are_equal_values(x in re(), y in re(), z in re()) {
        let classes = abc();
        let (a, b, c) = (dfa(&x, &classes), dfa(&y, &classes), dfa(&z, &classes));
        let and = |a: &Dfa<bool>, b: &Dfa<bool>| intersect(a, b, BUDGET).unwrap();
        let or = |a: &Dfa<bool>, b: &Dfa<bool>| union(a, b, BUDGET).unwrap();
        prop_assert_eq!(complement(&and(&a, &b)), or(&complement(&a), &complement(&b)));
        prop_assert_eq!(and(&a, &or(&b, &c)), or(&and(&a, &b), &and(&a, &c)));
        prop_assert_eq!(difference(&a, &b, BUDGET).unwrap(), and(&a, &complement(&b)));
        prop_assert_eq!(or(&a, &b), dfa(&Re::Alt(vec![y, x]), &classes));
        prop_assert_eq!(minimize(&a), a.clone());
        prop_assert_eq!(complement(&complement(&a)), a.clone());
        prop_assert_eq!(equivalent(&a, &b, BUDGET).unwrap(), a == b);
        prop_assert_eq!(meets(&a, &b, BUDGET).unwrap(), !is_empty(&and(&a, &b)));
        prop_assert_eq!(is_subset(&a, &b, BUDGET).unwrap(), or(&a, &b) == b);
    }

    #[test]
    fn expressions_of_one_language_give_one_automaton(x in re(), y in re()) {
        let classes = abc();
        let star = |re: &Re| Re::Star(Box::new(re.clone()));
        let either = Re::Alt(vec![x.clone(), y.clone()]);
        let other = Re::Cat(vec![star(&x), star(&Re::Cat(vec![y, star(&x)]))]);
        prop_assert_eq!(dfa(&star(&either), &classes), dfa(&other, &classes));
    }

    #[test]
    fn a_witness_is_accepted_and_shortest(x in re(), y in re()) {
        let classes = abc();
        let (a, b) = (dfa(&x, &classes), dfa(&y, &classes));
        let naive = strings(b"abcz", 4).into_iter().find(|text| *a.run(text));
        match (shortest(&a, |&label| label), naive) {
            (Some(found), Some(naive)) => {
                prop_assert!(*a.run(&found));
                prop_assert_eq!(found.len(), naive.len());
            }
            (Some(found), None) => prop_assert!(*a.run(&found) && found.len() > 4),
            (None, naive) => prop_assert_eq!(naive, None),
        }
        let both = intersect(&a, &b, BUDGET).unwrap();
        let lazy = shortest_over_pair(&a, &b, |&x, &y| x && y, BUDGET).unwrap();
        prop_assert_eq!(&lazy, &shortest(&both, |&label| label));
        let all = shortest_over_all(&[&a, &b], |labels| labels.iter().all(|l| **l), BUDGET);
        prop_assert_eq!(all.unwrap(), lazy);
        for (label, text) in witnesses(&product(&a, &b, |&x, &y| (x, y), BUDGET).unwrap()) {
            prop_assert_eq!(label, (*a.run(&text), *b.run(&text)));
        }
    }

    #[test]
    fn finer_classes_change_nothing(x in re()) {
        let coarse = dfa(&x, &abc());
        let finer = Arc::new(Classes::new(b"abcdefg".map(ByteSet::of)));
        let fine = coarse.over(&finer).unwrap();
        prop_assert_eq!(&fine, &dfa(&x, &finer));
        for text in strings(b"abdz", 4) {
            prop_assert_eq!(coarse.run(&text), fine.run(&text));
        }
    }

    #[test]
    fn trees_keep_order_under_any_budget(list in prop::collection::vec(re(), 0..9), budget in 1_usize..40) {
        let classes = abc();
        let rules: Vec<Dfa<u8>> =
            list.iter().zip(1..).map(|(re, n)| dfa(re, &classes).map(|&hit| if hit { n } else { 0 })).collect();
        let last = |a: &u8, b: &u8| if *b == 0 { *a } else { *b };
        for budget in [budget, BUDGET] {
            let groups = product_tree(rules.clone(), &last, budget).unwrap();
            if budget == BUDGET {
                prop_assert!(groups.len() <= 1);
            }
            for text in strings(b"abz", 4) {
                let naive = rules.iter().fold(0, |label, rule| last(&label, rule.run(&text)));
                let ours = groups.iter().fold(0, |label, group| last(&label, group.run(&text)));
                prop_assert_eq!(naive, ours);
            }
        }
    }

    #[test]
    fn what_lies_below_is_shut(x in re()) {
        let path = |re: Re| Re::cat([re, Re::cat([Re::byte(b'/'), Re::byte(b'a')]).star()]);
        let list = dfa(&path(x), &abc());
        let shut = list.shut_below(b'/', |&hidden| hidden);
        for text in strings(b"a/b", 5) {
            let above = (0..text.len()).filter(|&at| text[at] == b'/').any(|at| *list.run(&text[..at]));
            prop_assert_eq!(*shut.run(&text), above || *list.run(&text));
        }
    }
}

#[test]
fn witnesses_look_typed() {
    let any = Re::set(ByteSet::ALL).plus();
    let classes = Re::classes([&any]);
    assert_eq!(shortest(&dfa(&any, &classes), |&x| x).unwrap(), b"a");
    let odd = Re::alt([Re::byte(0x01), Re::byte(b'~'), Re::byte(b'-'), Re::byte(b'7')]);
    let classes = Re::classes([&odd, &Re::byte(1), &Re::byte(b'~'), &Re::byte(b'7')]);
    assert_eq!(shortest(&dfa(&odd, &classes), |&x| x).unwrap(), b"7");
    assert_eq!(shortest(&Dfa::constant(&abc(), 3), |&x| x == 4), None);
}

#[test]
fn parts_are_checked() {
    let classes = abc();
    let width = classes.count();
    let row = |to: u32| vec![to; width];
    let make = |trans: Vec<u32>, start| Dfa::from_parts(&classes, trans, vec![false, true], start);
    let both = [row(1), row(0)].concat();
    let odd = make(both.clone(), 0).unwrap();
    assert!(*odd.run(b"a") && !*odd.run(b"ab"));
    assert_eq!(minimize(&odd).states(), 2);
    assert_eq!(minimize(&make([row(1), row(0)].concat(), 0).unwrap().map(|_| 7)).states(), 1);
    assert_eq!(make(both.clone(), 2), None);
    assert_eq!(make([row(1), row(2)].concat(), 0), None);
    assert_eq!(make(row(0), 0), None);
}

/// Large automata are minimised in time n log n, however long their chains are.
#[test]
fn large_automata_are_minimised_quickly() {
    let classes = Arc::new(Classes::new((b'a'..b'a' + 37).map(ByteSet::of)));
    let (width, states) = (classes.count(), 100_000);
    assert_eq!(width, 40);
    let mut random = Random(5);
    let wild: Vec<u32> = (0..states * width).map(|_| random.below(states) as u32).collect();
    let labels: Vec<u8> = (0..states).map(|_| random.below(4) as u8).collect();
    let chain: Vec<u32> = (0..states)
        .flat_map(|at| (0..width).map(move |class| if class == at % width { at + 1 } else { 0 }))
        .map(|to| to.min(states - 1) as u32)
        .collect();
    let ends: Vec<u8> = (0..states).map(|at| u8::from(at == states - 1)).collect();
    for (trans, labels) in [(wild, labels), (chain, ends)] {
        let dfa = Dfa::from_parts(&classes, trans, labels, 0).unwrap();
        let begin = Instant::now();
        let minimal = minimize(&dfa);
        eprintln!("{} states left after {:?}", minimal.states(), begin.elapsed());
        assert_eq!(minimal.states(), states);
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }
}

#[test]
fn foreign_classes_are_refused() {
    let (a, d) = (Re::byte(b'a'), Re::byte(b'd'));
    assert_eq!(determinize(&d, &abc(), BUDGET), Err(TooLarge::Classes));
    let d = dfa(&d, &Re::classes([&d]));
    assert_eq!(meets(&dfa(&a, &abc()), &d, BUDGET), Err(TooLarge::Classes));
    assert_eq!(d.over(&abc()), Err(TooLarge::Classes));
    let list = vec![d, dfa(&a, &abc())];
    assert_eq!(product_tree(list, &|a, b| *a || *b, BUDGET), Err(TooLarge::Classes));
}

#[test]
fn what_explodes_says_so_at_once() {
    let begin = Instant::now();
    let many = |piece: &str, count: usize| piece.repeat(count);
    for pattern in [
        format!("*a{}", many("?", 25)),
        format!("*a{}", many("?", 1_000)),
        many("*a?????????", 200),
        format!("**/*[ab]{}", many("[!c]", 30)),
    ] {
        let re = glob::name(&pattern).unwrap();
        let result = determinize(&re, &Re::classes([&re]), BUDGET);
        assert!(result.is_err(), "{} states", result.unwrap().states());
    }
    for pattern in [
        many("(a|ab)", 600),
        many("(*|a)", 800),
        many("*", 4_000),
        many("?", 1_000),
        many("(a|)", 1_000),
    ] {
        let words = argv::words(&pattern, true).unwrap();
        // Harmless or refused, but quick.
        let _ = determinize(&words.re, &Re::classes([&words.re]), BUDGET);
    }
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    for pattern in
        ["a.{25}b", "(a|b)*a(a|b){30}", "((a{100}){100}){100}", "(?:a.*){40}b.{20}c", "\\pL{500}"]
    {
        let begin = Instant::now();
        let error = search::search(pattern).unwrap_err();
        assert!(error.message.contains("too large"), "{pattern}: {error}");
        assert!(begin.elapsed() < Duration::from_secs(1), "{pattern}: {:?}", begin.elapsed());
    }
}

/// Independent requirements multiply; they are to stay apart.
#[test]
fn trees_keep_apart_what_multiplies() {
    let list: Vec<Re> = (b'a'..=b'p')
        .map(|letter| text::literal(&format!("{0}{0}{0}{0}{0}", char::from(letter))).unwrap())
        .collect();
    let classes = Re::classes(&list);
    let rules: Vec<Dfa<BTreeSet<u8>>> = list
        .iter()
        .zip(0..)
        .map(|(re, n)| {
            dfa(re, &classes).map(|&hit| if hit { BTreeSet::from([n]) } else { BTreeSet::new() })
        })
        .collect();
    let both = |a: &BTreeSet<u8>, b: &BTreeSet<u8>| a | b;
    let groups = product_tree(rules.clone(), &both, 5_000).unwrap();
    assert!(groups.len() > 1 && groups.len() < 16, "{}", groups.len());
    assert!(groups.iter().all(|group| group.states() <= 5_000));
    assert_eq!(groups, product_tree(rules, &both, 5_000).unwrap());
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
