//! Files, through a guard: each call decides on the path that it then uses, and uses
//! nothing else.
//!
//! What is opened, made, moved or removed is named by its place without links, beneath the
//! directory that was opened when the policy was bound, and no link is followed on the way
//! there (`beneath`). If something on the way has become a link since the decision, the
//! call begins again with a new decision; it gives up after a few times.

mod options;
mod tree;

pub use options::OpenOptions;

use self::tree::entries;
use super::beneath;
use super::error::{Error, ErrorKind};
use super::guard::{Guard, Last};
use super::policy::{Mount, path_of};
use super::request::Action;
use super::resolve::{End, joined};
use crate::decision::{Decision, Effect, Kind, Permission, Reason};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How often a call begins again when the file system changes under it.
const TRIES: usize = 16;
/// Entries that are looked at before a directory is moved or removed.
const MAX_ENTRIES: usize = 1_000_000;

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: std::ffi::OsString,
    /// What it is: a link is a link, whatever it leads to.
    pub kind: EntryKind,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, pipe or socket.
    Other,
}

impl EntryKind {
    pub(super) fn of(kind: FileType) -> EntryKind {
        match kind {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Other,
        }
    }

    /// As decisions know it: what a link leads to may be anything.
    pub(super) fn decided(self) -> Kind {
        match self {
            EntryKind::Directory => Kind::Directory,
            EntryKind::Link => Kind::Unknown,
            EntryKind::File | EntryKind::Other => Kind::File,
        }
    }
}

/// A directory handle to go on from.
pub(super) enum From<'g> {
    Held(BorrowedFd<'g>),
    Opened(OwnedFd),
}

impl AsFd for From<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            From::Held(fd) => *fd,
            From::Opened(fd) => fd.as_fd(),
        }
    }
}

impl Guard {
    /// Opens a file.
    ///
    /// A file with several names (hard links) is not opened to be written: its other names
    /// may be where nothing may be written. Devices, pipes and sockets are refused.
    ///
    /// # Errors
    /// A denial, what became of the approval, or [`ErrorKind::Io`] with the system's error
    /// as its source.
    pub fn open(
        &self,
        path: impl AsRef<Path>,
        options: OpenOptions,
        detail: &str,
    ) -> Result<File, Error> {
        let path = path.as_ref();
        let permissions = options.permissions();
        let open = |from: BorrowedFd<'_>, rest: &[u8]| {
            let mode = Mode::from_raw_mode(0o666);
            let opened = beneath::open(from, rest, options.flags(), mode)?;
            let stat = rustix::fs::fstat(&opened)?;
            Ok((opened, stat))
        };
        let opened = match self.at_once(path.as_os_str().as_bytes(), permissions, open) {
            Some(opened) => opened?,
            None => {
                let kind = Kind::File;
                self.at(path, permissions, kind, detail, Last::Followed, |from, rest, end| {
                    let (opened, stat) = open(from, rest)?;
                    Ok((opened, stat, end.real.clone()))
                })?
            }
        };
        let (opened, stat, real) = opened;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let refuse = |why: String| {
            let message = format!("Denied: {}: {why}", path_action(path, permissions));
            self.refused_late(&real, permissions)?;
            Err(Error::new(ErrorKind::PathAccessDenied, message))
        };
        match kind {
            FileType::RegularFile => {}
            FileType::Directory => return refuse("it is a directory".to_owned()),
            _ => return refuse("it is no plain file".to_owned()),
        }
        let writes = permissions.contains(Permission::WRITE);
        if writes && stat.st_nlink > 1 && self.policy().is_some() {
            return refuse(format!(
                "it has {} names, and what is written under one is changed under all",
                stat.st_nlink
            ));
        }
        // Only now: a file that is refused keeps what is in it.
        if options.truncate && stat.st_size > 0 {
            rustix::fs::ftruncate(&opened, 0).map_err(|e| self.failed(&real, permissions, e))?;
        }
        Ok(File::from(opened))
    }

    /// Reads a whole file.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn read(&self, path: impl AsRef<Path>, detail: &str) -> Result<Vec<u8>, Error> {
        let path = path.as_ref();
        let mut file = self.open(path, OpenOptions::new().read(true), detail)?;
        let mut out = Vec::new();
        match file.read_to_end(&mut out) {
            Ok(_) => Ok(out),
            Err(error) => Err(Error::io(&path_action(path, Permission::READ), error)),
        }
    }

    /// Writes a whole file, making it if there is none. It is written in place: for
    /// contents that must be whole whatever happens, write beside and [`Self::rename`].
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn write(
        &self,
        path: impl AsRef<Path>,
        contents: &[u8],
        detail: &str,
    ) -> Result<(), Error> {
        let path = path.as_ref();
        let options = OpenOptions::new().write(true).create(true).truncate(true);
        let mut file = self.open(path, options, detail)?;
        file.write_all(contents).map_err(|e| Error::io(&path_action(path, Permission::WRITE), e))
    }

    /// Makes a file that does not exist yet, to be written.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn create(&self, path: impl AsRef<Path>, detail: &str) -> Result<File, Error> {
        self.open(path, OpenOptions::new().write(true).create_new(true), detail)
    }

    /// The entries of a directory, sorted by name. Hidden ones are left out.
    ///
    /// # Errors
    /// As for [`Self::open`]; `read` on the directory is needed.
    pub fn read_dir(&self, path: impl AsRef<Path>, detail: &str) -> Result<Vec<Entry>, Error> {
        let path = path.as_ref();
        let permissions = Permission::READ;
        let (entries, real) = self.at(
            path,
            permissions,
            Kind::Directory,
            detail,
            Last::Followed,
            |from, rest, end| {
                let opened = beneath::open(from, rest, OFlags::DIRECTORY, Mode::empty())?;
                Ok((entries(opened)?, end.real.clone()))
            },
        )?;
        let hidden = |entry: &Entry| {
            let name = entry.name.as_bytes();
            // A name that the table would read as a path.
            let odd = name.contains(&b'\\') && self.policy().is_some();
            let decision = self.judge(&joined(&real, name), permissions, entry.kind.decided());
            odd || decision.reason == Reason::Hidden
        };
        let mut entries = entries;
        entries.retain(|e| !hidden(e));
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// As for [`Self::open`]; `write` is needed.
    pub fn create_dir(&self, path: impl AsRef<Path>, detail: &str) -> Result<(), Error> {
        let path = path.as_ref();
        self.at(
            path,
            Permission::WRITE,
            Kind::Directory,
            detail,
            Last::Followed,
            |from, rest, _| {
                let (parent, name) = beneath::parent_of(from, rest)?;
                rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777))
            },
        )
    }

    /// Removes a file, a link (not what it leads to), or an empty directory.
    ///
    /// # Errors
    /// As for [`Self::open`]; `delete` is needed.
    pub fn remove(&self, path: impl AsRef<Path>, detail: &str) -> Result<(), Error> {
        let path = path.as_ref();
        self.at(path, Permission::DELETE, Kind::Unknown, detail, Last::Itself, |from, rest, end| {
            let (parent, name) = beneath::parent_of(from, rest)?;
            let flags = match end.kind {
                Some(Kind::Directory) => AtFlags::REMOVEDIR,
                _ => AtFlags::empty(),
            };
            rustix::fs::unlinkat(parent, name, flags)
        })
    }

    /// Removes a directory with all that is in it, if all of it may be deleted and nothing
    /// of it is hidden or protected: otherwise nothing is removed.
    ///
    /// # Errors
    /// As for [`Self::open`]; `delete` is needed on everything. Where the system fails
    /// half-way, what was removed until then is gone.
    pub fn remove_all(&self, path: impl AsRef<Path>, detail: &str) -> Result<(), Error> {
        let path = path.as_ref();
        let end = self.passed(path, Permission::DELETE, Kind::Unknown, detail, Last::Itself)?;
        if end.kind == Some(Kind::Directory) {
            self.tree(&end.real, &end.real, Permission::DELETE)?;
        }
        self.there(&end, Permission::DELETE, |from, rest| {
            let (parent, name) = beneath::parent_of(from, rest)?;
            self.clear(parent.as_fd(), name, &end.real, 0)
        })
    }

    /// Moves a file or directory within what the guard covers; an existing file in its new
    /// place is replaced.
    ///
    /// Needs `read` and `delete` where it was, for a directory on everything in it, and
    /// `write` where it comes to be (and `delete`, where something is replaced). A
    /// protected entry does not move with its parent.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn rename(
        &self,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        detail: &str,
    ) -> Result<(), Error> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let leaves = Permission::READ | Permission::DELETE;
        let old = self.passed(from, leaves, Kind::Unknown, detail, Last::Itself)?;
        let kind = old.kind.unwrap_or(Kind::Unknown);
        let new = self.passed(to, Permission::WRITE, kind, detail, Last::Itself)?;
        if new.kind.is_some() {
            self.passed(to, Permission::DELETE, Kind::Unknown, detail, Last::Itself)?;
        }
        if kind == Kind::Directory {
            self.tree(&old.real, &old.real, leaves)?;
            self.tree(&old.real, &new.real, Permission::WRITE)?;
        }
        self.both(&old, &new, leaves, |a, x, b, y| rustix::fs::renameat(a, x, b, y))
    }

    /// Gives a file a second name. What is written under the one is written under the
    /// other, so `read` and `write` are needed on the file, and `write` on the new name.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn hard_link(
        &self,
        original: impl AsRef<Path>,
        link: impl AsRef<Path>,
        detail: &str,
    ) -> Result<(), Error> {
        let (original, link) = (original.as_ref(), link.as_ref());
        let needed = Permission::READ | Permission::WRITE;
        let old = self.passed(original, needed, Kind::File, detail, Last::Itself)?;
        let new = self.passed(link, Permission::WRITE, Kind::File, detail, Last::Itself)?;
        self.both(&old, &new, needed, |a, x, b, y| rustix::fs::linkat(a, x, b, y, AtFlags::empty()))
    }

    /// Makes a symbolic link. Needs `write` on it and `read` on where it leads; a relative
    /// target begins at the link's directory, an absolute one is the host's.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn symlink(
        &self,
        target: impl AsRef<Path>,
        link: impl AsRef<Path>,
        detail: &str,
    ) -> Result<(), Error> {
        let (target, link) = (target.as_ref(), link.as_ref());
        let place = self.passed(link, Permission::WRITE, Kind::Unknown, detail, Last::Itself)?;
        let mut leads = path_of(&place.real);
        leads.pop();
        leads.push(target);
        self.passed(&leads, Permission::READ, Kind::Unknown, detail, Last::OfHost)?;
        self.there(&place, Permission::WRITE, |from, rest| {
            let (parent, name) = beneath::parent_of(from, rest)?;
            rustix::fs::symlinkat(target, parent, name)
        })
    }

    /// Decides on a path and does something there, again if the way there has changed in
    /// between.
    fn at<T>(
        &self,
        path: &Path,
        permissions: Permission,
        kind: Kind,
        detail: &str,
        last: Last,
        act: impl Fn(BorrowedFd<'_>, &[u8], &End) -> rustix::io::Result<T>,
    ) -> Result<T, Error> {
        let mut before: Option<End> = None;
        for _ in 0..TRIES {
            let end = self.passed(path, permissions, kind, detail, last)?;
            // The same place and still a link there: it is no use.
            let again = before.as_ref() == Some(&end);
            let (from, rest) = self.from(&end.real, permissions)?;
            match act(from.as_fd(), rest, &end) {
                Err(Errno::LOOP | Errno::AGAIN) if !again => before = Some(end),
                Err(Errno::LOOP | Errno::AGAIN) => {}
                Err(error) => return Err(self.failed(&end.real, permissions, error)),
                Ok(done) => return Ok(done),
            }
        }
        let denied = Decision::new(Effect::Deny, Reason::Outside);
        Err(self.refusal(&denied, path.as_os_str().as_bytes(), permissions))
    }

    /// Does something at a place that was decided, once.
    fn there<T>(
        &self,
        end: &End,
        permissions: Permission,
        act: impl Fn(BorrowedFd<'_>, &[u8]) -> rustix::io::Result<T>,
    ) -> Result<T, Error> {
        let (from, rest) = self.from(&end.real, permissions)?;
        act(from.as_fd(), rest).map_err(|e| self.failed(&end.real, permissions, e))
    }

    /// Does something with two places that were decided.
    fn both(
        &self,
        old: &End,
        new: &End,
        permissions: Permission,
        act: impl Fn(&OwnedFd, &[u8], &OwnedFd, &[u8]) -> rustix::io::Result<()>,
    ) -> Result<(), Error> {
        self.there(old, permissions, |from, rest| {
            let (a, x) = beneath::parent_of(from, rest)?;
            Ok((a, x.to_vec()))
        })
        .and_then(|(a, x)| {
            self.there(new, Permission::WRITE, |from, rest| {
                let (b, y) = beneath::parent_of(from, rest)?;
                act(&a, &x, &b, y)
            })
        })
    }

    /// The directory to go on from, and the way from there, to a place without links.
    pub(super) fn from<'g, 'p>(
        &'g self,
        real: &'p [u8],
        permissions: Permission,
    ) -> Result<(From<'g>, &'p [u8]), Error> {
        let found = self.bound().and_then(|b| b.of_real(real));
        let directory = |path: &[u8]| {
            beneath::directory(&path_of(path)).map_err(|e| self.failed(real, permissions, e))
        };
        match found {
            Some((Mount { handle: Some(handle), .. }, rest)) => {
                Ok((From::Held(handle.as_fd()), rest))
            }
            // A mount for a single file, or one that was not there.
            Some((_, b"")) => {
                let cut = real.iter().rposition(|&b| b == b'/').unwrap_or(0);
                let (parent, name) = real.split_at_checked(cut).unwrap_or((b"/", real));
                let parent = if parent.is_empty() { b"/" } else { parent };
                let name = name.strip_prefix(b"/").unwrap_or(name);
                Ok((From::Opened(directory(parent)?), name))
            }
            Some((mount, rest)) => Ok((From::Opened(directory(&mount.real)?), rest)),
            None if self.bound().is_none() => {
                Ok((From::Opened(directory(b"/")?), real.strip_prefix(b"/").unwrap_or(real)))
            }
            None => {
                let denied = Decision::new(Effect::Deny, Reason::Outside);
                Err(self.refusal(&denied, self.shown(real).as_os_str().as_bytes(), permissions))
            }
        }
    }

    /// A place as an agent may name it: where its mounts are on the host is not told.
    pub(super) fn shown(&self, real: &[u8]) -> PathBuf {
        let Some(bound) = self.bound() else { return path_of(real) };
        match bound.of_real(real) {
            // The file system of a context without mounts has no slug.
            Some((mount, rest)) if matches!(&*mount.slug, "" | "root") => {
                path_of(&[b"/", rest].concat())
            }
            Some((mount, rest)) => path_of(&[b"/", mount.slug.as_bytes(), b"/", rest].concat()),
            // What a link led to, say.
            None => PathBuf::from("a place outside"),
        }
    }

    pub(super) fn failed(&self, real: &[u8], permissions: Permission, error: Errno) -> Error {
        Error::io(&path_action(&self.shown(real), permissions), error.into())
    }
}

fn path_action(path: &Path, permissions: Permission) -> Action {
    Action::Path { path: path.to_string_lossy().into_owned(), permissions, host: None }
}
