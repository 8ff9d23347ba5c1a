//! Tables to damage, and ways to do it.
#![allow(unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use crate::common::policy;
use crate::exercise::{read, sign};
use mero_runtime::format::{DIRECTORY_ENTRY, HEADER, Section, automaton, island};
use mero_runtime::{Table, TableError};
use meroc::table::{Options, compile};
use std::fmt::Write as _;
use std::sync::OnceLock;

pub const SMALL: &str = r#"
edition 1
param WORK = "./work"
param OUT
tool file_write { requires core:fs.write  uses write  ability basic }
tool grep { requires core:fs.read  uses read  readonly }
manager lead approves worker
context lead { mount root at "$OUT" { allow all } }
context worker {
    phases plan, default, accept_edits, trusted, bypass_permissions
    allow read
    hide "*.key"
    mount root at "./w" {
        allow read | write
        ask   delete
        deny  execute
        hide  "*.pem", ".env", "!sample.pem", "secrets/"
        mount data at "data" { allow read
            mount deep at "a/b" { allow all deny none } }
        on "Cargo.lock", "/migrations/**" { deny write }
        on "CHANGELOG.md" { ask write }
    }
    mount home at "~/notes" { allow read }
    mount work at "$WORK/sub" { allow all }
    mount etc at "/etc" { allow read }
    commands {
        allow readonly "git (status|log) ..."
        allow "cat {read...}"
        allow "tool (--out|-o)={write}" except re"forbidden", "tool --out=no"
        ask "git push ..."
        deny "git push (-f|--force) ..."
        deny re"\bmkfs\b"
        allow glob"make *" except "make install"
        otherwise ask
        opaque ask
        env "MY_ENV"
        wrappers "timeout", "nice"
    }
    tools { allow "file_*", "grep" ask "mcp__*" deny "bash" }
    grants core:fs.read, core:fs.write, acme:widget
}
context free { unconfined allow read | write ask write hide "*.pem", "/proc/**" }
context empty { phases plan }
"#;

/// Enough patterns of enough lengths that the rows are displaced.
pub fn displaced() -> String {
    let mut list = String::new();
    for i in 0..300u32 {
        let word = i.wrapping_mul(2_654_435_761) % 1_000_003;
        let _ = write!(list, "\"name{word}-{i}*.x{}\", ", i % 7);
    }
    list.push_str("\"*.pem\"");
    format!("edition 1\ncontext worker {{ mount root at \"./w\" {{ allow all hide {list} }} }}\n")
}

pub fn bytes(text: &str, options: Options) -> Vec<u8> {
    compile(&policy(text), options).unwrap_or_else(|d| panic!("{}", d.message)).bytes
}

/// The tables under test, by name.
pub fn tables() -> &'static [(&'static str, Vec<u8>)] {
    static TABLES: OnceLock<Vec<(&str, Vec<u8>)>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let separate = Options { separate: true, ..Options::default() };
        let debug = Options { debug_info: true, ..Options::default() };
        let tables = vec![
            ("small", bytes(SMALL, Options::default())),
            ("debug", bytes(SMALL, debug)),
            ("lockstep", bytes(SMALL, separate)),
            ("displaced", bytes(&displaced(), Options::default())),
            ("empty", bytes("edition 1\n", Options::default())),
        ];
        let layouts = |t: &Vec<u8>| {
            records(t, Section::Automata).map(|at| t[at + automaton::LAYOUT]).collect::<Vec<_>>()
        };
        assert!(layouts(&tables[3].1).contains(&automaton::DISPLACED), "nothing is displaced");
        let flags = records(&tables[2].1, Section::Islands)
            .map(|at| tables[2].1[at + island::FLAGS])
            .collect::<Vec<_>>();
        assert!(flags.contains(&island::LOCKSTEP), "nothing is in lockstep");
        for (name, bytes) in &tables {
            assert!(read(bytes, true), "{name}");
        }
        tables
    })
}

/// Where a section begins and how long it is.
pub fn section(bytes: &[u8], section: Section) -> (usize, usize) {
    let at = HEADER + section as usize * DIRECTORY_ENTRY;
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    (number(at), number(at + 4))
}

/// Where the records of a section begin.
pub fn records(bytes: &[u8], of: Section) -> impl Iterator<Item = usize> + use<> {
    let (start, length) = section(bytes, of);
    (start..start + length).step_by(of.record())
}

pub fn error(bytes: &[u8]) -> TableError {
    Table::from_bytes(bytes).expect_err("it was accepted")
}

/// Writes bytes at a place, signs, and reads the error.
pub fn forged(table: &[u8], at: usize, new: &[u8]) -> Result<bool, TableError> {
    let mut table = table.to_vec();
    table[at..at + new.len()].copy_from_slice(new);
    sign(&mut table, false);
    Table::from_bytes(&table)?;
    Ok(read(&table, true))
}

/// Numbers without order, the same every time.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }
}
