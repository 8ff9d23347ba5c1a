//! Serves the tools of agents over HTTP, until it is ended.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "a host program reads its arguments and the files that they name"
)]

#[cfg(unix)]
const USAGE: &str = "usage: mero-example-http TABLE BASE [--listen 127.0.0.1:8080]
    [--token-file FILE] [--person-token-file FILE] [--context NAME]… [--audit FILE] [--wait SECONDS]";

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use mero_example_http::{Host, Tokens, random, serve};
    use mero_runtime::host::audit::JsonLines;
    use mero_runtime::host::{Directories, Store};
    use std::io::Write;
    use std::net::TcpListener;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    let (mut plain, mut contexts) = (Vec::new(), Vec::new());
    let mut listen = "127.0.0.1:8080".to_owned();
    let (mut agent, mut person, mut log) = (None, None, None);
    let mut wait = Duration::from_secs(120);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(USAGE);
        match argument.as_str() {
            "--listen" => listen = value()?,
            "--token-file" => agent = Some(value()?),
            "--person-token-file" => person = Some(value()?),
            "--context" => contexts.push(value()?),
            "--audit" => log = Some(value()?),
            "--wait" => wait = Duration::from_secs(value()?.parse()?),
            option if option.starts_with("--") => return Err(USAGE.into()),
            _ => plain.push(argument),
        }
    }
    let [table, base] = &plain[..] else { return Err(USAGE.into()) };

    let mut out = std::io::stdout();
    let mut token = |file: Option<String>, whose: &str| -> std::io::Result<String> {
        if let Some(file) = file {
            return Ok(std::fs::read_to_string(file)?.trim().to_owned());
        }
        let made = random()?;
        writeln!(out, "{whose} token: {made}")?;
        Ok(made)
    };
    let tokens = Tokens::new(token(agent, "agent's")?, token(person, "person's")?)?;
    let store = Store::open(table, Directories::new(base))?;
    let mut host = Host::new(store, tokens, contexts, wait);
    if let Some(log) = log {
        host = host.log(JsonLines::append(log)?);
    }
    let listener = TcpListener::bind(listen)?;
    writeln!(out, "listening on http://{}", listener.local_addr()?)?;
    Ok(serve(&listener, &host, &AtomicBool::new(false))?)
}

#[cfg(not(unix))]
fn main() {}
