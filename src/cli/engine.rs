//! A policy ready to decide: the table, and the source where there is one.

use super::{Binding, Failure, Terminal};
use crate::diag::{Level, render};
use crate::driver::{self, Analysis, Host, LoadError};
use crate::hir::Policy;
use crate::limits::MAX_FILE_BYTES;
use crate::oracle::Hosts;
use crate::request::placeholders;
use crate::table::{self, Options};
use mero_runtime::{BindError, OwnedTable, Phase, Session, Table};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

/// Largest table that is read.
const MAX_TABLE_BYTES: usize = 1 << 30;

/// What a table compiled here must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// Only what to answer.
    Decisions,
    /// Which rule decides, too.
    Rules,
}

/// A policy ready to decide.
pub(super) struct Engine {
    table: OwnedTable,
    /// The source, unless the policy was given as a table.
    pub(super) policy: Option<Policy>,
    pub(super) hosts: Hosts,
    /// Where links of this host are followed.
    #[cfg(unix)]
    bound: Option<mero_runtime::host::Policy>,
}

impl Engine {
    /// Loads a `.mero` policy or a table and binds it.
    pub(super) fn load(
        host: &dyn Host,
        name: &str,
        binding: &Binding,
        terminal: Terminal,
        detail: Detail,
    ) -> Result<Engine, Failure> {
        let (bytes, policy) = match table_bytes(host, name)? {
            Some(bytes) => (bytes, None),
            None => {
                let analysis = sound(host, name, terminal)?;
                let bytes = compiled(&analysis, terminal, detail)?;
                (bytes, Some(analysis.policy))
            }
        };
        let table = owned(name, bytes)?;
        let hosts = bind(host, name, &table.table(), binding)?;
        let engine = Engine::new(table, policy, hosts);
        engine.check_binding()?;
        Ok(engine)
    }

    /// An engine to try a policy out, with directories that are nowhere.
    pub(super) fn examined(
        analysis: &Analysis,
        terminal: Terminal,
        detail: Detail,
    ) -> Result<Engine, Failure> {
        let bytes = compiled(analysis, terminal, detail)?;
        let hosts = placeholders(&analysis.policy);
        Ok(Engine::new(owned("policy", bytes)?, Some(analysis.policy.clone()), hosts))
    }

    fn new(table: OwnedTable, policy: Option<Policy>, hosts: Hosts) -> Engine {
        Engine {
            table,
            policy,
            hosts,
            #[cfg(unix)]
            bound: None,
        }
    }

    /// Follows links of this host in all decisions.
    #[cfg(unix)]
    pub(super) fn following_links(mut self) -> Result<Engine, Failure> {
        use mero_runtime::host;
        use std::os::unix::ffi::OsStringExt;
        let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
        let mut directories = host::Directories::new(path(&self.hosts.base));
        if let Some(home) = &self.hosts.home {
            directories = directories.home(path(home));
        }
        for (name, directory) in &self.hosts.params {
            directories = directories.param(name.clone(), path(directory));
        }
        let bound = host::Policy::bind(self.table.clone(), &directories).map_err(|e| {
            Failure::usage(e.to_string(), "without `--resolve` no link is followed")
        })?;
        self.bound = Some(bound);
        Ok(self)
    }

    /// Follows links of this host in all decisions.
    #[cfg(not(unix))]
    pub(super) fn following_links(self) -> Result<Engine, Failure> {
        Err(Failure::usage("links are only followed on Unix", "leave out `--resolve`"))
    }

    /// Whether links are followed: the policy's text alone does not decide then.
    pub(super) fn follows_links(&self) -> bool {
        #[cfg(unix)]
        return self.bound.is_some();
        #[cfg(not(unix))]
        false
    }

    /// Decides in a session of a context.
    pub(super) fn decide<T>(
        &self,
        context: &str,
        phase: Phase,
        decide: impl FnOnce(&Session<'_>) -> T,
    ) -> T {
        let params = self.params();
        let session = self.session(phase, &params);
        #[cfg(unix)]
        if let Some(follow) = self.bound.as_ref().and_then(|b| b.links(context)) {
            return decide(&Session { links: Some(&follow), ..session });
        }
        let _ = context;
        decide(&session)
    }

    fn check_binding(&self) -> Result<(), Failure> {
        let params = self.params();
        let session = self.session(Phase::Default, &params);
        for context in self.table().contexts() {
            context.check_binding(&session).map_err(|error| {
                let help = match error {
                    BindError::NoHome => "add `--home DIR`",
                    BindError::SameDirectory(..) => "give them different directories, or join them",
                    _ => "see `--base`, `--home` and `--param`",
                };
                Failure::usage(
                    format!("the context `{}` cannot be bound: {error}", context.name()),
                    help,
                )
            })?;
        }
        Ok(())
    }

    pub(super) fn table(&self) -> Table<'_> {
        self.table.table()
    }

    /// The parameters in the form of a session.
    pub(super) fn params(&self) -> Vec<(&str, &[u8])> {
        self.hosts.params.iter().map(|(n, d)| (n.as_str(), d.as_slice())).collect()
    }

    pub(super) fn session<'s>(
        &'s self,
        phase: Phase,
        params: &'s [(&'s str, &'s [u8])],
    ) -> Session<'s> {
        Session {
            phase,
            base: &self.hosts.base,
            home: self.hosts.home.as_deref(),
            working_directory: self.hosts.working_directory.as_deref(),
            params,
            links: None,
        }
    }
}

fn compiled(analysis: &Analysis, terminal: Terminal, detail: Detail) -> Result<Vec<u8>, Failure> {
    let plain = Options::default();
    let compiled = match detail {
        Detail::Decisions => table::compile(&analysis.policy, plain),
        // Rules that stay apart may outgrow a table that holds the decisions alone.
        Detail::Rules => table::compile(&analysis.policy, Options { debug_info: true, ..plain })
            .or_else(|_| table::compile(&analysis.policy, plain)),
    };
    let compiled = compiled.map_err(|d| {
        show(&[*d], analysis, terminal);
        Failure::Broken
    })?;
    Ok(compiled.bytes)
}

fn owned(name: &str, bytes: Vec<u8>) -> Result<OwnedTable, Failure> {
    OwnedTable::from_bytes(bytes).map_err(|source| Failure::Table { path: name.to_owned(), source })
}

/// The bytes of a table; `None` if the policy is source.
pub(super) fn table_bytes(host: &dyn Host, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    let path = Path::new(name);
    let named = path.extension().is_some_and(|e| e == "merot");
    if name == "-" || host.is_dir(path) || !host.is_file(path) {
        if named {
            let source = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no such file");
            let help = "name a table that `meroc compile` wrote".to_owned();
            return Err(LoadError::Read { path: name.to_owned(), source, help }.into());
        }
        return Ok(None);
    }
    let head = host.read(path, if named { MAX_TABLE_BYTES } else { MAX_FILE_BYTES }).map_err(
        |source| LoadError::Read {
            path: name.to_owned(),
            source,
            help: "name a readable file".into(),
        },
    )?;
    Ok(if named || driver::is_table(&head) { Some(head) } else { None })
}

/// A policy that means something; its findings are shown where it does not. It may
/// fail its tests: to find out why, it has to be asked.
pub(super) fn sound(host: &dyn Host, name: &str, terminal: Terminal) -> Result<Analysis, Failure> {
    let analysis = driver::analyse(host, name)?;
    if analysis.is_broken() {
        show(&analysis.diagnostics, &analysis, terminal);
        return Err(Failure::Broken);
    }
    Ok(analysis)
}

pub(super) fn show(
    diagnostics: &[crate::diag::Diagnostic],
    analysis: &Analysis,
    terminal: Terminal,
) {
    // Notes are shown where they are asked for, by `check`.
    let worth = diagnostics.iter().filter(|d| d.level > Level::Note).cloned().collect::<Vec<_>>();
    let text = render::human(&worth, analysis.sources(), terminal.color);
    // Standard error may be closed; the exit code still says it.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Makes a directory absolute, lexically.
fn absolute(host: &dyn Host, directory: &str) -> Vec<u8> {
    let current = host.current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let mut out = PathBuf::new();
    for component in current.join(directory).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out.into_os_string().into_encoded_bytes()
}

/// Works out the directories of a binding.
fn bind(
    host: &dyn Host,
    name: &str,
    table: &Table<'_>,
    binding: &Binding,
) -> Result<Hosts, Failure> {
    let base = match &binding.base {
        Some(base) => absolute(host, base),
        None => driver::directory_of(host, name).into_os_string().into_encoded_bytes(),
    };
    let home = binding.home.as_ref().map(|h| absolute(host, h));
    let mut params = Vec::new();
    for (param, default) in table.params() {
        let given = binding.params.iter().find(|(n, _)| n == param).map(|(_, d)| absolute(host, d));
        let directory = match (given, default) {
            (Some(directory), _) => directory,
            (None, Some(default)) => default_directory(default, &base, home.as_deref()).ok_or_else(|| {
                Failure::usage(
                    format!("the parameter `{param}` stands for `{default}`, and no home directory is known"),
                    format!("add `--home DIR`, or `--param {param}=DIR`"),
                )
            })?,
            (None, None) => {
                return Err(Failure::usage(
                    format!("the parameter `{param}` has no value"),
                    format!("add `--param {param}=DIR`"),
                ));
            }
        };
        params.push((param.to_owned(), directory));
    }
    if let Some((unknown, _)) =
        binding.params.iter().find(|(n, _)| !table.params().any(|(p, _)| p == n))
    {
        let names = table.params().map(|(p, _)| p).collect::<Vec<_>>();
        let help = crate::diag::did_you_mean(unknown, names.iter().copied()).map_or_else(
            || {
                format!(
                    "its parameters are: {}",
                    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
                )
            },
            |n| format!("did you mean `{n}`?"),
        );
        return Err(Failure::usage(format!("the policy has no parameter `{unknown}`"), help));
    }
    let working_directory = binding.cwd.as_ref().map(|d| absolute(host, d));
    Ok(Hosts { base, home, working_directory, params })
}

fn default_directory(default: &str, base: &[u8], home: Option<&[u8]>) -> Option<Vec<u8>> {
    if default.starts_with('/') {
        return Some(default.as_bytes().to_vec());
    }
    let (from, rest) = match default.strip_prefix('~') {
        Some(rest) => (home?, rest),
        None => (base, default.strip_prefix('.').unwrap_or(default)),
    };
    Some([from, rest.as_bytes()].concat())
}
