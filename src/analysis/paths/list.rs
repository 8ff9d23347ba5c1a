//! The lists of entries that say what holds at a place, and their products.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "entries and nodes index what was built for them"
)]

use super::Alphabet;
use crate::automata::explore::Letters;
use crate::automata::glob::{self, Shape};
use crate::automata::witness::shortest_over_pair;
use crate::automata::{
    Dfa, Re, TooLarge, determinize, difference, product, product_pair, product_tree,
};
use crate::hir::{Context, Fields, Setting};
use crate::limits::{MAX_PATTERN_STATES, MAX_PRODUCT_STATES};
use crate::source::{Span, Spanned};
use mero_runtime::Permission;
use std::cell::OnceCell;

/// A value with the rank of the entry that sets it; rank 0 sets nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mark {
    /// Higher ranks come later in the list.
    pub rank: u16,
    /// Permission bits; for `hide`, 1 hides and 0 shows.
    pub value: u8,
}

/// What a string gets from a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// Hidden or shown again.
    pub hide: Mark,
    /// The three fields.
    pub allow: Mark,
    /// Likewise.
    pub ask: Mark,
    /// Likewise.
    pub deny: Mark,
}

impl Cell {
    /// The later of each.
    #[must_use]
    pub fn join(a: &Cell, b: &Cell) -> Cell {
        let later = |x: Mark, y: Mark| if y.rank > x.rank { y } else { x };
        Cell {
            hide: later(a.hide, b.hide),
            allow: later(a.allow, b.allow),
            ask: later(a.ask, b.ask),
            deny: later(a.deny, b.deny),
        }
    }

    /// Whether a list hides here.
    #[must_use]
    pub fn hides(&self) -> bool {
        self.hide.rank > 0 && self.hide.value == 1
    }
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A pattern of a hide list, and whether it is negated.
    Hide {
        /// `!`.
        negated: bool,
    },
    /// A mount's own fields.
    Mount(usize),
    /// An `on` block of a mount.
    On {
        /// The mount.
        mount: usize,
        /// Which of its blocks.
        block: usize,
    },
}

/// One statement that changes what holds.
#[derive(Debug)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// The pattern, block or mount.
    pub span: Span,
    /// Where it applies.
    pub applies: Dfa<bool>,
    /// What it sets there.
    pub cell: Cell,
    /// For grouping.
    shape: (u8, Shape),
}

/// What stands in for an entry that sets `cell` instead. Entries with one value share a
/// rank, so the new values get the next one, and not where a later entry sets the field.
///
/// # Errors
/// [`TooLarge`].
pub fn instead(entries: &[Entry], index: usize, cell: Cell) -> Result<Dfa<Cell>, TooLarge> {
    let entry = &entries[index];
    let mut all = entry.applies.map(|&a| if a { entry.cell } else { Cell::default() });
    let fields: [fn(&mut Cell) -> &mut Mark; 4] =
        [|c| &mut c.hide, |c| &mut c.allow, |c| &mut c.ask, |c| &mut c.deny];
    for field in fields {
        let of = |mut c: Cell| *field(&mut c);
        let (old, mut new) = (of(entry.cell), of(cell));
        if old == new {
            continue;
        }
        let mut here = entry.applies.clone();
        if new.rank > 0 {
            new.rank = new.rank.saturating_add(1);
            for later in &entries[index + 1..] {
                if of(later.cell).rank == old.rank {
                    here = difference(&here, &later.applies, MAX_PRODUCT_STATES)?;
                }
            }
        }
        let set = |c: &Cell, &h: &bool| {
            let mut c = *c;
            if h {
                *field(&mut c) = new;
            }
            c
        };
        all = product(&all, &here, set, MAX_PRODUCT_STATES)?;
    }
    Ok(all)
}

/// One list, and the products of its entries.
#[derive(Debug)]
pub(super) struct Island {
    /// In the order in which they apply.
    pub(super) entries: Vec<Entry>,
    /// The entries' numbers in the order of the tree.
    order: Vec<usize>,
    tree: Node,
    /// What holds before the first entry.
    pub(super) initial: Cell,
    /// What is allowed where, and nothing else: small, since most patterns hide or deny.
    allows: OnceCell<Option<Dfa<Mark>>>,
}

/// A part of the list in tree order.
#[derive(Debug)]
struct Node {
    from: usize,
    to: usize,
    whole: Vec<Dfa<Cell>>,
    /// What they tell apart.
    letters: Letters,
    halves: Option<Box<(Node, Node)>>,
}

impl Node {
    fn build(cells: &[Dfa<Cell>], from: usize) -> Result<Node, TooLarge> {
        let to = from + cells.len();
        if cells.len() < 2 {
            let letters = told_apart(cells);
            return Ok(Node { from, to, whole: cells.to_vec(), letters, halves: None });
        }
        let (a, b) = cells.split_at(cells.len() / 2);
        let left = Node::build(a, from)?;
        let right = Node::build(b, from + a.len())?;
        let mut whole = left.whole.clone();
        let mut rest = right.whole.iter().cloned();
        if let (Some(x), Some(y)) = (whole.pop(), rest.next()) {
            match product_pair(&x, &y, &Cell::join, MAX_PRODUCT_STATES)? {
                Some(both) => whole.push(both),
                None => whole.extend([x, y]),
            }
        }
        whole.extend(rest);
        let letters = told_apart(&whole);
        Ok(Node { from, to, whole, letters, halves: Some(Box::new((left, right))) })
    }

    fn without<'n>(&'n self, leaf: usize, out: &mut Vec<&'n Dfa<Cell>>, letters: &mut Letters) {
        if leaf < self.from || leaf >= self.to {
            out.extend(&self.whole);
            letters.join(&self.letters);
        } else if let Some(halves) = &self.halves {
            halves.0.without(leaf, out, letters);
            halves.1.without(leaf, out, letters);
        }
    }
}

fn told_apart(list: &[Dfa<Cell>]) -> Letters {
    let mut letters = Letters::new();
    list.iter().for_each(|dfa| letters.add(dfa));
    letters
}

struct List<'a> {
    alphabet: &'a Alphabet,
    entries: Vec<Entry>,
    last: [Option<u8>; 4],
    ranks: [u16; 4],
}

impl List<'_> {
    /// A new rank wherever the value of a field changes; odd ones are left free, for what
    /// stands in for an entry.
    fn mark(&mut self, field: usize, value: u8) -> Mark {
        if self.last[field] != Some(value) {
            self.last[field] = Some(value);
            self.ranks[field] = self.ranks[field].saturating_add(2);
        }
        Mark { rank: self.ranks[field], value }
    }

    fn hide(&mut self, patterns: &[Spanned<String>], directory: &[String]) -> Result<(), TooLarge> {
        for p in patterns {
            let ignore = glob::gitignore(&p.node).map_err(|_| TooLarge::Classes)?;
            let hide = self.mark(0, u8::from(!ignore.negated));
            self.entries.push(Entry {
                kind: Kind::Hide { negated: ignore.negated },
                span: p.span,
                applies: glob::matched(directory, &ignore, false, &self.alphabet.paths)?,
                cell: Cell { hide, ..Cell::default() },
                shape: (0, ignore.shape),
            });
        }
        Ok(())
    }

    fn fields(&mut self, allow: Option<Permission>, fields: Fields) -> Cell {
        let mut mark = |field: usize, set: Option<Permission>| {
            set.map_or(Mark::default(), |s| self.mark(field, s.bits()))
        };
        let set = |s: Option<Setting>| s.map(|s| s.set);
        Cell {
            hide: Mark::default(),
            allow: mark(1, allow.or(set(fields.allow))),
            ask: mark(2, set(fields.ask)),
            deny: mark(3, set(fields.deny)),
        }
    }

    fn mount(&mut self, context: &Context, index: usize) -> Result<(), TooLarge> {
        let mount = &context.mounts[index];
        // A grant is never inherited from another mount.
        let nothing =
            (mount.parent.is_some() && mount.fields.allow.is_none()).then_some(Permission::empty());
        let cell = self.fields(nothing, mount.fields);
        let directory = mount.host.segments.join("/");
        let exact = determinize(
            &Re::literal(directory.as_bytes()),
            &self.alphabet.classes,
            MAX_PATTERN_STATES,
        )?;
        let applies = if directory.is_empty() {
            Dfa::constant(&self.alphabet.classes, true)
        } else {
            exact.with_directories(b'/', false, true)
        };
        let shape = (1, Shape::Literal(directory.into_bytes()));
        self.entries.push(Entry {
            kind: Kind::Mount(index),
            span: mount.span,
            applies,
            cell,
            shape,
        });
        for (number, block) in mount.on.iter().enumerate() {
            let cell = self.fields(None, block.fields);
            let mut applies = Dfa::constant(&self.alphabet.classes, false);
            let mut shape = Shape::Other(Vec::new());
            for p in &block.patterns {
                let ignore = glob::gitignore(&p.node).map_err(|_| TooLarge::Classes)?;
                let one = glob::matched(&mount.host.segments, &ignore, true, &self.alphabet.paths)?;
                applies = crate::automata::union(&applies, &one, MAX_PRODUCT_STATES)?;
                shape = ignore.shape;
            }
            let kind = Kind::On { mount: index, block: number };
            self.entries.push(Entry { kind, span: block.span, applies, cell, shape: (2, shape) });
        }
        Ok(())
    }
}

impl Island {
    pub(super) fn new(
        context: &Context,
        root: usize,
        members: &[usize],
        alphabet: &Alphabet,
    ) -> Result<Island, TooLarge> {
        let mut owners = context.chain(root);
        let top = owners.first().copied().unwrap_or(root);
        owners.extend(members.iter().copied().filter(|&m| m != root));
        owners.sort_unstable();
        owners.dedup();
        let mut list = List { alphabet, entries: Vec::new(), last: [None; 4], ranks: [0; 4] };
        let initial = list.fields(None, context.fields);
        list.hide(&context.hide, &context.mounts[top].host.segments)?;
        for index in owners {
            list.hide(&context.mounts[index].hide, &context.mounts[index].host.segments)?;
            list.mount(context, index)?;
        }
        Island::of(list.entries, initial)
    }

    pub(super) fn unconfined(context: &Context, alphabet: &Alphabet) -> Result<Island, TooLarge> {
        let mut list = List { alphabet, entries: Vec::new(), last: [None; 4], ranks: [0; 4] };
        let initial = list.fields(None, context.fields);
        list.hide(&context.hide, &[])?;
        Island::of(list.entries, initial)
    }

    fn of(entries: Vec<Entry>, initial: Cell) -> Result<Island, TooLarge> {
        let mut order = (0..entries.len()).collect::<Vec<_>>();
        order.sort_by(|&a, &b| (&entries[a].shape, a).cmp(&(&entries[b].shape, b)));
        let cells = order
            .iter()
            .map(|&e| {
                let entry = &entries[e];
                entry.applies.map(|&m| if m { entry.cell } else { Cell::default() })
            })
            .collect::<Vec<_>>();
        let tree = Node::build(&cells, 0)?;
        Ok(Island { entries, order, tree, initial, allows: OnceCell::new() })
    }

    /// The automata of the whole list, or of all entries but one, and what they tell apart.
    pub(super) fn automata(&self, without: Option<usize>) -> (Vec<&Dfa<Cell>>, Letters) {
        let leaf = without.and_then(|e| self.order.iter().position(|&o| o == e));
        match leaf {
            None => (self.tree.whole.iter().collect(), self.tree.letters.clone()),
            Some(leaf) => {
                let (mut out, mut letters) = (Vec::new(), Letters::new());
                self.tree.without(leaf, &mut out, &mut letters);
                (out, letters)
            }
        }
    }

    /// Whether one of some permissions may be allowed on a string of `question`, hidden or
    /// not. Quick; a yes may be wrong, for nested mounts of other lists are not seen.
    pub(super) fn may_allow(&self, question: &Dfa<bool>, permissions: Permission) -> bool {
        let later = |a: &Mark, b: &Mark| if b.rank > a.rank { *b } else { *a };
        let project = || {
            let parts = self.tree.whole.iter().map(|d| d.map(|c| c.allow)).collect();
            super::one(product_tree(parts, &later, MAX_PRODUCT_STATES).ok()?, &later).ok()?
        };
        let Some(allows) = self.allows.get_or_init(project) else { return true };
        let wanted = |&asked: &bool, mark: &Mark| {
            let mark = later(&self.initial.allow, mark);
            asked && mark.value & permissions.bits() != 0
        };
        shortest_over_pair(question, allows, wanted, MAX_PRODUCT_STATES) != Ok(None)
    }
}
