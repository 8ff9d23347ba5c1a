//! Word patterns, by sets of positions: after each token, everywhere in the word
//! that a match may have come to.

use mero_runtime::Permission;
use std::collections::BTreeSet;

enum Token {
    Byte(u8),
    Any,
    One,
    /// The source of a class, brackets included.
    Class(String),
    Alternatives(Vec<Vec<Token>>),
}

/// One word of a pattern.
struct Word {
    tokens: Vec<Token>,
    /// The hole that it ends in: permissions, and whether it takes all the rest.
    hole: Option<(Permission, bool)>,
    /// `...`.
    rest: bool,
    has_slash: bool,
}

/// Matches word by word; gives the path words.
pub(super) fn matches(
    pattern: &str,
    argv: &[Vec<u8>],
    base: bool,
) -> Option<Vec<(Vec<u8>, Permission)>> {
    let words = parse(pattern)?;
    let mut paths = Vec::new();
    let mut at = 0usize;
    for (index, word) in words.iter().enumerate() {
        if word.rest {
            return Some(paths);
        }
        if let Some((permissions, true)) = word.hole {
            for argument in argv.iter().skip(at) {
                paths.extend(holes(word, argument, index == 0, permissions)?);
            }
            return Some(paths);
        }
        let argument = argv.get(at)?;
        at = at.saturating_add(1);
        if let Some((permissions, false)) = word.hole {
            paths.extend(holes(word, argument, index == 0, permissions)?);
            continue;
        }
        let whole = |text: &[u8]| ends(&word.tokens, text, index == 0).contains(&text.len());
        let by_base = || {
            let name = argument.rsplit(|&b| b == b'/').next().unwrap_or(argument);
            base && index == 0 && !word.has_slash && name.len() < argument.len() && whole(name)
        };
        if !whole(argument) && !by_base() {
            return None;
        }
    }
    (at == argv.len()).then_some(paths)
}

/// All permissions that a pattern's path words need.
pub(super) fn needs(pattern: &str) -> Permission {
    let holes = parse(pattern).into_iter().flatten().filter_map(|w| w.hole);
    holes.fold(Permission::empty(), |all, (p, _)| all | p)
}

/// The paths that an argument with a hole at its end may hold: one for each way
/// to match what stands before it.
fn holes(
    word: &Word,
    argument: &[u8],
    first: bool,
    p: Permission,
) -> Option<Vec<(Vec<u8>, Permission)>> {
    let found = ends(&word.tokens, argument, first)
        .into_iter()
        .filter_map(|end| argument.get(end..))
        .filter(|path| !path.is_empty() && path.first() != Some(&b'-'))
        .map(|path| (path.to_vec(), p))
        .collect::<Vec<_>>();
    (!found.is_empty()).then_some(found)
}

/// Where a match of all tokens that begins at 0 may end.
fn ends(tokens: &[Token], text: &[u8], first: bool) -> BTreeSet<usize> {
    run(tokens, text, &BTreeSet::from([0]), first)
}

fn run(tokens: &[Token], text: &[u8], from: &BTreeSet<usize>, first: bool) -> BTreeSet<usize> {
    let wild = |b: u8| !(first && b == b'/');
    let mut here = from.clone();
    for token in tokens {
        let mut next = BTreeSet::new();
        for &at in &here {
            let rest = text.get(at..).unwrap_or(&[]);
            match token {
                Token::Byte(b) if rest.first() == Some(b) => {
                    next.insert(at.saturating_add(1));
                }
                Token::Byte(_) => {}
                Token::Any => {
                    let run = rest.iter().take_while(|b| wild(**b)).count();
                    next.extend(at..=at.saturating_add(run));
                }
                Token::One => {
                    if rest.first().is_some_and(|b| wild(*b)) {
                        next.insert(at.saturating_add(1));
                        next.extend(character(rest).map(|(_, n)| at.saturating_add(n)));
                    }
                }
                Token::Class(class) => {
                    next.extend(members(class, rest, first).map(|n| at.saturating_add(n)))
                }
                Token::Alternatives(list) => {
                    for choice in list {
                        next.extend(run(choice, text, &BTreeSet::from([at]), first));
                    }
                }
            }
        }
        here = next;
    }
    here
}

fn character(rest: &[u8]) -> Option<(char, usize)> {
    let valid = rest.utf8_chunks().next()?.valid();
    valid.chars().next().map(|c| (c, c.len_utf8()))
}

/// How many bytes a class takes at the start of `rest`, if any.
fn members(class: &str, rest: &[u8], first: bool) -> Option<usize> {
    let inner = class.strip_prefix('[')?.strip_suffix(']')?;
    let (negated, inner) = match inner.strip_prefix(['!', '^']) {
        Some(inner) => (true, inner),
        None => (false, inner),
    };
    let byte = *rest.first()?;
    if first && byte == b'/' {
        return None;
    }
    let Some((c, length)) = character(rest) else {
        // A byte that is no character is in no class, so in every negated one.
        return negated.then_some(1);
    };
    let mut found = false;
    let mut chars = inner.chars().peekable();
    while let Some(mut low) = chars.next() {
        if low == '[' && chars.peek() == Some(&':') {
            let rest = chars.clone().collect::<String>();
            if let Some((name, _)) = rest.strip_prefix(':').and_then(|r| r.split_once(":]")) {
                found |= c.is_ascii()
                    && super::glob::class(format!("[[:{name}:]]").as_bytes(), 0, byte)
                        .is_some_and(|(m, _)| m);
                for _ in 0..name.chars().count().saturating_add(3) {
                    chars.next();
                }
                continue;
            }
        }
        if low == '\\' {
            low = chars.next()?;
        }
        let mut high = low;
        let mut ahead = chars.clone();
        if ahead.next() == Some('-') && ahead.peek().is_some() {
            chars.next();
            high = chars.next()?;
            if high == '\\' {
                high = chars.next()?;
            }
        }
        found |= (low..=high).contains(&c);
    }
    (found != negated).then_some(length)
}

fn parse(pattern: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut rest = pattern;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        if rest.is_empty() {
            return (!words.is_empty()).then_some(words);
        }
        if let Some(after) = rest.strip_prefix("...")
            && (after.is_empty() || after.starts_with([' ', '\t', '\n', '\r']))
        {
            words.push(Word { tokens: Vec::new(), hole: None, rest: true, has_slash: false });
            rest = after;
            continue;
        }
        let (tokens, after) = sequence(rest, true)?;
        let mut word = Word { has_slash: false, tokens, hole: None, rest: false };
        let source = rest.get(..rest.len().saturating_sub(after.len()))?;
        word.has_slash = source.contains('/');
        rest = after;
        if let Some(inner) = rest.strip_prefix('{') {
            let (hole, after) = inner.split_once('}')?;
            let (names, many) = match hole.strip_suffix("...") {
                Some(names) => (names, true),
                None => (hole, false),
            };
            word.hole = Some((Permission::parse(names)?, many));
            rest = after;
        }
        words.push(word);
    }
}

/// Tokens up to what ends them, and what is left.
fn sequence(mut rest: &str, top: bool) -> Option<(Vec<Token>, &str)> {
    let mut tokens = Vec::new();
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..)?;
        match c {
            '|' | ')' => break,
            '{' | ' ' | '\t' | '\n' | '\r' if top => break,
            '*' => tokens.push(Token::Any),
            '?' => tokens.push(Token::One),
            '[' => {
                let end = class_end(rest)?;
                tokens.push(Token::Class(rest.get(..end)?.to_owned()));
                rest = rest.get(end..)?;
                continue;
            }
            '(' => {
                let mut choices = Vec::new();
                let mut inner = after;
                loop {
                    let (choice, left) = sequence(inner, false)?;
                    choices.push(choice);
                    inner = left.get(1..)?;
                    if left.starts_with(')') {
                        break;
                    }
                }
                tokens.push(Token::Alternatives(choices));
                rest = inner;
                continue;
            }
            '\\' => {
                let literal = after.chars().next()?;
                let mut buffer = [0; 4];
                tokens.extend(literal.encode_utf8(&mut buffer).bytes().map(Token::Byte));
                rest = after.get(literal.len_utf8()..)?;
                continue;
            }
            _ => {
                let mut buffer = [0; 4];
                tokens.extend(c.encode_utf8(&mut buffer).bytes().map(Token::Byte));
            }
        }
        rest = after;
    }
    Some((tokens, rest))
}

fn class_end(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    if matches!(chars.peek(), Some((_, '!' | '^'))) {
        chars.next();
    }
    let mut first = true;
    while let Some((at, c)) = chars.next() {
        match c {
            ']' if !first => return Some(at.saturating_add(1)),
            '\\' => {
                chars.next();
            }
            '[' if text.get(at..).is_some_and(|r| r.starts_with("[:")) => {
                if let Some(close) = text.get(at..).and_then(|r| r.find(":]")) {
                    while chars
                        .peek()
                        .is_some_and(|(i, _)| *i < at.saturating_add(close).saturating_add(2))
                    {
                        chars.next();
                    }
                }
            }
            _ => {}
        }
        first = false;
    }
    None
}

/// A glob over a whole text, without escapes.
pub(super) fn text_glob(pattern: &str, text: &[u8]) -> bool {
    let mut tokens = Vec::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '*' => tokens.push(Token::Any),
            '?' => tokens.push(Token::One),
            '[' => match rest.get(1..).and_then(|r| {
                // The first `]` after the opening and a possible `!` is a member.
                let skip = usize::from(r.starts_with(['!', '^']));
                let from = skip.saturating_add(r.get(skip..)?.chars().next()?.len_utf8());
                r.get(from..)?.find(']').map(|i| i.saturating_add(from).saturating_add(2))
            }) {
                Some(end) => {
                    tokens.push(Token::Class(rest.get(..end).unwrap_or("[").replace('\\', "\\\\")));
                    length = end;
                }
                None => return false,
            },
            _ => {
                let mut buffer = [0; 4];
                tokens.extend(c.encode_utf8(&mut buffer).bytes().map(Token::Byte));
            }
        }
        rest = rest.get(length..).unwrap_or("");
    }
    ends(&tokens, text, false).contains(&text.len())
}
