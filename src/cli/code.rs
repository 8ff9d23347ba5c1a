//! `meroc code` and `meroc std`: what is built in, as text.

use super::{Failure, Outcome};
use crate::diag::{did_you_mean, registry};
use crate::library;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

pub(super) fn code(name: Option<&str>) -> Outcome {
    let mut out = String::new();
    if let Some(name) = name {
        let code = registry::find(name).ok_or_else(|| {
            let names = registry::ALL.iter().flat_map(|c| [c.name, c.id]);
            Failure::usage(
                format!("there is no finding `{name}`"),
                did_you_mean(name, names).map_or_else(
                    || "`meroc code` lists all".to_owned(),
                    |n| format!("did you mean `{n}`?"),
                ),
            )
        })?;
        out.push_str(code.page);
    } else {
        for code in registry::ALL {
            let level = match code.level {
                crate::diag::Level::Error => "error",
                crate::diag::Level::Warning => "warning",
                crate::diag::Level::Note => "note",
            };
            let _ = writeln!(out, "{} {:<22} {:<8} {}", code.id, code.name, level, code.summary);
        }
    }
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn std(name: Option<&str>) -> Outcome {
    let mut out = String::new();
    if let Some(name) = name {
        let bare = name.strip_prefix("std::").unwrap_or(name);
        let text = library::std_source(bare).ok_or_else(|| {
            Failure::usage(
                format!("there is no built-in profile `{bare}`"),
                did_you_mean(bare, library::STD.iter().map(|(n, _)| *n)).map_or_else(
                    || "`meroc std` lists all".to_owned(),
                    |n| format!("did you mean `{n}`?"),
                ),
            )
        })?;
        out.push_str(text);
    } else {
        for (name, text) in library::STD {
            let doc = text.lines().filter_map(|l| l.strip_prefix("/// "));
            let doc = doc.collect::<Vec<_>>().join(" ");
            let doc = doc.split(['.', ':']).next().unwrap_or("");
            let _ = writeln!(out, "std::{name:<20} {doc}");
        }
    }
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
