//! Builtins of bash that evaluate their arguments: a subscript in the name of a
//! variable, `x[$(…)]`, runs commands even where it is quoted.

use super::{Part, Word};

/// Whether these words call a builtin that may run more than they say, or that
/// changes how what follows is read.
pub(super) fn evaluates(words: &[Word]) -> bool {
    let mut words = words;
    loop {
        let Some((first, rest)) = words.split_first() else { return false };
        match first.known() {
            Some(b"command" | b"builtin" | b"time" | b"exec") => {
                words = rest;
                while words.first().and_then(Word::known).is_some_and(|w| w.starts_with(b"-")) {
                    words = words.split_first().map_or(&[], |(_, rest)| rest);
                }
            }
            Some(name) => return named(name, rest),
            None => return false,
        }
    }
}

/// Variables to which bash assigns the value of arithmetic, which may run
/// commands, and one whose value it expands when it traces.
pub(super) fn special(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 14] = [
        b"RANDOM",
        b"SRANDOM",
        b"SECONDS",
        b"OPTIND",
        b"HISTCMD",
        b"LINENO",
        b"BASHPID",
        b"EPOCHSECONDS",
        b"EPOCHREALTIME",
        b"UID",
        b"EUID",
        b"PPID",
        b"PS4",
        b"BASH_SUBSHELL",
    ];
    NAMES.contains(&name)
}

fn named(name: &[u8], rest: &[Word]) -> bool {
    match name {
        // Arithmetic; code in options; the reading of later lines.
        b"let" | b"shopt" | b"compgen" | b"complete" | b"bind" | b"enable" | b"fc" => true,
        b"set" => switches(rest),
        b"hash" => rest.iter().any(|w| w.known().is_none() || option(w, b'p')),
        b"alias" => rest.iter().any(|w| w.known().is_none_or(|k| k.contains(&b'='))),
        b"read" | b"unset" | b"getopts" | b"wait" => !rest.iter().all(plain),
        b"mapfile" | b"readarray" => {
            !rest.iter().all(plain) || rest.iter().any(|w| option(w, b'C'))
        }
        b"declare" | b"typeset" | b"local" | b"readonly" | b"export" => {
            let options = b"aAinuI";
            !rest.iter().all(declares) || rest.iter().any(|w| options.iter().any(|&o| option(w, o)))
        }
        b"printf" => match rest.first().map(|w| w.parts.first()) {
            Some(Some(Part::Known(format))) => {
                let whole = rest.first().and_then(Word::known);
                format.is_empty() && whole.is_none()
                    || (format.starts_with(b"-") && whole != Some(b"--"))
            }
            Some(Some(Part::Either(format, _))) => format.is_empty() || format.starts_with(b"-"),
            Some(Some(_)) => true,
            Some(None) | None => false,
        },
        b"test" | b"[" => {
            let names = rest.iter().zip(rest.iter().skip(1));
            let mut names = names.filter(|(w, _)| matches!(w.known(), Some(b"-v" | b"-R")));
            let unknown = rest.iter().any(|w| w.known().is_none());
            names.any(|(_, name)| !plain(name)) || (unknown && rest.iter().any(subscript))
        }
        _ => false,
    }
}

/// Known, without a subscript, and no variable of a special kind.
fn plain(word: &Word) -> bool {
    word.known().is_some_and(|k| !k.contains(&b'[') && !special(k))
}

/// Whether `set` may switch on more than how errors, traces and patterns are
/// dealt with: history is expanded in later lines, `-k` takes words away.
fn switches(rest: &[Word]) -> bool {
    const NAMES: [&[u8]; 8] = [
        b"pipefail",
        b"errexit",
        b"nounset",
        b"xtrace",
        b"verbose",
        b"noglob",
        b"noclobber",
        b"allexport",
    ];
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.known() {
            None => return true,
            Some(b"--" | b"-") => return false,
            Some([b'-' | b'+', letters @ ..]) => {
                if letters.iter().any(|l| !b"euxvfCao".contains(l)) {
                    return true;
                }
                let names = letters.iter().filter(|&&l| l == b'o').count();
                for _ in 0..names {
                    match words.next().map(Word::known) {
                        Some(Some(name)) if NAMES.contains(&name) => {}
                        None => {}
                        _ => return true,
                    }
                }
            }
            Some(_) => return false,
        }
    }
    false
}

/// An option word that has this letter.
fn option(word: &Word, letter: u8) -> bool {
    let known = word.known().filter(|k| k.starts_with(b"-") && !k.starts_with(b"--"));
    known.is_some_and(|k| k.contains(&letter))
}

/// A name, or `name=` and any value.
fn declares(word: &Word) -> bool {
    match word.parts.first() {
        Some(Part::Known(k)) => {
            let name = k.split(|&b| b == b'=').next().unwrap_or(k);
            !name.contains(&b'[')
                && !special(name.strip_suffix(b"+").unwrap_or(name))
                && (word.parts.len() == 1 || k.contains(&b'='))
        }
        _ => false,
    }
}

/// Has a subscript with an expansion in it.
fn subscript(word: &Word) -> bool {
    word.parts.iter().any(|p| match p {
        Part::Known(k) => k.contains(&b'[') && k.iter().any(|b| b"$`".contains(b)),
        Part::Either(a, _) => a.contains(&b'['),
        Part::Home | Part::Unknown { .. } => false,
    })
}
