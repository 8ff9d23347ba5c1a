//! What automata say of all values that a command could have.

use crate::command::{Found, NO_RULE};
use crate::decision::Decision;
use crate::format::rule_cell;
use crate::table::Record;

/// What an automaton says of all values of a command.
pub(super) struct Cells {
    /// The strictest effect that occurs; 3 if no rule ever matches.
    pub(super) least: u8,
    /// For some value no rule matches.
    pub(super) none: bool,
    /// For every value a `readonly` rule grants.
    pub(super) all_readonly: bool,
    /// For some value the answer is to ask.
    pub(super) asks: bool,
    pub(super) rule: Option<crate::RuleId>,
}

impl Cells {
    pub(super) fn never() -> Cells {
        Cells { least: NO_RULE, none: true, all_readonly: false, asks: false, rule: None }
    }

    pub(super) fn of<'c>(cells: impl Iterator<Item = Record<'c>>) -> Cells {
        let mut out = Cells { none: false, all_readonly: true, ..Cells::never() };
        let mut any = false;
        for cell in cells {
            any = true;
            let effect = cell.u8(rule_cell::EFFECT);
            out.none |= effect == NO_RULE;
            out.asks |= effect == 1;
            out.all_readonly &= cell.u8(rule_cell::READONLY) != 0;
            if effect < out.least {
                out.least = effect;
                out.rule = cell.rule(rule_cell::RULE);
            }
        }
        if any { out } else { Cells::never() }
    }

    pub(super) fn never_matches(&self) -> bool {
        self.least == NO_RULE
    }

    pub(super) fn always_matches(&self) -> bool {
        !self.none
    }
}

/// The answers of several automata together. They are taken to vary
/// independently, which errs on the strict side.
pub(super) struct Sum {
    pub(super) least: u8,
    pub(super) rule: Option<crate::RuleId>,
    /// For some value none of them has a rule.
    pub(super) none: bool,
    pub(super) readonly: bool,
}

impl Default for Sum {
    fn default() -> Sum {
        Sum { least: NO_RULE, rule: None, none: true, readonly: false }
    }
}

impl Sum {
    pub(super) fn add(&mut self, cells: &Cells) {
        self.none &= cells.none;
        self.readonly |= cells.all_readonly;
        if cells.least < self.least {
            self.least = cells.least;
            self.rule = cells.rule;
        }
    }

    pub(super) fn found(self, otherwise: u8, path: Option<Decision>) -> Found {
        let Sum { least, rule, none, readonly } = self;
        // Where some value meets no rule, `otherwise` is among the answers, and a
        // path's refusal if there is one.
        if least > 0 && none && (path.is_some() || otherwise <= least) {
            return Found { effect: NO_RULE, readonly: false, rule: None, path };
        }
        Found { effect: least, readonly: readonly && !none, rule, path: None }
    }
}
