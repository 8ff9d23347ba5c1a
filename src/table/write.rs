//! Lays a policy out as a table.

use super::automaton::Automata;
use super::paths::{self, Cell, Island};
use super::rules::{self, Over};
use super::strings::Strings;
use super::{Compiled, NO_RULE, Options, RuleNumbers, Stats, Unfit, tries};
use crate::hir::{Anchor, Context, Policy};
use crate::library::{DEFAULT_WRAPPERS, HARMLESS_ENV};
use crate::source::{FileId, Span};
use mero_runtime::format::{
    self as f, FLAG_DEBUG, HEADER, MAGIC, NONE24, SECTIONS, Section, VERSION, node, spaces,
};
use mero_runtime::{Effect, Permission, Phase, blake3};
use std::collections::{BTreeMap, HashMap};

type Write<T = ()> = Result<T, Unfit>;

fn u32_of(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[derive(Default)]
struct Writer {
    strings: Strings,
    sections: BTreeMap<usize, Vec<u8>>,
    /// `(space, key)` to value.
    symbols: Vec<(u32, Vec<u8>, u32)>,
    automata: Automata,
    numbers: RuleNumbers,
    classes: HashMap<Vec<u8>, u16>,
    stats: Stats,
    mounts: u32,
    nodes: u32,
    islands: u32,
}

fn put24(out: &mut Vec<u8>, n: u32) {
    out.extend(n.to_le_bytes().iter().take(3));
}

fn put_list(out: &mut Vec<u8>, (first, count): (u32, u32)) {
    put24(out, first);
    put24(out, count);
}

fn nowhere() -> Span {
    Span::new(FileId(0), 0, 0)
}

fn outgrown(span: Span, what: &str) -> Unfit {
    Unfit {
        span,
        message: format!("the policy has more {what} than a table holds"),
        help: "split the policy into several tables".into(),
    }
}

pub(super) fn table(policy: &Policy, options: Options) -> Write<Compiled> {
    let mut w = Writer { numbers: RuleNumbers::new(options.debug_info), ..Writer::default() };
    // Directories first: slugs and segments are then found inside them.
    let mut directories = policy
        .contexts
        .iter()
        .flat_map(|c| &c.mounts)
        .map(|m| m.host.segments.join("/"))
        .collect::<Vec<_>>();
    directories.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    directories.iter().for_each(|d| w.strings.directory(d.as_bytes()));
    for param in &policy.params {
        let mut r = w.string(&param.name, param.span)?;
        r.extend(w.string(param.default.as_deref().unwrap_or(""), param.span)?);
        w.push(Section::Params, r);
    }
    if policy.contexts.len() > 0xFFFF {
        return Err(outgrown(nowhere(), "contexts"));
    }
    for (index, context) in policy.contexts.iter().enumerate() {
        w.context(policy, index, context, options)?;
    }
    for (index, tool) in policy.tools.iter().enumerate() {
        w.symbols.push((spaces::TOOLS, tool.name.clone().into_bytes(), u32_of(index)));
        let mut r = w.string(&tool.name, tool.span)?;
        let requires = w.list(tool.requires.iter().map(|k| (k.node.as_str(), k.span)))?;
        put_list(&mut r, requires);
        r.push(tool.uses.map_or(0, |u| u.set.bits()));
        let uses = if tool.uses.is_some() { f::tool::DECLARES_USES } else { 0 };
        r.push(uses | if tool.readonly { f::tool::READONLY } else { 0 });
        r.push(tool.ability.unwrap_or(0));
        w.push(Section::Tools, r);
    }
    w.debug(policy)?;
    w.finish(policy, options)
}

impl Writer {
    fn section(&mut self, section: Section) -> &mut Vec<u8> {
        self.sections.entry(section as usize).or_default()
    }

    fn push(&mut self, section: Section, record: Vec<u8>) {
        debug_assert!(record.len().is_multiple_of(section.record()), "{}", section.name());
        self.section(section).extend(record);
    }

    fn count(&mut self, section: Section) -> u32 {
        let length = self.section(section).len();
        u32_of(length.checked_div(section.record()).unwrap_or(0))
    }

    fn string(&mut self, text: &str, span: Span) -> Write<Vec<u8>> {
        self.bytes(text.as_bytes(), span)
    }

    fn bytes(&mut self, text: &[u8], span: Span) -> Write<Vec<u8>> {
        let length =
            u16::try_from(text.len()).map_err(|_| outgrown(span, "bytes in one string"))?;
        let mut out = Vec::new();
        put24(&mut out, self.strings.offset(text, span)?);
        out.extend(length.to_le_bytes());
        Ok(out)
    }

    fn list<'s>(&mut self, items: impl Iterator<Item = (&'s str, Span)>) -> Write<(u32, u32)> {
        let first = self.count(Section::StringLists);
        let mut count = 0u32;
        for (text, span) in items {
            let reference = self.string(text, span)?;
            self.push(Section::StringLists, reference);
            count = count.saturating_add(1);
        }
        Ok((first, count))
    }

    fn automaton<L: crate::automata::Label>(
        &mut self,
        dfa: &crate::automata::Dfa<L>,
        span: Span,
        cell: impl Fn(&L) -> Vec<u8>,
    ) -> Write<u32> {
        self.automaton_within(dfa, None, span, cell)
    }

    fn automaton_within<L: crate::automata::Label>(
        &mut self,
        dfa: &crate::automata::Dfa<L>,
        within: Option<u32>,
        span: Span,
        cell: impl Fn(&L) -> Vec<u8>,
    ) -> Write<u32> {
        self.automata
            .add(dfa, within, cell)
            .ok_or_else(|| outgrown(span, "states or verdicts in one automaton"))
    }

    fn group<L: crate::automata::Label>(
        &mut self,
        automata: &[crate::automata::Dfa<L>],
        span: Span,
        cell: impl Fn(&L) -> Vec<u8>,
    ) -> Write<(u32, u32)> {
        let first = self.automata.count;
        for dfa in automata {
            self.automaton(dfa, span, &cell)?;
        }
        Ok((first, u32_of(automata.len())))
    }

    fn island(&mut self, island: Option<&Island>, within: &[u32], span: Span) -> Write<u32> {
        let Some(island) = island else { return Ok(NONE24) };
        let first = self.automata.count;
        for (index, dfa) in island.automata.iter().enumerate() {
            self.automaton_within(dfa, within.get(index).copied(), span, Cell::bytes)?;
        }
        let mut r = Vec::new();
        put_list(&mut r, (first, u32_of(island.automata.len())));
        r.push(if island.lockstep { f::island::LOCKSTEP } else { 0 });
        self.push(Section::Islands, r);
        let index = self.islands;
        self.islands = self.islands.saturating_add(1);
        Ok(index)
    }

    fn context(
        &mut self,
        policy: &Policy,
        index: usize,
        context: &Context,
        options: Options,
    ) -> Write {
        let number = u32_of(index);
        let span = context.span;
        self.symbols.push((spaces::CONTEXTS, context.name.clone().into_bytes(), number));
        self.stats.mounts = self.stats.mounts.saturating_add(context.mounts.len());
        let (first_mount, anchors) = self.mounts(policy, number, context, options)?;
        let island = if context.unconfined.is_some() && context.mounts.is_empty() {
            let island = paths::unconfined(context, &mut self.numbers, options)?;
            self.island(island.as_ref(), &[], span)?
        } else {
            NONE24
        };
        self.stats.rules = self.stats.rules.saturating_add(context.hide.len());
        let mut flags = if context.unconfined.is_some() { f::context::UNCONFINED } else { 0 };

        let commands = context.commands.as_ref();
        let (mut words, mut texts, mut composites) = ((0, 0), (0, 0), (0, 0));
        if let Some(commands) = commands {
            if commands.may_run() {
                flags |= f::context::RUNS_COMMANDS;
            }
            self.stats.rules = self.stats.rules.saturating_add(commands.rules.len());
            let plan = rules::commands(commands, &mut self.numbers, options)?;
            words = self.group(&plan.words, span, rules::Verdict::bytes)?;
            texts = self.group(&plan.texts, span, rules::Verdict::bytes)?;
            composites = self.composites(&plan.composites, span)?;
        }
        let tools = context.tools.as_ref();
        let mut tool_group = (0, 0);
        if let Some(tools) = tools {
            flags |= f::context::HAS_TOOLS;
            self.stats.rules = self.stats.rules.saturating_add(tools.rules.len());
            let automata = rules::tools(tools, &mut self.numbers, options)?;
            tool_group = self.group(&automata, span, rules::Verdict::bytes)?;
        }
        let harmless = HARMLESS_ENV.iter().map(|n| (*n, span));
        let named = commands.map_or(&[][..], |c| &c.env).iter().map(|n| (n.node.as_str(), n.span));
        let env = self.list(harmless.chain(named).collect::<Vec<_>>().into_iter())?;
        let wrappers = match commands.and_then(|c| c.wrappers.as_ref()) {
            Some(names) => self.list(names.iter().map(|n| (n.node.as_str(), n.span)))?,
            None => self.list(DEFAULT_WRAPPERS.iter().map(|n| (*n, span)))?,
        };
        let approved = policy
            .managers
            .iter()
            .filter(|m| m.context == index)
            .flat_map(|m| &m.approves)
            .filter_map(|&a| policy.contexts.get(a))
            .map(|c| (c.name.as_str(), c.span))
            .collect::<Vec<_>>();
        let approves = self.list(approved.into_iter())?;
        let grants = self.list(context.grants.iter().map(|g| (g.node.as_str(), g.span)))?;
        for grant in &context.grants {
            let space = spaces::GRANTS.saturating_add(number);
            self.symbols.push((space, grant.node.clone().into_bytes(), 0));
        }

        let fields = context.fields;
        let mut r = self.string(&context.name, span)?;
        r.push(context.phases.iter().fold(0, |set, p: &Phase| set | p.bit()));
        r.push(flags);
        for field in [fields.allow, fields.ask, fields.deny] {
            r.push(field.map_or(0, |s| s.set.bits()));
        }
        let otherwise = commands.and_then(|c| c.otherwise.as_ref());
        let opaque = commands.and_then(|c| c.opaque.as_ref());
        r.push(otherwise.map_or(Effect::Deny, |o| o.node) as u8);
        r.push(opaque.map_or(Effect::Deny, |o| o.node) as u8);
        r.push(tools.map_or(Effect::Allow, crate::hir::Tools::otherwise) as u8);
        let root = context.root().map(|i| first_mount.saturating_add(u32_of(i)));
        put24(&mut r, root.unwrap_or(NONE24));
        put_list(&mut r, anchors);
        put_list(&mut r, (first_mount, u32_of(context.mounts.len())));
        put24(&mut r, island);
        for list in [words, texts, composites, tool_group, env, wrappers, approves, grants] {
            put_list(&mut r, list);
        }
        let tools_otherwise = tools.and_then(|t| t.otherwise.as_ref());
        let spans = [fields.allow, fields.ask, fields.deny]
            .map(|s| s.map(|s| s.span))
            .into_iter()
            .chain([otherwise, opaque, tools_otherwise].map(|o| o.map(|o| o.span)));
        for span in spans {
            let rule = self.numbers.of_option(span);
            put24(&mut r, rule);
        }
        let slugs = context.mounts.iter().map(|m| f::slug_bit(m.slug.as_bytes()));
        r.extend(slugs.fold(0, |all, bit| all | bit).to_le_bytes());
        self.push(Section::Contexts, r);
        Ok(())
    }

    /// Writes the mounts of a context; gives the first's number and the list of
    /// anchors.
    fn mounts(
        &mut self,
        policy: &Policy,
        number: u32,
        context: &Context,
        options: Options,
    ) -> Write<(u32, (u32, u32))> {
        let _ = policy;
        let first = self.mounts;
        let roots = context.islands();
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (mount, &root) in roots.iter().enumerate() {
            members.entry(root).or_default().push(mount);
        }
        let mut numbers = HashMap::new();
        let mut built = HashMap::new();
        let mut inside = vec![false; context.mounts.len()];
        for (&root, of_root) in &members {
            let span = context.mounts.get(root).map_or(context.span, |m| m.span);
            let island = paths::island(context, root, of_root, &mut self.numbers, options)?;
            let count = island.as_ref().map_or(0, |_| 1usize);
            self.stats.rules = self.stats.rules.saturating_add(
                count.saturating_mul(
                    of_root
                        .iter()
                        .filter_map(|&m| context.mounts.get(m))
                        .map(|m| {
                            m.hide.len().saturating_add(
                                m.on.iter().map(|o| o.patterns.len()).sum::<usize>(),
                            )
                        })
                        .sum::<usize>(),
                ),
            );
            let most =
                island.as_ref().map(|island| paths::within(context, island, of_root, &mut inside));
            numbers.insert(root, self.island(island.as_ref(), &most.unwrap_or_default(), span)?);
            built.insert(root, island);
        }
        let statics =
            (0..context.mounts.len()).map(|m| tries::inherit(context, m)).collect::<Vec<_>>();
        let deletion = |mount: usize| {
            let root = roots.get(mount).copied().unwrap_or(mount);
            let island = built.get(&root).and_then(Option::as_ref);
            paths::deletion(context, mount, statics.get(mount), island)
        };
        let tries = tries::build(context, deletion);

        let first_anchor = self.count(Section::Anchors);
        let mut node_of_mount = vec![0u32; context.mounts.len()];
        for trie in &tries {
            let base = self.nodes;
            let total = base.saturating_add(u32_of(trie.nodes.len()));
            if total >= spaces::FIRST {
                return Err(outgrown(context.span, "directories"));
            }
            for (index, node) in trie.nodes.iter().enumerate() {
                let own = base.saturating_add(u32_of(index));
                let mut r = Vec::new();
                let governs = node.governs.map(|m| first.saturating_add(u32_of(m)));
                put24(&mut r, governs.unwrap_or(NONE24));
                let leaf = if node.children.is_empty() { node::LEAF } else { 0 };
                r.push(node.below | leaf);
                self.push(Section::Nodes, r);
                if let Some(slot) = node.here.and_then(|m| node_of_mount.get_mut(m)) {
                    *slot = own;
                }
                for (segment, &child) in &node.children {
                    let child = base.saturating_add(u32_of(child));
                    self.symbols.push((own, segment.clone().into_bytes(), child));
                }
            }
            self.nodes = total;
            let mut r = Vec::new();
            let (kind, param) = match trie.anchor {
                Anchor::Absolute => (f::anchor::ABSOLUTE, 0),
                Anchor::Base => (f::anchor::BASE, 0),
                Anchor::Home => (f::anchor::HOME, 0),
                Anchor::Param(index) => (f::anchor::PARAMETER, u32_of(index)),
            };
            r.push(kind);
            put24(&mut r, param);
            put24(&mut r, base);
            self.push(Section::Anchors, r);
        }
        for (index, mount) in context.mounts.iter().enumerate() {
            let s = statics.get(index).copied().unwrap_or_default();
            let mut class = Vec::new();
            put24(&mut class, first.saturating_add(u32_of(paths::top(context, index))));
            let root = roots.get(index).copied().unwrap_or(index);
            put24(&mut class, numbers.get(&root).copied().unwrap_or(NONE24));
            let anchor = tries.iter().position(|t| t.anchor == mount.host.anchor).unwrap_or(0);
            class.push(
                u8::try_from(anchor).map_err(|_| outgrown(mount.span, "anchors in one context"))?,
            );
            class.extend([s.allow.bits(), s.ask.bits(), s.deny.bits()]);
            class.extend([s.depth, s.ask_depth, s.deny_depth]);
            for span in s.spans {
                put24(&mut class, self.numbers.of_option(span));
            }
            class.push(u8::from(inside.get(index).copied().unwrap_or(false)));
            let class = self.class(class, mount.span)?;
            let mut r = Vec::new();
            put24(&mut r, node_of_mount.get(index).copied().unwrap_or(0));
            r.extend(class.to_le_bytes());
            put24(&mut r, self.strings.offset(mount.slug.as_bytes(), mount.span)?);
            r.push(u8::try_from(mount.slug.len()).unwrap_or(u8::MAX));
            let directory = mount.host.segments.join("/");
            put24(&mut r, self.strings.offset(directory.as_bytes(), mount.span)?);
            let length = u16::try_from(directory.len())
                .map_err(|_| outgrown(mount.host_span, "bytes in one directory"))?;
            r.extend(length.to_le_bytes());
            self.push(Section::Mounts, r);
            let own = first.saturating_add(u32_of(index));
            let space = spaces::SLUGS.saturating_add(number);
            self.symbols.push((space, mount.slug.clone().into_bytes(), own));
            self.mounts = own.saturating_add(1);
        }
        Ok((first, (first_anchor, u32_of(tries.len()))))
    }

    fn class(&mut self, record: Vec<u8>, span: Span) -> Write<u16> {
        if let Some(&class) = self.classes.get(&record) {
            return Ok(class);
        }
        let class =
            u16::try_from(self.classes.len()).map_err(|_| outgrown(span, "kinds of mount"))?;
        self.classes.insert(record.clone(), class);
        self.push(Section::MountClasses, record);
        Ok(class)
    }

    fn composites(&mut self, composites: &[rules::Composite], span: Span) -> Write<(u32, u32)> {
        let first = self.count(Section::Rules);
        for composite in composites {
            let automaton = self.automaton(&composite.matches, span, rules::Verdict::bytes)?;
            let first_hole = self.count(Section::Holes);
            for hole in &composite.holes {
                let first = self.count(Section::StringLists);
                for prefix in &hole.prefixes {
                    let reference = self.bytes(prefix, span)?;
                    self.push(Section::StringLists, reference);
                }
                let mut r = Vec::new();
                let word =
                    u16::try_from(hole.word).map_err(|_| outgrown(span, "words in one pattern"))?;
                r.extend(word.to_le_bytes());
                r.push(u8::from(hole.many));
                let set = hole.permissions.iter().filter_map(|p| Permission::parse(p));
                r.push(set.fold(Permission::empty(), |a, b| a | b).bits());
                put_list(&mut r, (first, u32_of(hole.prefixes.len())));
                self.push(Section::Holes, r);
            }
            let mut except = |dfa: &Option<crate::automata::Dfa<rules::Verdict>>| match dfa {
                Some(dfa) => self.automaton(dfa, span, rules::Verdict::bytes),
                None => Ok(NONE24),
            };
            let words = except(&composite.except_words)?;
            let texts = except(&composite.except_texts)?;
            let mut r = vec![composite.effect as u8, u8::from(composite.readonly)];
            r.push(if composite.over == Over::Words { 0 } else { 1 });
            put24(&mut r, automaton);
            put_list(&mut r, (first_hole, u32_of(composite.holes.len())));
            put24(&mut r, words);
            put24(&mut r, texts);
            put24(&mut r, composite.rule);
            self.push(Section::Rules, r);
        }
        Ok((first, u32_of(composites.len())))
    }

    /// The debug sections: files and rules.
    fn debug(&mut self, policy: &Policy) -> Write {
        if !self.numbers.enabled {
            return Ok(());
        }
        let mut rules = self.numbers.numbers.iter().map(|(s, n)| (*n, *s)).collect::<Vec<_>>();
        rules.sort_unstable();
        if u32_of(rules.len()) >= NO_RULE {
            return Err(outgrown(nowhere(), "rules"));
        }
        let mut files: BTreeMap<FileId, u16> = BTreeMap::new();
        for (id, file) in policy.sources.iter() {
            let start = Span::new(id, 0, 0);
            let next = u16::try_from(files.len()).map_err(|_| outgrown(start, "files"))?;
            files.insert(id, next);
            let mut r = self.string(&file.name, start)?;
            self.section(Section::Sources).extend(file.text.bytes());
            r.extend(self.count(Section::Sources).to_le_bytes());
            self.push(Section::Files, r);
        }
        for (_, span) in &rules {
            let mut r = Vec::new();
            r.extend(files.get(&span.file).copied().unwrap_or(0).to_le_bytes());
            r.extend(policy.sources.position(*span).line.to_le_bytes());
            let text = one_line(policy.sources.text(*span));
            r.extend(self.string(&text, *span)?);
            self.push(Section::RuleTexts, r);
        }
        Ok(())
    }

    /// Sorts the symbols into buckets and joins the sections.
    fn finish(mut self, policy: &Policy, options: Options) -> Write<Compiled> {
        let wanted = self.symbols.len().div_ceil(3).max(1);
        let buckets = u32_of(wanted);
        let mut keyed = Vec::with_capacity(self.symbols.len());
        for (space, key, value) in std::mem::take(&mut self.symbols) {
            let hash = f::hash(space, &key);
            keyed.push((f::bucket(hash, buckets), space, key, value, hash));
        }
        keyed.sort();
        let mut starts = Vec::new();
        let mut entries = Vec::new();
        let mut next = 0u32;
        for (index, (bucket, space, key, value, hash)) in keyed.iter().enumerate() {
            while next <= *bucket {
                starts.extend(u32_of(index).to_le_bytes());
                next = next.saturating_add(1);
            }
            let length =
                u8::try_from(key.len()).map_err(|_| outgrown(nowhere(), "bytes in one name"))?;
            put24(&mut entries, self.strings.offset(key, nowhere())?);
            entries.push(length);
            put24(&mut entries, *space);
            put24(&mut entries, *value);
            entries.push(hash.to_le_bytes()[0]);
        }
        while next <= buckets {
            starts.extend(u32_of(keyed.len()).to_le_bytes());
            next = next.saturating_add(1);
        }
        self.push(Section::Buckets, starts);
        self.push(Section::Symbols, entries);
        let records = std::mem::take(&mut self.automata.records);
        self.push(Section::Automata, records);
        let data = std::mem::take(&mut self.automata.data);
        self.push(Section::AutomataData, data);
        let pool = std::mem::take(&mut self.strings).into_bytes();
        self.push(Section::Strings, pool);

        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        let total = HEADER
            .saturating_add(SECTIONS.saturating_mul(f::DIRECTORY_ENTRY))
            .saturating_add(self.sections.values().map(Vec::len).sum());
        let total = u32::try_from(total).map_err(|_| outgrown(nowhere(), "bytes"))?;
        out.extend(total.to_le_bytes());
        out.extend([0; 32]);
        out.extend(if options.debug_info { FLAG_DEBUG } else { 0 }.to_le_bytes());
        out.extend(u32_of(SECTIONS).to_le_bytes());
        let mut offset = HEADER.saturating_add(SECTIONS.saturating_mul(f::DIRECTORY_ENTRY));
        let sections =
            Section::ALL.map(|s| self.sections.remove(&(s as usize)).unwrap_or_default());
        for data in &sections {
            out.extend(u32_of(offset).to_le_bytes());
            out.extend(u32_of(data.len()).to_le_bytes());
            offset = offset.saturating_add(data.len());
        }
        sections.iter().for_each(|data| out.extend(data));
        let digest = digest(&out);
        out.splice(f::DIGEST, digest);
        let stats = Stats {
            contexts: policy.contexts.len(),
            automata: self.automata.count as usize,
            states: self.automata.states,
            dense: self.automata.dense,
            displaced: self.automata.displaced,
            bytes: out.len(),
            ..self.stats
        };
        Ok(Compiled { bytes: out, stats })
    }
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    let head = blake3(bytes.get(..f::DIGEST.start).unwrap_or(&[]));
    let body = blake3(bytes.get(f::DIGEST.end..).unwrap_or(&[]));
    blake3(&[head, body].concat())
}

/// A statement on one line, cut where its block begins.
fn one_line(text: &str) -> String {
    let mut out = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if out.len() > 200 {
        let cut = (0..=200).rev().find(|&i| out.is_char_boundary(i)).unwrap_or(0);
        out.truncate(cut);
        out.push('…');
    }
    out
}
