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

/// A policy's table.
fn compiled(text: &str) -> Result<Vec<u8>, String> {
    let analysis = analyse(&Memory::policy(text), "p.mero").expect("it is read");
    if analysis.has_errors() {
        return Err(analysis.diagnostics.first().map_or(String::new(), |d| d.message.clone()));
    }
    Ok(compile(&analysis.policy, Options::default()).map_err(|d| d.message)?.bytes)
}

/// The workload's table.
pub fn table(workload: &Workload) -> Vec<u8> {
    compiled(&workload.mero()).expect("it compiles")
}

/// Loads the table that is compiled here.
pub fn new(workload: &Workload) -> Mero {
    Mero::of(&workload.mero())
}

/// As an engine.
pub fn load(workload: &Workload) -> Box<dyn Engine> {
    Box::new(new(workload))
}

impl Engine for Mero {
    fn allows(&mut self, path: &str) -> bool {
        self.reads(path)
    }

    fn bytes(&self) -> Option<usize> {
        Some(self.table.bytes().len())
    }
}

impl Mero {
    /// Of a policy that compiles.
    pub fn of(text: &str) -> Mero {
        Mero::try_of(text).expect("it compiles")
    }

    /// Of a policy, or why it does not compile.
    pub fn try_of(text: &str) -> Result<Mero, String> {
        // It lives as long as the program, as a host's table does.
        let bytes: &'static [u8] = compiled(text)?.leak();
        let table = Table::from_bytes(bytes).expect("it loads");
        let context = table.context("w").expect("it is there");
        let session = Session { base: b"/srv/agent", ..Session::default() };
        Ok(Mero { table, context, session })
    }

    /// What it is decided by.
    pub fn table(&self) -> &Table<'static> {
        &self.table
    }

    /// Whether a file may be read.
    pub fn reads(&self, path: &str) -> bool {
        self.context.path(&self.session, path.as_bytes(), Permission::READ, Kind::File).is_allowed()
    }

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
