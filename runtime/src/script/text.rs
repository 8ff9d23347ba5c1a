//! Words as the texts that rules and paths are asked about.

use crate::shell::{Part, Word};
use alloc::vec::Vec;

/// A word's value, where all of it is known or the home directory; that is `~`
/// where it is not known, which no path decision takes.
pub(super) fn value(word: &Word, home: Option<&[u8]>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for part in &word.parts {
        match part {
            Part::Known(bytes) => out.extend_from_slice(bytes),
            Part::Home => out.extend_from_slice(home.unwrap_or(b"~")),
            Part::Either(..) | Part::Unknown { .. } => return None,
        }
    }
    Some(out)
}

/// What stands between two words: the blanks of the source, else one.
pub(super) fn gap<'s>(before: &Word, after: &Word, source: Option<&'s [u8]>) -> &'s [u8] {
    let between = source.and_then(|s| s.get(before.span.end..after.span.start));
    match between {
        Some(blanks) if !blanks.is_empty() && blanks.iter().all(|b| matches!(b, b' ' | b'\t')) => {
            blanks
        }
        _ => b" ",
    }
}

/// The text that rules on texts see: the words' values with the source's blanks.
pub(super) fn text_of(words: &[Word], argv: &[&[u8]], source: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut last: Option<&Word> = None;
    for (word, value) in words.iter().zip(argv) {
        if let Some(last) = last {
            out.extend_from_slice(gap(last, word, Some(source)));
        }
        last = Some(word);
        out.extend_from_slice(value);
    }
    out
}

/// Whether a command's name is what it looks like: no control characters, no
/// blanks, nothing invisible.
pub(super) fn is_plain_name(name: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(name) else { return false };
    text.chars().all(|c| {
        let invisible = matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
            | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}');
        !c.is_control() && !c.is_whitespace() && !invisible
    })
}
