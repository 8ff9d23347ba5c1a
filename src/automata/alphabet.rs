//! Byte sets, and the partition of the 256 bytes that a list of automata shares.
//!
//! Two bytes that no pattern of a list tells apart are one letter. Rows of an
//! automaton have one entry per class, typically 20 to 80, instead of 256.
//! Building the classes costs 256 steps per distinct byte set. No errors.

// Indices here are bytes into arrays of 256 (or words `byte / 64 < 4`), and class
// numbers, of which there are at most as many as bytes.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::collections::BTreeSet;
use std::fmt;

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// No byte.
    pub const EMPTY: ByteSet = ByteSet([0; 4]);
    /// Every byte.
    pub const ALL: ByteSet = ByteSet([u64::MAX; 4]);

    /// The set of one byte.
    pub fn of(byte: u8) -> ByteSet {
        ByteSet::range(byte, byte)
    }

    /// All bytes from `low` to `high`, both included; empty if `low > high`.
    pub fn range(low: u8, high: u8) -> ByteSet {
        let mut set = ByteSet::EMPTY;
        for byte in low..=high {
            set.insert(byte);
        }
        set
    }

    /// Adds a byte.
    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte / 64)] |= 1 << (byte % 64);
    }

    /// Whether the byte is a member.
    pub fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte / 64)] & (1 << (byte % 64)) != 0
    }

    /// Members of either set.
    #[must_use]
    pub fn union(self, other: ByteSet) -> ByteSet {
        ByteSet(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    /// Members of both sets.
    #[must_use]
    pub fn intersect(self, other: ByteSet) -> ByteSet {
        ByteSet(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    /// Members of this set that are not in the other.
    #[must_use]
    pub fn minus(self, other: ByteSet) -> ByteSet {
        self.intersect(other.complement())
    }

    /// Every byte that is not a member.
    #[must_use]
    pub fn complement(self) -> ByteSet {
        ByteSet(self.0.map(|word| !word))
    }

    /// The set without one byte.
    #[must_use]
    pub fn without(self, byte: u8) -> ByteSet {
        self.minus(ByteSet::of(byte))
    }

    /// With each ASCII letter its other case.
    #[must_use]
    pub fn ignoring_case(self) -> ByteSet {
        let mut set = self;
        for byte in self.iter() {
            set.insert(byte.to_ascii_lowercase());
            set.insert(byte.to_ascii_uppercase());
        }
        set
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        let set = *self;
        (0..=u8::MAX).filter(move |&byte| set.contains(byte))
    }
}

impl FromIterator<u8> for ByteSet {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> ByteSet {
        let mut set = ByteSet::EMPTY;
        for byte in bytes {
            set.insert(byte);
        }
        set
    }
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest: Vec<u8> = self.iter().collect();
        rest.reverse();
        write!(f, "[")?;
        while let Some(low) = rest.pop() {
            let mut high = low;
            while high < u8::MAX && rest.last() == Some(&(high + 1)) {
                high += 1;
                rest.pop();
            }
            write!(f, "{}", low.escape_ascii())?;
            if high > low {
                write!(f, "-{}", high.escape_ascii())?;
            }
        }
        write!(f, "]")
    }
}

/// A partition of the bytes into classes, numbered by their lowest byte.
///
/// `/` and NUL are always classes of their own.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Classes {
    map: [u8; 256],
    reps: Vec<u8>,
}

impl Classes {
    /// The coarsest partition that tells apart what any of the sets tells apart.
    pub fn new(sets: impl IntoIterator<Item = ByteSet>) -> Classes {
        let mut seen = BTreeSet::new();
        let mut class_of = [0_u16; 256];
        let mut count = 1_u16;
        for set in [ByteSet::of(0), ByteSet::of(b'/')].into_iter().chain(sets) {
            if count == 256 {
                break;
            }
            if !seen.insert(set) {
                continue;
            }
            let mut renamed = [[u16::MAX; 2]; 256];
            let mut next = 0;
            for byte in 0..=u8::MAX {
                let class = &mut class_of[usize::from(byte)];
                let new = &mut renamed[usize::from(*class)][usize::from(set.contains(byte))];
                if *new == u16::MAX {
                    *new = next;
                    next += 1;
                }
                *class = *new;
            }
            count = next;
        }
        // The last renaming numbered classes by their lowest byte.
        let map = class_of.map(|class| class as u8);
        let mut reps = vec![0; usize::from(count)];
        let mut filled = vec![false; usize::from(count)];
        for byte in 0..=u8::MAX {
            let class = usize::from(map[usize::from(byte)]);
            if !filled[class] || typed_rank(byte) < typed_rank(reps[class]) {
                reps[class] = byte;
                filled[class] = true;
            }
        }
        Classes { map, reps }
    }

    /// The number of classes, 3 to 256.
    pub fn count(&self) -> usize {
        self.reps.len()
    }

    /// The class of a byte.
    pub fn class(&self, byte: u8) -> u8 {
        self.map[usize::from(byte)]
    }

    /// The whole map from bytes to classes.
    pub fn map(&self) -> &[u8; 256] {
        &self.map
    }

    /// One byte of each class, the one most likely to be typed.
    pub fn reps(&self) -> &[u8] {
        &self.reps
    }

    /// The bytes of each class: feed them to [`Classes::new`] to refine.
    pub fn sets(&self) -> Vec<ByteSet> {
        let mut sets = vec![ByteSet::EMPTY; self.count()];
        for byte in 0..=u8::MAX {
            sets[usize::from(self.class(byte))].insert(byte);
        }
        sets
    }

    /// Whether bytes that `coarser` tells apart are told apart here too.
    pub fn refines(&self, coarser: &Classes) -> bool {
        (0..=u8::MAX).all(|byte| {
            let rep = self.reps[usize::from(self.class(byte))];
            coarser.class(byte) == coarser.class(rep)
        })
    }
}

impl fmt::Debug for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sets()).finish()
    }
}

/// How readily a byte is typed: letters and digits, `-_./` and the blank, other
/// printable characters, the rest, NUL.
pub fn typed_rank(byte: u8) -> u16 {
    let group = match byte {
        b'a'..=b'z' => 0,
        b'0'..=b'9' => 1,
        b'A'..=b'Z' => 2,
        b'-' | b'_' | b'.' | b'/' | b' ' => 3,
        0x21..=0x7e => 4,
        0 => 6,
        _ => 5,
    };
    group * 256 + u16::from(byte)
}
