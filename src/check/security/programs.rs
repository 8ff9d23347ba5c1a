//! Programs that run other programs, and how one asks them to.
//!
//! Sources are the programs' manuals and the public lists of such options. What is not
//! here is not found; what is here is still confirmed by the policy's own decision.

/// A program, under all of its names.
pub(super) struct Program {
    pub(super) names: &'static [&'static str],
    /// Whole argument lists, each of which runs something of the caller's choice.
    pub(super) forms: &'static [&'static [&'static str]],
    /// Arguments that do so after others: the subcommand (or none), and what to add.
    pub(super) options: &'static [(&'static str, &'static [&'static str])],
}

const fn of(names: &'static [&'static str], forms: &'static [&'static [&'static str]]) -> Program {
    Program { names, forms, options: &[] }
}

pub(super) static PROGRAMS: &[Program] = &[
    // Interpreters.
    of(
        &["python3", "python", "pypy", "ipython"],
        &[&["-c", "x"], &["x.py"], &["-m", "x"], &["-", "x"]],
    ),
    of(
        &["sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "mksh"],
        &[&["-c", "x"], &["x.sh"], &["-lc", "x"]],
    ),
    of(&["node", "nodejs"], &[&["-e", "x"], &["x.js"], &["--eval=x"], &["-p", "x"]]),
    of(&["deno"], &[&["eval", "x"], &["run", "x.ts"], &["run", "-A", "x.ts"]]),
    of(&["bun"], &[&["-e", "x"], &["x.ts"], &["run", "./x.ts"], &["x", "x"]]),
    of(&["tsx", "ts-node"], &[&["x.ts"], &["-e", "x"]]),
    of(&["ruby", "irb"], &[&["-e", "x"], &["x.rb"]]),
    of(&["perl"], &[&["-e", "x"], &["x.pl"], &["-ne", "x"]]),
    of(&["php"], &[&["-r", "x"], &["x.php"]]),
    of(
        &["lua", "luajit", "julia", "Rscript", "elixir", "groovy", "scala", "guile"],
        &[&["-e", "x"], &["x"]],
    ),
    of(&["osascript"], &[&["-e", "x"]]),
    of(&["pwsh", "powershell"], &[&["-c", "x"], &["-Command", "x"]]),
    of(&["tclsh", "expect", "wish"], &[&["x"], &["-c", "x"]]),
    of(&["java"], &[&["X.java"], &["-jar", "x.jar"]]),
    // Runners.
    of(&["env"], &[&["x"], &["-S", "x"], &["A=x", "x"]]),
    of(&["xargs", "parallel"], &[&["x"], &["-n1", "x"], &["-I", "{}", "x"]]),
    of(
        &[
            "sudo",
            "doas",
            "nohup",
            "nice",
            "ionice",
            "setsid",
            "time",
            "watch",
            "strace",
            "ltrace",
            "exec",
            "command",
            "builtin",
            "unshare",
            "systemd-run",
            "caffeinate",
            "dotenv",
            "xvfb-run",
        ],
        &[&["x"]],
    ),
    of(&["eval", ".", "source"], &[&["x"]]),
    of(&["timeout"], &[&["5", "x"]]),
    of(&["stdbuf"], &[&["-o0", "x"]]),
    of(&["chrt", "taskset", "flock", "chroot"], &[&["1", "x"]]),
    of(&["su", "runuser", "script"], &[&["-c", "x"]]),
    of(&["busybox", "toybox"], &[&["sh"]]),
    of(&["tmux"], &[&["new", "x"], &["new-session", "-d", "x"]]),
    of(&["screen"], &[&["-dm", "x"]]),
    of(&["crontab"], &[&["x"]]),
    of(&["direnv"], &[&["exec", ".", "x"]]),
    // Package managers' runners.
    of(&["npx", "bunx", "uvx", "pnpx"], &[&["x"], &["-y", "x"]]),
    of(&["npm"], &[&["exec", "x"], &["x", "x"], &["exec", "--", "x"]]),
    of(&["pnpm", "yarn"], &[&["exec", "x"], &["dlx", "x"]]),
    of(
        &["uv", "poetry", "pipx", "pdm", "hatch", "conda", "nix", "rye"],
        &[&["run", "x"], &["run", "python", "x.py"]],
    ),
    of(&["pipenv"], &[&["run", "x"]]),
    of(
        &["bundle", "composer", "mise", "asdf", "cabal", "stack", "opam"],
        &[&["exec", "x"], &["exec", "--", "x"]],
    ),
    of(&["nix-shell"], &[&["--run", "x"]]),
    // Build tools.
    Program {
        names: &["make", "gmake"],
        forms: &[&["SHELL=./x"], &["--eval=x:;x"], &["-f", "x"], &["-fx"]],
        options: &[("", &["SHELL=./x"])],
    },
    Program {
        names: &["cargo"],
        forms: &[&["--config", "build.rustc-wrapper=\"./x\"", "build"]],
        options: &[
            ("", &["--config", "build.rustc-wrapper=\"./x\""]),
            ("", &["--config=build.rustc-wrapper=\"./x\""]),
        ],
    },
    Program {
        names: &["go"],
        forms: &[
            &["run", "x.go"],
            &["test", "-exec", "x"],
            &["build", "-toolexec=x"],
            &["generate", "x.go"],
        ],
        options: &[
            ("test", &["-exec=./x"]),
            ("build", &["-toolexec=./x"]),
            ("vet", &["-vettool=./x"]),
            ("run", &["-exec=./x", "."]),
        ],
    },
    of(&["cmake"], &[&["-P", "x"], &["-E", "env", "x"]]),
    of(&["ninja"], &[&["-f", "x"]]),
    of(&["just"], &[&["--justfile", "x"], &["-f", "x"], &["--shell", "x"], &["--command", "x"]]),
    of(&["rake"], &[&["-f", "x"], &["-e", "x"]]),
    of(&["gradle", "./gradlew"], &[&["-I", "x"], &["-b", "x"]]),
    of(&["mvn", "./mvnw"], &[&["-f", "x"], &["exec:exec", "-Dexec.executable=x"]]),
    // Version control.
    Program {
        names: &["git"],
        forms: &[
            &["-c", "alias.x=!x", "x"],
            &["-c", "core.pager=x", "log"],
            &["config", "core.fsmonitor", "./x"],
            &["config", "--global", "alias.x", "!x"],
            &["config", "alias.x", "!x"],
            &["difftool", "-x", "x"],
            &["grep", "-O./x", "x"],
            &["rebase", "--exec", "x"],
            &["rebase", "-x", "x", "HEAD"],
            &["bisect", "run", "x"],
            &["submodule", "foreach", "x"],
            &["filter-branch", "--tree-filter", "x"],
            &["--exec-path=.", "x"],
            &["clone", "--upload-pack=./x", "."],
            &["archive", "--remote=.", "--exec=./x", "HEAD"],
        ],
        options: &[
            ("fetch", &["--upload-pack=./x"]),
            ("pull", &["--upload-pack=./x"]),
            ("clone", &["--upload-pack=./x", "."]),
            ("ls-remote", &["--upload-pack=./x", "."]),
            ("push", &["--receive-pack=./x"]),
            ("rebase", &["--exec", "x"]),
            ("grep", &["-O./x", "x"]),
            ("difftool", &["-x", "x"]),
            ("archive", &["--remote=.", "--exec=./x", "HEAD"]),
            ("submodule", &["foreach", "x"]),
            ("config", &["alias.x", "!x"]),
        ],
    },
    of(
        &["gh"],
        &[
            &["alias", "set", "x", "!x"],
            &["extension", "exec", "x"],
            &["extension", "install", "x/x"],
        ],
    ),
    of(&["hg"], &[&["--config", "alias.x=!x", "x"]]),
    // Finding and filtering.
    Program {
        names: &["find"],
        forms: &[&[".", "-exec", "x", ";"], &[".", "-execdir", "x", "{}", "+"]],
        options: &[("", &["-exec", "x", ";"])],
    },
    Program {
        names: &["fd", "fdfind"],
        forms: &[&["-x", "x"], &["x", "-x", "x"]],
        options: &[("", &["-x", "x"])],
    },
    Program {
        names: &["rg"],
        forms: &[&["--pre=./x", "x"], &["--pre", "./x", "x"]],
        options: &[("", &["--pre=./x", "x"])],
    },
    Program {
        names: &["sed", "gsed"],
        forms: &[
            &["1e x", "x"],
            &["-n", "1e x", "x"],
            &["-i", "1e x", "x"],
            &["s/x/x/e", "x"],
            &["s/x/x/e"],
            &["-n", "1e x"],
        ],
        options: &[("", &["-e", "1e x", "x"])],
    },
    Program {
        names: &["awk", "gawk", "mawk", "nawk"],
        forms: &[&["BEGIN{system(\"x\")}"], &["BEGIN{system(\"x\")}", "x"], &["-f", "x", "x"]],
        options: &[],
    },
    Program {
        names: &["sort"],
        forms: &[&["--compress-program=./x", "x"]],
        options: &[("", &["--compress-program=./x"])],
    },
    Program {
        names: &["split"],
        forms: &[&["--filter=x", "x"]],
        options: &[("", &["--filter=x"])],
    },
    Program {
        names: &["tar", "gtar", "bsdtar"],
        forms: &[
            &["-cf", "x", "--checkpoint=1", "--checkpoint-action=exec=x", "x"],
            &["xf", "x", "--to-command=x"],
        ],
        options: &[("", &["--to-command=x"]), ("", &["--use-compress-program=./x"])],
    },
    Program {
        names: &["zip"],
        forms: &[&["x.zip", "x", "-T", "-TT", "x"]],
        options: &[("", &["-T", "-TT", "x"])],
    },
    // Over the network.
    Program {
        names: &["ssh"],
        forms: &[&["host", "x"], &["-oProxyCommand=x", "host"]],
        options: &[("", &["x"])],
    },
    Program {
        names: &["scp", "sftp"],
        forms: &[&["-S", "./x", "x", "host:x"], &["-oProxyCommand=x", "x", "host:x"]],
        options: &[("", &["-oProxyCommand=x"])],
    },
    Program {
        names: &["rsync"],
        forms: &[&["-e", "x", "x", "host:x"], &["--rsh=x", "x", "host:x"]],
        options: &[("", &["-e", "x", "host:x", "x"])],
    },
    Program {
        names: &["wget"],
        forms: &[&["--use-askpass=./x", "https://example.com"]],
        options: &[("", &["--use-askpass=./x", "https://example.com"])],
    },
    of(
        &["docker", "podman", "nerdctl"],
        &[&["run", "x"], &["exec", "x", "x"], &["run", "--rm", "x"]],
    ),
    of(&["docker-compose"], &[&["run", "x"], &["exec", "x", "x"]]),
    of(&["kubectl", "oc"], &[&["exec", "x", "--", "x"], &["run", "x", "--image=x"]]),
    Program {
        names: &["helm"],
        forms: &[&["template", ".", "--post-renderer", "./x"]],
        options: &[
            ("template", &["--post-renderer=./x"]),
            ("install", &["--post-renderer=./x"]),
            ("upgrade", &["--post-renderer=./x"]),
        ],
    },
    of(&["ansible"], &[&["all", "-m", "shell", "-a", "x"]]),
    // Editors, pagers, debuggers, clients.
    of(&["vim", "vi", "nvim", "view", "ex"], &[&["-c", ":!x"], &["+!x"]]),
    of(&["emacs"], &[&["--eval", "x"], &["--batch", "--eval", "x"]]),
    Program {
        names: &["man"],
        forms: &[&["-P", "x", "x"], &["--pager=x", "x"]],
        options: &[("", &["--pager=x", "x"])],
    },
    of(&["gdb", "lldb"], &[&["-ex", "!x"], &["-x", "x"], &["-s", "x"]]),
    of(&["sqlite3"], &[&["x.db", ".shell x"]]),
    of(&["psql"], &[&["-c", "\\! x"]]),
    of(&["mysql", "mariadb"], &[&["-e", "\\! x"]]),
];

/// A program by the name it is called by: the directory and a version at the end
/// (`python3.12`) do not count.
pub(super) fn find(called: &str) -> Option<&'static Program> {
    let base = super::pattern::base(called);
    let plain = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    PROGRAMS
        .iter()
        .find(|p| p.names.contains(&base) || p.names.contains(&plain) || p.names.contains(&called))
}
