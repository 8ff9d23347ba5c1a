//! Which request is for whom, and what answers it.

use super::auth::{Who, not_from_a_page, random};
use super::http::{Answer, Connection, Head};
use super::{Host, tools};
use mero_runtime::Phase;
use mero_runtime::host::{Error, ErrorKind, Guard};
use serde_json::{Map, Value, json};
use std::sync::atomic::AtomicBool;

/// Answers a request. Its body is read only where the bearer may send one.
pub(crate) fn answer(
    host: &Host,
    port: u16,
    stop: &AtomicBool,
    head: &Head,
    connection: &mut Connection,
) -> Result<Answer, Answer> {
    not_from_a_page(head, port)?;
    let who = host.tokens.who(head)?;
    let only = |wanted: Who| match who == wanted {
        true => Ok(()),
        false if wanted == Who::Person => Err(Answer::error(403, "this is for a person")),
        false => Err(Answer::error(403, "this is for an agent")),
    };
    let segments = head.path.split('/').skip(1).collect::<Vec<_>>();
    match (head.method.as_str(), segments.as_slice()) {
        ("POST", ["session"]) => open(host, who, &object(head, connection)?),
        ("DELETE", ["session", id]) => match host.sessions.end(id) {
            true => Ok(Answer::ok(json!({ "ended": id }))),
            false => Err(no_session()),
        },
        ("POST", ["session", id, "tools", tool]) => {
            only(Who::Agent)?;
            let guard = host.sessions.guard(id).ok_or_else(no_session)?;
            let body = object(head, connection)?;
            let busy = || Answer::error(503, "too many calls at a time");
            let _place = host.calls.enter().ok_or_else(busy)?;
            tools::call(&guard, tool, &body, stop).map(Answer::ok)
        }
        ("GET", ["approvals"]) => {
            only(Who::Person)?;
            Ok(Answer::ok(json!({ "waiting": host.approvals.waiting() })))
        }
        ("POST", ["approvals", id]) => {
            only(Who::Person)?;
            let body = object(head, connection)?;
            fields(&body, &["approve"])?;
            let Some(approve) = body.get("approve").and_then(Value::as_bool) else {
                return Err(Answer::error(400, "`approve` is `true` or `false`"));
            };
            match id.parse().is_ok_and(|id| host.approvals.answer(id, approve)) {
                true => Ok(Answer::ok(json!({ "approved": approve }))),
                false => Err(Answer::error(404, "nothing waits for this answer")),
            }
        }
        ("GET", ["audit"]) => {
            only(Who::Person)?;
            let events = host.events.events().iter().map(|e| e.to_json()).collect::<Vec<_>>();
            let unfit = host.unfit.lock().map_or(None, |u| u.clone());
            Ok(Answer::ok(json!({
                "events": events,
                "lost": host.audit.lost(),
                "table_not_in_force": unfit,
            })))
        }
        (_, ["session" | "approvals" | "audit"] | ["session" | "approvals", _])
        | (_, ["session", _, "tools", _]) => Err(Answer::error(405, "no such method here")),
        _ => Err(Answer::error(404, "there is nothing here")),
    }
}

fn no_session() -> Answer {
    Answer::error(404, "there is no such session")
}

/// Opens a session: an agent in the contexts that it may choose, and in no looser phase
/// than one begins in; a person in any.
fn open(host: &Host, who: Who, body: &Map<String, Value>) -> Result<Answer, Answer> {
    fields(body, &["context", "phase"])?;
    let context = text(body, "context")?;
    let policy = host.policy();
    if who == Who::Agent {
        let only = |name| {
            let mut all = policy.table().contexts();
            all.next().is_some_and(|c| c.name() == name) && all.next().is_none()
        };
        let may = match host.contexts.is_empty() {
            true => only(context),
            false => host.contexts.iter().any(|c| c == context),
        };
        if !may {
            return Err(Answer::error(403, "an agent does not open this context by itself"));
        }
    }
    let id = random().map_err(|_| Answer::error(503, "the system gives no random bytes"))?;
    let guard = host.guard(policy, &id, context).map_err(refused)?;
    enter(&guard, who, body)?;
    let phase = guard.phase();
    if !host.sessions.open(&id, guard) {
        return Err(Answer::error(503, "too many sessions"));
    }
    Ok(Answer::ok(json!({ "session": id, "context": context, "phase": phase.name() })))
}

fn enter(guard: &Guard, who: Who, body: &Map<String, Value>) -> Result<(), Answer> {
    if !body.contains_key("phase") {
        return Ok(());
    }
    let name = text(body, "phase")?;
    let Some(phase) = Phase::ALL.into_iter().find(|p| p.name() == name) else {
        return Err(Answer::error(400, "there is no such phase"));
    };
    match who {
        Who::Agent => guard.request_phase(phase),
        Who::Person => guard.set_phase(phase),
    }
    .map_err(refused)
}

/// What a guard's refusal or failure is in HTTP.
pub(crate) fn refused(error: Error) -> Answer {
    let message = error.to_string();
    let status = match error.kind() {
        ErrorKind::InvalidRequest => 400,
        ErrorKind::ApprovalUnresolved => 409,
        ErrorKind::ApprovalTimeout => 504,
        ErrorKind::AuditFailed => 503,
        ErrorKind::Io => {
            let source = std::error::Error::source(&error);
            let system = source.and_then(|s| s.downcast_ref::<std::io::Error>());
            let missing = system.is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound);
            // The system's words alone: the guard's message names the place on this host.
            let why = system.map_or_else(|| "the system failed".to_owned(), |e| e.to_string());
            return Answer::error(if missing { 404 } else { 422 }, &why);
        }
        _ => 403,
    };
    let reason = error.reason().map_or(error.kind().name(), |r| r.name());
    Answer { status, body: json!({ "denied": message, "reason": reason }) }
}

/// The body of a request, which is an object in JSON and says so: what a form on a web
/// page sends without asking first does not.
fn object(head: &Head, connection: &mut Connection) -> Result<Map<String, Value>, Answer> {
    let kind = head.header("content-type")?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Answer::error(415, "a body is `Content-Type: application/json`"));
    }
    match serde_json::from_slice(&connection.body(head)?) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err(Answer::error(400, "the body is no object")),
        Err(error) => Err(Answer::error(400, &format!("the body is no JSON: {error}"))),
    }
}

/// That a body has no other fields: one that is misspelt is not quietly left out.
pub(crate) fn fields(body: &Map<String, Value>, known: &[&str]) -> Result<(), Answer> {
    match body.keys().all(|k| known.contains(&k.as_str())) {
        true => Ok(()),
        false => Err(Answer::error(400, &format!("the fields are {}", known.join(", ")))),
    }
}

/// A text in a body.
pub(crate) fn text<'b>(body: &'b Map<String, Value>, key: &str) -> Result<&'b str, Answer> {
    let found = body.get(key).and_then(Value::as_str);
    found.ok_or_else(|| Answer::error(400, &format!("the text `{key}` is missing")))
}
