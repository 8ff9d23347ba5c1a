//! Automata of a table, walked in place.
//!
//! A state of a dense automaton is the offset of its row, so a step is one
//! addition and one load, and the label stands at the end of the row. Large
//! automata have displaced rows: a state is an index, and a step looks whether
//! the cell of the comb belongs to it, or else in its default row. In both, states that lead nowhere else
//! come first, so that a walk sees by number that it may stop; then those that only `/`
//! and `.` lead out of, so that it may skip to the next one.

use crate::format::automaton;
use crate::outline::Outline;
use crate::table::Record;
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// A deterministic automaton, ready to walk.
#[derive(Clone, Copy)]
pub struct Automaton<'a> {
    map: &'a [u8; 256],
    data: &'a [u8],
    rows: &'a [u8],
    /// Of each state, the number of its default row.
    defaults: &'a [u8],
    default_rows: &'a [u8],
    comb: &'a [u8],
    start: u32,
    within: u32,
    absorbing: u32,
    idle: u32,
    classes: u32,
    #[cfg(feature = "alloc")]
    states: u32,
    wide: bool,
    displaced: bool,
    labels: usize,
    cells: usize,
    cell_size: usize,
}

impl<'a> Automaton<'a> {
    pub(crate) fn new(record: Record<'a>, data: &'a [u8]) -> Automaton<'a> {
        static NO_MAP: [u8; 256] = [0; 256];
        let part = |field: usize| data.get(record.u32(field) as usize..).unwrap_or(&[]);
        let rows = part(automaton::ROWS);
        let wide = record.u8(automaton::WIDTH) == 4;
        let width = if wide { 4 } else { 2 };
        let displaced = record.u8(automaton::LAYOUT) == automaton::DISPLACED;
        let classes = u32::from(record.u16(automaton::CLASSES));
        let (mut defaults, mut default_rows, mut comb): (&[u8], &[u8], &[u8]) = (&[], &[], &[]);
        if displaced {
            let states = record.u32(automaton::STATES) as usize;
            let whole = usize::from(record.u8(automaton::DEFAULT_ROWS));
            let whole = whole.saturating_mul(classes as usize).saturating_mul(width);
            defaults = rows.get(states.saturating_mul(4)..).unwrap_or(&[]);
            default_rows = defaults.get(states..).unwrap_or(&[]);
            comb = default_rows.get(whole..).unwrap_or(&[]);
        }
        Automaton {
            map: part(automaton::MAP).first_chunk().unwrap_or(&NO_MAP),
            data,
            rows,
            defaults,
            default_rows,
            comb,
            start: record.u32(automaton::START),
            within: record.u32(automaton::WITHIN),
            absorbing: record.u32(automaton::ABSORBING),
            idle: record.u32(automaton::IDLE),
            classes,
            #[cfg(feature = "alloc")]
            states: record.u32(automaton::STATES),
            wide,
            displaced,
            labels: record.u32(automaton::LABELS) as usize,
            cells: record.u32(automaton::CELLS) as usize,
            cell_size: usize::from(record.u8(automaton::CELL_SIZE)),
        }
    }

    /// The state before any input.
    #[must_use]
    pub fn start(&self) -> u32 {
        self.start
    }

    /// The state in the directories of those mounts whose class says so.
    #[inline]
    pub(crate) fn within(&self) -> u32 {
        self.within
    }

    /// Whether no input leads out of `state`.
    #[inline]
    #[must_use]
    pub fn is_absorbing(&self, state: u32) -> bool {
        state < self.absorbing
    }

    /// Whether a state of an automaton over paths says nothing.
    #[inline]
    pub(crate) fn is_silent(&self, state: u32) -> bool {
        self.cell(state).0.first_chunk::<8>().is_none_or(|ranks| *ranks == [0; 8])
    }

    /// Every state is below it.
    #[cfg(feature = "alloc")]
    pub(crate) fn bound(&self) -> usize {
        let stride = if self.displaced { 1 } else { self.classes.saturating_add(1) };
        (self.states as usize).saturating_mul(stride as usize)
    }

    /// One byte of each class.
    #[cfg(feature = "alloc")]
    pub(crate) fn representatives(&self) -> Vec<u8> {
        let mut seen = [false; 256];
        let mut out = Vec::new();
        for byte in 0..=255u8 {
            let slot = seen.get_mut(self.class(byte) as usize);
            if slot.is_some_and(|seen| !core::mem::replace(seen, true)) {
                out.push(byte);
            }
        }
        out
    }

    #[inline]
    fn class(&self, byte: u8) -> u32 {
        self.map.get(usize::from(byte)).copied().map_or(0, u32::from)
    }

    /// Both places are read and one is taken: which one it is no branch could foresee.
    #[inline]
    fn displaced(&self, state: u32, byte: u8) -> u32 {
        let class = self.class(byte);
        let (slot, spare) = self.places(state, class);
        let (cells, _) = self.comb.as_chunks::<4>();
        let (rows, _) = self.default_rows.as_chunks::<2>();
        let cell = cells.get(slot).map_or(u32::MAX, |cell| u32::from_le_bytes(*cell));
        let default = rows.get(spare).map_or(0, |row| u32::from(u16::from_le_bytes(*row)));
        let (owner, target) = (cell & 0xffff, cell >> 16);
        core::hint::select_unpredictable(owner == state, target, default)
    }

    #[inline]
    fn displaced_wide(&self, state: u32, byte: u8) -> u32 {
        let class = self.class(byte);
        let (slot, spare) = self.places(state, class);
        let (cells, _) = self.comb.as_chunks::<8>();
        let (rows, _) = self.default_rows.as_chunks::<4>();
        let cell = cells.get(slot).map_or(u64::MAX, |cell| u64::from_le_bytes(*cell));
        let default = rows.get(spare).map_or(0, |row| u32::from_le_bytes(*row));
        // The halves of a cell.
        let (owner, target) = (cell as u32, (cell >> 32) as u32);
        core::hint::select_unpredictable(owner == state, target, default)
    }

    /// Where a state's transition is: in the comb if it owns that cell, or else in its
    /// default row.
    #[inline]
    fn places(&self, state: u32, class: u32) -> (usize, usize) {
        let (bases, _) = self.rows.as_chunks::<4>();
        let base = bases.get(state as usize).map_or(0, |base| u32::from_le_bytes(*base));
        let row = self.defaults.get(state as usize).copied().map_or(0, u32::from);
        let spare = row.saturating_mul(self.classes).saturating_add(class);
        (base.saturating_add(class) as usize, spare as usize)
    }

    #[inline]
    fn narrow(&self, state: u32, byte: u8) -> u32 {
        let at = (state as usize).wrapping_add(self.class(byte) as usize);
        let (numbers, _) = self.rows.as_chunks::<2>();
        numbers.get(at).map_or(0, |n| u32::from(u16::from_le_bytes(*n)))
    }

    #[inline]
    fn wide(&self, state: u32, byte: u8) -> u32 {
        let at = (state as usize).wrapping_add(self.class(byte) as usize);
        let (numbers, _) = self.rows.as_chunks::<4>();
        numbers.get(at).map_or(0, |n| u32::from_le_bytes(*n))
    }

    /// The state after one byte.
    #[inline]
    #[must_use]
    pub fn step(&self, state: u32, byte: u8) -> u32 {
        match (self.displaced, self.wide) {
            (true, false) => self.displaced(state, byte),
            (true, true) => self.displaced_wide(state, byte),
            (false, false) => self.narrow(state, byte),
            (false, true) => self.wide(state, byte),
        }
    }

    /// As [`Self::walk`] over a path from `from` on, which has this outline.
    #[inline]
    pub(crate) fn walk_outlined<O: Outline>(
        &self,
        state: u32,
        path: &[u8],
        from: usize,
        outline: &O,
    ) -> u32 {
        match (self.displaced, self.wide) {
            (true, false) => self.run_outlined(state, path, from, outline, Self::displaced),
            (true, true) => self.run_outlined(state, path, from, outline, Self::displaced_wide),
            (false, false) => self.run_outlined(state, path, from, outline, Self::narrow),
            (false, true) => self.run_outlined(state, path, from, outline, Self::wide),
        }
    }

    #[inline(always)]
    fn run_outlined<O: Outline>(
        &self,
        mut state: u32,
        path: &[u8],
        mut at: usize,
        outline: &O,
        step: impl Fn(&Self, u32, u8) -> u32,
    ) -> u32 {
        while at < path.len() {
            if state < self.idle {
                if state < self.absorbing {
                    break;
                }
                at = outline.stop(at);
            }
            let Some(&byte) = path.get(at) else { break };
            state = step(self, state, byte);
            at = at.wrapping_add(1);
        }
        state
    }

    /// The state after all bytes; stops early where none can matter.
    #[inline]
    #[must_use]
    pub fn walk(&self, state: u32, bytes: &[u8]) -> u32 {
        // One loop for each layout, so that none is chosen byte by byte.
        match (self.displaced, self.wide) {
            (true, false) => self.run(state, bytes, Self::displaced),
            (true, true) => self.run(state, bytes, Self::displaced_wide),
            (false, false) => self.run(state, bytes, Self::narrow),
            (false, true) => self.run(state, bytes, Self::wide),
        }
    }

    #[inline(always)]
    fn run(&self, mut state: u32, bytes: &[u8], step: impl Fn(&Self, u32, u8) -> u32) -> u32 {
        for &byte in bytes {
            if state < self.absorbing {
                break;
            }
            state = step(self, state, byte);
        }
        state
    }

    /// The cell of a state.
    #[inline]
    pub(crate) fn cell(&self, state: u32) -> Record<'a> {
        let label = if self.displaced {
            let at = self.labels.saturating_add((state as usize).saturating_mul(2));
            u32::from(Record(self.data).u16(at))
        } else {
            let at = (state as usize).saturating_add(self.classes as usize);
            if self.wide {
                Record(self.rows).u32(at.saturating_mul(4))
            } else {
                u32::from(Record(self.rows).u16(at.saturating_mul(2)))
            }
        };
        let start = self.cells.saturating_add((label as usize).saturating_mul(self.cell_size));
        let cell = self.data.get(start..).and_then(|d| d.get(..self.cell_size));
        Record(cell.unwrap_or(&[]))
    }
}
