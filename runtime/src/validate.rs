//! The checks at load, in file order: header, length, digest, directory, then
//! every record of every section. After them each number that a record holds
//! names something that exists, so that no read leaves its section and every
//! state that an automaton reaches has a row.
//!
//! Linear in the size, whatever the content: lists of one kind stand in order
//! and share nothing, nor do the rows of two automata, so that nothing is looked
//! at twice; and all strings together are UTF-8, so that for one of them only its
//! two ends count. The same order bounds a decision by the size of the table.

mod automata;

use self::automata::automata;
use crate::digest::blake3;
use crate::error::TableError;
use crate::format::{
    DIGEST, DIRECTORY_ENTRY, FLAG_DEBUG, HEADER, MAGIC, NONE24, SECTIONS, Section, VERSION, anchor,
    automaton, below, class, context, file, hole, island, list, mount, node, param, path_cell,
    rule, rule_cell, rule_text, slug_bit, spaces, string, symbol, tool,
};
use crate::table::{Record, Table};

/// The digest that belongs into the header of these bytes.
#[must_use]
pub(crate) fn digest(bytes: &[u8]) -> [u8; 32] {
    let head = blake3(bytes.get(..DIGEST.start).unwrap_or(&[]));
    let body = blake3(bytes.get(DIGEST.end..).unwrap_or(&[]));
    let mut both = [0u8; 64];
    for (to, from) in both.iter_mut().zip(head.iter().chain(&body)) {
        *to = *from;
    }
    blake3(&both)
}

/// Checks what precedes the records and cuts the sections out.
pub(crate) fn sections(bytes: &[u8]) -> Result<[&[u8]; SECTIONS], TableError> {
    let header = Record(bytes);
    if !bytes.starts_with(&MAGIC) {
        let enough = bytes.len() >= HEADER;
        return Err(if enough || !MAGIC.starts_with(bytes.get(..8).unwrap_or(bytes)) {
            TableError::NotATable
        } else {
            TableError::TooShort { length: bytes.len() }
        });
    }
    if bytes.len() < HEADER {
        return Err(TableError::TooShort { length: bytes.len() });
    }
    let found = header.u32(8);
    if found != VERSION {
        return Err(TableError::Version { found, expected: VERSION });
    }
    let stated = header.u32(12);
    if stated as usize != bytes.len() {
        return Err(TableError::Length { stated, actual: bytes.len() });
    }
    if bytes.get(DIGEST) != Some(&digest(bytes)[..]) {
        return Err(TableError::Digest);
    }
    let malformed = |index: usize, what| TableError::Malformed {
        section: "directory",
        index: u32::try_from(index).unwrap_or(u32::MAX),
        what,
    };
    if header.u32(48) & !FLAG_DEBUG != 0 {
        return Err(malformed(0, "a flag that does not exist"));
    }
    if header.u32(52) as usize != SECTIONS {
        return Err(malformed(0, "another count of sections than this version has"));
    }
    let mut sections: [&[u8]; SECTIONS] = [&[]; SECTIONS];
    let mut end = HEADER.saturating_add(SECTIONS.saturating_mul(DIRECTORY_ENTRY));
    for (index, (slot, kind)) in sections.iter_mut().zip(Section::ALL).enumerate() {
        let at = HEADER.saturating_add(index.saturating_mul(DIRECTORY_ENTRY));
        let start = header.u32(at) as usize;
        let length = header.u32(at.saturating_add(4)) as usize;
        if start != end {
            return Err(malformed(index, "the section does not begin where the last one ends"));
        }
        end = start.saturating_add(length);
        *slot = bytes
            .get(start..end)
            .ok_or_else(|| malformed(index, "the section ends after the file"))?;
        if length.checked_rem(kind.record()) != Some(0) {
            return Err(malformed(index, "the section is no whole number of records"));
        }
    }
    if end != bytes.len() {
        return Err(malformed(SECTIONS, "bytes after the last section"));
    }
    Ok(sections)
}

type Check = Result<(), &'static str>;

/// Lists that share nothing with others of their kind: the section and fields
/// that hold them, and the section that they are of.
const OWNED: [(Section, &[usize], Section); 7] = [
    (Section::Contexts, &[context::ANCHORS], Section::Anchors),
    (Section::Contexts, &[context::MOUNTS], Section::Mounts),
    (Section::Islands, &[island::AUTOMATA], Section::Automata),
    (Section::Contexts, &[context::WORDS, context::TEXTS, context::TOOLS], Section::Automata),
    (Section::Contexts, &[context::RULES], Section::Rules),
    (Section::Rules, &[rule::HOLES], Section::Holes),
    (Section::Holes, &[hole::PREFIXES], Section::StringLists),
];

/// Checks every record of every section.
pub(crate) fn records(table: &Table<'_>) -> Result<(), TableError> {
    type OfRecord = fn(&Table<'_>, Record<'_>) -> Check;
    let checks: [(Section, OfRecord); 14] = [
        (Section::Anchors, anchors),
        (Section::Symbols, symbols),
        (Section::Islands, islands),
        (Section::Contexts, contexts),
        (Section::Nodes, nodes),
        (Section::Mounts, mounts),
        (Section::MountClasses, classes),
        (Section::Rules, rules),
        (Section::Holes, holes),
        (Section::StringLists, any_string),
        (Section::Tools, tools),
        (Section::Params, params),
        (Section::Files, |table, r| text_at(table, r, file::NAME)),
        (Section::RuleTexts, rule_texts),
    ];
    whole(table)?;
    buckets(table)?;
    for (owner, fields, of) in OWNED {
        let mut end = 0;
        each(table, owner, |r| {
            fields.iter().try_for_each(|&at| follows(table, r, at, of, &mut end))
        })?;
    }
    let mut end = 0;
    each(table, Section::Files, |r| source(table, r, &mut end))?;
    ensure(end == table.section(Section::Sources).len(), "text that belongs to no file").map_err(
        |what| TableError::Malformed { section: Section::Sources.name(), index: 0, what },
    )?;
    let mut trie = None;
    each(table, Section::Anchors, |r| {
        let node = Some(r.u24(anchor::NODE));
        ensure(node > trie, "tries that are not in order")?;
        trie = node;
        Ok(())
    })?;
    let mut end = 0;
    each(table, Section::Automata, |r| automata(table, r, &mut end))?;
    for (section, check) in checks {
        each(table, section, |r| check(table, r))?;
    }
    Ok(())
}

/// Checks the records of a section one by one.
fn each<'t>(
    table: &Table<'t>,
    section: Section,
    mut check: impl FnMut(Record<'t>) -> Check,
) -> Result<(), TableError> {
    for index in 0..table.count(section) {
        check(table.record(section, index)).map_err(|what| malformed(section, index, what))?;
    }
    Ok(())
}

fn malformed(section: Section, index: u32, what: &'static str) -> TableError {
    TableError::Malformed { section: section.name(), index, what }
}

/// What is said of sections as a whole: strings are text, and numbers of nodes
/// and contexts are no spaces of the symbol map.
fn whole(table: &Table<'_>) -> Result<(), TableError> {
    if let Err(error) = core::str::from_utf8(table.section(Section::Strings)) {
        let at = u32::try_from(error.valid_up_to()).unwrap_or(u32::MAX);
        return Err(malformed(Section::Strings, at, "bytes that are not UTF-8"));
    }
    let contexts = spaces::GRANTS.saturating_sub(spaces::SLUGS);
    for (section, most) in [(Section::Nodes, spaces::FIRST), (Section::Contexts, contexts)] {
        let count = table.count(section);
        if count > most {
            return Err(malformed(section, count, "more records than can be numbered"));
        }
    }
    Ok(())
}

/// A list that begins where those before it have ended, or is empty.
fn follows(table: &Table<'_>, r: Record<'_>, at: usize, of: Section, end: &mut u32) -> Check {
    list_in(table, of, r, at)?;
    let list = r.list(at);
    if !list.is_empty() {
        ensure(list.start >= *end, "a list that shares records with another")?;
        *end = list.end;
    }
    Ok(())
}

fn ensure(condition: bool, what: &'static str) -> Check {
    if condition { Ok(()) } else { Err(what) }
}

fn in_section(table: &Table<'_>, section: Section, index: u32) -> Check {
    ensure(index < table.count(section), "a reference to a record that does not exist")
}

fn optional(table: &Table<'_>, section: Section, index: u32) -> Check {
    if index == NONE24 { Ok(()) } else { in_section(table, section, index) }
}

/// Every rule number must exist, in a table with debug sections or none.
fn rule_number(table: &Table<'_>, record: Record<'_>, at: usize) -> Check {
    optional(table, Section::RuleTexts, record.u24(at))
}

fn list_in(table: &Table<'_>, section: Section, record: Record<'_>, at: usize) -> Check {
    debug_assert_eq!(list::SIZE, 6);
    ensure(record.list(at).end <= table.count(section), "a list that ends after its section")
}

fn span_in(table: &Table<'_>, offset: u32, length: usize) -> Check {
    let end = (offset as usize).saturating_add(length);
    ensure(end <= table.section(Section::Strings).len(), "a string that ends after `strings`")
}

fn bytes_at(table: &Table<'_>, record: Record<'_>, at: usize) -> Check {
    span_in(table, record.u24(at), usize::from(record.u16(at.saturating_add(string::LENGTH))))
}

fn text_at(table: &Table<'_>, record: Record<'_>, at: usize) -> Check {
    let length = usize::from(record.u16(at.saturating_add(string::LENGTH)));
    text_span(table, record.u24(at), length)
}

/// A part of the strings, which are UTF-8 as a whole: cut between characters.
fn text_span(table: &Table<'_>, offset: u32, length: usize) -> Check {
    span_in(table, offset, length)?;
    let strings = table.section(Section::Strings);
    let start = offset as usize;
    let cut = |at: usize| strings.get(at).is_none_or(|b| b & 0xC0 != 0x80);
    ensure(cut(start) && cut(start.saturating_add(length)), "a name that is not UTF-8")
}

fn any_string(table: &Table<'_>, record: Record<'_>) -> Check {
    bytes_at(table, record, 0)
}

fn params(table: &Table<'_>, record: Record<'_>) -> Check {
    text_at(table, record, param::NAME)?;
    text_at(table, record, param::DEFAULT)
}

fn permissions(byte: u8) -> Check {
    ensure(byte <= 15, "a permission that does not exist")
}

fn effect(byte: u8) -> Check {
    ensure(byte <= 2, "an effect that does not exist")
}

fn flag(byte: u8) -> Check {
    ensure(byte <= 1, "neither yes nor no")
}

fn buckets(table: &Table<'_>) -> Result<(), TableError> {
    let starts = Record(table.section(Section::Buckets));
    let mut last = 0;
    let count = table.count(Section::Buckets);
    for index in 0..count {
        let start = starts.u32((index as usize).saturating_mul(4));
        let first_is_zero = index > 0 || start == 0;
        if start < last || start > table.count(Section::Symbols) || !first_is_zero {
            let what = "bucket starts that do not grow from 0";
            return Err(malformed(Section::Buckets, index, what));
        }
        last = start;
    }
    if last == table.count(Section::Symbols) && count >= 2 {
        return Ok(());
    }
    let what = "buckets that do not cover the symbols";
    Err(malformed(Section::Buckets, count, what))
}

fn symbols(table: &Table<'_>, r: Record<'_>) -> Check {
    span_in(table, r.u24(symbol::TEXT), usize::from(r.u8(symbol::LENGTH)))?;
    let (space, value) = (r.u24(symbol::SPACE), r.u24(symbol::VALUE));
    match space {
        spaces::CONTEXTS => in_section(table, Section::Contexts, value),
        spaces::TOOLS => in_section(table, Section::Tools, value),
        _ if space >= spaces::GRANTS => {
            in_section(table, Section::Contexts, space.saturating_sub(spaces::GRANTS))
        }
        _ if space >= spaces::SLUGS => {
            in_section(table, Section::Contexts, space.saturating_sub(spaces::SLUGS))?;
            let owner = table.record(Section::Contexts, space.saturating_sub(spaces::SLUGS));
            ensure(
                owner.list(context::MOUNTS).contains(&value),
                "a slug of another context's mount",
            )?;
            let slug = table.slice(r.u24(symbol::TEXT), usize::from(r.u8(symbol::LENGTH)));
            ensure(owner.u64(context::SLUGS) & slug_bit(slug) != 0, "a slug without its bit")
        }
        _ => {
            in_section(table, Section::Nodes, space)?;
            in_section(table, Section::Nodes, value)?;
            ensure(value > space, "a trie that does not descend")?;
            let leaf = table.record(Section::Nodes, space).u8(node::BELOW) & node::LEAF;
            ensure(leaf == 0, "a leaf that has a child")?;
            ensure(trie_of(table, space) == trie_of(table, value), "a way into another trie")
        }
    }
}

/// How many tries begin at or before a node. Cost: the logarithm of their count.
fn trie_of(table: &Table<'_>, node: u32) -> u32 {
    let (mut low, mut high) = (0, table.count(Section::Anchors));
    while low < high {
        let middle = low.midpoint(high);
        if table.record(Section::Anchors, middle).u24(anchor::NODE) <= node {
            low = middle.saturating_add(1);
        } else {
            high = middle;
        }
    }
    low
}

/// The nodes of a context's tries. Its anchors are in order and its own.
fn nodes_of(table: &Table<'_>, r: Record<'_>) -> core::ops::Range<u32> {
    let anchors = r.list(context::ANCHORS);
    let count = table.count(Section::Anchors);
    let begin = |index: u32| {
        if index < count {
            table.record(Section::Anchors, index).u24(anchor::NODE)
        } else {
            table.count(Section::Nodes)
        }
    };
    if anchors.is_empty() { 0..0 } else { begin(anchors.start)..begin(anchors.end) }
}

fn contexts(table: &Table<'_>, r: Record<'_>) -> Check {
    text_at(table, r, context::NAME)?;
    ensure(r.u8(context::PHASES) < 32, "a phase that does not exist")?;
    ensure(r.u8(context::FLAGS) < 8, "a flag that does not exist")?;
    for at in [context::ALLOW, context::ASK, context::DENY] {
        permissions(r.u8(at))?;
    }
    for at in [context::OTHERWISE, context::OPAQUE, context::TOOLS_OTHERWISE] {
        effect(r.u8(at))?;
    }
    let unconfined = r.u8(context::FLAGS) & context::UNCONFINED != 0;
    ensure(!unconfined || r.list(context::MOUNTS).is_empty(), "an unconfined context with mounts")?;
    let root = r.u24(context::ROOT);
    ensure(
        if r.list(context::MOUNTS).is_empty() {
            root == NONE24
        } else {
            r.list(context::MOUNTS).contains(&root)
        },
        "mounts without a root",
    )?;
    let own = nodes_of(table, r);
    for n in own.clone() {
        let governs = table.record(Section::Nodes, n).option(node::MOUNT);
        ensure(
            governs.is_none_or(|m| r.list(context::MOUNTS).contains(&m)),
            "a directory of another context's mount",
        )?;
    }
    // The class of a mount counts anchors in its context's list.
    let anchors = r.list(context::ANCHORS).len();
    for m in r.list(context::MOUNTS) {
        let record = table.record(Section::Mounts, m);
        ensure(own.contains(&record.u24(mount::NODE)), "a mount in another context's trie")?;
        let class = record.u16(mount::CLASS);
        let class_record = table.record(Section::MountClasses, u32::from(class));
        ensure(usize::from(class_record.u8(class::ANCHOR)) < anchors, "a mount without an anchor")?;
        ensure(
            r.list(context::MOUNTS).contains(&class_record.u24(class::TOP)),
            "a top-level mount of another context",
        )?;
    }
    optional(table, Section::Islands, r.u24(context::ISLAND))?;
    for at in [context::WORDS, context::TEXTS, context::TOOLS] {
        cells_of(table, r, at, rule_cell::SIZE)?;
    }
    for at in [context::ENV, context::WRAPPERS, context::APPROVES, context::GRANTS] {
        list_in(table, Section::StringLists, r, at)?;
    }
    for k in 0..6usize {
        rule_number(table, r, context::FIELD_RULES.saturating_add(k.saturating_mul(3)))?;
    }
    Ok(())
}

fn cells_of(table: &Table<'_>, r: Record<'_>, at: usize, size: usize) -> Check {
    for a in r.list(at) {
        let record = table.record(Section::Automata, a);
        ensure(
            usize::from(record.u8(automaton::CELL_SIZE)) == size,
            "an automaton over something else",
        )?;
    }
    Ok(())
}

fn anchors(table: &Table<'_>, r: Record<'_>) -> Check {
    in_section(table, Section::Nodes, r.u24(anchor::NODE))?;
    match r.u8(anchor::KIND) {
        anchor::PARAMETER => in_section(table, Section::Params, r.u24(anchor::PARAM)),
        anchor::ABSOLUTE | anchor::BASE | anchor::HOME => Ok(()),
        _ => Err("an anchor that does not exist"),
    }
}

fn nodes(table: &Table<'_>, r: Record<'_>) -> Check {
    optional(table, Section::Mounts, r.u24(node::MOUNT))?;
    ensure(
        r.u8(node::BELOW) & !node::LEAF <= below::FREE,
        "a class of deletion that does not exist",
    )
}

fn mounts(table: &Table<'_>, r: Record<'_>) -> Check {
    in_section(table, Section::Nodes, r.u24(mount::NODE))?;
    in_section(table, Section::MountClasses, u32::from(r.u16(mount::CLASS)))?;
    text_span(table, r.u24(mount::SLUG), usize::from(r.u8(mount::SLUG_LENGTH)))?;
    let directory = usize::from(r.u16(mount::DIRECTORY_LENGTH));
    span_in(table, r.u24(mount::DIRECTORY), directory)
}

fn classes(table: &Table<'_>, r: Record<'_>) -> Check {
    flag(r.u8(class::WITHIN))?;
    in_section(table, Section::Mounts, r.u24(class::TOP))?;
    optional(table, Section::Islands, r.u24(class::ISLAND))?;
    for at in [class::ALLOW, class::ASK, class::DENY] {
        permissions(r.u8(at))?;
    }
    for k in 0..3usize {
        rule_number(table, r, class::RULES.saturating_add(k.saturating_mul(3)))?;
    }
    Ok(())
}

fn islands(table: &Table<'_>, r: Record<'_>) -> Check {
    cells_of(table, r, island::AUTOMATA, path_cell::SIZE)?;
    ensure(
        r.list(island::AUTOMATA).len() <= island::MAX_AUTOMATA,
        "more automata than are walked at once",
    )?;
    ensure(r.u8(island::FLAGS) <= island::LOCKSTEP, "a flag that does not exist")
}

fn rules(table: &Table<'_>, r: Record<'_>) -> Check {
    effect(r.u8(rule::EFFECT))?;
    flag(r.u8(rule::READONLY))?;
    ensure(r.u8(rule::KIND) <= 1, "a kind of rule that does not exist")?;
    in_section(table, Section::Automata, r.u24(rule::AUTOMATON))?;
    optional(table, Section::Automata, r.u24(rule::EXCEPT_WORDS))?;
    optional(table, Section::Automata, r.u24(rule::EXCEPT_TEXTS))?;
    for at in [rule::AUTOMATON, rule::EXCEPT_WORDS, rule::EXCEPT_TEXTS] {
        if let Some(a) = r.option(at) {
            let size = table.record(Section::Automata, a).u8(automaton::CELL_SIZE);
            ensure(usize::from(size) == rule_cell::SIZE, "an automaton over something else")?;
        }
    }
    rule_number(table, r, rule::RULE)
}

fn holes(_: &Table<'_>, r: Record<'_>) -> Check {
    flag(r.u8(hole::MANY))?;
    permissions(r.u8(hole::PERMISSIONS))
}

fn tools(table: &Table<'_>, r: Record<'_>) -> Check {
    text_at(table, r, tool::NAME)?;
    list_in(table, Section::StringLists, r, tool::REQUIRES)?;
    permissions(r.u8(tool::USES))?;
    let flags = tool::READONLY | tool::DECLARES_USES;
    ensure(r.u8(tool::FLAGS) & !flags == 0, "a flag that does not exist")?;
    ensure(matches!(r.u8(tool::ABILITY), 0 | 1 | 2 | 4 | 8 | 16), "an ability that does not exist")
}

/// A file's text lies behind that of the file before it.
fn source(table: &Table<'_>, record: Record<'_>, end: &mut usize) -> Check {
    let next = record.u32(file::END) as usize;
    let text = table.section(Section::Sources).get(*end..next);
    let text = text.ok_or("a text that ends before it begins, or behind the section")?;
    *end = next;
    ensure(core::str::from_utf8(text).is_ok(), "a text that is not UTF-8")
}

fn rule_texts(table: &Table<'_>, r: Record<'_>) -> Check {
    in_section(table, Section::Files, u32::from(r.u16(rule_text::FILE)))?;
    text_at(table, r, rule_text::TEXT)
}
