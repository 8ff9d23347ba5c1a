//! Whether a context fits a host: every directory that its mounts begin at is
//! known, and no two mounts come to be the same directory there.

use crate::decision::MountId;
use crate::eval::Session;
use crate::format::{Section, anchor, class, context, mount, node};
use crate::path::{Place, Segments};
use crate::table::Context;
use core::fmt;

/// Why a context cannot be used with a session's directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BindError<'a> {
    /// A mount is below the home directory, and none is known.
    NoHome,
    /// A parameter has no value.
    NoParameter(&'a str),
    /// A directory is not absolute: the base, home, or a parameter's.
    NotAbsolute(&'a str),
    /// Two mounts have the same directory on this host: neither can govern.
    SameDirectory(&'a str, &'a str),
}

impl fmt::Display for BindError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::NoHome => {
                f.write_str("a mount is below `~`, and no home directory is known")
            }
            BindError::NoParameter(name) => write!(f, "the parameter `{name}` has no value"),
            BindError::NotAbsolute(what) => write!(f, "the directory of {what} is not absolute"),
            BindError::SameDirectory(a, b) => {
                write!(f, "the mounts `{a}` and `{b}` are the same directory on this host")
            }
        }
    }
}

impl core::error::Error for BindError<'_> {}

impl<'a> Context<'a> {
    /// The directory of one of its mounts, as the session's directories place it; `None`
    /// for a mount of another context, or where a directory is not known.
    pub fn mount_place<'s>(&self, session: &Session<'s>, mount: MountId) -> Option<Place<'s>>
    where
        'a: 's,
    {
        if !self.record.list(context::MOUNTS).contains(&mount.0) {
            return None;
        }
        let (record, class) = self.mount_class(mount.0);
        let anchors = self.record.list(context::ANCHORS);
        let anchor = anchors.start.saturating_add(u32::from(class.u8(class::ANCHOR)));
        Place::new([self.anchor_path(session, anchor)?, self.directory(record), b""])
    }

    /// The directory of the mount `root`.
    pub(crate) fn root_place<'s>(&self, session: &Session<'s>) -> Option<Place<'s>>
    where
        'a: 's,
    {
        self.mount_place(session, MountId(self.record.option(context::ROOT)?))
    }

    /// Checks that the context can be used with a session's directories. What
    /// fails here is answered with `invalid` by every path decision.
    ///
    /// Cost: the number of mounts, times that of anchors.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn check_binding(&self, session: &Session<'_>) -> Result<(), BindError<'a>> {
        let anchors = self.record.list(context::ANCHORS);
        for index in anchors.clone() {
            if self.anchor_path(session, index).is_some() {
                continue;
            }
            let record = self.table.record(Section::Anchors, index);
            return Err(match record.u8(anchor::KIND) {
                anchor::BASE => BindError::NotAbsolute("`./`"),
                anchor::HOME if session.home.is_none() => BindError::NoHome,
                anchor::HOME => BindError::NotAbsolute("`~`"),
                _ => {
                    let name = self.table.param(record.u24(anchor::PARAM));
                    if session.params.iter().any(|(n, _)| *n == name) {
                        BindError::NotAbsolute(name)
                    } else {
                        BindError::NoParameter(name)
                    }
                }
            });
        }
        if anchors.len() < 2 {
            return Ok(());
        }
        for own in self.record.list(context::MOUNTS) {
            let (record, class) = self.mount_class(own);
            let from = anchors.start.saturating_add(u32::from(class.u8(class::ANCHOR)));
            for other in anchors.clone().filter(|&o| o != from) {
                let (Some(mine), Some(theirs)) =
                    (self.anchor_path(session, from), self.anchor_path(session, other))
                else {
                    continue;
                };
                let mut segments = Segments::of(mine).chain(Segments::of(self.directory(record)));
                if !Segments::of(theirs).all(|s| segments.next() == Some(s)) {
                    continue;
                }
                let root = self.table.record(Section::Anchors, other).u24(anchor::NODE);
                let end = segments.try_fold(root, |at, s| self.table.symbol(at, s).ok_or(()));
                let Ok(end) = end else { continue };
                let found = self.table.record(Section::Nodes, end).option(node::MOUNT);
                let here = found.filter(|&m| self.mount_class(m).0.u24(mount::NODE) == end);
                if let Some(m) = here {
                    return Err(BindError::SameDirectory(
                        self.slug(MountId(own)),
                        self.slug(MountId(m)),
                    ));
                }
            }
        }
        Ok(())
    }
}
