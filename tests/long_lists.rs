//! Hide lists of hundreds of public patterns, with and without `!`: the oracle, which
//! tries every pattern, and the table on paths that are made from the patterns.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod common;

use common::{Ask, Got, hosts, oracle, policy, runtime};
use mero_runtime::{Kind, Permission, Phase, Reason, Table};
use meroc::automata::glob::gitignore;
use meroc::table::{Options, compile};
use std::collections::HashMap;

const PUBLIC: &str = include_str!("data/gitignore-public.txt");

/// The patterns that can match at all: no path has a segment `.`.
fn patterns() -> Vec<&'static str> {
    let all = PUBLIC.lines().collect::<Vec<_>>();
    let good = all.iter().copied().filter(|p| gitignore(p).is_ok()).collect::<Vec<_>>();
    assert_eq!((all.len(), good.len()), (4_152, 4_151));
    good
}

/// Whether no name stands in the way of hiding all there is.
fn everything(pattern: &str) -> bool {
    pattern.bytes().all(|b| b"*/.".contains(&b))
}

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    /// A path that a pattern means, or nearly.
    fn path(&mut self, patterns: &[&str]) -> String {
        let mut text = patterns[self.below(patterns.len())].trim_start_matches('!').to_owned();
        for (wild, plain) in [("**", "x/y"), ("*", ["", "a", "a.b"][self.below(3)]), ("?", "q")] {
            text = text.replace(wild, plain);
        }
        let mut text = text.replace(['[', ']', '\\'], "");
        if self.below(6) == 0 && text.is_ascii() && text.len() > 2 {
            text.remove(self.below(text.len()));
        }
        let above = ["", "", "src/", "a/b/", "node_modules/", "Build/x/"][self.below(6)];
        let below = ["", "", "", "/x", "/x/y.rs", "/keep.txt"][self.below(6)];
        let path = format!("/root/{above}{}{below}", text.trim_matches('/'));
        path.trim_end_matches('/').to_owned()
    }
}

fn compare(patterns: &[&str], seed: u64, requests: usize) {
    let list = patterns.iter().map(|p| format!("{p:?}")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "edition 1\ncontext w {{ mount root at \"./ws\" {{ allow read\nhide {list} }} }}\n"
    );
    let policy = policy(&text);
    let forms = [
        ("products", Options::default()),
        ("debug", Options { debug_info: true, ..Options::default() }),
    ];
    let tables = forms.map(|(name, o)| (name, compile(&policy, o).unwrap().bytes));
    let hosts = hosts("/srv");
    let mut random = Random(seed);
    let mut found: HashMap<Reason, usize> = HashMap::new();
    for _ in 0..requests {
        let path = random.path(patterns);
        let kind = [Kind::File, Kind::Directory, Kind::Unknown][random.below(3)];
        let right = [Permission::READ, Permission::DELETE][random.below(2)];
        let ask = Ask::Path(path.clone().into_bytes(), right, kind);
        let expected: Got = oracle(&policy, "w", &hosts, Phase::Default, &ask).unwrap();
        *found.entry(expected.reason).or_default() += 1;
        for (name, bytes) in &tables {
            let table = Table::from_bytes(bytes).unwrap();
            let context = table.context("w").unwrap();
            let got = runtime(&context, &hosts, Phase::Default, &ask);
            assert_eq!(got, expected, "{name}: {path} {kind:?} of {} patterns", patterns.len());
        }
    }
    // Both answers are given often.
    let hidden = found.get(&Reason::Hidden).copied().unwrap_or(0);
    assert!(hidden > requests / 50 && hidden < requests - requests / 50, "{found:?}");
}

#[test]
fn every_tenth() {
    let all = patterns();
    for offset in [0, 3, 7] {
        let some = all.iter().copied().skip(offset).step_by(10);
        let some = some.filter(|p| !everything(p)).collect::<Vec<_>>();
        assert!(some.iter().any(|p| p.starts_with('!')));
        compare(&some, 0x9E37_79B9_7F4A_7C15 + offset as u64, 400);
    }
}

/// Without `!`, nothing that is hidden is ever taken back.
#[test]
fn without_negations() {
    let all = patterns();
    let plain = all.iter().copied().filter(|p| !p.starts_with('!'));
    compare(&plain.step_by(9).collect::<Vec<_>>(), 0xD1B5_4A32_D192_ED03, 400);
}

/// Most lists with `!` have few of them; here are all there are, in two orders.
#[test]
fn many_negations() {
    let all = patterns();
    let negations = all.iter().copied().filter(|p| p.starts_with('!'));
    let broad = ["*.log", "build", "/vendor/*", "*", "packages/*", ".*", "!*/"];
    let after = broad.into_iter().chain(negations.clone()).collect::<Vec<_>>();
    let before = negations.step_by(2).chain(broad.into_iter().filter(|p| *p != "*"));
    let before = before.chain(after.iter().copied().skip(60)).collect::<Vec<_>>();
    compare(&after, 0xA24B_AED4_963E_E407, 400);
    compare(&before, 0x9FB2_1C65_1E98_DF25, 400);
}
