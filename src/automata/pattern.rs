//! What the glob-like pattern languages share: wildcards and bracket classes.
//!
//! Patterns are text, what they match are bytes. `?` and classes stand for one
//! whole UTF-8 character, or for one byte, so that odd file names are matched too.
//! Linear in the pattern. Errors: [`PatternError`] for classes.

use super::PatternError;
use super::alphabet::ByteSet;
use super::nfa::Re;
use crate::limits::MAX_PATTERN_BYTES;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use regex_syntax::utf8::{Utf8Sequence, Utf8Sequences};

/// Refuses what no pattern may be: too long, or with a NUL byte.
pub(super) fn check(pattern: &str) -> Result<(), PatternError> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(PatternError::new(
            MAX_PATTERN_BYTES,
            format!("pattern is longer than {MAX_PATTERN_BYTES} bytes"),
            "split it into several patterns",
        ));
    }
    match pattern.find('\0') {
        Some(at) => Err(PatternError::new(
            at,
            "pattern holds a NUL character, which never occurs in what it matches",
            "remove it",
        )),
        None => Ok(()),
    }
}

/// Every byte but NUL and those in `avoid`.
pub(super) fn bytes(avoid: ByteSet) -> ByteSet {
    ByteSet::ALL.without(0).minus(avoid)
}

/// Any run of bytes but NUL and those in `avoid`.
pub(super) fn any(avoid: ByteSet) -> Re {
    Re::set(bytes(avoid)).star()
}

/// One character, or one byte, not in `avoid` (of ASCII).
pub(super) fn one(avoid: ByteSet) -> Re {
    Re::alt([Re::set(bytes(avoid)), characters('\u{80}', char::MAX)])
}

fn characters(low: char, high: char) -> Re {
    Re::alt(Utf8Sequences::new(low, high).map(|sequence: Utf8Sequence| {
        let ranges = sequence.as_slice().iter();
        Re::cat(ranges.map(|range| Re::set(ByteSet::range(range.start, range.end))))
    }))
}

/// How a bracket class is read.
#[derive(Clone, Copy)]
pub(super) struct ClassStyle {
    /// `\` takes the next character literally.
    pub(super) escapes: bool,
    /// ASCII letters stand for both cases.
    pub(super) ignore_case: bool,
    /// ASCII bytes that no class matches.
    pub(super) avoid: ByteSet,
}

/// Reads a class whose `[` is at `open`; gives it and the offset after its `]`.
pub(super) fn class(
    pattern: &str,
    open: usize,
    style: ClassStyle,
) -> Result<(Re, usize), PatternError> {
    let mut reader = ClassReader { pattern, open, at: open.saturating_add(1), style };
    let negated = reader.eat('!') || reader.eat('^');
    let mut set = ClassUnicode::empty();
    let mut first = true;
    loop {
        if !first && reader.eat(']') {
            break;
        }
        first = false;
        if let Some(named) = reader.named()? {
            let members = named.iter().map(char::from);
            set.union(&ClassUnicode::new(members.map(|c| ClassUnicodeRange::new(c, c))));
            continue;
        }
        let from = reader.at;
        let low = reader.member()?;
        let rest = reader.rest();
        let high = if rest.starts_with('-') && !rest.starts_with("-]") {
            reader.eat('-');
            reader.member()?
        } else {
            low
        };
        if low > high {
            return Err(PatternError::new(
                from,
                format!("range `{low}-{high}` is empty: its ends are the wrong way round"),
                format!("write `{high}-{low}`, or put the `-` last to mean itself"),
            ));
        }
        set.push(ClassUnicodeRange::new(low, high));
    }
    let style = reader.style;
    if style.ignore_case {
        let ascii = ByteSet::range(0, 0x7f).iter().filter(|&byte| {
            let byte = char::from(byte);
            let folds = [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
            set.iter()
                .any(|range| folds.iter().any(|fold| (range.start()..=range.end()).contains(fold)))
        });
        let folded: Vec<char> = ascii.map(char::from).collect();
        set.union(&ClassUnicode::new(folded.iter().map(|&c| ClassUnicodeRange::new(c, c))));
    }
    if negated {
        set.negate();
    }
    let mut ascii = ByteSet::EMPTY;
    let mut choices = Vec::new();
    for range in set.iter() {
        for byte in 0..=0x7f_u8 {
            if (range.start()..=range.end()).contains(&char::from(byte)) {
                ascii.insert(byte);
            }
        }
        if range.end() > '\u{7f}' {
            choices.push(characters(range.start().max('\u{80}'), range.end()));
        }
    }
    if negated {
        // Bytes that are no character are not among those excluded either.
        ascii = ascii.union(ByteSet::range(0x80, 0xff));
    }
    choices.push(Re::set(ascii.intersect(bytes(style.avoid))));
    Ok((Re::alt(choices), reader.at))
}

struct ClassReader<'a> {
    pattern: &'a str,
    open: usize,
    at: usize,
    style: ClassStyle,
}

impl<'a> ClassReader<'a> {
    fn rest(&self) -> &'a str {
        self.pattern.get(self.at..).unwrap_or_default()
    }

    fn eat(&mut self, expected: char) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at = self.at.saturating_add(expected.len_utf8());
        }
        found
    }

    fn member(&mut self) -> Result<char, PatternError> {
        if self.style.escapes {
            self.eat('\\');
        }
        match self.rest().chars().next() {
            Some(member) => {
                self.at = self.at.saturating_add(member.len_utf8());
                Ok(member)
            }
            None => Err(unclosed_class(self.open)),
        }
    }

    /// `[:name:]`, if one stands here.
    fn named(&mut self) -> Result<Option<ByteSet>, PatternError> {
        let rest = self.rest();
        let name = rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]"));
        let Some((name, _)) =
            name.filter(|(name, _)| name.bytes().all(|b| b.is_ascii_alphabetic()))
        else {
            return Ok(None);
        };
        let set = named_class(name).ok_or_else(|| unknown_class(self.at, name))?;
        self.at = self.at.saturating_add(name.len()).saturating_add(4);
        Ok(Some(set))
    }
}

pub(super) fn unclosed_class(open: usize) -> PatternError {
    PatternError::new(
        open,
        "`[` is never closed, so the pattern can match nothing",
        "close the class with `]`, or write `\\[` (in a `glob\"…\"`, `[[]`) for a literal bracket",
    )
}

pub(super) fn unknown_class(at: usize, name: &str) -> PatternError {
    PatternError::new(
        at,
        format!("unknown class `[:{name}:]`, so the pattern can match nothing"),
        "the classes are alnum, alpha, blank, cntrl, digit, graph, lower, print, punct, space, \
         upper, xdigit",
    )
}

pub(super) fn lone_backslash(at: usize) -> PatternError {
    PatternError::new(
        at,
        "`\\` at the end has nothing to escape, so the pattern can match nothing",
        "write `\\\\` for a literal backslash",
    )
}

/// The ASCII members of a POSIX class; blanks and control characters as git has them.
pub(super) fn named_class(name: &str) -> Option<ByteSet> {
    let test: fn(&u8) -> bool = match name {
        "alnum" => u8::is_ascii_alphanumeric,
        "alpha" => u8::is_ascii_alphabetic,
        "blank" => |b| matches!(b, b' ' | b'\t'),
        "cntrl" => u8::is_ascii_control,
        "digit" => u8::is_ascii_digit,
        "graph" => u8::is_ascii_graphic,
        "lower" => u8::is_ascii_lowercase,
        "print" => |b| matches!(b, 0x20..=0x7e),
        "punct" => u8::is_ascii_punctuation,
        "space" => |b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'),
        "upper" => u8::is_ascii_uppercase,
        "xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    };
    Some((0..=0x7f).filter(test).collect())
}
