//! Command strings: the splitter never panics, spans stay in the string, and
//! what is decided is never more than what is decided of its parts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mero_runtime::shell::split;
use mero_runtime::{Phase, Reason, Session, Table};
use meroc::driver::{Memory, analyse};
use meroc::table::{Options, compile};
use std::sync::LazyLock;

static TABLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let text = include_str!("../policy.mero");
    let analysis = analyse(&Memory::policy(text), "p.mero").expect("it is there");
    compile(&analysis.policy, Options::default()).expect("it fits").bytes
});

fuzz_target!(|bytes: &[u8]| {
    let script = split(bytes);
    for command in &script.commands {
        assert!(command.span.end <= bytes.len() && command.span.start <= command.span.end);
    }
    for opaque in &script.opaque {
        assert!(opaque.span.end <= bytes.len());
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let table = Table::from_bytes(&TABLE).expect("a table just written");
    for context in table.contexts() {
        for phase in Phase::ALL {
            let session = Session { phase, base: b"/srv", home: Some(b"/home/me"), params: &[], ..Session::default() };
            let (whole, parts) = context.command_parts(&session, text);
            assert_eq!(whole, context.command(&session, text));
            if whole.reason != Reason::Invalid && whole.reason != Reason::Phase {
                assert!(parts.iter().all(|p| whole.effect <= p.decision.effect), "{text:?}");
            }
        }
    }
});
