//! Globs by backtracking, after the rules that git documents and implements.

use std::collections::HashMap;

/// Matches a hide pattern against a path below the list's directory.
/// `Some(negated)` where it matches.
pub(super) fn ignore(pattern: &str, path: &[Vec<u8>], directory: bool) -> Option<bool> {
    let mut p = trim(pattern.as_bytes());
    if p.is_empty() || p.first() == Some(&b'#') {
        return None;
    }
    let negated = p.first() == Some(&b'!');
    if negated {
        p = p.get(1..)?;
    }
    if p.last() == Some(&b'/') {
        if !directory {
            return None;
        }
        p = p.get(..p.len().saturating_sub(1))?;
    }
    let matched = if p.contains(&b'/') {
        let p = p.strip_prefix(b"/").unwrap_or(p);
        // git compares what stands before the first special character by itself
        // and begins to match after it.
        let special = |b: &u8| matches!(b, b'*' | b'?' | b'[' | b'\\');
        let (plain, rest) = p.split_at(p.iter().position(special).unwrap_or(p.len()));
        path.join(&b'/').strip_prefix(plain).is_some_and(|text| wild(rest, text))
    } else {
        wild(p, path.last()?)
    };
    matched.then_some(negated)
}

/// Trailing blanks go, unless a backslash stands before them.
fn trim(p: &[u8]) -> &[u8] {
    let mut end = None;
    let mut i = 0usize;
    while let Some(&b) = p.get(i) {
        match b {
            b' ' => end = end.or(Some(i)),
            b'\\' => {
                i = i.saturating_add(1);
                end = None;
            }
            _ => end = None,
        }
        i = i.saturating_add(1);
    }
    p.get(..end.unwrap_or(p.len())).unwrap_or(p)
}

/// Matches a whole text; `*`, `?` and `[…]` do not match `/`, `**` between
/// slashes does.
fn wild(pattern: &[u8], text: &[u8]) -> bool {
    Wild { pattern, text, slashes: true, known: HashMap::new() }.from(0, 0)
}

/// A tool-name glob: everything may be matched by a wildcard.
pub(super) fn name(pattern: &str, text: &[u8]) -> bool {
    Wild { pattern: pattern.as_bytes(), text, slashes: false, known: HashMap::new() }.from(0, 0)
}

struct Wild<'a> {
    pattern: &'a [u8],
    text: &'a [u8],
    slashes: bool,
    known: HashMap<(usize, usize), bool>,
}

impl Wild<'_> {
    fn from(&mut self, p: usize, t: usize) -> bool {
        if let Some(&known) = self.known.get(&(p, t)) {
            return known;
        }
        let answer = self.compute(p, t);
        self.known.insert((p, t), answer);
        answer
    }

    fn compute(&mut self, p: usize, t: usize) -> bool {
        let Some(&c) = self.pattern.get(p) else {
            return t == self.text.len();
        };
        let here = self.text.get(t).copied();
        let (p1, t1) = (p.saturating_add(1), t.saturating_add(1));
        let in_segment = |b: u8| !self.slashes || b != b'/';
        match c {
            b'*' => self.star(p, t),
            b'?' => {
                // In names of tools: one character, or one byte.
                let rest = self.text.get(t..).unwrap_or(&[]);
                let length = if self.slashes { None } else { character(rest) };
                here.is_some_and(in_segment)
                    && (self.from(p1, t1)
                        || length.is_some_and(|n| self.from(p1, t.saturating_add(n))))
            }
            b'[' => match (class(self.pattern, p, here.unwrap_or(b'/')), here) {
                (Some((true, end)), Some(b)) if in_segment(b) => self.from(end, t1),
                _ => false,
            },
            b'\\' => match self.pattern.get(p1) {
                Some(&literal) => here == Some(literal) && self.from(p.saturating_add(2), t1),
                None => false,
            },
            _ => here == Some(c) && self.from(p1, t1),
        }
    }

    fn star(&mut self, p: usize, t: usize) -> bool {
        let stars = self.pattern.iter().skip(p).take_while(|b| **b == b'*').count();
        let after = p.saturating_add(stars);
        let next = self.pattern.get(after).copied();
        let before = p.checked_sub(1).and_then(|i| self.pattern.get(i)).copied();
        let escaped_slash = self.pattern.get(after..).is_some_and(|r| r.starts_with(b"\\/"));
        let crosses = !self.slashes
            || (stars > 1
                && matches!(before, None | Some(b'/'))
                && (matches!(next, None | Some(b'/')) || escaped_slash));
        if crosses && self.slashes && next == Some(b'/') && self.from(after.saturating_add(1), t) {
            return true;
        }
        for end in t..=self.text.len() {
            if self.from(after, end) {
                return true;
            }
            if !crosses && self.text.get(end) == Some(&b'/') {
                return false;
            }
        }
        false
    }
}

/// The length of the character at the start of a text.
fn character(rest: &[u8]) -> Option<usize> {
    let valid = rest.utf8_chunks().next()?.valid();
    valid.chars().next().map(char::len_utf8)
}

/// Whether a class that begins at `p` contains `byte`, and where it ends.
/// `None` where the class is malformed.
pub(super) fn class(pattern: &[u8], p: usize, byte: u8) -> Option<(bool, usize)> {
    let mut i = p.saturating_add(1);
    let negated = matches!(pattern.get(i), Some(b'!' | b'^'));
    i = i.saturating_add(usize::from(negated));
    let (mut found, mut first, mut previous) = (false, true, None::<u8>);
    loop {
        let mut c = *pattern.get(i)?;
        let mut next = i.saturating_add(1);
        if c == b']' && !first {
            return Some((found != negated, next));
        }
        first = false;
        if c == b'[' && pattern.get(next) == Some(&b':') {
            let rest = pattern.get(next.saturating_add(1)..)?;
            if let Some(close) = rest
                .iter()
                .position(|b| *b == b']')
                .filter(|&n| n > 0 && rest.get(n.saturating_sub(1)) == Some(&b':'))
            {
                found |= posix(rest.get(..close.saturating_sub(1))?, byte)?;
                previous = None;
                i = next.saturating_add(close).saturating_add(2);
                continue;
            }
            if !rest.contains(&b']') {
                return None;
            }
        }
        let to = pattern.get(next).copied();
        if c == b'-' && previous.is_some() && to.is_some_and(|t| t != b']') {
            let mut to = to?;
            next = next.saturating_add(1);
            if to == b'\\' {
                to = *pattern.get(next)?;
                next = next.saturating_add(1);
            }
            found |= (previous?..=to).contains(&byte);
            previous = None;
        } else {
            if c == b'\\' {
                c = *pattern.get(next)?;
                next = next.saturating_add(1);
            }
            found |= c == byte;
            previous = Some(c);
        }
        i = next;
    }
}

fn posix(name: &[u8], byte: u8) -> Option<bool> {
    Some(match name {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => byte.is_ascii_graphic() || byte == b' ',
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => return None,
    })
}
