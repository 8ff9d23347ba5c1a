//! Text to tree: the concrete syntax of Mero, edition 1.
//!
//! Takes the text of one file, gives a [`ast::File`] and every syntax error of
//! the file at once. Sees no other file and resolves no name.
//!
//! [`decode`] takes bytes; [`parse`] cuts the text into tokens (`token`), finds
//! deceptive characters (`hidden`) and the ends of blocks (`braces`), then walks
//! the blocks and runs pest on one statement at a time (`recover`), which makes
//! nodes of what parses (`lower`) and messages of what does not (`expected`).
//! The tree holds what did parse. Cost: linear in the text.

#[cfg(test)]
mod agreement;
pub mod ast;
mod braces;
mod build;
mod comments;
mod expected;
mod hidden;
mod lower;
mod recover;
mod slips;
mod token;

use crate::diag::{Code, Diagnostic, registry};
use crate::limits::{MAX_FILE_BYTES, MAX_SYNTAX_ERRORS};
use crate::source::{FileId, Span};
use std::ops::Range;

/// What this compiler knows of editions.
const EDITION: u32 = 1;

#[allow(missing_docs, clippy::arithmetic_side_effects, reason = "generated code")]
mod grammar {
    /// The grammar's parser.
    #[derive(pest_derive::Parser)]
    #[grammar = "grammar/mero.pest"]
    pub(crate) struct Mero;
}

/// Bytes to text: checks the size and the encoding, strips a byte order mark.
///
/// # Errors
/// `too-large`, or `not-utf8` with the place of the first wrong byte.
#[expect(clippy::result_large_err, reason = "once a file; a box would only be unpacked again")]
pub fn decode(file: FileId, bytes: &[u8]) -> Result<String, Diagnostic> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(too_large(file, bytes.len()));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(text.to_owned()),
        Err(error) => error,
    };
    let at = error.valid_up_to();
    let before = bytes.get(..at).unwrap_or(&[]);
    let line = before.iter().filter(|b| **b == b'\n').count().saturating_add(1);
    let byte = bytes.get(at).copied().unwrap_or(0);
    let help = if before.is_empty() && matches!(byte, 0xff | 0xfe) {
        "it looks like UTF-16; save it as UTF-8"
    } else {
        "save the file as UTF-8"
    };
    let message =
        format!("the file is not UTF-8 text: byte 0x{byte:02x} at offset {at}, line {line}");
    Err(Diagnostic::new(&registry::NOT_UTF8, Span::new(file, at, at), message).help(help))
}

fn too_large(file: FileId, size: usize) -> Diagnostic {
    let message = format!("the file has {size} bytes; meroc takes at most {MAX_FILE_BYTES}");
    Diagnostic::new(&registry::TOO_LARGE, Span::new(file, 0, 0), message)
        .help("split it into several files and `import` them")
}

/// Parses one file. The tree is of all that parsed; the findings are in order
/// of position, at most [`MAX_SYNTAX_ERRORS`] of them errors of syntax.
#[must_use]
pub fn parse(file: FileId, text: &str) -> (ast::File, Vec<Diagnostic>) {
    let mut tree = ast::File {
        edition: None,
        imports: Vec::new(),
        items: Vec::new(),
        comments: Vec::new(),
        span: Span::new(file, 0, text.len()),
    };
    if text.len() > MAX_FILE_BYTES {
        return (tree, vec![too_large(file, text.len())]);
    }
    let mut lexed = token::lex(file, text);
    if lexed.too_deep {
        let too_deep = |d: &Diagnostic| std::ptr::eq::<Code>(d.code, &registry::TOO_DEEP);
        lexed.errors.retain(too_deep);
        return (tree, lexed.errors);
    }
    let found = hidden::find(file, text, &lexed.tokens, &lexed.comments);
    lexed.patches.extend(found.patches);
    lexed.poison.extend(found.poison);
    lexed.poison.sort_by_key(|r| r.start);
    let patched = patch(text, &lexed.patches);
    let text = patched.as_deref().unwrap_or(text);

    let braces = braces::match_up(text, &mut lexed.tokens);
    tree.comments = comments::collect(file, text, &lexed.comments);
    let mut parser = recover::Parser::new(file, text, &lexed, &braces, &tree.comments);
    let entries = parser.file();
    let mut errors = parser.finish();
    errors.extend(lexed.errors);
    errors.sort_by_key(|d| (d.primary.span.start, d.primary.span.end));
    if errors.len() > MAX_SYNTAX_ERRORS {
        errors.truncate(MAX_SYNTAX_ERRORS);
        if let Some(last) = errors.last_mut() {
            let said = last.help.take().map(|help| format!("{help}; ")).unwrap_or_default();
            last.help = Some(format!("{said}further syntax errors of this file are left out"));
        }
    }
    let mut deceptive = found.diagnostics;
    deceptive.truncate(MAX_SYNTAX_ERRORS.saturating_mul(4));
    errors.extend(deceptive);
    errors.sort_by_key(|d| (d.primary.span.start, d.primary.span.end));
    for entry in entries {
        match entry {
            build::Entry::Edition(edition) => {
                if edition.node != EDITION {
                    errors.push(unknown_edition(&edition));
                }
                tree.edition = Some(edition);
            }
            build::Entry::Import(import) => tree.imports.push(import),
            build::Entry::Item(item) => tree.items.push(*item),
        }
    }
    (tree, errors)
}

fn unknown_edition(edition: &crate::source::Spanned<u32>) -> Diagnostic {
    let message = format!("this meroc does not know edition {}", edition.node);
    Diagnostic::new(&registry::UNKNOWN_EDITION, edition.span, message)
        .here(format!("the only edition so far is {EDITION}"))
        .help(format!("write `edition {EDITION}`, or use a newer meroc"))
}

/// Spaces in place of text, line breaks kept.
fn blanked(text: &str) -> String {
    text.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect()
}

/// The text with replacements of equal length; nothing where there are none.
fn patch(text: &str, patches: &[(Range<usize>, String)]) -> Option<String> {
    if patches.is_empty() {
        return None;
    }
    let mut patches: Vec<_> = patches.iter().collect();
    patches.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0usize;
    for (range, new) in patches {
        if range.start < at || new.len() != range.len() {
            continue;
        }
        out.push_str(text.get(at..range.start)?);
        out.push_str(new);
        at = range.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}
