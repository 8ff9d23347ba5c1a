//! The canonical minimal automaton.
//!
//! Hopcroft's partition refinement: begin with one block per label, and split
//! blocks whose states disagree on where a block can be entered, always going on
//! with the smaller half, so that a state is looked at O(log n) times per column.
//! *Columns* are classes with equal transitions everywhere, merged beforehand: one
//! glob over an alphabet of 80 classes has perhaps 5. Blocks are then numbered
//! breadth first from the start, in class order, and what is not reached is left
//! out. So equal languages over equal classes give equal values.
//!
//! O(k n log n) time and 8 k n bytes for n states and k columns. No errors.
//! After J. Hopcroft, "An n log n algorithm for minimizing states in a finite
//! automaton" (1971), with the block arrays of A. Valmari (2012).

// States, blocks and columns index arrays of their number; the arrays `place` and
// `order` are inverse permutations of the states throughout.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::alphabet::Classes;
use super::dfa::{Dfa, Label};
use super::product::QuickMap;
use std::sync::Arc;

/// The minimal automaton with the same labels on all strings.
pub fn minimize<L: Label>(dfa: &Dfa<L>) -> Dfa<L> {
    let columns = Columns::of(dfa);
    let rows = dfa.trans.chunks_exact(dfa.classes.count());
    let trans =
        rows.flat_map(|row| columns.firsts.iter().map(|&class| row[usize::from(class)])).collect();
    minimal(&dfa.classes, &Rows { columns, trans, labels: dfa.labels.clone(), start: dfa.start })
}

/// A way to merge classes: `of_class` maps a class to its column, and columns are
/// numbered by their first class.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub(super) of_class: Vec<u8>,
    pub(super) firsts: Vec<u8>,
}

impl Columns {
    /// The coarsest columns for an automaton.
    pub(super) fn of<L>(dfa: &Dfa<L>) -> Columns {
        let width = dfa.classes.count();
        let mut hashes = vec![0_u64; width];
        for row in dfa.trans.chunks_exact(width) {
            for (hash, &to) in hashes.iter_mut().zip(row) {
                *hash = mix(*hash, u64::from(to));
            }
        }
        let same = |a: usize, b: usize| dfa.trans.chunks_exact(width).all(|row| row[a] == row[b]);
        let mut firsts: Vec<u8> = Vec::new();
        let mut of_class = Vec::with_capacity(width);
        for class in 0..width {
            let known = firsts.iter().position(|&first| {
                hashes[usize::from(first)] == hashes[class] && same(usize::from(first), class)
            });
            of_class.push(known.unwrap_or(firsts.len()) as u8);
            if known.is_none() {
                firsts.push(class as u8);
            }
        }
        Columns { of_class, firsts }
    }

    /// The columns of two maps together.
    pub(super) fn join(&self, other: &Columns) -> Columns {
        Columns::by(self.of_class.iter().zip(&other.of_class))
    }

    /// Columns from one key per class.
    pub(super) fn by<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) -> Columns {
        let mut known: QuickMap<K, u8> = QuickMap::default();
        let mut columns = Columns { of_class: Vec::new(), firsts: Vec::new() };
        for (class, key) in keys.enumerate() {
            let next = columns.firsts.len() as u8;
            let column = *known.entry(key).or_insert(next);
            if usize::from(column) == columns.firsts.len() {
                columns.firsts.push(class as u8);
            }
            columns.of_class.push(column);
        }
        columns
    }

    pub(super) fn count(&self) -> usize {
        self.firsts.len()
    }
}

/// An automaton by columns: `trans[state * columns.count() + column]`.
pub(super) struct Rows<L> {
    pub(super) columns: Columns,
    pub(super) trans: Vec<u32>,
    pub(super) labels: Vec<L>,
    pub(super) start: u32,
}

/// Minimises and spreads columns over classes again.
pub(super) fn minimal<L: Label>(classes: &Arc<Classes>, rows: &Rows<L>) -> Dfa<L> {
    let blocks = Partition::refine(rows);
    let width = rows.columns.count();
    let members = blocks.first.iter().map(|&at| blocks.order[at] as usize);
    let trans = members
        .clone()
        .flat_map(|state| &rows.trans[state * width..(state + 1) * width])
        .map(|&to| blocks.of[to as usize])
        .collect();
    let labels = members.map(|state| rows.labels[state].clone()).collect();
    number(classes, &rows.columns, trans, labels, blocks.of[rows.start as usize])
}

/// Numbers states breadth first and leaves out what is not reached.
pub(super) fn canonical<L: Label>(dfa: &Dfa<L>) -> Dfa<L> {
    let columns = Columns::by(0..dfa.classes.count());
    number(&dfa.classes, &columns, dfa.trans.clone(), dfa.labels.clone(), dfa.start)
}

fn number<L: Label>(
    classes: &Arc<Classes>,
    columns: &Columns,
    trans: Vec<u32>,
    labels: Vec<L>,
    start: u32,
) -> Dfa<L> {
    let width = columns.count();
    let mut number = vec![u32::MAX; labels.len()];
    let mut order = vec![start];
    number[start as usize] = 0;
    let mut done = 0;
    while done < order.len() {
        let state = order[done] as usize;
        done += 1;
        for &to in &trans[state * width..(state + 1) * width] {
            if number[to as usize] == u32::MAX {
                number[to as usize] = order.len() as u32;
                order.push(to);
            }
        }
    }
    let row = |state: u32| &trans[state as usize * width..(state as usize + 1) * width];
    let mut spread = Vec::with_capacity(order.len() * classes.count());
    for &state in &order {
        let row = row(state);
        let by_class = columns.of_class.iter().map(|&column| row[usize::from(column)]);
        spread.extend(by_class.map(|to| number[to as usize]));
    }
    Dfa {
        classes: Arc::clone(classes),
        trans: spread,
        labels: order.iter().map(|&state| labels[state as usize].clone()).collect(),
        start: 0,
    }
}

/// Blocks of states: block `b` is `order[first[b]..end[b]]`, `place` is the inverse
/// of `order`, `of` names each state's block.
struct Partition {
    order: Vec<u32>,
    place: Vec<usize>,
    of: Vec<u32>,
    first: Vec<usize>,
    end: Vec<usize>,
}

impl Partition {
    fn refine<L: Label>(rows: &Rows<L>) -> Partition {
        let width = rows.columns.count();
        let inverse = Inverse::new(&rows.trans, width, rows.labels.len());
        let mut blocks = Partition::by_label(&rows.labels);
        let largest = (0..blocks.first.len()).max_by_key(|&b| blocks.end[b] - blocks.first[b]);
        let mut waiting: Vec<usize> =
            (0..blocks.first.len()).filter(|&b| Some(b) != largest).collect();
        let mut marked = vec![0_usize; blocks.first.len()];
        let mut touched: Vec<usize> = Vec::new();
        let mut splitter: Vec<u32> = Vec::new();
        while let Some(block) = waiting.pop() {
            // A copy: the block itself may be split on the way.
            splitter.clear();
            splitter.extend_from_slice(&blocks.order[blocks.first[block]..blocks.end[block]]);
            for column in 0..width {
                for &to in &splitter {
                    for &from in inverse.sources(column, to) {
                        let home = blocks.of[from as usize] as usize;
                        if marked[home] == 0 {
                            touched.push(home);
                        }
                        let place = blocks.first[home] + marked[home];
                        blocks.swap(blocks.place[from as usize], place);
                        marked[home] += 1;
                    }
                }
                for home in touched.drain(..) {
                    if blocks.split(home, marked[home]) {
                        // The new block is the smaller half; if the old one was
                        // waiting it still is.
                        waiting.push(marked.len());
                        marked.push(0);
                    }
                    marked[home] = 0;
                }
            }
        }
        blocks
    }

    fn by_label<L: Label>(labels: &[L]) -> Partition {
        let mut known: QuickMap<&L, u32> = QuickMap::default();
        let mut of = Vec::with_capacity(labels.len());
        for label in labels {
            let next = known.len() as u32;
            of.push(*known.entry(label).or_insert(next));
        }
        let mut end = vec![0_usize; known.len()];
        for &block in &of {
            end[block as usize] += 1;
        }
        let mut total = 0;
        let mut first = Vec::with_capacity(end.len());
        for size in &mut end {
            first.push(total);
            total += *size;
            *size = total;
        }
        let mut next = first.clone();
        let mut order = vec![0; labels.len()];
        let mut place = vec![0; labels.len()];
        for (state, &block) in of.iter().enumerate() {
            let at = &mut next[block as usize];
            order[*at] = state as u32;
            place[state] = *at;
            *at += 1;
        }
        Partition { order, place, of, first, end }
    }

    fn swap(&mut self, a: usize, b: usize) {
        if a == b {
            return;
        }
        self.order.swap(a, b);
        self.place[self.order[a] as usize] = a;
        self.place[self.order[b] as usize] = b;
    }

    /// Splits off the smaller of a block's first `marked` states and its others.
    fn split(&mut self, block: usize, marked: usize) -> bool {
        let (first, end) = (self.first[block], self.end[block]);
        let middle = first + marked;
        if middle == end {
            return false;
        }
        let (new_first, new_end) = if marked <= end - middle {
            self.first[block] = middle;
            (first, middle)
        } else {
            self.end[block] = middle;
            (middle, end)
        };
        for &state in &self.order[new_first..new_end] {
            self.of[state as usize] = self.first.len() as u32;
        }
        self.first.push(new_first);
        self.end.push(new_end);
        true
    }
}

/// For each column and state, the states that go there.
struct Inverse {
    states: usize,
    /// `from[at[column * states + to]..at[column * states + to + 1]]`.
    at: Vec<u32>,
    from: Vec<u32>,
}

impl Inverse {
    fn new(trans: &[u32], width: usize, states: usize) -> Inverse {
        let mut at = vec![0_u32; width * states + 1];
        for row in trans.chunks_exact(width) {
            for (column, &to) in row.iter().enumerate() {
                at[column * states + to as usize] += 1;
            }
        }
        let mut total = 0;
        for count in &mut at {
            total += *count;
            *count = total;
        }
        let mut from = vec![0; trans.len()];
        for (state, row) in trans.chunks_exact(width).enumerate() {
            for (column, &to) in row.iter().enumerate() {
                let place = &mut at[column * states + to as usize];
                *place -= 1;
                from[*place as usize] = state as u32;
            }
        }
        Inverse { states, at, from }
    }

    fn sources(&self, column: usize, to: u32) -> &[u32] {
        let index = column * self.states + to as usize;
        &self.from[self.at[index] as usize..self.at[index + 1] as usize]
    }
}

/// Mixes a word into a hash (the multiplication of FxHash).
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}
