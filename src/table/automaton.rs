//! Automata as bytes: class map, rows, labels, cells.
//!
//! Absorbing states come first so that a walker sees by number that it may stop; then
//! those that wait for the next `/` or `.`, so that it sees that it may skip.
//! Rows are dense while that is small; those of larger automata are displaced into one
//! comb ([`comb`](super::comb)).
//! Class maps that are equal are stored once.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "states and classes index the automaton's own rows"
)]

use super::comb::{Comb, displace};
use crate::automata::{Dfa, Label};
use mero_runtime::format::automaton as f;
use std::collections::HashMap;

/// Dense rows up to this size are never displaced: they fit a second-level
/// cache, and one load a byte is the fastest walk.
const DENSE_BYTES: usize = 48 << 10;

/// Collects automata of a table.
#[derive(Debug, Default)]
pub(super) struct Automata {
    /// Header records.
    pub(super) records: Vec<u8>,
    /// Blob.
    pub(super) data: Vec<u8>,
    /// Count so far.
    pub(super) count: u32,
    /// States so far.
    pub(super) states: usize,
    /// With dense rows.
    pub(super) dense: usize,
    /// With displaced rows.
    pub(super) displaced: usize,
    maps: HashMap<Vec<u8>, u32>,
}

fn u32_of(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl Automata {
    /// Adds an automaton whose labels `cell` turns into bytes of one size; `within` is its
    /// state in the directories of most mounts.
    /// `None` if it has more states or distinct cells than a table holds.
    pub(super) fn add<L: Label>(
        &mut self,
        dfa: &Dfa<L>,
        within: Option<u32>,
        cell: impl Fn(&L) -> Vec<u8>,
    ) -> Option<u32> {
        let width = dfa.classes().count();
        let states = dfa.states();
        let absorbing = |s: usize| dfa.row(u32_of(s)).iter().all(|&t| t as usize == s);
        // Classes that are nothing but separators of segments and of extensions, or what
        // no path that is skipped through holds.
        let mut leaves = vec![true; width];
        for (byte, &class) in (0..=255u8).zip(dfa.classes().map()) {
            leaves[usize::from(class)] &= matches!(byte, b'/' | b'.' | b'\\' | 0);
        }
        let idle = |s: usize| {
            let mut row = dfa.row(u32_of(s)).iter().zip(&leaves);
            row.all(|(&t, &leaves)| leaves || t as usize == s)
        };
        let mut order = (0..states).filter(|&s| absorbing(s)).collect::<Vec<_>>();
        let absorbed = order.len();
        order.extend((0..states).filter(|&s| !absorbing(s) && idle(s)));
        let first_busy = order.len();
        order.extend((0..states).filter(|&s| !idle(s)));
        let mut number = vec![0u32; states];
        for (new, &old) in order.iter().enumerate() {
            number[old] = u32_of(new);
        }
        let rows = order
            .iter()
            .map(|&old| {
                dfa.row(u32_of(old)).iter().map(|&t| number[t as usize]).collect::<Vec<_>>()
            })
            .collect::<Vec<_>>();
        let mut cells: Vec<Vec<u8>> = Vec::new();
        let mut cell_numbers: HashMap<Vec<u8>, u16> = HashMap::new();
        let mut labels = Vec::new();
        for &old in &order {
            let bytes = cell(dfa.label(u32_of(old)));
            let index = match cell_numbers.get(&bytes) {
                Some(&index) => index,
                None => {
                    let index = u16::try_from(cells.len()).ok().filter(|&n| n < u16::MAX)?;
                    cell_numbers.insert(bytes.clone(), index);
                    cells.push(bytes);
                    index
                }
            };
            labels.push(index);
        }
        if states >= 1 << 24 {
            return None;
        }
        let bytes_of = |numbers: usize| if numbers > usize::from(u16::MAX) { 4 } else { 2 };
        let stride = width + 1;
        let dense = states * stride * bytes_of(states * stride);
        let comb = (dense > DENSE_BYTES).then(|| displace(&rows, width));
        let narrow = bytes_of(states);
        let comb_bytes =
            |c: &Comb| states * (4 + 1 + 2) + (c.rows.len() * width + c.cells.len() * 2) * narrow;
        let comb = comb.filter(|c| comb_bytes(c) < dense);
        let bytes = if comb.is_some() { narrow } else { bytes_of(states * stride) };
        if comb.is_none() && u32::try_from(states * stride).is_err() {
            return None;
        }

        let map = self.map(dfa.classes().map());
        let start_of_rows = u32_of(self.data.len());
        let (layout, comb_length) = if let Some(comb) = &comb {
            for base in &comb.bases {
                self.data.extend_from_slice(&base.to_le_bytes());
            }
            self.data.extend_from_slice(&comb.defaults);
            let mut put = |n: u32| self.data.extend_from_slice(&n.to_le_bytes()[..bytes]);
            comb.rows.iter().flat_map(|&s| &rows[s as usize]).for_each(|&t| put(t));
            for (owner, target) in &comb.cells {
                // A free cell is owned by no state; its target is never read.
                put(owner.unwrap_or(u32::MAX));
                put(*target);
            }
            self.displaced += 1;
            (f::DISPLACED, u32_of(comb.cells.len()))
        } else {
            let mut put = |n: u32| self.data.extend_from_slice(&n.to_le_bytes()[..bytes]);
            for (row, label) in rows.iter().zip(&labels) {
                row.iter().for_each(|&t| put(t * u32_of(stride)));
                put(u32::from(*label));
            }
            self.dense += 1;
            (f::DENSE, 0)
        };
        let start_of_labels = u32_of(self.data.len());
        if comb.is_some() {
            labels.iter().for_each(|l| self.data.extend_from_slice(&l.to_le_bytes()));
        }
        let start_of_cells = u32_of(self.data.len());
        let cell_size = cells.first().map_or(0, Vec::len);
        cells.iter().for_each(|c| self.data.extend_from_slice(c));

        let mut r = Vec::with_capacity(f::SIZE);
        r.extend(map.to_le_bytes());
        r.extend(u32_of(states).to_le_bytes());
        r.extend(u16::try_from(width).unwrap_or(256).to_le_bytes());
        let scale = if comb.is_some() { 1 } else { u32_of(stride) };
        r.extend((number[dfa.start() as usize] * scale).to_le_bytes());
        r.extend((u32_of(absorbed) * scale).to_le_bytes());
        r.push(layout);
        r.push(u8::try_from(bytes).unwrap_or(4));
        r.extend(start_of_rows.to_le_bytes());
        r.extend(comb_length.to_le_bytes());
        r.extend(start_of_labels.to_le_bytes());
        r.extend(start_of_cells.to_le_bytes());
        r.extend(u16::try_from(cells.len()).unwrap_or(0).to_le_bytes());
        r.push(u8::try_from(cell_size).unwrap_or(0));
        r.extend((u32_of(first_busy) * scale).to_le_bytes());
        r.extend((number[within.unwrap_or(dfa.start()) as usize] * scale).to_le_bytes());
        r.push(comb.map_or(0, |c| u8::try_from(c.rows.len()).unwrap_or(u8::MAX)));
        self.records.extend(r);
        let index = self.count;
        self.count += 1;
        self.states += states;
        Some(index)
    }

    fn map(&mut self, map: &[u8; 256]) -> u32 {
        let here = u32_of(self.data.len());
        let at = *self.maps.entry(map.to_vec()).or_insert(here);
        if at == here {
            self.data.extend_from_slice(map);
        }
        at
    }
}
