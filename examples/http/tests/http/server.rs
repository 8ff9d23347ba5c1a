//! A server to test, and a client that knows nothing of it.

use mero_example_http::{Host, Tokens, serve};
use mero_runtime::host::audit::JsonLines;
use mero_runtime::host::{Directories, Store};
use meroc::driver::{Memory as Files, analyse};
use meroc::table::{Options, compile};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

pub(crate) const AGENT: &str = "the-token-of-the-agent";
pub(crate) const PERSON: &str = "the-token-of-the-person";
pub(crate) const SECRET: &str = "hunter2-in-the-clear";

pub(crate) fn table(policy: &str) -> Vec<u8> {
    let policy = analyse(&Files::policy(policy), "p.mero").unwrap().policy;
    compile(&policy, Options::default()).unwrap().bytes
}

/// A server on a tree of its own, which ends with the test.
pub(crate) struct Server {
    directory: tempfile::TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

pub(crate) fn server(wait: Duration) -> Server {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("base/src")).unwrap();
    fs::write(at("base/src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(at("base/.env"), SECRET).unwrap();
    fs::write(at("outside"), SECRET).unwrap();
    std::os::unix::fs::symlink(at("outside"), at("base/way_out")).unwrap();
    fs::write(at("policy.merot"), table(include_str!("../../policy.mero"))).unwrap();

    let store = Store::open(at("policy.merot"), Directories::new(at("base"))).unwrap();
    let tokens = Tokens::new(AGENT, PERSON).unwrap();
    let host = Host::new(store, tokens, vec!["worker".to_owned()], wait)
        .log(JsonLines::append(at("audit.jsonl")).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = spawn(move || serve(&listener, &host, &stopped).unwrap());
    Server { directory, address, stop, thread: Some(thread) }
}

impl Server {
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Sends bytes and gives status and body of the answer.
    pub(crate) fn raw(&self, request: &[u8]) -> (u16, Value) {
        exchange(self.address, request)
    }

    pub(crate) fn call(&self, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.raw(&request(self.address, token, method, path, body))
    }

    pub(crate) fn get(&self, token: &str, path: &str) -> (u16, Value) {
        self.call(token, "GET", path, &Value::Null)
    }

    pub(crate) fn session(&self) -> String {
        let (status, body) = self.call(AGENT, "POST", "/session", &json!({ "context": "worker" }));
        assert_eq!(status, 200, "{body}");
        body["session"].as_str().unwrap().to_owned()
    }

    pub(crate) fn tool(&self, session: &str, tool: &str, body: Value) -> (u16, Value) {
        self.call(AGENT, "POST", &format!("/session/{session}/tools/{tool}"), &body)
    }

    /// As [`Self::tool`], on a thread of its own.
    pub(crate) fn tool_meanwhile(
        &self,
        id: &str,
        tool: &str,
        body: Value,
    ) -> JoinHandle<(u16, Value)> {
        let path = format!("/session/{id}/tools/{tool}");
        let (address, bytes) = (self.address, request(self.address, AGENT, "POST", &path, &body));
        spawn(move || exchange(address, &bytes))
    }

    /// The first request on the list, once there is one.
    pub(crate) fn waiting(&self) -> Value {
        for _ in 0..200 {
            let (status, body) = self.get(PERSON, "/approvals");
            assert_eq!(status, 200, "{body}");
            if let Some(first) = body["waiting"].get(0) {
                return first.clone();
            }
            sleep(Duration::from_millis(20));
        }
        panic!("nothing waits for approval");
    }
}

pub(crate) fn request(
    to: SocketAddr,
    token: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> Vec<u8> {
    let mut out = format!("{method} {path} HTTP/1.1\r\nHost: {to}\r\n");
    if !token.is_empty() {
        out += &format!("Authorization: Bearer {token}\r\n");
    }
    let body = if body.is_null() { String::new() } else { body.to_string() };
    if !body.is_empty() {
        out += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    }
    (out + "\r\n" + &body).into_bytes()
}

pub(crate) fn exchange(to: SocketAddr, request: &[u8]) -> (u16, Value) {
    let patience = Duration::from_secs(20);
    let mut stream = TcpStream::connect_timeout(&to, patience).unwrap();
    stream.set_read_timeout(Some(patience)).unwrap();
    stream.set_write_timeout(Some(patience)).unwrap();
    // The server may have seen enough before it has read everything.
    let _ = stream.write_all(request);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = String::new();
    stream.take(16 << 20).read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}
