//! Text through the whole compiler: a policy without errors gives a table that the
//! runtime takes, and that answers as the oracle does.
#![no_main]

#[path = "../../tests/common/exercise.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;
use mero_runtime::{Kind, Permission, Phase, Session, Table};
use meroc::driver::{Memory, analyse};
use meroc::oracle::{Hosts, Oracle, joined_text};
use meroc::table::{Options, compile};

fuzz_target!(|text: &str| {
    let Ok(analysis) = analyse(&Memory::policy(text), "p.mero") else { return };
    let _ = meroc::diag::render::human(&analysis.diagnostics, analysis.sources(), true);
    if analysis.has_errors() {
        return;
    }
    let policy = &analysis.policy;
    let forms = [
        Options::default(),
        Options { debug_info: true, ..Options::default() },
        Options { separate: true, ..Options::default() },
    ];
    // One of the three forms at a time.
    for options in forms.into_iter().skip(text.len() % 3).take(1) {
        let Ok(compiled) = compile(policy, options) else { continue };
        let table = Table::from_bytes(&compiled.bytes).expect("a table just written");
        exercise::exercise(&table, false);
        let hosts = Hosts {
            base: b"/srv".to_vec(),
            home: Some(b"/home/me".to_vec()),
            working_directory: None,
            params: policy.params.iter().map(|p| (p.name.clone(), b"/param".to_vec())).collect(),
        };
        let params =
            hosts.params.iter().map(|(n, d)| (n.as_str(), d.as_slice())).collect::<Vec<_>>();
        for context in &policy.contexts {
            let of_table = table.context(&context.name).expect("a context of the policy");
            for phase in Phase::ALL {
                let session = Session {
                    phase,
                    base: &hosts.base,
                    home: hosts.home.as_deref(),
                    working_directory: None,
                    params: &params,
                    links: None,
                };
                if of_table.check_binding(&session).is_err() {
                    // Its decisions are `invalid`, which the oracle does not know.
                    continue;
                }
                let oracle = Oracle::new(policy, context, &hosts, phase);
                for path in ["/", "/a", "a/b", "/a/b/.env", "x.pem", "/root/a/../b/", "~/a", "/srv/a/x"] {
                    for kind in [Kind::File, Kind::Directory, Kind::Unknown] {
                        let set = Permission::all().difference(Permission::EXECUTE);
                        let expected = oracle.path(path.as_bytes(), set, kind);
                        let got = of_table.path(&session, path.as_bytes(), set, kind);
                        assert_eq!((got.effect, got.reason), (expected.effect, expected.reason), "{path} {phase} {kind:?}");
                    }
                }
                for words in [&["git", "status"][..], &["a"], &["a", "b", "c"], &["cat", "/a/b"]] {
                    let owned = words.iter().map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>();
                    let argv = words.iter().map(|w| w.as_bytes()).collect::<Vec<_>>();
                    let expected = oracle.argv(&owned, &joined_text(&owned));
                    let got = of_table.argv(&session, &argv);
                    assert_eq!((got.effect, got.reason), (expected.effect, expected.reason), "{words:?} {phase}");
                }
            }
        }
    }
});
