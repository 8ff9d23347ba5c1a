//! Where a request's path leads on the host, worked out without copying it.
//!
//! A place is up to three byte strings one after another (the anchor's
//! directory, the mount's directory from there, the rest of the request), read
//! as one sequence of segments. Empty and `.` segments are skipped while
//! reading. Only where a `..` occurs is a bit kept for each segment that no
//! later `..` takes back; `..` above the root stays at the root.

use core::fmt::{self, Write};

/// Longest path that a request may name, and longest host path that it may
/// lead through, in bytes: `PATH_MAX` of Linux.
pub const MAX_PATH: usize = 4096;

const WORDS: usize = MAX_PATH / 64;

/// A resolved host path, borrowed from its parts.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The last part is a request's: `\` separates there too.
    parts: [&'a [u8]; 3],
    live: Option<[u64; WORDS]>,
    /// A relative path of an unconfined context without a working directory.
    relative: bool,
    /// The path says that it means a directory.
    pub(crate) directory: bool,
}

impl<'a> Place<'a> {
    /// Joins the parts; `None` if they have more segments than are tracked.
    pub(crate) fn new(parts: [&'a [u8]; 3]) -> Option<Place<'a>> {
        let directory = ends_as_directory(parts[2]);
        let mut place = Place { parts, live: None, relative: false, directory };
        if parts.iter().any(|p| has_parent(p)) {
            place.live = Some(place.resolve()?);
        }
        Some(place)
    }

    pub(crate) fn relative(mut self) -> Place<'a> {
        self.relative = true;
        self
    }

    /// Marks the segments that remain.
    fn resolve(&self) -> Option<[u64; WORDS]> {
        let mut live = [0u64; WORDS];
        let all = Segments { parts: self.parts, part: 0, at: 0, index: 0, live: None };
        for (index, segment) in all.raw() {
            let word = index / 64;
            if segment == b".." {
                for (w, bits) in live.iter_mut().enumerate().rev() {
                    if w <= word && *bits != 0 {
                        *bits &= !(1 << (63u32.saturating_sub(bits.leading_zeros())));
                        break;
                    }
                }
            } else {
                *live.get_mut(word)? |= 1 << (index % 64);
            }
        }
        Some(live)
    }

    /// The segments from the file system's root.
    #[inline]
    pub(crate) fn segments(&self) -> Segments<'a, '_> {
        Segments { parts: self.parts, part: 0, at: 0, index: 0, live: self.live.as_ref() }
    }

    /// The segments of the last part alone, where nothing takes any back.
    #[inline]
    pub(crate) fn tail(&self) -> Option<Segments<'a, '_>> {
        if self.live.is_some() {
            return None;
        }
        Some(Segments { parts: self.parts, part: 2, at: 0, index: 0, live: None })
    }

    /// Writes the path with `/` before each segment, `/` alone for the root.
    /// Bytes that are not UTF-8 come out as U+FFFD.
    fn write(&self, out: &mut impl Write) -> fmt::Result {
        let mut any = false;
        for segment in self.segments() {
            if any || !self.relative {
                out.write_char('/')?;
            }
            any = true;
            for chunk in segment.utf8_chunks() {
                out.write_str(chunk.valid())?;
                if !chunk.invalid().is_empty() {
                    out.write_char('\u{FFFD}')?;
                }
            }
        }
        if any { Ok(()) } else { out.write_char(if self.relative { '.' } else { '/' }) }
    }

    /// Copies the path's bytes into `buffer`; `None` if it does not fit.
    #[must_use]
    pub fn copy_to<'b>(&self, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        let mut length = 0usize;
        for segment in self.segments() {
            if length > 0 || !self.relative {
                *buffer.get_mut(length)? = b'/';
                length = length.saturating_add(1);
            }
            let end = length.saturating_add(segment.len());
            buffer.get_mut(length..end)?.copy_from_slice(segment);
            length = end;
        }
        if length == 0 {
            *buffer.first_mut()? = if self.relative { b'.' } else { b'/' };
            length = 1;
        }
        buffer.get(..length)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl fmt::Debug for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

#[inline]
pub(crate) fn is_separator(byte: u8) -> bool {
    byte == b'/' || byte == b'\\'
}

/// Whether a request's path says that it means a directory.
fn ends_as_directory(path: &[u8]) -> bool {
    let last = path.rsplit(|&b| is_separator(b)).next().unwrap_or(path);
    matches!(last, b"" | b"." | b"..") && !path.is_empty()
}

fn has_parent(path: &[u8]) -> bool {
    // `..` is rare, so look for its bytes first.
    path.windows(2).any(|w| w == b"..") && path.split(|&b| is_separator(b)).any(|s| s == b"..")
}

/// The segments of a path.
#[derive(Clone)]
pub(crate) struct Segments<'a, 'p> {
    parts: [&'a [u8]; 3],
    part: usize,
    at: usize,
    index: usize,
    live: Option<&'p [u64; WORDS]>,
}

impl<'a, 'p> Segments<'a, 'p> {
    /// The segments of one byte string, `..` unresolved.
    pub(crate) fn of(path: &'a [u8]) -> Segments<'a, 'p> {
        Segments { parts: [path, b"", b""], part: 0, at: 0, index: 0, live: None }
    }

    /// The segments of a request's path, `..` unresolved.
    pub(crate) fn of_request(path: &'a [u8]) -> Segments<'a, 'p> {
        Segments { parts: [b"", b"", path], part: 2, at: 0, index: 0, live: None }
    }

    /// Every segment but empty ones and `.`, with its number.
    fn raw(mut self) -> impl Iterator<Item = (usize, &'a [u8])> {
        core::iter::from_fn(move || self.step())
    }

    #[inline]
    fn step(&mut self) -> Option<(usize, &'a [u8])> {
        loop {
            let part = *self.parts.get(self.part)?;
            let Some(rest) = part.get(self.at..).filter(|r| !r.is_empty()) else {
                self.part = self.part.saturating_add(1);
                self.at = 0;
                continue;
            };
            let request = self.part == 2;
            let end = rest.iter().position(|&b| b == b'/' || (request && b == b'\\'));
            let length = end.unwrap_or(rest.len());
            let segment = rest.get(..length).unwrap_or(&[]);
            self.at = self.at.saturating_add(length).saturating_add(1);
            if segment.is_empty() || segment == b"." {
                continue;
            }
            let index = self.index;
            self.index = index.saturating_add(1);
            return Some((index, segment));
        }
    }
}

impl<'a> Iterator for Segments<'a, '_> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let (index, segment) = self.step()?;
            match self.live {
                None => return Some(segment),
                Some(live) => {
                    let bits = live.get(index / 64).copied().unwrap_or(0);
                    if bits >> (index % 64) & 1 == 1 {
                        return Some(segment);
                    }
                }
            }
        }
    }
}
