//! Following links, the way the kernel does and with every name on the way seen.
//!
//! A path is walked name by name. Where a name is a link, the walk goes on at its target;
//! `..` behind a link is the parent of where it leads. A name that does not exist ends the
//! looking: the rest of the path is taken as it stands, so that a link that leads nowhere
//! is judged by what would be made there. Everything else that goes wrong (a loop, no
//! right to look, a file in the place of a directory) means that where the path leads is
//! not known.
//!
//! Source: path resolution of POSIX.1-2024 (4.16) and Linux `path_resolution(7)`.

use super::beneath::{self, HANDLE};
use super::fold::{self, Spelling};
use super::policy::{Bound, Mount};
use crate::decision::{Kind, Permission};
use crate::links::Links;
use crate::path::MAX_PATH;
use rustix::fd::AsFd;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;

/// Links that one path may lead through, as on Linux.
const MAX_LINKS: usize = 40;

/// Where a path ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The path without links.
    pub(crate) real: Vec<u8>,
    /// What is there, a link that was not followed being of unknown kind; `None`: nothing
    /// yet.
    pub(crate) kind: Option<Kind>,
}

/// Follows links for one context.
pub(crate) struct Resolver<'p> {
    bound: &'p Bound,
    /// Whether a link at the end is followed, or is itself what is meant.
    last: bool,
    /// Where the path that was followed last ended.
    pub(crate) end: RefCell<Option<End>>,
}

impl fmt::Debug for Resolver<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("last", &self.last).finish_non_exhaustive()
    }
}

impl<'p> Resolver<'p> {
    pub(crate) fn new(bound: &'p Bound, last: bool) -> Resolver<'p> {
        Resolver { bound, last, end: RefCell::new(None) }
    }

    /// Where a path leads that has no links, which one call tells; `None` if it may have.
    fn without_links(&self, mount: &Mount, rest: &[u8]) -> Option<End> {
        let handle = mount.handle.as_ref().filter(|_| !mount.folds)?;
        let flags = HANDLE | OFlags::NOFOLLOW;
        // Where a handle cannot be had without opening, a pipe would block.
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let flags = flags | OFlags::NONBLOCK;
        let opened = beneath::open(handle.as_fd(), rest, flags, Mode::empty()).ok()?;
        let kind = match FileType::from_raw_mode(rustix::fs::fstat(&opened).ok()?.st_mode) {
            FileType::Directory => Kind::Directory,
            FileType::Symlink if self.last => return None,
            FileType::Symlink => Kind::Unknown,
            _ => Kind::File,
        };
        Some(End { real: joined(&mount.real, rest), kind: Some(kind) })
    }

    /// Walks a path from a directory without links, telling every further name that it
    /// has. `None` where it cannot be followed.
    fn walk(&self, start: Vec<u8>, path: &[u8], each: &mut dyn FnMut(&[u8], Kind)) -> Option<End> {
        let mut at = start;
        let mut names = split(path).collect::<VecDeque<_>>();
        let mut links = 0usize;
        let mut kind = Some(Kind::Directory);
        while let Some(name) = names.pop_front() {
            if name == b".." {
                at = parent(&at);
                continue;
            }
            // A separator to the table, and part of a name here.
            if name.contains(&b'\\') {
                return None;
            }
            let next = joined(&at, &name);
            if next.len() > MAX_PATH {
                return None;
            }
            if kind.is_none() {
                // Below what does not exist nothing exists.
                at = next;
                continue;
            }
            match rustix::fs::lstat(super::policy::path_of(&next)) {
                Err(Errno::NOENT) => {
                    if let Some((mount, below)) = self.bound.of_real(&next)
                        && mount.folds
                    {
                        let rest = rest_of(&names);
                        let folded = fold::fold(&[below, &rest].concat());
                        self.tell(&joined(&mount.real, &folded), Kind::Unknown, each);
                    }
                    kind = None;
                    at = next;
                }
                Err(_) => return None,
                Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                    FileType::Symlink if self.last || !names.is_empty() => {
                        links = links.saturating_add(1);
                        if links > MAX_LINKS {
                            return None;
                        }
                        let target =
                            rustix::fs::readlink(super::policy::path_of(&next), Vec::new()).ok()?;
                        let target = target.to_bytes();
                        if target.is_empty() {
                            return None;
                        }
                        let rest =
                            names.iter().flat_map(|n| [&b"/"[..], n]).collect::<Vec<_>>().concat();
                        // The link's own name, with what comes behind it.
                        self.tell(&[&next[..], &rest].concat(), Kind::Unknown, each);
                        if target.starts_with(b"/") {
                            at = b"/".to_vec();
                        }
                        for name in split(target).collect::<Vec<_>>().into_iter().rev() {
                            names.push_front(name);
                        }
                    }
                    FileType::Symlink => {
                        at = self.spelt(&at, &name)?;
                        kind = Some(Kind::Unknown);
                    }
                    FileType::Directory => {
                        at = self.spelt(&at, &name)?;
                        kind = Some(Kind::Directory);
                    }
                    // A file in the place of a directory.
                    _ if !names.is_empty() => return None,
                    _ => {
                        at = self.spelt(&at, &name)?;
                        kind = Some(Kind::File);
                    }
                },
            }
        }
        Some(End { real: at, kind })
    }

    fn folds(&self, real: &[u8]) -> bool {
        self.bound.of_real(real).is_some_and(|(m, _)| m.folds)
    }

    /// A name that exists, as its directory spells it.
    fn spelt(&self, at: &[u8], name: &[u8]) -> Option<Vec<u8>> {
        let asked = joined(at, name);
        if !self.folds(at) {
            return Some(asked);
        }
        let directory = beneath::directory(&super::policy::path_of(at)).ok()?;
        let entries = fold::names(&directory, b"").ok()?;
        match fold::spelling(name, entries.iter().map(Vec::as_slice)) {
            Spelling::Exact => Some(asked),
            Spelling::Other(name) => Some(joined(at, &name)),
            Spelling::Unknown => None,
        }
    }

    /// Tells a path without links as the table places it.
    fn tell(&self, real: &[u8], kind: Kind, each: &mut dyn FnMut(&[u8], Kind)) {
        match self.bound.of_real(real) {
            Some((mount, rest)) => each(&joined(&mount.written, rest), kind),
            None => each(real, kind),
        }
    }
}

impl Links for Resolver<'_> {
    fn follow(
        &self,
        path: &[u8],
        _permissions: Permission,
        each: &mut dyn FnMut(&[u8], Kind),
    ) -> bool {
        self.end.replace(None);
        let climbs = split(path).any(|s| s == b"..");
        let written = if climbs { None } else { self.bound.of_written(path) };
        if let Some((mount, rest)) = written
            && !rest.contains(&b'\\')
            && let Some(end) = self.without_links(mount, rest)
        {
            // Nothing but what it was asked for; what it is may be news.
            self.tell(&end.real, end.kind.unwrap_or(Kind::Unknown), each);
            self.end.replace(Some(end));
            return true;
        }
        let (start, rest) = match written {
            Some((mount, rest)) => (mount.real.clone(), rest),
            None => (b"/".to_vec(), path),
        };
        let Some(end) = self.walk(start, rest, each) else { return false };
        self.tell(&end.real, end.kind.unwrap_or(Kind::Unknown), each);
        self.end.replace(Some(end));
        true
    }
}

/// Names that are still to be walked, each with its separator.
fn rest_of(names: &VecDeque<Vec<u8>>) -> Vec<u8> {
    names.iter().flat_map(|n| [&b"/"[..], n]).collect::<Vec<_>>().concat()
}

fn split(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    path.split(|&b| b == b'/').filter(|s| !s.is_empty() && *s != b".").map(<[u8]>::to_vec)
}

pub(crate) fn joined(directory: &[u8], rest: &[u8]) -> Vec<u8> {
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    match rest {
        [] if directory.is_empty() => b"/".to_vec(),
        [] => directory.to_vec(),
        rest => [directory, b"/", rest].concat(),
    }
}

fn parent(path: &[u8]) -> Vec<u8> {
    match path.iter().rposition(|&b| b == b'/') {
        None | Some(0) => b"/".to_vec(),
        Some(at) => path.get(..at).unwrap_or(b"/").to_vec(),
    }
}
