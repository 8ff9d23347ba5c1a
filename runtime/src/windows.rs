//! Paths of Windows, as a policy sees them.
//!
//! Windows takes many spellings for one file: either separator, any case, dots and blanks
//! at the end of names, short names (`PROGRA~1`), streams (`file:stream`), device names in
//! every directory, and shares. A policy knows one. [`paths`] gives the spellings to decide
//! (the least permissive answer counts), or nothing for a path that could mean a file
//! which its text does not name.
//!
//! Source: "Naming Files, Paths, and Namespaces" and "File path formats on Windows
//! systems" of Microsoft's documentation.

use alloc::string::String;
use alloc::vec::Vec;

/// Names that are devices in every directory, whatever extension follows.
const DEVICES: [&str; 8] = ["con", "prn", "aux", "nul", "conin$", "conout$", "com", "lpt"];

/// What a path of Windows is called in a policy: `C:\repo\x` is `/c/repo/x`; a relative path
/// stays relative. First as it was spelt, then in lower case, if that is another. `None`
/// for a share, a device, a stream, a short name, a path relative to a drive, and for names
/// that Windows does not allow: refuse those.
#[must_use]
pub fn paths(path: &str) -> Option<Vec<String>> {
    let path = path.replace('\\', "/");
    let (path, verbatim) = match path.strip_prefix("//?/") {
        Some(rest) => (rest, true),
        None => (path.as_str(), false),
    };
    if path.starts_with("//") || path.is_empty() {
        return None;
    }
    let mut out = String::new();
    let mut bytes = path.bytes();
    let rest = match (bytes.next(), bytes.next()) {
        (Some(drive), Some(b':')) if drive.is_ascii_alphabetic() => {
            out.push('/');
            out.push(char::from(drive.to_ascii_lowercase()));
            path.get(2..).filter(|r| r.starts_with('/'))?
        }
        // A share, or a volume by its number.
        _ if verbatim => return None,
        _ => path,
    };
    let rooted = rest.starts_with('/');
    for (index, name) in rest.split('/').filter(|n| !n.is_empty()).enumerate() {
        if rooted || index > 0 {
            out.push('/');
        }
        out.push_str(component(name)?);
    }
    if rest.len() > 1 && rest.ends_with('/') {
        out.push('/');
    }
    let lower = out.chars().flat_map(char::to_lowercase).collect::<String>();
    let mut all = Vec::from([out]);
    if all.first() != Some(&lower) {
        all.push(lower);
    }
    Some(all)
}

/// A name as Windows stores it; `None` if it may be another file's.
fn component(name: &str) -> Option<&str> {
    if name == "." || name == ".." {
        return Some(name);
    }
    let stored = name.trim_end_matches(['.', ' ']);
    let odd = |c: char| c.is_control() || "<>:\"|?*".contains(c);
    if stored.is_empty() || stored.contains(odd) || is_short(stored) || is_device(stored) {
        return None;
    }
    Some(stored)
}

/// Whether a name may be the short form of another: `~` and a digit within its first
/// eight characters.
fn is_short(name: &str) -> bool {
    let (base, extension) = name.split_once('.').unwrap_or((name, ""));
    let numbered = base.char_indices().any(|(at, c)| {
        c == '~'
            && base
                .get(at.saturating_add(1)..)
                .is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
    });
    numbered && base.chars().count() <= 8 && extension.chars().count() <= 3
}

fn is_device(name: &str) -> bool {
    let base = name.split('.').next().unwrap_or(name).trim_end().to_ascii_lowercase();
    DEVICES.iter().any(|device| match base.strip_prefix(device) {
        Some("") => !matches!(*device, "com" | "lpt"),
        Some(number) => {
            let one = number.chars().count() == 1;
            matches!(*device, "com" | "lpt")
                && one
                && number.chars().all(|c| c.is_ascii_digit() || "\u{b9}\u{b2}\u{b3}".contains(c))
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(path: &str) -> Option<String> {
        paths(path).map(|p| p[0].clone())
    }

    #[test]
    fn one_file_has_one_name() {
        for (path, expected) in [
            (r"C:\repo\sub\..\.cursor\mcp.json", "/c/repo/sub/../.cursor/mcp.json"),
            ("C:/repo/.cursor/mcp.json.", "/c/repo/.cursor/mcp.json"),
            ("C:/repo/.env . .", "/c/repo/.env"),
            (r"\\?\C:\repo\a", "/c/repo/a"),
            ("/c/repo", "/c/repo"),
            (r"src\main.rs", "src/main.rs"),
            (r"dir\", "dir/"),
            (r"C:\", "/c"),
            ("console.log", "console.log"),
            ("community", "community"),
            ("notes~final.txt", "notes~final.txt"),
        ] {
            assert_eq!(first(path).as_deref(), Some(expected), "{path}");
        }
        assert_eq!(
            paths(r"C:\Repo\.ENV"),
            Some(["/c/Repo/.ENV", "/c/repo/.env"].map(Into::into).to_vec())
        );
    }

    #[test]
    fn what_may_be_another_file_is_refused() {
        for path in [
            r"\\server\share\x",
            "//server/share/x",
            r"\\.\C:",
            r"\\?\UNC\server\x",
            "C:relative",
            "C:/repo/CURSOR~1/mcp.json",
            "C:/repo/file:stream",
            "C:/repo/file::$DATA",
            "nul",
            "C:/repo/CON.txt",
            "a/com1",
            "a/LPT9.log",
            "a/COM\u{b9}",
            "a/aux ",
            "C:/repo/...",
            "a/b\u{7}",
            "a/*.txt",
            "",
        ] {
            assert_eq!(first(path), None, "{path}");
        }
    }
}
