//! File systems that take several spellings of a name for one.
//!
//! macOS and Windows fold case, and Linux does in directories that are marked so; some
//! normalise Unicode. There `.ENV` is `.env`, whatever a policy's patterns say. A path on
//! such a mount is decided by the spelling that the directory holds, besides the one that
//! was asked for. A name that is nowhere in its directory and exists all the same is
//! spelt in a way that is not understood here: it is refused. A name that does not exist
//! yet is also decided in lower case, which is how patterns are mostly written.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, statat};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How many names of a directory are tried to find out whether it folds.
const TRIED: usize = 32;

/// Whether names in a directory are found in another case too. Judged by its first
/// entries, or by its own name where it has none.
pub(crate) fn folds(directory: &OwnedFd, path: &Path) -> bool {
    let names = names(directory, b"").unwrap_or_default();
    let tried = names.iter().take(TRIED).filter_map(|name| Some((name, swapped(name)?)));
    let mut tried = tried.filter(|(_, swapped)| !names.contains(swapped));
    if let Some((name, swapped)) = tried.next() {
        return same(directory, name, &swapped);
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return false };
    let Some(swapped) = swapped(name.as_bytes()) else { return false };
    let Ok(parent) = super::beneath::directory(parent) else { return false };
    let listed = self::names(&parent, b"").unwrap_or_default();
    !listed.contains(&swapped) && same(&parent, name.as_bytes(), &swapped)
}

fn same(directory: &OwnedFd, one: &[u8], other: &[u8]) -> bool {
    let look = |name: &[u8]| {
        statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|s| (s.st_dev, s.st_ino))
    };
    look(one).is_some_and(|s| look(other) == Some(s))
}

/// A name with the case of its ASCII letters turned round; `None` if it has none.
fn swapped(name: &[u8]) -> Option<Vec<u8>> {
    let turn = |b: &u8| match b {
        b'a'..=b'z' => b.to_ascii_uppercase(),
        b => b.to_ascii_lowercase(),
    };
    let out = name.iter().map(turn).collect::<Vec<_>>();
    (out != name).then_some(out)
}

/// The names in a directory beneath another.
pub(crate) fn names(directory: &OwnedFd, path: &[u8]) -> rustix::io::Result<Vec<Vec<u8>>> {
    let path = if path.is_empty() { b"." } else { path };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(directory.as_fd(), path, flags, Mode::empty())?;
    let mut out = Vec::new();
    for entry in Dir::read_from(opened)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            out.push(name.to_vec());
        }
    }
    Ok(out)
}

/// How a directory that folds spells a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// As it was asked for.
    Exact,
    /// Otherwise.
    Other(Vec<u8>),
    /// It exists, and no entry is known to be it.
    Unknown,
}

/// Finds a name that exists among the entries of its directory.
pub(crate) fn spelling<'n>(name: &[u8], entries: impl IntoIterator<Item = &'n [u8]>) -> Spelling {
    let folded = fold(name);
    let mut found = None;
    for entry in entries {
        if entry == name {
            return Spelling::Exact;
        }
        if fold(entry) == folded {
            found = Some(entry.to_vec());
        }
    }
    found.map_or(Spelling::Unknown, Spelling::Other)
}

/// A name in lower case. Bytes that are no UTF-8 stay; so do accents, whose
/// several encodings are no concern here: a name that is not found is refused.
pub(crate) fn fold(name: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(name) {
        Ok(text) => text.chars().flat_map(char::to_lowercase).collect::<String>().into_bytes(),
        Err(_) => name.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_another_case() {
        let entries: [&[u8]; 4] = [b".env", b"README.md", "\u{e9}t\u{e9}".as_bytes(), b".git"];
        let look = |name: &str| spelling(name.as_bytes(), entries);
        assert_eq!(look(".env"), Spelling::Exact);
        assert_eq!(look(".ENV"), Spelling::Other(b".env".to_vec()));
        assert_eq!(look("readme.MD"), Spelling::Other(b"README.md".to_vec()));
        assert_eq!(look("\u{c9}T\u{c9}"), Spelling::Other("\u{e9}t\u{e9}".into()));
        // The same letters in another encoding: it would exist, and is not found.
        assert_eq!(look("e\u{301}te\u{301}"), Spelling::Unknown);
        assert_eq!(look(".gitignore"), Spelling::Unknown);
    }

    #[test]
    fn case_is_turned_round_where_there_is_one() {
        assert_eq!(swapped(b"Makefile"), Some(b"mAKEFILE".to_vec()));
        assert_eq!(swapped(b"123"), None);
    }

    #[test]
    fn this_file_system_is_seen_for_what_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        let handle = super::super::beneath::directory(&real).unwrap();
        std::fs::write(real.join("probe"), b"").unwrap();
        let found = real.join("PROBE").exists();
        assert_eq!(folds(&handle, &real), found);
    }
}
