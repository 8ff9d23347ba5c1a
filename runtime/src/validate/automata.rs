//! The checks of automata: every transition, start and label leads to something.

use super::{Check, ensure, flag, permissions, rule_number};
use crate::format::{Section, automaton, path_cell, rule_cell};
use crate::table::{Record, Table};

/// `end` is where the parts of the automata before it have ended. Class maps may
/// be shared: they are of one size.
pub(super) fn automata(table: &Table<'_>, r: Record<'_>, end: &mut usize) -> Check {
    let data = table.section(Section::AutomataData);
    let part = |at: usize, length: usize| {
        let start = r.u32(at) as usize;
        data.get(start..).and_then(|d| d.get(..length)).ok_or("a part that ends after the data")
    };
    let mut own = |at: usize, length: usize| {
        let start = r.u32(at) as usize;
        ensure(start >= *end, "a part that overlaps another")?;
        *end = start.saturating_add(length);
        part(at, length)
    };
    let states = r.u32(automaton::STATES);
    let classes = r.u16(automaton::CLASSES);
    ensure(states > 0 && states < 1 << 24, "no states, or too many")?;
    ensure((1..=256).contains(&classes), "no byte classes, or too many")?;
    let map = part(automaton::MAP, 256)?;
    ensure(map.iter().all(|&c| u16::from(c) < classes), "a byte class that does not exist")?;
    let width = usize::from(r.u8(automaton::WIDTH));
    ensure(width == 2 || width == 4, "a width that does not exist")?;
    let count = states as usize;
    let cell_count = r.u16(automaton::CELL_COUNT);
    let (start, absorbing) = (r.u32(automaton::START), r.u32(automaton::ABSORBING));
    let (idle, within) = (r.u32(automaton::IDLE), r.u32(automaton::WITHIN));
    ensure(absorbing <= idle, "idle states before absorbing ones")?;
    match r.u8(automaton::LAYOUT) {
        automaton::DENSE => {
            let stride = u32::from(classes).saturating_add(1);
            let past = states.checked_mul(stride).ok_or("more rows than can be numbered")?;
            let rows = Rows::new(stride, past);
            ensure(rows.has(start) && rows.has(within), "a start state that does not exist")?;
            ensure(absorbing == past || rows.has(absorbing), "absorbing states that do not exist")?;
            ensure(idle == past || rows.has(idle), "idle states that do not exist")?;
            let numbers = own(automaton::ROWS, (past as usize).saturating_mul(width))?;
            for row in numbers.chunks_exact((stride as usize).saturating_mul(width)) {
                rows.check(row, width, cell_count)?;
            }
        }
        automaton::DISPLACED => {
            ensure(start < states && within < states, "a start state that does not exist")?;
            ensure(idle <= states, "idle states that do not exist")?;
            let comb = r.u32(automaton::COMB) as usize;
            let bases = count.saturating_mul(4);
            let whole = r.u8(automaton::DEFAULT_ROWS);
            let default_rows = usize::from(whole).saturating_mul(classes.into());
            let default_rows = default_rows.saturating_mul(width);
            let cells = comb.saturating_mul(2).saturating_mul(width);
            let length = bases.saturating_add(count).saturating_add(default_rows);
            let length = length.saturating_add(cells);
            let rows = own(automaton::ROWS, length)?;
            let highest = comb.checked_sub(usize::from(classes)).ok_or("a comb without a row")?;
            let bases_part = rows.get(..bases).unwrap_or(&[]);
            for base in bases_part.chunks_exact(4) {
                ensure(Record(base).u32(0) as usize <= highest, "a row that ends after the comb")?;
            }
            let rest = rows.get(bases..).unwrap_or(&[]);
            let defaults = rest.get(..count).unwrap_or(&[]);
            ensure(defaults.iter().all(|&d| d < whole), "a default row that does not exist")?;
            let rest = rest.get(count..).unwrap_or(&[]);
            all_states(rest.get(..default_rows).unwrap_or(&[]), width, states)?;
            // Owners may be no state at all (a free cell); targets may not.
            let comb_part = rest.get(default_rows..).unwrap_or(&[]);
            for cell in comb_part.chunks_exact(width.saturating_mul(2)) {
                all_states(cell.get(width..).unwrap_or(&[]), width, states)?;
            }
            for label in own(automaton::LABELS, count.saturating_mul(2))?.chunks_exact(2) {
                ensure(Record(label).u16(0) < cell_count, "a label that does not exist")?;
            }
        }
        _ => return Err("a layout that does not exist"),
    }
    let size = usize::from(r.u8(automaton::CELL_SIZE));
    ensure(size == path_cell::SIZE || size == rule_cell::SIZE, "a cell of unknown size")?;
    let cells = own(automaton::CELLS, usize::from(cell_count).saturating_mul(size))?;
    for cell in cells.chunks_exact(size) {
        let cell = Record(cell);
        if size == path_cell::SIZE {
            ensure(cell.u8(path_cell::HIDE) <= 1, "a verdict that does not exist")?;
            for at in [path_cell::ALLOW, path_cell::ASK, path_cell::DENY] {
                permissions(cell.u8(at))?;
            }
            for k in 0..4usize {
                rule_number(table, cell, path_cell::RULES.saturating_add(k.saturating_mul(3)))?;
            }
        } else {
            ensure(cell.u8(rule_cell::EFFECT) <= 3, "an effect that does not exist")?;
            flag(cell.u8(rule_cell::READONLY))?;
            rule_number(table, cell, rule_cell::RULE)?;
        }
    }
    Ok(())
}

/// The rows of a dense automaton: a state is the offset of its row.
struct Rows {
    end: u32,
    inverse: u64,
}

impl Rows {
    fn new(stride: u32, end: u32) -> Rows {
        let inverse = u64::MAX.checked_div(stride.into()).unwrap_or(0).wrapping_add(1);
        Rows { end, inverse }
    }

    fn has(&self, state: u32) -> bool {
        // A multiple of the stride is one by a single multiplication (Lemire,
        // Kaser and Kurz, 2019): division would dominate the load.
        let remainder = u64::from(state).wrapping_mul(self.inverse);
        state < self.end && remainder <= self.inverse.wrapping_sub(1)
    }

    fn check(&self, row: &[u8], width: usize, cell_count: u16) -> Check {
        let split = row.len().saturating_sub(width);
        let (targets, label) = row.split_at_checked(split).unwrap_or((row, &[]));
        let number =
            |n: &[u8]| if width == 4 { Record(n).u32(0) } else { u32::from(Record(n).u16(0)) };
        ensure(
            targets.chunks_exact(width).all(|n| self.has(number(n))),
            "a transition to a state that does not exist",
        )?;
        ensure(number(label) < u32::from(cell_count), "a label that does not exist")
    }
}

fn all_states(numbers: &[u8], width: usize, states: u32) -> Check {
    let good = if width == 4 {
        numbers.chunks_exact(4).all(|n| Record(n).u32(0) < states)
    } else {
        numbers.chunks_exact(2).all(|n| u32::from(Record(n).u16(0)) < states)
    };
    ensure(good, "a transition to a state that does not exist")
}
