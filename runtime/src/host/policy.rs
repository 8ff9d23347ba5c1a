//! A table bound to the directories of this host.
//!
//! The table reasons about directories by their text. On a host, links, bind mounts and
//! file systems that fold case can make two of them one, or put one into another. What
//! the table proves holds only if mounts lie to one another here as they do there, so
//! binding looks at each mount's real directory and refuses a host where that is not so.
//! The directory of each mount is opened once and held: whatever is put in its place
//! later, files are reached through the directory that was bound.

use super::beneath;
use super::fold;
use super::resolve::Resolver;
use crate::bind::BindError;
use crate::decision::{Kind, Permission};
use crate::error::TableError;
use crate::eval::Session;
use crate::links::Links;
use crate::owned::OwnedTable;
use crate::table::{Context, Table};
use rustix::fd::OwnedFd;
use std::collections::HashMap;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The directories that a policy's `./`, `~` and parameters stand for.
#[derive(Clone, Debug, Default)]
pub struct Directories {
    base: PathBuf,
    home: Option<PathBuf>,
    params: Vec<(String, PathBuf)>,
    folds: bool,
}

impl Directories {
    /// With the directory that `./…` is in; `~` and parameters without a default are not
    /// known yet.
    #[must_use]
    pub fn new(base: impl Into<PathBuf>) -> Directories {
        Directories { base: base.into(), home: None, params: Vec::new(), folds: false }
    }

    /// What `~` stands for.
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Directories {
        self.home = Some(home.into());
        self
    }

    /// What a parameter stands for; it beats the parameter's default.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, directory: impl Into<PathBuf>) -> Directories {
        self.params.push((name.into(), directory.into()));
        self
    }

    /// Takes every mount for one whose file system folds case, also where it is not found
    /// to: names are then decided in lower case too.
    #[must_use]
    pub fn fold_case(mut self) -> Directories {
        self.folds = true;
        self
    }
}

/// Why a table cannot be used on this host.
#[derive(Debug)]
#[non_exhaustive]
pub enum BindingError {
    /// The bytes are no table.
    Table(TableError),
    /// The table could not be read.
    Read(PathBuf, std::io::Error),
    /// A parameter's value names no parameter of the table.
    UnknownParameter(String),
    /// A context's directories are not known; says which.
    Unbound(String, String),
    /// A directory cannot be looked at.
    Directory(PathBuf, std::io::Error),
    /// Two mounts are one directory on this host.
    Coincide {
        /// The context.
        context: String,
        /// A mount.
        one: String,
        /// The other.
        other: String,
        /// Their directory.
        directory: PathBuf,
    },
    /// A mount lies elsewhere among the others than the table assumes.
    Nests {
        /// The context.
        context: String,
        /// The mount.
        mount: String,
        /// Its directory on this host.
        directory: PathBuf,
        /// The mount that it lies in by the policy.
        assumed: Option<String>,
        /// The mount that it lies in on this host.
        found: Option<String>,
    },
}

impl fmt::Display for BindingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindingError::Table(error) => write!(f, "the table cannot be used: {error}"),
            BindingError::Read(path, error) => {
                write!(f, "cannot read `{}`: {error}", path.display())
            }
            BindingError::UnknownParameter(name) => {
                write!(f, "the policy has no parameter `{name}`")
            }
            BindingError::Unbound(context, why) => {
                write!(f, "the context `{context}` cannot be bound: {why}")
            }
            BindingError::Directory(path, error) => {
                write!(f, "cannot look at the directory `{}`: {error}", path.display())
            }
            BindingError::Coincide { context, one, other, directory } => write!(
                f,
                "the mounts `{one}` and `{other}` of `{context}` are the same directory on this host, `{}`: give them different ones",
                directory.display()
            ),
            BindingError::Nests { context, mount, directory, assumed, found } => {
                let place = |m: &Option<String>| match m {
                    Some(m) => format!("in the mount `{m}`"),
                    None => "in no other mount".to_owned(),
                };
                write!(
                    f,
                    "the mount `{mount}` of `{context}` lies {} by the policy, and {} on this host, where it is `{}`: write its directory so that both agree",
                    place(assumed),
                    if assumed == found { "elsewhere there".to_owned() } else { place(found) },
                    directory.display()
                )
            }
        }
    }
}

impl std::error::Error for BindingError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BindingError::Table(error) => Some(error),
            BindingError::Read(_, error) | BindingError::Directory(_, error) => Some(error),
            _ => None,
        }
    }
}

impl From<TableError> for BindingError {
    fn from(error: TableError) -> BindingError {
        BindingError::Table(error)
    }
}

/// Follows links on this host, for one context of a policy.
#[derive(Debug)]
pub struct Follow<'p>(Resolver<'p>);

impl Links for Follow<'_> {
    fn follow(
        &self,
        path: &[u8],
        permissions: Permission,
        each: &mut dyn FnMut(&[u8], Kind),
    ) -> bool {
        self.0.follow(path, permissions, each)
    }
}

/// A mount on this host.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) slug: Box<str>,
    /// Its directory as the table places it.
    pub(crate) written: Vec<u8>,
    /// The same without links.
    pub(crate) real: Vec<u8>,
    /// The directory, held open; `None` if there was none when the policy was bound.
    pub(crate) handle: Option<OwnedFd>,
    /// Its file system takes several spellings of a name for one.
    pub(crate) folds: bool,
}

/// Mounts by their directories.
#[derive(Debug, Default)]
struct Places {
    by: HashMap<Vec<u8>, usize>,
    /// Which lengths the directories have: all others need no look.
    lengths: Vec<bool>,
}

impl Places {
    /// Adds a mount; gives the one that was there.
    fn insert(&mut self, directory: Vec<u8>, index: usize) -> Option<usize> {
        if self.lengths.len() <= directory.len() {
            self.lengths.resize(directory.len().saturating_add(1), false);
        }
        if let Some(known) = self.lengths.get_mut(directory.len()) {
            *known = true;
        }
        self.by.insert(directory, index)
    }

    /// The deepest mount that a path lies in, and the rest of the path.
    fn deepest<'p>(&self, path: &'p [u8]) -> Option<(usize, &'p [u8])> {
        ancestors(path).find_map(|a| {
            if !self.lengths.get(a.len()).is_some_and(|known| *known) {
                return None;
            }
            let index = *self.by.get(a)?;
            let rest = path.get(a.len()..).unwrap_or(&[]);
            Some((index, rest.strip_prefix(b"/").unwrap_or(rest)))
        })
    }
}

/// A context on this host.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) mounts: Vec<Mount>,
    by_real: Places,
    by_written: Places,
    /// The root of the file system, for a context without mounts.
    pub(crate) filesystem: Option<Mount>,
}

/// A table bound to this host. Shared by all guards; holds no lock.
#[derive(Debug)]
pub struct Policy {
    table: OwnedTable,
    base: Vec<u8>,
    home: Option<Vec<u8>>,
    params: Vec<(String, Vec<u8>)>,
    contexts: Vec<Bound>,
}

impl Policy {
    /// Reads a table from a file and binds it.
    ///
    /// # Errors
    /// [`BindingError`], which says what does not fit.
    pub fn load(path: &Path, directories: &Directories) -> Result<Policy, BindingError> {
        let bytes = std::fs::read(path).map_err(|e| BindingError::Read(path.to_owned(), e))?;
        Policy::bind(OwnedTable::from_bytes(bytes)?, directories)
    }

    /// Binds a table: every mount's directory is looked up, opened and held. A directory
    /// that does not exist yet is no error; it may be made later.
    ///
    /// Cost: a few system calls for each mount.
    ///
    /// # Errors
    /// [`BindingError`]: a directory is not known, or mounts lie to one another otherwise
    /// than the table assumes.
    pub fn bind(table: OwnedTable, directories: &Directories) -> Result<Policy, BindingError> {
        let absolute = |path: &Path| {
            std::path::absolute(path).map_err(|e| BindingError::Directory(path.to_owned(), e))
        };
        let bytes = |path: PathBuf| path.into_os_string().into_vec();
        let base = bytes(absolute(&directories.base)?);
        let home = directories.home.as_deref().map(absolute).transpose()?.map(bytes);
        let mut params = Vec::new();
        for (name, default) in table.table().params() {
            let given = directories.params.iter().rev().find(|(n, _)| n == name);
            let directory = match (given, default) {
                (Some((_, directory)), _) => Some(bytes(absolute(directory)?)),
                (None, Some(default)) => expand(default, &base, home.as_deref()),
                (None, None) => None,
            };
            params.extend(directory.map(|d| (name.to_owned(), d)));
        }
        let known = |name: &str| table.table().params().any(|(n, _)| n == name);
        if let Some((name, _)) = directories.params.iter().find(|(n, _)| !known(n)) {
            return Err(BindingError::UnknownParameter(name.clone()));
        }
        let mut policy = Policy { table, base, home, params, contexts: Vec::new() };
        let named = policy.params();
        let session = policy.session(&named);
        let contexts = policy.table().contexts().map(|c| bind_context(&c, &session));
        let mut contexts = contexts.collect::<Result<Vec<_>, _>>()?;
        let mounts = contexts.iter_mut().flat_map(|c| c.mounts.iter_mut().chain(&mut c.filesystem));
        mounts.for_each(|m| m.folds |= directories.folds);
        policy.contexts = contexts;
        Ok(policy)
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> Table<'_> {
        self.table.table()
    }

    /// Follows links for decisions of a context ([`Session::links`]); `None` if there is no
    /// such context.
    #[must_use]
    pub fn links(&self, context: &str) -> Option<Follow<'_>> {
        let index = self.table().contexts().position(|c| c.name() == context)?;
        Some(Follow(Resolver::new(self.bound(index)?, true)))
    }

    /// Parameters as a session has them.
    pub(crate) fn params(&self) -> Vec<(&str, &[u8])> {
        self.params.iter().map(|(n, d)| (n.as_str(), d.as_slice())).collect()
    }

    /// A session with the policy's directories.
    pub(crate) fn session<'s>(&'s self, params: &'s [(&'s str, &'s [u8])]) -> Session<'s> {
        Session { base: &self.base, home: self.home.as_deref(), params, ..Session::default() }
    }

    /// A context by its number.
    pub(crate) fn bound(&self, index: usize) -> Option<&Bound> {
        self.contexts.get(index)
    }
}

impl Bound {
    /// The deepest mount that a path without links lies in, and the rest.
    pub(crate) fn of_real<'p>(&self, path: &'p [u8]) -> Option<(&Mount, &'p [u8])> {
        self.deepest(&self.by_real, path).or_else(|| self.whole(path))
    }

    /// The deepest mount that a path lies in as the table places it, and the rest.
    pub(crate) fn of_written<'p>(&self, path: &'p [u8]) -> Option<(&Mount, &'p [u8])> {
        self.deepest(&self.by_written, path).or_else(|| self.whole(path))
    }

    fn whole<'p>(&self, path: &'p [u8]) -> Option<(&Mount, &'p [u8])> {
        Some((self.filesystem.as_ref()?, path.strip_prefix(b"/")?))
    }

    fn deepest<'p>(&self, by: &Places, path: &'p [u8]) -> Option<(&Mount, &'p [u8])> {
        let (index, rest) = by.deepest(path)?;
        Some((self.mounts.get(index)?, rest))
    }
}

/// A path, its parent, and so on to `/`.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut next = Some(path);
    std::iter::from_fn(move || {
        let this = next?;
        next = match this.iter().rposition(|&b| b == b'/') {
            _ if this == b"/" => None,
            Some(0) => Some(b"/"),
            Some(at) => this.get(..at),
            None => None,
        };
        Some(this)
    })
}

fn expand(default: &str, base: &[u8], home: Option<&[u8]>) -> Option<Vec<u8>> {
    let (from, rest) = match (default.strip_prefix('~'), default.strip_prefix('.')) {
        (Some(rest), _) => (home?, rest),
        (None, Some(rest)) => (base, rest),
        (None, None) => (&b""[..], default),
    };
    Some([from, rest.as_bytes()].concat())
}

fn bind_context(context: &Context<'_>, session: &Session<'_>) -> Result<Bound, BindingError> {
    let name = || context.name().to_owned();
    context.check_binding(session).map_err(|error| match error {
        BindError::SameDirectory(one, other) => BindingError::Coincide {
            context: name(),
            one: one.to_owned(),
            other: other.to_owned(),
            directory: context
                .mounts()
                .find(|&m| context.slug(m) == one)
                .and_then(|m| context.mount_place(session, m))
                .map(|p| PathBuf::from(p.to_string()))
                .unwrap_or_default(),
        },
        other => BindingError::Unbound(name(), other.to_string()),
    })?;
    let mut bound = Bound {
        mounts: Vec::new(),
        by_real: Places::default(),
        by_written: Places::default(),
        filesystem: None,
    };
    for id in context.mounts() {
        let mut buffer = [0u8; crate::path::MAX_PATH];
        let place = context.mount_place(session, id);
        let written = place.as_ref().and_then(|p| p.copy_to(&mut buffer));
        let Some(written) = written else {
            let why = format!("the directory of the mount `{}` is too long", context.slug(id));
            return Err(BindingError::Unbound(name(), why));
        };
        let mount = open_mount(context.slug(id), written)?;
        let index = bound.mounts.len();
        bound.by_written.insert(mount.written.clone(), index);
        if let Some(other) = bound.by_real.insert(mount.real.clone(), index) {
            let other = bound.mounts.get(other).map_or("", |m| &m.slug).to_owned();
            return Err(BindingError::Coincide {
                context: name(),
                one: other,
                other: mount.slug.to_string(),
                directory: path_of(&mount.real),
            });
        }
        bound.mounts.push(mount);
    }
    nests_as_written(context.name(), &bound)?;
    if context.is_unconfined() && bound.mounts.is_empty() {
        bound.filesystem = Some(open_mount("", b"/")?);
    }
    Ok(bound)
}

/// That mounts lie in one another on this host where they do by the policy, and at the
/// same place there.
fn nests_as_written(context: &str, bound: &Bound) -> Result<(), BindingError> {
    for mount in &bound.mounts {
        let parent = |path: &[u8], by: &Places| {
            let above = ancestors(path).nth(1)?;
            let (index, rest) = by.deepest(above)?;
            let inner = path.get(above.len().saturating_sub(rest.len())..).unwrap_or(&[]);
            Some((index, inner.strip_prefix(b"/").unwrap_or(inner).to_vec()))
        };
        let assumed = parent(&mount.written, &bound.by_written);
        let found = parent(&mount.real, &bound.by_real);
        if assumed != found {
            let slug = |p: &Option<(usize, Vec<u8>)>| {
                p.as_ref().and_then(|(i, _)| bound.mounts.get(*i)).map(|m| m.slug.to_string())
            };
            return Err(BindingError::Nests {
                context: context.to_owned(),
                mount: mount.slug.to_string(),
                directory: path_of(&mount.real),
                assumed: slug(&assumed),
                found: slug(&found),
            });
        }
    }
    Ok(())
}

fn open_mount(slug: &str, written: &[u8]) -> Result<Mount, BindingError> {
    let real = real_directory(&path_of(written))?;
    let handle = match beneath::directory(&real) {
        Ok(handle) => Some(handle),
        // Not there yet, or a mount for a single file.
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => None,
        Err(error) => return Err(BindingError::Directory(real, error.into())),
    };
    let folds = handle.as_ref().is_some_and(|h| fold::folds(h, &real));
    Ok(Mount {
        slug: slug.into(),
        written: written.to_vec(),
        real: real.into_os_string().into_vec(),
        handle,
        folds,
    })
}

/// A directory without links; the part that does not exist stays as it is.
fn real_directory(path: &Path) -> Result<PathBuf, BindingError> {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        match std::fs::canonicalize(existing) {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Ok(real);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // A link that leads nowhere is there all the same.
                if std::fs::symlink_metadata(existing).is_ok() {
                    return Err(BindingError::Directory(existing.to_owned(), error));
                }
                let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
                    return Err(BindingError::Directory(path.to_owned(), error));
                };
                missing.push(name);
                existing = parent;
            }
            Err(error) => return Err(BindingError::Directory(existing.to_owned(), error)),
        }
    }
}

pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}
