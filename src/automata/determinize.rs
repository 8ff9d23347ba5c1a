//! From expressions to automata: the subset construction, under a budget.
//!
//! A state of the result is a set of states of the [`Nfa`]. Silent steps are
//! resolved once per target and remembered, classes that lead to the same set are
//! handled once, and the construction runs over the few byte classes that the one
//! expression needs; the caller's classes come in at the end. Both the number of
//! sets and the sum of their sizes are bounded, so a pattern that explodes (`*a`
//! and twenty `?`) fails within milliseconds.
//!
//! Cost: at most 500 × budget + 2 million steps. Errors: [`TooLarge`].
//! After M. Rabin and D. Scott, "Finite automata and their decision problems" (1959).

// State numbers are below the length of the automaton they come from, classes below
// the class count; the work counter is bounded by its own check.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::TooLarge;
use super::alphabet::Classes;
use super::dfa::Dfa;
use super::minimize::{Columns, Rows, minimal};
use super::nfa::{Nfa, Re, State};
use super::product::QuickMap;
use std::sync::Arc;

/// Steps allowed per state of the budget, and on top.
const WORK_PER_STATE: usize = 500;
const WORK_BASE: usize = 2_000_000;

/// The minimal automaton of an expression, with `true` for the strings in it.
///
/// # Errors
/// [`TooLarge`] past `budget` states or the work that goes with them, or if
/// `classes` do not tell apart what the expression does.
pub fn determinize(re: &Re, classes: &Arc<Classes>, budget: usize) -> Result<Dfa<bool>, TooLarge> {
    let local = Re::classes([re]);
    if !classes.refines(&local) {
        return Err(TooLarge::Classes);
    }
    let nfa = Nfa::new(re);
    let mut subsets = Subsets::new(&nfa, &local, budget);
    let start = subsets.closed(nfa.start())?;
    let start = subsets.number(start.to_vec())?;
    let mut trans = Vec::new();
    let mut done = 0;
    while done < subsets.sets.len() {
        subsets.row(done, &mut trans)?;
        done += 1;
    }
    let accepts =
        |set: &Arc<[u32]>| set.iter().any(|&state| nfa.states()[state as usize] == State::Accept);
    let labels = subsets.sets.iter().map(accepts).collect();
    // Classes of both partitions are numbered by their lowest byte, so the columns
    // are numbered by their first class, as they must be.
    let columns = Columns::by(classes.reps().iter().map(|&rep| local.class(rep)));
    Ok(minimal(classes, &Rows { columns, trans, labels, start }))
}

struct Subsets<'a> {
    nfa: &'a Nfa,
    /// For each reading state, the classes it reads.
    reads: Vec<Vec<u8>>,
    /// For each state, the reading and accepting states it silently leads to.
    closures: Vec<Option<Arc<[u32]>>>,
    /// Last time each state was visited by the running search.
    visited: Vec<u32>,
    clock: u32,
    sets: Vec<Arc<[u32]>>,
    numbers: QuickMap<Arc<[u32]>, u32>,
    width: usize,
    budget: usize,
    work: usize,
}

impl<'a> Subsets<'a> {
    fn new(nfa: &'a Nfa, local: &Classes, budget: usize) -> Subsets<'a> {
        let reads = nfa.states().iter().map(|state| match state {
            State::Read(set, _) => {
                let classes = local.reps().iter().enumerate();
                classes.filter(|(_, rep)| set.contains(**rep)).map(|(i, _)| i as u8).collect()
            }
            _ => Vec::new(),
        });
        Subsets {
            reads: reads.collect(),
            closures: vec![None; nfa.states().len()],
            visited: vec![0; nfa.states().len()],
            clock: 0,
            sets: Vec::new(),
            numbers: QuickMap::default(),
            width: local.count(),
            nfa,
            budget,
            work: 0,
        }
    }

    fn spend(&mut self, steps: usize) -> Result<(), TooLarge> {
        self.work = self.work.saturating_add(steps);
        let limit = self.budget.saturating_mul(WORK_PER_STATE).saturating_add(WORK_BASE);
        if self.work > limit { Err(TooLarge::Work(limit)) } else { Ok(()) }
    }

    fn number(&mut self, set: Vec<u32>) -> Result<u32, TooLarge> {
        if let Some(&known) = self.numbers.get(set.as_slice()) {
            return Ok(known);
        }
        if self.sets.len() >= self.budget {
            return Err(TooLarge::States(self.budget));
        }
        let number = self.sets.len() as u32;
        let set: Arc<[u32]> = set.into();
        self.sets.push(Arc::clone(&set));
        self.numbers.insert(set, number);
        Ok(number)
    }

    /// The states after silent steps, sorted.
    fn closed(&mut self, from: u32) -> Result<Arc<[u32]>, TooLarge> {
        if let Some(known) = &self.closures[from as usize] {
            return Ok(Arc::clone(known));
        }
        self.clock += 1;
        let mut set = Vec::new();
        let mut stack = vec![from];
        let mut steps = 0;
        while let Some(state) = stack.pop() {
            steps += 1;
            if self.visited[state as usize] == self.clock {
                continue;
            }
            self.visited[state as usize] = self.clock;
            match &self.nfa.states()[state as usize] {
                State::Split(next) => stack.extend(next),
                State::Read(..) | State::Accept => set.push(state),
            }
        }
        self.spend(steps)?;
        set.sort_unstable();
        let set: Arc<[u32]> = set.into();
        self.closures[from as usize] = Some(Arc::clone(&set));
        Ok(set)
    }

    /// The successors of a set, one per class.
    fn row(&mut self, number: usize, trans: &mut Vec<u32>) -> Result<(), TooLarge> {
        let set = Arc::clone(&self.sets[number]);
        let mut targets: Vec<Vec<u32>> = vec![Vec::new(); self.width];
        let mut steps = self.width;
        for &state in set.iter() {
            if let State::Read(_, next) = self.nfa.states()[state as usize] {
                for &class in &self.reads[state as usize] {
                    targets[usize::from(class)].push(next);
                    steps += 1;
                }
            }
        }
        self.spend(steps)?;
        let mut known: QuickMap<Vec<u32>, u32> = QuickMap::default();
        for mut target in targets {
            target.sort_unstable();
            target.dedup();
            if let Some(&successor) = known.get(&target) {
                trans.push(successor);
                continue;
            }
            let mut union: Vec<u32> = Vec::new();
            for &state in &target {
                union.extend_from_slice(&self.closed(state)?);
                self.spend(union.len())?;
                // Keeps many overlapping closures from piling up.
                if union.len() > 2 * self.nfa.states().len() {
                    union.sort_unstable();
                    union.dedup();
                }
            }
            union.sort_unstable();
            union.dedup();
            let successor = self.number(union)?;
            known.insert(target, successor);
            trans.push(successor);
        }
        Ok(())
    }
}
