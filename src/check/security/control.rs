//! Files that govern an agent or are run later, by somebody else than the agent.

/// A file, and who acts on it.
pub(super) struct Control {
    /// From the top of a working tree, or of a home directory.
    pub(super) path: &'static str,
    pub(super) who: &'static str,
    /// What to protect: the directory or file, as an ignore pattern.
    pub(super) protect: &'static str,
}

const fn of(path: &'static str, who: &'static str, protect: &'static str) -> Control {
    Control { path, who, protect }
}

/// In a working tree.
pub(super) static TREE: &[Control] = &[
    of(".git/hooks/pre-commit", "git runs it", "/.git/"),
    of(".git/config", "git runs what it names", "/.git/"),
    of(".github/workflows/ci.yml", "the forge runs it", "/.github/"),
    of(".gitlab-ci.yml", "the forge runs it", "/.gitlab-ci.yml"),
    of(".circleci/config.yml", "the forge runs it", "/.circleci/"),
    of(".claude/settings.json", "it governs an agent", "/.claude/"),
    of(".codex/config.toml", "it governs an agent", "/.codex/"),
    of(".gemini/settings.json", "it governs an agent", "/.gemini/"),
    of(".cursor/mcp.json", "it governs an agent", "/.cursor/"),
    of(".mcp.json", "agents start what it names", "/.mcp.json"),
    of(".vscode/tasks.json", "the editor runs it", "/.vscode/"),
    of(".idea/workspace.xml", "the editor runs it", "/.idea/"),
    of(".devcontainer/devcontainer.json", "the editor runs it", "/.devcontainer/"),
    of(".husky/pre-commit", "git runs it", "/.husky/"),
    of(".pre-commit-config.yaml", "git hooks run it", "/.pre-commit-config.yaml"),
    of(".envrc", "the shell runs it", "/.envrc"),
    of(".cargo/config.toml", "cargo runs what it names", "/.cargo/"),
];

/// In a home directory.
pub(super) static HOME: &[Control] = &[
    of(".bashrc", "the shell runs it", "/.bashrc"),
    of(".profile", "the shell runs it", "/.profile"),
    of(".zshrc", "the shell runs it", "/.zshrc"),
    of(".gitconfig", "git runs what it names", "/.gitconfig"),
    of(".ssh/authorized_keys", "it lets people in", "/.ssh/"),
    of(".config/autostart/x.desktop", "the session runs it", "/.config/"),
    of(".local/bin/ls", "it passes for another program", "/.local/"),
];

/// In the root of a file system.
pub(super) static SYSTEM: &[Control] = &[
    of("etc/profile.d/x.sh", "shells run it", "/etc/"),
    of("etc/cron.d/x", "the system runs it", "/etc/"),
    of("root/.bashrc", "the shell runs it", "/root/"),
    of("usr/local/bin/ls", "it passes for another program", "/usr/"),
];

/// Files that a command runs: the file, and commands that do.
pub(super) static SCRIPTS: &[(&str, &[&[&str]])] = &[
    (
        "package.json",
        &[
            &["npm", "run", "x"],
            &["npm", "test"],
            &["npm", "run", "build"],
            &["npm", "run", "test"],
            &["npm", "start"],
            &["npm", "run", "lint"],
            &["yarn", "run", "x"],
            &["yarn", "test"],
            &["yarn", "build"],
            &["pnpm", "run", "x"],
            &["pnpm", "test"],
            &["pnpm", "run", "build"],
            &["bun", "run", "x"],
            &["bun", "run", "build"],
        ],
    ),
    (
        "Makefile",
        &[&["make"], &["make", "x"], &["make", "test"], &["make", "build"], &["make", "all"]],
    ),
    ("justfile", &[&["just"], &["just", "x"], &["just", "test"]]),
    ("Rakefile", &[&["rake"], &["rake", "x"]]),
];

/// Programs that one runs in working trees.
pub(super) const TREE_PROGRAMS: &[&str] = &[
    "git",
    "gh",
    "glab",
    "hg",
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "bun",
    "node",
    "tsc",
    "eslint",
    "cargo",
    "rustc",
    "go",
    "make",
    "cmake",
    "ninja",
    "gradle",
    "mvn",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "python",
    "python3",
    "pytest",
    "ruff",
    "tox",
    "docker",
    "bundle",
    "rake",
    "composer",
    "just",
    "dotnet",
    "pre-commit",
    "claude",
    "codex",
];
