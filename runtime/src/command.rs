//! Decisions on argument vectors.
//!
//! The rules of a context are a few automata: over argument vectors (every word
//! followed by NUL) and over the command's text. Their cells hold the strictest
//! effect that matches. Rules that a plain automaton cannot express (with path
//! words, or with exceptions of another kind) are tried one by one after them,
//! where nothing stricter was found.

use crate::decision::{Decision, Effect, Kind, Permission, Phase, Reason, RuleId, phases};
use crate::eval::{Addressing, Session};
use crate::format::{NONE24, Section, context, hole, rule, rule_cell};
use crate::names::is_runner;
use crate::table::{Context, Record};

/// No rule, in the byte of an effect.
pub(crate) const NO_RULE: u8 = 3;

/// What the rules say, before `otherwise` and the phase.
pub(crate) struct Found {
    pub(crate) effect: u8,
    pub(crate) readonly: bool,
    pub(crate) rule: Option<RuleId>,
    /// The strictest answer of a path that kept a rule from applying.
    pub(crate) path: Option<Decision>,
}

impl Found {
    pub(crate) fn add(&mut self, effect: u8, readonly: bool, rule: Option<RuleId>) {
        self.readonly |= readonly;
        if effect < self.effect {
            self.effect = effect;
            self.rule = rule;
        }
    }
}

impl Context<'_> {
    /// Decides an argument vector as the only command that runs. The text that
    /// `re`, `glob` and `text` rules see is the words joined by blanks.
    ///
    /// What a program that runs programs would run is looked at too; without the
    /// feature `alloc` such a command is `command-opaque`.
    pub fn argv(&self, session: &Session<'_>, argv: &[&[u8]]) -> Decision {
        if !self.admits(session.phase) {
            return Decision::deny(Reason::Phase);
        }
        let Some(name) = argv.first().filter(|w| !w.is_empty()) else {
            return Decision::deny(Reason::Invalid);
        };
        if argv.iter().any(|w| w.contains(&0)) {
            return Decision::deny(Reason::Invalid);
        }
        if is_runner(name) {
            return self.runner(session, argv);
        }
        let judge = |path: &[u8], permissions| self.path_word(session, path, permissions);
        self.conclude(session.phase, &self.rules(argv, None, &judge))
    }

    /// Without allocation, what a runner runs is not known.
    #[cfg(not(feature = "alloc"))]
    fn runner(&self, session: &Session<'_>, argv: &[&[u8]]) -> Decision {
        let judge = |path: &[u8], permissions| self.path_word(session, path, permissions);
        let own = self.rules(argv, None, &judge);
        let reason = if own.effect == 0 { Reason::CommandDenied } else { Reason::CommandOpaque };
        Decision { rule: own.rule, ..Decision::deny(reason) }
    }

    /// A path word of a rule, as `default` has it: approving edits is not approving
    /// commands, and in `plan` it is the rule that has to be `readonly`. Were a path
    /// refused there, a stricter rule would not apply, and `plan` would be looser.
    pub(crate) fn path_word(
        &self,
        session: &Session<'_>,
        path: &[u8],
        permissions: Permission,
    ) -> Decision {
        let phase = match session.phase {
            Phase::Plan => Phase::Default,
            phase => phase,
        };
        self.command_path(&Session { phase, ..*session }, path, permissions)
    }

    /// A path that a command would use. Approving edits is not approving
    /// commands, so `accept_edits` is as `default` here; and a program reads an
    /// absolute path as the host's.
    pub(crate) fn command_path(
        &self,
        session: &Session<'_>,
        path: &[u8],
        permissions: Permission,
    ) -> Decision {
        let phase = match session.phase {
            Phase::AcceptEdits => Phase::Default,
            phase => phase,
        };
        let session = &Session { phase, ..*session };
        self.path_in_phase(session, path, permissions, Kind::Unknown, Addressing::Host)
    }

    /// From what the rules say to the answer: `otherwise`, then the phase.
    pub(crate) fn conclude(&self, phase: Phase, found: &Found) -> Decision {
        if found.effect == 0 {
            return Decision { rule: found.rule, ..Decision::deny(Reason::CommandDenied) };
        }
        if let (NO_RULE, Some(path)) = (found.effect, found.path) {
            return path;
        }
        let (effect, rule) = if found.effect == NO_RULE {
            let rule = self.record.rule(context::FIELD_RULES.saturating_add(9));
            (self.record.u8(context::OTHERWISE), rule)
        } else {
            (found.effect, found.rule)
        };
        let written = match Effect::from_byte(effect).unwrap_or(Effect::Deny) {
            Effect::Allow => (Effect::Allow, Reason::Granted),
            Effect::Ask => (Effect::Ask, Reason::ApprovalRequired),
            Effect::Deny => (Effect::Deny, Reason::CommandNotAllowed),
        };
        let (effect, reason) = match (phase, written.0) {
            (Phase::Plan, Effect::Allow | Effect::Ask) if !found.readonly => {
                (Effect::Deny, Reason::Phase)
            }
            (phase, _) => phases::loose(phase, written),
        };
        Decision { effect, reason, mount: None, rule }
    }

    /// What the rules say of an argument vector. Its text is the words joined by
    /// blanks, unless given; `judge` decides the paths among the arguments.
    pub(crate) fn rules(
        &self,
        argv: &[&[u8]],
        text: Option<&[u8]>,
        judge: &dyn Fn(&[u8], Permission) -> Decision,
    ) -> Found {
        let mut found = match text {
            Some(text) => self.texts(&mut core::iter::once(text)),
            None => self.texts(&mut joined(argv)),
        };
        for a in self.record.list(context::WORDS) {
            let cell = self.over_words(a, argv);
            found.add(
                cell.u8(rule_cell::EFFECT),
                cell.u8(rule_cell::READONLY) != 0,
                cell.rule(rule_cell::RULE),
            );
        }
        if found.effect == 0 {
            return found;
        }
        for index in self.record.list(context::RULES) {
            let record = self.table.record(Section::Rules, index);
            let matches = |at: usize, words: bool| {
                let a = record.u24(at);
                a != NONE24 && {
                    let cell = match (words, text) {
                        (true, _) => self.over_words(a, argv),
                        (false, Some(text)) => self.over_text(a, &mut core::iter::once(text)),
                        (false, None) => self.over_text(a, &mut joined(argv)),
                    };
                    cell.u8(rule_cell::EFFECT) != NO_RULE
                }
            };
            let applies = matches(rule::AUTOMATON, record.u8(rule::KIND) == 0)
                && !matches(rule::EXCEPT_WORDS, true)
                && !matches(rule::EXCEPT_TEXTS, false);
            if !applies {
                continue;
            }
            let mut effect = record.u8(rule::EFFECT);
            let paths = self.holes(record, argv, judge);
            match paths.effect {
                Effect::Deny => {
                    found.path = Some(found.path.map_or(paths, |p| p.stricter(paths)));
                    continue;
                }
                Effect::Ask => effect = effect.min(1),
                Effect::Allow => {}
            }
            found.add(effect, record.u8(rule::READONLY) != 0, record.rule(rule::RULE));
        }
        found
    }

    /// The strictest answer over all arguments that are a rule's path words.
    fn holes(
        &self,
        record: Record<'_>,
        argv: &[&[u8]],
        judge: &dyn Fn(&[u8], Permission) -> Decision,
    ) -> Decision {
        let mut worst = Decision::new(Effect::Allow, Reason::Granted);
        for index in record.list(rule::HOLES) {
            let hole = self.table.record(Section::Holes, index);
            let permissions = Permission::from_bits_truncate(hole.u8(hole::PERMISSIONS));
            let first = usize::from(hole.u16(hole::WORD));
            let count = if hole.u8(hole::MANY) == 1 { usize::MAX } else { 1 };
            for word in argv.iter().skip(first).take(count) {
                for prefix in self.table.strings(hole, hole::PREFIXES) {
                    let path = word.strip_prefix(prefix);
                    if let Some(path) = path.filter(|p| !p.is_empty() && p.first() != Some(&b'-')) {
                        worst = worst.stricter(judge(path, permissions));
                    }
                }
            }
        }
        worst
    }

    pub(crate) fn texts<'t>(&self, text: &mut (impl Iterator<Item = &'t [u8]> + Clone)) -> Found {
        let mut found = Found { effect: NO_RULE, readonly: false, rule: None, path: None };
        for a in self.record.list(context::TEXTS) {
            let cell = self.over_text(a, &mut text.clone());
            found.add(
                cell.u8(rule_cell::EFFECT),
                cell.u8(rule_cell::READONLY) != 0,
                cell.rule(rule_cell::RULE),
            );
        }
        found
    }

    fn over_words(&self, index: u32, argv: &[&[u8]]) -> Record<'_> {
        let automaton = self.table.automaton(index);
        let mut state = automaton.start();
        for word in argv {
            if automaton.is_absorbing(state) {
                break;
            }
            state = automaton.walk(automaton.walk(state, word), b"\0");
        }
        automaton.cell(state)
    }

    fn over_text<'t>(&self, index: u32, text: &mut impl Iterator<Item = &'t [u8]>) -> Record<'_> {
        let automaton = self.table.automaton(index);
        let mut state = automaton.start();
        for piece in text {
            state = automaton.walk(state, piece);
        }
        automaton.cell(state)
    }
}

fn joined<'t>(argv: &'t [&'t [u8]]) -> impl Iterator<Item = &'t [u8]> + Clone {
    argv.iter().enumerate().flat_map(|(i, word)| {
        let blank: &[u8] = if i == 0 { b"" } else { b" " };
        [blank, *word]
    })
}
