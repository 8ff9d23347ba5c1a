//! Redirections: what is opened, and how.

use super::words::{is_meta, is_name};
use super::{Cause, Parse, Parser, Redirect, Redirection, Word, heredoc};

impl Parser<'_> {
    /// A redirection with what precedes it, if one stands here.
    pub(super) fn redirection(&mut self) -> Parse<Option<Redirection>> {
        if !matches!(self.peek(), Some(b'0'..=b'9' | b'<' | b'>' | b'&')) {
            return Ok(None);
        }
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.bump();
        }
        let numbered = self.at > start;
        let digits = self.source.get(start..self.at).unwrap_or(&[]);
        let many = digits.len() > 1;
        let first = self.peek();
        let second = self.peek_second();
        let kind = match (first, second) {
            (Some(b'<' | b'>'), Some(b'(')) => {
                self.at = start;
                return Ok(None);
            }
            (Some(b'<' | b'>'), _) if many => {
                // To some shells a word, and a redirection without a number.
                return self.opaque(start, Cause::Descriptor);
            }
            (Some(b'<'), Some(b'<')) => return self.here(start).map(Some),
            (Some(b'<'), Some(b'>')) => (2, Redirect::ReadWrite),
            (Some(b'<'), Some(b'&')) => return self.copy(start, false).map(Some),
            (Some(b'<'), _) => (1, Redirect::Read),
            (Some(b'>'), Some(b'&')) => return self.copy(start, true).map(Some),
            (Some(b'>'), Some(b'>' | b'|')) => (2, Redirect::Write),
            (Some(b'>'), _) => (1, Redirect::Write),
            (Some(b'&'), Some(b'>')) if !numbered => {
                self.bump();
                self.peek();
                self.bump();
                self.eat(b'>');
                (0, Redirect::Write)
            }
            _ => {
                self.at = start;
                return Ok(None);
            }
        };
        for _ in 0..kind.0 {
            self.peek();
            self.bump();
        }
        let target = self.target(start)?;
        Ok(Some(Redirection { kind: kind.1, target, span: self.span(start) }))
    }

    fn target(&mut self, start: usize) -> Parse<Word> {
        self.blanks();
        match self.peek() {
            Some(b'<' | b'>') if self.peek_second() == Some(b'(') => self.word(),
            Some(byte) if !is_meta(byte) => self.word(),
            _ => self.opaque(start, Cause::Syntax),
        }
    }

    /// `<&` and `>&`: a descriptor's copy, or both outputs to a file.
    fn copy(&mut self, start: usize, output: bool) -> Parse<Redirection> {
        self.peek();
        self.bump();
        self.peek();
        self.bump();
        self.blanks();
        let written = self.at;
        let target = self.target(start)?;
        let span = self.span(start);
        let written = self.source.get(written..self.at).unwrap_or(&[]);
        if written.starts_with(b"-") && written != b"-" {
            // `>&-` and a word to bash.
            return self.opaque(start, Cause::Descriptor);
        }
        let Some(known) = target.known() else {
            return self.opaque(start, Cause::Descriptor);
        };
        let digits = known.strip_suffix(b"-").unwrap_or(known);
        let kind = if digits.iter().all(u8::is_ascii_digit) {
            Redirect::Free
        } else if output && known.iter().all(|&b| is_name(b) || b"/.-+,@%:".contains(&b)) {
            // bash expands the name twice.
            Redirect::Write
        } else {
            return self.opaque(start, Cause::Descriptor);
        };
        Ok(Redirection { kind, target, span })
    }

    /// `<<`, `<<-` and `<<<`.
    fn here(&mut self, start: usize) -> Parse<Redirection> {
        for _ in 0..2 {
            self.peek();
            self.bump();
        }
        if self.continues() {
            // `<<` `-` to some shells, `<<-` to others.
            return self.opaque(start, Cause::HereDocument);
        }
        if self.eat(b'<') {
            let target = self.target(start)?;
            return Ok(Redirection { kind: Redirect::Free, target, span: self.span(start) });
        }
        let strip_tabs = self.eat(b'-');
        self.blanks();
        let (delimiter, quoted) = self.delimiter(start)?;
        self.pending.push(heredoc::Pending { delimiter, quoted, strip_tabs });
        Ok(Redirection { kind: Redirect::Free, target: Word::default(), span: self.span(start) })
    }
}
