//! Laws of the automata, witnesses, budgets.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use meroc::automata::argv;
use meroc::automata::explore::{Busy, Bytes, Machine, explore};
use meroc::automata::witness::{shortest, shortest_over_all, shortest_over_pair, witnesses};
use meroc::automata::{
    ByteSet, Classes, Dfa, Re, TooLarge, complement, determinize, difference, equivalent, glob,
    intersect, is_empty, is_subset, meets, minimize, product, product_set, product_tree,
    regex as search, text, union,
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

struct Pair<'a> {
    a: &'a Dfa<bool>,
    b: &'a Dfa<bool>,
    busy: Option<(Busy, Busy)>,
}

impl Machine for Pair<'_> {
    type State = (u32, u32);

    fn start(&self) -> Option<(u32, u32)> {
        Some((self.a.start(), self.b.start()))
    }

    fn step(&self, state: &(u32, u32), byte: u8) -> Option<(u32, u32)> {
        Some((self.a.step(state.0, byte), self.b.step(state.1, byte)))
    }

    fn busy(&self, state: &(u32, u32)) -> Bytes {
        match &self.busy {
            Some((a, b)) => a.at(state.0).union(b.at(state.1)),
            None => Bytes::ALL,
        }
    }
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
    fn a_search_that_leaves_out_idle_letters_finds_the_same(x in re(), y in re()) {
        let classes = abc();
        let (a, b) = (dfa(&x, &classes), dfa(&y, &classes));
        let search = |busy: Option<(Busy, Busy)>| {
            let mut found = Vec::new();
            let pair = Pair { a: &a, b: &b, busy };
            explore(&pair, b"abcz", BUDGET, |at| {
                found.push((*at.state, at.string()));
                false
            })
            .unwrap();
            found
        };
        prop_assert_eq!(search(Some((Busy::of(&a), Busy::of(&b)))), search(None));
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
    fn sets_say_the_same_under_any_budget(list in prop::collection::vec(re(), 0..9), budget in 1_usize..40) {
        let classes = abc();
        let rules: Vec<Dfa<u8>> =
            list.iter().zip(1..).map(|(re, n)| dfa(re, &classes).map(|&hit| if hit { n } else { 0 })).collect();
        let highest = |a: &u8, b: &u8| *a.max(b);
        for budget in [budget, BUDGET] {
            let groups = product_set(rules.clone(), &highest, budget).unwrap();
            prop_assert!(groups.len() <= rules.len());
            for text in strings(b"abz", 4) {
                let naive = rules.iter().map(|rule| *rule.run(&text)).max();
                let ours = groups.iter().map(|group| *group.run(&text)).max();
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
        assert!(begin.elapsed() < Duration::from_secs(120), "{:?}", begin.elapsed());
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
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    for pattern in
        ["a.{25}b", "(a|b)*a(a|b){30}", "((a{100}){100}){100}", "(?:a.*){40}b.{20}c", "\\pL{500}"]
    {
        let begin = Instant::now();
        let error = search::search(pattern).unwrap_err();
        assert!(error.message.contains("too large"), "{pattern}: {error}");
        assert!(begin.elapsed() < Duration::from_secs(30), "{pattern}: {:?}", begin.elapsed());
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
