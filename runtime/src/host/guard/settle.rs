//! From a decision to an answer: approval where it is asked for, and the record of both.

use super::{Guard, Under};
use crate::decision::{Decision, Effect};
use crate::eval::Session;
use crate::host::approval::{self, ApprovalRequest, Remember};
use crate::host::audit::{Audit, Event, Outcome};
use crate::host::error::{Error, ErrorKind};
use crate::host::policy::Bound;
use crate::host::request::Action;
use crate::table::Context;
use std::time::{Instant, SystemTime};

/// When a check began, where that is recorded.
pub(super) struct Begin(Option<Instant>);

impl Begin {
    pub(super) fn now(audit: &Audit) -> Begin {
        Begin(audit.is_on().then(Instant::now))
    }
}

impl Guard {
    /// From a decision to an answer: approval where it is asked for, and the record.
    #[allow(clippy::too_many_arguments, reason = "one request, in its parts")]
    pub(super) fn settle(
        &self,
        begin: &Begin,
        under: &Under,
        context: &Context<'_>,
        session: &Session<'_>,
        decision: Decision,
        detail: &str,
        action: &dyn Fn() -> Action,
        would: &dyn Fn(&Context<'_>, &Bound, &Session<'_>) -> Decision,
    ) -> Result<(), Error> {
        match decision.effect {
            Effect::Allow => self.record(begin, Some(context), &decision, action, None),
            Effect::Deny => {
                let mount = decision.mount.map(|m| context.slug(m));
                let error =
                    Error::denied(&decision, &action(), mount, context.name(), session.phase);
                self.record(begin, Some(context), &decision, action, None)?;
                Err(error)
            }
            Effect::Ask => {
                let table = context.table();
                // What each of them would be answered itself.
                let managers = table.contexts().enumerate().filter_map(|(index, manager)| {
                    let approves = manager.approves().any(|name| name == context.name());
                    let bound = under.policy.bound(index).filter(|_| approves)?;
                    Some((manager.name().to_owned(), would(&manager, bound, session)))
                });
                let request = ApprovalRequest {
                    action: action(),
                    detail: detail.to_owned(),
                    requester: self.requester.clone(),
                    context: context.name().to_owned(),
                    phase: session.phase,
                    directory: self.directory(),
                    rule: decision.rule.and_then(|r| table.rule(r)).map(|r| r.text.to_owned()),
                    managers: managers.collect(),
                };
                let answer = approval::resolve(self.approval.as_deref(), &request);
                self.record(begin, Some(context), &decision, action, Some(&answer))?;
                answer.map(|_| ())
            }
        }
    }

    /// Records a decision and what came of it.
    pub(super) fn record(
        &self,
        begin: &Begin,
        context: Option<&Context<'_>>,
        decision: &Decision,
        action: &dyn Fn() -> Action,
        approval: Option<&Result<Remember, Error>>,
    ) -> Result<(), Error> {
        let Some(begin) = begin.0 else { return Ok(()) };
        let action = action();
        let rule = context.zip(decision.rule).and_then(|(c, r)| c.table().rule(r));
        let granted = match (&action, context) {
            (Action::Grant(_), Some(c)) => c.grants().map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let outcome = match (approval, decision.effect) {
            (Some(Ok(_)), _) => Outcome::Approved,
            (Some(Err(error)), _) => match error.kind() {
                ErrorKind::ApprovalUnresolved => Outcome::Unresolved,
                ErrorKind::ApprovalTimeout => Outcome::TimedOut,
                _ => Outcome::Refused,
            },
            (None, Effect::Allow) => Outcome::Allowed,
            (None, _) => Outcome::Denied,
        };
        let event = Event {
            time: SystemTime::now(),
            seq: 0,
            digest: context.map(|c| c.table().digest()),
            context: context.map_or_else(String::new, |c| c.name().to_owned()),
            phase: self.phase(),
            requester: self.requester.clone(),
            action: Some(action),
            decision: *decision,
            rule: rule.map(|r| (r.file.to_owned(), r.line, r.text.to_owned())),
            outcome,
            latency: begin.elapsed(),
            granted,
            lost: 0,
        };
        let recorded = self.audit.record(event);
        if outcome.goes_ahead() {
            recorded.map_err(|source| {
                let message = "Denied: the decision could not be recorded";
                Error::new(ErrorKind::AuditFailed, message).because(source)
            })
        } else {
            // It is refused anyway, for the reason that it has.
            Ok(())
        }
    }
}
