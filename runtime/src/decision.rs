//! What a decision is made of: permissions, effects, reasons, phases.

use core::fmt;

bitflags::bitflags! {
    /// What may be done with a path, as a set.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Permission: u8 {
        /// Look at the content.
        const READ = 1;
        /// Change the content, or create it.
        const WRITE = 2;
        /// Run it.
        const EXECUTE = 4;
        /// Remove or move it.
        const DELETE = 8;
    }
}

impl Permission {
    /// The flags with their names, in order.
    pub const NAMES: [(&'static str, Permission); 4] = [
        ("read", Permission::READ),
        ("write", Permission::WRITE),
        ("execute", Permission::EXECUTE),
        ("delete", Permission::DELETE),
    ];

    /// Reads `read`, `read|write`, `all`, `none`; blanks around names are free.
    /// `None` if a name is unknown or the text is empty.
    #[must_use]
    pub fn parse(text: &str) -> Option<Permission> {
        let mut set = Permission::empty();
        for name in text.split('|') {
            set |= match name.trim() {
                "read" => Permission::READ,
                "write" => Permission::WRITE,
                "execute" => Permission::EXECUTE,
                "delete" => Permission::DELETE,
                "all" => Permission::all(),
                "none" => Permission::empty(),
                _ => return None,
            };
        }
        Some(set)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        let mut first = true;
        for (name, flag) in Permission::NAMES {
            if self.contains(flag) {
                if !first {
                    f.write_str(" | ")?;
                }
                first = false;
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

/// What is done with a request; ordered by permissiveness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Effect {
    /// No.
    Deny = 0,
    /// Once an approval backend says yes.
    Ask = 1,
    /// Yes.
    Allow = 2,
}

impl Effect {
    /// `deny`, `ask`, `allow`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Effect::Deny => "deny",
            Effect::Ask => "ask",
            Effect::Allow => "allow",
        }
    }

    pub(crate) const fn from_byte(byte: u8) -> Option<Effect> {
        match byte {
            0 => Some(Effect::Deny),
            1 => Some(Effect::Ask),
            2 => Some(Effect::Allow),
            _ => None,
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why; stable names. The order is that in which one of several denials of a
/// request is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Malformed request.
    Invalid,
    /// No mount covers the path.
    Outside,
    /// A hide list matches the path or a directory above it.
    Hidden,
    /// An effective `deny` names the permission.
    Denied,
    /// The effective `allow` lacks the permission.
    NotGranted,
    /// A `deny` command rule matches.
    CommandDenied,
    /// The command cannot be understood statically.
    CommandOpaque,
    /// No `allow` or `ask` command rule matches.
    CommandNotAllowed,
    /// A `deny` tool rule matches.
    ToolDenied,
    /// No `allow` or `ask` tool rule matches.
    ToolNotAllowed,
    /// A required grant is not held.
    GrantMissing,
    /// The phase forbids it, or the context does not admit the phase.
    Phase,
    /// Allowed, and flagged for approval.
    ApprovalRequired,
    /// A rule or mount allows it.
    Granted,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 14] = [
        Reason::Invalid,
        Reason::Outside,
        Reason::Hidden,
        Reason::Denied,
        Reason::NotGranted,
        Reason::CommandDenied,
        Reason::CommandOpaque,
        Reason::CommandNotAllowed,
        Reason::ToolDenied,
        Reason::ToolNotAllowed,
        Reason::GrantMissing,
        Reason::Phase,
        Reason::ApprovalRequired,
        Reason::Granted,
    ];

    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Invalid => "invalid",
            Reason::Outside => "outside",
            Reason::Hidden => "hidden",
            Reason::Denied => "denied",
            Reason::NotGranted => "not-granted",
            Reason::CommandDenied => "command-denied",
            Reason::CommandOpaque => "command-opaque",
            Reason::CommandNotAllowed => "command-not-allowed",
            Reason::ToolDenied => "tool-denied",
            Reason::ToolNotAllowed => "tool-not-allowed",
            Reason::GrantMissing => "grant-missing",
            Reason::Phase => "phase",
            Reason::ApprovalRequired => "approval-required",
            Reason::Granted => "granted",
        }
    }

    /// The error type that carries a denial for this reason; `None` where the
    /// reason is none of a denial.
    #[must_use]
    pub const fn error_type(self) -> Option<&'static str> {
        match self {
            Reason::Outside | Reason::Hidden | Reason::Denied => Some("PathAccessDenied"),
            Reason::NotGranted => Some("PermissionDenied"),
            Reason::CommandDenied | Reason::CommandNotAllowed | Reason::CommandOpaque => {
                Some("CommandDenied")
            }
            Reason::ToolDenied | Reason::ToolNotAllowed => Some("ToolDenied"),
            Reason::GrantMissing => Some("GrantDenied"),
            Reason::Phase => Some("PhaseDenied"),
            Reason::Invalid => Some("InvalidRequest"),
            Reason::Granted | Reason::ApprovalRequired => None,
        }
    }

    /// Finds a reason by its name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Reason> {
        Reason::ALL.into_iter().find(|r| r.name() == name)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The phase of a session, from strict to loose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// Only reading.
    Plan = 0,
    /// As written.
    #[default]
    Default = 1,
    /// Edits need no approval.
    AcceptEdits = 2,
    /// Nothing needs approval.
    Trusted = 3,
    /// What is merely not granted is allowed too.
    BypassPermissions = 4,
}

impl Phase {
    /// All phases, from strict to loose.
    pub const ALL: [Phase; 5] =
        [Phase::Plan, Phase::Default, Phase::AcceptEdits, Phase::Trusted, Phase::BypassPermissions];

    /// The name in policies and requests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Plan => "plan",
            Phase::Default => "default",
            Phase::AcceptEdits => "accept_edits",
            Phase::Trusted => "trusted",
            Phase::BypassPermissions => "bypass_permissions",
        }
    }

    /// Finds a phase by its name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|p| p.name() == name)
    }

    /// The phase's bit in a set of phases.
    #[must_use]
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a path is known to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Anything but a directory.
    File,
    /// A directory.
    Directory,
    /// Not known: the stricter answer holds.
    #[default]
    Unknown,
}

/// Index of a mount in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MountId(pub u32);

/// Index of a rule in a table's debug section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub u32);

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Decision {
    /// What is done.
    pub effect: Effect,
    /// Why.
    pub reason: Reason,
    /// The mount that governs the path, where there is one.
    pub mount: Option<MountId>,
    /// The rule that decided, where the table knows its rules.
    pub rule: Option<RuleId>,
}

impl Decision {
    /// A decision with no mount and no rule.
    pub const fn new(effect: Effect, reason: Reason) -> Decision {
        Decision { effect, reason, mount: None, rule: None }
    }

    pub(crate) const fn deny(reason: Reason) -> Decision {
        Decision::new(Effect::Deny, reason)
    }

    /// Whether the answer is `allow`.
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        matches!(self.effect, Effect::Allow)
    }

    /// The less permissive of two; between equals the reason that comes first,
    /// then `self`.
    pub fn stricter(self, other: Decision) -> Decision {
        if (other.effect, other.reason) < (self.effect, self.reason) { other } else { self }
    }
}

/// How phases change what the rules say; shared with the compiler's oracle so
/// that there is one place to read.
pub mod phases {
    use super::{Effect, Permission, Phase, Reason};

    /// The verdict on one permission of a path in `phase`, given the verdict
    /// `as written`.
    #[must_use]
    pub fn permission(
        phase: Phase,
        permission: Permission,
        written: (Effect, Reason),
    ) -> (Effect, Reason) {
        const GRANTED: (Effect, Reason) = (Effect::Allow, Reason::Granted);
        match (phase, written.0) {
            (Phase::Plan, Effect::Allow | Effect::Ask) if permission != Permission::READ => {
                (Effect::Deny, Reason::Phase)
            }
            (Phase::AcceptEdits, Effect::Ask)
                if Permission::READ.union(Permission::WRITE).contains(permission) =>
            {
                GRANTED
            }
            _ => loose(phase, written),
        }
    }

    /// What `trusted` and `bypass_permissions` do to any verdict.
    #[must_use]
    pub fn loose(phase: Phase, written: (Effect, Reason)) -> (Effect, Reason) {
        let merely = matches!(
            written.1,
            Reason::NotGranted | Reason::CommandNotAllowed | Reason::ToolNotAllowed
        );
        if (phase >= Phase::Trusted && written.0 == Effect::Ask)
            || (phase == Phase::BypassPermissions && merely)
        {
            (Effect::Allow, Reason::Granted)
        } else {
            written
        }
    }
}
