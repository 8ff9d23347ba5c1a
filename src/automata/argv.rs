//! Command patterns: argument vectors, word by word.
//!
//! An argument vector is the byte string of its words with a NUL after *each* (so
//! `["git", ""]` is `git␀␀` and no two vectors share a string). A pattern becomes an
//! expression over such strings. What it cannot express by itself is a *hole*, an
//! argument that is a path on which the context must grant something: there the
//! expression matches any argument that could be one, and [`Words::holes`] says
//! where to look.
//!
//! Linear in the pattern, but alternatives before a hole and in a literal first word
//! are multiplied out, to at most [`MAX_SPELLINGS`]. Errors: [`PatternError`].

// Offsets are below the pattern's length, at most `MAX_PATTERN_BYTES`, and always on
// character boundaries: they move by whole characters only.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::PatternError;
use super::alphabet::ByteSet;
use super::nfa::Re;
use super::pattern::{self, ClassStyle, lone_backslash};
use crate::limits::MAX_NESTING;

/// Most spellings that alternatives are multiplied out to.
pub const MAX_SPELLINGS: usize = 256;

/// A command pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The argument vectors matched, each word followed by NUL.
    pub re: Re,
    /// Arguments that must be paths with a permission, from left to right.
    pub holes: Vec<Hole>,
    /// The number of words that must be there, `...` and `{read...}` not counted.
    pub words: usize,
    /// Whether further arguments may follow.
    pub rest: bool,
    /// What the first word can be, if it has no wildcard (and no hole) and few
    /// enough alternatives.
    pub first_literal: Option<Vec<String>>,
}

/// An argument, or the tail of one, that must be a path with permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Which argument; the first of the remaining ones if `many`.
    pub word: usize,
    /// What can stand in the argument before the path; `[""]` for a whole word.
    pub prefixes: Vec<Vec<u8>>,
    /// `read`, `write`, `execute`, `delete`, in the order written, without repeats.
    pub permissions: Vec<String>,
    /// `{read...}`: this and all further arguments, zero or more.
    pub many: bool,
}

/// Reads a command pattern.
///
/// With `basename`, which `deny` rules ask for, a first word without `/` also matches
/// after `(anything)/`. In the first word wildcards never match `/`.
///
/// # Errors
/// [`PatternError`] for an empty pattern, anything unclosed, `...` or `{read...}`
/// that is not last, and holes that are not the tail of a word.
pub fn words(pattern: &str, basename: bool) -> Result<Words, PatternError> {
    words_with(pattern, basename, &|_| Re::Empty)
}

/// Reads a command pattern over vectors with a letter before each word (see
/// [`vectors`](super::vectors)): `letter` says which, for the hole that the word ends
/// in if it does.
///
/// # Errors
/// As [`words`].
pub fn words_with(
    pattern: &str,
    basename: bool,
    letter: &dyn Fn(Option<&Hole>) -> Re,
) -> Result<Words, PatternError> {
    pattern::check(pattern)?;
    let mut parser = Parser { pattern, at: 0, avoid: ByteSet::of(b'/') };
    let mut result =
        Words { re: Re::Empty, holes: Vec::new(), words: 0, rest: false, first_literal: None };
    let mut parts = Vec::new();
    let mut first = true;
    while parser.skip_blanks() {
        let start = parser.at;
        if result.rest {
            return Err(PatternError::new(
                start,
                "a word follows `...` or `{read...}`, which take all that is left",
                "put it last; `*` stands for one argument, and for the rest at any place write \
                 several rules",
            ));
        }
        if parser.eat_rest() {
            result.rest = true;
            let argument = || Re::cat([letter(None), pattern::any(ByteSet::EMPTY), Re::byte(0)]);
            parts.push(if first { argument().plus() } else { argument().star() });
            first = false;
            continue;
        }
        let (word, hole) = parser.word()?;
        let mut re = word.clone();
        if first && basename {
            let short = word.avoiding(ByteSet::of(b'/'));
            let directory = Re::cat([pattern::any(ByteSet::EMPTY), Re::byte(b'/')]);
            re = Re::alt([re, Re::cat([directory, short])]);
        }
        match hole {
            None => {
                if first {
                    result.first_literal = spellings(&word).and_then(|list| {
                        list.into_iter().map(String::from_utf8).collect::<Result<_, _>>().ok()
                    });
                }
                result.words += 1;
                parts.extend([letter(None), re, Re::byte(0)]);
            }
            Some(HoleText { permissions, many, at }) => {
                let prefixes = spellings(&word).ok_or_else(|| {
                    PatternError::new(
                        start,
                        "what stands before a hole must be literal",
                        format!(
                            "write its spellings out, as in `(-o|--out=){{write}}`, at most \
                             {MAX_SPELLINGS} of them"
                        ),
                    )
                })?;
                if many && prefixes.iter().any(|prefix| !prefix.is_empty()) {
                    return Err(PatternError::new(
                        at,
                        "`{read...}` stands for whole arguments",
                        "separate it from the word before it",
                    ));
                }
                let body = pattern::bytes(ByteSet::EMPTY);
                let value = Re::cat([Re::set(body.without(b'-')), Re::set(body).star()]);
                let hole = Hole { word: result.words, prefixes, permissions, many };
                let argument = Re::cat([letter(Some(&hole)), re, value, Re::byte(0)]);
                result.holes.push(hole);
                if many {
                    result.rest = true;
                    parts.push(argument.star());
                } else {
                    result.words += 1;
                    parts.push(argument);
                }
            }
        }
        first = false;
        parser.avoid = ByteSet::EMPTY;
    }
    if first {
        return Err(PatternError::new(
            0,
            "pattern is empty, so it can match no command",
            "write the command's words; `* ...` matches every command typed without a `/`",
        ));
    }
    result.re = Re::cat(parts);
    Ok(result)
}

/// The vector as a string: each word followed by NUL.
pub fn join<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut joined = Vec::new();
    for word in words {
        joined.extend_from_slice(word.as_ref());
        joined.push(0);
    }
    joined
}

/// All strings of an expression, in order and without repeats, if it has no wildcard.
fn spellings(re: &Re) -> Option<Vec<Vec<u8>>> {
    let mut list = match re {
        Re::Empty => vec![Vec::new()],
        Re::Set(set) if set.len() == 1 => vec![set.iter().collect()],
        Re::Alt(choices) => {
            let mut list = Vec::new();
            for choice in choices {
                list.extend(spellings(choice)?);
                if list.len() > MAX_SPELLINGS {
                    return None;
                }
            }
            list
        }
        Re::Cat(parts) => {
            let mut list = vec![Vec::new()];
            for part in parts {
                let tails = spellings(part)?;
                if list.len().saturating_mul(tails.len()) > MAX_SPELLINGS {
                    return None;
                }
                let joined = list.iter().flat_map(|head: &Vec<u8>| {
                    tails.iter().map(move |tail| [head.as_slice(), tail.as_slice()].concat())
                });
                list = joined.collect();
            }
            list
        }
        Re::Never | Re::Set(_) | Re::Star(_) => return None,
    };
    let mut seen = std::collections::HashSet::new();
    list.retain(|spelling| seen.insert(spelling.clone()));
    Some(list)
}

struct HoleText {
    permissions: Vec<String>,
    many: bool,
    at: usize,
}

struct Parser<'a> {
    pattern: &'a str,
    at: usize,
    /// Bytes that wildcards do not match.
    avoid: ByteSet,
}

fn blank(next: char) -> bool {
    matches!(next, ' ' | '\t' | '\n' | '\r')
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.pattern[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Moves to the next word; false at the end.
    fn skip_blanks(&mut self) -> bool {
        while let Some(next) = self.peek().filter(|&next| blank(next)) {
            self.at += next.len_utf8();
        }
        self.peek().is_some()
    }

    /// Takes `...` if it is the whole word.
    fn eat_rest(&mut self) -> bool {
        let after = self.rest().strip_prefix("...");
        let whole = after.is_some_and(|after| after.chars().next().is_none_or(blank));
        if whole {
            self.at += 3;
        }
        whole
    }

    /// A word, and the hole that it ends in.
    fn word(&mut self) -> Result<(Re, Option<HoleText>), PatternError> {
        let re = self.sequence(0)?;
        match self.peek() {
            None => Ok((re, None)),
            Some('{') => {
                let hole = self.hole()?;
                match self.peek() {
                    Some(next) if !blank(next) => Err(PatternError::new(
                        self.at,
                        "a hole must be the tail of its word",
                        "end the word after `}`, or write `\\{` for a literal brace",
                    )),
                    _ => Ok((re, Some(hole))),
                }
            }
            Some('|') => Err(PatternError::new(
                self.at,
                "`|` outside of parentheses",
                "write `(a|b)` for alternatives; pipelines are decided command by command, so a \
                 pattern is one command; `\\|` is a literal bar",
            )),
            Some(')') => Err(PatternError::new(
                self.at,
                "`)` without `(`",
                "write `\\)` for a literal parenthesis",
            )),
            Some(_) => Ok((re, None)),
        }
    }

    /// Fragments up to what ends them: outside of parentheses a blank, `{`, `|` or `)`,
    /// inside of them `|` or `)`.
    fn sequence(&mut self, depth: usize) -> Result<Re, PatternError> {
        let mut parts = Vec::new();
        while let Some(next) = self.peek() {
            match next {
                '|' | ')' => break,
                '{' if depth == 0 => break,
                '{' => {
                    return Err(PatternError::new(
                        self.at,
                        "a hole cannot stand in parentheses",
                        "put it after them, or write `\\{` for a literal brace",
                    ));
                }
                next if depth == 0 && blank(next) => break,
                '(' => parts.push(self.group(depth)?),
                '[' => {
                    let style = ClassStyle { escapes: true, ignore_case: false, avoid: self.avoid };
                    let (class, end) = pattern::class(self.pattern, self.at, style)?;
                    parts.push(class);
                    self.at = end;
                }
                '*' => {
                    parts.push(pattern::any(self.avoid));
                    self.at += 1;
                }
                '?' => {
                    parts.push(pattern::one(self.avoid));
                    self.at += 1;
                }
                '\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some(literal) => parts.push(self.literal(literal)),
                        None => return Err(lone_backslash(self.at - 1)),
                    }
                }
                next => parts.push(self.literal(next)),
            }
        }
        Ok(Re::cat(parts))
    }

    fn literal(&mut self, next: char) -> Re {
        let end = self.at + next.len_utf8();
        let re = Re::literal(&self.pattern.as_bytes()[self.at..end]);
        self.at = end;
        re
    }

    fn group(&mut self, depth: usize) -> Result<Re, PatternError> {
        let open = self.at;
        if depth >= MAX_NESTING {
            return Err(PatternError::new(
                open,
                format!("parentheses nest deeper than {MAX_NESTING}"),
                "write the alternatives out",
            ));
        }
        self.at += 1;
        let mut choices = vec![self.sequence(depth + 1)?];
        while self.peek() == Some('|') {
            self.at += 1;
            choices.push(self.sequence(depth + 1)?);
        }
        if self.peek() != Some(')') {
            return Err(PatternError::new(
                open,
                "`(` is never closed",
                "close it with `)`, or write `\\(` for a literal parenthesis",
            ));
        }
        self.at += 1;
        Ok(Re::alt(choices))
    }

    fn hole(&mut self) -> Result<HoleText, PatternError> {
        let at = self.at;
        let help = "write `{read}`, `{write|read}` or `{read...}` for a path that must have that \
                    permission, `(a|b)` for alternatives, `\\{` for a literal brace";
        let Some(length) = self.rest().find('}') else {
            return Err(PatternError::new(at, "`{` is never closed", help));
        };
        let content = &self.pattern[at + 1..at + length];
        let names = content.strip_suffix("...").unwrap_or(content);
        let mut permissions: Vec<String> = Vec::new();
        for name in names.split('|').map(str::trim) {
            if !matches!(name, "read" | "write" | "execute" | "delete") {
                let message = format!("`{{{content}}}` is no permission");
                return Err(PatternError::new(at, message, help));
            }
            if !permissions.iter().any(|known| known == name) {
                permissions.push(name.to_owned());
            }
        }
        self.at = at + length + 1;
        Ok(HoleText { permissions, many: names.len() < content.len(), at })
    }
}
