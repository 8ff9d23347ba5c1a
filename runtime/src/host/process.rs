//! Processes, through a guard: what was decided is what runs.
//!
//! An argument vector runs as it is, without a shell. A command string is run by
//! `/bin/sh`, for which it was taken apart. Neither inherits anything of the host's
//! environment: a variable can change what a program does (`LD_PRELOAD`, `GIT_SSH`,
//! `BASH_ENV`), so processes have those that the host names, and a plain `PATH`.

use super::beneath;
use super::error::{Error, ErrorKind};
use super::guard::Guard;
use super::request::Action;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// Where programs are found, if the host names no `PATH`.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What a process reads from and writes to.
#[derive(Debug)]
pub struct Streams {
    /// Its standard input.
    pub stdin: Stdio,
    /// Its standard output.
    pub stdout: Stdio,
    /// Its standard error.
    pub stderr: Stdio,
}

impl Default for Streams {
    /// Nothing to read; pipes to the host.
    fn default() -> Streams {
        Streams { stdin: Stdio::null(), stdout: Stdio::piped(), stderr: Stdio::piped() }
    }
}

impl Guard {
    /// Starts a program with an argument vector, in the agent's working directory.
    ///
    /// # Errors
    /// As for [`Self::argv`], and [`ErrorKind::Io`] if it cannot be started.
    pub fn spawn(&self, argv: &[&str], streams: Streams, detail: &str) -> Result<Child, Error> {
        self.argv(argv, detail)?;
        let action = || Action::Argv(argv.iter().map(|&w| w.to_owned()).collect());
        let Some((program, arguments)) = argv.split_first() else {
            return Err(Error::new(ErrorKind::InvalidRequest, "Denied: an empty command"));
        };
        let mut command = Command::new(program);
        command.args(arguments);
        self.start(command, streams, &action)
    }

    /// Runs a command string with `/bin/sh`, in the agent's working directory.
    ///
    /// # Errors
    /// As for [`Self::command`], and [`ErrorKind::Io`] if the shell cannot be started.
    pub fn shell(&self, script: &str, streams: Streams, detail: &str) -> Result<Child, Error> {
        self.command(script, detail)?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        self.start(command, streams, &|| Action::Command(script.to_owned()))
    }

    /// As [`Self::shell`], and waits for its end.
    ///
    /// # Errors
    /// As for [`Self::shell`].
    pub fn shell_output(&self, script: &str, detail: &str) -> Result<Output, Error> {
        let child = self.shell(script, Streams::default(), detail)?;
        child.wait_with_output().map_err(|e| Error::io(&Action::Command(script.to_owned()), e))
    }

    fn start(
        &self,
        mut command: Command,
        streams: Streams,
        action: &dyn Fn() -> Action,
    ) -> Result<Child, Error> {
        command.env_clear().env("PATH", PATH).envs(self.environment.iter().map(|(n, v)| (n, v)));
        command.stdin(streams.stdin).stdout(streams.stdout).stderr(streams.stderr);
        // The directory is held, so that no other can take its place before the program
        // is in it.
        let held = self.hold_directory().map_err(|e| Error::io(&action(), e))?;
        if let Some((directory, _handle)) = &held {
            command.current_dir(directory);
        }
        command.spawn().map_err(|e| Error::io(&action(), e))
    }

    /// The working directory as a path that stays it while the handle is open, where the
    /// system has such paths.
    fn hold_directory(&self) -> std::io::Result<Option<(PathBuf, Option<OwnedFd>)>> {
        let Some(directory) = self.directory() else { return Ok(None) };
        let real = directory.as_os_str().as_bytes();
        let mount = self.bound().and_then(|b| b.of_real(real));
        let Some((handle, rest)) = mount.and_then(|(m, r)| Some((m.handle.as_ref()?, r))) else {
            return Ok(Some((directory, None)));
        };
        let flags = beneath::HANDLE | OFlags::DIRECTORY;
        let held = beneath::open(handle.as_fd(), rest, flags, Mode::empty())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
        Ok(Some(if path.exists() { (path, Some(held)) } else { (directory, None) }))
    }
}
