//! Walking a space, or virtual paths, byte by byte.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "mounts, islands and states index what was built for them"
)]

use super::list::{Cell, Island};
use super::{Alphabet, Model, Space, Verdict};
use crate::automata::explore::{Letters, Machine, explore, live};
use crate::automata::{Dfa, Re, TooLarge, determinize, product_tree};
use crate::hir::Anchor;
use crate::limits::{MAX_PATTERN_STATES, MAX_PRODUCT_STATES};
use mero_runtime::{Effect, Permission, Phase};
use std::cell::OnceCell;
use std::hash::Hash;

/// Something that says what holds after each byte.
pub trait Walker {
    /// What it remembers.
    type State: Clone + Eq + Hash;
    /// Before the first byte.
    fn start(&self) -> Self::State;
    /// After one more.
    fn step(&self, state: &Self::State, byte: u8) -> Self::State;
    /// What holds here.
    fn verdict(&self, state: &Self::State) -> Verdict;
    /// What holds behind a string.
    fn at_end(&self, string: &[u8]) -> Verdict {
        let end = string.iter().fold(self.start(), |state, &byte| self.step(&state, byte));
        self.verdict(&end)
    }
    /// Adds what it tells apart.
    fn letters(&self, letters: &mut Letters);
}

/// Where a [`Reader`] is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    cover: u32,
    /// Island, and whether a directory on the way is hidden there.
    island: Option<(usize, bool)>,
    /// States of the island's automata; none once all is hidden.
    states: Box<[u32]>,
}

/// Walks the strings of a space.
#[derive(Debug)]
pub struct Reader<'m> {
    space: &'m Space,
    /// Of each island.
    lists: Vec<Vec<&'m Dfa<Cell>>>,
    /// What they tell apart.
    letters: Letters,
    /// Of each mount, what holds at its directory as the end of a path, and where to go
    /// on below it: worked out when it is asked for.
    at_mount: Vec<OnceCell<Option<(Verdict, Position)>>>,
    /// Directories of mounts.
    directories: Vec<String>,
}

impl<'m> Reader<'m> {
    /// A reader of a space; `without` takes one entry of one island out of its list.
    #[must_use]
    pub fn new(model: &'m Model<'_>, space: usize, without: Option<(usize, usize)>) -> Reader<'m> {
        let mut letters = Letters::new();
        let lists = model.spaces[space].islands.iter().enumerate().map(|(i, island)| {
            let without = without.filter(|(at, _)| *at == i).map(|(_, entry)| entry);
            let (list, told) = island.automata(without);
            letters.join(&told);
            list
        });
        let lists = lists.collect();
        Reader::of(model, &model.spaces[space], lists, letters)
    }

    /// A reader of a space in which one entry says something else, or nothing.
    #[must_use]
    pub fn replacing(
        model: &'m Model<'_>,
        space: usize,
        island: usize,
        entry: usize,
        instead: Option<&'m Dfa<Cell>>,
    ) -> Reader<'m> {
        let mut letters = Letters::new();
        let lists = model.spaces[space].islands.iter().enumerate().map(|(i, own)| {
            let here = i == island;
            let (mut list, told) = own.automata(here.then_some(entry));
            letters.join(&told);
            if let Some(instead) = instead.filter(|_| here) {
                letters.add(instead);
                list.push(instead);
            }
            list
        });
        let lists = lists.collect();
        Reader::of(model, &model.spaces[space], lists, letters)
    }

    fn of(
        model: &Model<'_>,
        space: &'m Space,
        lists: Vec<Vec<&'m Dfa<Cell>>>,
        letters: Letters,
    ) -> Reader<'m> {
        let mounts = &model.context.mounts;
        Reader {
            space,
            lists,
            letters,
            at_mount: vec![OnceCell::new(); space.island_of.len()],
            directories: mounts.iter().map(|m| m.host.segments.join("/")).collect(),
        }
    }

    /// What holds at a mount's directory as the end of a path, and where to go on below.
    fn mount(&self, mount: usize) -> Option<&(Verdict, Position)> {
        let work = || {
            let island = self.space.island_of.get(mount).copied().flatten()?;
            let directory = self.directories.get(mount)?;
            let cover = self.space.cover.advance(self.space.cover.start(), directory.as_bytes());
            let file = self.enter(island, cover, directory.as_bytes());
            let verdict = self.plain(&file, mount);
            if directory.is_empty() {
                return Some((verdict, file));
            }
            let cover = self.space.cover.step(cover, b'/');
            let below = format!("{directory}/");
            Some((verdict, self.enter(island, cover, below.as_bytes())))
        };
        self.at_mount.get(mount)?.get_or_init(work).as_ref()
    }

    /// The position of an island's automata behind a string.
    fn enter(&self, island: usize, cover: u32, string: &[u8]) -> Position {
        let list = &self.lists[island];
        let mut states = list.iter().map(|d| d.start()).collect::<Vec<_>>();
        let mut hidden = false;
        for &byte in string {
            for (state, dfa) in states.iter_mut().zip(list) {
                *state = dfa.step(*state, byte);
            }
            hidden |= byte == b'/' && self.cell(island, &states).hides();
        }
        if hidden {
            states.clear();
        }
        Position { cover, island: Some((island, hidden)), states: states.into_boxed_slice() }
    }

    fn island(&self, island: usize) -> &Island {
        &self.space.islands[island]
    }

    fn cell(&self, island: usize, states: &[u32]) -> Cell {
        let labels = self.lists[island].iter().zip(states).map(|(d, &s)| d.label(s));
        labels.fold(self.island(island).initial, |all, cell| Cell::join(&all, cell))
    }

    /// What holds at a position, but for mounts below it.
    fn plain(&self, position: &Position, mount: usize) -> Verdict {
        let Some((island, hidden)) = position.island else { return Verdict::OUTSIDE };
        let cell = self.cell(island, &position.states);
        let set = |m: super::Mark| {
            if m.rank == 0 { Permission::empty() } else { Permission::from_bits_truncate(m.value) }
        };
        if hidden || cell.hides() {
            return Verdict { mount: Some(mount), hidden: true, ..Verdict::OUTSIDE };
        }
        Verdict {
            mount: Some(mount),
            hidden: false,
            allow: set(cell.allow),
            ask: set(cell.ask),
            deny: set(cell.deny),
            below: None,
        }
    }

    /// The island of a mount.
    #[must_use]
    pub fn island_of(&self, mount: usize) -> Option<usize> {
        self.space.island_of.get(mount).copied().flatten()
    }

    /// Where to go on below a mount's directory.
    #[must_use]
    pub fn inside(&self, mount: usize) -> Option<&Position> {
        self.mount(mount).map(|(_, position)| position)
    }

    /// Whether some mount covers a position, or one may lie below it.
    fn covers(&self) -> Vec<bool> {
        live(&self.space.cover, |c| c.mount > 0)
    }

    /// What holds at a mount's directory.
    fn at(&self, mount: usize) -> Verdict {
        let file = self.mount(mount).map_or(Verdict::OUTSIDE, |(verdict, _)| *verdict);
        let cover = self.inside(mount).map_or(0, |p| p.cover);
        self.with_below(file, self.space.cover.label(cover).below)
    }

    /// Deleting a directory reaches the mounts below it: the strictest counts. Which one
    /// that is does not depend on the phase, but for what `bypass_permissions` lifts.
    fn with_below(&self, own: Verdict, below: u32) -> Verdict {
        let Some(list) = below.checked_sub(1).and_then(|b| self.space.below.get(b as usize)) else {
            return own;
        };
        let strictest = list
            .iter()
            .filter_map(|&m| {
                // As a directory.
                let position = self.inside(m)?;
                Some(self.plain(position, m))
            })
            .min_by_key(|v| {
                let bypass = v.decide(Permission::DELETE, Phase::BypassPermissions);
                (v.decide(Permission::DELETE, Phase::Default), bypass)
            });
        let below = strictest
            .filter(|v| v.decide(Permission::DELETE, Phase::Default).0 < Effect::Allow)
            .map(|v| (v.hidden, v.allow, v.ask, v.deny));
        Verdict { below, ..own }
    }
}

impl Walker for Reader<'_> {
    type State = Position;

    fn start(&self) -> Position {
        let cover = self.space.cover.start();
        let mount = self.space.cover.label(cover).mount;
        match mount.checked_sub(1).and_then(|m| self.inside(m as usize)) {
            Some(position) => position.clone(),
            None if mount > 0 => self.enter(0, cover, b""),
            None => Position { cover, island: None, states: Box::default() },
        }
    }

    fn step(&self, state: &Position, byte: u8) -> Position {
        let cover = self.space.cover.step(state.cover, byte);
        let mut island = state.island;
        if byte == b'/' {
            let mount = self.space.cover.label(cover).mount.checked_sub(1).map(|m| m as usize);
            let own = mount.and_then(|m| self.space.island_of[m]);
            if own != island.map(|(i, _)| i) {
                // The directory of a mount with a list of its own.
                return match mount.and_then(|m| self.inside(m)) {
                    Some(position) => position.clone(),
                    None => Position { cover, island: None, states: Box::default() },
                };
            }
        }
        let Some((number, hidden)) = island else {
            return Position { cover, island: None, states: Box::default() };
        };
        if hidden {
            return Position { cover, island, states: Box::default() };
        }
        let list = &self.lists[number];
        let mut states: Box<[u32]> =
            list.iter().zip(&state.states).map(|(d, &s)| d.step(s, byte)).collect();
        if byte == b'/' && self.cell(number, &states).hides() {
            island = Some((number, true));
            states = Box::default();
        }
        Position { cover, island, states }
    }

    fn verdict(&self, state: &Position) -> Verdict {
        let cover = self.space.cover.label(state.cover);
        let Some(mount) = cover.mount.checked_sub(1).map(|m| m as usize) else {
            return Verdict::OUTSIDE;
        };
        let own = if self.space.island_of[mount] == state.island.map(|(i, _)| i) {
            self.plain(state, mount)
        } else {
            self.mount(mount).map_or(Verdict::OUTSIDE, |(verdict, _)| *verdict)
        };
        self.with_below(own, cover.below)
    }

    fn letters(&self, letters: &mut Letters) {
        letters.add(&self.space.cover);
        letters.join(&self.letters);
    }
}

/// Where a [`Virtual`] is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// As the host's own path, where mounts have absolute directories.
    host: Option<Position>,
    /// In the first segment: what it is so far.
    first: Option<u32>,
    /// Space and position.
    at: Option<(usize, Position)>,
}

/// Walks virtual paths (without their leading `/`) as requests name them.
#[derive(Debug)]
pub struct Virtual<'m> {
    readers: Vec<Reader<'m>>,
    /// Of each mount, its space.
    space_of: Vec<Option<usize>>,
    /// Which mount's slug a first segment is: its index, and one.
    slugs: Dfa<u32>,
    root: Option<usize>,
    /// The space of absolute directories, and where mounts can still follow.
    host: Option<(usize, Vec<bool>)>,
}

impl<'m> Virtual<'m> {
    /// A walker over all virtual paths of a context.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn new(model: &'m Model<'_>, alphabet: &Alphabet) -> Result<Virtual<'m>, TooLarge> {
        let readers =
            (0..model.spaces.len()).map(|s| Reader::new(model, s, None)).collect::<Vec<_>>();
        let mounts = &model.context.mounts;
        let mut slugs = Vec::new();
        for (m, mount) in mounts.iter().enumerate() {
            let re = Re::literal(mount.slug.as_bytes());
            let exact = determinize(&re, &alphabet.classes, MAX_PATTERN_STATES)?;
            slugs.push(exact.map(|&e| if e { m as u32 + 1 } else { 0 }));
        }
        let join = |a: &u32, b: &u32| *a.max(b);
        let slugs = super::one(product_tree(slugs, &join, MAX_PRODUCT_STATES)?, &join)?
            .unwrap_or_else(|| Dfa::constant(&alphabet.classes, 0));
        let confined = !mounts.is_empty();
        let absolute = model.spaces.iter().position(|s| confined && s.anchor == Anchor::Absolute);
        let host = absolute.map(|s| (s, readers[s].covers()));
        let space_of = (0..mounts.len()).map(|m| model.space_of(m)).collect();
        Ok(Virtual { readers, space_of, slugs, root: model.context.root(), host })
    }

    fn within(&self, mount: usize) -> Option<(usize, Position)> {
        let space = self.space_of.get(mount).copied().flatten()?;
        Some((space, self.readers[space].inside(mount)?.clone()))
    }
}

impl Walker for Virtual<'_> {
    type State = Place;

    fn start(&self) -> Place {
        let at = match self.root {
            Some(root) => self.within(root),
            None => self.readers.first().map(|r| (0, r.start())),
        };
        let host = self.host.as_ref().map(|(s, _)| self.readers[*s].start());
        Place { host, first: Some(self.slugs.start()), at }
    }

    fn step(&self, state: &Place, byte: u8) -> Place {
        let host = match (&self.host, &state.host) {
            (Some((space, alive)), Some(position)) => {
                let next = self.readers[*space].step(position, byte);
                alive[next.cover as usize].then_some(next)
            }
            _ => None,
        };
        let onward = |at: &Option<(usize, Position)>| {
            at.as_ref().map(|(s, p)| (*s, self.readers[*s].step(p, byte)))
        };
        let Some(first) = state.first else {
            return Place { host, first: None, at: onward(&state.at) };
        };
        if byte != b'/' {
            let first = Some(self.slugs.step(first, byte));
            return Place { host, first, at: onward(&state.at) };
        }
        let at = match self.slugs.label(first).checked_sub(1) {
            Some(mount) => self.within(mount as usize),
            None => onward(&state.at),
        };
        Place { host, first: None, at }
    }

    fn verdict(&self, state: &Place) -> Verdict {
        if let (Some((space, _)), Some(position)) = (&self.host, &state.host) {
            let verdict = self.readers[*space].verdict(position);
            if verdict.mount.is_some() {
                return verdict;
            }
        }
        if let Some(mount) = state.first.and_then(|f| self.slugs.label(f).checked_sub(1)) {
            let space = self.space_of.get(mount as usize).copied().flatten();
            return space.map_or(Verdict::OUTSIDE, |s| self.readers[s].at(mount as usize));
        }
        state.at.as_ref().map_or(Verdict::OUTSIDE, |(s, p)| self.readers[*s].verdict(p))
    }

    fn letters(&self, letters: &mut Letters) {
        letters.add(&self.slugs);
        self.readers.iter().for_each(|r| r.letters(letters));
    }
}

struct Search<'a, W> {
    walkers: &'a [&'a W],
    proper: &'a Dfa<bool>,
    stays: Vec<bool>,
    question: Option<(&'a Dfa<bool>, Vec<bool>)>,
}

impl<W: Walker> Machine for Search<'_, W> {
    type State = (u32, u32, Box<[W::State]>);

    fn start(&self) -> Option<Self::State> {
        let asked = self.question.as_ref().map_or(0, |(q, _)| q.start());
        Some((self.proper.start(), asked, self.walkers.iter().map(|w| w.start()).collect()))
    }

    fn step(&self, (proper, asked, states): &Self::State, byte: u8) -> Option<Self::State> {
        let proper = self.proper.step(*proper, byte);
        if !self.stays[proper as usize] {
            return None;
        }
        let asked = match &self.question {
            Some((question, alive)) => {
                let asked = question.step(*asked, byte);
                if !alive[asked as usize] {
                    return None;
                }
                asked
            }
            None => 0,
        };
        let next = self.walkers.iter().zip(states).map(|(w, s)| w.step(s, byte)).collect();
        Some((proper, asked, next))
    }
}

/// Visits every kind of string that `question` accepts, shortest first, with what all
/// walkers say and the string (which ends in `/` if it has to be a directory) for who
/// wants it. Stops when told to, and says whether it was.
///
/// # Errors
/// [`TooLarge`] if the search outgrows `budget`.
pub fn visit<W: Walker>(
    walkers: &[&W],
    question: Option<&Dfa<bool>>,
    alphabet: &Alphabet,
    budget: usize,
    mut each: impl FnMut(&[Verdict], &dyn Fn() -> Vec<u8>) -> bool,
) -> Result<bool, TooLarge> {
    let mut letters = Letters::new();
    letters.add(&alphabet.proper);
    walkers.iter().for_each(|w| w.letters(&mut letters));
    if let Some(question) = question {
        letters.add(question);
    }
    let search = Search {
        walkers,
        proper: &alphabet.proper,
        stays: live(&alphabet.proper, |&p| p),
        question: question.map(|q| (q, live(q, |&a| a))),
    };
    explore(&search, &letters.bytes(), budget, |at| {
        let (proper, asked, states) = at.state;
        let counts = *alphabet.proper.label(*proper)
            && search.question.as_ref().is_none_or(|(q, _)| *q.label(*asked));
        if !counts {
            return false;
        }
        let verdicts = walkers.iter().zip(states).map(|(w, s)| w.verdict(s)).collect::<Vec<_>>();
        each(&verdicts, &|| at.string())
    })
}

/// A shortest string, of those that `question` accepts, at which what all walkers say
/// is `wanted`. It ends in `/` if it has to be a directory.
///
/// # Errors
/// [`TooLarge`] if the search outgrows `budget`.
pub fn find<W: Walker>(
    walkers: &[&W],
    question: Option<&Dfa<bool>>,
    alphabet: &Alphabet,
    budget: usize,
    mut wanted: impl FnMut(&[Verdict]) -> bool,
) -> Result<Option<Vec<u8>>, TooLarge> {
    let mut found = None;
    visit(walkers, question, alphabet, budget, |verdicts, string| {
        if wanted(verdicts) {
            found = Some(string());
        }
        found.is_some()
    })?;
    Ok(found)
}
