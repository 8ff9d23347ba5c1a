//! Asking a person at a terminal.

use super::{Approval, ApprovalBackend, ApprovalRequest, BackendError, Remember};
use crate::host::request::Action;
use crate::message::visible;
use std::fmt;
use std::io::{BufRead, Write};
use std::sync::{Mutex, PoisonError};

/// Times that an answer which is none is asked for again.
const TRIES: usize = 3;
/// Longest answer that is read, in bytes.
const MAX_ANSWER: u64 = 1024;

/// Shows what is asked for and reads the answer: `y` for this once, `s` for the session,
/// anything else is asked again, and then no. An empty answer and the end of the input are
/// no. One question at a time, from whichever thread.
pub struct Terminal<R, W>(Mutex<(R, W)>);

impl<R: BufRead + Send, W: Write + Send> Terminal<R, W> {
    /// Reads answers from `input` and writes questions to `output`.
    pub fn new(input: R, output: W) -> Terminal<R, W> {
        Terminal(Mutex::new((input, output)))
    }
}

impl<R, W> fmt::Debug for Terminal<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Terminal")
    }
}

impl<R: BufRead + Send, W: Write + Send> ApprovalBackend for Terminal<R, W> {
    fn decide(&self, request: &ApprovalRequest) -> Result<Approval, BackendError> {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (input, output) = &mut *ends;
        let who = request.requester.agent.as_deref().unwrap_or("the agent");
        writeln!(
            output,
            "{} (`{}`, phase {}) asks for:",
            visible(who),
            request.context,
            request.phase
        )?;
        writeln!(output, "  {}", request.action)?;
        if let Action::Path { host: Some(host), .. } = &request.action {
            writeln!(output, "  leads to `{}`", visible(host))?;
        }
        if let Some(directory) = &request.directory {
            writeln!(output, "  in `{}`", visible(&directory.to_string_lossy()))?;
        }
        if !request.detail.is_empty() {
            writeln!(output, "  {}", visible(&request.detail))?;
        }
        if let Some(rule) = &request.rule {
            writeln!(output, "  because of: {}", visible(rule))?;
        }
        for _ in 0..TRIES {
            write!(output, "Allow it? [y]es, for this [s]ession, [N]o: ")?;
            output.flush()?;
            let mut answer = String::new();
            let read = std::io::Read::take(&mut *input, MAX_ANSWER).read_line(&mut answer)?;
            match answer.trim().to_ascii_lowercase().as_str() {
                _ if read == 0 => break,
                "y" | "yes" => return Ok(Approval::Approved(Remember::Once)),
                "s" | "session" => return Ok(Approval::Approved(Remember::Session)),
                "" | "n" | "no" => break,
                _ => {}
            }
        }
        Ok(Approval::Denied(String::new()))
    }
}
