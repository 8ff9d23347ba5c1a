//! Reading a policy and all that it imports.

use super::Host;
use crate::diag::registry as codes;
use crate::diag::{Diagnostic, did_you_mean};
use crate::hir::resolve::Unit;
use crate::library;
use crate::limits::{MAX_FILE_BYTES, MAX_FILES};
use crate::source::{FileId, SourceMap, Span};
use crate::syntax::{self, ast};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Why a policy could not be read at all.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum LoadError {
    /// A file.
    #[error("cannot read `{path}`")]
    #[diagnostic(code(meroc::io), help("{help}"))]
    Read {
        /// As given.
        path: String,
        /// Why.
        source: std::io::Error,
        /// What to try.
        help: String,
    },
    /// A directory without policies.
    #[error("the directory `{path}` holds no policy")]
    #[diagnostic(
        code(meroc::empty),
        help("put a `.mero` file there, or name one; `meroc init` writes a first one")
    )]
    Empty {
        /// As given.
        path: String,
    },
    /// A directory's `mero.toml`.
    #[error("`{path}` is malformed: {message}")]
    #[diagnostic(
        code(meroc::config),
        help("it says which files to begin with: `roots = [\"policy.mero\"]`")
    )]
    Config {
        /// The file.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// A table whose policy cannot be had.
    #[error("the policy of the table `{path}` cannot be had: {why}")]
    #[diagnostic(
        code(meroc::needs_source),
        help(
            "compile it with `--debug-info` and this version, or name the `.mero` file; \
             `REV:path` names one in a git revision"
        )
    )]
    Unusable {
        /// As given.
        path: String,
        /// What is missing.
        why: String,
    },
    /// A table where source is needed.
    #[error("`{path}` is a compiled table, and this needs the policy's source")]
    #[diagnostic(
        code(meroc::needs_source),
        help("name the `.mero` file that it was compiled from")
    )]
    Table {
        /// As given.
        path: String,
    },
}

pub(super) struct Loaded {
    pub(super) units: Vec<Unit>,
    pub(super) sources: SourceMap,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) directory: PathBuf,
}

/// Whether bytes are those of a table.
#[must_use]
pub fn is_table(bytes: &[u8]) -> bool {
    bytes.starts_with(&mero_runtime::format::MAGIC)
}

/// The directory that `./…` mounts of a policy are in by default.
#[must_use]
pub fn directory_of(host: &dyn Host, policy: &str) -> PathBuf {
    let path = Path::new(policy);
    let directory = if policy == "-" {
        PathBuf::from(".")
    } else if host.is_dir(path) {
        path.to_owned()
    } else {
        let plain = if host.is_file(path) {
            policy
        } else {
            policy.split_once(':').map_or(policy, |(_, p)| p)
        };
        Path::new(plain).parent().map_or_else(PathBuf::new, Path::to_path_buf)
    };
    let current = host.current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    normal(&current.join(directory))
}

/// A path without `.` and, lexically, `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            other => out.push(other),
        }
    }
    if out.as_os_str().is_empty() { PathBuf::from(".") } else { out }
}

struct Loader<'h> {
    host: &'h dyn Host,
    sources: SourceMap,
    diagnostics: Vec<Diagnostic>,
    units: Vec<Unit>,
    /// Files by normal path; `None` while the file is still being read through.
    known: BTreeMap<PathBuf, FileId>,
    /// The files that import one another right now, outermost first.
    open: Vec<FileId>,
}

pub(super) fn load(host: &dyn Host, policy: &str) -> Result<Loaded, LoadError> {
    load_all(host, policy, roots(host, policy)?)
}

/// Begins with several files; what has been imported already is not read again.
pub(super) fn load_all(
    host: &dyn Host,
    policy: &str,
    roots: Vec<String>,
) -> Result<Loaded, LoadError> {
    let mut loader = Loader {
        host,
        sources: SourceMap::default(),
        diagnostics: Vec::new(),
        units: Vec::new(),
        known: BTreeMap::new(),
        open: Vec::new(),
    };
    for root in roots {
        loader.root(&root)?;
    }
    loader.library();
    let Loader { sources, diagnostics, units, .. } = loader;
    Ok(Loaded { units, sources, diagnostics, directory: directory_of(host, policy) })
}

fn unreadable(host: &dyn Host, path: &str, source: std::io::Error) -> LoadError {
    let near = Path::new(path).parent().and_then(|d| {
        let directory = if d.as_os_str().is_empty() { Path::new(".") } else { d };
        let names = host.list(directory).unwrap_or_default();
        let names = names
            .iter()
            .filter_map(|p| p.file_name()?.to_str().map(str::to_owned))
            .collect::<Vec<_>>();
        let own = Path::new(path).file_name()?.to_str()?.to_owned();
        did_you_mean(&own, names.iter().map(String::as_str))
            .map(|n| d.join(n).display().to_string())
    });
    let help = near.map_or_else(
        || {
            "name a `.mero` file, a directory of them, `-` for standard input, or `REV:path`"
                .to_owned()
        },
        |n| format!("did you mean `{n}`?"),
    );
    LoadError::Read { path: path.to_owned(), source, help }
}

/// The files to begin with.
fn roots(host: &dyn Host, policy: &str) -> Result<Vec<String>, LoadError> {
    let path = Path::new(policy);
    if policy == "-" || !host.is_dir(path) {
        return Ok(vec![policy.to_owned()]);
    }
    let show = |p: &Path| p.display().to_string();
    let config = path.join("mero.toml");
    if host.is_file(&config) {
        let bytes =
            host.read(&config, MAX_FILE_BYTES).map_err(|e| unreadable(host, &show(&config), e))?;
        let malformed = |message: String| LoadError::Config { path: show(&config), message };
        let text = String::from_utf8(bytes).map_err(|_| malformed("it is not UTF-8".into()))?;
        let roots = config_roots(&text).map_err(malformed)?;
        return Ok(roots.iter().map(|r| show(&path.join(r))).collect());
    }
    let names = host.list(path).map_err(|e| unreadable(host, policy, e))?;
    let files = names
        .iter()
        .filter(|p| p.extension().is_some_and(|e| e == "mero") && host.is_file(p))
        .map(|p| show(p))
        .collect::<Vec<_>>();
    if files.is_empty() { Err(LoadError::Empty { path: policy.to_owned() }) } else { Ok(files) }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    roots: Vec<String>,
}

fn config_roots(text: &str) -> Result<Vec<String>, String> {
    let config: Config = toml::from_str(text).map_err(|e| e.message().to_owned())?;
    if config.roots.is_empty() { Err("`roots` names no file".into()) } else { Ok(config.roots) }
}

impl Loader<'_> {
    fn root(&mut self, name: &str) -> Result<(), LoadError> {
        let host = self.host;
        let path = normal(Path::new(name));
        if self.known.contains_key(&path) {
            return Ok(());
        }
        let (bytes, path) = if name == "-" {
            (
                host.stdin(MAX_FILE_BYTES).map_err(|e| unreadable(host, name, e))?,
                PathBuf::from("<stdin>"),
            )
        } else {
            match (host.read(Path::new(name), MAX_FILE_BYTES), name.split_once(':')) {
                (Ok(bytes), _) => (bytes, path),
                (Err(_), Some((revision, file))) if !host.is_file(Path::new(name)) => {
                    let bytes = host.revision(revision, file);
                    (bytes.map_err(|e| unreadable(host, name, e))?, PathBuf::from(name))
                }
                (Err(error), _) => return Err(unreadable(host, name, error)),
            }
        };
        if is_table(&bytes) {
            return Err(LoadError::Table { path: name.to_owned() });
        }
        let shown = if name == "-" { "<stdin>".to_owned() } else { name.to_owned() };
        self.file(path, &shown, &bytes, false);
        Ok(())
    }

    /// Parses a file and reads its imports. `open` holds who imports whom.
    fn file(&mut self, path: PathBuf, name: &str, bytes: &[u8], std: bool) -> FileId {
        let file = self.sources.add(name, "");
        self.known.insert(path.clone(), file);
        let tree = match syntax::decode(file, bytes) {
            Ok(text) => {
                self.sources.set_text(file, text.clone());
                let (tree, found) = syntax::parse(file, &text);
                self.diagnostics.extend(found);
                tree
            }
            Err(diagnostic) => {
                self.diagnostics.push(diagnostic);
                let span = Span::new(file, 0, 0);
                ast::File {
                    edition: None,
                    imports: Vec::new(),
                    items: Vec::new(),
                    comments: Vec::new(),
                    span,
                }
            }
        };
        self.open.push(file);
        let imports = tree.imports.iter().map(|i| self.import(&path, i)).collect();
        self.open.pop();
        self.units.push(Unit { file, tree, imports, std });
        file
    }

    fn import(&mut self, importer: &Path, import: &ast::Import) -> Option<FileId> {
        let written = &import.path.node;
        let span = import.path.span;
        let (revision, local) = split_revision(self.host, importer);
        let directory = local.parent().unwrap_or(Path::new(""));
        let path = normal(&directory.join(written));
        let key = revision
            .as_ref()
            .map_or_else(|| path.clone(), |r| PathBuf::from(format!("{r}:{}", path.display())));
        if let Some(&file) = self.known.get(&key) {
            if self.open.contains(&file) {
                let name = |f: &FileId| self.sources.get(*f).map_or("", |f| &f.name).to_owned();
                let start = self.open.iter().position(|f| *f == file).unwrap_or(0);
                let circle =
                    self.open.get(start..).unwrap_or(&[]).iter().map(|f| format!("`{}`", name(f)));
                let circle = circle.collect::<Vec<_>>().join(" imports ");
                self.diagnostics.push(
                    Diagnostic::new(
                        &codes::IMPORT_CYCLE,
                        span,
                        format!("{circle} imports `{}`: a circle", name(&file)),
                    )
                    .help("move what both need into a third file"),
                );
                return None;
            }
            return Some(file);
        }
        if self.known.len() >= MAX_FILES {
            self.diagnostics.push(Diagnostic::new(
                &codes::TOO_LARGE,
                span,
                format!("more than {MAX_FILES} files are imported"),
            ));
            return None;
        }
        let read = match &revision {
            Some(revision) => self.host.revision(revision, &path.display().to_string()),
            None => self.host.read(&path, MAX_FILE_BYTES),
        };
        match read {
            Ok(bytes) => Some(self.file(key.clone(), &key.display().to_string(), &bytes, false)),
            Err(error) => {
                let names = self
                    .host
                    .list(
                        path.parent()
                            .filter(|p| !p.as_os_str().is_empty())
                            .unwrap_or(Path::new(".")),
                    )
                    .unwrap_or_default();
                let names = names
                    .iter()
                    .filter_map(|p| p.file_name()?.to_str().map(str::to_owned))
                    .collect::<Vec<_>>();
                let own =
                    Path::new(written).file_name().and_then(|n| n.to_str()).unwrap_or(written);
                let near = did_you_mean(own, names.iter().map(String::as_str));
                let help = match near {
                    Some(near) => format!(
                        "did you mean `{}`?",
                        Path::new(written).with_file_name(near).display()
                    ),
                    None if written.starts_with("std") => {
                        "built-in profiles need no import: `use std::NAME`".to_owned()
                    }
                    None => "the path is relative to the importing file".to_owned(),
                };
                self.diagnostics.push(
                    Diagnostic::new(
                        &codes::MISSING_IMPORT,
                        span,
                        format!("`{}` cannot be read: {}", path.display(), reason(&error)),
                    )
                    .help(help),
                );
                None
            }
        }
    }

    /// Adds the built-in profiles that are used.
    fn library(&mut self) {
        let mut wanted = Vec::new();
        for unit in &self.units {
            for item in &unit.tree.items {
                if let ast::ItemKind::Context { body, .. } | ast::ItemKind::Profile { body, .. } =
                    &item.kind
                {
                    for statement in body {
                        if let ast::StatementKind::Use(names) = &statement.kind {
                            wanted.extend(
                                names
                                    .iter()
                                    .filter_map(|n| n.node.strip_prefix("std::"))
                                    .map(str::to_owned),
                            );
                        }
                    }
                }
            }
        }
        wanted.sort();
        wanted.dedup();
        for name in wanted {
            if let Some(text) = library::std_source(&name) {
                let shown = format!("{}{name}.mero", library::SHOWN_IN);
                self.file(PathBuf::from(&shown), &shown, text.as_bytes(), true);
            }
        }
    }
}

/// Why a file cannot be read, in words that do not depend on the system.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

fn split_revision(host: &dyn Host, path: &Path) -> (Option<String>, PathBuf) {
    match path.to_str().and_then(|p| p.split_once(':')) {
        Some((revision, rest)) if !host.is_file(path) && !revision.contains('/') => {
            (Some(revision.to_owned()), PathBuf::from(rest))
        }
        _ => (None, path.to_owned()),
    }
}
