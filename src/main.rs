//! The `meroc` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    meroc::cli::main()
}
