//! The guard on real trees.
#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod approval;
mod audit;
mod binding;
mod cases;
mod files;
mod links;
mod processes;
mod race;

#[path = "../common/mod.rs"]
mod common;

use mero_runtime::host::{BindingError, Directories, Error, ErrorKind, Guard, Policy};
use mero_runtime::{OwnedTable, Reason};
use meroc::table::{Options, compile};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory with files, links and hard links in it, and a policy over it.
pub(crate) struct World {
    directory: tempfile::TempDir,
}

impl World {
    /// `files` are relative paths; `a -> b` is a link, `a = b` a hard link, `a/` a
    /// directory; a file's text is its path.
    pub(crate) fn new(files: &[&str]) -> World {
        let directory = tempfile::tempdir().unwrap();
        let world = World { directory };
        for file in files {
            if let Some((name, target)) = file.split_once(" -> ") {
                let name = world.at(name);
                fs::create_dir_all(name.parent().unwrap()).unwrap();
                let target = target.replace("$W", world.root().to_str().unwrap());
                symlink(target, name).unwrap();
            } else if let Some((name, target)) = file.split_once(" = ") {
                fs::create_dir_all(world.at(name).parent().unwrap()).unwrap();
                fs::hard_link(world.at(target), world.at(name)).unwrap();
            } else if file.ends_with('/') {
                fs::create_dir_all(world.at(file)).unwrap();
            } else {
                fs::create_dir_all(world.at(file).parent().unwrap()).unwrap();
                fs::write(world.at(file), file).unwrap();
            }
        }
        world
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// Binds the body of a context `w`, with `./` the world.
    pub(crate) fn bind(&self, body: &str) -> Result<Policy, BindingError> {
        let text = format!(
            "edition 1\ncontext w {{\n phases plan, default, accept_edits, trusted, bypass_permissions\n {body}\n}}\n"
        );
        self.bind_all(&text)
    }

    pub(crate) fn bind_all(&self, text: &str) -> Result<Policy, BindingError> {
        let options = Options { debug_info: true, ..Options::default() };
        let bytes = compile(&common::policy(text), options).unwrap().bytes;
        let table = OwnedTable::from_bytes(bytes).unwrap();
        Policy::bind(table, &Directories::new(self.root()).home(self.root().join("home")))
    }

    pub(crate) fn guard(&self, body: &str) -> Guard {
        Guard::new(Arc::new(self.bind(body).unwrap()), "w").unwrap()
    }
}

/// Why something was refused.
pub(crate) fn reason<T: std::fmt::Debug>(result: Result<T, Error>) -> Reason {
    let error = result.unwrap_err();
    error.reason().unwrap_or_else(|| panic!("{error}"))
}

pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.unwrap_err().kind()
}

/// Whether a path exists, as a link or otherwise.
pub(crate) fn exists(path: impl AsRef<Path>) -> bool {
    fs::symlink_metadata(path).is_ok()
}
