//! Decisions that look at the host's links.
//!
//! What a path means is worked out from its text alone. Where a session says who
//! follows links, every further name that the path has on this host is decided too, and
//! the least permissive answer counts: a file is protected by the names of the links to
//! it and by its own.

use crate::decision::{Decision, Effect, Kind, Permission, Reason};
use crate::eval::{Addressing, Session};
use crate::path::{MAX_PATH, Place};
use crate::table::Context;

/// Follows symbolic links on the host, for decisions that have to look at it.
pub trait Links: core::fmt::Debug {
    /// Tells `each` the places that an absolute host path leads to: links on the way by
    /// their own names (of unknown kind), where a link leads with the rest of the path
    /// behind it, and at the end the path without links. `..` behind a link is the parent of where the link leads.
    /// A place is spelt with the directories of mounts as the session binds them.
    /// False if the path cannot be followed to its end: it is denied as `outside`.
    fn follow(
        &self,
        path: &[u8],
        permissions: Permission,
        each: &mut dyn FnMut(&[u8], Kind),
    ) -> bool;
}

impl Context<'_> {
    /// The least permissive answer over all places that a path leads to.
    pub(crate) fn followed(
        &self,
        session: &Session<'_>,
        place: &Place<'_>,
        path: &[u8],
        permissions: Permission,
        addressing: Addressing,
        links: &dyn Links,
    ) -> Decision {
        let mut buffer = [0u8; MAX_PATH];
        let from = match addressing {
            // `.` and `..` are the host's here: a program resolves them after links.
            Addressing::Host => match session.working_directory {
                _ if path.starts_with(b"/") => Some(path),
                Some(directory) => join(directory, path, &mut buffer),
                None => match self.root_place(session) {
                    Some(root) => {
                        let mut directory = [0u8; MAX_PATH];
                        let directory = root.copy_to(&mut directory).unwrap_or(b"");
                        join(directory, path, &mut buffer)
                    }
                    None => place.copy_to(&mut buffer),
                },
            },
            Addressing::Virtual => place.copy_to(&mut buffer),
        };
        let Some(from) = from.filter(|f| f.starts_with(b"/")) else {
            return Decision::deny(Reason::Outside);
        };
        let mut worst = Decision::new(Effect::Allow, Reason::Granted);
        let mut each = |path: &[u8], kind| {
            let decision = match self.locate(session, path, Addressing::Host) {
                Ok(located) => self.decide(session, &located, permissions, kind),
                Err(reason) => Decision::deny(reason),
            };
            worst = worst.stricter(decision);
        };
        if links.follow(from, permissions, &mut each) {
            worst
        } else {
            Decision::deny(Reason::Outside)
        }
    }
}

/// Two parts of a path with a separator between them; `None` if that is too long.
fn join<'b>(directory: &[u8], path: &[u8], buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let mut length = 0usize;
    for part in [directory, b"/", path] {
        let end = length.saturating_add(part.len());
        buffer.get_mut(length..end)?.copy_from_slice(part);
        length = end;
    }
    buffer.get(..length)
}
