//! What the driver needs of the world: reading files, listing directories,
//! standard input, files of git revisions, the current directory.

#![allow(
    clippy::disallowed_methods,
    reason = "the one place of the compiler that touches files and processes"
)]

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// The world as the driver sees it.
pub trait Host {
    /// All bytes of a file, or of its first `limit + 1` bytes.
    ///
    /// # Errors
    /// As the file system gives them.
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>>;
    /// Names in a directory, sorted.
    ///
    /// # Errors
    /// As the file system gives them.
    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>>;
    /// Whether a path is a directory.
    fn is_dir(&self, path: &Path) -> bool;
    /// Whether a path is a file.
    fn is_file(&self, path: &Path) -> bool;
    /// Standard input, at most `limit + 1` bytes.
    ///
    /// # Errors
    /// As reading gives them.
    fn stdin(&self, limit: usize) -> io::Result<Vec<u8>>;
    /// A file as it is in a git revision.
    ///
    /// # Errors
    /// With git's own message.
    fn revision(&self, revision: &str, path: &str) -> io::Result<Vec<u8>>;
    /// The current directory.
    ///
    /// # Errors
    /// Where there is none.
    fn current_dir(&self) -> io::Result<PathBuf>;
    /// Writes a file so that it is either the old one or the new one whole.
    ///
    /// # Errors
    /// As the file system gives them; the old file is untouched then.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// What tells one state of a file from another: its length and time of change.
    fn changed(&self, path: &Path) -> Option<(u64, SystemTime)>;
    /// The time, to measure with.
    fn now(&self) -> Instant;
    /// Leaves a file to its owner alone and gives it another name, which nothing has yet.
    ///
    /// # Errors
    /// As the file system gives them; `AlreadyExists` where something has the name.
    fn publish(&self, path: &Path, name: &Path) -> io::Result<()>;
}

/// The real world.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Host for System {
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let file = std::fs::File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        take(file, limit)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let mut out = std::fs::read_dir(path)?
            .map(|e| e.map(|e| e.path()))
            .collect::<io::Result<Vec<_>>>()?;
        out.sort();
        Ok(out)
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn stdin(&self, limit: usize) -> io::Result<Vec<u8>> {
        take(io::stdin().lock(), limit)
    }

    fn revision(&self, revision: &str, path: &str) -> io::Result<Vec<u8>> {
        if revision.starts_with('-') {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a revision cannot begin with `-`",
            ));
        }
        let output = std::process::Command::new("git")
            .args([
                "show",
                &format!(
                    "{revision}:{}",
                    if path.starts_with('/') { path.to_owned() } else { format!("./{path}") }
                ),
            ])
            .stdin(std::process::Stdio::null())
            .output()?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(io::Error::new(io::ErrorKind::NotFound, message))
    }

    fn current_dir(&self) -> io::Result<PathBuf> {
        std::env::current_dir()
    }

    fn changed(&self, path: &Path) -> Option<(u64, SystemTime)> {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    }

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn publish(&self, path: &Path, name: &Path) -> io::Result<()> {
        if std::fs::symlink_metadata(name).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "something has that name"));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        }
        std::fs::rename(path, name)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        // Renaming would put a file in the place of a link.
        let there = std::fs::canonicalize(path).ok();
        let path = there.as_deref().unwrap_or(path);
        let directory =
            path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = directory.join(name);
        let result = (|| {
            let mut file = std::fs::File::create(&temporary)?;
            file.write_all(bytes)?;
            if let Ok(before) = std::fs::metadata(path) {
                file.set_permissions(before.permissions())?;
            }
            file.sync_all()?;
            std::fs::rename(&temporary, path)
        })();
        if result.is_err() {
            // The failure that is reported is the first one.
            let _ = std::fs::remove_file(&temporary);
        }
        result
    }
}

fn take(reader: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    reader.take(limit.saturating_add(1) as u64).read_to_end(&mut out)?;
    Ok(out)
}

/// A world in memory, for tests.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Files by path.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// Standard input.
    pub input: Vec<u8>,
}

impl Memory {
    /// One file named `p.mero`.
    #[must_use]
    pub fn policy(text: &str) -> Memory {
        let files = BTreeMap::from([(PathBuf::from("p.mero"), text.as_bytes().to_vec())]);
        Memory { files, input: Vec::new() }
    }
}

impl Host for Memory {
    fn read(&self, path: &Path, _limit: usize) -> io::Result<Vec<u8>> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no such file");
        self.files.get(path).cloned().ok_or_else(missing)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(self.files.keys().filter(|p| p.parent() == Some(path)).cloned().collect())
    }

    fn is_dir(&self, path: &Path) -> bool {
        !self.is_file(path) && self.files.keys().any(|p| p.starts_with(path))
    }

    fn is_file(&self, path: &Path) -> bool {
        // One that is named `REV:path` is of a revision.
        self.files.contains_key(path) && !path.to_string_lossy().contains(':')
    }

    fn stdin(&self, _limit: usize) -> io::Result<Vec<u8>> {
        Ok(self.input.clone())
    }

    fn revision(&self, revision: &str, path: &str) -> io::Result<Vec<u8>> {
        self.read(Path::new(&format!("{revision}:{path}")), usize::MAX)
    }

    fn current_dir(&self) -> io::Result<PathBuf> {
        Ok(PathBuf::from("/"))
    }

    fn changed(&self, path: &Path) -> Option<(u64, SystemTime)> {
        Some((self.files.get(path)?.len() as u64, SystemTime::UNIX_EPOCH))
    }

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn publish(&self, _path: &Path, _name: &Path) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "memory cannot be written"))
    }

    fn write(&self, _path: &Path, _bytes: &[u8]) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "memory cannot be written"))
    }
}
