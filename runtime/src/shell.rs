//! A command string taken apart the way a shell would run it.
//!
//! The contract is soundness: a POSIX shell or bash, given the string, runs
//! nothing but the simple commands reported and opens nothing but the
//! redirections reported. What the splitter does not fully understand is
//! [`Opaque`], with its place and cause; that is always the safe answer, so
//! every unusual construct ends there rather than in a guess. Where dash and
//! bash read a string differently, what is reported covers both, or it is
//! opaque.
//!
//! Some builtins of bash run what their arguments say although no syntax shows
//! it (`test -v 'x[$(…)]'`), or change how later lines are read (`set -H`);
//! those are opaque too. What is left to whoever reads the commands: programs
//! and builtins that run their arguments (`eval`, `.`, `trap`, `command`), and
//! command words that are not known.
//!
//! A word is a row of parts. What is written out is known; a parameter, a
//! substitution, a glob stands for every value it could have. The commands
//! inside substitutions are reported like any others.
//!
//! One pass over the bytes by recursive descent, with a bound on nesting. After
//! an opaque place the splitter goes on at the next separator, so that what
//! follows is still searched for commands that are denied; nothing is allowed
//! on the strength of that. Cost: linear in the string.

mod builtins;
mod compound;
mod expand;
mod heredoc;
mod parts;
mod redirect;
mod words;

pub use parts::Parts;

use alloc::vec::Vec;
use core::ops::Range;

/// Longest string that is taken apart, in bytes.
pub const MAX_SCRIPT: usize = 1 << 20;
/// Deepest nesting of substitutions and compound commands.
pub const MAX_DEPTH: u16 = 48;
/// Places at which the splitter starts anew before it gives up.
const MAX_RESTARTS: usize = 32;

/// A string taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Every simple command, those inside substitutions before the command that
    /// holds them.
    pub commands: Vec<Simple>,
    /// Redirections of compound commands.
    pub redirections: Vec<Redirection>,
    /// What was not understood. Where there is anything, the rest of the
    /// script is good for finding denials only.
    pub opaque: Vec<Opaque>,
    /// Loop variables.
    pub variables: Vec<(Vec<u8>, Range<usize>)>,
}

/// A simple command: assignments, words, redirections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// Where it stands; inside backquotes, where those stand.
    pub span: Range<usize>,
    /// The command and its arguments; empty for assignments or redirections
    /// alone.
    pub words: Vec<Word>,
    /// Assignments before the command.
    pub assignments: Vec<Assignment>,
    /// Its redirections.
    pub redirections: Vec<Redirection>,
    /// How deep it is nested in substitutions and compound commands.
    pub depth: u16,
    /// Whether it may run more than once.
    pub repeats: bool,
}

/// One word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Where it stands.
    pub span: Range<usize>,
    /// Its parts in order.
    pub parts: Parts,
    /// Nothing of it is known and nothing quoted (but for `"$@"`): it may turn out
    /// to be no argument at all.
    pub may_vanish: bool,
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// These bytes.
    Known(Vec<u8>),
    /// The first in bash, the second in a POSIX shell.
    Either(Vec<u8>, Vec<u8>),
    /// The home directory.
    Home,
    /// Unknown bytes; not quoted, they may also end the argument and begin
    /// others.
    Unknown {
        /// Whether it stays within one argument.
        quoted: bool,
    },
}

impl Word {
    /// The word's value, where all of it is known.
    #[must_use]
    pub fn known(&self) -> Option<&[u8]> {
        match &self.parts[..] {
            [] => Some(b""),
            [Part::Known(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// A word with this value.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], span: Range<usize>) -> Word {
        Word { span, parts: Parts::one(Part::Known(bytes.to_vec())), may_vanish: false }
    }

    /// A word of which nothing is known, one argument or any number of them.
    #[must_use]
    pub fn unknown(quoted: bool, span: Range<usize>) -> Word {
        Word { span, parts: Parts::one(Part::Unknown { quoted }), may_vanish: !quoted }
    }
}

/// `NAME=value` before a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The name.
    pub name: Vec<u8>,
    /// The value.
    pub value: Word,
    /// Where it stands.
    pub span: Range<usize>,
}

/// What a redirection does with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// `<`: reads it.
    Read,
    /// `>`, `>>`, `>|`, `&>`, `>&file`: writes or creates it.
    Write,
    /// `<>`: both.
    ReadWrite,
    /// A descriptor's copy, or text given in place: opens no file.
    Free,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// What it does.
    pub kind: Redirect,
    /// The file, for the kinds that open one.
    pub target: Word,
    /// Where it stands.
    pub span: Range<usize>,
}

/// Why a place is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The string is longer than [`MAX_SCRIPT`].
    TooLong,
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// A NUL byte.
    Nul,
    /// The bytes 1 and 127, by which bash marks quoted characters: it may lose them, or
    /// what stands beside them its meaning.
    Mark,
    /// A quote, substitution or compound command that does not end.
    Unterminated,
    /// Something that a shell would call a syntax error, or that is not known.
    Syntax,
    /// A function definition.
    Function,
    /// Arithmetic that may evaluate more than numbers.
    Arithmetic,
    /// A parameter expansion that may run code or set a variable.
    Expansion,
    /// An array, or an element of one.
    Array,
    /// `[[ … ]]` that a POSIX shell would run differently.
    Conditional,
    /// A here-document that shells may read differently.
    HereDocument,
    /// A redirection to or from a descriptor that is not known.
    Descriptor,
    /// A coprocess.
    Coprocess,
    /// A backslash at the very end.
    Backslash,
    /// A builtin that may run what is in its arguments.
    Builtin,
}

impl Cause {
    /// For people.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Cause::TooLong => "the string is too long",
            Cause::TooDeep => "it is nested too deeply",
            Cause::Nul => "a NUL byte",
            Cause::Mark => "a control character that bash marks words with",
            Cause::Unterminated => "it does not end",
            Cause::Syntax => "it is not syntax that every shell reads alike",
            Cause::Function => "a function definition",
            Cause::Arithmetic => "arithmetic that may evaluate more than numbers",
            Cause::Expansion => "an expansion that may run code or set a variable",
            Cause::Array => "an array",
            Cause::Conditional => "a conditional that shells read differently",
            Cause::HereDocument => "a here-document that shells may read differently",
            Cause::Descriptor => "a descriptor that is not known",
            Cause::Coprocess => "a coprocess",
            Cause::Backslash => "a backslash at the end",
            Cause::Builtin => "a builtin that may run what is in its arguments",
        }
    }
}

/// A place that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// Where.
    pub span: Range<usize>,
    /// Why.
    pub cause: Cause,
}

/// Takes a command string apart.
#[must_use]
pub fn split(source: &[u8]) -> Script {
    let mut script = Script::default();
    let mut parser = Parser::new(source);
    if source.len() > MAX_SCRIPT {
        script.opaque.push(Opaque { span: 0..source.len(), cause: Cause::TooLong });
        return script;
    }
    if let Some(at) = source.iter().position(|&b| b == 0) {
        script.opaque.push(Opaque { span: at..at.saturating_add(1), cause: Cause::Nul });
        return script;
    }
    if let Some(at) = source.iter().position(|&b| b == 1 || b == 0x7f) {
        let span = at..at.saturating_add(1);
        parser.script.opaque.push(Opaque { span, cause: Cause::Mark });
    }
    for restart in 0..MAX_RESTARTS {
        match parser.list(&[]) {
            Ok(()) if parser.at >= parser.end => break,
            result => {
                // A stray terminator, or something not understood.
                let place = parser.at..parser.at.saturating_add(1).min(source.len());
                let stray = Opaque { span: place, cause: Cause::Syntax };
                parser.script.opaque.push(result.err().unwrap_or(stray));
                parser.restart(source);
            }
        }
        if parser.at >= parser.end || restart.saturating_add(1) == MAX_RESTARTS {
            break;
        }
    }
    parser.script
}

type Parse<T = ()> = Result<T, Opaque>;

/// The state of one descent over (part of) a string.
struct Parser<'s> {
    source: &'s [u8],
    at: usize,
    end: usize,
    script: Script,
    depth: u16,
    /// How many loops are around.
    loops: u16,
    /// How many `$(…)` and `<(…)` are around.
    substitutions: u16,
    pending: Vec<heredoc::Pending>,
    /// Spans are this one, for text that does not stand in the source as it is.
    fixed: Option<Range<usize>>,
}

impl<'s> Parser<'s> {
    fn new(source: &'s [u8]) -> Parser<'s> {
        Parser {
            source,
            at: 0,
            end: source.len(),
            script: Script::default(),
            depth: 0,
            loops: 0,
            substitutions: 0,
            pending: Vec::new(),
            fixed: None,
        }
    }

    fn span(&self, start: usize) -> Range<usize> {
        self.fixed.clone().unwrap_or(start..self.at.max(start))
    }

    fn opaque<T>(&self, start: usize, cause: Cause) -> Parse<T> {
        let end = self.at.max(start.saturating_add(1)).min(self.source.len());
        let span = self.fixed.clone().unwrap_or(start.min(end)..end);
        Err(Opaque { span, cause })
    }

    /// The byte at the cursor, past line continuations.
    fn peek(&mut self) -> Option<u8> {
        while self.continues() {
            self.at = self.at.saturating_add(2);
        }
        self.raw(0)
    }

    /// The byte after the one at the cursor, past line continuations.
    fn peek_second(&mut self) -> Option<u8> {
        self.peek()?;
        let here = self.at;
        self.at = self.at.saturating_add(1);
        let second = self.peek();
        self.at = here;
        second
    }

    /// Whether a line continuation stands at the cursor.
    fn continues(&self) -> bool {
        self.raw(0) == Some(b'\\') && self.raw(1) == Some(b'\n')
    }

    /// A byte as it stands.
    fn raw(&self, ahead: usize) -> Option<u8> {
        let at = self.at.saturating_add(ahead);
        if at < self.end { self.source.get(at).copied() } else { None }
    }

    fn bump(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    /// Takes a byte if it is next.
    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.bump();
        }
        found
    }

    fn enter(&mut self) -> Parse {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH { self.opaque(self.at, Cause::TooDeep) } else { Ok(()) }
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Skips blanks and comments, not newlines.
    fn blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.bump();
        }
        if self.peek() == Some(b'#') {
            // Every caller stands at the start of a word. Continuation lines do
            // not continue a comment.
            while self.raw(0).is_some_and(|b| b != b'\n') {
                self.bump();
            }
        }
    }

    /// Skips blanks, comments, and newlines with their here-documents.
    fn newlines(&mut self) -> Parse {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.bump();
            self.here_documents()?;
        }
    }

    /// Goes on behind the next separator after an opaque place.
    fn restart(&mut self, source: &'s [u8]) {
        self.source = source;
        self.end = source.len();
        self.depth = 0;
        self.loops = 0;
        self.substitutions = 0;
        self.pending.clear();
        self.fixed = None;
        let rest = source.get(self.at..).unwrap_or(&[]);
        let next = rest.iter().position(|b| b"\n;&|(){}`".contains(b));
        self.at = next.map_or(source.len(), |n| self.at.saturating_add(n).saturating_add(1));
    }

    /// A list of commands up to one of the reserved words, `)`, `;;` or the end.
    fn list(&mut self, terminators: &[&str]) -> Parse {
        loop {
            self.newlines()?;
            if self.ends_list(terminators) {
                return Ok(());
            }
            self.and_or()?;
            self.blanks();
            if !matches!(self.peek(), None | Some(b'\n')) {
                self.document_is_last()?;
            }
            match self.peek() {
                Some(b';') => {
                    if matches!(self.peek_second(), Some(b';' | b'&')) {
                        return Ok(());
                    }
                    self.bump();
                }
                Some(b'&') => self.bump(),
                Some(b'\n') => {}
                _ if self.ends_list(terminators) => return Ok(()),
                _ => return self.opaque(self.at, Cause::Syntax),
            }
        }
    }

    fn ends_list(&mut self, terminators: &[&str]) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.peek_second(), Some(b';' | b'&')),
            _ => terminators.iter().any(|t| self.reserved(t)),
        }
    }

    /// Pipelines joined by `&&` and `||`.
    fn and_or(&mut self) -> Parse {
        loop {
            self.pipeline()?;
            self.blanks();
            match (self.peek(), self.peek_second()) {
                (Some(b'&'), Some(b'&')) | (Some(b'|'), Some(b'|')) => {
                    self.document_is_last()?;
                    self.bump();
                    self.peek();
                    self.bump();
                    self.newlines()?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn pipeline(&mut self) -> Parse {
        loop {
            self.blanks();
            while self.reserved("!") {
                let start = self.at;
                self.peek();
                self.bump();
                if self.peek() == Some(b'(') {
                    // A pattern, where bash has those switched on.
                    return self.opaque(start, Cause::Syntax);
                }
                self.blanks();
            }
            self.command()?;
            self.blanks();
            if self.peek() != Some(b'|') || self.peek_second() == Some(b'|') {
                return Ok(());
            }
            self.bump();
            self.eat(b'&');
            self.newlines()?;
        }
    }
}
