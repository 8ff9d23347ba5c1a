//! The runners that read options and operands before the command, with their options.

/// How a runner reads its arguments up to the command.
pub(super) struct Runner {
    pub(super) names: &'static [&'static str],
    /// Short options without a value.
    pub(super) flags: &'static str,
    /// Short options with a value, in the same word or the next.
    pub(super) valued: &'static str,
    /// Long options without a value, or with one behind `=` only.
    pub(super) long_flags: &'static [&'static str],
    /// Long options with a value.
    pub(super) long_valued: &'static [&'static str],
    /// Operands before the command.
    pub(super) operands: usize,
    /// `NAME=value` may stand before the command.
    pub(super) assigns: bool,
}

pub(super) const fn runner(names: &'static [&'static str]) -> Runner {
    Runner {
        names,
        flags: "",
        valued: "",
        long_flags: &[],
        long_valued: &[],
        operands: 0,
        assigns: false,
    }
}

pub(super) static RUNNERS: &[Runner] = &[
    Runner {
        flags: "i0v",
        valued: "u",
        long_flags: &[
            "ignore-environment",
            "null",
            "debug",
            "default-signal",
            "ignore-signal",
            "block-signal",
        ],
        long_valued: &["unset"],
        assigns: true,
        ..runner(&["env"])
    },
    Runner { flags: "p", ..runner(&["command"]) },
    Runner { flags: "cl", valued: "a", ..runner(&["exec"]) },
    runner(&[
        "builtin",
        "nohup",
        "busybox",
        "toybox",
        "caffeinate",
        "dbus-run-session",
        "noglob",
        "nocorrect",
    ]),
    Runner {
        flags: "pvqal",
        valued: "f",
        long_flags: &["portability", "verbose", "quiet"],
        long_valued: &["format"],
        ..runner(&["time"])
    },
    Runner {
        flags: "vfp",
        valued: "ks",
        long_flags: &["preserve-status", "foreground", "verbose"],
        long_valued: &["kill-after", "signal"],
        operands: 1,
        ..runner(&["timeout"])
    },
    Runner { flags: "0123456789", valued: "n", long_valued: &["adjustment"], ..runner(&["nice"]) },
    Runner {
        flags: "t",
        valued: "cn",
        long_flags: &["ignore"],
        long_valued: &["class", "classdata"],
        ..runner(&["ionice"])
    },
    Runner { flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..runner(&["setsid"]) },
    Runner { valued: "ioe", long_valued: &["input", "output", "error"], ..runner(&["stdbuf"]) },
    Runner {
        flags: "abdfioRrmv",
        valued: "TPD",
        long_flags: &[
            "all-tasks",
            "batch",
            "deadline",
            "fifo",
            "idle",
            "other",
            "rr",
            "reset-on-fork",
            "verbose",
        ],
        long_valued: &["sched-runtime", "sched-period", "sched-deadline"],
        operands: 1,
        ..runner(&["chrt"])
    },
    Runner {
        flags: "ac",
        long_flags: &["all-tasks", "cpu-list"],
        operands: 1,
        ..runner(&["taskset"])
    },
    Runner {
        flags: "AbEHKknPSB",
        valued: "CghpRrtTUu",
        long_flags: &[
            "askpass",
            "background",
            "bell",
            "preserve-env",
            "set-home",
            "remove-timestamp",
            "reset-timestamp",
            "non-interactive",
            "preserve-groups",
            "stdin",
        ],
        long_valued: &[
            "close-from",
            "group",
            "host",
            "prompt",
            "chroot",
            "role",
            "type",
            "command-timeout",
            "other-user",
            "user",
        ],
        assigns: true,
        ..runner(&["sudo"])
    },
    Runner { flags: "n", valued: "uC", ..runner(&["doas"]) },
    Runner {
        flags: "senouxF",
        valued: "wE",
        long_flags: &[
            "shared",
            "exclusive",
            "nonblock",
            "nb",
            "close",
            "no-fork",
            "verbose",
            "unlock",
        ],
        long_valued: &["wait", "timeout", "conflict-exit-code"],
        operands: 1,
        ..runner(&["flock"])
    },
    Runner {
        long_flags: &["skip-chdir", "userspec", "groups"],
        operands: 1,
        ..runner(&["chroot"])
    },
    Runner {
        flags: "fqviCcdDrtTxyZzwkn",
        valued: "aeEIOopPsSuXb",
        ..runner(&["strace", "ltrace"])
    },
    Runner {
        flags: "amuinpUCTrfR",
        long_flags: &[
            "fork",
            "map-root-user",
            "map-current-user",
            "mount",
            "uts",
            "ipc",
            "net",
            "pid",
            "user",
            "cgroup",
            "time",
            "mount-proc",
            "keep-caps",
        ],
        ..runner(&["unshare"])
    },
    Runner {
        flags: "a",
        valued: "nsefp",
        long_flags: &["auto-servernum"],
        long_valued: &["server-num", "server-args", "error-file"],
        ..runner(&["xvfb-run"])
    },
];
