//! Paths: what holds at every place on the host, and at every virtual path.
//!
//! The mounts of one anchor (`/`, the base, the home directory, a parameter) form a
//! *space* of strings, the paths below the anchor; a directory ends in `/`. An
//! automaton says which mount governs a string. All that changes what holds there
//! (hide patterns, mounts' own fields, `on` blocks) is a list of [`Entry`]s, each an
//! automaton of where it applies and a [`Cell`] of what it sets. Later entries win,
//! by rank, so entries multiply in any order; ranks grow only where values alternate.
//! Mounts that lie in one another without being nested have lists of their own
//! (*islands*).
//!
//! Spaces are taken to be disjoint: a policy is judged before anyone knows where its
//! directories are.
//!
//! [`Reader`] walks a space, [`Virtual`] walks virtual paths as requests name them.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "mounts, islands and states index what was built for them"
)]

mod list;
mod names;
mod walk;

use crate::analysis::paths::list::Island;
use crate::automata::glob;
use crate::automata::{ByteSet, Classes, Dfa, Re, TooLarge, determinize, product_tree};
use crate::hir::{Anchor, Context};
use crate::limits::{MAX_ANALYSED_MOUNTS, MAX_PATTERN_STATES, MAX_PRODUCT_STATES};
use mero_runtime::{Effect, Permission, Phase, Reason, phases};
use std::sync::Arc;

pub use list::{Cell, Entry, Kind, Mark, instead};
pub use walk::{Reader, Virtual, Walker, find, visit};

/// What all paths of one question are written over.
#[derive(Clone, Debug)]
pub struct Alphabet {
    classes: Arc<Classes>,
    /// Proper paths, as files and directories, and the empty path.
    proper: Dfa<bool>,
    /// Proper paths, no directories.
    paths: Dfa<bool>,
}

impl Alphabet {
    /// An alphabet for contexts and path patterns.
    ///
    /// # Errors
    /// [`TooLarge`], or a pattern that cannot be read as [`TooLarge::Classes`].
    pub fn new<'p>(
        contexts: &[&Context],
        patterns: impl IntoIterator<Item = &'p str>,
    ) -> Result<Alphabet, TooLarge> {
        if contexts.iter().any(|c| c.mounts.len() > MAX_ANALYSED_MOUNTS) {
            return Err(TooLarge::Mounts(MAX_ANALYSED_MOUNTS));
        }
        let mut sets = vec![ByteSet::of(b'.')];
        let mut pattern = |text: &str| -> Result<(), TooLarge> {
            glob::gitignore(text).map_err(|_| TooLarge::Classes)?.re.sets(&mut sets);
            Ok(())
        };
        patterns.into_iter().try_for_each(&mut pattern)?;
        for context in contexts {
            for mount in &context.mounts {
                mount.hide.iter().try_for_each(|p| pattern(&p.node))?;
                mount.on.iter().flat_map(|b| &b.patterns).try_for_each(|p| pattern(&p.node))?;
            }
            context.hide.iter().try_for_each(|p| pattern(&p.node))?;
        }
        for mount in contexts.iter().flat_map(|c| &c.mounts) {
            let bytes =
                mount.host.segments.iter().flat_map(|s| s.bytes()).chain(mount.slug.bytes());
            sets.extend(bytes.map(ByteSet::of));
        }
        glob::paths().sets(&mut sets);
        let classes = Arc::new(Classes::new(sets));
        let paths = determinize(&glob::paths(), &classes, MAX_PATTERN_STATES)?;
        let empty = determinize(&Re::Empty, &classes, MAX_PATTERN_STATES)?;
        let proper = crate::automata::union(
            &paths.with_directories(b'/', false, false),
            &empty,
            MAX_PRODUCT_STATES,
        )?;
        Ok(Alphabet { classes, proper, paths })
    }

    /// All paths, files and directories.
    #[must_use]
    pub fn proper(&self) -> &Dfa<bool> {
        &self.proper
    }

    /// The virtual paths that a pattern means: what it matches, and all below.
    ///
    /// # Errors
    /// As [`Alphabet::new`].
    pub fn question(&self, pattern: &str) -> Result<Dfa<bool>, TooLarge> {
        let ignore = glob::gitignore(pattern).map_err(|_| TooLarge::Classes)?;
        glob::matched(&[], &ignore, true, &self.paths)
    }
}

/// Which mount governs a string, and which mounts lie below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Cover {
    /// Index of the mount, and one.
    mount: u32,
    /// Segments of its directory, and one.
    depth: u32,
    /// Number of the list of mounts below, and one.
    below: u32,
}

/// The mounts of one anchor.
#[derive(Debug)]
pub struct Space {
    /// Where its strings begin.
    pub anchor: Anchor,
    cover: Dfa<Cover>,
    /// Lists of mounts that lie below one directory.
    below: Vec<Vec<usize>>,
    islands: Vec<Island>,
    /// Of each mount of the context that is in this space, its island.
    island_of: Vec<Option<usize>>,
}

/// All places of a context.
#[derive(Debug)]
pub struct Model<'p> {
    /// The context.
    pub context: &'p Context,
    /// One for each anchor; one for all paths of an unconfined context.
    pub spaces: Vec<Space>,
}

impl<'p> Model<'p> {
    /// Reads the mounts of a context.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn new(context: &'p Context, alphabet: &Alphabet) -> Result<Model<'p>, TooLarge> {
        let mut spaces = Vec::new();
        if context.mounts.is_empty() {
            if context.unconfined.is_some() {
                spaces.push(Space::unconfined(context, alphabet)?);
            }
            return Ok(Model { context, spaces });
        }
        let mut anchors = context.mounts.iter().map(|m| m.host.anchor).collect::<Vec<_>>();
        anchors.sort_unstable();
        anchors.dedup();
        for anchor in anchors {
            spaces.push(Space::new(context, anchor, alphabet)?);
        }
        Ok(Model { context, spaces })
    }

    /// The space that a mount is in.
    #[must_use]
    pub fn space_of(&self, mount: usize) -> Option<usize> {
        let anchor = self.context.mounts.get(mount)?.host.anchor;
        self.spaces.iter().position(|s| s.anchor == anchor)
    }

    /// All entries, each with its space and island.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, usize, &Entry)> {
        self.spaces.iter().enumerate().flat_map(|(s, space)| {
            let islands = space.islands.iter().enumerate();
            islands.flat_map(move |(i, island)| {
                island.entries.iter().enumerate().map(move |(e, entry)| (s, i, e, entry))
            })
        })
    }

    /// A virtual path of a string of a space that a mount covers.
    #[must_use]
    pub fn virtual_path(&self, string: &[u8], mount: usize) -> Vec<u8> {
        let own = &self.context.mounts[mount];
        let directory = own.host.segments.join("/").into_bytes();
        let rest = string.strip_prefix(&directory[..]).unwrap_or(string);
        let rest = rest.strip_suffix(b"/").unwrap_or(rest);
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        let first = rest.split(|&b| b == b'/').next().unwrap_or(&[]);
        let is_slug = |m: &crate::hir::Mount| m.slug.as_bytes() == first;
        let mut path = Vec::new();
        if own.slug != "root" || self.context.mounts.iter().any(is_slug) {
            path.push(b'/');
            path.extend_from_slice(own.slug.as_bytes());
        }
        if !rest.is_empty() || path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(rest);
        path
    }
}

/// The automaton of a literal directory and all that is below it.
fn covered(
    directory: &str,
    label: Cover,
    below_too: bool,
    alphabet: &Alphabet,
) -> Result<Dfa<Cover>, TooLarge> {
    let exact =
        determinize(&Re::literal(directory.as_bytes()), &alphabet.classes, MAX_PATTERN_STATES)?;
    let matched = if directory.is_empty() {
        if below_too { Dfa::constant(&alphabet.classes, true) } else { exact }
    } else {
        exact.with_directories(b'/', false, below_too)
    };
    Ok(matched.map(|&m| if m { label } else { Cover::default() }))
}

impl Space {
    fn new(context: &Context, anchor: Anchor, alphabet: &Alphabet) -> Result<Space, TooLarge> {
        let mine = |m: &usize| context.mounts[*m].host.anchor == anchor;
        let mounts = (0..context.mounts.len()).filter(mine).collect::<Vec<_>>();
        let directory = |m: usize| context.mounts[m].host.segments.join("/");
        let mut covers = Vec::new();
        for &m in &mounts {
            let depth = context.mounts[m].host.segments.len();
            let label = Cover { mount: m as u32 + 1, depth: depth as u32 + 1, below: 0 };
            covers.push(covered(&directory(m), label, true, alphabet)?);
        }
        let (mut below, mut above) = (Vec::<Vec<usize>>::new(), std::collections::BTreeMap::new());
        for &m in &mounts {
            let segments = &context.mounts[m].host.segments;
            for end in 0..segments.len() {
                above.entry(segments[..end].join("/")).or_insert_with(Vec::new).push(m);
            }
        }
        for (place, inside) in above {
            below.push(inside);
            let label = Cover { below: below.len() as u32, ..Cover::default() };
            covers.push(covered(&place, label, false, alphabet)?);
        }
        let join = |a: &Cover, b: &Cover| {
            let deeper = if b.depth > a.depth { b } else { a };
            Cover { below: a.below.max(b.below), ..*deeper }
        };
        let cover = one(product_tree(covers, &join, MAX_PRODUCT_STATES)?, &join)?
            .unwrap_or_else(|| Dfa::constant(&alphabet.classes, Cover::default()));
        let roots = context.islands();
        let mut own = mounts.iter().map(|&m| roots[m]).collect::<Vec<_>>();
        own.sort_unstable();
        own.dedup();
        let mut islands = Vec::new();
        let mut island_of = vec![None; context.mounts.len()];
        for root in own {
            let members = mounts.iter().copied().filter(|&m| roots[m] == root).collect::<Vec<_>>();
            members.iter().for_each(|&m| island_of[m] = Some(islands.len()));
            islands.push(Island::new(context, root, &members, alphabet)?);
        }
        Ok(Space { anchor, cover, below, islands, island_of })
    }

    fn unconfined(context: &Context, alphabet: &Alphabet) -> Result<Space, TooLarge> {
        let label = Cover { mount: 1, depth: 1, below: 0 };
        Ok(Space {
            anchor: Anchor::Absolute,
            cover: Dfa::constant(&alphabet.classes, label),
            below: Vec::new(),
            islands: vec![Island::unconfined(context, alphabet)?],
            island_of: vec![Some(0)],
        })
    }

    /// Whether one of some permissions may be allowed on a string of `question` by an
    /// island's list, hidden or not. Quick; a yes may be wrong.
    #[must_use]
    pub fn may_allow(&self, island: usize, question: &Dfa<bool>, permissions: Permission) -> bool {
        self.islands.get(island).is_none_or(|i| i.may_allow(question, permissions))
    }

    /// An island's entries in order.
    #[must_use]
    pub fn entries(&self, island: usize) -> &[Entry] {
        self.islands.get(island).map_or(&[], |i| &i.entries)
    }
}

/// Joins what a tree kept apart: covers are literal, so nothing blows up.
pub(super) fn one<L: crate::automata::Label>(
    list: Vec<Dfa<L>>,
    join: &impl Fn(&L, &L) -> L,
) -> Result<Option<Dfa<L>>, TooLarge> {
    let mut all: Option<Dfa<L>> = None;
    for next in list {
        all = Some(match all {
            None => next,
            Some(a) => crate::automata::product(&a, &next, join, super::BUDGET)?,
        });
    }
    Ok(all)
}

/// What holds at one string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Verdict {
    /// The governing mount, if any.
    pub mount: Option<usize>,
    /// Whether a list hides it.
    pub hidden: bool,
    /// The effective fields.
    pub allow: Permission,
    /// Likewise.
    pub ask: Permission,
    /// Likewise.
    pub deny: Permission,
    /// The strictest answer to `delete` of the mounts below, as written.
    pub below: Option<(bool, Permission, Permission, Permission)>,
}

impl Verdict {
    /// No mount covers the string.
    pub const OUTSIDE: Verdict = Verdict {
        mount: None,
        hidden: false,
        allow: Permission::empty(),
        ask: Permission::empty(),
        deny: Permission::empty(),
        below: None,
    };

    fn judge(
        (hidden, allow, ask, deny): (bool, Permission, Permission, Permission),
        p: Permission,
        phase: Phase,
    ) -> (Effect, Reason) {
        if hidden {
            return (Effect::Deny, Reason::Hidden);
        }
        let written = if deny.contains(p) {
            (Effect::Deny, Reason::Denied)
        } else if !allow.contains(p) {
            (Effect::Deny, Reason::NotGranted)
        } else if ask.contains(p) {
            (Effect::Ask, Reason::ApprovalRequired)
        } else {
            (Effect::Allow, Reason::Granted)
        };
        phases::permission(phase, p, written)
    }

    /// The answer to a request for one or several permissions.
    #[must_use]
    pub fn decide(&self, permissions: Permission, phase: Phase) -> (Effect, Reason) {
        if self.mount.is_none() {
            return (Effect::Deny, Reason::Outside);
        }
        let own = (self.hidden, self.allow, self.ask, self.deny);
        let singles = Permission::NAMES.iter().filter(|(_, p)| permissions.contains(*p));
        let mut worst = singles
            .map(|(_, p)| Self::judge(own, *p, phase))
            .min()
            .unwrap_or((Effect::Deny, Reason::Invalid));
        if let (Some(below), true) = (self.below, permissions.contains(Permission::DELETE)) {
            let strictest = Self::judge(below, Permission::DELETE, phase);
            if strictest.0 < worst.0 {
                worst = strictest;
            }
        }
        worst
    }
}
