//! Just enough of HTTP/1.1: one request with a bounded head and a body of a known length,
//! one answer in JSON, and the connection is closed.
//!
//! Reading and writing each have one deadline, however slowly bytes come or go.

use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Bytes of a request line with its headers, at most.
pub const MAX_HEAD: usize = 16 * 1024;
/// Bytes of a request's body, at most.
pub const MAX_BODY: usize = 1024 * 1024;
/// Headers of a request, at most.
const MAX_HEADERS: usize = 64;
/// For a request to be there, and again for an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(10);
/// For a caller to see an answer that came before the end of its request.
pub(crate) const PARTING: Duration = Duration::from_millis(500);
/// The same, where others wait for that.
pub(crate) const BRIEFLY: Duration = Duration::from_millis(50);

/// A request without its body.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
}

impl Head {
    /// The value of a header that is there once at most.
    pub(crate) fn header(&self, name: &str) -> Result<Option<&str>, Answer> {
        let mut found = self.headers.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let value = found.next();
        // Which of two counts is a question that readers answer differently.
        if found.next().is_some() {
            return Err(Answer::error(400, "a header is there twice"));
        }
        Ok(value)
    }
}

/// An answer: a status and JSON.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn ok(body: Value) -> Answer {
        Answer { status: 200, body }
    }

    pub(crate) fn error(status: u16, message: &str) -> Answer {
        Answer { status, body: json!({ "error": message }) }
    }
}

/// A connection, until its one answer is sent.
pub(crate) struct Connection {
    stream: TcpStream,
    until: Option<Instant>,
    /// What was read behind the head.
    rest: Vec<u8>,
}

fn soon(patience: Duration) -> Option<Instant> {
    Instant::now().checked_add(patience)
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Connection {
        Connection { stream, until: soon(PATIENCE), rest: Vec::new() }
    }

    /// The time that is left; no time is an error.
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.map(|u| u.saturating_duration_since(Instant::now()));
        match left {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }

    /// More bytes of the request.
    fn more(&mut self, into: &mut Vec<u8>) -> Result<(), Answer> {
        let mut buffer = [0; 4096];
        match self.read(&mut buffer) {
            Ok(0) => Err(Answer::error(400, "the request is not whole")),
            Ok(count) => {
                into.extend(buffer.iter().take(count));
                Ok(())
            }
            Err(_) => Err(Answer::error(408, "the request did not come in time")),
        }
    }

    /// Reads the head of the request.
    pub(crate) fn head(&mut self) -> Result<Head, Answer> {
        let mut read = Vec::new();
        while read.len() <= MAX_HEAD {
            self.more(&mut read)?;
            let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
            let mut request = httparse::Request::new(&mut headers);
            let length = match request.parse(&read) {
                Ok(httparse::Status::Complete(length)) => length,
                Ok(httparse::Status::Partial) => continue,
                Err(httparse::Error::TooManyHeaders) => break,
                Err(_) => return Err(Answer::error(400, "this is not HTTP/1.1")),
            };
            let (Some(method), Some(path)) = (request.method, request.path) else { break };
            let mut out = Head {
                method: method.to_owned(),
                path: path.to_owned(),
                headers: Vec::with_capacity(request.headers.len()),
            };
            for header in request.headers.iter() {
                let Ok(value) = std::str::from_utf8(header.value) else {
                    return Err(Answer::error(400, "a header is not text"));
                };
                out.headers.push((header.name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            self.rest = read.split_off(length);
            return Ok(out);
        }
        Err(Answer::error(431, "the headers are too large"))
    }

    /// Reads the body of the request.
    pub(crate) fn body(&mut self, head: &Head) -> Result<Vec<u8>, Answer> {
        if head.header("transfer-encoding")?.is_some() {
            return Err(Answer::error(411, "a body needs its Content-Length"));
        }
        let Some(length) = head.header("content-length")? else {
            return Err(Answer::error(411, "a body needs its Content-Length"));
        };
        if length.is_empty() || !length.bytes().all(|b| b.is_ascii_digit()) {
            return Err(Answer::error(400, "the Content-Length is no number"));
        }
        // A number that does not fit is too large as well.
        let Some(length) = length.parse::<usize>().ok().filter(|l| *l <= MAX_BODY) else {
            return Err(Answer::error(413, "the body is too large"));
        };
        if head.header("expect")?.is_some() {
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                .map_err(|_| Answer::error(408, "the request did not come in time"))?;
        }
        let mut body = std::mem::take(&mut self.rest);
        while body.len() < length {
            self.more(&mut body)?;
        }
        body.truncate(length);
        Ok(body)
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(self.left()?)?;
            let count = self.stream.write(bytes)?;
            bytes = bytes.get(count..).filter(|_| count > 0).ok_or(io::ErrorKind::WriteZero)?;
        }
        Ok(())
    }

    /// Sends the answer and ends the connection, which waits `parting` for the caller.
    pub(crate) fn send(mut self, answer: &Answer, parting: Duration) {
        let (status, body) = (answer.status, answer.body.to_string());
        let name = match status {
            200 => "OK",
            401 => "Unauthorized",
            _ => "See the body",
        };
        let challenge = if status == 401 { "WWW-Authenticate: Bearer\r\n" } else { "" };
        let whole = format!(
            "HTTP/1.1 {status} {name}\r\nContent-Type: application/json\r\n{challenge}\
             Content-Length: {}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n\
             Connection: close\r\n\r\n{body}",
            body.len()
        );
        self.until = soon(PATIENCE);
        // A caller that has gone misses its answer: what was done is in the audit.
        if self.write(whole.as_bytes()).is_err() || self.stream.shutdown(Shutdown::Write).is_err() {
            return;
        }
        // Closed with bytes unread, the connection would be reset, and an answer to a
        // request that was not read to its end be lost.
        self.until = soon(parting);
        let mut buffer = [0; 4096];
        while self.read(&mut buffer).is_ok_and(|count| count > 0) {}
    }
}
