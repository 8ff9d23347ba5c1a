//! Host directories of mounts: an anchor and the segments below it.
//!
//! `/x`, `./x`, `~/x`, `$NAME/x`; nested mounts only a path below their
//! parent. What stands before a bound directory is known only on a host, so a
//! directory may not climb above its anchor.

use serde::Serialize;

/// What a host directory is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// The root of the file system.
    Absolute,
    /// The policy's base directory.
    Base,
    /// The home directory.
    Home,
    /// A parameter, by index.
    Param(usize),
}

/// A directory on the host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Host {
    /// From here.
    pub anchor: Anchor,
    /// Down these.
    pub segments: Vec<String>,
}

impl Host {
    /// Whether `other` lies in this directory or is it.
    #[must_use]
    pub fn covers(&self, other: &Host) -> bool {
        self.anchor == other.anchor && other.segments.starts_with(&self.segments)
    }
}

/// What is wrong with a host directory: message and help.
pub type HostError = (String, String);

/// Reads the directory of a top-level mount; `param` finds a parameter.
///
/// # Errors
/// Message and help, for `bad-host`; an unknown parameter comes back as
/// `Ok(Err(name))`.
pub fn top_level(
    text: &str,
    param: impl Fn(&str) -> Option<usize>,
) -> Result<Result<Host, String>, HostError> {
    let (anchor, rest) = if let Some(after) = text.strip_prefix('$') {
        let end = after.find(['/', '\\']).unwrap_or(after.len());
        let (name, rest) = after.split_at_checked(end).unwrap_or((after, ""));
        match param(name) {
            Some(index) => (Anchor::Param(index), rest),
            None => return Ok(Err(name.to_owned())),
        }
    } else if let Some(rest) = text.strip_prefix('~') {
        if !rest.is_empty() && !rest.starts_with(['/', '\\']) {
            return Err((
                format!("`{text}` names another user's home directory, which cannot be known"),
                "write `~/…` for the session's home directory, or an absolute path".into(),
            ));
        }
        (Anchor::Home, rest)
    } else if text.starts_with(['/', '\\']) {
        (Anchor::Absolute, text)
    } else if text == "." || text.starts_with("./") || text.starts_with(".\\") {
        (Anchor::Base, text)
    } else {
        let help = if text.starts_with("..") {
            "a directory above the policy's base is known only on the host: use an absolute path, \
             or `param NAME` and `$NAME/…`"
                .to_owned()
        } else {
            format!(
                "write `./{text}` (below the policy's base directory), `/…`, `~/…` or `$PARAM/…`"
            )
        };
        return Err((format!("`{text}` is no host directory that can be bound"), help));
    };
    Ok(Ok(Host { anchor, segments: segments(Vec::new(), rest, 0)? }))
}

/// Reads the directory of a nested mount.
///
/// # Errors
/// Message and help, for `bad-host`.
pub fn nested(parent: &Host, text: &str) -> Result<Host, HostError> {
    if text.starts_with(['/', '\\', '~', '$']) {
        return Err((
            format!("`{text}` does not lie below the enclosing mount"),
            "a nested mount's directory is relative to its parent's: write `sub/dir`, or move the \
             mount out"
                .into(),
        ));
    }
    let floor = parent.segments.len();
    Ok(Host { anchor: parent.anchor, segments: segments(parent.segments.clone(), text, floor)? })
}

fn segments(mut out: Vec<String>, text: &str, floor: usize) -> Result<Vec<String>, HostError> {
    if text.contains('\0') {
        return Err(("a host directory cannot contain a NUL".into(), "remove it".into()));
    }
    for segment in text.split(['/', '\\']) {
        match segment {
            "" | "." => {}
            ".." if out.len() > floor => {
                out.pop();
            }
            ".." => {
                return Err((
                    format!("`{text}` climbs above where it begins"),
                    "what stands above is known only on the host: use an absolute path, or `param \
                     NAME` and `$NAME/…`"
                        .into(),
                ));
            }
            _ if segment.len() > 255 => {
                return Err((
                    format!(
                        "a directory name of {} bytes is longer than any file system takes",
                        segment.len()
                    ),
                    "at most 255 bytes".into(),
                ));
            }
            _ => out.push(segment.to_owned()),
        }
    }
    Ok(out)
}
