//! Words, simple commands and redirections.

use super::{Assignment, Cause, Parse, Parser, Part, Parts, Simple, Word};
use alloc::vec::Vec;

/// A word under construction.
#[derive(Default)]
pub(super) struct Builder {
    parts: Parts,
    /// Some part of it is quoted.
    pub(super) quoted: bool,
    /// Some quoted part of it may be any number of arguments, or none.
    many: bool,
    /// Everything that follows is unknown (a brace expansion or a class).
    rest_unknown: bool,
    braces_seen: bool,
    class_seen: bool,
    /// The first part that may hold a `[` that counts.
    opens_class: Option<usize>,
}

impl Builder {
    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes(&[byte]);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        if self.rest_unknown {
            return;
        }
        if let Some(Part::Known(known)) = self.parts.last_mut() {
            known.extend_from_slice(bytes);
        } else {
            self.parts.push(Part::Known(bytes.to_vec()));
        }
    }

    pub(super) fn part(&mut self, part: Part) {
        if !self.rest_unknown {
            if matches!(part, Part::Unknown { quoted: false }) {
                self.opens_class = self.opens_class.or(Some(self.parts.len()));
            }
            self.parts.push(part);
        } else if matches!(part, Part::Unknown { quoted: false })
            && let Some(last) = self.parts.last_mut()
        {
            *last = part;
        }
    }

    /// An expansion between double quotes; where `many`, of several values.
    pub(super) fn unknown_many(&mut self, quoted: bool, many: bool) {
        self.many |= many;
        self.unknown(quoted && !many);
    }

    pub(super) fn unknown(&mut self, quoted: bool) {
        if self.parts.last() != Some(&Part::Unknown { quoted }) {
            self.part(Part::Unknown { quoted });
        }
    }

    /// The rest of the word is part of an expansion of many values.
    fn open_ended(&mut self) {
        self.unknown(false);
        self.rest_unknown = true;
    }

    /// A `]` without quotes: an unknown part before it may have opened a class, which
    /// then takes in all that stands between.
    fn close_class(&mut self) {
        match self.opens_class {
            Some(at) if !self.rest_unknown => {
                self.parts.truncate(at.saturating_add(1));
                self.rest_unknown = true;
            }
            _ => self.byte(b']'),
        }
    }

    /// Whether a quoted part may be several arguments.
    pub(super) fn is_many(&self) -> bool {
        self.many
    }

    fn is_empty(&self) -> bool {
        self.parts.is_empty() && !self.quoted
    }

    fn finish(self, span: core::ops::Range<usize>) -> Word {
        let empty = |p: &Part| match p {
            Part::Unknown { quoted } => self.many || !quoted,
            Part::Known(bytes) => self.many && bytes.is_empty(),
            Part::Either(..) | Part::Home => false,
        };
        let only_unknown = !self.parts.is_empty() && self.parts.iter().all(empty);
        let may_vanish = only_unknown && (self.many || !self.quoted);
        Word { span, parts: self.parts, may_vanish }
    }
}

/// Whether these words are `time` and its options; if so, whether they end in the
/// last one that it takes.
fn timed(words: &[Word]) -> Option<bool> {
    if words.len() > 3 {
        return None;
    }
    if words.first().and_then(Word::known) != Some(b"time") {
        return None;
    }
    let known = words.iter().map(Word::known).collect::<Option<Vec<_>>>()?;
    match known[..] {
        [b"time"] | [b"time", b"-p"] => Some(false),
        [b"time", b"--"] | [b"time", b"-p", b"--"] => Some(true),
        _ => None,
    }
}

/// Bytes that end a word where they are not quoted.
pub(super) const fn is_meta(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

/// Bytes of a word that mean nothing but themselves, wherever they stand in it.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'_' | b'.' | b'/' | b',' | b'@' | b'%' | b'+')
}

const fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

pub(super) const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl Parser<'_> {
    /// Whether a reserved word stands at the cursor, by itself and unquoted.
    #[inline]
    pub(super) fn reserved(&mut self, word: &str) -> bool {
        // Asked of every word about many: most begin otherwise.
        self.peek() == word.bytes().next() && self.is_reserved(word)
    }

    fn is_reserved(&mut self, word: &str) -> bool {
        let here = self.at;
        let mut same = true;
        for byte in word.bytes() {
            same = self.peek() == Some(byte);
            if !same {
                break;
            }
            self.bump();
        }
        let ends = self.peek().is_none_or(is_meta);
        self.at = here;
        same && ends
    }

    pub(super) fn eat_reserved(&mut self, word: &str) -> bool {
        let found = self.reserved(word);
        if found {
            for _ in word.bytes() {
                self.peek();
                self.bump();
            }
        }
        found
    }

    /// A simple command. The cursor stands at its first byte.
    pub(super) fn simple(&mut self) -> Parse {
        self.peek();
        let start = self.at;
        let mut command =
            Simple { depth: self.depth, repeats: self.loops > 0, ..Simple::default() };
        // Whether the last word is `]]` without quotes.
        let mut literal = false;
        // Whether the command ends here to shells that do not know `&>`.
        let mut ended = false;
        loop {
            self.blanks();
            let here = self.at;
            if self.peek() == Some(b'&') && self.peek_second() == Some(b'>') {
                ended = true;
            }
            if let Some(redirection) = self.redirection()? {
                let first = command.words.first().and_then(Word::known);
                let last = command.words.last().and_then(Word::known);
                if first == Some(b"[[") && last != Some(b"]]") {
                    return self.opaque(here, Cause::Conditional);
                }
                command.redirections.push(redirection);
                continue;
            }
            match self.peek() {
                None => break,
                Some(b'(') => {
                    let alone = command.words.len() == 1 && command.assignments.is_empty();
                    return self.opaque(here, if alone { Cause::Function } else { Cause::Syntax });
                }
                Some(b'<' | b'>') if self.peek_second() == Some(b'(') => {}
                Some(byte) if is_meta(byte) => break,
                Some(_) => {}
            }
            if ended {
                return self.opaque(here, Cause::Syntax);
            }
            if command.words.is_empty() {
                if let Some(assignment) = self.assignment()? {
                    command.assignments.push(assignment);
                    continue;
                }
                let prefixed = !command.assignments.is_empty() || !command.redirections.is_empty();
                if prefixed && super::compound::RESERVED.iter().any(|r| self.reserved(r)) {
                    return self.opaque(here, Cause::Syntax);
                }
            } else if timed(&command.words).is_some() {
                // To bash `time` is a reserved word, and a command follows.
                let reserved = super::compound::RESERVED.iter().any(|r| self.reserved(r));
                if reserved || self.reserved("[[") || self.assignment()?.is_some() {
                    return self.opaque(here, Cause::Syntax);
                }
            }
            literal = self.reserved("]]");
            let matching = self.reserved("=~");
            let timed = timed(&command.words);
            let option = timed == Some(false) && {
                let first = command.words.len() == 1;
                self.reserved("--") || (first && self.reserved("-p"))
            };
            let word = self.word()?;
            let dashed = || word.known().is_some_and(|k| k.starts_with(b"-"));
            if timed.is_some() && !option && dashed() {
                // An option to some, to bash the command's name.
                return self.opaque(here, Cause::Syntax);
            }
            if word.known().is_some_and(|k| k.starts_with(b"{") && k.ends_with(b"}"))
                && matches!(self.peek(), Some(b'<' | b'>'))
            {
                // `{name}>` is a descriptor to bash, a word to other shells.
                return self.opaque(here, Cause::Descriptor);
            }
            if matching && command.words.first().and_then(Word::known) == Some(b"[[") {
                return self.opaque(here, Cause::Conditional);
            }
            command.words.push(word);
        }
        command.span = self.span(start);
        if command.words.is_empty()
            && command.assignments.is_empty()
            && command.redirections.is_empty()
        {
            return self.opaque(start, Cause::Syntax);
        }
        // What a shell takes for `[[ … ]]` another runs as a program.
        if command.words.first().and_then(Word::known) == Some(b"[[") {
            self.conditional(&command, literal)?;
        }
        let opaque = super::builtins::evaluates(&command.words);
        self.script.commands.push(command);
        if opaque { self.opaque(start, Cause::Builtin) } else { Ok(()) }
    }

    /// `[[ … ]]` of plain words only, none of which is evaluated as a number.
    fn conditional(&self, command: &Simple, literal: bool) -> Parse {
        const EVALUATES: [&[u8]; 8] =
            [b"-eq", b"-ne", b"-lt", b"-le", b"-gt", b"-ge", b"-v", b"-R"];
        let closed = literal && command.words.last().and_then(Word::known) == Some(b"]]");
        let plain = command.words.iter().all(|w| w.known().is_none_or(|k| !EVALUATES.contains(&k)));
        let unknown_operator = command.words.iter().any(|w| w.may_vanish);
        if closed && plain && !unknown_operator {
            return Ok(());
        }
        self.opaque(command.span.start, Cause::Conditional)
    }

    /// `NAME=value`, if one stands here.
    fn assignment(&mut self) -> Parse<Option<Assignment>> {
        self.peek();
        let start = self.at;
        let rest = self.source.get(start..self.end).unwrap_or(&[]);
        // Most words are none, as what follows a name tells.
        match rest.iter().find(|&&b| !is_name(b)) {
            Some(b'=' | b'+' | b'[' | b'\\' | 0x80..) => {}
            _ => return Ok(None),
        }
        let mut name = Vec::new();
        while let Some(byte) = self.peek() {
            let starts = is_name_start(byte) || !byte.is_ascii();
            if !starts && (name.is_empty() || !is_name(byte)) {
                break;
            }
            name.push(byte);
            self.bump();
        }
        if !name.is_ascii() {
            // Whether these are letters of a name is for the locale to say.
            if matches!(self.peek(), Some(b'=' | b'+' | b'[')) {
                return self.opaque(start, Cause::Syntax);
            }
            self.at = start;
            return Ok(None);
        }
        let appends =
            !name.is_empty() && self.peek() == Some(b'+') && self.peek_second() == Some(b'=');
        if appends {
            // A command of that name to a POSIX shell.
            return self.opaque(start, Cause::Syntax);
        }
        match self.peek() {
            Some(b'=') if !name.is_empty() => self.bump(),
            Some(b'[') if !name.is_empty() && !self.plain_subscript() => {
                return self.opaque(start, Cause::Array);
            }
            _ => {
                self.at = start;
                return Ok(None);
            }
        }
        if self.peek() == Some(b'(') {
            return self.opaque(start, Cause::Array);
        }
        let value = match self.peek() {
            None => Word::default(),
            Some(b'<' | b'>') if self.peek_second() == Some(b'(') => self.word()?,
            Some(byte) if is_meta(byte) => Word::default(),
            Some(_) => self.word()?,
        };
        if super::builtins::special(&name) {
            return self.opaque(start, Cause::Arithmetic);
        }
        Ok(Some(Assignment { name, value, span: self.span(start) }))
    }

    /// Whether what follows `NAME[` at the place of a command is plain text up to
    /// its bracket, and no element of an array is set. To bash everything up to
    /// the bracket is one word, blanks and separators included.
    fn plain_subscript(&self) -> bool {
        let rest = self.source.get(self.at.saturating_add(1)..self.end).unwrap_or(&[]);
        let rest = rest.get(..rest.len().min(256)).unwrap_or(rest);
        let plain = |b: u8| is_name(b) || b"-+.,:/*?^!@%".contains(&b);
        let length = rest.iter().position(|&b| !plain(b));
        let behind = length.and_then(|n| rest.get(n..)).unwrap_or(&[]);
        let sets = |b: Option<&u8>| matches!(b, None | Some(b'=' | b'+' | b'\\'));
        match behind {
            [b']'] => true,
            [b']', after @ ..] => !sets(after.first()),
            _ => false,
        }
    }

    /// A word; the cursor stands at its first byte, which ends no word.
    pub(super) fn word(&mut self) -> Parse<Word> {
        self.peek();
        let start = self.at;
        let mut b = Builder::default();
        // A tilde means a home directory at the start, and, to some shells,
        // behind `=` and `:`.
        let mut tilde = true;
        while let Some(byte) = self.peek() {
            // Bytes that mean themselves, together.
            let rest = self.source.get(self.at..self.end).unwrap_or(&[]);
            let run = rest.iter().take_while(|&&b| is_plain(b)).count();
            if run > 0 {
                b.bytes(rest.get(..run).unwrap_or(&[]));
                self.at = self.at.saturating_add(run);
                tilde = false;
                continue;
            }
            let substitutes = matches!(byte, b'<' | b'>') && self.peek_second() == Some(b'(');
            if is_meta(byte) && !substitutes {
                break;
            }
            let at_tilde = core::mem::replace(&mut tilde, matches!(byte, b'=' | b':'));
            match byte {
                b'<' | b'>' => {
                    self.bump();
                    let before = self.script.commands.len();
                    self.substitution()?;
                    if self.script.commands.len() == before {
                        // No word at all to some versions of bash.
                        return self.opaque(start, Cause::Syntax);
                    }
                    b.unknown(true);
                }
                b'\'' => self.single(&mut b)?,
                b'"' => self.double(&mut b)?,
                b'\\' => {
                    self.bump();
                    let Some(next) = self.raw(0) else {
                        return self.opaque(start, Cause::Backslash);
                    };
                    self.bump();
                    b.quoted = true;
                    b.byte(next);
                }
                b'$' => self.dollar(&mut b, false)?,
                b'`' => self.backquotes(&mut b, false)?,
                b'*' | b'?' => {
                    self.bump();
                    b.unknown(false);
                }
                b'[' => {
                    self.bump();
                    if !b.class_seen && self.rest_of_word_has(|rest| rest.contains(&b']')) {
                        b.open_ended();
                    } else {
                        b.byte(byte);
                    }
                    b.class_seen = true;
                }
                b'{' => {
                    self.bump();
                    // A continuation may stand between the dots.
                    let two = |w: &[u8]| w == b".." || w == b"\\\n";
                    let expands = |rest: &[u8]| {
                        rest.contains(&b'}') && (rest.contains(&b',') || rest.windows(2).any(two))
                    };
                    if !b.braces_seen && self.rest_of_word_has(expands) {
                        b.open_ended();
                    } else {
                        b.byte(byte);
                    }
                    b.braces_seen = true;
                }
                b'~' if at_tilde => self.tilde(&mut b)?,
                b']' => {
                    self.bump();
                    b.close_class();
                }
                _ => {
                    self.bump();
                    b.byte(byte);
                }
            }
        }
        if b.is_empty() {
            return self.opaque(start, Cause::Syntax);
        }
        Ok(b.finish(self.span(start)))
    }

    /// Looks ahead over what might be this word. Done at most once a word for
    /// each question.
    fn rest_of_word_has(&self, test: impl Fn(&[u8]) -> bool) -> bool {
        const MOST: usize = 512;
        let rest = self.source.get(self.at..self.end).unwrap_or(&[]);
        let near = rest.get(..MOST).unwrap_or(rest);
        // Up to the first blank; quoted blanks may hide more, so with any quotes
        // all that is near counts. What a substitution gives may hold anything.
        let end = near.iter().position(|&b| is_meta(b)).unwrap_or(near.len());
        let word = near.get(..end).unwrap_or(near);
        let substitutes = matches!(near.get(end..), Some([b'<' | b'>', b'(', ..]));
        if substitutes || word.iter().any(|b| b"$`".contains(b)) {
            return true;
        }
        let plain = end < MOST && !word.iter().any(|b| b"'\"\\".contains(b));
        if plain { test(word) } else { rest.len() > MOST || test(near) }
    }

    fn tilde(&mut self, b: &mut Builder) -> Parse {
        let first = b.is_empty();
        self.bump();
        let mut length = 0usize;
        while self.raw(length).is_some_and(|c| !is_meta(c) && !b"/:'\"\\$`*?[{".contains(&c)) {
            length = length.saturating_add(1);
        }
        let next = self.raw(length);
        if next == Some(b'\\') && self.raw(length.saturating_add(1)) == Some(b'\n') {
            // What is joined may still be part of the name.
            return self.opaque(self.at, Cause::Expansion);
        }
        let substitutes = matches!(next, Some(b'<' | b'>'))
            && self.raw(length.saturating_add(1)).is_some_and(|c| c == b'(' || c == b'\\');
        let ends = next.is_none_or(|c| c == b'/' || is_meta(c)) && !substitutes;
        if length == 0 && first && ends {
            b.part(Part::Home);
        } else {
            // Somebody's home, the working directory, or the text itself.
            self.at = self.at.saturating_add(length);
            b.unknown(true);
        }
        Ok(())
    }

    fn single(&mut self, b: &mut Builder) -> Parse {
        let start = self.at;
        self.bump();
        let rest = self.source.get(self.at..self.end).unwrap_or(&[]);
        let Some(length) = rest.iter().position(|&c| c == b'\'') else {
            self.at = self.end;
            return self.opaque(start, Cause::Unterminated);
        };
        b.quoted = true;
        b.bytes(rest.get(..length).unwrap_or(&[]));
        self.at = self.at.saturating_add(length).saturating_add(1);
        Ok(())
    }

    pub(super) fn double(&mut self, b: &mut Builder) -> Parse {
        let start = self.at;
        self.bump();
        b.quoted = true;
        if b.parts.is_empty() {
            b.bytes(b"");
        }
        loop {
            match self.peek() {
                None => return self.opaque(start, Cause::Unterminated),
                Some(b'"') => {
                    self.bump();
                    return Ok(());
                }
                Some(_) => self.quoted_byte(b, b"$`\"\\")?,
            }
        }
    }

    /// One byte or expansion between double quotes, or in a here-document;
    /// `escapable` is what a backslash takes its meaning from.
    pub(super) fn quoted_byte(&mut self, b: &mut Builder, escapable: &[u8]) -> Parse {
        match self.peek() {
            Some(b'$') => self.dollar(b, true),
            Some(b'`') => self.backquotes(b, true),
            Some(b'\\') => {
                self.bump();
                match self.raw(0) {
                    Some(next) if escapable.contains(&next) => {
                        self.bump();
                        b.byte(next);
                    }
                    _ => b.byte(b'\\'),
                }
                Ok(())
            }
            Some(byte) => {
                self.bump();
                b.byte(byte);
                Ok(())
            }
            None => Ok(()),
        }
    }
}
