//! Hide lists and `on` blocks as automata over paths.
//!
//! All mounts below one top-level mount share an *island*: one list of patterns
//! with their directories in front, ordered as they apply (the context's list,
//! then each mount's, parents before children). What a path means is, for each
//! field, the last pattern of the list that matches. A string of an automaton is
//! the path below the top-level mount; a directory ends in `/`.
//!
//! A pattern's verdict is a [`Mark`] with a rank. Ranks order only what differs:
//! neighbours of one value share a rank, so that they fold into one another.
//! Combining is taking the higher rank for each field, in any order: patterns are
//! grouped by shape, multiplied under a budget, and what grows past it stays a
//! separate automaton.
//!
//! A mount that lies inside another without being nested in it (siblings) has an
//! island of its own: the lists of its chain, not those of the mount around it.

use super::{Options, RuleNumbers, Unfit, tries};
use crate::automata::absorb::shut_directories;
use crate::automata::glob::{self, Ignore, Shape};
use crate::automata::{Dfa, Re, determinize, meets, product_set};
use crate::hir::Context;
use crate::limits::{MAX_PATTERN_STATES, MAX_PRODUCT_STATES};
use crate::source::Span;
use mero_runtime::Permission;
use mero_runtime::format::{below, island, path_cell};
use std::collections::BTreeMap;

/// What one field gets from the patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Mark {
    pub(super) rank: u16,
    pub(super) value: u8,
    pub(super) depth: u8,
    pub(super) rule: u32,
}

/// What a path gets from the patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Cell {
    /// Value 1 hides, 0 re-includes.
    pub(super) hide: Mark,
    pub(super) allow: Mark,
    pub(super) ask: Mark,
    pub(super) deny: Mark,
}

impl Cell {
    fn hidden(&self) -> bool {
        self.hide.rank > 0 && self.hide.value == 1
    }

    /// Nothing else matters where it hides.
    fn shut(&self) -> Cell {
        if self.hidden() { Cell { hide: self.hide, ..Cell::default() } } else { *self }
    }

    fn join(a: &Cell, b: &Cell) -> Cell {
        let later = |x: Mark, y: Mark| if y.rank > x.rank { y } else { x };
        Cell {
            hide: later(a.hide, b.hide),
            allow: later(a.allow, b.allow),
            ask: later(a.ask, b.ask),
            deny: later(a.deny, b.deny),
        }
    }

    /// The bytes of a table's cell.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(path_cell::SIZE);
        let marks = [self.hide, self.allow, self.ask, self.deny];
        marks.iter().for_each(|m| out.extend(m.rank.to_le_bytes()));
        marks.iter().for_each(|m| out.push(m.value));
        marks.iter().skip(1).for_each(|m| out.push(m.depth));
        marks.iter().for_each(|m| {
            let rule = if m.rank == 0 { super::NO_RULE } else { m.rule };
            out.extend(rule.to_le_bytes().iter().take(3));
        });
        out
    }
}

/// The automata of one island.
#[derive(Debug)]
pub(super) struct Island {
    pub(super) automata: Vec<Dfa<Cell>>,
    pub(super) lockstep: bool,
}

impl Island {
    /// The states in a directory below the top-level mount, a `/` behind it.
    pub(super) fn states(&self, segments: &[String]) -> Vec<u32> {
        let through = |dfa: &Dfa<Cell>, state: u32, segment: &String| {
            dfa.step(dfa.advance(state, segment.as_bytes()), b'/')
        };
        let walk = |dfa: &Dfa<Cell>| segments.iter().fold(dfa.start(), |s, n| through(dfa, s, n));
        self.automata.iter().map(walk).collect()
    }

    /// What the automata say of a directory below the top-level mount.
    pub(super) fn directory(&self, segments: &[String]) -> Cell {
        let mut states = self.automata.iter().map(Dfa::start).collect::<Vec<_>>();
        let mut cell = Cell::default();
        for segment in segments {
            cell = Cell::default();
            for (dfa, state) in self.automata.iter().zip(&mut states) {
                *state = dfa.step(dfa.advance(*state, segment.as_bytes()), b'/');
                cell = Cell::join(&cell, dfa.label(*state));
            }
            if cell.hidden() {
                break;
            }
        }
        cell
    }
}

/// One pattern of an island's list.
struct Entry {
    ignore: Ignore,
    /// Directory of its list below the top-level mount.
    directory: Vec<String>,
    field: Field,
    span: Span,
}

#[derive(Clone, Copy)]
enum Field {
    Hide(Mark),
    On { allow: Option<Mark>, ask: Option<Mark>, deny: Option<Mark> },
}

/// The top-level mount around a mount.
pub(super) fn top(context: &Context, mut index: usize) -> usize {
    while let Some(parent) = context.mounts.get(index).and_then(|m| m.parent) {
        index = parent;
    }
    index
}

/// Builds the island at a mount; `None` if no pattern applies there.
pub(super) fn island(
    context: &Context,
    root: usize,
    members: &[usize],
    numbers: &mut RuleNumbers,
    options: Options,
) -> Result<Option<Island>, Unfit> {
    let top_mount = top(context, root);
    let depth = context.mounts.get(top_mount).map_or(0, |m| m.host.segments.len());
    let mut list = List { entries: Vec::new(), numbers };
    list.hide(&context.hide, &[])?;
    let mut owners = context.chain(root);
    owners.extend(members.iter().copied().filter(|&m| m != root));
    owners.sort_unstable();
    owners.dedup();
    for index in owners {
        let Some(mount) = context.mounts.get(index) else { continue };
        let directory = mount.host.segments.get(depth..).unwrap_or(&[]);
        let nesting = context.chain(index).len();
        list.hide(&mount.hide, directory)?;
        for block in &mount.on {
            list.on(block, directory, nesting)?;
        }
    }
    build(list.entries, options)
}

/// The island of an unconfined context's hide list.
pub(super) fn unconfined(
    context: &Context,
    numbers: &mut RuleNumbers,
    options: Options,
) -> Result<Option<Island>, Unfit> {
    let mut list = List { entries: Vec::new(), numbers };
    list.hide(&context.hide, &[])?;
    build(list.entries, options)
}

struct List<'n> {
    entries: Vec<Entry>,
    numbers: &'n mut RuleNumbers,
}

impl List<'_> {
    fn pattern(text: &str, span: Span) -> Result<Ignore, Unfit> {
        // Bad patterns are findings of `check`; nothing compiles with one.
        glob::gitignore(text).map_err(|e| Unfit { span, message: e.message, help: e.help })
    }

    fn hide(
        &mut self,
        patterns: &[crate::source::Spanned<String>],
        directory: &[String],
    ) -> Result<(), Unfit> {
        for p in patterns {
            let ignore = Self::pattern(&p.node, p.span)?;
            let rule = self.numbers.of(p.span);
            let mark = Mark { rank: 0, value: u8::from(!ignore.negated), depth: 0, rule };
            let field = Field::Hide(mark);
            self.entries.push(Entry { ignore, directory: directory.to_vec(), field, span: p.span });
        }
        Ok(())
    }

    fn on(
        &mut self,
        block: &crate::hir::OnBlock,
        directory: &[String],
        nesting: usize,
    ) -> Result<(), Unfit> {
        let depth = u8::try_from(nesting).unwrap_or(u8::MAX);
        let mut mark = |s: Option<crate::hir::Setting>| {
            s.map(|s| Mark { rank: 0, value: s.set.bits(), depth, rule: self.numbers.of(s.span) })
        };
        let field = Field::On {
            allow: mark(block.fields.allow),
            ask: mark(block.fields.ask),
            deny: mark(block.fields.deny),
        };
        for p in &block.patterns {
            let ignore = Self::pattern(&p.node, p.span)?;
            self.entries.push(Entry { ignore, directory: directory.to_vec(), field, span: p.span });
        }
        Ok(())
    }
}

/// Gives ranks: for each field, a new one wherever the value changes.
fn rank(entries: &mut [Entry]) -> Result<(), Unfit> {
    let mut last = [None::<Mark>; 4];
    let mut ranks = [0u16; 4];
    for entry in entries {
        let span = entry.span;
        let mut give = |k: usize, mark: &mut Mark| -> Result<(), Unfit> {
            let (Some(last), Some(rank)) = (last.get_mut(k), ranks.get_mut(k)) else {
                return Ok(());
            };
            if *last != Some(*mark) {
                *last = Some(*mark);
                *rank = rank.checked_add(1).ok_or_else(|| Unfit {
                    span,
                    message: "the patterns of one mount alternate more often than a table holds"
                        .into(),
                    help: "put patterns of one kind next to each other".into(),
                })?;
            }
            mark.rank = *rank;
            Ok(())
        };
        match &mut entry.field {
            Field::Hide(mark) => give(0, mark)?,
            Field::On { allow, ask, deny } => {
                for (k, mark) in [(1, allow), (2, ask), (3, deny)] {
                    if let Some(mark) = mark {
                        give(k, mark)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// The patterns of a list, each with its automaton.
struct Split<'e> {
    /// A path that matches is decided, with all below it where it is hidden: no later
    /// pattern takes that back.
    settled: Vec<Part<'e>>,
    /// Hide patterns of which later `!` patterns take something back, and those.
    open: Vec<Part<'e>>,
}

struct Part<'e> {
    entry: &'e Entry,
    matched: Dfa<bool>,
    rank: u16,
}

impl Part<'_> {
    /// Whether some path is in another language too. Most `!` patterns are single paths.
    fn meets(&self, other: &Dfa<bool>) -> bool {
        let Shape::Literal(name) = &self.entry.ignore.shape else {
            return meets(&self.matched, other, MAX_PRODUCT_STATES) != Ok(false);
        };
        if !self.entry.ignore.anchored {
            return meets(&self.matched, other, MAX_PRODUCT_STATES) != Ok(false);
        }
        let above = self.entry.directory.iter().flat_map(|s| [s.as_bytes(), b"/"]);
        let path = above.chain([&name[..]]).collect::<Vec<_>>().concat();
        let directory = [&path[..], b"/"].concat();
        [path, directory].iter().any(|p| *self.matched.run(p) && *other.run(p))
    }
}

/// Splits a list. Where no rules are told apart, a pattern's rank in the list only has to be
/// above those of the earlier patterns that it overrules somewhere: with few ranks,
/// more patterns fold into one another.
fn split<'e>(entries: &'e [Entry], paths: &Dfa<bool>) -> Result<Split<'e>, Unfit> {
    let matched = |entry: &Entry, below: bool| {
        glob::matched(&entry.directory, &entry.ignore, below, paths)
            .map_err(|e| Unfit::too_large(entry.span, e))
    };
    let hide = |entry: &Entry| match entry.field {
        Field::Hide(mark) => Some(mark),
        Field::On { .. } => None,
    };
    let negated = |entry: &&Entry| hide(entry).is_some_and(|m| m.value == 0);
    let alike = entries.iter().filter_map(hide).all(|m| m.rule == super::NO_RULE);
    let mut negations = Vec::new();
    for entry in entries.iter().filter(negated) {
        negations.push(Part { entry, matched: matched(entry, false)?, rank: 1 });
    }
    let mut split = Split { settled: Vec::new(), open: Vec::new() };
    // How many of the negations stand before an entry.
    let mut before = 0_usize;
    for entry in entries {
        let Some(mark) = hide(entry) else {
            split.settled.push(Part { entry, matched: matched(entry, true)?, rank: 0 });
            continue;
        };
        if negated(&entry) {
            before = before.saturating_add(1);
            continue;
        }
        let mut all = matched(entry, true)?;
        let later = negations.iter().skip(before);
        let open = later.clone().any(|n| n.meets(&all));
        if open {
            all = matched(entry, false)?;
        }
        let mut rank = mark.rank;
        if alike {
            let earlier = negations.iter().take(before).filter(|n| n.meets(&all));
            rank = earlier.map(|n| n.rank).max().map_or(1, |r| r.saturating_add(1));
            for later in negations.iter_mut().skip(before).filter(|_| open) {
                if later.rank <= rank && later.meets(&all) {
                    later.rank = rank.saturating_add(1);
                }
            }
        }
        let list = if open { &mut split.open } else { &mut split.settled };
        list.push(Part { entry, matched: all, rank });
    }
    if !alike {
        for negation in &mut negations {
            negation.rank = hide(negation.entry).map_or(0, |m| m.rank);
        }
    }
    split.open.extend(negations);
    // Neighbours in the tree are multiplied first: like with like.
    for list in [&mut split.settled, &mut split.open] {
        list.sort_by_key(|p| (shape(&p.entry.ignore), &p.entry.ignore.shape, p.entry.span));
    }
    Ok(split)
}

fn labelled(list: Vec<Part<'_>>) -> Vec<Dfa<Cell>> {
    let label = |part: Part<'_>| {
        let cell = match part.entry.field {
            Field::Hide(hide) => Cell { hide: Mark { rank: part.rank, ..hide }, ..Cell::default() },
            Field::On { allow, ask, deny } => Cell {
                allow: allow.unwrap_or_default(),
                ask: ask.unwrap_or_default(),
                deny: deny.unwrap_or_default(),
                ..Cell::default()
            },
        };
        part.matched.map(|&matched| if matched { cell } else { Cell::default() })
    };
    list.into_iter().map(label).collect()
}

fn build(mut entries: Vec<Entry>, options: Options) -> Result<Option<Island>, Unfit> {
    if entries.is_empty() {
        return Ok(None);
    }
    rank(&mut entries)?;
    let proper = glob::paths();
    let languages =
        entries.iter().map(|e| glob::below(&e.directory, &e.ignore)).collect::<Vec<_>>();
    let classes = Re::classes(languages.iter().chain([&proper]));
    let span = entries.first().map_or(Span::new(crate::source::FileId(0), 0, 0), |e| e.span);
    let paths = determinize(&proper, &classes, MAX_PATTERN_STATES)
        .map_err(|e| Unfit::too_large(span, e))?;
    let budget = if options.separate { 0 } else { MAX_PRODUCT_STATES };
    let Split { settled, open } = split(&entries, &paths)?;
    // Nothing else matters for what is hidden for good.
    let join = |a: &Cell, b: &Cell| Cell::join(a, b).shut();
    let mut list = labelled(settled);
    let mut undone =
        product_set(labelled(open), &Cell::join, budget).map_err(|e| Unfit::too_large(span, e))?;
    let lockstep = undone.len() > 1;
    if let [only] = &undone[..] {
        list.push(shut_directories(only, b'/', Cell::hidden).map(Cell::shut));
        undone.clear();
    }
    let mut groups = product_set(list, &join, budget).map_err(|e| Unfit::too_large(span, e))?;
    groups.extend(undone);
    if groups.len() > island::MAX_AUTOMATA {
        return Err(Unfit {
            span,
            message: format!(
                "the patterns of one mount need more than {} automata",
                island::MAX_AUTOMATA
            ),
            help: "use fewer patterns with several wildcards each".into(),
        });
    }
    Ok(Some(Island { automata: groups, lockstep }))
}

/// The group that a pattern's shape belongs to.
fn shape(ignore: &Ignore) -> u8 {
    match (&ignore.shape, ignore.anchored) {
        (Shape::Literal(_), true) => 0,
        (Shape::Literal(_), false) => 1,
        (Shape::Suffix(_), _) => 2,
        (Shape::Prefix(_), _) => 3,
        (Shape::Other(begin), true) if begin.contains(&b'/') => 4,
        (Shape::Other(_), true) => 5,
        (Shape::Other(_), false) => 6,
    }
}

/// The states that an island's automata are in, in the directories of most of its mounts;
/// marks the mounts of which that is so.
pub(super) fn within(
    context: &Context,
    island: &Island,
    members: &[usize],
    inside: &mut [bool],
) -> Vec<u32> {
    let states = members
        .iter()
        .filter_map(|&m| {
            let top = context.mounts.get(top(context, m))?;
            let below = context.mounts.get(m)?.host.segments.get(top.host.segments.len()..)?;
            Some((m, island.states(below)))
        })
        .collect::<Vec<_>>();
    let mut counts: BTreeMap<&[u32], usize> = BTreeMap::new();
    for (_, vector) in &states {
        let count = counts.entry(vector).or_default();
        *count = count.saturating_add(1);
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(v, _)| v.to_vec());
    let most = most.unwrap_or_default();
    for (mount, vector) in &states {
        if let Some(slot) = inside.get_mut(*mount) {
            *slot = *vector == most;
        }
    }
    most
}

/// What deleting a mount's own directory meets.
pub(super) fn deletion(
    context: &Context,
    mount: usize,
    s: Option<&tries::Static>,
    island: Option<&Island>,
) -> u8 {
    let Some(s) = s else { return below::HIDDEN };
    let top = top(context, mount);
    let depth = context.mounts.get(top).map_or(0, |m| m.host.segments.len());
    let mut cell = Cell::default();
    if let (Some(island), Some(m)) = (island, context.mounts.get(mount)) {
        cell = island.directory(m.host.segments.get(depth..).unwrap_or(&[]));
    }
    if cell.hide.rank > 0 && cell.hide.value == 1 {
        return below::HIDDEN;
    }
    let pick = |mark: Mark, needs: u8, own: Permission| {
        let value = Permission::from_bits_truncate(mark.value);
        if mark.rank > 0 && mark.depth >= needs { value } else { own }
    };
    let has = |set: Permission| set.contains(Permission::DELETE);
    if has(pick(cell.deny, s.deny_depth, s.deny)) {
        below::DENIED
    } else if !has(pick(cell.allow, s.depth, s.allow)) {
        below::NOT_GRANTED
    } else if has(pick(cell.ask, s.ask_depth, s.ask)) {
        below::ASK
    } else {
        below::FREE
    }
}
