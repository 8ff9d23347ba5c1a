//! `meroc init`: a first policy.

use super::{Failure, Outcome};
use crate::driver::Host;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The starter policy; a test checks that it has no findings.
pub(crate) const STARTER: &str = include_str!("init/policy.mero");

#[derive(Debug, clap::Args)]
pub(super) struct Init {
    /// Where to write `policy.mero`
    #[arg(default_value = ".", value_name = "DIR")]
    directory: PathBuf,
}

impl Init {
    pub(super) fn run(self, host: &dyn Host) -> Outcome {
        let path = self.directory.join("policy.mero");
        if host.is_file(&path) {
            return Err(Failure::usage(
                format!("`{}` is there already", path.display()),
                "choose another directory, or remove it first: nothing is overwritten",
            ));
        }
        if !host.is_dir(&self.directory) {
            return Err(Failure::usage(
                format!("there is no directory `{}`", self.directory.display()),
                "create it first",
            ));
        }
        host.write(&path, STARTER.as_bytes())
            .map_err(|source| Failure::Write { path: path.display().to_string(), source })?;
        let shown = path.display();
        let text = format!(
            "wrote {shown}\n\nnext:\n  meroc check {shown}\n  meroc test {shown}\n  meroc explain {shown} -c agent read /README.md\n  \
             meroc compile {shown} -o policy.merot\n"
        );
        std::io::stdout().write_all(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
