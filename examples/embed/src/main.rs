//! Reads one file as the policy allows: `mero-example-embed BASE PATH`.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "a host program reads its arguments")]

use mero_example_embed::Guard;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let [base, path] = &arguments[..] else {
        eprintln!("usage: mero-example-embed BASE PATH");
        return ExitCode::from(2);
    };
    match Guard::new("assistant", Path::new(base)).and_then(|guard| guard.read(path)) {
        Ok(text) if std::io::stdout().write_all(text.as_bytes()).is_ok() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(2),
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::FAILURE
        }
    }
}
