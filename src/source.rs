//! Source text: files, spans in them, and the line and column of a byte.
//!
//! A [`Span`] is a byte range of one file of a [`SourceMap`]; every node and
//! diagnostic carries one. Lines and columns are 1-based and columns count
//! characters (Unicode scalar values), as the JSON contract has it.

use std::fmt;

/// Index of a file in a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub struct FileId(pub u32);

/// A byte range in one file; `start <= end`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}..{}", self.file.0, self.start, self.end)
    }
}

impl Span {
    /// A span of `file` from byte `start` to byte `end`; saturates at 4 GiB.
    #[must_use]
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span { file, start: clamp(start), end: clamp(end.max(start)) }
    }

    /// The smallest span that holds both (of one file; else `self`).
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The byte range, for slicing.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A value with the place it was written at.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Spanned<T> {
    /// The value.
    pub node: T,
    /// Where it stands.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Pairs a value with its place.
    pub fn new(node: T, span: Span) -> Self {
        Spanned { node, span }
    }
}

/// A 1-based position; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// One file: its name as shown to people, its text, and where its lines start.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The name to show: the path as the user gave it, or `<std>/NAME.mero`.
    pub name: String,
    /// The text.
    pub text: String,
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// Line and column of a byte offset (clamped to the text).
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        self.position_in(offset, |before| before.chars().count())
    }

    /// The same with columns in UTF-16 code units, as editors and SARIF count them.
    #[must_use]
    pub fn position_utf16(&self, offset: u32) -> Position {
        self.position_in(offset, |before| before.encode_utf16().count())
    }

    fn position_in(&self, offset: u32, width: impl Fn(&str) -> usize) -> Position {
        let line = self.line_starts.partition_point(|&s| s <= offset).max(1).saturating_sub(1);
        let start = self.line_starts.get(line).copied().unwrap_or(0) as usize;
        let end = (offset as usize).min(self.text.len());
        let column = self.text.get(start..end).map_or(0, width);
        let to_u32 = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Position { line: to_u32(line.saturating_add(1)), column: to_u32(column.saturating_add(1)) }
    }

    /// The text of a line, from 1, without its end.
    #[must_use]
    pub fn line(&self, line: u32) -> &str {
        let at = |n: u32| self.line_starts.get(n as usize).map(|s| *s as usize);
        let start = line.checked_sub(1).and_then(at).unwrap_or(self.text.len());
        let end = at(line).unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }
}

/// All files of one compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// Adds a file and gives its id.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let text = text.into();
        let line_starts = line_starts(&text);
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(SourceFile { name: name.into(), text, line_starts });
        id
    }

    /// Replaces the text of a file: it is known only once its bytes are decoded,
    /// and a failure to decode them needs a file to point at.
    pub fn set_text(&mut self, id: FileId, text: String) {
        if let Some(file) = self.files.get_mut(id.0 as usize) {
            file.line_starts = line_starts(&text);
            file.text = text;
        }
    }

    /// The file, if the id is of this map.
    #[must_use]
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// All files with their ids, in order of adding.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files
            .iter()
            .enumerate()
            .map(|(i, f)| (FileId(u32::try_from(i).unwrap_or(u32::MAX)), f))
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is no file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The text of a span; empty if it lies outside its file.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        self.get(span.file).and_then(|f| f.text.get(span.range())).unwrap_or("")
    }

    /// The span with its line's blanks and end, where nothing else is on its lines: what
    /// to take out so that no empty line is left.
    #[must_use]
    pub fn whole_lines(&self, span: Span) -> Span {
        let text = self.get(span.file).map_or("", |f| &f.text);
        let before = text.get(..span.range().start).unwrap_or("");
        let after = text.get(span.range().end..).unwrap_or("");
        let indent = before.len().saturating_sub(before.trim_end_matches([' ', '\t']).len());
        let rest = after.split('\n').next().unwrap_or("");
        let alone = before.len() == indent
            || before.get(..before.len().saturating_sub(indent)).is_some_and(|b| b.ends_with('\n'));
        if !alone || !rest.trim().is_empty() {
            return span;
        }
        let end = rest.len().saturating_add(1).min(after.len());
        Span::new(
            span.file,
            span.range().start.saturating_sub(indent),
            span.range().end.saturating_add(end),
        )
    }

    /// Start position of a span.
    #[must_use]
    pub fn position(&self, span: Span) -> Position {
        self.get(span.file).map_or(Position { line: 1, column: 1 }, |f| f.position(span.start))
    }
}

fn line_starts(text: &str) -> Vec<u32> {
    let after_newline =
        |(i, _): (usize, u8)| u32::try_from(i.saturating_add(1)).unwrap_or(u32::MAX);
    let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(after_newline);
    std::iter::once(0).chain(ends).collect()
}
