//! `check --fix`: applies the repairs that findings carry.
//!
//! A repair must not change what is meant, and that is not taken on trust: each round is
//! tried in memory first, and written only if no new error comes of it and the table of a
//! policy that had one stays the same, byte for byte.

use super::{Failure, Levels};
use crate::diag::{Diagnostic, Edit, Level};
use crate::driver::{self, Analysis, Host};
use crate::limits::MAX_FILE_BYTES;
use crate::source::FileId;
use crate::table::{self, Options};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// Rounds of repair and new check: one repair may make way for another.
const MAX_ROUNDS: usize = 10;

/// The world with some files as they would be.
struct Patched<'h> {
    host: &'h dyn Host,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Host for Patched<'_> {
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        self.files.get(path).map_or_else(|| self.host.read(path, limit), |bytes| Ok(bytes.clone()))
    }
    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.host.list(path)
    }
    fn is_dir(&self, path: &Path) -> bool {
        self.host.is_dir(path)
    }
    fn is_file(&self, path: &Path) -> bool {
        self.host.is_file(path)
    }
    fn stdin(&self, limit: usize) -> io::Result<Vec<u8>> {
        self.host.stdin(limit)
    }
    fn revision(&self, revision: &str, path: &str) -> io::Result<Vec<u8>> {
        self.host.revision(revision, path)
    }
    fn current_dir(&self) -> io::Result<PathBuf> {
        self.host.current_dir()
    }
    fn changed(&self, path: &Path) -> Option<(u64, SystemTime)> {
        self.host.changed(path)
    }

    fn now(&self) -> Instant {
        self.host.now()
    }

    fn publish(&self, path: &Path, name: &Path) -> io::Result<()> {
        self.host.publish(path, name)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.host.write(path, bytes)
    }
}

/// Repairs one policy, and tells standard error what it changed.
pub(super) fn repair(host: &dyn Host, policy: &str, levels: &Levels) -> Result<(), Failure> {
    // Standard input is no file to write to, and can be read only once.
    if policy == "-" {
        return Err(Failure::usage(
            "`--fix` writes to files, and standard input is none",
            "name the policy's file",
        ));
    }
    let mut analysis = driver::analyse(host, policy)?;
    for _ in 0..MAX_ROUNDS {
        levels.apply(&mut analysis.diagnostics);
        let (files, told) = round(host, &analysis);
        if files.is_empty() {
            break;
        }
        let patched = Patched { host, files };
        let next = driver::analyse(&patched, policy)?;
        if !harmless(&analysis, &next) {
            break;
        }
        for (path, bytes) in &patched.files {
            host.write(path, bytes)
                .map_err(|source| Failure::Write { path: path.display().to_string(), source })?;
        }
        // The exit code and the report stay right if nobody reads this.
        let _ = io::stderr().write_all(told.as_bytes());
        analysis = next;
    }
    Ok(())
}

/// Whether the repaired policy has no new error and decides as before.
fn harmless(before: &Analysis, after: &Analysis) -> bool {
    let errors = |a: &Analysis| a.diagnostics.iter().filter(|d| d.level == Level::Error).count();
    if before.is_broken() {
        // It meant nothing, so there is nothing to compare.
        return errors(after) <= errors(before) || !after.is_broken();
    }
    let compiled = |a: &Analysis| table::compile(&a.policy, Options::default()).ok();
    !after.is_broken()
        && compiled(before).zip(compiled(after)).is_some_and(|(b, a)| b.bytes == a.bytes)
}

/// The files with as many repairs as go together, and what is to be said of them.
fn round(host: &dyn Host, analysis: &Analysis) -> (BTreeMap<PathBuf, Vec<u8>>, String) {
    let mut taken: BTreeMap<FileId, Vec<&Edit>> = BTreeMap::new();
    let mut told = String::new();
    for d in &analysis.diagnostics {
        let fits = |edit: &Edit| {
            writable(host, analysis, edit.span.file)
                && taken.get(&edit.span.file).is_none_or(|edits| {
                    // Edits that touch are left for the next round, too.
                    edits
                        .iter()
                        .all(|e| edit.span.end < e.span.start || e.span.end < edit.span.start)
                })
        };
        if d.fix.is_empty() || !d.fix.iter().all(fits) {
            continue;
        }
        for edit in &d.fix {
            taken.entry(edit.span.file).or_default().push(edit);
        }
        told.push_str(&line(d, analysis));
    }
    let mut out = BTreeMap::new();
    for (id, mut edits) in taken {
        let Some(file) = analysis.sources().get(id) else { continue };
        edits.sort_by_key(|e| e.span.start);
        let (mut text, mut at) = (String::new(), 0);
        for edit in edits {
            let range = edit.span.range();
            text.push_str(file.text.get(at..range.start).unwrap_or(""));
            text.push_str(&edit.text);
            at = range.end;
        }
        text.push_str(file.text.get(at..).unwrap_or(""));
        out.insert(PathBuf::from(&file.name), text.into_bytes());
    }
    (out, told)
}

fn line(d: &Diagnostic, analysis: &Analysis) -> String {
    let span = d.primary.span;
    let name = analysis.sources().get(span.file).map_or("", |f| f.name.as_str());
    let at = analysis.sources().position(span);
    format!("fixed {name}:{}:{}: {}: {}\n", at.line, at.column, d.code.name, d.message)
}

/// Whether a file is one of the user's, and still the one that was read.
fn writable(host: &dyn Host, analysis: &Analysis, id: FileId) -> bool {
    let built_in = analysis.units.iter().any(|u| u.file == id && u.std);
    let Some(file) = analysis.sources().get(id).filter(|_| !built_in) else { return false };
    let path = Path::new(&file.name);
    // A file of a revision has a name that is none.
    host.is_file(path)
        && host.read(path, MAX_FILE_BYTES).is_ok_and(|bytes| bytes == file.text.as_bytes())
}
