//! Events, and their form as JSON.
//!
//! A decision is an object whose keys `context`, `phase` and those of the request are as
//! in a request of `meroc eval`, so that a log can be decided again (`meroc replay`). A
//! check of a grant has the keys of mechaharness' event `core:access_check` (`ts`, `type`,
//! `agent_id`, `run_id`, `parent_agent_id`, `payload`), for readers that know it.

use crate::decision::{Decision, Permission, Phase};
use crate::host::request::{Action, Requester};
use serde_json::{Map, Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What came of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Allowed by the policy.
    Allowed,
    /// Denied by the policy.
    Denied,
    /// Asked for, and approved.
    Approved,
    /// Asked for, and refused.
    Refused,
    /// Asked for, and nobody decided.
    Unresolved,
    /// Asked for, and nobody answered in time.
    TimedOut,
}

impl Outcome {
    /// Its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Allowed => "allowed",
            Outcome::Denied => "denied",
            Outcome::Approved => "approved",
            Outcome::Refused => "refused",
            Outcome::Unresolved => "unresolved",
            Outcome::TimedOut => "timed-out",
        }
    }

    /// Whether the action goes ahead.
    #[must_use]
    pub const fn goes_ahead(self) -> bool {
        matches!(self, Outcome::Allowed | Outcome::Approved)
    }
}

/// A decision that was taken.
#[derive(Clone, Debug)]
pub struct Event {
    /// When.
    pub time: SystemTime,
    /// Its number in its audit: a number that is missing was lost.
    pub seq: u64,
    /// The digest of the table that decided; `None` without a policy.
    pub digest: Option<[u8; 32]>,
    /// The agent's context.
    pub context: String,
    /// The agent's phase.
    pub phase: Phase,
    /// Who asked.
    pub requester: Requester,
    /// What for; `None` for an event that counts what was lost.
    pub action: Option<Action>,
    /// What the policy said.
    pub decision: Decision,
    /// The rule that decided: file, line and text; of tables with debug sections only.
    pub rule: Option<(String, u32, String)>,
    /// What came of it.
    pub outcome: Outcome,
    /// From the request to here, an approval included.
    pub latency: Duration,
    /// Grants that the context holds, for a check of one.
    pub granted: Vec<String>,
    /// Events that were lost before this one.
    pub lost: u64,
}

impl Event {
    /// That events were lost before another.
    pub(super) fn lost(count: u64, before: &Event) -> Event {
        Event { action: None, rule: None, lost: count, granted: Vec::new(), ..before.clone() }
    }

    /// As one JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Some(action) = &self.action else {
            return json!({ "type": "mero.audit_lost", "time": rfc3339(self.time), "lost": self.lost });
        };
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| {
            out.insert(key.to_owned(), value);
        };
        if let Action::Grant(key) = action {
            let id = |id: &Option<String>| json!(id.as_deref().unwrap_or(""));
            put("ts", json!(rfc3339(self.time)));
            put("type", json!("core:access_check"));
            put("agent_id", id(&self.requester.agent));
            put("run_id", id(&self.requester.run));
            put("parent_agent_id", json!(self.requester.attributes.get("parent_agent_id")));
            put(
                "payload",
                json!({
                    "tool": self.requester.attributes.get("tool").map_or("", String::as_str),
                    "required": [key],
                    "granted": self.granted,
                    "allowed": self.outcome.goes_ahead(),
                }),
            );
        } else {
            put("time", json!(rfc3339(self.time)));
            put("type", json!("mero.decision"));
        }
        put("seq", json!(self.seq));
        if let Some(digest) = &self.digest {
            put("digest", json!(digest.iter().map(|b| format!("{b:02x}")).collect::<String>()));
        }
        put("context", json!(self.context));
        put("phase", json!(self.phase.name()));
        match action {
            Action::Path { path, permissions, host } => {
                put("path", json!(path));
                put("permission", json!(names(*permissions)));
                if let Some(host) = host {
                    put("host", json!(host));
                }
            }
            Action::Permission(permissions) => put("permission", json!(names(*permissions))),
            Action::Command(command) => put("command", json!(command)),
            Action::Argv(argv) => put("argv", json!(argv)),
            Action::Tool { name, requires } => {
                put("tool", json!(name));
                if !requires.is_empty() {
                    put("requires", json!(requires));
                }
            }
            Action::Grant(_) => {}
        }
        put("effect", json!(self.decision.effect.name()));
        put("reason", json!(self.decision.reason.name()));
        if let Some((file, line, text)) = &self.rule {
            put("rule", json!({ "file": file, "line": line, "text": text }));
        }
        put("outcome", json!(self.outcome.name()));
        put("latency_ns", json!(u64::try_from(self.latency.as_nanos()).unwrap_or(u64::MAX)));
        if self.requester != Requester::default() {
            put("requester", json!(self.requester));
        }
        Value::Object(out)
    }
}

fn names(permissions: Permission) -> String {
    permissions.to_string()
}

/// A time as RFC 3339 writes it, in UTC with milliseconds. The calendar's arithmetic is
/// that of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Days from 0000-03-01; years begin in March, so that leap days end them.
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = of_era
        .saturating_sub(of_era / 1_460)
        .saturating_add(of_era / 36_524)
        .saturating_sub(of_era / 146_096)
        / 365;
    let before = year_of_era
        .saturating_mul(365)
        .saturating_add(year_of_era / 4)
        .saturating_sub(year_of_era / 100);
    let of_year = of_era.saturating_sub(before);
    let month = of_year.saturating_mul(5).saturating_add(2) / 153;
    let day =
        of_year.saturating_sub(month.saturating_mul(153).saturating_add(2) / 5).saturating_add(1);
    let calendar = if month < 10 { month.saturating_add(3) } else { month.saturating_sub(9) };
    let year = era
        .saturating_mul(400)
        .saturating_add(year_of_era)
        .saturating_add(u64::from(calendar <= 2));
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{calendar:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_calendars_have_them() {
        let at = |seconds: u64, millis: u64| {
            rfc3339(UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(millis))
        };
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_400, 5), "2000-02-29T00:00:00.005Z");
        assert_eq!(at(951_868_799, 999), "2000-02-29T23:59:59.999Z");
        assert_eq!(at(951_868_800, 0), "2000-03-01T00:00:00.000Z");
        assert_eq!(at(1_709_164_800, 0), "2024-02-29T00:00:00.000Z");
        assert_eq!(at(1_735_689_599, 0), "2024-12-31T23:59:59.000Z");
        assert_eq!(at(1_735_689_600, 0), "2025-01-01T00:00:00.000Z");
        assert_eq!(at(4_107_542_400, 0), "2100-03-01T00:00:00.000Z");
        assert_eq!(at(4_107_542_399, 0), "2100-02-28T23:59:59.000Z");
    }
}
