//! The table format: where everything stands. The compiler writes by these
//! definitions, [`Table`](crate::Table) reads by them; `docs/format.md` is the
//! prose.
//!
//! A table is a header, a directory of sections, and the sections, back to
//! back. Integers are little-endian and unaligned; `u24` is three bytes. A
//! section is an array of records of one size, or a blob.

/// The first eight bytes.
pub const MAGIC: [u8; 8] = *b"MEROTBL\0";
/// The version of the format that this crate reads and describes.
pub const VERSION: u32 = 1;
/// Bytes of the header: magic, version `u32`, length `u32`, digest, flags
/// `u32`, count of sections `u32`.
pub const HEADER: usize = 56;
/// Where the digest stands: BLAKE3 of bytes `0..16` and `48..`, in that order,
/// each hashed by itself and the two digests hashed together.
pub const DIGEST: core::ops::Range<usize> = 16..48;
/// Bytes of a directory entry: offset `u32`, length `u32`.
pub const DIRECTORY_ENTRY: usize = 8;

/// Header flag: the debug sections are filled.
pub const FLAG_DEBUG: u32 = 1;

/// The sections, in file order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Section {
    /// Blob of strings; others point into it.
    Strings = 0,
    /// Bucket starts of the symbol map, `u32` each.
    Buckets = 1,
    /// Entries of the symbol map, sorted by bucket.
    Symbols = 2,
    /// Contexts.
    Contexts = 3,
    /// Host anchors of contexts.
    Anchors = 4,
    /// Trie nodes.
    Nodes = 5,
    /// Mounts.
    Mounts = 6,
    /// What many mounts share.
    MountClasses = 7,
    /// Groups of automata over the paths below a top-level mount.
    Islands = 8,
    /// Automata: header records.
    Automata = 9,
    /// Automata: class maps, rows, labels and cells.
    AutomataData = 10,
    /// Command rules that need more than one automaton.
    Rules = 11,
    /// Path words of such rules.
    Holes = 12,
    /// Lists of strings: offset `u24`, length `u16`.
    StringLists = 13,
    /// Declared tools.
    Tools = 14,
    /// Parameters.
    Params = 15,
    /// Debug: files: name, and where their text ends.
    Files = 16,
    /// Debug: rules: file `u16`, line `u32`, text string.
    RuleTexts = 17,
    /// Debug: the texts of the files, one after another.
    Sources = 18,
}

/// How many sections there are.
pub const SECTIONS: usize = 19;

impl Section {
    /// All, in file order.
    pub const ALL: [Section; SECTIONS] = [
        Section::Strings,
        Section::Buckets,
        Section::Symbols,
        Section::Contexts,
        Section::Anchors,
        Section::Nodes,
        Section::Mounts,
        Section::MountClasses,
        Section::Islands,
        Section::Automata,
        Section::AutomataData,
        Section::Rules,
        Section::Holes,
        Section::StringLists,
        Section::Tools,
        Section::Params,
        Section::Files,
        Section::RuleTexts,
        Section::Sources,
    ];

    /// Its name in messages and in `inspect`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Section::Strings => "strings",
            Section::Buckets => "buckets",
            Section::Symbols => "symbols",
            Section::Contexts => "contexts",
            Section::Anchors => "anchors",
            Section::Nodes => "nodes",
            Section::Mounts => "mounts",
            Section::MountClasses => "mount-classes",
            Section::Islands => "islands",
            Section::Automata => "automata",
            Section::AutomataData => "automata-data",
            Section::Rules => "rules",
            Section::Holes => "holes",
            Section::StringLists => "string-lists",
            Section::Tools => "tools",
            Section::Params => "params",
            Section::Files => "files",
            Section::RuleTexts => "rule-texts",
            Section::Sources => "sources",
        }
    }

    /// Bytes of one record; 1 for blobs.
    #[must_use]
    pub const fn record(self) -> usize {
        match self {
            Section::Strings | Section::AutomataData | Section::Sources => 1,
            Section::Buckets => 4,
            Section::Symbols => symbol::SIZE,
            Section::Contexts => context::SIZE,
            Section::Anchors => anchor::SIZE,
            Section::Nodes => node::SIZE,
            Section::Mounts => mount::SIZE,
            Section::MountClasses => class::SIZE,
            Section::Islands => island::SIZE,
            Section::Automata => automaton::SIZE,
            Section::Rules => rule::SIZE,
            Section::Holes => hole::SIZE,
            Section::StringLists => string::SIZE,
            Section::Files => file::SIZE,
            Section::Params => param::SIZE,
            Section::Tools => tool::SIZE,
            Section::RuleTexts => rule_text::SIZE,
        }
    }
}

/// "None" in a `u24` field.
pub const NONE24: u32 = 0x00FF_FFFF;

/// Names and path segments are keys of one symbol map: `(space, bytes)` to a
/// value. A space below [`spaces::FIRST`] is a trie node, its keys are
/// the segments below it, their values the child nodes.
pub mod spaces {
    /// First number that is no trie node.
    pub const FIRST: u32 = 0x00F0_0000;
    /// Names of contexts; value: context.
    pub const CONTEXTS: u32 = 0x00F0_0000;
    /// Names of declared tools; value: tool.
    pub const TOOLS: u32 = 0x00F0_0001;
    /// Plus a context: its slugs; value: mount.
    pub const SLUGS: u32 = 0x00F1_0000;
    /// Plus a context: the grants that it holds; value 0.
    pub const GRANTS: u32 = 0x00F2_0000;
}

/// `symbol`: a key of the map.
pub mod symbol {
    /// Offset of the key in `strings`, `u24`.
    pub const TEXT: usize = 0;
    /// Its length, `u8`.
    pub const LENGTH: usize = 3;
    /// The space, `u24`.
    pub const SPACE: usize = 4;
    /// The value, `u24`.
    pub const VALUE: usize = 7;
    /// Low byte of the hash, to skip most comparisons.
    pub const TAG: usize = 10;
    /// Bytes.
    pub const SIZE: usize = 11;
}

/// A string reference: offset `u24`, length `u16`.
pub mod string {
    /// Offset in `strings`, `u24`.
    pub const TEXT: usize = 0;
    /// Length, `u16`.
    pub const LENGTH: usize = 3;
    /// Bytes.
    pub const SIZE: usize = 5;
}

/// A list: first `u24`, count `u24`.
pub mod list {
    /// Bytes.
    pub const SIZE: usize = 6;
}

/// `contexts`.
pub mod context {
    /// Name, string.
    pub const NAME: usize = 0;
    /// Admitted phases, one bit each.
    pub const PHASES: usize = 5;
    /// Flags below.
    pub const FLAGS: usize = 6;
    /// Own `allow`.
    pub const ALLOW: usize = 7;
    /// Own `ask`.
    pub const ASK: usize = 8;
    /// Own `deny`.
    pub const DENY: usize = 9;
    /// `otherwise` of `commands`: an effect.
    pub const OTHERWISE: usize = 10;
    /// `opaque` of `commands`: an effect.
    pub const OPAQUE: usize = 11;
    /// `otherwise` of `tools`: an effect.
    pub const TOOLS_OTHERWISE: usize = 12;
    /// The mount named root, `u24` or none.
    pub const ROOT: usize = 13;
    /// Anchors, list.
    pub const ANCHORS: usize = 16;
    /// Mounts, list.
    pub const MOUNTS: usize = 22;
    /// Island of the hide list of an unconfined context, `u24` or none.
    pub const ISLAND: usize = 28;
    /// Automata over argument vectors, list.
    pub const WORDS: usize = 31;
    /// Automata over command texts, list.
    pub const TEXTS: usize = 37;
    /// Rules that need more, list.
    pub const RULES: usize = 43;
    /// Automata over tool names, list.
    pub const TOOLS: usize = 49;
    /// Names that may be assigned before a command, string list.
    pub const ENV: usize = 55;
    /// Wrappers that allow rules reach through, string list.
    pub const WRAPPERS: usize = 61;
    /// Contexts whose requests this one may approve, string list of names.
    pub const APPROVES: usize = 67;
    /// Grants in order, string list.
    pub const GRANTS: usize = 73;
    /// Debug: rules of own allow, ask, deny, otherwise, opaque and tools
    /// otherwise, `u24` each or none.
    pub const FIELD_RULES: usize = 79;
    /// The `slug_bit`s of its mounts' slugs, `u64`: most paths begin with none.
    pub const SLUGS: usize = 97;
    /// Bytes.
    pub const SIZE: usize = 105;

    /// The context has no mounts and limits no place.
    pub const UNCONFINED: u8 = 1;
    /// Some command may run: a command rule, `otherwise` or `opaque` allows or asks.
    pub const RUNS_COMMANDS: u8 = 2;
    /// It has a `tools` block.
    pub const HAS_TOOLS: u8 = 4;
}

/// `anchors`: where host directories begin.
pub mod anchor {
    /// One of the kinds below, `u8`.
    pub const KIND: usize = 0;
    /// The parameter, `u24`, for `PARAM`.
    pub const PARAM: usize = 1;
    /// Root of its trie, `u24`.
    pub const NODE: usize = 4;
    /// Bytes.
    pub const SIZE: usize = 7;

    /// The file system's root.
    pub const ABSOLUTE: u8 = 0;
    /// The policy's base directory.
    pub const BASE: u8 = 1;
    /// The home directory.
    pub const HOME: u8 = 2;
    /// A parameter's directory.
    pub const PARAMETER: u8 = 3;
}

/// `nodes`: one for each directory on the way to a mount.
pub mod node {
    /// Deepest mount at or above it, `u24` or none.
    pub const MOUNT: usize = 0;
    /// What deleting it meets in mounts below it: a class of `below`, and `LEAF`.
    pub const BELOW: usize = 3;
    /// Set in `BELOW` where there is no child.
    pub const LEAF: u8 = 0x80;
    /// Bytes.
    pub const SIZE: usize = 4;
}

/// What a `delete` meets in the mounts below a directory, strictest first.
pub mod below {
    /// Some mount below is hidden.
    pub const HIDDEN: u8 = 0;
    /// Denied.
    pub const DENIED: u8 = 1;
    /// Not granted.
    pub const NOT_GRANTED: u8 = 2;
    /// Needs approval.
    pub const ASK: u8 = 3;
    /// Nothing in the way.
    pub const FREE: u8 = 4;
}

/// `mounts`.
pub mod mount {
    /// Its trie node, `u24`.
    pub const NODE: usize = 0;
    /// Its class, `u16`.
    pub const CLASS: usize = 3;
    /// Slug: offset `u24`.
    pub const SLUG: usize = 5;
    /// Slug: length `u8`.
    pub const SLUG_LENGTH: usize = 8;
    /// Directory from its anchor: offset `u24`.
    pub const DIRECTORY: usize = 9;
    /// Directory: length `u16`.
    pub const DIRECTORY_LENGTH: usize = 12;
    /// Bytes.
    pub const SIZE: usize = 14;
}

/// `mount-classes`: what many mounts share.
pub mod class {
    /// Top-level mount, `u24`.
    pub const TOP: usize = 0;
    /// Island, `u24` or none.
    pub const ISLAND: usize = 3;
    /// Anchor: index in the context's list, `u8`.
    pub const ANCHOR: usize = 6;
    /// Effective `allow` before `on` blocks.
    pub const ALLOW: usize = 7;
    /// Effective `ask`.
    pub const ASK: usize = 8;
    /// Effective `deny`.
    pub const DENY: usize = 9;
    /// Nesting of the mount: 1 for a top-level one.
    pub const DEPTH: usize = 10;
    /// Nesting at which `ask` was set; 0 for the context.
    pub const ASK_DEPTH: usize = 11;
    /// Likewise for `deny`.
    pub const DENY_DEPTH: usize = 12;
    /// Debug: rules that set allow, ask, deny, `u24` each or none.
    pub const RULES: usize = 13;
    /// 1: the automata of the island are in their `WITHIN` states in the mount's directory.
    pub const WITHIN: usize = 22;
    /// Bytes.
    pub const SIZE: usize = 23;
}

/// `islands`: the automata that decide hiding and `on` blocks below one
/// top-level mount.
pub mod island {
    /// Automata, list.
    pub const AUTOMATA: usize = 0;
    /// Flags below.
    pub const FLAGS: usize = 6;
    /// Bytes.
    pub const SIZE: usize = 7;

    /// Automata that one island may have: their states stand in an array while a
    /// path is walked.
    pub const MAX_AUTOMATA: usize = 64;
    /// Hiding must be looked up at every directory, over all automata: a
    /// pattern of one may re-include what another hides.
    pub const LOCKSTEP: u8 = 1;
}

/// `automata`: a deterministic automaton over byte classes.
pub mod automaton {
    /// Offset of its 256-byte class map in `automata-data`, `u32`.
    pub const MAP: usize = 0;
    /// States, `u32`.
    pub const STATES: usize = 4;
    /// Classes, `u16`, at most 256.
    pub const CLASSES: usize = 8;
    /// Start state, `u32`.
    pub const START: usize = 10;
    /// States below this one lead nowhere else, `u32`.
    pub const ABSORBING: usize = 14;
    /// One of the layouts below, `u8`.
    pub const LAYOUT: usize = 18;
    /// Bytes of a number in the rows: 2 or 4.
    pub const WIDTH: usize = 19;
    /// Offset of the rows, `u32`.
    pub const ROWS: usize = 20;
    /// Length of a comb (count of cells), `u32`; 0 for dense rows.
    pub const COMB: usize = 24;
    /// Displaced rows: offset of the labels (a `u16` for each state), `u32`.
    pub const LABELS: usize = 28;
    /// Offset of the cells, `u32`.
    pub const CELLS: usize = 32;
    /// Count of cells, `u16`.
    pub const CELL_COUNT: usize = 36;
    /// Bytes of a cell: that of `path_cell` or `rule_cell`.
    pub const CELL_SIZE: usize = 38;
    /// States from `ABSORBING` up to this one are left by `/`, `.`, `\\` and NUL only,
    /// `u32`.
    pub const IDLE: usize = 39;
    /// The state in the directories (a `/` behind them) of those mounts whose class says
    /// so, `u32`.
    pub const WITHIN: usize = 43;
    /// Displaced rows: count of default rows, `u8`.
    pub const DEFAULT_ROWS: usize = 47;
    /// Bytes.
    pub const SIZE: usize = 48;

    /// A row for each state: a target for each class, then the state's label. A
    /// state is the offset of its row, in numbers, so that a step is one
    /// addition and one load; `START`, `ABSORBING`, `IDLE` and
    /// `WITHIN` are such offsets too.
    pub const DENSE: u8 = 0;
    /// Rows displaced into a comb: for each state a base (`u32`), for each the number of its
    /// default row (`u8`), the default rows (a target for each class), then the comb of
    /// owner and target. A state is its index.
    pub const DISPLACED: u8 = 1;
}

/// The cell of an automaton over paths. Ranks order the patterns of a list
/// over all its automata (the later wins); 0 is no match.
pub mod path_cell {
    /// Rank of the last hide pattern, `u16`.
    pub const HIDE_RANK: usize = 0;
    /// Of the last block that sets `allow`, `u16`.
    pub const ALLOW_RANK: usize = 2;
    /// `ask`, `u16`.
    pub const ASK_RANK: usize = 4;
    /// `deny`, `u16`.
    pub const DENY_RANK: usize = 6;
    /// 1 hides, 0 re-includes.
    pub const HIDE: usize = 8;
    /// Value of `allow`.
    pub const ALLOW: usize = 9;
    /// `ask`.
    pub const ASK: usize = 10;
    /// `deny`.
    pub const DENY: usize = 11;
    /// Nesting of the mount whose block set `allow`.
    pub const ALLOW_DEPTH: usize = 12;
    /// `ask`.
    pub const ASK_DEPTH: usize = 13;
    /// `deny`.
    pub const DENY_DEPTH: usize = 14;
    /// Debug: rules of hide, allow, ask, deny, `u24` each or none.
    pub const RULES: usize = 15;
    /// Bytes.
    pub const SIZE: usize = 27;
}

/// The cell of an automaton over commands or tool names.
pub mod rule_cell {
    /// Strictest effect: 0 deny, 1 ask, 2 allow, 3 no rule.
    pub const EFFECT: usize = 0;
    /// 1 if an `allow` or `ask` rule that matches is `readonly`.
    pub const READONLY: usize = 1;
    /// Debug: the rule, `u24` or none.
    pub const RULE: usize = 2;
    /// Bytes.
    pub const SIZE: usize = 5;
}

/// `rules`: command rules with path words, or with exceptions of another kind.
pub mod rule {
    /// Effect.
    pub const EFFECT: usize = 0;
    /// 1 if `readonly`.
    pub const READONLY: usize = 1;
    /// 0 over argument vectors, 1 over texts.
    pub const KIND: usize = 2;
    /// The automaton, `u24`.
    pub const AUTOMATON: usize = 3;
    /// Holes, list.
    pub const HOLES: usize = 6;
    /// Automaton of the exceptions over argument vectors, `u24` or none.
    pub const EXCEPT_WORDS: usize = 12;
    /// Of those over texts, `u24` or none.
    pub const EXCEPT_TEXTS: usize = 15;
    /// Debug: the rule, `u24` or none.
    pub const RULE: usize = 18;
    /// Bytes.
    pub const SIZE: usize = 21;
}

/// `holes`: arguments that are paths.
pub mod hole {
    /// Index of the argument, `u16`.
    pub const WORD: usize = 0;
    /// 1 for it and all after it.
    pub const MANY: usize = 2;
    /// Permissions needed.
    pub const PERMISSIONS: usize = 3;
    /// What may precede the path in the argument, string list.
    pub const PREFIXES: usize = 4;
    /// Bytes.
    pub const SIZE: usize = 10;
}

/// `tools`.
pub mod tool {
    /// Name, string.
    pub const NAME: usize = 0;
    /// Grants it requires, string list.
    pub const REQUIRES: usize = 5;
    /// Permissions it uses.
    pub const USES: usize = 11;
    /// Flags below.
    pub const FLAGS: usize = 12;
    /// Ability: 1, 2, 4, 8, 16; 0 if none is declared.
    pub const ABILITY: usize = 13;
    /// Bytes.
    pub const SIZE: usize = 14;

    /// It only reads.
    pub const READONLY: u8 = 1;
    /// It declares what it uses.
    pub const DECLARES_USES: u8 = 2;
}

/// `params`.
pub mod param {
    /// Name, string.
    pub const NAME: usize = 0;
    /// Default directory as written (`/…`, `./…`, `~/…`), string; empty if
    /// there is none.
    pub const DEFAULT: usize = 5;
    /// Bytes.
    pub const SIZE: usize = 10;
}

/// `files`.
pub mod file {
    /// Name, string.
    pub const NAME: usize = 0;
    /// Where its text ends in `sources`, `u32`; it begins where the one before ends.
    pub const END: usize = 5;
    /// Bytes.
    pub const SIZE: usize = 9;
}

/// `rule-texts`.
pub mod rule_text {
    /// File, `u16`.
    pub const FILE: usize = 0;
    /// Line, `u32`.
    pub const LINE: usize = 2;
    /// Text, string.
    pub const TEXT: usize = 6;
    /// Bytes.
    pub const SIZE: usize = 11;
}

/// The bit of a name in `context::SLUGS`.
#[must_use]
#[inline]
pub fn slug_bit(name: &[u8]) -> u64 {
    let first = name.first().copied().map_or(0, u32::from);
    let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
    1u64.wrapping_shl(first.wrapping_mul(5).wrapping_add(length.wrapping_mul(13)))
}

/// The hash of a key of the symbol map. Multiply-and-fold over eight bytes at a
/// time, the last ones overlapping (the mixing of wyhash). The keys are the
/// policy's own, so that nobody outside can make them collide.
#[must_use]
#[inline]
pub fn hash(space: u32, key: &[u8]) -> u64 {
    const K0: u64 = 0xA076_1D64_78BD_642F;
    const K1: u64 = 0xE703_7ED1_A0B4_28DB;
    let mut state = u64::from(space) ^ K0;
    let last = if let Some(last) = key.last_chunk::<8>() {
        for chunk in key.chunks_exact(8) {
            let eight = chunk.first_chunk().map_or(0, |c| u64::from_le_bytes(*c));
            state = fold(state ^ eight, K1);
        }
        u64::from_le_bytes(*last)
    } else if let (Some(first), Some(last)) = (key.first_chunk::<4>(), key.last_chunk::<4>()) {
        u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
    } else {
        key.iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
    };
    fold(state ^ last, K0 ^ key.len() as u64)
}

/// The bucket of a hash: its upper half, scaled. The tag is its lowest byte.
#[must_use]
#[inline]
pub fn bucket(hash: u64, buckets: u32) -> u32 {
    u32::try_from((hash >> 32).wrapping_mul(u64::from(buckets)) >> 32).unwrap_or(0)
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "folds the product's halves")]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a).wrapping_mul(u128::from(b));
    (product >> 64) as u64 ^ product as u64
}
