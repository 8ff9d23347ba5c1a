//! Where the separators and dots of a path are, as bits: one pass over a path, eight
//! bytes at a time, tells whether it is clean, where its segments end, and where an
//! automaton that waits for one of them may go on.
//!
//! The words are compared within a register (a byte is zero where it equals the one
//! looked for); no instruction beyond the portable ones is used.

#![allow(
    clippy::arithmetic_side_effects,
    reason = "shifts of bit masks are below their width; places are below the longest path"
)]

/// The separators and dots of a clean path.
pub(crate) trait Outline: Sized {
    /// The outline of a path that begins with `/`; `None` if it is too long for this kind of
    /// outline, or not clean: an empty segment but the last, `.` or `..`, `\` or NUL.
    fn of(path: &[u8]) -> Option<Self>;
    /// Where the segment ends that has a byte at `at`, or that begins there.
    fn end(&self, at: usize) -> usize;
    /// The first `/` or `.` at `at` or behind it, or the end of the path.
    fn stop(&self, at: usize) -> usize;
}

/// Longest path of a [`Short`] outline, in bytes.
pub(crate) const SHORT: usize = 63;

/// Words of bits of a [`Long`] outline.
const WORDS: usize = 4;

/// Longest path of a [`Long`] outline, in bytes.
pub(crate) const LONG: usize = 64 * WORDS - 1;

/// Of most paths: a bit for each byte fits a register.
#[derive(Clone, Copy)]
pub(crate) struct Short {
    /// `/`, and the end of the path.
    ends: u64,
    /// `/` and `.`, and the end of the path.
    stops: u64,
}

/// Of longer paths.
#[derive(Clone, Copy)]
pub(crate) struct Long {
    ends: [u64; WORDS],
    stops: [u64; WORDS],
}

const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;

/// The high bit of each byte that is zero.
#[inline(always)]
fn zeros(word: u64) -> u64 {
    !(((word & LOW) + LOW) | word | LOW)
}

/// Not 0 if some byte is zero.
#[inline(always)]
fn any_zero(word: u64) -> u64 {
    word.wrapping_sub(all(1)) & !word & !LOW
}

/// A byte eight times.
const fn all(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// The high bits of eight bytes, together.
#[inline(always)]
fn gather(highs: u64) -> u64 {
    highs.wrapping_mul(0x0002_0408_1020_4081) >> 56
}

/// The last bytes of a path, fewer than eight, as a word; `x` behind them.
#[inline(always)]
fn last(path: &[u8], rest: &[u8]) -> u64 {
    match path.last_chunk::<8>() {
        // The last eight bytes, those that were taken shifted out.
        Some(last) => {
            let taken = 8 * (8 - rest.len() as u32);
            (u64::from_le_bytes(*last) >> taken) | (all(b'x') << (64 - taken))
        }
        None => {
            let mut word = [b'x'; 8];
            word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(word)
        }
    }
}

/// What up to 64 bytes of a path hold.
struct Marks {
    slashes: u64,
    dots: u64,
    /// Not 0 if there is a `\` or NUL.
    odd: u64,
}

impl Marks {
    /// Of the last part of `path`, or one of 64 bytes.
    #[inline(always)]
    fn of(path: &[u8], part: &[u8]) -> Marks {
        let (mut slashes, mut both, mut odd) = (0u64, 0u64, 0u64);
        let mut take = |word: u64, at: usize| {
            // `.` and `/` differ in their lowest bit.
            let found = zeros((word | all(1)) ^ all(b'/'));
            both |= gather(found) << at;
            slashes |= gather(found & (word << 7)) << at;
            odd |= any_zero(word ^ all(b'\\')) | any_zero(word);
        };
        let (words, rest) = part.as_chunks::<8>();
        let mut at = 0;
        for word in words {
            take(u64::from_le_bytes(*word), at);
            at += 8;
        }
        if !rest.is_empty() {
            take(last(path, rest), at);
        }
        Marks { slashes, dots: both & !slashes, odd }
    }
}

impl Outline for Short {
    #[inline(always)]
    fn of(path: &[u8]) -> Option<Short> {
        if path.len() > SHORT || path.first() != Some(&b'/') {
            return None;
        }
        let Marks { slashes, dots, odd } = Marks::of(path, path);
        let ends = slashes | 1 << path.len();
        // What stands before an end: a segment that is empty, `.` or `..`.
        let dotted = ends & dots << 1 & (slashes << 2 | (dots << 2 & slashes << 3));
        let clean = odd | (slashes & slashes << 1) | dotted == 0;
        clean.then_some(Short { ends, stops: ends | dots })
    }

    #[inline(always)]
    fn end(&self, at: usize) -> usize {
        at + (self.ends >> (at % 64)).trailing_zeros() as usize
    }

    #[inline(always)]
    fn stop(&self, at: usize) -> usize {
        at + (self.stops >> (at % 64)).trailing_zeros() as usize
    }
}

impl Outline for Long {
    fn of(path: &[u8]) -> Option<Long> {
        if path.len() > LONG || path.first() != Some(&b'/') {
            return None;
        }
        let mut outline = Long { ends: [0; WORDS], stops: [0; WORDS] };
        let mut bad = 0u64;
        let mut before = (0u64, 0u64);
        let words = outline.ends.iter_mut().zip(&mut outline.stops);
        for (index, (ends, stops)) in words.enumerate() {
            let Some(part) = path.get(64 * index..) else { break };
            let part = part.get(..64).unwrap_or(part);
            let Marks { slashes, dots, odd } = Marks::of(path, part);
            *ends = slashes;
            if part.len() < 64 {
                *ends |= 1 << part.len();
            }
            *stops = *ends | dots;
            // As above, over the border of two words.
            let behind = |now: u64, then: u64, far: u32| now << far | then >> (64 - far);
            let slash = |far| behind(slashes, before.0, far);
            let dot = |far| behind(dots, before.1, far);
            bad |= odd | (slashes & slash(1));
            bad |= *ends & dot(1) & (slash(2) | (dot(2) & slash(3)));
            before = (slashes, dots);
        }
        (bad == 0).then_some(outline)
    }

    fn end(&self, at: usize) -> usize {
        next(&self.ends, at)
    }

    fn stop(&self, at: usize) -> usize {
        next(&self.stops, at)
    }
}

/// The first bit at `at` or behind it; [`LONG`] if there is none.
fn next(bits: &[u64; WORDS], at: usize) -> usize {
    let mut index = at / 64;
    let mut word = bits.get(index).map_or(0, |word| word & (u64::MAX << (at % 64)));
    while word == 0 {
        index += 1;
        match bits.get(index) {
            Some(more) => word = *more,
            None => return LONG,
        }
    }
    64 * index + word.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "tests index what they made"
    )]
    extern crate alloc;
    use super::*;
    use alloc::vec::Vec;

    fn clean(path: &[u8]) -> bool {
        let Some(inner) = path.strip_prefix(b"/") else { return false };
        let inner = inner.strip_suffix(b"/").unwrap_or(inner);
        !path.iter().any(|b| matches!(b, 0 | b'\\'))
            && (path == b"/"
                || inner.split(|&b| b == b'/').all(|s| !matches!(s, b"" | b"." | b"..")))
    }

    fn check(path: &[u8]) {
        if path.len() <= SHORT {
            check_one::<Short>(path);
        }
        check_one::<Long>(path);
    }

    fn check_one<O: Outline>(path: &[u8]) {
        let outline = O::of(path);
        assert_eq!(outline.is_some(), clean(path), "{:?}", path.escape_ascii());
        let Some(outline) = outline else { return };
        for at in 0..path.len() {
            let find = |stops: &[u8]| path[at..].iter().position(|b| stops.contains(b));
            assert_eq!(outline.end(at), find(b"/").map_or(path.len(), |n| at + n));
            let stop = find(b"/.").map_or(path.len(), |n| at + n);
            assert_eq!(outline.stop(at), stop, "{:?} {at}", path.escape_ascii());
        }
    }

    #[test]
    fn short_paths_of_all_shapes() {
        let letters = b"/.a\\\0\xAF\x2D";
        for length in 0..6u32 {
            for mut number in 0..letters.len().pow(length) {
                let mut path = alloc::vec![b'/'];
                for _ in 0..length {
                    path.push(letters[number % letters.len()]);
                    number /= letters.len();
                }
                check(&path);
                // The same across the border of two words.
                let longer = [b"/abcd", &path[..]].concat();
                check(&longer);
            }
        }
    }

    #[test]
    fn long_paths() {
        for length in 1..=LONG {
            let path: Vec<u8> =
                (0..length).map(|i| if i % 9 == 0 { b'/' } else { b"ab.c"[i % 4] }).collect();
            check(&path);
            let mut bad = path.clone();
            bad[length - 1] = 0;
            check(&bad);
        }
        assert!(Long::of(&[b'/'; LONG + 1]).is_none());
        assert!(Long::of(&[&b"/"[..], &[b'a'; LONG]].concat()).is_none());
        assert!(Short::of(&[&b"/"[..], &[b'a'; SHORT]].concat()).is_none());
        assert!(Long::of(b"").is_none() && Long::of(b"a/b").is_none());
        assert!(Short::of(b"").is_none() && Short::of(b"a/b").is_none());
    }
}
