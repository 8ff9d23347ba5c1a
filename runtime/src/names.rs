//! The programs that run programs, by name. How each is read is in
//! `runners`, which needs the feature `alloc`; without it, a command that begins
//! with one of these is opaque.

/// Sorted.
pub(crate) const RUNNERS: [&str; 56] = [
    ".",
    "alias",
    "ash",
    "bash",
    "builtin",
    "busybox",
    "caffeinate",
    "chroot",
    "chrt",
    "command",
    "dash",
    "dbus-run-session",
    "doas",
    "enable",
    "env",
    "eval",
    "exec",
    "fd",
    "fdfind",
    "find",
    "fish",
    "flock",
    "gdb",
    "hash",
    "ionice",
    "ksh",
    "ld.so",
    "ltrace",
    "mksh",
    "nice",
    "nocorrect",
    "noglob",
    "nohup",
    "parallel",
    "rbash",
    "runuser",
    "script",
    "setsid",
    "sh",
    "source",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "taskset",
    "time",
    "timeout",
    "toybox",
    "trap",
    "unshare",
    "valgrind",
    "watch",
    "xargs",
    "xvfb-run",
    "zsh",
];

/// The names of programs that run other programs, besides dynamic linkers.
#[must_use]
pub const fn runners() -> &'static [&'static str] {
    &RUNNERS
}

/// Shells that read a script as the splitter does.
pub(crate) const POSIX_SHELLS: [&str; 5] = ["sh", "bash", "dash", "ash", "rbash"];

/// Commands that no rule need name to be allowed, whatever the policy's wrappers: what
/// they are given is decided as the script that it is, or sets variables that `env` lists.
pub fn transparent() -> impl Iterator<Item = &'static str> {
    let builtins = ["eval", "trap", "export", "declare", "typeset", "local", "readonly"];
    POSIX_SHELLS.into_iter().chain(builtins)
}

/// Whether a command's name, or the base name of its path, is that of a program
/// that runs other programs.
#[must_use]
pub fn is_runner(name: &[u8]) -> bool {
    let base = name.rsplit(|&b| b == b'/').next().unwrap_or(name);
    RUNNERS.iter().any(|r| r.as_bytes() == base)
        || base.starts_with(b"ld-linux")
        || base.starts_with(b"ld-musl")
}
