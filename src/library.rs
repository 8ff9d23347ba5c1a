//! The built-in profiles: `.mero` source shipped inside the program.
//!
//! `use std::NAME` brings in the profile `NAME` of the file of that name;
//! `meroc std NAME` shows it.

/// Name and source of every built-in profile.
pub const STD: [(&str, &str); 3] = [
    ("dangerous_commands", include_str!("../std/dangerous_commands.mero")),
    ("readonly_commands", include_str!("../std/readonly_commands.mero")),
    ("secrets", include_str!("../std/secrets.mero")),
];

/// Environment names that a command may always assign: they change how a
/// program talks, not what it runs. A trailing `*` stands for any rest.
pub const HARMLESS_ENV: [&str; 24] = [
    "NODE_ENV",
    "CI",
    "TZ",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "DEBIAN_FRONTEND",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONIOENCODING",
    "PYTHONHASHSEED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "CARGO_TERM_COLOR",
    "CARGO_INCREMENTAL",
    "SOURCE_DATE_EPOCH",
];

/// Programs that `allow` and `ask` rules reach through by default.
pub const DEFAULT_WRAPPERS: [&str; 6] = ["time", "timeout", "nice", "nohup", "stdbuf", "setsid"];

/// What the names of the files of built-in profiles begin with in messages.
pub const SHOWN_IN: &str = "<std>/";

/// The source of a built-in profile.
#[must_use]
pub fn std_source(name: &str) -> Option<&'static str> {
    STD.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}
