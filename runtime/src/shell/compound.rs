//! Compound commands: groups, subshells, conditions, loops, cases.

use super::words::is_meta;
use super::{Cause, Parse, Parser, Word};

/// Words that a shell takes for more than a command's name.
pub(super) const RESERVED: [&str; 20] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "in", "select", "function", "coproc", "!", "{", "}", "time",
];

impl Parser<'_> {
    /// Whether one of [`RESERVED`] may stand at the cursor: a look at the word, where no
    /// line continuation is in it.
    fn may_be_reserved(&self) -> bool {
        let rest = self.source.get(self.at..self.end).unwrap_or(&[]);
        let letter = |b: &&u8| b.is_ascii_lowercase() || matches!(b, b'{' | b'}' | b'!');
        let length = rest.iter().take_while(letter).count();
        match rest.get(length) {
            Some(b'\\') => true,
            Some(&next) if !is_meta(next) => false,
            _ => {
                let word = rest.get(..length).unwrap_or(&[]);
                RESERVED.iter().any(|r| r.as_bytes() == word)
            }
        }
    }

    /// One command: compound or simple. The cursor stands at its first byte.
    pub(super) fn command(&mut self) -> Parse {
        if self.peek() != Some(b'(') && !self.may_be_reserved() {
            return self.simple();
        }
        let start = self.at;
        let compound = match self.peek() {
            Some(b'(') if self.peek_second() == Some(b'(') => {
                return self.opaque(start, Cause::Arithmetic);
            }
            Some(b'(') => {
                self.bump();
                self.group(start, &[])?;
                self.eat(b')') || return self.opaque(start, Cause::Unterminated)
            }
            _ if self.eat_reserved("{") => {
                self.group(start, &["}"])?;
                self.eat_reserved("}") || return self.opaque(start, Cause::Unterminated)
            }
            _ if self.eat_reserved("if") => self.condition(start)?,
            _ if self.eat_reserved("while") || self.eat_reserved("until") => {
                self.loops = self.loops.saturating_add(1);
                self.section(start, "do")?;
                self.section(start, "done")?;
                self.loops = self.loops.saturating_sub(1);
                true
            }
            _ if self.eat_reserved("for") => self.each(start)?,
            // A POSIX shell runs it as a program.
            _ if self.reserved("select") => return self.opaque(start, Cause::Syntax),
            _ if self.eat_reserved("case") => self.case(start)?,
            _ if self.reserved("function") => return self.opaque(start, Cause::Function),
            _ if self.reserved("coproc") => return self.opaque(start, Cause::Coprocess),
            _ => false,
        };
        if !compound {
            let stray = RESERVED.iter().filter(|r| **r != "time" && **r != "in");
            if stray.clone().any(|r| self.reserved(r)) {
                return self.opaque(start, Cause::Syntax);
            }
            return self.simple();
        }
        let mut redirected = false;
        loop {
            self.blanks();
            match self.redirection()? {
                Some(redirection) => self.script.redirections.push(redirection),
                None => break,
            }
            redirected = true;
        }
        match self.peek() {
            None => Ok(()),
            Some(byte) if is_meta(byte) && byte != b'(' => Ok(()),
            Some(_) => {
                // `} word` and the like.
                if !redirected && RESERVED.iter().any(|r| self.reserved(r)) {
                    Ok(())
                } else {
                    self.opaque(start, Cause::Syntax)
                }
            }
        }
    }

    /// A list that must not be empty.
    fn group(&mut self, start: usize, terminators: &[&str]) -> Parse {
        self.enter()?;
        let before = self.script.commands.len();
        let redirections = self.script.redirections.len();
        self.list(terminators)?;
        self.document_is_last()?;
        self.leave();
        if self.script.commands.len() == before && self.script.redirections.len() == redirections {
            return self.opaque(start, Cause::Syntax);
        }
        Ok(())
    }

    /// A list and the reserved word that ends it.
    fn section(&mut self, start: usize, end: &str) -> Parse {
        self.group(start, &[end])?;
        if self.eat_reserved(end) { Ok(()) } else { self.opaque(start, Cause::Unterminated) }
    }

    /// Past `if`: to `fi`.
    fn condition(&mut self, start: usize) -> Parse<bool> {
        self.section(start, "then")?;
        loop {
            self.group(start, &["elif", "else", "fi"])?;
            if self.eat_reserved("elif") {
                self.section(start, "then")?;
            } else if self.eat_reserved("else") {
                self.section(start, "fi")?;
                return Ok(true);
            } else if self.eat_reserved("fi") {
                return Ok(true);
            } else {
                return self.opaque(start, Cause::Unterminated);
            }
        }
    }

    /// Past `for`: name, words, body.
    fn each(&mut self, start: usize) -> Parse<bool> {
        self.blanks();
        if self.peek() == Some(b'(') {
            return self.opaque(start, Cause::Arithmetic);
        }
        let at = self.at;
        if self.peek().is_none_or(is_meta) {
            return self.opaque(start, Cause::Syntax);
        }
        let name = self.word()?;
        let Some(name) = name.known().filter(|n| n.iter().all(|&b| super::words::is_name(b)))
        else {
            return self.opaque(start, Cause::Syntax);
        };
        if super::builtins::special(name) {
            return self.opaque(start, Cause::Arithmetic);
        }
        let entry = (name.to_vec(), self.span(at));
        self.script.variables.push(entry);
        self.newlines()?;
        if self.eat_reserved("in") {
            loop {
                self.blanks();
                match self.peek() {
                    Some(b'<' | b'>') if self.peek_second() == Some(b'(') => {}
                    Some(b';' | b'\n') => break,
                    Some(byte) if !is_meta(byte) => {}
                    _ => return self.opaque(start, Cause::Syntax),
                }
                let _: Word = self.word()?;
            }
        }
        self.blanks();
        if self.peek() == Some(b';') {
            self.bump();
        }
        self.newlines()?;
        if !self.eat_reserved("do") {
            return self.opaque(start, Cause::Syntax);
        }
        self.loops = self.loops.saturating_add(1);
        self.section(start, "done")?;
        self.loops = self.loops.saturating_sub(1);
        Ok(true)
    }

    /// Past `case`: word, patterns, lists.
    fn case(&mut self, start: usize) -> Parse<bool> {
        self.blanks();
        if self.peek().is_none_or(is_meta) {
            return self.opaque(start, Cause::Syntax);
        }
        let _: Word = self.word()?;
        self.newlines()?;
        if !self.eat_reserved("in") {
            return self.opaque(start, Cause::Syntax);
        }
        self.enter()?;
        loop {
            self.newlines()?;
            if self.eat_reserved("esac") {
                self.leave();
                return Ok(true);
            }
            self.eat(b'(');
            loop {
                self.blanks();
                // bash 5.2 writes `(esac)` out as `esac)` in a substitution.
                if self.peek().is_none_or(is_meta) || self.reserved("esac") {
                    return self.opaque(start, Cause::Syntax);
                }
                let _: Word = self.word()?;
                self.blanks();
                match self.peek() {
                    Some(b'|') if self.peek_second() != Some(b'|') => self.bump(),
                    Some(b')') => break,
                    _ => return self.opaque(start, Cause::Syntax),
                }
            }
            self.bump();
            self.list(&["esac"])?;
            match self.peek() {
                Some(b';') => {
                    // `;;`, `;&` or `;;&`.
                    self.bump();
                    self.peek();
                    self.bump();
                    self.eat(b'&');
                }
                _ if self.reserved("esac") => {}
                _ => return self.opaque(start, Cause::Unterminated),
            }
        }
    }
}
