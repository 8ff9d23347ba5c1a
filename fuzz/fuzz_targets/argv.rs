//! Requests against one policy with every kind of rule: no panic, the oracle's
//! answer, and no phase stricter than the one before it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mero_runtime::{Kind, Permission, Phase, Session, Table};
use meroc::driver::{Memory, analyse};
use meroc::hir::Policy;
use meroc::oracle::{Hosts, Oracle, joined_text};
use meroc::table::{Options, compile};
use std::sync::LazyLock;

static POLICY: LazyLock<(Policy, Vec<Vec<u8>>)> = LazyLock::new(|| {
    let text = include_str!("../policy.mero");
    let analysis = analyse(&Memory::policy(text), "p.mero").expect("it is there");
    assert!(!analysis.has_errors(), "{:?}", analysis.diagnostics);
    let tables = [false, true].map(|separate| {
        let options = Options { separate, ..Options::default() };
        compile(&analysis.policy, options).expect("it fits").bytes
    });
    (analysis.policy, tables.to_vec())
});

// The first byte chooses the permissions, the kind and the working directory; the
// rest, cut at NUL, is an argument vector; each word is also a path and a tool.
fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let (policy, tables) = &*POLICY;
    let argv = rest.split(|b| *b == 0).collect::<Vec<_>>();
    let owned = argv.iter().map(|w| w.to_vec()).collect::<Vec<_>>();
    let kind = [Kind::File, Kind::Directory, Kind::Unknown][usize::from(choice >> 4) % 3];
    let set = Permission::from_bits_truncate(choice & 15);
    let hosts = Hosts {
        base: b"/srv".to_vec(),
        home: Some(b"/home/me".to_vec()),
        working_directory: (choice & 0x80 != 0).then(|| b"/srv/w/data".to_vec()),
        params: policy.params.iter().map(|p| (p.name.clone(), b"/param".to_vec())).collect(),
    };
    let params = hosts.params.iter().map(|(n, d)| (n.as_str(), d.as_slice())).collect::<Vec<_>>();
    // One of the two forms at a time.
    for bytes in tables.iter().skip(rest.len() % 2).take(1) {
        let table = Table::from_bytes(bytes).expect("a table just written");
        for context in &policy.contexts {
            let of_table = table.context(&context.name).expect("a context of the policy");
            let mut before = Vec::new();
            for phase in Phase::ALL {
                let session = Session {
                    phase,
                    base: &hosts.base,
                    home: hosts.home.as_deref(),
                    working_directory: hosts.working_directory.as_deref(),
                    params: &params,
                    links: None,
                };
                let oracle = Oracle::new(policy, context, &hosts, phase);
                let mut effects = Vec::new();
                let mut compare = |got: mero_runtime::Decision, expected: meroc::oracle::Answer| {
                    assert_eq!((got.effect, got.reason), (expected.effect, expected.reason), "{} {phase}", context.name);
                    effects.push(got.effect);
                };
                // What runners run is beyond the oracle.
                if !argv.first().is_some_and(|name| mero_runtime::is_runner(name)) {
                    compare(of_table.argv(&session, &argv), oracle.argv(&owned, &joined_text(&owned)));
                }
                for word in argv.iter().take(4) {
                    compare(of_table.path(&session, word, set, kind), oracle.path(word, set, kind));
                    if let Ok(name) = std::str::from_utf8(word) {
                        compare(of_table.tool(&session, name, &[]), oracle.tool(name, &[]));
                    }
                }
                if let Ok(text) = std::str::from_utf8(rest) {
                    let _ = of_table.command(&session, text);
                }
                if context.phases.contains(&phase) {
                    assert!(before.iter().zip(&effects).all(|(b, now)| b <= now), "{phase} is stricter");
                    before = effects;
                }
            }
        }
    }
    let script = mero_runtime::shell::split(rest);
    assert!(script.commands.len() <= rest.len() + 1);
});
