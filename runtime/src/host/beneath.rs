//! Opening files beneath a directory that is held open, without following a link.
//!
//! The path was decided before; a name that has become a link since then makes the call
//! fail with `LOOP`, so what is opened is what was decided. On Linux one call does it
//! (`openat2`, since 5.6). Where that is missing, every directory on the way is opened
//! from the one before it, which comes to the same.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, Result};
use std::path::Path;

/// For a handle that is only gone on from.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) const HANDLE: OFlags = OFlags::PATH;
/// For a handle that is only gone on from.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) const HANDLE: OFlags = OFlags::empty();

/// A directory by its absolute path, which has no links.
pub(crate) fn directory(path: &Path) -> Result<OwnedFd> {
    let root = rustix::fs::open("/", HANDLE | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let path = path.strip_prefix("/").map_err(|_| Errno::INVAL)?;
    open(
        root.as_fd(),
        std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()),
        HANDLE | OFlags::DIRECTORY,
        Mode::empty(),
    )
}

/// Opens `path`, relative and without `..`, beneath a directory. Fails with `LOOP` where a
/// link is on the way or at the end.
pub(crate) fn open(
    directory: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC;
    // A mode without a file to make is an error.
    let mode = if flags.contains(OFlags::CREATE) { mode } else { Mode::empty() };
    let path = if path.is_empty() { b"." } else { path };
    if path.starts_with(b"/") || path.split(|&b| b == b'/').any(|s| s == b"..") {
        return Err(Errno::INVAL);
    }
    match kernel(directory, path, flags, mode) {
        Some(result) => result,
        None => step_by_step(directory, path, flags, mode),
    }
}

/// With one call; `None` where there is no such call.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn kernel(
    directory: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    mode: Mode,
) -> Option<Result<OwnedFd>> {
    use rustix::fs::{ResolveFlags, openat2};
    use std::sync::atomic::{AtomicBool, Ordering};
    static MISSING: AtomicBool = AtomicBool::new(false);
    if MISSING.load(Ordering::Relaxed) {
        return None;
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // A rename somewhere on the machine makes the kernel give up a walk; it says so.
    for _ in 0..64 {
        match openat2(directory, path, flags, mode, resolve) {
            Err(Errno::AGAIN) => {}
            // Some sandboxes answer that it is not permitted.
            Err(Errno::NOSYS) => {
                MISSING.store(true, Ordering::Relaxed);
                return None;
            }
            Err(Errno::PERM) if !flags.contains(OFlags::CREATE) => return None,
            result => return Some(result),
        }
    }
    Some(Err(Errno::AGAIN))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn kernel(_: BorrowedFd<'_>, _: &[u8], _: OFlags, _: Mode) -> Option<Result<OwnedFd>> {
    None
}

fn step_by_step(
    directory: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd> {
    let (parent, name) = parent(directory, path)?;
    let parent = parent.as_ref().map_or(directory, AsFd::as_fd);
    let opened = openat(parent, name, flags | OFlags::NOFOLLOW, mode)?;
    // With a flag that only asks for a handle, that of the link itself is given.
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
    if kind == rustix::fs::FileType::Symlink { Err(Errno::LOOP) } else { Ok(opened) }
}

/// The directory that the last name of a path is in (`None`: the one given), and the name.
pub(crate) fn parent<'p>(
    directory: BorrowedFd<'_>,
    path: &'p [u8],
) -> Result<(Option<OwnedFd>, &'p [u8])> {
    let mut at: Option<OwnedFd> = None;
    let mut names = path.split(|&b| b == b'/').filter(|n| !n.is_empty() && *n != b".").peekable();
    let mut last: &[u8] = b".";
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            last = name;
            break;
        }
        let from = at.as_ref().map_or(directory, AsFd::as_fd);
        let flags = HANDLE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        at = Some(openat(from, name, flags, Mode::empty()).map_err(|e| match e {
            // What a link in the place of a directory is called.
            Errno::NOTDIR if is_link(from, name) => Errno::LOOP,
            e => e,
        })?);
    }
    Ok((at, last))
}

/// The directory that the last name of a path is in, opened as [`open`] does.
pub(crate) fn parent_of<'p>(
    directory: BorrowedFd<'_>,
    path: &'p [u8],
) -> Result<(OwnedFd, &'p [u8])> {
    let cut = path.iter().rposition(|&b| b == b'/');
    let (before, name) = match cut {
        Some(at) => {
            (path.get(..at).unwrap_or(&[]), path.get(at.saturating_add(1)..).unwrap_or(&[]))
        }
        None => (&b""[..], path),
    };
    if name.is_empty() || name == b"." || name == b".." {
        return Err(Errno::INVAL);
    }
    let parent = open(directory, before, HANDLE | OFlags::DIRECTORY, Mode::empty())?;
    Ok((parent, name))
}

fn is_link(directory: BorrowedFd<'_>, name: &[u8]) -> bool {
    rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|s| {
        rustix::fs::FileType::from_raw_mode(s.st_mode) == rustix::fs::FileType::Symlink
    })
}
