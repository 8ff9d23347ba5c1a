//! What the automata of an island say of a path: for each field the last match,
//! which is the match of the highest rank, of the path as a file and as a directory.
//!
//! Ranks, not order, decide, so the automata can be asked one after another.
//! Where a later list may show again what an earlier one hid (but nothing below a
//! hidden directory), they are walked in step and looked at after every segment.

use crate::automaton::Automaton;
use crate::decision::{Decision, Kind, RuleId};
use crate::format::{Section, island, path_cell};
use crate::table::{Context, Record};
use crate::validate::MAX_GROUPS;

/// The last match of one field over the automata of an island.
#[derive(Clone, Copy, Default)]
pub(crate) struct Last {
    pub(crate) rank: u16,
    pub(crate) value: u8,
    pub(crate) depth: u8,
    pub(crate) rule: Option<RuleId>,
}

impl Last {
    #[inline]
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
    #[inline]
    pub(crate) fn add(&mut self, cell: Record<'_>) {
        // Most paths match nothing: all four ranks are 0.
        if cell.0.first_chunk::<8>().is_none_or(|ranks| u64::from_le_bytes(*ranks) == 0) {
            return;
        }
        let rule = |k: usize| cell.rule(path_cell::RULES.saturating_add(k));
        self.hide.take(cell.u16(path_cell::HIDE_RANK), cell.u8(path_cell::HIDE), 0, rule(0));
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
        self.hide.rank > 0 && self.hide.value == 1
    }
}

/// What the automata say of a path as a file and as a directory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Walked {
    pub(crate) file: Verdict,
    pub(crate) directory: Verdict,
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

    /// As [`Self::walk`], looking at every directory whether it is hidden.
    fn walk_in_step<'p>(
        &self,
        automata: core::ops::Range<u32>,
        segments: impl Iterator<Item = &'p [u8]>,
    ) -> Walked {
        let mut states = [0u32; MAX_GROUPS];
        for (state, a) in states.iter_mut().zip(automata.clone()) {
            *state = self.table.automaton(a).start();
        }
        let mut walked = Walked::default();
        for (state, a) in states.iter().zip(automata.clone()) {
            walked.directory.add(self.table.automaton(a).cell(*state));
            walked.file = walked.directory;
        }
        for segment in segments {
            if walked.directory.hidden() {
                return Walked { file: walked.directory, directory: walked.directory };
            }
            walked = Walked::default();
            for (state, a) in states.iter_mut().zip(automata.clone()) {
                let automaton = self.table.automaton(a);
                let file = automaton.walk(*state, segment);
                *state = automaton.walk(file, b"/");
                walked.file.add(automaton.cell(file));
                walked.directory.add(automaton.cell(*state));
            }
        }
        walked
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
