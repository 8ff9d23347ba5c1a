//! The engines, one a file: each is loaded with a workload and asked whether a file may be
//! read.

pub mod by_hand;
pub mod casbin;
pub mod cedar;
pub mod floors;
pub mod mero;
pub mod rego;
pub mod sets;

use crate::workload::Workload;

/// Decides on reading files.
pub trait Engine {
    /// Whether the file may be read. Floors give what they like.
    fn allows(&mut self, path: &str) -> bool;

    /// Bytes of what it decides by, where that is one piece.
    fn bytes(&self) -> Option<usize> {
        None
    }
}

/// How an engine is made.
pub struct Entry {
    /// Its name in the table.
    pub name: &'static str,
    /// Whether it decides, rather than shows how little time anything takes.
    pub decides: bool,
    /// Loads it.
    pub load: fn(&Workload) -> Box<dyn Engine>,
}

/// All engines, floors first.
pub const ALL: &[Entry] = &[
    Entry { name: "floor: automaton", decides: false, load: floors::automaton },
    Entry { name: "floor: hash", decides: false, load: floors::hash },
    Entry { name: "mero", decides: true, load: mero::load },
    Entry { name: "by hand: map + ignore", decides: true, load: by_hand::map },
    Entry { name: "by hand: trie + sets", decides: true, load: by_hand::trie },
    Entry { name: "globset + map", decides: true, load: sets::globs },
    Entry { name: "RegexSet + map", decides: true, load: sets::regexes },
    Entry { name: "cedar: policy a rule", decides: true, load: cedar::one_a_rule },
    Entry { name: "cedar: grouped", decides: true, load: cedar::grouped },
    Entry { name: "regorus: glob list", decides: true, load: rego::globs },
    Entry { name: "regorus: sets", decides: true, load: rego::sets },
    Entry { name: "casbin", decides: true, load: casbin::load },
];
