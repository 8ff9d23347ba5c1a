//! Programs that run programs: where in their arguments the inner command is.
//!
//! One table says how each reads its options; a runner whose options are not
//! understood is unclear, never skipped over. `deny` rules reach through every
//! runner, `allow` rules only where the policy says so, which is for the caller.

mod known;

use self::known::{RUNNERS, Runner, runner};
use crate::names::POSIX_SHELLS;
use crate::shell::{Part, Word};
use alloc::vec::Vec;

/// What a runner would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inner {
    /// A command, after these assignments.
    Command { words: Vec<Word>, assignments: Vec<Vec<u8>> },
    /// A script for a shell. `local` is a shell of this host that was given the
    /// whole script: what it does is what the script does.
    Script { text: Vec<u8>, local: bool },
    /// It runs something, and what is not clear; the words that are most likely
    /// it are still searched for denials.
    Unclear { guess: Vec<Word> },
}

/// Shells of other languages: close enough to be searched for what is denied, and not
/// close enough to vouch for the rest (`>! file` writes the file to one of them, `'\'' is
/// an open string to another).
const OTHER_SHELLS: [&[u8]; 4] = [b"zsh", b"ksh", b"mksh", b"fish"];

/// A command's name without its directory.
fn base(name: &[u8]) -> &[u8] {
    name.rsplit(|&b| b == b'/').next().unwrap_or(name)
}

/// What a command runs besides itself.
pub(crate) fn inner(words: &[Word]) -> Vec<Inner> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    let Some(name) = first.known().map(base) else { return Vec::new() };
    let one = |inner| alloc::vec![inner];
    match name {
        b"find" => find(rest),
        b"fd" | b"fdfind" => execs(rest, &[b"-x", b"-X", b"--exec", b"--exec-batch"]),
        b"xargs" => one(xargs(rest)),
        b"parallel" => one(parallel(rest)),
        b"eval" => one(joined(rest, true)),
        b"watch" => watch(rest),
        b"trap" => trap(rest),
        b"su" | b"runuser" | b"script" => command_option(rest),
        b"ssh" => ssh(rest),
        b"source" | b"." if rest.iter().any(|w| w.known().is_none()) => {
            one(Inner::Unclear { guess: Vec::new() })
        }
        b"alias" if !rest.is_empty() => one(Inner::Unclear { guess: Vec::new() }),
        b"enable" | b"hash"
            if rest.iter().any(|w| {
                w.known().is_none_or(|k| k.starts_with(b"-f") || k.starts_with(b"-p"))
            }) =>
        {
            one(Inner::Unclear { guess: Vec::new() })
        }
        b"gdb" | b"valgrind" => traced(rest),
        _ if POSIX_SHELLS.iter().any(|s| s.as_bytes() == name) => shell(rest, true),
        _ if OTHER_SHELLS.contains(&name) => shell(rest, false),
        _ if name.starts_with(b"ld-linux") || name.starts_with(b"ld-musl") || name == b"ld.so" => {
            let at = rest.iter().position(|w| w.known().is_none_or(|k| !k.starts_with(b"-")));
            one(plain_command(rest, at.unwrap_or(rest.len())))
        }
        _ => RUNNERS
            .iter()
            .find(|r| r.names.iter().any(|n| n.as_bytes() == name))
            .map_or_else(Vec::new, |r| generic(r, name, rest)),
    }
}

/// Where in an argument vector the command begins that its first word runs, if it is the
/// end of the vector as it stands. What stands behind the command's name does not matter.
#[must_use]
pub fn command_at(argv: &[&[u8]]) -> Option<usize> {
    let words = argv.iter().map(|w| Word::from_bytes(w, 0..0)).collect::<Vec<_>>();
    let [Inner::Command { words: inner, .. }] = &inner(&words)[..] else { return None };
    let at = words.len().checked_sub(inner.len()).filter(|&at| at > 0)?;
    (words.get(at..) == Some(&inner[..])).then_some(at)
}

fn plain_command(words: &[Word], at: usize) -> Inner {
    Inner::Command { words: words.get(at..).unwrap_or(&[]).to_vec(), assignments: Vec::new() }
}

fn unclear(words: &[Word], at: usize) -> Vec<Inner> {
    alloc::vec![Inner::Unclear { guess: words.get(at..).unwrap_or(&[]).to_vec() }]
}

/// Reads options as most programs do.
fn generic(runner: &Runner, name: &[u8], words: &[Word]) -> Vec<Inner> {
    let mut at = 0usize;
    while let Some(word) = words.get(at) {
        let Some(text) = word.known() else {
            // An operand that is not known is one operand; in place of an
            // option or the command it could be anything.
            break;
        };
        if name == b"command"
            && text.starts_with(b"-")
            && (text.contains(&b'v') || text.contains(&b'V'))
        {
            return Vec::new();
        }
        if text == b"--" {
            at = at.saturating_add(1);
            break;
        }
        if text == b"-" && runner.assigns {
            at = at.saturating_add(1);
            continue;
        }
        let Some(option) = text.strip_prefix(b"-").filter(|o| !o.is_empty()) else { break };
        at = at.saturating_add(1);
        if let Some(long) = option.strip_prefix(b"-") {
            let mut parts = long.splitn(2, |&b| b == b'=');
            let long_name = parts.next().unwrap_or(b"");
            let has_value = parts.next().is_some();
            let is = |list: &[&str]| list.iter().any(|l| l.as_bytes() == long_name);
            if is(runner.long_valued) {
                at = at.saturating_add(usize::from(!has_value));
            } else if !is(runner.long_flags) {
                return unclear(words, at);
            }
            continue;
        }
        for (index, letter) in option.iter().enumerate() {
            if runner.valued.as_bytes().contains(letter) {
                let last = index.saturating_add(1) == option.len();
                at = at.saturating_add(usize::from(last));
                break;
            }
            if !runner.flags.as_bytes().contains(letter) {
                return unclear(words, at);
            }
        }
    }
    let mut assignments = Vec::new();
    while let Some(word) = words.get(at).filter(|_| runner.assigns) {
        let Some(Part::Known(head)) = word.parts.first() else { break };
        let Some(equals) = head.iter().position(|&b| b == b'=') else { break };
        assignments.push(head.get(..equals).unwrap_or(&[]).to_vec());
        at = at.saturating_add(1);
    }
    let operands = words.get(at..).unwrap_or(&[]).iter().take(runner.operands);
    if operands.clone().any(|w| {
        w.may_vanish || w.parts.iter().any(|p| matches!(p, Part::Unknown { quoted: false }))
    }) {
        return unclear(words, at.saturating_add(runner.operands));
    }
    at = at.saturating_add(runner.operands);
    if name == b"flock"
        && words.get(at).and_then(Word::known).is_some_and(|k| k == b"-c" || k == b"--command")
    {
        return script(words.get(at.saturating_add(1)), false);
    }
    let rest = words.get(at..).unwrap_or(&[]).to_vec();
    if rest.is_empty() && assignments.is_empty() {
        return Vec::new();
    }
    alloc::vec![Inner::Command { words: rest, assignments }]
}

fn script(word: Option<&Word>, local: bool) -> Vec<Inner> {
    match word.map(|w| (w, w.known())) {
        Some((_, Some(text))) => alloc::vec![Inner::Script { text: text.to_vec(), local }],
        Some((word, None)) => alloc::vec![Inner::Unclear { guess: alloc::vec![word.clone()] }],
        None => Vec::new(),
    }
}

/// A shell with `-c`; without, it reads a file or its input, and that is for a
/// rule on the shell itself.
fn shell(words: &[Word], posix: bool) -> Vec<Inner> {
    let mut at = 0usize;
    let mut command = false;
    while let Some(word) = words.get(at) {
        let Some(text) = word.known() else {
            // It may be one more option, or `-c`.
            return unclear(words, if command { at } else { at.saturating_add(1) });
        };
        at = at.saturating_add(1);
        match text {
            b"--" => break,
            b"--norc" | b"--noprofile" | b"--posix" | b"--login" | b"--restricted"
            | b"--verbose" | b"--noediting" => {}
            _ if text.starts_with(b"--") => return unclear(words, at),
            _ => {
                let Some((b'-' | b'+', letters)) =
                    text.split_first().filter(|(_, l)| !l.is_empty())
                else {
                    at = at.saturating_sub(1);
                    break;
                };
                command |= text.first() == Some(&b'-') && letters.contains(&b'c');
                let values = letters.iter().filter(|&&l| l == b'o' || l == b'O').count();
                at = at.saturating_add(values);
            }
        }
    }
    if command { script(words.get(at), posix) } else { Vec::new() }
}

/// Words joined by blanks, as `eval` and `ssh` do.
fn joined(words: &[Word], local: bool) -> Inner {
    let mut text = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let Some(known) = word.known() else { return Inner::Unclear { guess: words.to_vec() } };
        if index > 0 {
            text.push(b' ');
        }
        text.extend_from_slice(known);
    }
    Inner::Script { text, local }
}

fn trap(words: &[Word]) -> Vec<Inner> {
    match words.first().map(|w| (w, w.known())) {
        Some((_, Some(text)))
            if words.len() > 1 && !matches!(text, b"-" | b"") && !text.starts_with(b"-") =>
        {
            alloc::vec![Inner::Script { text: text.to_vec(), local: true }]
        }
        Some((_, None)) => alloc::vec![Inner::Unclear { guess: Vec::new() }],
        Some((_, Some(b"--"))) => alloc::vec![Inner::Unclear { guess: Vec::new() }],
        _ => Vec::new(),
    }
}

/// `-c SCRIPT` or `--command=SCRIPT` anywhere.
fn command_option(words: &[Word]) -> Vec<Inner> {
    for (index, word) in words.iter().enumerate() {
        let Some(text) = word.known() else { return unclear(words, index) };
        if let Some(inline) = text.strip_prefix(b"--command=") {
            return alloc::vec![Inner::Script { text: inline.to_vec(), local: false }];
        }
        let cluster = text.starts_with(b"-") && !text.starts_with(b"--") && text.ends_with(b"c");
        if cluster || text == b"--command" || text == b"--session-command" {
            return script(words.get(index.saturating_add(1)), false);
        }
        if text == b"--" {
            return alloc::vec![plain_command(words, index.saturating_add(1))];
        }
    }
    Vec::new()
}

fn watch(words: &[Word]) -> Vec<Inner> {
    let watch = Runner {
        flags: "bcdegtxw",
        valued: "nq",
        long_flags: &[
            "beep",
            "color",
            "differences",
            "errexit",
            "chgexit",
            "no-title",
            "exec",
            "no-wrap",
            "precise",
        ],
        long_valued: &["interval"],
        ..runner(&["watch"])
    };
    let rewritten = generic(&watch, b"watch", words).into_iter().map(|inner| match inner {
        Inner::Command { words, .. } => joined(&words, false),
        other => other,
    });
    rewritten.collect()
}

fn ssh(words: &[Word]) -> Vec<Inner> {
    let ssh = Runner {
        flags: "46AaCfGgKkMNnqsTtVvXxYy",
        valued: "BbcDEeFIiJLlmOpQRSWw",
        operands: 1,
        ..runner(&["ssh"])
    };
    // Options in `-o` may name local commands.
    let rewritten = generic(&ssh, b"ssh", words).into_iter().map(|inner| match inner {
        Inner::Command { words, .. } => joined(&words, false),
        other => other,
    });
    rewritten.collect()
}

fn traced(words: &[Word]) -> Vec<Inner> {
    let at = words.iter().position(|w| w.known().is_none_or(|k| !k.starts_with(b"-")));
    match at {
        Some(at) => alloc::vec![plain_command(words, at)],
        None => Vec::new(),
    }
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    !needle.is_empty() && text.windows(needle.len()).any(|w| w == needle)
}

fn xargs(words: &[Word]) -> Inner {
    let mut at = 0usize;
    let mut replace: Option<Vec<u8>> = None;
    while let Some(word) = words.get(at) {
        let Some(text) = word.known() else { break };
        let Some(option) = text.strip_prefix(b"-").filter(|o| !o.is_empty()) else { break };
        at = at.saturating_add(1);
        if option == b"-" {
            break;
        }
        let value = |at: usize| words.get(at).and_then(Word::known).unwrap_or(b"{}").to_vec();
        if let Some(long) = option.strip_prefix(b"-") {
            let mut parts = long.splitn(2, |&b| b == b'=');
            let (name, given) = (parts.next().unwrap_or(b""), parts.next());
            match name {
                b"null" | b"no-run-if-empty" | b"verbose" | b"interactive" | b"exit"
                | b"open-tty" | b"show-limits" | b"max-lines" | b"eof" => {}
                b"replace" => replace = Some(given.unwrap_or(b"{}").to_vec()),
                b"arg-file" | b"delimiter" | b"max-args" | b"max-procs" | b"max-chars"
                | b"process-slot-var" => {
                    at = at.saturating_add(usize::from(given.is_none()));
                }
                _ => return Inner::Unclear { guess: words.get(at..).unwrap_or(&[]).to_vec() },
            }
            continue;
        }
        for (index, letter) in option.iter().enumerate() {
            let rest = option.get(index.saturating_add(1)..).unwrap_or(&[]);
            match letter {
                b'0' | b'r' | b't' | b'x' | b'p' | b'o' => continue,
                b'i' => {
                    replace = Some(if rest.is_empty() { b"{}".to_vec() } else { rest.to_vec() })
                }
                b'e' | b'l' => {}
                b'I' => {
                    replace = Some(if rest.is_empty() { value(at) } else { rest.to_vec() });
                    at = at.saturating_add(usize::from(rest.is_empty()));
                }
                b'a' | b'E' | b'd' | b'L' | b'n' | b'P' | b's' => {
                    at = at.saturating_add(usize::from(rest.is_empty()));
                }
                _ => return Inner::Unclear { guess: words.get(at..).unwrap_or(&[]).to_vec() },
            }
            break;
        }
    }
    let mut command = words.get(at..).unwrap_or(&[]).to_vec();
    if command.first().is_some_and(|w| w.known().is_none()) {
        return Inner::Unclear { guess: command };
    }
    if command.is_empty() {
        command.push(Word::from_bytes(b"echo", 0..0));
    }
    match replace {
        Some(mark) => {
            for word in &mut command {
                if word.known().is_some_and(|k| contains(k, &mark)) {
                    *word = Word::unknown(true, word.span.clone());
                }
            }
        }
        None => command.push(Word::unknown(false, 0..0)),
    }
    Inner::Command { words: command, assignments: Vec::new() }
}

fn parallel(words: &[Word]) -> Inner {
    let sources: [&[u8]; 4] = [b":::", b":::+", b"::::", b"::::+"];
    let end = words.iter().position(|w| w.known().is_some_and(|k| sources.contains(&k)));
    let head = words.get(..end.unwrap_or(words.len())).unwrap_or(&[]);
    match head.first().and_then(Word::known) {
        Some(first) if !first.starts_with(b"-") => {
            let mut command = head.to_vec();
            for word in &mut command {
                if word.known().is_some_and(|k| k.contains(&b'{')) {
                    *word = Word::unknown(false, word.span.clone());
                }
            }
            command.push(Word::unknown(false, 0..0));
            Inner::Command { words: command, assignments: Vec::new() }
        }
        _ => Inner::Unclear { guess: head.to_vec() },
    }
}

fn find(words: &[Word]) -> Vec<Inner> {
    let unclear_words =
        words.iter().any(|w| w.parts.iter().any(|p| matches!(p, Part::Unknown { quoted: false })));
    let ends = |w: &Word| w.known().is_some_and(|k| k == b";" || k == b"+");
    let hidden = words.iter().any(|w| w.known().is_none()) && words.iter().any(ends);
    let mut out = execs(words, &[b"-exec", b"-execdir", b"-ok", b"-okdir"]);
    // An unknown argument could be `-exec` itself.
    if unclear_words || (hidden && out.is_empty()) {
        out.push(Inner::Unclear { guess: Vec::new() });
    }
    out
}

/// The commands behind `-exec` and its kin, to `;`, `+` or the end.
fn execs(words: &[Word], options: &[&[u8]]) -> Vec<Inner> {
    let mut out = Vec::new();
    let mut at = 0usize;
    while let Some(word) = words.get(at) {
        at = at.saturating_add(1);
        if !word.known().is_some_and(|k| options.contains(&k)) {
            continue;
        }
        let mut command = Vec::new();
        while let Some(word) = words.get(at) {
            at = at.saturating_add(1);
            match word.known() {
                Some(b";") => break,
                Some(b"+") if command.last() == Some(&Word::unknown(false, 0..0)) => break,
                Some(b"{}") => command.push(Word::unknown(false, 0..0)),
                Some(k) if k.contains(&b'{') => command.push(Word::unknown(true, 0..0)),
                _ => command.push(word.clone()),
            }
        }
        out.push(Inner::Command { words: command, assignments: Vec::new() });
    }
    out
}
