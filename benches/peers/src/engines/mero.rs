//! Mero: the policy compiled to a table, read in place.

use super::Engine;
use crate::workload::Workload;
use mero_runtime::{Context, Kind, Permission, Session, Table};
use meroc::driver::{Memory, analyse};
use meroc::table::{Options, compile};

/// A table's context, and a session.
pub struct Mero {
    table: Table<'static>,
    context: Context<'static>,
    session: Session<'static>,
}

/// The policy's table.
pub fn table(workload: &Workload) -> Vec<u8> {
    let analysis = analyse(&Memory::policy(&workload.mero()), "p.mero").expect("it is read");
    assert!(!analysis.has_errors(), "{:?}", analysis.diagnostics);
    compile(&analysis.policy, Options::default()).expect("it compiles").bytes
}

/// Loads the table that is compiled here.
pub fn new(workload: &Workload) -> Mero {
    // It lives as long as the program, as a host's table does.
    let bytes: &'static [u8] = table(workload).leak();
    let table = Table::from_bytes(bytes).expect("it loads");
    let context = table.context("w").expect("it is there");
    Mero { table, context, session: Session { base: b"/srv/agent", ..Session::default() } }
}

/// As an engine.
pub fn load(workload: &Workload) -> Box<dyn Engine> {
    Box::new(new(workload))
}

impl Engine for Mero {
    fn allows(&mut self, path: &str) -> bool {
        self.context.path(&self.session, path.as_bytes(), Permission::READ, Kind::File).is_allowed()
    }

    fn bytes(&self) -> Option<usize> {
        Some(self.table.bytes().len())
    }
}

impl Mero {
    /// Decides a command string.
    pub fn command(&self, text: &str) -> bool {
        self.context.command(&self.session, text).is_allowed()
    }

    /// Decides an argument vector.
    pub fn argv(&self, words: &[&[u8]]) -> bool {
        self.context.argv(&self.session, words).is_allowed()
    }

    /// Looks for a grant.
    pub fn grant(&self, key: &str) -> bool {
        self.context.holds(key)
    }
}
