//! The walk over a file's blocks: one run of the grammar for each statement.
//!
//! pest stops at its first error, and running it again on what is left after
//! blanking the mistake costs a pass over the file for each. So blocks are
//! walked here, by the braces found before, and the grammar gets one statement
//! at a time. Where it fails, one error is reported (unless the place is known
//! to be broken already) and the walk goes on at the next statement's start:
//!
//! ```text
//! mount root "x" { allow read  alow write }
//! ^head: error 1               ^ error 2     both in one run
//! ```
//!
//! Depth of recursion: that of the braces, which `token` has limited.
//! Cost: linear, as every step moves forward by a token at least.

use super::ast::{Attributes, Comment};
use super::braces::{Braces, item_starts};
use super::build::{Entry, Made, Unit, Where};
use super::comments;
use super::expected::Failure;
use super::grammar::{Mero, Rule};
use super::lower::{Pair, Place};
use super::token::{Kind, Lexed, NONE, Token};
use crate::diag::{Diagnostic, did_you_mean, registry};
use crate::limits::MAX_SYNTAX_ERRORS;
use crate::source::{FileId, Span};
use pest::Parser as _;
use std::ops::Range;

/// A run of tokens, first to one past the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The token after its brace.
    after: usize,
    /// One past the brace, in bytes.
    end: usize,
}

/// The walk.
pub(super) struct Parser<'t> {
    pub(super) file: FileId,
    pub(super) text: &'t str,
    pub(super) tokens: &'t [Token],
    braces: &'t Braces,
    comments: &'t [Comment],
    poison: &'t [Range<usize>],
    errors: Vec<Diagnostic>,
    /// Statements that failed, reported or not: what bounds the work.
    failures: usize,
    /// The keyword of the statement before, with its place among the tokens.
    pub(super) previous: Option<usize>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(
        file: FileId,
        text: &'t str,
        lexed: &'t Lexed,
        braces: &'t Braces,
        comments: &'t [Comment],
    ) -> Self {
        Parser {
            file,
            text,
            tokens: &lexed.tokens,
            braces,
            comments,
            poison: &lexed.poison,
            errors: Vec::new(),
            failures: 0,
            previous: None,
        }
    }

    /// Everything at the top of the file.
    pub(super) fn file(&mut self) -> Vec<Entry> {
        for &(open, at) in self.braces.unclosed.iter().take(MAX_SYNTAX_ERRORS.saturating_add(1)) {
            let error = self.unclosed(open, at);
            self.errors.push(error);
        }
        let to = self.tokens.len();
        self.block(Block { from: 0, to, after: to, end: self.text.len() })
    }

    /// The errors so far.
    pub(super) fn finish(self) -> Vec<Diagnostic> {
        self.errors
    }

    fn unclosed(&self, open: usize, at: usize) -> Diagnostic {
        let (line, brace) = (self.line_of(open), self.span(open));
        let end = self.tokens.get(at).map_or(self.text.len(), |t| t.start as usize);
        let head = line.trim_end_matches('{').trim_end();
        let d = Diagnostic::new(
            &registry::SYNTAX_ERROR,
            brace,
            if head.is_empty() {
                "this `{` has no `}`".to_owned()
            } else {
                format!("the block of `{head}` has no `}}`")
            },
        )
        .here("opened here");
        let before = Span::new(self.file, end, end);
        if at < self.tokens.len() {
            d.label(before, "expected `}` before this")
        } else {
            d.help("add a `}` at the end of the block; here the file ends first")
        }
    }

    /// The text of a token's line up to and with the token.
    fn line_of(&self, i: usize) -> &'t str {
        let Some(token) = self.tokens.get(i) else { return "" };
        let before = self.text.get(..token.start as usize).unwrap_or("");
        let start = before.rfind(['\n', '{', '}']).map_or(0, |n| n.saturating_add(1));
        self.text.get(start..token.end as usize).unwrap_or("").trim()
    }

    pub(super) fn word(&self, i: usize) -> &'t str {
        self.tokens.get(i).and_then(|t| self.text.get(t.range())).unwrap_or("")
    }

    pub(super) fn span(&self, i: usize) -> Span {
        let end = self.text.len();
        let range = self.tokens.get(i).map_or(end..end, Token::range);
        Span::new(self.file, range.start, range.end)
    }

    pub(super) fn kind(&self, i: usize) -> Option<Kind> {
        self.tokens.get(i).map(|t| t.kind)
    }

    fn full(&self) -> bool {
        self.errors.len().max(self.failures) > MAX_SYNTAX_ERRORS
    }

    /// All statements of a block.
    pub(super) fn block<U: Unit>(&mut self, block: Block) -> Vec<U> {
        let mut units = Vec::new();
        let Block { from: mut i, to, .. } = block;
        let outer = self.previous.take();
        while i < to && !self.full() {
            i = self.statement(i, to, &mut units);
        }
        self.previous = outer;
        units
    }

    /// One statement with its annotations; gives where to go on.
    fn statement<U: Unit>(&mut self, first: usize, to: usize, units: &mut Vec<U>) -> usize {
        let mut i = first;
        let mut attributes = Attributes::default();
        while i < to && self.word(i) == "@" {
            match self.run(Rule::annotation, i, to) {
                Ok((pair, place, next)) => {
                    attributes.allows.extend(place.annotation(pair));
                    i = next;
                }
                Err(failure) => {
                    return self.skip::<U>(failure, to);
                }
            }
        }
        if i >= to && i > first {
            let d = Diagnostic::new(
                &registry::SYNTAX_ERROR,
                self.span(first),
                "this annotation stands before nothing",
            )
            .help("put it before the statement or item that it is about");
            self.errors.push(d);
            return i;
        }
        let (pair, place, next) = match self.run(U::RULE, i, to) {
            Ok(done) => done,
            Err(failure) => return self.skip::<U>(failure, to),
        };
        let Some(pair) = pair.into_inner().next() else { return next };
        if pair.as_rule() == Rule::edition && first > 0 {
            let d = Diagnostic::new(
                &registry::SYNTAX_ERROR,
                place.span(&pair),
                "`edition` comes first in a file",
            )
            .help("move it to the first line");
            self.errors.push(d);
            return next;
        }
        self.previous = Some(i);
        let from = first.checked_sub(1).map_or(0, |p| self.span(p).end as usize);
        let own = self.span(i);
        attributes.doc = comments::docs(self.comments, from, own.start as usize);
        // The grammar's own end may lie behind blanks that it skipped.
        let last = next.checked_sub(1).map_or(own, |n| self.span(n));
        let mut span = own.to(last);
        let block = if is_head(pair.as_rule()) {
            let Some(block) = self.opening(next, to) else {
                let failure = Failure::no_brace(i, next, pair.as_rule());
                return self.skip::<U>(failure, to);
            };
            if self.kind(next) != Some(Kind::Open) {
                self.fail(&Failure::no_brace(i, next, pair.as_rule()), U::WHERE, next, to);
            }
            span = Span::new(self.file, own.start as usize, block.end);
            Some(block)
        } else {
            None
        };
        units.extend(U::build(self, Made { attributes, pair, place, span }, block));
        block.map_or(next, |b| b.after)
    }

    /// The block that begins at token `i`, with or without its brace.
    fn opening(&self, i: usize, to: usize) -> Option<Block> {
        let (from, close) = match self.braces.virtual_open.get(&i) {
            Some(&close) => (i, close),
            None => {
                let token = self.tokens.get(i).filter(|t| i < to && t.kind == Kind::Open)?;
                (i.saturating_add(1), token.mate as usize)
            }
        };
        let close = close.min(to).max(from);
        let brace = self.tokens.get(close).filter(|t| t.kind == Kind::Close && close < to);
        // A `}` that another `{` points to ends an outer block, not this one.
        let own = brace.filter(|t| {
            t.mate as usize == i || (t.mate == NONE && self.braces.virtual_open.contains_key(&i))
        });
        let last = close.checked_sub(1).map_or(0, |n| self.span(n).end as usize);
        Some(match own {
            Some(t) => {
                Block { from, to: close, after: close.saturating_add(1), end: t.end as usize }
            }
            None => Block { from, to: close, after: close, end: last },
        })
    }

    /// Runs a rule on the text from token `i` on.
    fn run(&self, rule: Rule, i: usize, to: usize) -> Result<(Pair<'t>, Place, usize), Failure> {
        let base = self.span(i).start as usize;
        let limit = self.span(to).start as usize;
        let text = self.text.get(base..limit).unwrap_or("");
        let place = Place { file: self.file, base };
        let error = match Mero::parse(rule, text) {
            Ok(mut pairs) => {
                let Some(pair) = pairs.next() else { return Err(Failure::at(i, i, base)) };
                let end = base.saturating_add(pair.as_span().end());
                let next = self.token_at(i, to, end);
                return Ok((pair, place, next.max(i.saturating_add(1))));
            }
            Err(error) => error,
        };
        let at = match error.location {
            pest::error::InputLocation::Pos(at) => base.saturating_add(at),
            pest::error::InputLocation::Span((at, _)) => base.saturating_add(at),
        };
        let mut failure = Failure::at(i, self.token_at(i, to, at), at);
        if let pest::error::ErrorVariant::ParsingError { positives, negatives } = error.variant {
            failure.expected = positives;
            failure.refused = negatives;
        }
        Err(failure)
    }

    /// The first token from `i` on that ends after byte `at`.
    fn token_at(&self, i: usize, to: usize, at: usize) -> usize {
        let tokens = self.tokens.get(i..to).unwrap_or(&[]);
        i.saturating_add(tokens.partition_point(|t| (t.end as usize) <= at))
    }

    /// Reports a failure and finds where to go on.
    fn skip<U: Unit>(&mut self, failure: Failure, to: usize) -> usize {
        self.failures = self.failures.saturating_add(1);
        let stray = |p: &Self, j: usize| {
            p.tokens.get(j).is_some_and(|t| t.kind == Kind::Close && t.mate == NONE)
        };
        let mut j = self.resync(U::WHERE, &failure, to);
        let mut end = j;
        if let Some(open) = (failure.from..j).find(|&k| self.kind(k) == Some(Kind::Open)) {
            end = open;
        }
        // What stands before a `}` that ends nothing was meant to be inside the
        // block that an earlier `}` ended: one mistake, and not this one.
        if U::WHERE == Where::File {
            let mut ahead = (failure.from..to).take_while(|&k| {
                k == failure.from || !item_starts(self.text, self.tokens, k) || !self.first(k)
            });
            let known = failure.at > failure.from;
            if let Some(k) = ahead.find(|&k| stray(self, k)) {
                if known {
                    // A head that went wrong takes its `}` with it.
                    self.fail(&failure, U::WHERE, end, to);
                } else {
                    self.stray(k);
                }
                return k.saturating_add(1);
            }
        }
        self.fail(&failure, U::WHERE, end, to);
        if end < j {
            self.errors_inside(U::WHERE, failure.from, end);
        }
        if j <= failure.from {
            j = failure.from.saturating_add(1);
        }
        j
    }

    fn stray(&mut self, k: usize) {
        let mut d =
            Diagnostic::new(&registry::SYNTAX_ERROR, self.span(k), "this `}` ends no block")
                .here("no `{` for it");
        let earlier = (0..k).rev().find(|&p| self.kind(p) == Some(Kind::Close));
        d = match earlier {
            Some(p) => d
                .label(self.span(p), "the block before ended here already")
                .help("remove one of the two"),
            None => d.help("remove it, or add the `{` that it is to match"),
        };
        self.errors.push(d);
    }

    fn first(&self, i: usize) -> bool {
        self.tokens.get(i).is_some_and(|t| t.first)
    }

    /// Adds the error of a failure whose statement ends before token `end`.
    fn fail(&mut self, failure: &Failure, place: Where, end: usize, to: usize) {
        let from = self.span(failure.from).start as usize;
        let last = end.max(failure.at.saturating_add(1)).min(to.max(1));
        let until = last.checked_sub(1).map_or(from, |n| self.span(n).end as usize);
        let p = self.poison.partition_point(|r| r.end <= from);
        if self.poison.get(p).is_some_and(|r| r.start < until) {
            return;
        }
        let open = self.braces.unclosed.iter().any(|(open, _)| *open == failure.from);
        if !open {
            let error = self.explain(failure, place, to);
            self.errors.push(error);
        }
    }

    /// The errors in the block of a statement whose head is wrong.
    fn errors_inside(&mut self, place: Where, from: usize, open: usize) {
        let word = self.word(from);
        let keyword = did_you_mean(word, place.keywords().iter().copied()).unwrap_or(word);
        let keyword = if place.keywords().contains(&word) { word } else { keyword };
        let Some(block) = self.opening(open, self.tokens.len()) else { return };
        match place.opened_by(keyword) {
            Some(Where::Body) => drop(self.block::<super::ast::Statement>(block)),
            Some(Where::Commands) => drop(self.block::<super::ast::CommandStatement>(block)),
            Some(Where::Tools) => drop(self.block::<super::ast::ToolRule>(block)),
            Some(Where::Tool) => drop(self.block::<super::ast::ToolStatement>(block)),
            Some(Where::Test) => drop(self.block::<super::ast::TestStatement>(block)),
            _ => {}
        }
    }

    /// Where the next statement begins after a failure.
    fn resync(&self, place: Where, failure: &Failure, to: usize) -> usize {
        // A stray separator is a mistake of its own; what follows is sound.
        let begins = failure.at == failure.from;
        if begins && matches!(self.word(failure.from), "," | ";") {
            let next = failure.from.saturating_add(1);
            if next >= to || self.first(next) || self.starts(place, next) {
                return next;
            }
        }
        let indent = self.column(failure.from);
        let own_line = self.first(failure.from);
        let mut j = failure.at.max(failure.from.saturating_add(usize::from(begins)));
        while j < to {
            let Some(token) = self.tokens.get(j) else { break };
            if token.kind == Kind::Open {
                return self.opening(j, to).map_or(to, |b| b.after);
            }
            if token.kind == Kind::Close && token.mate == NONE {
                return j;
            }
            let joined = j
                .checked_sub(1)
                .is_some_and(|p| matches!(self.word(p), "," | "|" | "=" | ":" | "(" | "["));
            // `env` in `.env` begins nothing.
            let apart = j.checked_sub(1).is_none_or(|p| {
                self.kind(p) != Some(Kind::Other) || self.span(p).end < token.start
            });
            let word = (token.kind == Kind::Word && apart) || self.word(j) == "@";
            if word && (token.first || !joined) {
                let known = self.starts(place, j);
                let same = own_line && token.first && !joined && self.column(j) <= indent;
                if known || same {
                    return j;
                }
            }
            j = j.saturating_add(1);
        }
        to
    }

    fn starts(&self, place: Where, j: usize) -> bool {
        if place == Where::File {
            return self.word(j) == "@"
                || item_starts(self.text, self.tokens, j)
                || (self.first(j) && place.keywords().contains(&self.word(j)));
        }
        self.word(j) == "@" || place.keywords().contains(&self.word(j))
    }

    fn column(&self, i: usize) -> usize {
        let at = self.span(i).start as usize;
        let before = self.text.get(..at).unwrap_or("");
        at.saturating_sub(before.rfind('\n').map_or(0, |n| n.saturating_add(1)))
    }
}

fn is_head(rule: Rule) -> bool {
    use Rule as R;
    matches!(
        rule,
        R::profile_head
            | R::context_head
            | R::tool_head
            | R::test_head
            | R::mount_head
            | R::on_head
            | R::commands_head
            | R::tools_head
            | R::in_head
    )
}
