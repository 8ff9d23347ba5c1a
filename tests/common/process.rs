//! Runs `meroc` as a user does, with a limit on its memory and time.
#![allow(clippy::disallowed_methods, reason = "tests start the program")]
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Address space of a child, in KiB.
const MEMORY: u32 = 1_500_000;
/// Processor time of a child in seconds, unoptimised: past it, the system ends
/// it. Elapsed time would depend on what else the machine does.
const SECONDS: u32 = 20;

/// What a run gave.
#[derive(Debug)]
pub struct Run {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Run {
    /// Asserts the exit code.
    #[track_caller]
    pub fn code(self, expected: i32) -> Run {
        assert_eq!(self.code, expected, "out: {}\nerr: {}", head(&self.out), head(&self.err));
        self
    }

    /// Asserts that the output, of both kinds, has a text.
    #[track_caller]
    pub fn says(self, text: &str) -> Run {
        let has = self.out.contains(text) || self.err.contains(text);
        assert!(has, "no `{text}` in\nout: {}\nerr: {}", head(&self.out), head(&self.err));
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", head(&self.out)))
    }

    /// Standard output as JSON Lines.
    #[track_caller]
    pub fn lines(&self) -> Vec<serde_json::Value> {
        let parse = |l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"));
        self.out.lines().map(parse).collect()
    }
}

fn head(text: &str) -> String {
    text.chars().take(3_000).collect()
}

/// A directory with files of these texts.
pub fn files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    directory
}

/// `meroc` with arguments in a directory: exit code, standard output, standard error.
pub fn told(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let Run { code, out, err } = meroc(directory, arguments);
    (code, out, err)
}

/// `meroc` with arguments in a directory.
pub fn meroc(directory: &Path, arguments: &[&str]) -> Run {
    meroc_with(directory, arguments, b"", &[])
}

/// As [`meroc`], with standard input and environment variables.
pub fn meroc_with(
    directory: &Path,
    arguments: &[&str],
    input: &[u8],
    environment: &[(&str, &str)],
) -> Run {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -v \"$0\" && ulimit -t \"$1\" && shift && exec \"$@\""])
        .args([MEMORY.to_string(), SECONDS.to_string()])
        .arg(env!("CARGO_BIN_EXE_meroc"))
        .args(arguments)
        .current_dir(directory)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .envs(environment.iter().copied());
    run(command, input, Duration::from_secs(600))
}

/// Runs a command to its end; panics if that takes too long, or if it dies of a
/// signal or a panic.
pub fn run(mut command: Command, input: &[u8], limit: Duration) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A child that does not read its input closes it: no error of the test.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let id = child.id().to_string();
    let (done, ended) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let late = ended.recv_timeout(limit).is_err();
        if late {
            let _ = Command::new("kill").args(["-9", &id]).status();
        }
        late
    });
    let output = child.wait_with_output().unwrap();
    let _ = done.send(());
    feeder.join().unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!watch.join().unwrap(), "it took longer than {limit:?}");
    let Some(code) = output.status.code() else {
        panic!("it died: {}\n{}", output.status, head(&err))
    };
    assert!(!err.contains("panicked at") && code < 100, "{code}: {}", head(&err));
    Run { code, out, err }
}
