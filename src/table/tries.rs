//! Host directories as tries of whole segments, one for each anchor of a
//! context, and what deleting a directory meets in the mounts below it.

use super::paths;
use crate::hir::{Anchor, Context};
use mero_runtime::Permission;
use mero_runtime::format::below;
use std::collections::BTreeMap;

/// One directory on the way to a mount.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) children: BTreeMap<String, usize>,
    /// The mount at this directory.
    pub(super) here: Option<usize>,
    /// The deepest mount at or above it, in this trie.
    pub(super) governs: Option<usize>,
    /// What deleting it meets strictly below.
    pub(super) below: u8,
}

/// The trie of one anchor; node 0 is its root, parents come before children.
#[derive(Debug)]
pub(super) struct Trie {
    pub(super) anchor: Anchor,
    pub(super) nodes: Vec<Node>,
}

/// What holds for a mount before `on` blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Static {
    pub(super) allow: Permission,
    pub(super) ask: Permission,
    pub(super) deny: Permission,
    pub(super) depth: u8,
    pub(super) ask_depth: u8,
    pub(super) deny_depth: u8,
    pub(super) spans: [Option<crate::source::Span>; 3],
}

/// Inheritance along the chain of a mount.
pub(super) fn inherit(context: &Context, mount: usize) -> Static {
    let own = context.fields;
    let mut out = Static::default();
    let set = |s: Option<crate::hir::Setting>| s.map_or(Permission::empty(), |s| s.set);
    (out.allow, out.ask, out.deny) = (set(own.allow), set(own.ask), set(own.deny));
    out.spans = [own.allow, own.ask, own.deny].map(|s| s.map(|s| s.span));
    for (level, index) in context.chain(mount).into_iter().enumerate() {
        let Some(m) = context.mounts.get(index) else { continue };
        out.depth = u8::try_from(level.saturating_add(1)).unwrap_or(u8::MAX);
        let [allow_span, ask_span, deny_span] = &mut out.spans;
        if level > 0 || m.fields.allow.is_some() {
            out.allow = set(m.fields.allow);
            *allow_span = m.fields.allow.map(|s| s.span);
        }
        if let Some(ask) = m.fields.ask {
            (out.ask, out.ask_depth, *ask_span) = (ask.set, out.depth, Some(ask.span));
        }
        if let Some(deny) = m.fields.deny {
            (out.deny, out.deny_depth, *deny_span) = (deny.set, out.depth, Some(deny.span));
        }
    }
    out
}

/// Builds the tries; `deletion` says what deleting a mount's own directory
/// meets, as a class of `below`.
pub(super) fn build(context: &Context, deletion: impl Fn(usize) -> u8) -> Vec<Trie> {
    let mut tries: Vec<Trie> = Vec::new();
    for (index, mount) in context.mounts.iter().enumerate() {
        let at = tries.iter().position(|t| t.anchor == mount.host.anchor).unwrap_or_else(|| {
            let nodes = vec![Node { below: below::FREE, ..Node::default() }];
            tries.push(Trie { anchor: mount.host.anchor, nodes });
            tries.len().saturating_sub(1)
        });
        let Some(trie) = tries.get_mut(at) else { continue };
        let class = deletion(index);
        let mut node = 0usize;
        for segment in &mount.host.segments {
            let next = trie.nodes.len();
            let Some(here) = trie.nodes.get_mut(node) else { break };
            here.below = here.below.min(class);
            let child = *here.children.entry(segment.clone()).or_insert(next);
            if child == next {
                trie.nodes.push(Node { below: below::FREE, ..Node::default() });
            }
            node = child;
        }
        if let Some(n) = trie.nodes.get_mut(node) {
            n.here = Some(index);
        }
    }
    for trie in &mut tries {
        // Parents stand before their children, so one pass hands mounts down.
        for index in 0..trie.nodes.len() {
            let Some(node) = trie.nodes.get_mut(index) else { continue };
            if node.here.is_some() {
                node.governs = node.here;
            }
            let (governs, children) =
                (node.governs, node.children.values().copied().collect::<Vec<_>>());
            for child in children {
                if let Some(c) = trie.nodes.get_mut(child) {
                    c.governs = governs;
                }
            }
        }
    }
    debug_assert!(context.mounts.iter().enumerate().all(|(i, _)| paths::top(context, i) <= i));
    tries
}
