//! `dead-pattern`: a word pattern is matched with the words of one simple command, as the
//! shell would hand them to it. Operators, quotes, expansions and whole scripts are gone
//! by then, and so a pattern that spells them matches nothing.

use super::scene::Scene;
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::CommandRule;
use crate::request::Ask;
use crate::syntax::ast::{Pattern, PatternKind};

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let rules = scene.context.commands.iter().flat_map(|c| &c.rules);
    for rule in rules {
        let Some((message, help)) = dead(&rule.pattern) else { continue };
        let mut found = Diagnostic::new(&codes::DEAD_PATTERN, rule.span, message).help(help);
        // The command that was meant, with the answer that it gets in spite of the rule.
        if let Some(witness) = scene.witness(&Ask::Command(meant(rule))) {
            found = found.witness(witness);
        }
        out.push(found);
    }
    out
}

/// The pattern's own text as a command.
fn meant(rule: &CommandRule) -> String {
    let text = rule.pattern.text.replace("...", "x").replace(":*", " x").replace('\\', "");
    let inner = ["Bash(", "Shell(", "shell(", "bash("].iter().find_map(|t| text.strip_prefix(t));
    let text = inner.map_or(text.as_str(), |t| t.trim_end_matches(')'));
    text.trim_start_matches('^').replace('*', "x")
}

/// Why the pattern is dead, and what to write.
fn dead(pattern: &Pattern) -> Option<(String, &'static str)> {
    if pattern.kind != PatternKind::Word {
        return None;
    }
    let text = pattern.text.as_str();
    let words = text.split_whitespace().collect::<Vec<_>>();
    let first = *words.first()?;
    let split = "write one rule for each simple command: a string is taken apart before rules are asked, and \
                 every part of it must be allowed";
    if let Some(tool) = ["Bash(", "Shell(", "bash(", "shell(", "run_shell_command("]
        .iter()
        .find(|t| first.starts_with(**t))
    {
        let message = format!(
            "`{tool}…)` is another system's notation: here the pattern is the command alone"
        );
        return Some((message, "write the command's words, and `...` for any further arguments"));
    }
    if let Some(quote) = ['"', '\''].iter().find(|q| quoted(&words, **q)) {
        let message =
            format!("`{quote}` is taken away before commands are matched, so this matches nothing");
        return Some((
            message,
            "leave the quotes out: a word of the pattern is a whole argument, blanks in it included (`*` takes \
             them), and `\\ ` is one blank",
        ));
    }
    // `find … \;` and `xargs` take such words as arguments of their own.
    let runs = |w: &str| {
        matches!(super::pattern::base(w), "find" | "fd" | "fdfind" | "expr" | "test" | "[")
    };
    let operator = words.iter().enumerate().find(|(at, w)| {
        let bare = w.trim_start_matches('\\');
        let own = runs(first) && matches!(bare, ";" | "<" | ">" | "!" | "{}");
        let ends = *at < words.len().saturating_sub(1) && ends_command(bare);
        !own && (is_operator(bare) || ends || pipes(w))
    });
    if let Some((_, word)) = operator {
        let message =
            format!("`{word}` is the shell's and no word of a command, so this matches nothing");
        let redirects = word.contains(['<', '>']);
        let help = if redirects {
            "leave the redirection out: it is decided apart from the command, by `write` or `read` on its target"
        } else {
            split
        };
        return Some((message, help));
    }
    if text.contains("$(") || text.contains('`') || text.contains("$\\(") {
        let message =
            "what stands in `$(…)` is a command of its own and no word of this one".to_owned();
        return Some((message, split));
    }
    if first.starts_with('^') || text.contains("\\s") || text.contains("\\b") {
        let message = "this is a regular expression written as a word pattern".to_owned();
        return Some((message, "write `re\"…\"`, or better the command's words"));
    }
    if let Some(word) = colon_star(&words) {
        let message = format!(
            "`:*` is another system's notation: here `{word}` is a word with a colon in it"
        );
        return Some((
            message,
            "write `...` for any further arguments, apart from the word before it",
        ));
    }
    None
}

/// `&&`, `||`, `;`, `&`, `|` and redirections as words of their own.
fn is_operator(word: &str) -> bool {
    let plain = word.replace('\\', "");
    let target = plain.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
    matches!(plain.as_str(), "&&" | "||" | ";" | ";;" | "&" | "|" | "|&")
        || (target.starts_with('>') || target.starts_with('<')) && !plain.contains("<=>")
}

/// A bar beside a wildcard, as in `curl*|*sh`.
fn pipes(word: &str) -> bool {
    word.contains("*\\|") || word.contains("\\|*")
}

/// `cd x;` and `x&`, with more behind them.
fn ends_command(word: &str) -> bool {
    word.len() > 1 && word.ends_with(';') && !word.ends_with("\\;")
}

/// A word that begins with a quote, and one (perhaps the same) that ends with it.
fn quoted(words: &[&str], quote: char) -> bool {
    let begin = |w: &&str| {
        w.trim_start_matches('\\').starts_with(quote) || w.contains(&format!("={quote}"))
    };
    let opened = words.iter().position(begin);
    opened.is_some_and(|at| {
        let rest = words.get(at..).unwrap_or(&[]);
        rest.iter().any(|w| w.len() > 1 && w.trim_end_matches("...").ends_with(quote))
    })
}

/// `git:*`, and `git push:*` for programs whose arguments have no colons.
fn colon_star<'w>(words: &[&'w str]) -> Option<&'w str> {
    const PLAIN: &[&str] = &[
        "git",
        "gh",
        "cargo",
        "go",
        "pip",
        "pip3",
        "uv",
        "brew",
        "apt",
        "kubectl",
        "helm",
        "terraform",
        "python",
        "python3",
        "node",
        "poetry",
        "ls",
        "cat",
        "grep",
        "find",
        "echo",
    ];
    let first = words.first()?;
    let named = |w: &str| {
        w.strip_suffix(":*").is_some_and(|n| {
            !n.is_empty() && n.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
        })
    };
    if named(first) {
        return Some(first);
    }
    let second = words.get(1).filter(|w| PLAIN.contains(first) && named(w));
    second.copied()
}
