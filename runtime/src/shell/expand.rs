//! `$…` and backquotes: what has a value only when the command runs, and the
//! commands inside.

use super::words::{Builder, is_name};
use super::{Cause, Parse, Parser, Part};
use alloc::vec::Vec;

impl Parser<'_> {
    /// What begins with `$`; the cursor stands on it.
    pub(super) fn dollar(&mut self, b: &mut Builder, quoted: bool) -> Parse {
        let start = self.at;
        self.bump();
        if self.continues() {
            // Not every shell joins what a continuation divides here.
            return self.opaque(start, Cause::Expansion);
        }
        match self.peek() {
            Some(b'(') if self.peek_second() == Some(b'(') && self.raw(1) != Some(b'(') => {
                self.opaque(start, Cause::Arithmetic)
            }
            Some(b'(') if self.peek_second() == Some(b'(') => self.arithmetic(start, b, quoted),
            Some(b'(') => {
                self.substitution()?;
                b.unknown(quoted);
                Ok(())
            }
            Some(b'{') => self.parameter(start, b, quoted),
            Some(b'[') => self.opaque(start, Cause::Arithmetic),
            Some(b'\'') if !quoted => self.ansi_c(start, b),
            Some(b'"') if !quoted => {
                // Translated by some shells; a `$` before a string to others.
                let mut inner = Builder::default();
                self.double(&mut inner)?;
                b.quoted = true;
                b.unknown_many(true, inner.is_many());
                Ok(())
            }
            Some(byte) if is_name(byte) || !byte.is_ascii() => {
                if byte.is_ascii_digit() {
                    self.bump();
                } else {
                    // Whether bytes outside ASCII are letters is for the locale
                    // to say: part of what is unknown in either case.
                    while self.peek().is_some_and(|c| is_name(c) || !c.is_ascii()) {
                        self.bump();
                    }
                }
                b.unknown(quoted);
                Ok(())
            }
            Some(byte @ (b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) => {
                self.bump();
                if byte == b'$' && self.peek().is_some_and(|c| b"({[".contains(&c)) {
                    // Where the string ends, bash finds out by the second `$`, and what
                    // it expands is the first.
                    return self.opaque(start, Cause::Expansion);
                }
                b.unknown_many(quoted, quoted && byte == b'@');
                Ok(())
            }
            _ => {
                b.byte(b'$');
                Ok(())
            }
        }
    }

    /// `( … )` of a substitution; the cursor stands on the parenthesis.
    pub(super) fn substitution(&mut self) -> Parse {
        let start = self.at;
        self.peek();
        self.bump();
        self.enter()?;
        let outer = core::mem::take(&mut self.pending);
        let line_starts = self.at;
        self.substitutions = self.substitutions.saturating_add(1);
        self.list(&[])?;
        self.substitutions = self.substitutions.saturating_sub(1);
        if !self.pending.is_empty() {
            return self.opaque(start, Cause::HereDocument);
        }
        if !outer.is_empty() {
            // Which newline begins the outer document is for each shell to say.
            let inside = self.source.get(line_starts..self.at).unwrap_or(&[]);
            if inside.contains(&b'\n') {
                return self.opaque(start, Cause::HereDocument);
            }
        }
        self.pending = outer;
        self.leave();
        if self.eat(b')') { Ok(()) } else { self.opaque(start, Cause::Unterminated) }
    }

    /// `$((…))`, of numbers and operators only.
    fn arithmetic(&mut self, start: usize, b: &mut Builder, quoted: bool) -> Parse {
        for _ in 0..2 {
            self.peek();
            self.bump();
        }
        let mut open = 0usize;
        loop {
            match self.peek() {
                Some(b'(') => open = open.saturating_add(1),
                Some(b')') if open > 0 => open = open.saturating_sub(1),
                Some(b')') if self.peek_second() == Some(b')') => {
                    self.bump();
                    self.peek();
                    self.bump();
                    b.unknown(quoted);
                    return Ok(());
                }
                Some(byte) if byte.is_ascii_digit() || b" \t+-*/%".contains(&byte) => {}
                _ => return self.opaque(start, Cause::Arithmetic),
            }
            self.bump();
        }
    }

    /// `${…}`; the cursor stands on the brace.
    fn parameter(&mut self, start: usize, b: &mut Builder, quoted: bool) -> Parse {
        self.bump();
        if self.continues() {
            return self.opaque(start, Cause::Expansion);
        }
        let mut many = false;
        let length = self.peek() == Some(b'#') && self.peek_second().is_some_and(|c| c != b'}');
        if length {
            self.bump();
        }
        match self.peek() {
            Some(byte) if is_name(byte) => {
                while self.peek().is_some_and(is_name) {
                    self.bump();
                }
            }
            Some(byte @ (b'@' | b'*' | b'#' | b'?' | b'-' | b'$')) => {
                many = byte == b'@';
                self.bump();
            }
            _ => return self.opaque(start, Cause::Expansion),
        }
        if self.eat(b'[') {
            let mut index = Vec::new();
            while let Some(byte) = self.peek().filter(|&c| c != b']') {
                index.push(byte);
                self.bump();
                if index.len() > 20 {
                    return self.opaque(start, Cause::Array);
                }
            }
            let number = !index.is_empty() && index.iter().all(u8::is_ascii_digit);
            if !self.eat(b']') || !(number || index == b"@" || index == b"*") {
                return self.opaque(start, Cause::Array);
            }
            many |= index == b"@";
        }
        if self.peek() == Some(b'}') {
            self.bump();
            b.unknown_many(quoted, quoted && many);
            return Ok(());
        }
        if length {
            return self.opaque(start, Cause::Expansion);
        }
        let colon = self.eat(b':');
        match self.peek() {
            Some(b'-' | b'+' | b'?') => self.bump(),
            Some(b'#' | b'%') if !colon => self.bump(),
            Some(b'/' | b'^' | b',') if !colon => self.bump(),
            Some(byte) if colon && (byte.is_ascii_digit() || byte == b' ') => {
                // A substring by numbers.
                while self.peek().is_some_and(|c| c.is_ascii_digit() || b" :-".contains(&c)) {
                    self.bump();
                }
                if self.peek() != Some(b'}') {
                    return self.opaque(start, Cause::Arithmetic);
                }
            }
            // `=` sets a variable, `@` may run code, the rest is not known.
            _ => return self.opaque(start, Cause::Expansion),
        }
        many |= self.alternative(start, quoted)?;
        b.unknown_many(quoted, quoted && many);
        Ok(())
    }

    /// The word of an expansion, up to its brace: only the commands inside
    /// matter. Shells disagree on quotes in here, so there may be none between
    /// double quotes, and no line of a here-document's kind anywhere.
    fn alternative(&mut self, start: usize, quoted: bool) -> Parse<bool> {
        self.enter()?;
        let mut inner = Builder::default();
        loop {
            match self.peek() {
                None => return self.opaque(start, Cause::Unterminated),
                Some(b'}') => {
                    self.bump();
                    self.leave();
                    return Ok(inner.is_many());
                }
                Some(b'\'' | b'"' | b'\\') if quoted => {
                    return self.opaque(start, Cause::Expansion);
                }
                Some(b'\'' | b'\\' | b'{') => return self.opaque(start, Cause::Expansion),
                Some(b'"') => self.double(&mut inner)?,
                Some(b'<' | b'>') if self.peek_second() == Some(b'(') => {
                    return self.opaque(start, Cause::Expansion);
                }
                Some(_) => self.quoted_byte(&mut inner, b"")?,
            }
        }
    }

    /// `$'…'`: escapes to bash, a `$` before a plain string to other shells.
    fn ansi_c(&mut self, start: usize, b: &mut Builder) -> Parse {
        self.bump();
        let from = self.at;
        let mut value = Vec::new();
        loop {
            let Some(byte) = self.raw(0) else {
                return self.opaque(start, Cause::Unterminated);
            };
            self.bump();
            match byte {
                b'\'' => break,
                b'\\' => {
                    let Some(escape) = self.raw(0) else {
                        return self.opaque(start, Cause::Unterminated);
                    };
                    if escape == b'\'' {
                        // Here the other shells' string ends.
                        return self.opaque(start, Cause::Syntax);
                    }
                    self.bump();
                    self.escape(start, escape, &mut value)?;
                }
                _ => value.push(byte),
            }
        }
        let end = self.at.saturating_sub(1);
        let mut other = alloc::vec![b'$'];
        other.extend_from_slice(self.source.get(from..end).unwrap_or(&[]));
        b.quoted = true;
        b.part(Part::Either(value, other));
        Ok(())
    }

    /// One escape of `$'…'`, past its letter.
    fn escape(&mut self, start: usize, escape: u8, value: &mut Vec<u8>) -> Parse {
        let simple = match escape {
            b'a' => Some(7),
            b'b' => Some(8),
            b'e' | b'E' => Some(27),
            b'f' => Some(12),
            b'n' => Some(10),
            b'r' => Some(13),
            b't' => Some(9),
            b'v' => Some(11),
            b'\\' | b'"' | b'?' => Some(escape),
            _ => None,
        };
        if let Some(byte) = simple {
            value.push(byte);
            return Ok(());
        }
        let number = match escape {
            b'0'..=b'7' => {
                self.at = self.at.saturating_sub(1);
                self.number(8, 3)
            }
            b'x' => self.number(16, 2),
            // Characters by number depend on the locale; control characters by
            // letter are rare.
            _ => None,
        };
        match number {
            Some(n) if n & 0xFF != 0 => {
                value.push(u8::try_from(n & 0xFF).unwrap_or(b'?'));
                Ok(())
            }
            _ => self.opaque(start, Cause::Syntax),
        }
    }

    fn number(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut value = None::<u32>;
        for _ in 0..most {
            let Some(digit) = self.raw(0).and_then(|b| char::from(b).to_digit(radix)) else {
                break;
            };
            value = Some(value.unwrap_or(0).saturating_mul(radix).saturating_add(digit));
            self.bump();
        }
        value
    }

    /// A substitution in backquotes: its text, unescaped, is a script by itself.
    pub(super) fn backquotes(&mut self, b: &mut Builder, quoted: bool) -> Parse {
        let start = self.at;
        self.bump();
        let mut text = Vec::new();
        loop {
            let Some(byte) = self.raw(0) else {
                return self.opaque(start, Cause::Unterminated);
            };
            self.bump();
            match byte {
                b'`' => break,
                b'\\' => match self.raw(0) {
                    // Shells differ in when they join lines, and in where a quote
                    // between quotes is escaped.
                    Some(b'\n') => return self.opaque(start, Cause::Syntax),
                    Some(b'"') if quoted => return self.opaque(start, Cause::Syntax),
                    Some(next) if matches!(next, b'$' | b'`' | b'\\') => {
                        self.bump();
                        text.push(next);
                    }
                    _ => text.push(byte),
                },
                _ => text.push(byte),
            }
        }
        if !self.pending.is_empty() && text.contains(&b'\n') {
            return self.opaque(start, Cause::HereDocument);
        }
        self.enter()?;
        let span = self.span(start);
        let mut inner = Parser::new(&text);
        (inner.depth, inner.loops, inner.fixed) = (self.depth, self.loops, Some(span));
        let result = inner.list(&[]);
        let whole = inner.at >= inner.end && inner.pending.is_empty();
        let Parser { script, .. } = inner;
        self.script.commands.extend(script.commands);
        self.script.redirections.extend(script.redirections);
        self.script.variables.extend(script.variables);
        result?;
        if !whole {
            return self.opaque(start, Cause::Syntax);
        }
        self.leave();
        b.unknown(quoted);
        Ok(())
    }
}
