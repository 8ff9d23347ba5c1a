//! The short way to a path decision, for the usual request.
//!
//! A request is usual if it is clean (no `.` or `..`, no doubled or backward
//! separator) and not long, names a mount by slug or default, the context has one anchor, and
//! the governing mount is below the same top-level mount as the named one. Then
//! nothing is resolved: the trie is entered at the named mount, and the automata
//! read the request's bytes as they stand. Anything else gives `None`, and the
//! long way ([`crate::eval`]) answers, for which this is only a faster route to
//! the same decision.

use crate::automaton::Automaton;
use crate::decision::{Decision, Kind, Permission};
use crate::eval::Session;
use crate::format::{Section, anchor, class, context, island, mount, slug_bit, spaces};
use crate::outline::{Long, Outline, SHORT, Short};
use crate::table::Context;
use crate::verdict::Walked;

impl<'a> Context<'a> {
    /// Decides a usual request; `None` if it is not one.
    #[inline]
    pub(crate) fn quick(
        &self,
        session: &Session<'_>,
        path: &[u8],
        permissions: Permission,
        kind: Kind,
    ) -> Option<Decision> {
        if path.len() <= SHORT {
            self.quick_by::<Short>(session, path, permissions, kind)
        } else {
            self.quick_by::<Long>(session, path, permissions, kind)
        }
    }

    fn quick_by<O: Outline>(
        &self,
        session: &Session<'_>,
        path: &[u8],
        permissions: Permission,
        kind: Kind,
    ) -> Option<Decision> {
        let anchors = self.record.list(context::ANCHORS);
        if anchors.len() != 1 || permissions.is_empty() {
            return None;
        }
        let root = self.record.option(context::ROOT)?;
        let outline = O::of(path)?;
        let first = outline.end(1);
        let name = path.get(1..first)?;
        if self.may_lie_in_a_mount(session, anchors.start, name) {
            return None;
        }
        let slug = match self.record.u64(context::SLUGS) & slug_bit(name) {
            0 => None,
            _ => self.table.symbol(spaces::SLUGS.saturating_add(self.index), name),
        };
        let directory = path.ends_with(b"/");
        let end = path.len().saturating_sub(usize::from(directory));
        // What is read below the named mount: from here to the end.
        let (named, from) = match slug {
            Some(mount) => (mount, first.saturating_add(1).min(end)),
            None => (root, 1.min(end)),
        };
        let (record, class) = self.mount_class(named);

        let mut node = self.table.node(record.u24(mount::NODE));
        let mut at = from;
        let mut whole = true;
        // Where the governing mount's directory ends.
        let mut inner = from;
        while at < end {
            let stop = outline.end(at);
            let Some(child) = node.child(&self.table, path.get(at..stop)?) else {
                whole = false;
                break;
            };
            let above = node.mount;
            node = self.table.node(child);
            at = stop.saturating_add(1);
            if node.mount != above {
                inner = at;
            }
        }
        let governing = node.mount?;
        let own = if governing == named { class } else { self.mount_class(governing).1 };
        let top = own.u24(class::TOP);
        if top != class.u24(class::TOP) {
            return None;
        }
        // As a file, a mount's own directory has no `/` behind its name.
        if from == end && named != top {
            return None;
        }
        let kind = match kind {
            Kind::Unknown if directory => Kind::Directory,
            Kind::File if directory => Kind::Unknown,
            kind => kind,
        };
        let mut walked = Walked::default();
        if let Some(index) = own.option(class::ISLAND) {
            let island = self.table.record(Section::Islands, index);
            if island.u8(island::FLAGS) & island::LOCKSTEP != 0 {
                if named != top {
                    return None;
                }
                let segments = path.get(from..end)?.split(|&b| b == b'/').filter(|s| !s.is_empty());
                walked = self.walk_in_step(island.list(island::AUTOMATA), segments);
                walked.matched = true;
            } else if inner < end && own.u8(class::WITHIN) == 1 {
                // What its directory comes to is known.
                for a in island.list(island::AUTOMATA) {
                    let automaton = self.table.automaton(a);
                    let state = automaton.within();
                    walk(&automaton, state, path.get(..end)?, inner, &outline, kind, &mut walked);
                }
            } else {
                // The named mount's directory below the top-level one.
                let prefix = if named == top {
                    b""
                } else {
                    let skip = self.directory(self.mount_class(top).0).len();
                    let inner = self.directory(record).get(skip..)?;
                    inner.strip_prefix(b"/").unwrap_or(inner)
                };
                for a in island.list(island::AUTOMATA) {
                    let automaton = self.table.automaton(a);
                    let mut start = automaton.start();
                    if !prefix.is_empty() {
                        start = automaton.walk(automaton.walk(start, prefix), b"/");
                    }
                    walk(&automaton, start, path.get(..end)?, from, &outline, kind, &mut walked);
                }
            }
        }
        // The top-level mount's own directory is one, whatever is asked for.
        let kind = if from == end { Kind::Directory } else { kind };
        let decision = if walked.matched {
            self.judge(session.phase, governing, own, &walked, permissions, kind)
        } else {
            self.judge_plain(session.phase, governing, own, permissions)
        };
        if whole {
            return Some(self.with_deletion(session.phase, decision, node.below, permissions));
        }
        Some(decision)
    }

    /// Whether an absolute path whose first segment is `name` could be one on the host:
    /// errs on the side of yes, which only costs the long way.
    #[inline]
    fn may_lie_in_a_mount(&self, session: &Session<'_>, anchor: u32, name: &[u8]) -> bool {
        let Some(directory) = self.anchor_path(session, anchor) else { return true };
        // Mostly the first byte tells.
        match directory.get(1) {
            Some(b'/' | b'.') | None => self.may_lie_in(directory, anchor, name),
            first => first == name.first() && self.may_lie_in(directory, anchor, name),
        }
    }

    #[cold]
    fn may_lie_in(&self, directory: &[u8], anchor: u32, name: &[u8]) -> bool {
        let inner = directory.split(|&b| b == b'/').find(|s| !s.is_empty()).unwrap_or(&[]);
        if matches!(inner, b"." | b"..") {
            return true;
        }
        if inner.is_empty() {
            let root = self.table.record(Section::Anchors, anchor).u24(anchor::NODE);
            let root = self.table.node(root);
            return root.mount.is_some() || root.child(&self.table, name).is_some();
        }
        inner == name
    }
}

/// Adds what an automaton says of a path from `from` on.
#[inline(always)]
fn walk<O: Outline>(
    automaton: &Automaton<'_>,
    start: u32,
    path: &[u8],
    from: usize,
    outline: &O,
    kind: Kind,
    walked: &mut Walked,
) {
    let file = automaton.walk_outlined(start, path, from, outline);
    if kind != Kind::Directory {
        walked.matched |= walked.file.add(automaton.cell(file));
    }
    if kind != Kind::File || from == path.len() {
        let end = if from == path.len() { start } else { automaton.walk(file, b"/") };
        walked.matched |= walked.directory.add(automaton.cell(end));
    }
}
