//! Decisions on permissions without a path, on grants, and on tools.

use crate::decision::{Decision, Effect, Permission, Phase, Reason, phases};
use crate::eval::Session;
use crate::format::{Section, context, rule_cell, spaces, tool};
use crate::table::{Context, Record};

impl<'a> Context<'a> {
    /// Decides a set of permissions with no path.
    pub fn permission(&self, session: &Session<'_>, permissions: Permission) -> Decision {
        if !self.admits(session.phase) {
            return Decision::deny(Reason::Phase);
        }
        self.own_fields().judge(session.phase, permissions)
    }

    /// Whether the context holds a grant.
    #[must_use]
    pub fn holds(&self, grant: &str) -> bool {
        self.table.symbol(spaces::GRANTS.saturating_add(self.index), grant.as_bytes()).is_some()
    }

    /// Decides a tool call: the tool rules, then the grants that the tool's
    /// declaration and the request require.
    pub fn tool(&self, session: &Session<'_>, name: &str, requires: &[&str]) -> Decision {
        if !self.admits(session.phase) {
            return Decision::deny(Reason::Phase);
        }
        if name.is_empty() || name.contains('\0') || !requires.iter().all(|k| is_grant_key(k)) {
            return Decision::deny(Reason::Invalid);
        }
        let declared = self
            .table
            .symbol(spaces::TOOLS, name.as_bytes())
            .map(|i| self.table.record(Section::Tools, i));
        let ruled = self.tool_rules(session.phase, name, declared);
        if ruled.effect == Effect::Deny && ruled.reason != Reason::Phase {
            return ruled;
        }
        let held = |grant: &[u8]| {
            self.table.symbol(spaces::GRANTS.saturating_add(self.index), grant).is_some()
        };
        let missing = declared.is_some_and(|d| !self.table.strings(d, tool::REQUIRES).all(held))
            || !requires.iter().all(|k| held(k.as_bytes()));
        if missing { Decision::deny(Reason::GrantMissing) } else { ruled }
    }

    fn tool_rules(&self, phase: Phase, name: &str, declared: Option<Record<'a>>) -> Decision {
        let mut effect = 3;
        let mut rule = None;
        for a in self.record.list(context::TOOLS) {
            let automaton = self.table.automaton(a);
            let cell = automaton.cell(automaton.walk(automaton.start(), name.as_bytes()));
            if cell.u8(rule_cell::EFFECT) < effect {
                effect = cell.u8(rule_cell::EFFECT);
                rule = cell.rule(rule_cell::RULE);
            }
        }
        let denied = effect == 0;
        if effect == 3 {
            // Without a block, tools are governed by grants alone.
            effect = if self.record.u8(context::FLAGS) & context::HAS_TOOLS == 0 {
                2
            } else {
                rule = self.record.rule(context::FIELD_RULES.saturating_add(15));
                self.record.u8(context::TOOLS_OTHERWISE)
            };
        }
        let written = match Effect::from_byte(effect).unwrap_or(Effect::Deny) {
            Effect::Allow => (Effect::Allow, Reason::Granted),
            Effect::Ask => (Effect::Ask, Reason::ApprovalRequired),
            Effect::Deny if denied => (Effect::Deny, Reason::ToolDenied),
            Effect::Deny => (Effect::Deny, Reason::ToolNotAllowed),
        };
        let flags = declared.map_or(0, |d| d.u8(tool::FLAGS));
        let uses = Permission::from_bits_truncate(declared.map_or(0, |d| d.u8(tool::USES)));
        let (effect, reason) = match (phase, written.0) {
            (Phase::Plan, Effect::Allow | Effect::Ask) if flags & tool::READONLY == 0 => {
                (Effect::Deny, Reason::Phase)
            }
            (Phase::AcceptEdits, Effect::Ask)
                if flags & tool::DECLARES_USES != 0
                    && Permission::READ.union(Permission::WRITE).contains(uses) =>
            {
                (Effect::Allow, Reason::Granted)
            }
            _ => phases::loose(phase, written),
        };
        Decision { effect, reason, mount: None, rule }
    }
}

/// Whether a text is `namespace:name`, both parts there.
#[must_use]
pub(crate) fn is_grant_key(key: &str) -> bool {
    key.split_once(':').is_some_and(|(namespace, name)| {
        !namespace.is_empty() && !name.is_empty() && !name.contains(':')
    }) && !key.contains('\0')
}
