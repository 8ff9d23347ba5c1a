//! Who says yes where a policy says `ask`.

use super::error::{Error, ErrorKind};
use super::request::{Action, Requester};
use crate::decision::{Decision, Phase};

/// A backend.
pub trait ApprovalBackend: Send + Sync {
    /// Decides.
    fn decide(
        &self,
        request: &ApprovalRequest<'_>,
    ) -> Result<Approval, Box<dyn std::error::Error + Send + Sync>>;
}
/// Request.
pub struct ApprovalRequest<'a> {
    /// x
    pub action: &'a Action,
    /// x
    pub detail: &'a str,
    /// x
    pub requester: &'a Requester,
    /// x
    pub context: &'a str,
    /// x
    pub phase: Phase,
    /// x
    pub rule: Option<&'a str>,
    /// x
    pub approvers: &'a [&'a str],
    /// x
    pub would: &'a dyn Fn(&str) -> Option<Decision>,
}
/// Answer.
pub enum Approval {
    /// x
    Approved(Remember),
    /// x
    Denied(String),
    /// x
    Deferred,
}
/// How long.
pub enum Remember {
    /// x
    Once,
    /// x
    Session,
}
pub(crate) fn ask(
    backend: Option<&dyn ApprovalBackend>,
    request: &ApprovalRequest<'_>,
) -> Result<Remember, Error> {
    match backend.map(|b| b.decide(request)) {
        Some(Ok(Approval::Approved(r))) => Ok(r),
        _ => Err(Error::new(ErrorKind::ApprovalUnresolved, "Not approved")),
    }
}
