//! `check --watch`: the report anew whenever a file of the policy changes.
//!
//! Directories are watched, not files: editors write a new file and rename it over the
//! old one. What changed is not looked at closely, since checking once too often costs
//! little.

use super::{Check, Failure, Levels, Outcome, Terminal};
use crate::driver::{Analysis, Host};
use crate::limits::MAX_FILE_BYTES;
use notify::{Event, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long nothing may happen before a change is taken for complete.
const QUIET: Duration = Duration::from_millis(60);
/// Changes that are waited for, at most, before the next check.
const MAX_EVENTS: usize = 1_000;

type Told = notify::Result<Event>;

pub(super) fn watch(
    check: &Check,
    host: &dyn Host,
    levels: &Levels,
    terminal: Terminal,
) -> Outcome {
    for policy in &check.policies {
        if !host.is_file(Path::new(policy)) && !host.is_dir(Path::new(policy)) {
            return Err(Failure::usage(
                format!("`{policy}` cannot be watched: it is no file and no directory"),
                "name a `.mero` file or a directory of them",
            ));
        }
    }
    let failed = |error: notify::Error| Failure::Watch { message: error.to_string() };
    let (sender, events) = channel();
    let mut watcher = notify::recommended_watcher(sender).map_err(failed)?;
    let mut watched = BTreeSet::new();
    let on_terminal = std::io::stdout().is_terminal();
    loop {
        let analyses = match check.analyses(host, levels) {
            Ok(analyses) => Some(analyses),
            // A file may be gone for the moment that it takes to write it anew.
            Err(failure @ Failure::Load(_)) if !watched.is_empty() => {
                crate::cli::report(failure, terminal.color);
                None
            }
            Err(failure) => return Err(failure),
        };
        let mut names = BTreeSet::new();
        if let Some(analyses) = &analyses {
            let (text, _) = check.report(analyses, terminal);
            let mut out = std::io::stdout();
            if on_terminal {
                out.write_all(b"\x1b[2J\x1b[H")?;
            }
            out.write_all(text.as_bytes())?;
            out.flush()?;
            if on_terminal {
                // Standard output is the report's alone.
                let _ = std::io::stderr().write_all(b"\nwatching for changes; Ctrl-C ends\n");
            }
            names = files(host, analyses);
        }
        for policy in &check.policies {
            let path = PathBuf::from(policy);
            names.insert(if host.is_dir(&path) { path.join("mero.toml") } else { path });
        }
        let mut more = false;
        for directory in names.iter().map(|n| parent(n)) {
            if watched.insert(directory.to_owned()) {
                more = true;
                watcher.watch(directory, RecursiveMode::NonRecursive).map_err(failed)?;
            }
        }
        // What changed between reading a file and watching it was not told.
        if !more || analyses.as_ref().is_none_or(|a| current(host, a)) {
            wait(&events, &names);
        }
    }
}

fn parent(file: &Path) -> &Path {
    file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The files of the policies, as far as they are files.
fn files(host: &dyn Host, analyses: &[Analysis]) -> BTreeSet<PathBuf> {
    let units = analyses.iter().flat_map(|a| a.units.iter().map(move |u| (a, u)));
    units
        .filter(|(_, unit)| !unit.std)
        .filter_map(|(a, unit)| Some(PathBuf::from(&a.sources().get(unit.file)?.name)))
        .filter(|path| host.is_file(path))
        .collect()
}

/// Whether the files are still as they were read.
fn current(host: &dyn Host, analyses: &[Analysis]) -> bool {
    analyses.iter().all(|a| {
        a.units.iter().filter(|u| !u.std).all(|unit| {
            let Some(file) = a.sources().get(unit.file) else { return true };
            let path = Path::new(&file.name);
            !host.is_file(path)
                || host.read(path, MAX_FILE_BYTES).is_ok_and(|b| b == file.text.as_bytes())
        })
    })
}

/// Waits for a change of one of the files, and until it is over.
fn wait(events: &Receiver<Told>, names: &BTreeSet<PathBuf>) {
    let names = names.iter().filter_map(|n| n.file_name()).map(OsString::from);
    let names = names.collect::<BTreeSet<_>>();
    loop {
        // The watcher is alive as long as this runs, so there is always a next event.
        let Ok(told) = events.recv() else { return };
        if !concerns(&told, &names) {
            continue;
        }
        for _ in 0..MAX_EVENTS {
            if events.recv_timeout(QUIET).is_err() {
                break;
            }
        }
        return;
    }
}

/// Whether an event may have changed the policy: it names one of its files, or any other
/// policy, which may be one that was missing.
fn concerns(told: &Told, names: &BTreeSet<OsString>) -> bool {
    let Ok(event) = told else { return true };
    // Reading is none, or the check itself would be one.
    let changes = !event.kind.is_access();
    event.need_rescan()
        || changes
            && event.paths.iter().any(|p| {
                p.extension().is_some_and(|e| e == "mero")
                    || p.file_name().is_some_and(|n| names.contains(n))
            })
}
