//! Characters that deceive the eye: invisible ones, and look-alike letters.
//!
//! Outside strings an invisible character is an error (bidirectional controls
//! in comments too: that is how "Trojan Source" hides code). In a string it may
//! be meant, so it is a warning with the escape to write instead. Comments may
//! hold other blanks, and joiners and variation selectors behind a character
//! that is not ASCII, because ordinary prose and emoji have them.
//! Look-alikes follow the well known pairs of Unicode's confusables table.
//! Cost: linear; ASCII text is only skimmed.

use super::token::{Kind, Token};
use crate::diag::{Diagnostic, Edit, Level, registry};
use crate::source::{FileId, Span};
use std::ops::Range;

/// What kind of invisible a character is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invisible {
    /// Changes the direction of text.
    Bidi,
    /// Takes no room.
    ZeroWidth,
    /// Looks like a blank and is not one that Mero knows.
    Blank,
    /// A control character.
    Control,
}

/// Whether and how `c` is invisible; a lone carriage return counts (the caller
/// knows whether it stands alone).
pub(super) fn invisible(c: char) -> Option<Invisible> {
    match c {
        ' ' | '\t' | '\n' | '\r' | '!'..='~' => None,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => {
            Some(Invisible::Bidi)
        }
        '\u{2028}' | '\u{2029}' => Some(Invisible::Control),
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Some(Invisible::ZeroWidth),
        '\u{2800}' => Some(Invisible::Blank),
        c if c.is_control() => Some(Invisible::Control),
        c if c.is_whitespace() => Some(Invisible::Blank),
        _ => None,
    }
}

/// A name that people can look up.
fn name(c: char) -> &'static str {
    match c {
        '\u{0}' => "NUL",
        '\u{1b}' => "escape",
        '\r' => "carriage return",
        '\u{85}' => "next line",
        '\u{a0}' => "no-break space",
        '\u{ad}' => "soft hyphen",
        '\u{61c}' => "Arabic letter mark",
        '\u{200b}' => "zero width space",
        '\u{200c}' => "zero width non-joiner",
        '\u{200d}' => "zero width joiner",
        '\u{200e}' => "left-to-right mark",
        '\u{200f}' => "right-to-left mark",
        '\u{202a}' => "left-to-right embedding",
        '\u{202b}' => "right-to-left embedding",
        '\u{202c}' => "pop directional formatting",
        '\u{202d}' => "left-to-right override",
        '\u{202e}' => "right-to-left override",
        '\u{2028}' => "line separator",
        '\u{2029}' => "paragraph separator",
        '\u{202f}' => "narrow no-break space",
        '\u{2060}' => "word joiner",
        '\u{2066}' => "left-to-right isolate",
        '\u{2067}' => "right-to-left isolate",
        '\u{2068}' => "first strong isolate",
        '\u{2069}' => "pop directional isolate",
        '\u{3000}' => "ideographic space",
        '\u{feff}' => "byte order mark",
        '\u{fe00}'..='\u{fe0f}' => "variation selector",
        c => match invisible(c) {
            Some(Invisible::Bidi) => "bidirectional control",
            Some(Invisible::Blank) => "blank",
            Some(Invisible::ZeroWidth) => "invisible character",
            _ => "control character",
        },
    }
}

/// Where something stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Code,
    Comment,
    String,
}

/// Findings of one file.
pub(super) struct Found {
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Invisible characters of the code itself.
    pub(super) poison: Vec<Range<usize>>,
    /// What of the code is to be read as blanks.
    pub(super) patches: Vec<(Range<usize>, String)>,
}

/// Looks through a file.
pub(super) fn find(file: FileId, text: &str, tokens: &[Token], comments: &[Range<usize>]) -> Found {
    let mut found = Found { diagnostics: Vec::new(), poison: Vec::new(), patches: Vec::new() };
    let mut strings = tokens.iter().filter(|t| t.kind == Kind::Str).peekable();
    let mut notes = comments.iter().peekable();
    let mut before = '\n';
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let previous = std::mem::replace(&mut before, c);
        let lone_return = c == '\r' && chars.peek().is_none_or(|(_, n)| *n != '\n');
        let Some(kind) = invisible(c).or(lone_return.then_some(Invisible::Control)) else {
            continue;
        };
        while strings.next_if(|t| t.end as usize <= at).is_some() {}
        while notes.next_if(|r| r.end <= at).is_some() {}
        let place = if strings.peek().is_some_and(|t| t.range().contains(&at)) {
            Place::String
        } else if notes.peek().is_some_and(|r| r.contains(&at)) {
            Place::Comment
        } else {
            Place::Code
        };
        let prose = match kind {
            Invisible::Blank => true,
            Invisible::ZeroWidth => {
                !previous.is_ascii() || chars.peek().is_some_and(|(_, n)| *n == '\u{20e3}')
            }
            _ => false,
        };
        if place == Place::Comment && prose {
            continue;
        }
        let range = at..at.saturating_add(c.len_utf8());
        let mut d = report(file, c, kind, place, &range);
        let plain = strings.peek().is_some_and(|t| text.get(t.range()).is_some_and(is_plain));
        if place == Place::String && !plain {
            // Raw strings have no escapes to put in its place.
            d.fix.clear();
        }
        found.diagnostics.push(d);
        if place == Place::Code {
            found.patches.push((range.clone(), " ".repeat(c.len_utf8())));
            // A blank between words is harmless once it is read as one.
            if kind != Invisible::Blank {
                found.poison.push(range);
            }
        }
    }
    for token in tokens.iter().filter(|t| t.kind == Kind::Str) {
        let written = text.get(token.range()).unwrap_or("");
        if !written.is_ascii() {
            found.diagnostics.extend(confusable(file, token, written));
        }
    }
    found
}

fn is_plain(written: &str) -> bool {
    written.starts_with('"')
}

fn report(file: FileId, c: char, kind: Invisible, place: Place, at: &Range<usize>) -> Diagnostic {
    let span = Span::new(file, at.start, at.end);
    let code = u32::from(c);
    let shown = format!("{} (U+{code:04X})", name(c));
    let escape = format!("\\u{{{code:x}}}");
    if place == Place::String {
        let mut d = Diagnostic::new(
            &registry::HIDDEN_CHARACTER,
            span,
            format!("this string holds an invisible character: {shown}"),
        )
        .here("invisible here")
        .help(format!("write `{escape}` in a plain string if it is meant, else delete it"));
        d.level = Level::Warning;
        d.fix.push(Edit { span, text: escape });
        return d;
    }
    let whose = if place == Place::Comment { "comment" } else { "text" };
    let (text, help) = match kind {
        Invisible::Blank => (" ", "write an ordinary space"),
        Invisible::Control if c == '\r' => ("\n", "end lines with a line feed"),
        Invisible::Bidi => ("", "delete it: it makes text look as if it stood in another order"),
        _ => ("", "delete it"),
    };
    let mut d = Diagnostic::new(
        &registry::HIDDEN_CHARACTER,
        span,
        format!("the {whose} holds an invisible character: {shown}"),
    )
    .here("invisible here")
    .help(help);
    d.fix.push(Edit { span, text: text.to_owned() });
    d
}

/// Letters of other scripts that pass for a Latin one, pair by pair.
const LOOK_ALIKES: &[(&str, &str, &str)] = &[
    ("Cyrillic", "АВЕЅІЈКМНОРСТУХаеорсухѕіјԁһԛԝӏ", "ABESIJKMHOPCTYXaeopcyxsijdhqwl"),
    ("Greek", "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαινορυ", "ABEZHIKMNOPTYXaivopu"),
    ("Armenian", "օոսցհՕՍ", "onughOU"),
    ("Cherokee", "ᎪᏴᏟᎠᎬᎳᎻᏦᏞᎷᏢᏒᏚᎢᏙᏃ", "ABCDEWHKLMPRSTVZ"),
    ("full-width", "／．～＊＄", "/.~*$"),
    ("typographic", "∕⁄․‐‑﹣−", "//.----"),
];

fn look_alike(c: char) -> Option<(&'static str, char)> {
    LOOK_ALIKES.iter().find_map(|(script, theirs, latin)| {
        let at = theirs.chars().position(|t| t == c)?;
        Some((*script, latin.chars().nth(at)?))
    })
}

/// A string in which a word mixes Latin letters with look-alikes, or has only
/// look-alikes where other words are Latin. Another word of another script is
/// just that language.
fn confusable(file: FileId, token: &Token, written: &str) -> Option<Diagnostic> {
    let mut odd: Vec<(usize, char, &str, char)> = Vec::new();
    let any_latin = written.get(1..).unwrap_or("").chars().any(|c| c.is_ascii_alphabetic());
    let mut start = 0usize;
    for word in written.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let mut letters = word.chars().filter(|c| c.is_alphabetic());
        let latin = letters.clone().any(|c| c.is_ascii());
        let disguised = any_latin && letters.all(|c| look_alike(c).is_some());
        for (i, c) in word.char_indices() {
            if let Some((script, instead)) = look_alike(c) {
                // A sign such as a full-width slash deceives in any company.
                if latin || disguised || !instead.is_ascii_alphabetic() {
                    odd.push((start.saturating_add(i), c, script, instead));
                }
            }
        }
        start = start.saturating_add(word.len());
    }
    let &(at, ..) = odd.first()?;
    let mut named: Vec<String> = Vec::new();
    for (_, c, script, instead) in &odd {
        let text = format!("{script} `{c}` (U+{:04X}) looks like `{instead}`", u32::from(*c));
        if !named.contains(&text) {
            named.push(text);
        }
    }
    let kinds = named.join(", ");
    let from = (token.start as usize).saturating_add(at);
    let end = odd.first().map_or(from, |(_, c, ..)| from.saturating_add(c.len_utf8()));
    let d = Diagnostic::new(
        &registry::CONFUSABLE,
        Span::new(file, from, end),
        format!("this string mixes alphabets: {kinds}"),
    )
    .here("not what it looks like")
    .help("retype the string if it was meant in one alphabet; `@allow(confusable, \"…\")` if not");
    Some(d)
}
