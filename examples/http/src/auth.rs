//! Who calls: two tokens, and what a web page can send is turned away before them.
//!
//! The agent's token opens sessions and calls tools; the person's token approves and reads
//! the audit. Neither does what the other is for, so that no agent approves for itself.

use super::http::{Answer, Head};
use std::fmt::Write as _;
use std::io::{self, Read};

/// Bytes of the shortest token that is taken.
const MIN_TOKEN: usize = 16;

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Agent,
    Person,
}

/// The tokens of a server.
pub struct Tokens {
    agent: String,
    person: String,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens")
    }
}

impl Tokens {
    /// From the agent's token and the person's.
    ///
    /// # Errors
    /// If one is short or not plain text, or both are the same.
    pub fn new(agent: impl Into<String>, person: impl Into<String>) -> io::Result<Tokens> {
        let (agent, person) = (agent.into(), person.into());
        for token in [&agent, &person] {
            if token.len() < MIN_TOKEN || !token.bytes().all(|b| b.is_ascii_graphic()) {
                return Err(io::Error::other("a token needs 16 plain characters or more"));
            }
        }
        if agent == person {
            return Err(io::Error::other("an agent with the person's token approves for itself"));
        }
        Ok(Tokens { agent, person })
    }

    /// Whose token a request carries.
    pub(crate) fn who(&self, head: &Head) -> Result<Who, Answer> {
        let value = head.header("authorization")?.unwrap_or_default();
        let (scheme, token) = value.split_once(' ').unwrap_or_default();
        let token = token.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            if same(token, &self.agent) {
                return Ok(Who::Agent);
            }
            if same(token, &self.person) {
                return Ok(Who::Person);
            }
        }
        Err(Answer::error(401, "a token is needed: `Authorization: Bearer …`"))
    }
}

/// Whether two tokens are the same; how long it takes does not say where they differ.
fn same(given: &str, token: &str) -> bool {
    let differ = given.bytes().zip(token.bytes()).fold(0, |d, (a, b)| d | (a ^ b));
    given.len() == token.len() && std::hint::black_box(differ) == 0
}

/// Turns away what comes from a web page: a browser names the page in `Origin`, and a page
/// whose name was made to lead here still has its own name in `Host`.
pub(crate) fn not_from_a_page(head: &Head, port: u16) -> Result<(), Answer> {
    if head.header("origin")?.is_some() {
        return Err(Answer::error(403, "requests from web pages are not taken"));
    }
    let Some(name) = head.header("host")? else {
        return Err(Answer::error(400, "the header `Host` is missing"));
    };
    let name = match name.rsplit_once(':') {
        Some((name, given)) if given.parse() == Ok(port) => name,
        // Without a port, 80 is meant.
        _ if port == 80 => name,
        _ => "",
    };
    if ["localhost", "127.0.0.1", "[::1]"].iter().any(|n| name.eq_ignore_ascii_case(n)) {
        return Ok(());
    }
    Err(Answer::error(403, "the header `Host` names another server"))
}

/// Random bytes as hexadecimal digits, for tokens and the names of sessions.
///
/// # Errors
/// If the system gives none.
pub fn random() -> io::Result<String> {
    let mut bytes = [0u8; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    }))
}
