//! Text to tokens: one linear pass that knows strings and comments.
//!
//! The grammar parses statements; this pass is for everything that must be
//! known before or beside it: where blocks end, how deep they nest, where a
//! line begins, and which characters stand outside strings. It reports what
//! is wrong *inside* a token (an unended string, an unknown escape, `'…'`,
//! `#` comments) and says how the text should be patched, at equal length, so
//! that the parser does not trip over the same mistake again.

use crate::diag::{Diagnostic, Edit, registry};
use crate::limits::{MAX_NESTING, MAX_SYNTAX_ERRORS};
use crate::source::{FileId, Span};
use std::ops::Range;

/// No partner.
pub(super) const NONE: u32 = u32::MAX;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, keyword or key.
    Word,
    /// A string, prefix included.
    Str,
    /// `{`.
    Open,
    /// `}`.
    Close,
    /// Any other character.
    Other,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Whether nothing but blanks and comments stands before it on its line.
    pub(super) first: bool,
    pub(super) start: u32,
    pub(super) end: u32,
    /// For braces: the partner's index, or where a missing one belongs.
    pub(super) mate: u32,
}

impl Token {
    pub(super) fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// What the pass found.
pub(super) struct Lexed {
    pub(super) tokens: Vec<Token>,
    /// `//` comments.
    pub(super) comments: Vec<Range<usize>>,
    pub(super) errors: Vec<Diagnostic>,
    /// Places whose statement is broken and already reported.
    pub(super) poison: Vec<Range<usize>>,
    /// Replacements of equal length.
    pub(super) patches: Vec<(Range<usize>, String)>,
    /// Nesting went past the limit; the rest was not read.
    pub(super) too_deep: bool,
}

struct Lexer<'t> {
    file: FileId,
    text: &'t str,
    at: usize,
    first: bool,
    depth: usize,
    /// Enough errors: what is wrong from here on is not looked into, so that
    /// no search for an end is made over and over.
    full: bool,
    out: Lexed,
}

/// Cuts `text` into tokens.
pub(super) fn lex(file: FileId, text: &str) -> Lexed {
    let out = Lexed {
        tokens: Vec::new(),
        comments: Vec::new(),
        errors: Vec::new(),
        poison: Vec::new(),
        patches: Vec::new(),
        too_deep: false,
    };
    let mut lexer = Lexer { file, text, at: 0, first: true, depth: 0, full: false, out };
    while !lexer.out.too_deep && lexer.step() {}
    lexer.out
}

/// Whether `c` may stand in a word of Mero; other letters do too, so that a
/// name such as `wörker` is one wrong word and not three pieces.
fn in_word(c: char) -> bool {
    c == '_' || c == '-' || c.is_alphanumeric()
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn span(&self, range: &Range<usize>) -> Span {
        Span::new(self.file, range.start, range.end)
    }

    fn error(&mut self, range: Range<usize>, message: &str) -> Diagnostic {
        Diagnostic::new(&registry::SYNTAX_ERROR, self.span(&range), message)
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let token =
            Token { kind, first: self.first, start: clamp(start), end: clamp(end), mate: NONE };
        self.out.tokens.push(token);
        self.first = false;
        self.at = end;
    }

    /// Reads one token, comment or run of blanks; false at the end.
    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(c) = rest.chars().next() else { return false };
        self.full = self.out.errors.len() > MAX_SYNTAX_ERRORS;
        let start = self.at;
        let after = start.saturating_add(c.len_utf8());
        match c {
            '\n' => {
                self.first = true;
                self.at = after;
            }
            c if c.is_whitespace() || super::hidden::invisible(c).is_some() => self.at = after,
            '/' if rest.starts_with("//") => {
                let end = start.saturating_add(line_len(rest));
                self.out.comments.push(start..end);
                self.at = end;
            }
            '/' if !self.full && rest.starts_with("/*") => self.block_comment(rest),
            '#' if !self.full => self.hash_comment(rest),
            '"' => self.plain(start, rest),
            '\'' | '“' | '”' | '‘' | '’' | '„' if !self.full => self.odd_quotes(rest, c),
            '{' | '(' | '[' => {
                self.depth = self.depth.saturating_add(1);
                if self.depth > MAX_NESTING {
                    self.too_deep(start..after);
                }
                self.push(if c == '{' { Kind::Open } else { Kind::Other }, start, after);
            }
            '}' | ')' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                self.push(if c == '}' { Kind::Close } else { Kind::Other }, start, after);
            }
            c if in_word(c) => self.word(start, rest),
            _ => self.push(Kind::Other, start, after),
        }
        true
    }

    fn too_deep(&mut self, range: Range<usize>) {
        let message = format!("blocks and lists are nested more than {MAX_NESTING} deep");
        let d = Diagnostic::new(&registry::TOO_DEEP, self.span(&range), message)
            .here("one level too many")
            .help("the file is not read any further; write nested mounts as neighbours instead");
        self.out.errors.push(d);
        self.out.too_deep = true;
    }

    /// A word; `:`, `::` and `.` belong to it where more of it follows
    /// (`core:fs.read`, `std::x`). With a quote right behind it, a prefix.
    fn word(&mut self, start: usize, rest: &'t str) {
        let mut len = 0usize;
        let mut chars = rest.char_indices().peekable();
        while let Some((i, c)) = chars.next() {
            let joins = matches!(c, ':' | '.')
                && chars.peek().is_some_and(|&(_, n)| in_word(n) || (c == ':' && n == ':'));
            if !in_word(c) && !joins {
                break;
            }
            len = i.saturating_add(c.len_utf8());
        }
        let word = rest.get(..len).unwrap_or("");
        let tail = rest.get(len..).unwrap_or("");
        let quoted = tail.starts_with('"') || tail.starts_with("#\"");
        if quoted && matches!(word, "r" | "re" | "glob" | "text") {
            self.raw(start, start.saturating_add(len), tail);
        } else {
            self.push(Kind::Word, start, start.saturating_add(len));
        }
    }

    /// A string without escapes whose quote (or `#"`) is at `quote`.
    fn raw(&mut self, start: usize, quote: usize, tail: &str) {
        let hashed = tail.starts_with('#');
        let (open, close) = if hashed { ("#\"", "\"#") } else { ("\"", "\"") };
        let body = tail.get(open.len()..).unwrap_or("");
        let within = if hashed { body } else { body.get(..line_len(body)).unwrap_or("") };
        let from = quote.saturating_add(open.len());
        if let Some(len) =
            Some(within).filter(|_| !(hashed && self.full)).and_then(|w| w.find(close))
        {
            let end = from.saturating_add(len).saturating_add(close.len());
            return self.push(Kind::Str, start, end);
        }
        let end = from.saturating_add(line_len(body));
        let help = if hashed {
            "a string that begins with `#\"` ends with `\"#`"
        } else {
            "end it with `\"` on the same line; only the `#\"…\"#` forms may span lines"
        };
        self.unended(start..end, help);
    }

    fn unended(&mut self, mut range: Range<usize>, help: &str) {
        // A brace behind a blank at the line's end more likely ends a block than
        // it belongs to the string.
        let mut shown = self.text.get(range.clone()).unwrap_or("").trim_end();
        while let Some(less) = shown.strip_suffix(['}', '{']).filter(|s| s.ends_with([' ', '}'])) {
            shown = less.trim_end();
            range.end = range.start.saturating_add(shown.len());
        }
        let head = shown.len();
        let shown = range.start..range.start.saturating_add(head);
        let d = self
            .error(shown, "this string is not ended on its line")
            .here("the closing `\"` is missing")
            .help(help);
        if !self.full {
            self.out.errors.push(d);
        }
        self.out.poison.push(range.clone());
        self.push(Kind::Str, range.start, range.end);
    }

    /// `"…"` with escapes.
    fn plain(&mut self, start: usize, rest: &str) {
        let mut bad: Option<Range<usize>> = None;
        let mut chars = rest.char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            let at = start.saturating_add(i);
            match c {
                '"' => {
                    if let Some(bad) = bad {
                        self.bad_escape(bad);
                    }
                    return self.push(Kind::Str, start, at.saturating_add(1));
                }
                '\n' => break,
                '\\' => {
                    let tail = rest.get(i.saturating_add(1)..).unwrap_or("");
                    if tail.starts_with('\n') {
                        break;
                    }
                    if unescape_one(tail).is_none() && bad.is_none() {
                        bad = Some(at..at.saturating_add(1).saturating_add(escape_len(tail)));
                    }
                    // The character behind the backslash never ends the string.
                    let _ = chars.next();
                }
                _ => {}
            }
        }
        let line_end = start.saturating_add(line_len(rest));
        let end = if self.full { line_end } else { self.resume(start, rest) };
        let help = if end > line_end {
            "a string stays on one line: write `\\n` for a line break, or use `r#\"…\"#`"
        } else {
            "end it with `\"`; a line break inside a string is written `\\n`"
        };
        self.unended(start..end, help);
    }

    /// Where to go on after a string that does not end on its line. If the next
    /// line with a quote has an odd number of them, the string was meant to
    /// span lines, and going on at the line's end would make a second error.
    fn resume(&self, start: usize, rest: &str) -> usize {
        let line = line_len(rest);
        let mut from = line.saturating_add(1);
        for _ in 0..8 {
            let Some(tail) = rest.get(from..) else { break };
            let text = tail.get(..line_len(tail)).unwrap_or("");
            let quotes = text.matches('"').count();
            if quotes % 2 == 1 {
                let len = text.find('"').unwrap_or(0).saturating_add(1);
                return start.saturating_add(from).saturating_add(len);
            }
            if quotes > 0 || text.trim_end().ends_with(['{', '}']) || text.trim().is_empty() {
                break;
            }
            from = from.saturating_add(text.len()).saturating_add(1);
        }
        start.saturating_add(line)
    }

    fn bad_escape(&mut self, range: Range<usize>) {
        let shown = self.text.get(range.clone()).unwrap_or("").to_owned();
        let help = if shown.starts_with("\\u") {
            "write `\\u{41}`: one to six hexadecimal digits that name a character".to_owned()
        } else {
            "write `\\\\` for a backslash, or a raw string `r\"…\"`; \
                 escapes are `\\\"`, `\\\\`, `\\n`, `\\t` and `\\u{…}`"
                .to_owned()
        };
        let d = self
            .error(range.clone(), &format!("`{shown}` is not an escape that strings know"))
            .here("unknown escape")
            .help(help);
        if !self.full {
            self.out.errors.push(d);
        }
        self.out.poison.push(range);
    }

    /// `'…'` and typographic quotes: reported, and read as `"…"`.
    fn odd_quotes(&mut self, rest: &str, open: char) {
        let start = self.at;
        let line = rest.get(..line_len(rest)).unwrap_or("");
        let body = line.get(open.len_utf8()..).unwrap_or("");
        let ends: &[char] = if open == '\'' { &['\''] } else { &['”', '“', '’', '‘', '"'] };
        let Some(len) = body.find(ends) else {
            let end = start.saturating_add(open.len_utf8());
            let d = self
                .error(start..end, &format!("`{open}` does not begin a string"))
                .help("strings are written with double quotes: `\"…\"`");
            self.out.errors.push(d);
            self.out.poison.push(start..end);
            return self.push(Kind::Other, start, end);
        };
        let inner = body.get(..len).unwrap_or("").to_owned();
        let close = body.get(len..).and_then(|s| s.chars().next()).unwrap_or('"');
        let end = [open.len_utf8(), len, close.len_utf8()]
            .iter()
            .fold(start, |sum, n| sum.saturating_add(*n));
        let mut d =
            self.error(start..end, "strings are written with double quotes").here("not a string");
        // An escape would change its meaning, so those are left to the author.
        if inner.contains(['"', '\\']) {
            d = d.help("write `\"…\"`, or `r#\"…\"#` where the text has quotes or backslashes");
            self.out.poison.push(start..end);
        } else {
            d = d.help(format!("write `\"{inner}\"`"));
            d.fix.push(Edit { span: self.span(&(start..end)), text: format!("\"{inner}\"") });
            let patch = format!("\"{inner}\"");
            let pad = end.saturating_sub(start).saturating_sub(patch.len());
            self.out.patches.push((start..end, format!("{patch}{}", " ".repeat(pad))));
        }
        self.out.errors.push(d);
        self.push(Kind::Str, start, end);
    }

    fn hash_comment(&mut self, rest: &str) {
        let start = self.at;
        let end = start.saturating_add(line_len(rest));
        let mut d = self
            .error(start..start.saturating_add(1), "comments begin with `//`, not `#`")
            .here("begins no comment")
            .help("write `//`");
        d.fix.push(Edit {
            span: self.span(&(start..start.saturating_add(1))),
            text: "//".to_owned(),
        });
        self.out.errors.push(d);
        self.blank(start..end);
    }

    fn block_comment(&mut self, rest: &str) {
        let start = self.at;
        let len = rest.find("*/").map_or(line_len(rest), |n| n.saturating_add(2));
        let d = self
            .error(start..start.saturating_add(2), "comments begin with `//` and end with the line")
            .here("begins no comment")
            .help("begin each line of it with `//`");
        self.out.errors.push(d);
        self.blank(start..start.saturating_add(len));
    }

    fn blank(&mut self, range: Range<usize>) {
        let spaces = super::blanked(self.text.get(range.clone()).unwrap_or(""));
        self.at = range.end;
        self.out.patches.push((range, spaces));
    }
}

/// Bytes up to the line's end.
fn line_len(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// How much of an unknown escape to show, without the backslash.
fn escape_len(tail: &str) -> usize {
    if tail.starts_with("u{") {
        let line = tail.get(..line_len(tail)).unwrap_or("");
        if let Some(n) = line.find('}').filter(|n| line.find('"').is_none_or(|q| *n < q)) {
            return n.saturating_add(1);
        }
    }
    tail.chars().next().map_or(0, char::len_utf8)
}

/// The escape that `tail` (the text after a backslash) begins with: its
/// character and its length.
fn unescape_one(tail: &str) -> Option<(char, usize)> {
    match tail.chars().next()? {
        '"' => Some(('"', 1)),
        '\\' => Some(('\\', 1)),
        'n' => Some(('\n', 1)),
        't' => Some(('\t', 1)),
        'u' => {
            let digits = tail.strip_prefix("u{")?;
            let len = digits.find('}')?;
            let digits = digits.get(..len)?;
            let plain =
                !digits.is_empty() && len <= 6 && digits.bytes().all(|b| b.is_ascii_hexdigit());
            let value = u32::from_str_radix(digits, 16).ok().filter(|_| plain)?;
            Some((char::from_u32(value)?, len.saturating_add(3)))
        }
        _ => None,
    }
}

/// The value of a string token as written (any form).
pub(super) fn value(written: &str) -> String {
    let body = written.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    if let Some(raw) = body.strip_prefix("#\"") {
        return raw.strip_suffix("\"#").unwrap_or(raw).to_owned();
    }
    let inner = body.strip_prefix('"').unwrap_or(body);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if body.len() != written.len() || !inner.contains('\\') {
        return inner.to_owned();
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.push_str(rest.get(..at).unwrap_or(""));
        let tail = rest.get(at.saturating_add(1)..).unwrap_or("");
        let (c, len) = unescape_one(tail).unwrap_or(('\\', 0));
        out.push(c);
        rest = tail.get(len..).unwrap_or("");
    }
    out.push_str(rest);
    out
}
