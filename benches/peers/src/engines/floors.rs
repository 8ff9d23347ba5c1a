//! How little time anything takes that reads the whole path: a byte at a time through an
//! automaton with byte classes, or a hash of the string and one look-up. Neither decides.

use super::Engine;
use crate::workload::Workload;
use foldhash::fast::FixedState;
use std::collections::HashMap;

struct Automaton {
    classes: [u8; 256],
    rows: Vec<u16>,
}

const CLASSES: usize = 40;

/// States as an automaton of the rules' names would have, no more than a cache of the
/// second level holds: a floor is to be low.
pub fn automaton(workload: &Workload) -> Box<dyn Engine> {
    let states = (2 * workload.rules).clamp(64, 800);
    let mut classes = [0; 256];
    for (byte, class) in classes.iter_mut().enumerate() {
        *class = (byte % CLASSES) as u8;
    }
    let target = |s: usize, c: usize| ((s * 31 + c * 7 + 1) % states * CLASSES) as u16;
    let rows = (0..states).flat_map(|s| (0..CLASSES).map(move |c| target(s, c))).collect();
    Box::new(Automaton { classes, rows })
}

impl Engine for Automaton {
    fn allows(&mut self, path: &str) -> bool {
        let mut state = 0;
        for byte in path.bytes() {
            state = self.rows[usize::from(state) + usize::from(self.classes[usize::from(byte)])];
        }
        state > 100
    }
}

struct Hash(HashMap<String, bool, FixedState>);

/// A map of as many paths as there are rules.
pub fn hash(workload: &Workload) -> Box<dyn Engine> {
    let some = workload.paths.iter().take(workload.rules);
    Box::new(Hash(some.map(|p| (p.clone(), true)).collect()))
}

impl Engine for Hash {
    fn allows(&mut self, path: &str) -> bool {
        self.0.contains_key(path)
    }
}
