//! What the automata of an island say of a path: for each field the last match,
//! which is the match of the highest rank, of the path as a file and as a directory.
//!
//! Ranks, not order, decide, so the automata can be asked one after another.
//! Where a later list may show again what an earlier one hid (but nothing below a
//! hidden directory), they are walked in step and looked at after every segment.

use crate::automaton::Automaton;
use crate::decision::{Decision, Effect, Kind, MountId, Permission, Phase, Reason, RuleId};
use crate::eval::Fields;
use crate::format::{Section, class, island, path_cell};
use crate::table::{Context, Record};
use core::ops::Range;

/// The last match of one field over the automata of an island.
#[derive(Clone, Copy, Default)]
pub(crate) struct Last {
    pub(crate) rank: u16,
    pub(crate) value: u8,
    pub(crate) depth: u8,
    pub(crate) rule: Option<RuleId>,
}

impl Last {
    /// Takes up what a cell says of hiding.
    #[inline]
    fn hide(&mut self, cell: Record<'_>) {
        let rank = cell.u16(path_cell::HIDE_RANK);
        if rank > self.rank {
            let (value, rule) = (cell.u8(path_cell::HIDE), cell.rule(path_cell::RULES));
            *self = Last { rank, value, depth: 0, rule };
        }
    }

    fn hides(&self) -> bool {
        self.rank > 0 && self.value == 1
    }

    fn take(&mut self, rank: u16, value: u8, depth: u8, rule: Option<RuleId>) {
        if rank > self.rank {
            *self = Last { rank, value, depth, rule };
        }
    }
}

/// What the automata say of a path.
#[derive(Clone, Copy, Default)]
pub(crate) struct Verdict {
    pub(crate) hide: Last,
    pub(crate) allow: Last,
    pub(crate) ask: Last,
    pub(crate) deny: Last,
}

impl Verdict {
    /// Takes up what one automaton says; whether it says anything.
    pub(crate) fn add(&mut self, cell: Record<'_>) -> bool {
        // Most paths match nothing: all four ranks are 0.
        if cell.0.first_chunk::<8>().is_none_or(|ranks| u64::from_le_bytes(*ranks) == 0) {
            return false;
        }
        self.take(cell);
        true
    }

    fn take(&mut self, cell: Record<'_>) {
        let rule = |k: usize| cell.rule(path_cell::RULES.saturating_add(k));
        self.hide.hide(cell);
        self.allow.take(
            cell.u16(path_cell::ALLOW_RANK),
            cell.u8(path_cell::ALLOW),
            cell.u8(path_cell::ALLOW_DEPTH),
            rule(3),
        );
        self.ask.take(
            cell.u16(path_cell::ASK_RANK),
            cell.u8(path_cell::ASK),
            cell.u8(path_cell::ASK_DEPTH),
            rule(6),
        );
        self.deny.take(
            cell.u16(path_cell::DENY_RANK),
            cell.u8(path_cell::DENY),
            cell.u8(path_cell::DENY_DEPTH),
            rule(9),
        );
    }

    #[inline]
    pub(crate) fn hidden(&self) -> bool {
        self.hide.hides()
    }
}

/// What the automata say of a path as a file and as a directory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Walked {
    pub(crate) file: Verdict,
    pub(crate) directory: Verdict,
    /// Some automaton says something.
    pub(crate) matched: bool,
}

impl Context<'_> {
    /// Walks an island's automata over path segments below its top: what they
    /// say of the path as a file and as a directory.
    pub(crate) fn walk<'p>(
        &self,
        index: u32,
        segments: impl Iterator<Item = &'p [u8]> + Clone,
    ) -> Walked {
        let record = self.table.record(Section::Islands, index);
        let automata = record.list(island::AUTOMATA);
        let mut walked = Walked::default();
        if record.u8(island::FLAGS) & island::LOCKSTEP != 0 {
            return self.walk_in_step(automata, segments);
        }
        for a in automata {
            let automaton = self.table.automaton(a);
            let (file, directory) = walk_segments(&automaton, automaton.start(), segments.clone());
            walked.file.add(automaton.cell(file));
            walked.directory.add(automaton.cell(directory));
        }
        walked
    }

    /// As [`Self::walk`], looking at every directory whether it is hidden: automaton by
    /// automaton over a few segments, then at what all of them said of each.
    pub(crate) fn walk_in_step<'p>(
        &self,
        automata: Range<u32>,
        mut segments: impl Iterator<Item = &'p [u8]> + Clone,
    ) -> Walked {
        const STRIDE: usize = 12;
        let mut states = [0_u32; island::MAX_AUTOMATA];
        let mut walked = Walked::default();
        for (state, a) in states.iter_mut().zip(automata.clone()) {
            let automaton = self.table.automaton(a);
            *state = automaton.start();
            walked.directory.add(automaton.cell(*state));
        }
        walked.file = walked.directory;
        loop {
            let Some(last) = segments.clone().take(STRIDE).count().checked_sub(1) else {
                return walked;
            };
            if walked.directory.hidden() {
                return Walked { file: walked.directory, ..walked };
            }
            walked = Walked::default();
            let mut above = [Last::default(); STRIDE];
            for (state, a) in states.iter_mut().zip(automata.clone()) {
                let automaton = self.table.automaton(a);
                let next = segments.clone().take(STRIDE);
                for (k, (segment, above)) in next.zip(&mut above).enumerate() {
                    if automaton.is_absorbing(*state) && automaton.is_silent(*state) {
                        break;
                    }
                    let file = automaton.walk(*state, segment);
                    *state = automaton.walk(file, b"/");
                    let cell = automaton.cell(*state);
                    if k == last {
                        walked.file.add(automaton.cell(file));
                        walked.directory.add(cell);
                    } else {
                        above.hide(cell);
                    }
                }
            }
            if let Some(hide) = above.iter().find(|hide| hide.hides()) {
                let verdict = Verdict { hide: *hide, ..Verdict::default() };
                return Walked { file: verdict, directory: verdict, ..walked };
            }
            segments.by_ref().take(STRIDE).for_each(drop);
        }
    }
}

impl<'a> Context<'a> {
    /// Judges a path governed by a mount, from what the automata say of it.
    #[inline]
    pub(crate) fn judge(
        &self,
        phase: Phase,
        mount: u32,
        class: Record<'a>,
        walked: &Walked,
        permissions: Permission,
        kind: Kind,
    ) -> Decision {
        both(kind, walked, |verdict| {
            let mount = Some(MountId(mount));
            if verdict.hidden() {
                let rule = verdict.hide.rule;
                return Decision { effect: Effect::Deny, reason: Reason::Hidden, mount, rule };
            }
            Decision { mount, ..self.effective(class, verdict).judge(phase, permissions) }
        })
    }

    /// As [`Self::judge`], where no automaton says anything and something is asked for.
    #[inline]
    pub(crate) fn judge_plain(
        &self,
        phase: Phase,
        mount: u32,
        class: Record<'a>,
        permissions: Permission,
    ) -> Decision {
        let mount = Some(MountId(mount));
        if phase != Phase::Default {
            let fields = self.effective(class, &Verdict::default());
            return Decision { mount, ..fields.judge(phase, permissions) };
        }
        // As written: the fields are read as they are needed.
        let set = |at: usize| Permission::from_bits_truncate(class.u8(at));
        let (effect, reason, field) = if permissions.intersects(set(class::DENY)) {
            (Effect::Deny, Reason::Denied, 6)
        } else if !set(class::ALLOW).contains(permissions) {
            (Effect::Deny, Reason::NotGranted, 0)
        } else if permissions.intersects(set(class::ASK)) {
            (Effect::Ask, Reason::ApprovalRequired, 3)
        } else {
            (Effect::Allow, Reason::Granted, 0)
        };
        Decision { effect, reason, mount, rule: class.rule(class::RULES.saturating_add(field)) }
    }

    fn effective(&self, class: Record<'a>, verdict: &Verdict) -> Fields {
        let depth = class.u8(class::DEPTH);
        let field = |at: usize, rule: usize, needs: u8, last: &Last| {
            if last.rank > 0 && last.depth >= needs {
                (Permission::from_bits_truncate(last.value), last.rule)
            } else {
                (
                    Permission::from_bits_truncate(class.u8(at)),
                    class.rule(class::RULES.saturating_add(rule)),
                )
            }
        };
        Fields {
            // A grant is never inherited: only the mount's own blocks count.
            allow: field(class::ALLOW, 0, depth, &verdict.allow),
            ask: field(class::ASK, 3, class.u8(class::ASK_DEPTH), &verdict.ask),
            deny: field(class::DENY, 6, class.u8(class::DENY_DEPTH), &verdict.deny),
        }
    }
}

/// States after the last segment, and after the `/` behind it.
#[inline]
fn walk_segments<'p>(
    automaton: &Automaton<'_>,
    start: u32,
    segments: impl Iterator<Item = &'p [u8]>,
) -> (u32, u32) {
    let (mut file, mut directory) = (start, start);
    for segment in segments {
        if automaton.is_absorbing(directory) {
            return (directory, directory);
        }
        file = automaton.walk(directory, segment);
        directory = automaton.walk(file, b"/");
    }
    (file, directory)
}

/// Judges what fits the kind: both readings where it is unknown, the stricter counts.
pub(crate) fn both(kind: Kind, walked: &Walked, judge: impl Fn(&Verdict) -> Decision) -> Decision {
    match kind {
        Kind::File => judge(&walked.file),
        Kind::Directory => judge(&walked.directory),
        Kind::Unknown => judge(&walked.file).stricter(judge(&walked.directory)),
    }
}
