//! Tables that are cut, damaged, forged or from elsewhere: a clear error, or a
//! table that answers every request. Never a panic, an overflow or a hang.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod common;
#[path = "common/exercise.rs"]
mod exercise;
#[path = "common/table_bytes.rs"]
mod table_bytes;

use exercise::{read, sign};
use mero_runtime::format::{
    DIGEST, DIRECTORY_ENTRY, HEADER, MAGIC, SECTIONS, Section, VERSION, automaton, class, context,
    file, hole, island, mount, path_cell, rule, spaces, symbol,
};
use mero_runtime::{Kind, Permission, Phase, Session, Table, TableError};
use meroc::table::Options;
use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};
use table_bytes::{Random, SMALL, bytes, displaced, error, forged, records, section, tables};

#[test]
fn the_helper_signs_as_the_compiler_does() {
    for (name, bytes) in tables() {
        let mut again = bytes.clone();
        again[DIGEST].fill(0);
        sign(&mut again, true);
        assert_eq!(&again, bytes, "{name}");
    }
}

#[test]
fn cut_at_every_byte() {
    for (name, bytes) in tables() {
        // The digest of what is left would be read again for each of many
        // bytes: the length is refused first, so a large table is cheap too.
        for end in 0..bytes.len() {
            let found = error(&bytes[..end]);
            let expected = match end {
                0..HEADER => matches!(found, TableError::TooShort { length } if length == end),
                _ => matches!(found, TableError::Length { actual, .. } if actual == end),
            };
            assert!(expected, "{name} cut at {end}: {found}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(matches!(error(&longer), TableError::Length { .. }), "{name}");
    }
}

#[test]
fn cut_and_signed_anew() {
    for (name, bytes) in tables() {
        let step = (bytes.len() / 2_000).max(1);
        for end in (HEADER..bytes.len()).step_by(step) {
            let mut cut = bytes[..end].to_vec();
            sign(&mut cut, true);
            let found = error(&cut);
            assert!(matches!(found, TableError::Malformed { .. }), "{name} cut at {end}: {found}");
        }
    }
}

#[test]
fn every_byte_changed() {
    for (name, bytes) in tables() {
        let mut bytes = bytes.clone();
        let step = if bytes.len() > 20_000 { bytes.len() / 1_000 } else { 1 };
        for at in (0..bytes.len()).step_by(step) {
            let before = bytes[at];
            let patterns: &[u8] = if bytes.len() > 20_000 { &[0x01] } else { &[0x01, 0x80, 0xff] };
            for pattern in patterns {
                bytes[at] = before ^ pattern;
                let found = error(&bytes);
                let expected = match at {
                    0..8 => found == TableError::NotATable,
                    8..12 => matches!(found, TableError::Version { expected: VERSION, .. }),
                    12..16 => matches!(found, TableError::Length { .. }),
                    _ => found == TableError::Digest,
                };
                assert!(expected, "{name} changed at {at}: {found}");
            }
            bytes[at] = before;
        }
    }
}

/// The important one: the digest is right, so only validation protects. All
/// eight bits of every byte of `small`, two in the others, and in the rows of
/// automata, which are many of a kind, one bit of every sixth byte. With
/// `MERO_EXHAUSTIVE=1` really all.
fn every_bit(name: &str) {
    let (_, bytes) = tables().iter().find(|(n, _)| *n == name).unwrap();
    let (rows, length) = section(bytes, Section::AutomataData);
    let exhaustive = std::env::var_os("MERO_EXHAUSTIVE").is_some();
    let (mut accepted, mut refused) = (0, 0);
    let mut bytes = bytes.clone();
    for at in (0..bytes.len()).filter(|at| !DIGEST.contains(at)) {
        let before = bytes[at];
        for bit in 0..8usize {
            let in_rows = (rows + 256..rows + length).contains(&at);
            let skip = if in_rows {
                at % 6 != 0 || bit != at / 6 % 8
            } else {
                name != "small" && bit % 4 != at % 4
            };
            if skip && !exhaustive {
                continue;
            }
            bytes[at] = before ^ (1 << bit);
            sign(&mut bytes, false);
            if read(&bytes, false) {
                accepted += 1;
            } else {
                refused += 1;
            }
        }
        bytes[at] = before;
    }
    // Many changes give another table, which is as it should be: names,
    // permissions, ranks.
    assert!(refused > 300, "{name}: {accepted} accepted, {refused} refused");
}

#[test]
fn every_bit_changed_and_signed_anew() {
    every_bit("small");
}

#[test]
fn every_bit_changed_and_signed_anew_with_debug_sections() {
    every_bit("debug");
}

#[test]
fn every_bit_changed_and_signed_anew_in_lockstep() {
    every_bit("lockstep");
}

#[test]
fn every_bit_changed_and_signed_anew_with_nothing_in_it() {
    every_bit("empty");
}

/// Rows displaced into a comb: bases, defaults, owners, targets and labels.
#[test]
fn bits_changed_and_signed_anew_in_displaced_rows() {
    let bytes = &tables()[3].1;
    let mut random = Random(3);
    let (start, length) = section(bytes, Section::Automata);
    let heads = (start..start + length).flat_map(|at| (0..8).map(move |bit| (at, bit)));
    let some = (0..400).map(|_| (HEADER + random.below(bytes.len() - HEADER), random.below(8)));
    let mut changed = bytes.clone();
    for (at, bit) in heads.chain(some) {
        changed[at] ^= 1 << bit;
        sign(&mut changed, false);
        read(&changed, false);
        changed[at] ^= 1 << bit;
    }
}

#[test]
fn numbers_changed_at_random_and_signed_anew() {
    let mut random = Random(0x5EED);
    for (_, bytes) in tables() {
        let rounds = if bytes.len() > 20_000 { 300 } else { 2_000 };
        for _ in 0..rounds {
            let mut changed = bytes.clone();
            for _ in 0..=random.below(4) {
                let at = 8 + random.below(bytes.len() - 12);
                let interesting =
                    [0, 1, 2, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, 0x7fff_ffff, 256, 0x100_0000];
                let value = match random.below(3) {
                    0 => u32::try_from(random.next() & 0xffff_ffff).unwrap(),
                    _ => interesting[random.below(interesting.len())],
                };
                let width = 1 + random.below(4);
                changed[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
            }
            changed[8..12].copy_from_slice(&VERSION.to_le_bytes());
            sign(&mut changed, true);
            read(&changed, false);
        }
    }
}

#[test]
fn random_bytes_behind_a_valid_header() {
    let mut random = Random(7);
    for round in 0..3_000usize {
        let length = HEADER + random.below(1_500);
        let mut bytes = (0..length).map(|_| random.next().to_le_bytes()[0]).collect::<Vec<_>>();
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[48..52].fill(0);
        bytes[52..56].copy_from_slice(&u32::try_from(SECTIONS).unwrap().to_le_bytes());
        let directory = HEADER + SECTIONS * DIRECTORY_ENTRY;
        if round % 2 == 0 && length > directory {
            // A directory that is right, too: sections of whole records.
            let mut start = directory;
            for (index, section) in Section::ALL.into_iter().enumerate() {
                let last = index + 1 == SECTIONS;
                let most = (length - start) / section.record();
                let count = if last { most } else { random.below(most.min(12) + 1) };
                let size = count * section.record();
                let at = HEADER + index * DIRECTORY_ENTRY;
                bytes[at..at + 4].copy_from_slice(&u32::try_from(start).unwrap().to_le_bytes());
                bytes[at + 4..at + 8].copy_from_slice(&u32::try_from(size).unwrap().to_le_bytes());
                start += size;
            }
            bytes.truncate(start);
        }
        sign(&mut bytes, true);
        assert!(matches!(error(&bytes), TableError::Malformed { .. }));
    }
}

#[test]
fn sections_moved_overlapping_and_too_long() {
    let table = &tables()[0].1;
    for (index, section_of) in Section::ALL.into_iter().enumerate() {
        let at = HEADER + index * DIRECTORY_ENTRY;
        let (start, length) = section(table, section_of);
        let mut lengths = vec![
            length + 1,
            length + section_of.record(),
            usize::from(u16::MAX) << 16,
            0xffff_ffff,
        ];
        if length > 0 {
            lengths.extend([0, length - 1, length - section_of.record()]);
        }
        for wrong in lengths {
            let wrong = u32::try_from(wrong).unwrap().to_le_bytes();
            let found = forged(table, at + 4, &wrong).expect_err("accepted");
            assert!(matches!(found, TableError::Malformed { section: "directory", .. }), "{found}");
        }
        let starts = [0, start - 1, start + 1, table.len(), 0xffff_ffff];
        for wrong in starts.into_iter().filter(|&s| s != start) {
            let wrong = u32::try_from(wrong).unwrap().to_le_bytes();
            let found = forged(table, at, &wrong).expect_err("accepted");
            assert!(matches!(found, TableError::Malformed { section: "directory", .. }), "{found}");
        }
        // Two neighbours in each other's place.
        let mut swapped = table.clone();
        if index + 1 < SECTIONS {
            let (one, two) = (at..at + DIRECTORY_ENTRY, at + DIRECTORY_ENTRY);
            let entry = table[one.clone()].to_vec();
            swapped.copy_within(two..two + DIRECTORY_ENTRY, at);
            swapped[two..two + DIRECTORY_ENTRY].copy_from_slice(&entry);
            sign(&mut swapped, false);
            let same = length == 0 || swapped == *table;
            assert!(same || !read(&swapped, false), "{}", section_of.name());
        }
    }
    let count = u32::try_from(SECTIONS).unwrap();
    let counts = [count - 1, count + 1, u32::MAX].map(|n| (52, n.to_le_bytes()));
    for (at, new) in counts.into_iter().chain([(48, [2, 0, 0, 0])]) {
        let found = forged(table, at, &new).expect_err("accepted");
        assert!(matches!(found, TableError::Malformed { section: "directory", .. }), "{found}");
    }
}

#[test]
fn texts_of_files_lie_one_behind_another() {
    let text = "edition 1\ncontext w { use std::secrets  allow read }\n";
    let table = bytes(text, Options { debug_info: true, ..Options::default() });
    let ends = records(&table, Section::Files).map(|r| r + file::END).collect::<Vec<_>>();
    let [first, last] = ends[..] else { panic!("two files") };
    let length = section(&table, Section::Sources).1;
    for (at, wrong) in [(first, length + 1), (last, length - 1), (last, length + 1), (last, 0)] {
        let new = u32::try_from(wrong).unwrap().to_le_bytes();
        let found = forged(&table, at, &new).expect_err("accepted");
        assert!(matches!(found, TableError::Malformed { .. }), "{found}");
    }
    let text = section(&table, Section::Sources).0;
    forged(&table, text, &[0xff]).expect_err("not UTF-8");
}

#[test]
fn references_to_what_does_not_exist() {
    let table = &tables()[2].1;
    let first = |of: Section| records(table, of).next().unwrap();
    let cases: &[(Section, usize, &[u8])] = &[
        (Section::Contexts, context::NAME, &[0xff, 0xff, 0xff]),
        (Section::Contexts, context::PHASES, &[32]),
        (Section::Contexts, context::FLAGS, &[8]),
        (Section::Contexts, context::ALLOW, &[16]),
        (Section::Contexts, context::OTHERWISE, &[3]),
        (Section::Contexts, context::ROOT, &[0xff, 0xff, 0xff]),
        (Section::Contexts, context::ROOT, &[1, 0, 0]),
        (Section::Contexts, context::MOUNTS + 3, &[0xff, 0xff, 0xff]),
        (Section::Contexts, context::FIELD_RULES, &[0, 0, 0]),
        (Section::Mounts, mount::NODE, &[0xff, 0xff, 0xff]),
        (Section::Mounts, mount::CLASS, &[0xff, 0xff]),
        (Section::MountClasses, class::TOP, &[0xff, 0xff, 0xff]),
        (Section::MountClasses, class::ANCHOR, &[9]),
        (Section::Nodes, 0, &[0xfe, 0xff, 0xff]),
        (Section::Nodes, 3, &[5]),
        (Section::Anchors, 0, &[4]),
        (Section::Islands, island::FLAGS, &[2]),
        (Section::Islands, island::AUTOMATA + 3, &[0xff, 0xff, 0]),
        (Section::Automata, automaton::STATES, &[0, 0, 0, 0]),
        (Section::Automata, automaton::STATES, &[0xff, 0xff, 0xff, 0xff]),
        (Section::Automata, automaton::CLASSES, &[0, 0]),
        (Section::Automata, automaton::CLASSES, &[0xff, 0xff]),
        (Section::Automata, automaton::START, &[1, 0, 0, 0]),
        (Section::Automata, automaton::LAYOUT, &[2]),
        (Section::Automata, automaton::LAYOUT, &[1]),
        (Section::Automata, automaton::WIDTH, &[3]),
        (Section::Automata, automaton::CELL_SIZE, &[5]),
        (Section::Automata, automaton::MAP, &[0xff, 0xff, 0xff, 0xff]),
        (Section::Automata, automaton::ROWS, &[0xff, 0xff, 0xff, 0xff]),
        (Section::Automata, automaton::CELLS, &[0xff, 0xff, 0xff, 0xff]),
        (Section::Rules, rule::EFFECT, &[3]),
        (Section::Rules, rule::KIND, &[2]),
        (Section::Rules, rule::AUTOMATON, &[0, 0, 0]),
        (Section::Holes, hole::PERMISSIONS, &[16]),
        (Section::Holes, hole::PREFIXES, &[0xff, 0xff, 0xff]),
        (Section::Params, 0, &[0xff, 0xff, 0xff]),
        (Section::Tools, 12, &[4]),
        (Section::Tools, 13, &[3]),
        (Section::StringLists, 0, &[0xff, 0xff, 0xff]),
        (Section::Symbols, symbol::TEXT, &[0xff, 0xff, 0xff]),
        (Section::Buckets, 0, &[1]),
        (Section::Strings, 0, &[0xff]),
    ];
    for &(of, field, new) in cases {
        let found = forged(table, first(of) + field, new);
        let found = found.expect_err(&format!("{} +{field} {new:x?} was accepted", of.name()));
        assert!(matches!(found, TableError::Malformed { .. }), "{found}");
    }
}

/// Lists of one kind share nothing: else a table could make a decision cost as
/// much as the product of its sections.
#[test]
fn lists_that_share_records() {
    let table = &tables()[0].1;
    let holes = records(table, Section::Rules).filter(|&at| table[at + rule::HOLES + 3] > 0);
    let holes = holes.collect::<Vec<_>>();
    let [one, two] = holes[..] else { panic!("{} rules with holes", holes.len()) };
    let list = table[one + rule::HOLES..one + rule::HOLES + 6].to_vec();
    let found = forged(table, two + rule::HOLES, &list).expect_err("accepted");
    assert_eq!(
        found.to_string(),
        "the table's section `rules` is malformed at record 1: a list that shares records with another"
    );

    let contexts = records(table, Section::Contexts).collect::<Vec<_>>();
    for field in [context::MOUNTS, context::ANCHORS] {
        let list = table[contexts[0] + field..contexts[0] + field + 6].to_vec();
        forged(table, contexts[1] + field, &list).expect_err("accepted");
    }
    // Two automata over the same rows.
    let automata = records(table, Section::Automata).collect::<Vec<_>>();
    let whole = table[automata[0]..automata[0] + automaton::SIZE].to_vec();
    let found = forged(table, automata[1], &whole).expect_err("accepted");
    assert!(found.to_string().ends_with("a part that overlaps another"), "{found}");
}

/// A directory of one context must not be governed by a mount of another.
#[test]
fn contexts_stay_apart() {
    let table = &tables()[0].1;
    let contexts = records(table, Section::Contexts).collect::<Vec<_>>();
    let mounts = |c: usize| u32::from(table[c + context::MOUNTS]);
    let (lead, worker) = (contexts[0], contexts[1]);
    let nodes = records(table, Section::Nodes).collect::<Vec<_>>();
    let found = forged(table, nodes[0], &mounts(worker).to_le_bytes()[..3]).expect_err("accepted");
    assert!(found.to_string().ends_with("a directory of another context's mount"), "{found}");
    let first = records(table, Section::Mounts).next().unwrap();
    let found = forged(table, first + mount::NODE, &[4, 0, 0]).expect_err("accepted");
    assert!(found.to_string().ends_with("a mount in another context's trie"), "{found}");
    let flags = table[worker + context::FLAGS] | context::UNCONFINED;
    let found = forged(table, worker + context::FLAGS, &[flags]).expect_err("accepted");
    assert!(found.to_string().ends_with("an unconfined context with mounts"), "{found}");
    let _ = lead;
    // A way down a trie into another trie, a loop, and a way up.
    let edge = records(table, Section::Symbols)
        .filter(|&at| {
            u32::from(table[at + symbol::SPACE + 2]) < spaces::FIRST >> 16
                && table[at + symbol::VALUE] > 0
        })
        .min_by_key(|&at| table[at + symbol::SPACE])
        .expect("an edge");
    let last = u32::try_from(nodes.len() - 1).unwrap();
    let own = u32::from(table[edge + symbol::SPACE]);
    for (to, what) in [
        (last, "a way into another trie"),
        (own, "a trie that does not descend"),
        (0, "a trie that does not descend"),
    ] {
        let found =
            forged(table, edge + symbol::VALUE, &to.to_le_bytes()[..3]).expect_err("accepted");
        assert!(found.to_string().ends_with(what), "{found}");
    }
}

#[test]
fn a_future_version_is_refused_by_name() {
    for (_, bytes) in tables() {
        for version in [0u32, VERSION + 1, u32::MAX] {
            for signed in [false, true] {
                let mut bytes = bytes.clone();
                bytes[8..12].copy_from_slice(&version.to_le_bytes());
                if signed {
                    sign(&mut bytes, true);
                }
                let found = error(&bytes);
                assert_eq!(found, TableError::Version { found: version, expected: VERSION });
                let message = found.to_string();
                assert!(message.contains(&format!("version {version}")), "{message}");
                assert!(message.contains(&format!("reads version {VERSION}")), "{message}");
            }
        }
    }
}

#[test]
fn other_files_are_not_tables() {
    let png = b"\x89PNG\r\n\x1a\n".repeat(20);
    for bytes in [
        &b"edition 1\n"[..],
        &png,
        &[0; 4096],
        &[0xff; 200],
        b"MEROTBL\x01 and more bytes than a header has, by far, you see",
    ] {
        assert_eq!(error(bytes), TableError::NotATable);
    }
    assert_eq!(error(b""), TableError::TooShort { length: 0 });
    assert_eq!(error(b"MEROTBL\0"), TableError::TooShort { length: 8 });
}

#[test]
fn equal_input_gives_equal_bytes() {
    for options in [false, true].map(|debug_info| Options { debug_info, ..Options::default() }) {
        for text in [SMALL.to_owned(), displaced()] {
            assert_eq!(bytes(&text, options), bytes(&text, options));
        }
    }
    // And in two processes, where hashing is seeded differently.
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("p.mero");
    std::fs::write(&source, SMALL).unwrap();
    let written = [1, 2].map(|n| {
        let out = directory.path().join(format!("{n}.merot"));
        let status = Command::new(env!("CARGO_BIN_EXE_meroc"))
            .args(["compile", "--debug-info", "-o"])
            .args([&out, &source])
            .output()
            .unwrap();
        assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
        std::fs::read(out).unwrap()
    });
    assert_eq!(written[0], written[1]);
}

/// A table of some size whose sections are all filled.
fn large(mounts: usize) -> Vec<u8> {
    let mut text = String::from("edition 1\ncontext w { mount root at \"/srv\" { allow read\n");
    for i in 0..mounts {
        let _ = writeln!(text, "mount m{i} at \"area{}/team{i}/data\" {{ allow read }}", i % 97);
    }
    text.push_str("} }\n");
    bytes(&text, Options::default())
}

fn best_of<T>(rounds: usize, mut run: impl FnMut() -> T) -> Duration {
    let timed = (0..rounds).map(|_| {
        let start = Instant::now();
        std::hint::black_box(run());
        start.elapsed()
    });
    timed.min().unwrap()
}

#[test]
fn reading_takes_time_linear_in_the_size() {
    let (small, big) = (large(1_500), large(15_000));
    assert!(big.len() > 1_000_000, "{}", big.len());
    let time = |bytes: &[u8]| best_of(3, || Table::from_bytes(bytes).unwrap().bytes().len());
    let (short, long) = (time(&small), time(&big));
    let ratio = u32::try_from(big.len() / small.len() + 1).unwrap();
    assert!(long < Duration::from_secs(20), "{long:?} for {} bytes", big.len());
    assert!(long < short * ratio * 4, "{short:?} for {}, {long:?} for {}", small.len(), big.len());
}

/// Many records that point at the same long string, many contexts with the same
/// mounts, many automata with the same rows: refused, or read in linear time.
#[test]
fn repeated_references_cost_nothing() {
    let base = &tables()[0].1;
    let mut parts = Section::ALL.map(|s| {
        let (start, length) = section(base, s);
        base[start..start + length].to_vec()
    });
    // 60,000 strings of 65,535 bytes each, all at 0.
    parts[Section::Strings as usize].extend(vec![b'x'; 70_000]);
    let files = parts[Section::Files as usize].len();
    for _ in 0..60_000 {
        parts[Section::Files as usize].extend([0, 0, 0, 0xff, 0xff, 0, 0, 0, 0]);
    }
    assert_eq!(files, 0);
    let many = joined(&parts);
    let time =
        best_of(1, || Table::from_bytes(&many).map(|_| ()).map_err(|e| e.to_string()).unwrap());
    assert!(time < Duration::from_secs(20), "{time:?}");
    // Contexts with the same mounts and automata.
    let mut parts = parts.clone();
    parts[Section::Files as usize].clear();
    let records = parts[Section::Contexts as usize].clone();
    let worker = records[context::SIZE..2 * context::SIZE].to_vec();
    for _ in 0..10_000 {
        parts[Section::Contexts as usize].extend(&worker);
    }
    let many = joined(&parts);
    let start = Instant::now();
    assert!(error(&many).to_string().contains("shares records"));
    assert!(start.elapsed() < Duration::from_secs(20));
}

/// Sections as a signed table.
fn joined(parts: &[Vec<u8>; SECTIONS]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    out.extend([0; 40]);
    out.extend(u32::try_from(SECTIONS).unwrap().to_le_bytes());
    let mut start = HEADER + SECTIONS * DIRECTORY_ENTRY;
    for part in parts {
        out.extend(u32::try_from(start).unwrap().to_le_bytes());
        out.extend(u32::try_from(part.len()).unwrap().to_le_bytes());
        start += part.len();
    }
    parts.iter().for_each(|p| out.extend(p));
    sign(&mut out, true);
    out
}

/// A decision on the longest requests takes no time to speak of, whatever a
/// table says.
#[test]
fn decisions_take_bounded_time() {
    for (name, bytes) in tables() {
        let table = Table::from_bytes(bytes).unwrap();
        let deep = [b"/".to_vec(), b"a/".repeat(2_047)].concat();
        let climbing = b"/a/..".repeat(819);
        let argv = vec![&b"x"[..]; 10_000];
        for context in table.contexts() {
            let session = Session { phase: Phase::Default, base: b"/srv", ..Session::default() };
            let start = Instant::now();
            for path in [&deep, &climbing] {
                let _ = context.path(&session, path, Permission::all(), Kind::Unknown);
            }
            let _ = context.argv(&session, &argv);
            assert!(start.elapsed() < Duration::from_secs(20), "{name}");
        }
    }
    let _ = path_cell::SIZE;
}
