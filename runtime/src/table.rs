//! The table as a reader sees it: records by number, strings, symbols, automata.
//!
//! All reads are total: out of range they give an empty record, whose fields
//! are 0, which is a denial everywhere. Validation at load makes that case
//! unreachable, so there is one reader and no unchecked twin.

use crate::automaton::Automaton;
use crate::decision::RuleId;
use crate::error::TableError;
use crate::format::{
    self, FLAG_DEBUG, NONE24, SECTIONS, Section, context, file, hash, node, param, rule_text,
    spaces, string, symbol,
};
use crate::validate;

/// A validated table over borrowed bytes. Copying it copies references.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    bytes: &'a [u8],
    sections: [&'a [u8]; SECTIONS],
}

/// Sizes of a table's parts, for `inspect` and statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableParts {
    /// The section.
    pub section: Section,
    /// Its bytes.
    pub bytes: usize,
    /// Its records (bytes for blobs).
    pub records: usize,
}

/// Where a rule of a policy stands, from the debug sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleText<'a> {
    /// File name.
    pub file: &'a str,
    /// Line, from 1.
    pub line: u32,
    /// The rule as written.
    pub text: &'a str,
}

impl core::fmt::Debug for Table<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Table").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl<'a> Table<'a> {
    /// Reads a table in place, after checking all of it: header, length, digest,
    /// directory, then every record in section order. Linear in the size; no
    /// allocation.
    ///
    /// # Errors
    /// A [`TableError`] that says what is wrong; never a panic.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Table<'a>, TableError> {
        let sections = validate::sections(bytes)?;
        let table = Table { bytes, sections };
        validate::records(&table)?;
        Ok(table)
    }

    /// Where the sections lie in the bytes.
    #[cfg(feature = "alloc")]
    pub(crate) fn ranges(&self) -> [core::ops::Range<usize>; SECTIONS] {
        let mut start =
            format::HEADER.saturating_add(SECTIONS.saturating_mul(format::DIRECTORY_ENTRY));
        self.sections.map(|s| {
            let range = start..start.saturating_add(s.len());
            start = range.end;
            range
        })
    }

    /// A table that was validated before, of the same bytes.
    #[cfg(feature = "alloc")]
    pub(crate) fn from_ranges(
        bytes: &'a [u8],
        ranges: &[core::ops::Range<usize>; SECTIONS],
    ) -> Table<'a> {
        let mut sections: [&[u8]; SECTIONS] = [&[]; SECTIONS];
        for (slot, range) in sections.iter_mut().zip(ranges) {
            *slot = bytes.get(range.start..range.end).unwrap_or(&[]);
        }
        Table { bytes, sections }
    }

    /// The context of this name.
    #[must_use]
    pub fn context(&self, name: &str) -> Option<Context<'a>> {
        let index = self.symbol(spaces::CONTEXTS, name.as_bytes())?;
        Some(Context { table: *self, index, record: self.record(Section::Contexts, index) })
    }

    /// A context by its place in the order of the policy.
    #[cfg(feature = "std")]
    pub(crate) fn context_at(&self, index: usize) -> Option<Context<'a>> {
        let index = u32::try_from(index).ok().filter(|&i| i < self.count(Section::Contexts))?;
        Some(Context { table: *self, index, record: self.record(Section::Contexts, index) })
    }

    /// All contexts, in the order of the policy.
    pub fn contexts(&self) -> impl Iterator<Item = Context<'a>> + use<'a> {
        let table = *self;
        (0..table.count(Section::Contexts)).map(move |index| Context {
            table,
            index,
            record: table.record(Section::Contexts, index),
        })
    }

    /// The digest that identifies the table.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.bytes.get(format::DIGEST).and_then(|d| d.try_into().ok()).unwrap_or([0; 32])
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether it knows where its rules stand.
    #[must_use]
    pub fn has_debug_info(&self) -> bool {
        Record(self.bytes).u32(48) & FLAG_DEBUG != 0
    }

    /// The parameters that binding needs: name, and default directory as the
    /// policy has it (`/…`, `./…` below the base, `~/…`), if it has one.
    pub fn params(&self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + use<'a> {
        let table = *self;
        (0..table.count(Section::Params)).map(move |i| {
            let record = table.record(Section::Params, i);
            let default = table.text(table.string(record, param::DEFAULT));
            (table.param(i), Some(default).filter(|d| !d.is_empty()))
        })
    }

    /// The files that the policy was compiled from, in the order in which they were
    /// read: name and text. Empty without debug sections.
    pub fn files(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let table = *self;
        let mut begin = 0usize;
        (0..table.count(Section::Files)).map(move |i| {
            let record = table.record(Section::Files, i);
            let end = record.u32(file::END) as usize;
            let text = table.section(Section::Sources).get(begin..end).unwrap_or_default();
            begin = end;
            (table.text(table.string(record, file::NAME)), table.text(text))
        })
    }

    /// Sizes of all sections, in file order.
    pub fn parts(&self) -> impl Iterator<Item = TableParts> + use<'a> {
        let sections = self.sections;
        Section::ALL.into_iter().zip(sections).map(|(section, data)| TableParts {
            section,
            bytes: data.len(),
            records: data.len().checked_div(section.record()).unwrap_or(0),
        })
    }

    /// Where a rule stands.
    #[must_use]
    pub fn rule(&self, rule: RuleId) -> Option<RuleText<'a>> {
        if rule.0 >= self.count(Section::RuleTexts) {
            return None;
        }
        let record = self.record(Section::RuleTexts, rule.0);
        let file = self.record(Section::Files, u32::from(record.u16(rule_text::FILE)));
        Some(RuleText {
            file: self.text(self.string(file, file::NAME)),
            line: record.u32(rule_text::LINE),
            text: self.text(self.string(record, rule_text::TEXT)),
        })
    }

    pub(crate) fn param(&self, index: u32) -> &'a str {
        self.text(self.string(self.record(Section::Params, index), 0))
    }

    #[inline]
    pub(crate) fn section(&self, section: Section) -> &'a [u8] {
        self.sections.get(section as usize).copied().unwrap_or(&[])
    }

    pub(crate) fn count(&self, section: Section) -> u32 {
        let records = self.section(section).len().checked_div(section.record()).unwrap_or(0);
        u32::try_from(records).unwrap_or(0)
    }

    #[inline]
    pub(crate) fn record(&self, section: Section, index: u32) -> Record<'a> {
        let size = section.record();
        let start = (index as usize).saturating_mul(size);
        let data = self.section(section).get(start..).and_then(|d| d.get(..size));
        // Of the same size, so that no field is checked again where it is read.
        static NOTHING: [u8; 128] = [0; 128];
        Record(data.unwrap_or(NOTHING.get(..size).unwrap_or(&[])))
    }

    #[inline]
    pub(crate) fn slice(&self, offset: u32, length: usize) -> &'a [u8] {
        let strings = self.section(Section::Strings);
        strings.get(offset as usize..).and_then(|s| s.get(..length)).unwrap_or(&[])
    }

    pub(crate) fn string(&self, record: Record<'a>, field: usize) -> &'a [u8] {
        let length = record.u16(field.saturating_add(string::LENGTH));
        self.slice(record.u24(field), usize::from(length))
    }

    pub(crate) fn text(&self, bytes: &'a [u8]) -> &'a str {
        core::str::from_utf8(bytes).unwrap_or("")
    }

    /// The strings of a list field.
    pub(crate) fn strings(
        &self,
        record: Record<'a>,
        field: usize,
    ) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let table = *self;
        record.list(field).map(move |i| table.string(table.record(Section::StringLists, i), 0))
    }

    /// Looks a key up. Cost: a hash of the key, then on average two tags and
    /// one comparison.
    #[inline]
    pub(crate) fn symbol(&self, space: u32, key: &[u8]) -> Option<u32> {
        if key.len() > 255 {
            return None;
        }
        let buckets = self.section(Section::Buckets);
        let count = u32::try_from((buckets.len() / 4).checked_sub(1)?).ok()?;
        let hash = hash(space, key);
        let [tag, ..] = hash.to_le_bytes();
        let bucket = format::bucket(hash, count);
        let starts = Record(buckets);
        let at = (bucket as usize).saturating_mul(4);
        let (first, end) = (starts.u32(at), starts.u32(at.saturating_add(4)));
        for index in first..end {
            let entry = self.record(Section::Symbols, index);
            if entry.u8(symbol::TAG) == tag
                && entry.u24(symbol::SPACE) == space
                && usize::from(entry.u8(symbol::LENGTH)) == key.len()
                && self.slice(entry.u24(symbol::TEXT), key.len()) == key
            {
                return Some(entry.u24(symbol::VALUE));
            }
        }
        None
    }

    /// A directory on the way to mounts.
    #[inline]
    pub(crate) fn node(&self, index: u32) -> Node {
        let record = self.record(Section::Nodes, index);
        let below = record.u8(node::BELOW);
        Node {
            index,
            mount: record.option(node::MOUNT),
            below: below & !node::LEAF,
            leaf: below & node::LEAF != 0,
        }
    }

    pub(crate) fn automaton(&self, index: u32) -> Automaton<'a> {
        Automaton::new(self.record(Section::Automata, index), self.section(Section::AutomataData))
    }
}

/// A directory on the way to mounts.
pub(crate) struct Node {
    index: u32,
    /// The deepest mount at or above it.
    pub(crate) mount: Option<u32>,
    /// What a `delete` of it meets below: a class of [`format::below`].
    pub(crate) below: u8,
    leaf: bool,
}

impl Node {
    /// The directory of this name in it, if it is on the way to a mount.
    #[inline]
    pub(crate) fn child(&self, table: &Table<'_>, name: &[u8]) -> Option<u32> {
        if self.leaf { None } else { table.symbol(self.index, name) }
    }
}

/// One context of a table: who asks.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub(crate) table: Table<'a>,
    pub(crate) index: u32,
    pub(crate) record: Record<'a>,
}

impl core::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Context").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// A slice read as fields; total.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a>(pub(crate) &'a [u8]);

impl<'a> Record<'a> {
    #[inline]
    pub(crate) fn u8(self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    #[inline]
    pub(crate) fn u16(self, at: usize) -> u16 {
        self.array(at).map_or(0, u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u24(self, at: usize) -> u32 {
        self.array(at).map_or(0, |[a, b, c]: [u8; 3]| u32::from_le_bytes([a, b, c, 0]))
    }

    #[inline]
    pub(crate) fn u32(self, at: usize) -> u32 {
        self.array(at).map_or(0, u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(self, at: usize) -> u64 {
        self.array(at).map_or(0, u64::from_le_bytes)
    }

    #[inline]
    fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..)?.first_chunk().copied()
    }

    /// A `u24` that may be none.
    pub(crate) fn option(self, at: usize) -> Option<u32> {
        Some(self.u24(at)).filter(|&v| v != NONE24)
    }

    /// A list field: indices into another section.
    pub(crate) fn list(self, at: usize) -> core::ops::Range<u32> {
        let first = self.u24(at);
        first..first.saturating_add(self.u24(at.saturating_add(3)))
    }

    pub(crate) fn rule(self, at: usize) -> Option<RuleId> {
        self.option(at).map(RuleId)
    }
}

impl<'a> Context<'a> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.table.text(self.table.string(self.record, context::NAME))
    }

    /// Its mounts, in the order of the policy.
    pub fn mounts(&self) -> impl Iterator<Item = crate::MountId> + use<'a> {
        self.record.list(context::MOUNTS).map(crate::MountId)
    }

    /// The table it is of.
    #[must_use]
    pub fn table(&self) -> Table<'a> {
        self.table
    }

    /// The grants that it holds, in the policy's order.
    pub fn grants(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let table = self.table;
        table.strings(self.record, context::GRANTS).map(move |s| table.text(s))
    }

    /// The contexts whose requests it may approve, as a manager.
    pub fn approves(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let table = self.table;
        table.strings(self.record, context::APPROVES).map(move |s| table.text(s))
    }

    /// Names that a command may assign before it runs.
    pub fn env(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        self.table.strings(self.record, context::ENV)
    }

    /// Programs through which `allow` and `ask` rules reach.
    pub fn wrappers(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        self.table.strings(self.record, context::WRAPPERS)
    }
}
