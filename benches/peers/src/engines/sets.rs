//! Sets of patterns: `globset` and `regex::RegexSet`, beside the map of directories.

use super::Engine;
use super::by_hand::Directories;
use crate::workload::{Hide, Workload};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::{RegexSet, RegexSetBuilder};

struct Globs(Directories, GlobSet);

/// A pattern as globs over whole paths.
pub fn glob(hide: &Hide) -> Vec<String> {
    match hide {
        Hide::Name(n) => vec![format!("**/{n}"), format!("**/{n}/**")],
        Hide::Extension(e) => vec![format!("**/*.{e}"), format!("**/*.{e}/**")],
        Hide::Prefix(p) => vec![format!("**/{p}*"), format!("**/{p}*/**")],
        Hide::Top(d) => vec![format!("{d}/**")],
        Hide::Backups(d) => vec![format!("{d}/**/*.bak"), format!("{d}/**/*.bak/**")],
        Hide::Directory(d) => vec![format!("**/{d}/**")],
    }
}

/// One set of globs.
pub fn globs(workload: &Workload) -> Box<dyn Engine> {
    let mut set = GlobSetBuilder::new();
    for text in workload.hides.iter().flat_map(glob) {
        set.add(GlobBuilder::new(&text).literal_separator(true).build().expect("it is a glob"));
    }
    Box::new(Globs(Directories::new(workload), set.build().expect("the globs are good")))
}

impl Engine for Globs {
    fn allows(&mut self, path: &str) -> bool {
        let path = &path[1..];
        self.0.readable(path) && !self.1.is_match(path)
    }
}

struct Regexes(Directories, RegexSet);

/// One set of regular expressions, with a cache of 256 MB.
pub fn regexes(workload: &Workload) -> Box<dyn Engine> {
    let set = workload.hides.iter().map(|hide| match hide {
        Hide::Name(n) => format!("(^|/){n}(/|$)"),
        Hide::Extension(e) => format!(r"\.{e}(/|$)"),
        Hide::Prefix(p) => format!("(^|/){p}"),
        Hide::Top(d) => format!("^{d}/"),
        Hide::Backups(d) => format!(r"^{d}/.*\.bak(/|$)"),
        Hide::Directory(d) => format!("(^|/){d}/"),
    });
    let set = RegexSetBuilder::new(set)
        .size_limit(1 << 30)
        .dfa_size_limit(256 << 20)
        .build()
        .expect("the expressions are good");
    Box::new(Regexes(Directories::new(workload), set))
}

impl Engine for Regexes {
    fn allows(&mut self, path: &str) -> bool {
        let path = &path[1..];
        self.0.readable(path) && !self.1.is_match(path)
    }
}
