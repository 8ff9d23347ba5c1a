//! How to open a file.

use crate::decision::Permission;
use rustix::fs::OFlags;

/// How to open a file, as [`std::fs::OpenOptions`], but that the guard decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    read: bool,
    write: bool,
    append: bool,
    pub(super) truncate: bool,
    create: bool,
    create_new: bool,
}

impl OpenOptions {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> OpenOptions {
        OpenOptions {
            read: false,
            write: false,
            append: false,
            truncate: false,
            create: false,
            create_new: false,
        }
    }

    /// To read.
    #[must_use]
    pub const fn read(mut self, yes: bool) -> OpenOptions {
        self.read = yes;
        self
    }

    /// To write.
    #[must_use]
    pub const fn write(mut self, yes: bool) -> OpenOptions {
        self.write = yes;
        self
    }

    /// To write at the end only.
    #[must_use]
    pub const fn append(mut self, yes: bool) -> OpenOptions {
        self.append = yes;
        self
    }

    /// To begin with an empty file.
    #[must_use]
    pub const fn truncate(mut self, yes: bool) -> OpenOptions {
        self.truncate = yes;
        self
    }

    /// To make the file if there is none.
    #[must_use]
    pub const fn create(mut self, yes: bool) -> OpenOptions {
        self.create = yes;
        self
    }

    /// To make the file, and fail if there is one.
    #[must_use]
    pub const fn create_new(mut self, yes: bool) -> OpenOptions {
        self.create_new = yes;
        self
    }

    /// What has to be granted.
    #[must_use]
    pub const fn permissions(self) -> Permission {
        let writes = self.write || self.append || self.truncate || self.create || self.create_new;
        match (self.read, writes) {
            (true, true) => Permission::READ.union(Permission::WRITE),
            (false, true) => Permission::WRITE,
            (_, false) => Permission::READ,
        }
    }

    pub(super) fn flags(self) -> OFlags {
        let writes = self.permissions().contains(Permission::WRITE);
        let mut flags = match (self.read, writes) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            (_, false) => OFlags::RDONLY,
        };
        // A pipe in the place of a file would block before it can be refused; to files
        // themselves it makes no difference.
        flags |= OFlags::NONBLOCK | OFlags::NOCTTY;
        if self.append {
            flags |= OFlags::APPEND;
        }
        if self.create || self.create_new {
            flags |= OFlags::CREATE;
        }
        if self.create_new {
            flags |= OFlags::EXCL;
        }
        flags
    }
}
