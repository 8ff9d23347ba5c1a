//! Directories with all that is in them: looked at before they are moved or removed.

use super::{Entry, EntryKind, MAX_ENTRIES, path_action};
use crate::decision::{Decision, Effect, Permission, Reason};
use crate::host::beneath;
use crate::host::error::{Error, ErrorKind};
use crate::host::guard::Guard;
use crate::host::resolve::joined;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;

impl Guard {
    /// That everything in a directory may be used so, where it is or where it would come
    /// to be, and that nothing in it is protected.
    pub(super) fn tree(
        &self,
        real: &[u8],
        as_if: &[u8],
        permissions: Permission,
    ) -> Result<(), Error> {
        if self.policy().is_none() {
            return Ok(());
        }
        let mut left = vec![(real.to_vec(), as_if.to_vec())];
        let mut seen = 0usize;
        while let Some((directory, name)) = left.pop() {
            let (from, rest) = self.from(&directory, permissions)?;
            let listed = beneath::open(from.as_fd(), rest, OFlags::DIRECTORY, Mode::empty())
                .and_then(entries)
                .map_err(|e| self.failed(&directory, permissions, e))?;
            for entry in listed {
                seen = seen.saturating_add(1);
                let entry_name = entry.name.as_bytes();
                let (here, there) = (joined(&directory, entry_name), joined(&name, entry_name));
                let kind = entry.kind.decided();
                let mut decision = self.judge(&there, permissions, kind);
                // What may not be written may not be replaced by moving its directory away.
                let writing = self.judge(&there, Permission::WRITE, kind);
                if decision.effect == Effect::Allow && writing.reason == Reason::Denied {
                    decision = writing;
                }
                if entry_name.contains(&b'\\') || seen > MAX_ENTRIES {
                    decision = Decision::new(Effect::Deny, Reason::Outside);
                }
                if decision.effect != Effect::Allow {
                    return Err(self.below(&decision, real, permissions));
                }
                if entry.kind == EntryKind::Directory {
                    left.push((here, there));
                }
            }
        }
        Ok(())
    }

    /// A refusal for something in a directory, which is not named: it may be hidden.
    fn below(&self, decision: &Decision, real: &[u8], permissions: Permission) -> Error {
        let kind = ErrorKind::of(match decision.reason {
            Reason::ApprovalRequired => Reason::NotGranted,
            reason => reason,
        });
        let action = path_action(&self.shown(real), permissions);
        Error::new(kind, format!("Denied: {action}: something in it is protected"))
    }

    /// Removes a directory's contents and it, by handles.
    pub(super) fn clear(
        &self,
        parent: BorrowedFd<'_>,
        name: &[u8],
        real: &[u8],
        depth: usize,
    ) -> rustix::io::Result<()> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = match rustix::fs::openat(parent, name, flags, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return rustix::fs::unlinkat(parent, name, AtFlags::empty());
            }
            Err(error) => return Err(error),
        };
        // Deeper trees than paths can name were refused when they were looked at.
        if depth > crate::path::MAX_PATH {
            return Err(Errno::NAMETOOLONG);
        }
        for entry in entries(rustix::io::dup(&directory)?)? {
            let entry_name = entry.name.as_bytes();
            let here = joined(real, entry_name);
            // What has come since it was looked at.
            if self.judge(&here, Permission::DELETE, entry.kind.decided()).effect != Effect::Allow {
                return Err(Errno::ACCESS);
            }
            if entry.kind == EntryKind::Directory {
                self.clear(directory.as_fd(), entry_name, &here, depth.saturating_add(1))?;
            } else {
                rustix::fs::unlinkat(&directory, entry_name, AtFlags::empty())?;
            }
        }
        rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
    }
}

/// All entries but `.` and `..`.
pub(super) fn entries(directory: OwnedFd) -> rustix::io::Result<Vec<Entry>> {
    let mut out = Vec::new();
    let mut listing = Dir::new(directory)?;
    while let Some(entry) = listing.read() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => {
                let stat = rustix::fs::statat(
                    listing.fd()?,
                    entry.file_name(),
                    AtFlags::SYMLINK_NOFOLLOW,
                )?;
                FileType::from_raw_mode(stat.st_mode)
            }
            kind => kind,
        };
        let name = std::os::unix::ffi::OsStringExt::from_vec(name.to_vec());
        out.push(Entry { name, kind: EntryKind::of(kind) });
    }
    Ok(out)
}
