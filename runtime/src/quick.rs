//! The short way to a path decision, for the usual request.
//!
//! A request is usual if it is clean (no `.` or `..`, no doubled or backward
//! separator), names a mount by slug or default, the context has one anchor, and
//! the governing mount is below the same top-level mount as the named one. Then
//! nothing is resolved: the trie is entered at the named mount, and the automata
//! read the request's bytes as they stand. Anything else gives `None`, and the
//! long way ([`crate::eval`]) answers, for which this is only a faster route to
//! the same decision.

use crate::decision::{Decision, Kind, Permission};
use crate::eval::Session;
use crate::format::{Section, below, class, context, island, mount, node, spaces};
use crate::path::MAX_PATH;
use crate::table::Context;
use crate::verdict::Walked;

/// Whether a path that begins with `/` is clean. Cost: two passes that the
/// compiler vectorises.
fn is_clean(path: &[u8]) -> bool {
    let odd = path.iter().fold(false, |odd, &b| odd | (b == 0) | (b == b'\\'));
    let after = path.get(1..).unwrap_or(&[]);
    let dots = path
        .iter()
        .zip(after)
        .fold(false, |odd, (&a, &b)| odd | ((a == b'/') & ((b == b'/') | (b == b'.'))));
    if odd || !dots {
        return !odd;
    }
    // A name that begins with a dot is clean; `.` and `..` are not.
    let trimmed = path.strip_prefix(b"/").unwrap_or(path);
    let trimmed = trimmed.strip_suffix(b"/").unwrap_or(trimmed);
    trimmed.split(|&b| b == b'/').all(|s| !matches!(s, b"" | b"." | b".."))
}

#[inline]
fn split_first(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().position(|&b| b == b'/') {
        Some(at) => {
            let (name, rest) = path.split_at_checked(at).unwrap_or((path, b""));
            (name, rest.get(1..).unwrap_or(&[]))
        }
        None => (path, b""),
    }
}

impl<'a> Context<'a> {
    /// Decides a usual request; `None` if it is not one.
    pub(crate) fn quick(
        &self,
        session: &Session<'_>,
        path: &[u8],
        permissions: Permission,
        kind: Kind,
    ) -> Option<Decision> {
        let root = self.record.option(context::ROOT)?;
        let anchors = self.record.list(context::ANCHORS);
        let usual = path.first() == Some(&b'/')
            && path.len() <= MAX_PATH
            && anchors.len() == 1
            && !permissions.is_empty()
            && is_clean(path);
        if !usual || self.may_lie_in_a_mount(session, anchors.start, path) {
            return None;
        }
        let whole = path.get(1..)?;
        let (name, rest) = split_first(whole);
        let slug = self.table.symbol(spaces::SLUGS.saturating_add(self.index), name);
        let (named, rest) = slug.map_or((root, whole), |mount| (mount, rest));
        let (record, class) = self.mount_class(named);
        let directory = path.ends_with(b"/");
        let rest = rest.strip_suffix(b"/").unwrap_or(rest);

        let mut at = record.u24(mount::NODE);
        let mut left = rest;
        let mut below = below::FREE;
        let governing = loop {
            let record = self.table.record(Section::Nodes, at);
            if left.is_empty() {
                below = record.u8(node::BELOW);
                break record.option(node::MOUNT)?;
            }
            let (segment, after) = split_first(left);
            match self.table.symbol(at, segment) {
                Some(child) => (at, left) = (child, after),
                None => break record.option(node::MOUNT)?,
            }
        };
        let own = if governing == named { class } else { self.mount_class(governing).1 };
        let top = own.u24(class::TOP);
        if top != class.u24(class::TOP) {
            return None;
        }
        let kind = match kind {
            Kind::Unknown if directory => Kind::Directory,
            Kind::File if directory => Kind::Unknown,
            kind => kind,
        };
        let walked = match own.option(class::ISLAND) {
            None => Walked::default(),
            Some(index) => {
                let island = self.table.record(Section::Islands, index);
                if island.u8(island::FLAGS) & island::LOCKSTEP != 0 {
                    return None;
                }
                // The named mount's directory below the top-level one.
                let prefix = if named == top {
                    b""
                } else {
                    let skip = self.directory(self.mount_class(top).0).len();
                    let inner = self.directory(record).get(skip..)?;
                    inner.strip_prefix(b"/").unwrap_or(inner)
                };
                let mut walked = Walked::default();
                for a in island.list(island::AUTOMATA) {
                    let automaton = self.table.automaton(a);
                    let mut start = automaton.start();
                    if !prefix.is_empty() {
                        start = automaton.walk(automaton.walk(start, prefix), b"/");
                    }
                    let file = automaton.walk(start, rest);
                    if kind != Kind::Directory {
                        walked.file.add(automaton.cell(file));
                    }
                    if kind != Kind::File || rest.is_empty() {
                        let end = if rest.is_empty() { start } else { automaton.walk(file, b"/") };
                        walked.directory.add(automaton.cell(end));
                    }
                }
                if rest.is_empty() {
                    walked.file = walked.directory;
                }
                walked
            }
        };
        let decision = self.judge(session.phase, governing, own, &walked, permissions, kind);
        Some(self.with_deletion(session.phase, decision, below, permissions))
    }

    /// Whether an absolute path could be one on the host: errs on the side of
    /// yes, which only costs the long way.
    fn may_lie_in_a_mount(&self, session: &Session<'_>, anchor: u32, path: &[u8]) -> bool {
        let Some(directory) = self.anchor_path(session, anchor) else { return true };
        let first = directory.split(|&b| b == b'/').find(|s| !s.is_empty());
        let own = split_first(path.get(1..).unwrap_or(&[])).0;
        match first {
            Some(first) => first == own || matches!(first, b"." | b".."),
            None => {
                let root =
                    self.table.record(Section::Anchors, anchor).u24(crate::format::anchor::NODE);
                let governed =
                    self.table.record(Section::Nodes, root).option(node::MOUNT).is_some();
                governed || self.table.symbol(root, own).is_some()
            }
        }
    }
}
