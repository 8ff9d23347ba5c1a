//! Large automata: rows displaced into one comb, with a few whole rows to fall back on.
//!
//! Most states of a list of patterns go on alike: inside a name that begins like nothing
//! in the list, or like several things at once, all bytes but two or three lead where they
//! would lead from some state that many others lead to. So a state keeps what differs
//! from one of a few *default rows*, and all that is kept lies in one array, first fit,
//! fullest rows first (Tarjan and Yao, 1979). The default rows are chosen greedily
//! among the states that most transitions lead to, each for what it saves.
//!
//! Time: states × classes × candidates, bounded by taking fewer candidates for large
//! automata; placing is linear but for holes that are looked at again, a bounded number.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "states and classes index the rows given; the comb is grown first"
)]

/// Displaced rows.
pub(super) struct Comb {
    /// Of each state, where its row lies.
    pub(super) bases: Vec<u32>,
    /// Of each state, the default row.
    pub(super) defaults: Vec<u8>,
    /// States whose rows are the default ones.
    pub(super) rows: Vec<u32>,
    /// Owner, if any, and target.
    pub(super) cells: Vec<(Option<u32>, u32)>,
}

/// Comparisons of single transitions that choosing default rows may take.
const WORK: usize = 400_000_000;

/// Candidates for default rows.
const CANDIDATES: usize = 192;

/// Places that are tried for a row before it is put behind everything.
const TRIED: usize = 20_000;

/// Displaces rows of `width` targets into a comb.
pub(super) fn displace(rows: &[Vec<u32>], width: usize) -> Comb {
    let (chosen, defaults) = default_rows(rows, width);
    let kept = |s: usize| {
        let default = &rows[chosen[usize::from(defaults[s])] as usize];
        let differs = move |(_, (t, d)): &(usize, (&u32, &u32))| t != d;
        rows[s].iter().zip(default).enumerate().filter(differs).map(|(c, (t, _))| (c, *t))
    };
    let mut order = (0..rows.len()).map(|s| (kept(s).count(), s)).collect::<Vec<_>>();
    order.sort_by_key(|&(kept, s)| (std::cmp::Reverse(kept), s));
    let mut cells: Vec<(Option<u32>, u32)> = vec![(None, 0); width];
    let mut bases = vec![0_u32; rows.len()];
    // Below it nothing is free; and where rows of one length were last looked for in vain.
    let (mut low, mut floor, mut length) = (0_usize, 0_usize, 0_usize);
    for (kept_of, s) in order {
        let row = kept(s).collect::<Vec<_>>();
        let Some(&(first, _)) = row.first() else { continue };
        while cells.get(low).is_some_and(|c| c.0.is_some()) {
            low += 1;
        }
        let fits = |base: &usize| {
            row.iter().all(|(c, _)| cells.get(base + c).is_none_or(|cell| cell.0.is_none()))
        };
        if kept_of != length {
            (length, floor) = (kept_of, 0);
        }
        let from = low.saturating_sub(first).max(floor);
        let found = (from..from + TRIED).find(fits);
        let base = found.or_else(|| (cells.len() - width..).find(fits)).unwrap_or(cells.len());
        if found.is_none() {
            floor = base;
        }
        if cells.len() < base + width {
            cells.resize(base + width, (None, 0));
        }
        for (c, t) in row {
            cells[base + c] = (u32::try_from(s).ok(), t);
        }
        bases[s] = u32::try_from(base).unwrap_or(u32::MAX);
    }
    Comb { bases, defaults, rows: chosen, cells }
}

/// The states whose rows are defaults, and of each state which one it takes.
fn default_rows(rows: &[Vec<u32>], width: usize) -> (Vec<u32>, Vec<u8>) {
    let mut entered = vec![0_u32; rows.len()];
    rows.iter().flatten().for_each(|&t| entered[t as usize] += 1);
    let mut candidates = (0..rows.len()).collect::<Vec<_>>();
    candidates.sort_by_key(|&s| (std::cmp::Reverse(entered[s]), s));
    let affordable = WORK / (rows.len() * width).max(1);
    candidates.truncate(affordable.clamp(2, CANDIDATES));
    let apart = |s: usize, d: usize| {
        let differing = rows[s].iter().zip(&rows[d]).map(|(a, b)| u16::from(a != b));
        differing.sum::<u16>()
    };
    let costs = candidates
        .iter()
        .map(|&d| (0..rows.len()).map(|s| apart(s, d)).collect::<Vec<_>>())
        .collect::<Vec<_>>();
    let mut best = vec![u16::MAX; rows.len()];
    let mut defaults = vec![0_u8; rows.len()];
    let mut chosen = Vec::new();
    for number in 0..u8::MAX {
        let saves = |costs: &Vec<u16>| {
            let saved = costs.iter().zip(&best).map(|(c, b)| usize::from(b.saturating_sub(*c)));
            saved.sum::<usize>()
        };
        let gains = costs.iter().map(saves).enumerate();
        let Some((next, gain)) = gains.max_by_key(|&(i, gain)| (gain, std::cmp::Reverse(i))) else {
            break;
        };
        // A default row is half as long as what is kept of so many transitions.
        if !chosen.is_empty() && gain * 2 <= width {
            break;
        }
        chosen.push(u32::try_from(candidates[next]).unwrap_or(0));
        for ((best, default), cost) in best.iter_mut().zip(&mut defaults).zip(&costs[next]) {
            if cost < best {
                *best = *cost;
                *default = number;
            }
        }
    }
    (chosen, defaults)
}
