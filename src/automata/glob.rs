//! Path patterns with the meaning that git gives them, and tool-name globs.
//!
//! [`gitignore`] follows git's `dir.c` and `wildmatch.c` to the letter, oddities
//! included, and `tests/patterns_git.rs` holds it against the real thing. One
//! oddity deserves a word: git compares the part before the first wildcard
//! literally and starts its matcher *after* it, so in `x/foo**/bar` the `**` counts
//! as standing at the beginning, and `x/foobar` matches.
//!
//! The expression of a pattern is exact on what [`paths`] describes; strings that are
//! no relative paths (`a//b`, `a/`) it may match or not. Linear in the pattern.
//! Errors: [`PatternError`] for whatever git would silently never match.

// Offsets are below the pattern's length, which is at most `MAX_PATTERN_BYTES`;
// every look-ahead goes through `get`.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::alphabet::ByteSet;
use super::determinize::determinize;
use super::dfa::Dfa;
use super::nfa::Re;
use super::pattern::{
    self, ClassStyle, lone_backslash, named_class, unclosed_class, unknown_class,
};
use super::product::{intersect, meets};
use super::{PatternError, TooLarge};
use crate::limits::MAX_PATTERN_STATES;

/// One line of an ignore list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignore {
    /// Begins with `!`: what matches is included again.
    pub negated: bool,
    /// Ends in `/`: matches directories only.
    pub directory_only: bool,
    /// Has a `/` that is not the last character: matches from the list's directory
    /// on, not at any depth.
    pub anchored: bool,
    /// The paths matched: relative, joined by `/`, without a trailing `/`.
    pub re: Re,
    /// What kind of pattern it is: lists are best combined kind by kind.
    pub shape: Shape,
}

/// Kinds of patterns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// Exactly this name or path.
    Literal(Vec<u8>),
    /// `*` and these bytes.
    Suffix(Vec<u8>),
    /// These bytes and `*`.
    Prefix(Vec<u8>),
    /// Anything else, after these bytes.
    Other(Vec<u8>),
}

/// Reads one line of an ignore list as git does.
///
/// # Errors
/// [`PatternError`] for a line that git ignores (blank, comment) or that can match
/// no path: unclosed or unknown class, lone backslash, `a//b`, `./a`.
pub fn gitignore(pattern: &str) -> Result<Ignore, PatternError> {
    pattern::check(pattern)?;
    if let Some(at) = pattern.find('\n') {
        return Err(PatternError::new(
            at,
            "pattern holds a line break, at which git would end it",
            "write one pattern per line; `?` matches a line break in a name",
        ));
    }
    if pattern.starts_with('#') {
        return Err(PatternError::new(
            0,
            "pattern begins with `#`, which git takes for a comment",
            "write `\\#` for a name that begins with `#`",
        ));
    }
    let line = trim(pattern.strip_suffix('\r').unwrap_or(pattern));
    let body = line.strip_prefix('!').unwrap_or(line);
    let negated = body.len() < line.len();
    let offset = line.len() - body.len();
    let inner = body.strip_suffix('/').unwrap_or(body);
    let directory_only = inner.len() < body.len();
    if inner.is_empty() {
        return Err(PatternError::new(
            0,
            "pattern is blank, so it can match nothing",
            "remove it; `*` matches every name, `/*` every name at the top",
        ));
    }
    // At any depth, as a pattern without `/` is.
    let free = inner.strip_prefix("**/").filter(|name| !name.is_empty() && !name.contains('/'));
    let anchored = free.is_none() && inner.contains('/');
    let relative = free.or_else(|| inner.strip_prefix('/')).unwrap_or(inner);
    let offset = offset + inner.len() - relative.len();
    let reader = Reader { bytes: relative.as_bytes(), offset, anchored };
    let (mut re, shape) = reader.read()?;
    if !anchored {
        re = Re::cat([Re::cat([segment(), Re::byte(b'/')]).star(), re]);
    }
    if doubtful(relative) && never(&re) {
        return Err(PatternError::new(
            offset,
            "pattern can match no path",
            "paths have no empty segments and no `.` or `..`; write `/name` for a name at the top",
        ));
    }
    Ok(Ignore { negated, directory_only, anchored, re, shape })
}

/// All relative paths: segments joined by `/`, none empty, none `.` or `..`.
pub fn paths() -> Re {
    let byte = pattern::bytes(ByteSet::of(b'/'));
    let (any, plain) = (Re::set(byte).star(), Re::set(byte.without(b'.')));
    let dot = || Re::byte(b'.');
    let name = Re::alt([
        Re::cat([plain.clone(), any.clone()]),
        Re::cat([dot(), plain, any]),
        Re::cat([dot(), dot(), Re::set(byte).plus()]),
    ]);
    Re::cat([name.clone(), Re::cat([Re::byte(b'/'), name]).star()])
}

/// What a pattern matches as it stands in a list of `directory`: paths from where the
/// directory's segments begin.
pub fn below(directory: &[String], ignore: &Ignore) -> Re {
    let own = directory.iter().fold(String::new(), |path, s| path + s + "/");
    Re::cat([Re::literal(own.as_bytes()), ignore.re.clone()])
}

/// The files and directories (which end in `/`) that a pattern of a list of `directory`
/// matches, and with `below` all that lies below them. `paths` is the automaton of
/// [`paths`]: an expression is exact on proper paths only (`*` also matches the empty
/// name), so it is cut to those before directories get their `/`.
///
/// # Errors
/// [`TooLarge`] past the budget of one pattern.
pub fn matched(
    directory: &[String],
    ignore: &Ignore,
    below: bool,
    paths: &Dfa<bool>,
) -> Result<Dfa<bool>, TooLarge> {
    let re = self::below(directory, ignore);
    let matched = determinize(&re, paths.classes(), MAX_PATTERN_STATES)?;
    let matched = intersect(&matched, paths, MAX_PATTERN_STATES)?;
    Ok(matched.with_directories(b'/', ignore.directory_only, below))
}

/// Reads a tool-name glob: `*` any run, `?` one character or byte, `[…]` a class,
/// `\` escapes; over any bytes but NUL.
///
/// # Errors
/// [`PatternError`] for an empty pattern, an unclosed class, a lone backslash.
pub fn name(pattern: &str) -> Result<Re, PatternError> {
    pattern::check(pattern)?;
    if pattern.is_empty() {
        return Err(PatternError::new(0, "pattern is empty", "`*` matches every name"));
    }
    let none = ByteSet::EMPTY;
    let style = ClassStyle { escapes: true, ignore_case: false, avoid: none };
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(next) = pattern[at..].chars().next() {
        let after = at + next.len_utf8();
        at = match next {
            '*' => {
                parts.push(pattern::any(none));
                after
            }
            '?' => {
                parts.push(pattern::one(none));
                after
            }
            '[' => {
                let (class, end) = pattern::class(pattern, at, style)?;
                parts.push(class);
                end
            }
            '\\' => match pattern[after..].chars().next() {
                Some(literal) => {
                    let end = after + literal.len_utf8();
                    parts.push(Re::literal(&pattern.as_bytes()[after..end]));
                    end
                }
                None => return Err(lone_backslash(at)),
            },
            _ => {
                parts.push(Re::literal(&pattern.as_bytes()[at..after]));
                after
            }
        };
    }
    Ok(Re::cat(parts))
}

/// Strips trailing blanks that no backslash protects.
fn trim(line: &str) -> &str {
    let mut end = 0;
    let mut bytes = line.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        if byte == b'\\' {
            match bytes.next() {
                Some((at, _)) => end = at + 1,
                None => return line,
            }
        } else if byte != b' ' {
            end = at + 1;
        }
    }
    &line[..end]
}

/// Bytes of a segment.
fn in_segment() -> ByteSet {
    pattern::bytes(ByteSet::of(b'/'))
}

/// A segment that is not empty.
fn segment() -> Re {
    Re::set(in_segment()).plus()
}

/// Segments joined by `/`, at least one.
fn segments() -> Re {
    Re::cat([segment(), Re::cat([Re::byte(b'/'), segment()]).star()])
}

/// Whether a pattern might match no path: any other has in each segment a wildcard or
/// a name, and so matches some.
fn doubtful(relative: &str) -> bool {
    relative.contains(['[', '\\'])
        || relative.split('/').any(|name| matches!(name, "" | "." | ".."))
}

/// Whether no path is matched, where that is quickly seen.
fn never(re: &Re) -> bool {
    let paths = paths();
    let classes = Re::classes([re, &paths]);
    let small = |re: &Re| determinize(re, &classes, MAX_PATTERN_STATES).ok();
    match (small(re), small(&paths)) {
        (Some(a), Some(b)) => meets(&a, &b, MAX_PATTERN_STATES) == Ok(false),
        _ => false,
    }
}

/// The part of a line that is matched, without `!` and outer slashes.
struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
    anchored: bool,
}

impl Reader<'_> {
    fn read(&self) -> Result<(Re, Shape), PatternError> {
        let special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
        let prefix = self.bytes.iter().position(special).unwrap_or(self.bytes.len());
        let mut parts = vec![Re::literal(&self.bytes[..prefix])];
        // What the pattern is, as far as one literal and one star go.
        let mut literal = self.bytes[..prefix].to_vec();
        let (mut stars, mut star_first, mut star_last, mut other) = (0, false, false, false);
        let mut at = prefix;
        while at < self.bytes.len() {
            let byte = self.bytes[at];
            match byte {
                b'*' => {
                    let (re, end, plain) = self.stars(at, prefix);
                    parts.push(re);
                    stars += 1;
                    star_first |= at == 0;
                    star_last |= end == self.bytes.len();
                    other |= !plain;
                    at = end;
                }
                b'?' => {
                    parts.push(Re::set(in_segment()));
                    other = true;
                    at += 1;
                }
                b'[' => {
                    let (set, end) = self.class(at)?;
                    parts.push(Re::set(set));
                    other = true;
                    at = end;
                }
                _ => {
                    if byte == b'\\' {
                        at += 1;
                    }
                    let Some(&byte) = self.bytes.get(at) else {
                        return Err(lone_backslash(self.offset + at - 1));
                    };
                    parts.push(Re::byte(byte));
                    literal.push(byte);
                    at += 1;
                }
            }
        }
        let shape = match stars {
            _ if other => Shape::Other(self.bytes[..prefix].to_vec()),
            0 => Shape::Literal(literal),
            1 if star_last => Shape::Prefix(literal),
            1 if star_first && !self.anchored => Shape::Suffix(literal),
            _ => Shape::Other(self.bytes[..prefix].to_vec()),
        };
        Ok((Re::cat(parts), shape))
    }

    /// A run of stars: what it matches, where to go on, and whether it is one segment's.
    fn stars(&self, at: usize, prefix: usize) -> (Re, usize, bool) {
        let run = self.bytes[at..].iter().take_while(|&&byte| byte == b'*').count();
        let mut end = at + run;
        let after_slash = at == 0 || self.bytes[at - 1] == b'/';
        let rest = &self.bytes[end..];
        let before_slash = rest.is_empty() || rest[0] == b'/' || rest.starts_with(b"\\/");
        if run == 1 || !self.anchored || !(at == prefix || after_slash) || !before_slash {
            return (Re::set(in_segment()).star(), end, true);
        }
        let slash = || Re::byte(b'/');
        let re = match (rest.first(), after_slash) {
            (Some(b'/'), true) => {
                end += 1;
                Re::cat([segment(), slash()]).star()
            }
            (Some(b'/'), false) => {
                end += 1;
                Re::cat([pattern::any(ByteSet::EMPTY), slash()]).optional()
            }
            (_, true) => segments(),
            (_, false) => pattern::any(ByteSet::EMPTY),
        };
        (re, end, false)
    }

    /// A class whose `[` is at `open`: its members, and the offset after its `]`.
    fn class(&self, open: usize) -> Result<(ByteSet, usize), PatternError> {
        let get = |at: usize| {
            self.bytes.get(at).copied().ok_or_else(|| unclosed_class(self.offset + open))
        };
        let mut at = open + 1;
        let negated = matches!(get(at)?, b'!' | b'^');
        if negated {
            at += 1;
        }
        let mut set = ByteSet::EMPTY;
        // The last single member, from which a `-` may make a range.
        let mut previous: Option<u8> = None;
        let mut first = true;
        while first || get(at)? != b']' {
            first = false;
            let byte = get(at)?;
            let ranges = self.bytes.get(at + 1).is_some_and(|&next| next != b']');
            match (byte, previous) {
                (b'\\', _) => {
                    at += 1;
                    let member = get(at)?;
                    set.insert(member);
                    previous = Some(member);
                }
                (b'-', Some(low)) if ranges => {
                    at += 1;
                    if get(at)? == b'\\' {
                        at += 1;
                    }
                    set = set.union(ByteSet::range(low, get(at)?));
                    previous = None;
                }
                (b'[', _) if self.bytes.get(at + 1) == Some(&b':') => {
                    let name = at + 2;
                    let length = self.bytes[name..].iter().position(|&byte| byte == b']');
                    let close = name + length.ok_or_else(|| unclosed_class(self.offset + open))?;
                    if close > name && self.bytes[close - 1] == b':' {
                        let text = String::from_utf8_lossy(&self.bytes[name..close - 1]);
                        let members = named_class(&text)
                            .ok_or_else(|| unknown_class(self.offset + at, &text))?;
                        set = set.union(members);
                        previous = None;
                        at = close;
                    } else {
                        // Not a named class: an ordinary member.
                        set.insert(b'[');
                        previous = Some(b'[');
                    }
                }
                (member, _) => {
                    set.insert(member);
                    previous = Some(member);
                }
            }
            at += 1;
        }
        let set = if negated { set.complement() } else { set };
        Ok((set.intersect(in_segment()), at + 1))
    }
}
