//! Here-documents: their delimiters, and their bodies once the line ends.

use super::words::{Builder, is_meta};
use super::{Cause, Parse, Parser};
use alloc::vec::Vec;

/// A here-document whose body is still to come.
pub(super) struct Pending {
    pub(super) delimiter: Vec<u8>,
    pub(super) quoted: bool,
    pub(super) strip_tabs: bool,
}

impl Parser<'_> {
    /// The word after `<<`, and whether any of it is quoted.
    pub(super) fn delimiter(&mut self, start: usize) -> Parse<(Vec<u8>, bool)> {
        let (mut text, mut quoted) = (Vec::new(), false);
        loop {
            if self.continues() {
                return self.opaque(start, Cause::HereDocument);
            }
            match self.peek() {
                Some(b'$' | b'`') => return self.opaque(start, Cause::HereDocument),
                // To bash part of the delimiter.
                Some(b'<' | b'>') if self.peek_second() == Some(b'(') => {
                    return self.opaque(start, Cause::HereDocument);
                }
                Some(quote @ (b'\'' | b'"')) => {
                    quoted = true;
                    self.bump();
                    let rest = self.source.get(self.at..self.end).unwrap_or(&[]);
                    let Some(length) = rest.iter().position(|&b| b == quote) else {
                        return self.opaque(start, Cause::Unterminated);
                    };
                    let inner = rest.get(..length).unwrap_or(&[]);
                    if inner.iter().any(|b| b"\\$`\n".contains(b)) {
                        return self.opaque(start, Cause::HereDocument);
                    }
                    text.extend_from_slice(inner);
                    self.at = self.at.saturating_add(length).saturating_add(1);
                }
                Some(b'\\') => {
                    quoted = true;
                    self.bump();
                    let Some(next) = self.raw(0) else {
                        return self.opaque(start, Cause::Backslash);
                    };
                    self.bump();
                    text.push(next);
                }
                Some(byte) if !is_meta(byte) => {
                    text.push(byte);
                    self.bump();
                }
                _ => break,
            }
        }
        // Delimiters of other bytes are read in too many ways.
        let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-.+:%@!,".contains(b);
        if text.is_empty() || !text.iter().all(plain) {
            return self.opaque(start, Cause::HereDocument);
        }
        Ok((text, quoted))
    }

    /// Refuses a document inside a substitution with more commands than its own
    /// pipeline behind it: bash 5.2 writes the commands of a substitution out and
    /// reads them again, and loses separators behind a document.
    pub(super) fn document_is_last(&self) -> Parse {
        if self.substitutions > 0 && !self.pending.is_empty() {
            return self.opaque(self.at, Cause::HereDocument);
        }
        Ok(())
    }

    /// Reads the bodies that are due. The cursor stands behind a newline.
    pub(super) fn here_documents(&mut self) -> Parse {
        let due = core::mem::take(&mut self.pending);
        let any = !due.is_empty();
        for document in due {
            let start = self.at;
            let body_end = loop {
                let rest = self.source.get(self.at..self.end).unwrap_or(&[]);
                if rest.is_empty() {
                    // Shells read on to the end, with a warning.
                    break self.at;
                }
                let length = rest.iter().position(|&b| b == b'\n');
                let line = rest.get(..length.unwrap_or(rest.len())).unwrap_or(rest);
                let stripped = line.iter().position(|&b| b != b'\t').unwrap_or(line.len());
                let text =
                    if document.strip_tabs { line.get(stripped..).unwrap_or(&[]) } else { line };
                let here = self.at;
                self.at = self
                    .at
                    .saturating_add(line.len())
                    .saturating_add(usize::from(length.is_some()));
                if text == document.delimiter {
                    break here;
                }
                // Inside a substitution the delimiter may be ended by `)`.
                let close = text.strip_prefix(&document.delimiter[..]);
                if close.is_some_and(|c| c.first().is_some_and(|b| b" \t);&|<>(".contains(b)))
                    && self.depth > 0
                {
                    return self.opaque(here, Cause::HereDocument);
                }
                let backslashes = line.iter().rev().take_while(|&&b| b == b'\\').count();
                if !document.quoted && backslashes % 2 == 1 {
                    return self.opaque(here, Cause::HereDocument);
                }
            };
            if !document.quoted {
                self.body(start, body_end)?;
            }
        }
        if any && self.substitutions > 0 {
            let rest = self.source.get(self.at..self.end).unwrap_or(&[]);
            if rest.iter().find(|b| !b" \t\n".contains(b)) != Some(&b')') {
                return self.opaque(self.at, Cause::HereDocument);
            }
        }
        Ok(())
    }

    /// The expansions of a body that is not quoted.
    fn body(&mut self, start: usize, end: usize) -> Parse {
        let (at, outer_end) = (self.at, self.end);
        (self.at, self.end) = (start, end);
        let mut b = Builder::default();
        while self.peek().is_some() {
            if let Err(opaque) = self.quoted_byte(&mut b, b"$`\\") {
                (self.at, self.end) = (at, outer_end);
                return Err(opaque);
            }
        }
        (self.at, self.end) = (at, outer_end);
        Ok(())
    }
}
