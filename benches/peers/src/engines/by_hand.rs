//! What one writes by hand: a map of directories walked up, with the `ignore` crate for
//! patterns; and, with more thought, a trie of segments with sets for each shape of
//! pattern.

use super::Engine;
use crate::workload::{Hide, Workload, pattern};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::{HashMap, HashSet};

/// Directories, and whether they may be read.
pub struct Directories(HashMap<String, bool>);

impl Directories {
    /// Of a workload.
    pub fn new(workload: &Workload) -> Directories {
        Directories(workload.mounts.iter().cloned().collect())
    }

    /// What the deepest directory above a path says.
    pub fn readable(&self, path: &str) -> bool {
        let mut above = path;
        while let Some(at) = above.rfind('/') {
            above = &above[..at];
            if let Some(readable) = self.0.get(above) {
                return *readable;
            }
        }
        true
    }
}

struct Map {
    directories: Directories,
    ignore: Gitignore,
}

/// A map of directories and the `ignore` crate.
pub fn map(workload: &Workload) -> Box<dyn Engine> {
    let mut builder = GitignoreBuilder::new("");
    for hide in &workload.hides {
        builder.add_line(None, &pattern(hide)).expect("it is a pattern");
    }
    let ignore = builder.build().expect("the patterns are good");
    Box::new(Map { directories: Directories::new(workload), ignore })
}

impl Engine for Map {
    fn allows(&mut self, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        self.directories.readable(path)
            && !self.ignore.matched_path_or_any_parents(path, false).is_ignore()
    }
}

#[derive(Default)]
struct Node {
    children: HashMap<String, usize>,
    readable: Option<bool>,
}

#[derive(Default)]
struct Trie {
    nodes: Vec<Node>,
    names: HashSet<String>,
    extensions: HashSet<String>,
    prefixes: HashSet<String>,
    /// The lengths that they have.
    lengths: Vec<usize>,
    tops: HashSet<String>,
    backups: HashSet<String>,
    directories: HashSet<String>,
}

/// A trie of segments and a set for each shape.
pub fn trie(workload: &Workload) -> Box<dyn Engine> {
    let mut trie = Trie { nodes: vec![Node::default()], ..Trie::default() };
    for (directory, readable) in &workload.mounts {
        let mut at = 0;
        for segment in directory.split('/') {
            let next = trie.nodes.len();
            at = *trie.nodes[at].children.entry(segment.to_owned()).or_insert(next);
            if at == next {
                trie.nodes.push(Node::default());
            }
        }
        trie.nodes[at].readable = Some(*readable);
    }
    for hide in workload.hides.iter().cloned() {
        match hide {
            Hide::Name(n) => trie.names.insert(n),
            Hide::Extension(e) => trie.extensions.insert(e),
            Hide::Prefix(p) => {
                trie.lengths.push(p.len());
                trie.prefixes.insert(p)
            }
            Hide::Top(d) => trie.tops.insert(d),
            Hide::Backups(d) => trie.backups.insert(d),
            Hide::Directory(d) => trie.directories.insert(d),
        };
    }
    trie.lengths.sort_unstable();
    trie.lengths.dedup();
    Box::new(trie)
}

impl Engine for Trie {
    fn allows(&mut self, path: &str) -> bool {
        let (mut at, mut readable, mut backups) = (Some(0), true, false);
        let mut segments = path[1..].split('/').enumerate().peekable();
        while let Some((index, segment)) = segments.next() {
            let last = segments.peek().is_none();
            let hidden = self.names.contains(segment)
                || segment.rfind('.').is_some_and(|d| self.extensions.contains(&segment[d + 1..]))
                || self
                    .lengths
                    .iter()
                    .any(|&l| segment.get(..l).is_some_and(|p| self.prefixes.contains(p)))
                || (!last && self.directories.contains(segment))
                || (index == 0 && !last && self.tops.contains(segment))
                || (backups && segment.ends_with(".bak"));
            if hidden {
                return false;
            }
            backups |= index == 0 && self.backups.contains(segment);
            at = at.and_then(|at: usize| self.nodes[at].children.get(segment).copied());
            if let Some(here) = at.filter(|_| !last).and_then(|at| self.nodes[at].readable) {
                readable = here;
            }
        }
        readable
    }
}
