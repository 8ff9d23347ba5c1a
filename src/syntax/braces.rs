//! Which `}` ends which block, also where one of the two is missing.
//!
//! Balanced files are matched with a stack and that is all. In others the
//! places of missing braces are guessed from what people do: items begin at
//! depth zero, and a `}` on a line of its own is indented like the line of its
//! `{`. If the guesses make more mistakes than the braces themselves, the file
//! is not indented that way, and indentation is left out of it. Cost: linear.

use super::token::{Kind, NONE, Token};
use std::collections::HashMap;

/// What is wrong with the braces; indices are of tokens.
#[derive(Debug)]
pub(super) struct Braces {
    /// Blocks that have no `{`: first token of the content, end of the content.
    pub(super) virtual_open: HashMap<usize, usize>,
    /// `{` without a `}`, and the token before which it should have come.
    pub(super) unclosed: Vec<(usize, usize)>,
}

struct Entry {
    /// Its `{`, or the first token inside where that is missing.
    at: usize,
    real: bool,
    indent: usize,
}

struct Matcher<'t> {
    text: &'t str,
    indents: bool,
    stack: Vec<Entry>,
    mates: Vec<(usize, usize)>,
    strays: usize,
    out: Braces,
}

/// Matches braces and writes the partners into the tokens. A `{` whose partner
/// does not point back has its `}` missing before that partner.
pub(super) fn match_up(text: &str, tokens: &mut [Token]) -> Braces {
    let mut stack = Vec::new();
    let mut mates = Vec::new();
    let mut balanced = true;
    // A missing brace and one too many balance; an item that begins inside a
    // block, no further in than that block's own item, gives them away.
    let (mut indent, mut outer) = (0usize, 0usize);
    for (i, token) in tokens.iter().enumerate() {
        if token.first {
            indent = column(text, token.start as usize);
            balanced &= stack.is_empty() || indent > outer || !item_starts(text, tokens, i);
        }
        if stack.is_empty() {
            outer = indent;
        }
        match (token.kind, token.kind == Kind::Close && stack.is_empty()) {
            (Kind::Open, _) => stack.push(i),
            (_, true) => balanced = false,
            (Kind::Close, _) => mates.extend(stack.pop().map(|open| (open, i))),
            _ => {}
        }
    }
    let mut braces = Braces { virtual_open: HashMap::new(), unclosed: Vec::new() };
    if !balanced || !stack.is_empty() {
        let by_indent = guess(text, tokens, true);
        let by_items = guess(text, tokens, false);
        let cost = |m: &Matcher<'_>| {
            m.strays.saturating_add(m.out.unclosed.len()).saturating_add(m.out.virtual_open.len())
        };
        let best = if cost(&by_indent) <= cost(&by_items) { by_indent } else { by_items };
        mates = best.mates;
        braces = best.out;
    }
    let index = |n: usize| u32::try_from(n).unwrap_or(NONE);
    for (open, close) in mates {
        if let Some(token) = tokens.get_mut(open) {
            token.mate = index(close);
        }
        if let Some(token) = tokens.get_mut(close).filter(|t| t.kind == Kind::Close) {
            token.mate = index(open);
        }
    }
    for &(open, at) in &braces.unclosed {
        if let Some(token) = tokens.get_mut(open) {
            token.mate = index(at);
        }
    }
    braces
}

fn guess<'t>(text: &'t str, tokens: &[Token], indents: bool) -> Matcher<'t> {
    let out = Braces { virtual_open: HashMap::new(), unclosed: Vec::new() };
    let mut m = Matcher { text, indents, stack: Vec::new(), mates: Vec::new(), strays: 0, out };
    let mut line_indent = 0usize;
    let mut pending: Option<(usize, usize)> = None;
    for (i, token) in tokens.iter().enumerate() {
        if let Some((_, indent)) = pending.take_if(|(at, _)| *at == i)
            && token.kind != Kind::Open
        {
            m.stack.push(Entry { at: i, real: false, indent });
        }
        if token.first {
            line_indent = column(text, token.start as usize);
            m.line_begins(tokens, i, line_indent);
        }
        match token.kind {
            Kind::Open => m.stack.push(Entry { at: i, real: true, indent: line_indent }),
            Kind::Close => m.close(i, token.first.then_some(line_indent)),
            Kind::Word if pending.is_none() => {
                pending = head_len(text, tokens, i, m.stack.is_empty())
                    .map(|n| (i.saturating_add(n), line_indent));
            }
            _ => {}
        }
    }
    while let Some(entry) = m.stack.pop() {
        m.missing_close(&entry, tokens.len());
    }
    m
}

impl Matcher<'_> {
    fn missing_close(&mut self, entry: &Entry, at: usize) {
        if entry.real {
            self.out.unclosed.push((entry.at, at));
        } else {
            self.out.virtual_open.insert(entry.at, at);
        }
    }

    /// The first token of a line: does it show that a block ended before it?
    fn line_begins(&mut self, tokens: &[Token], i: usize, indent: usize) {
        if self.stack.is_empty() {
            return;
        }
        if item_starts(self.text, tokens, i) {
            while let Some(entry) = self.stack.pop() {
                self.missing_close(&entry, i);
            }
        }
        let word = tokens.get(i).is_some_and(|t| t.kind == Kind::Word);
        while self.indents && word {
            let outside = self.stack.last().is_some_and(|e| e.at != i && e.indent >= indent);
            let Some(entry) = self.stack.pop_if(|_| outside) else { break };
            self.missing_close(&entry, i);
        }
    }

    fn close(&mut self, i: usize, indent: Option<usize>) {
        if let Some(indent) = indent.filter(|_| self.indents) {
            let fits = self.stack.iter().any(|e| e.indent <= indent);
            while fits && self.stack.last().is_some_and(|e| e.indent > indent) {
                if let Some(entry) = self.stack.pop() {
                    self.missing_close(&entry, i);
                }
            }
        }
        match self.stack.pop() {
            Some(entry) if entry.real => self.mates.push((entry.at, i)),
            Some(entry) => {
                self.out.virtual_open.insert(entry.at, i);
            }
            None => self.strays = self.strays.saturating_add(1),
        }
    }
}

fn column(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or("");
    at.saturating_sub(before.rfind('\n').map_or(0, |n| n.saturating_add(1)))
}

fn word<'t>(text: &'t str, tokens: &[Token], i: usize) -> &'t str {
    let token = tokens.get(i).filter(|t| t.kind == Kind::Word);
    token.and_then(|t| text.get(t.range())).unwrap_or("")
}

/// Whether a line that begins with token `i` begins an item, told by shape, as
/// `tool` or `permission` alone may be a name or an action.
pub(super) fn item_starts(text: &str, tokens: &[Token], i: usize) -> bool {
    let kind = |n: usize| tokens.get(i.saturating_add(n)).map(|t| t.kind);
    let next = |n: usize| word(text, tokens, i.saturating_add(n));
    let other = |n: usize| tokens.get(i.saturating_add(n)).and_then(|t| text.get(t.range()));
    match word(text, tokens, i) {
        "context" | "profile" => {
            kind(1) == Some(Kind::Word) && (kind(2) == Some(Kind::Open) || next(2) == "narrows")
        }
        "test" => kind(1) == Some(Kind::Word) && kind(2) == Some(Kind::Open),
        "tool" => matches!(kind(1), Some(Kind::Word | Kind::Str)) && kind(2) == Some(Kind::Open),
        "manager" => next(2) == "approves",
        "assert" => matches!(next(2), "never" | "always"),
        "permission" => other(2) == Some("="),
        "param" => tokens
            .get(i.saturating_add(1))
            .is_some_and(|name| name.kind == Kind::Word && !name.first),
        "import" => kind(1) == Some(Kind::Str),
        _ => false,
    }
}

/// If token `i` begins what needs a block: how many tokens stand before the `{`.
fn head_len(text: &str, tokens: &[Token], i: usize, top: bool) -> Option<usize> {
    let token = tokens.get(i)?;
    let kind = |n: usize| tokens.get(i.saturating_add(n)).map(|t| t.kind);
    let next = |n: usize| word(text, tokens, i.saturating_add(n));
    match (word(text, tokens, i), top) {
        ("context", true) if next(2) == "narrows" => Some(4),
        ("context" | "profile" | "test" | "tool", true) if token.first => Some(2),
        ("mount", false) if next(2) == "at" && kind(3) == Some(Kind::Str) => Some(4),
        ("commands" | "tools", false) if token.first => Some(1),
        ("in", false) if token.first => Some(2),
        ("on", false) if kind(1) == Some(Kind::Str) => {
            let mut n = 2usize;
            while kind(n.saturating_add(1)) == Some(Kind::Str) && kind(n) == Some(Kind::Other) {
                n = n.saturating_add(2);
            }
            Some(n)
        }
        _ => None,
    }
}
