//! Reads tool calls as JSON lines, and answers each with a line.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "a host program reads its arguments and opens the terminal"
)]

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use mero_runtime::host::approval::Terminal;
    use mero_runtime::host::audit::{Audit, JsonLines};
    use mero_runtime::host::{Directories, Guard, Requester, Store};
    use std::io::{BufRead, BufReader, Write};
    use std::sync::Arc;

    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let [table, context, directory, log] = &arguments[..] else {
        return Err("usage: mero-example-tools TABLE CONTEXT DIRECTORY LOG".into());
    };
    let store = Store::open(table, Directories::new(directory))?;
    let audit = Arc::new(Audit::durable(JsonLines::append(log)?));
    let mut guard = Guard::new(store.current(), context)?
        .audit(audit)
        .requester(Requester { agent: Some("example".to_owned()), ..Requester::default() });
    // Tool calls come on standard input, so a person is asked at the terminal itself.
    if let Ok(terminal) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty") {
        let ends = (BufReader::new(terminal.try_clone()?), terminal);
        guard = guard.approval(Arc::new(Terminal::new(ends.0, ends.1)));
    }
    for line in std::io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(request) => mero_example_tools::call(&guard, &request),
            Err(error) => serde_json::json!({ "error": error.to_string() }),
        };
        writeln!(std::io::stdout(), "{answer}")?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn main() {}
