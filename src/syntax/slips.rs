//! Known slips: what people write who know other languages, and what to write
//! instead. Each is told by the tokens around the place where parsing stopped.

use super::build::Where;
use super::expected::{Failure, wants_string};
use super::grammar::Rule;
use super::recover::Parser;
use super::token::Kind;
use crate::diag::{Diagnostic, Edit, did_you_mean};
use crate::source::Span;

/// Words of other languages for what Mero has, by block.
const OTHER_WORDS: &[(Where, &[&str], &str)] = &[
    (
        Where::Body,
        &["permissions", "permission", "permit", "grant", "can", "may"],
        "`allow read | write` grants permissions",
    ),
    (Where::Body, &["block", "forbid", "disallow", "reject", "prohibit"], "write `deny`"),
    (Where::Body, &["confirm", "approve", "prompt"], "write `ask`"),
    (Where::Body, &["ignore", "exclude", "hidden"], "write `hide \"PATTERN\"`"),
    (Where::Body, &["include", "extends", "import", "inherit"], "write `use PROFILE`"),
    (
        Where::Body,
        &["path", "directory", "dir", "root", "workspace"],
        "write `mount root at \"DIRECTORY\" { … }`",
    ),
    (Where::Body, &["modes", "mode"], "write `phases plan, default`"),
    (Where::Commands, &["block", "forbid", "disallow", "reject"], "write `deny`"),
    (Where::File, &["agent", "role", "policy"], "write `context NAME { … }`"),
    (
        Where::File,
        &["include", "use", "from", "require"],
        "write `import \"common.mero\"` for a file; `use` stands in a context",
    ),
    (Where::File, &["version"], "write `edition 1`"),
    (Where::Tool, &["permission", "permissions", "allow"], "write `uses read | write`"),
    (Where::Tool, &["grants", "needs"], "write `requires core:fs.read`"),
    (
        Where::Test,
        &["assert", "expect", "never", "always"],
        "write `allow`, `ask` or `deny` and the request; `assert` is an item of its own",
    ),
    (Where::Test, &["phase", "phases"], "write `in PHASE { … }`"),
];

const ALL: &[Where] =
    &[Where::File, Where::Body, Where::Commands, Where::Tools, Where::Tool, Where::Test];

impl Parser<'_> {
    /// The error for a known slip.
    pub(super) fn slip(&self, f: &Failure, place: Where, to: usize) -> Option<Diagnostic> {
        if let Some(d) = self.not_ascii(f.at, to) {
            return Some(d);
        }
        if f.at == f.from {
            if self.word(f.at) == "@" {
                let name = self.word(f.at.saturating_add(1));
                let mut d = self.error_at(f.at, to, format!("unknown annotation `@{name}`"));
                d.primary.span = d.primary.span.to(self.span(f.at.saturating_add(1)));
                return Some(
                    d.here("not an annotation").help("the only one is `@allow(CODE, \"reason\")`"),
                );
            }
            if f.byte > self.span(f.at).start as usize {
                return self.assigned(f, place, to);
            }
            return self
                .separator(f, place, to)
                .or_else(|| self.broken_tail(f, place, to))
                .or_else(|| self.joined_wrongly(f, to))
                .or_else(|| self.wrong_word(f, place, to));
        }
        self.assigned(f, place, to)
            .or_else(|| self.forgotten_operand(f, place, to))
            .or_else(|| self.argument_slips(f, place, to))
            .or_else(|| self.unquoted(f, to))
            .or_else(|| self.near_keyword(f, to))
    }

    /// `,` or `;` where a statement begins.
    fn separator(&self, f: &Failure, place: Where, to: usize) -> Option<Diagnostic> {
        let mark = self.word(f.from);
        let next = f.from.saturating_add(1);
        let ended = next >= to
            || self.tokens.get(next).is_some_and(|t| t.first)
            || place.keywords().contains(&self.word(next));
        if !matches!(mark, "," | ";") || !ended {
            return None;
        }
        let what = if place == Where::File { "items" } else { "statements" };
        let mut d = self
            .error_at(f.from, to, format!("{what} are not separated by `{mark}`"))
            .here(format!("remove this `{mark}`"));
        d.fix.push(Edit { span: self.span(f.from), text: String::new() });
        Some(d)
    }

    /// A word with letters that names do not have.
    pub(super) fn not_ascii(&self, i: usize, to: usize) -> Option<Diagnostic> {
        let word = self.word(i);
        if i >= to || self.kind(i) != Some(Kind::Word) || word.is_ascii() {
            return None;
        }
        let odd = word.chars().find(|c| !c.is_ascii())?;
        let d = self.error_at(i, to, format!("`{word}` cannot be a name: it holds `{odd}`"));
        Some(d.here("not a name").help(
            "names consist of the letters A to Z and a to z, digits, `_` and `-`; other text goes in quotes",
        ))
    }

    /// An optional part of the statement before that is begun and not right:
    /// the grammar then ends the statement in front of it.
    fn broken_tail(&self, f: &Failure, place: Where, to: usize) -> Option<Diagnostic> {
        let previous = self.previous?;
        let word = self.word(f.from);
        let next = f.from.saturating_add(1);
        let keyword = self.word(previous);
        let before = self.kind(f.from.checked_sub(1)?)?;
        let rules = matches!(place, Where::Commands) || keyword == "assert";
        let expected = match word {
            "|" => "a permission",
            "except" if rules => "a pattern in quotes",
            "because" if place == Where::Test => "a reason such as `not-granted`",
            "in" if keyword == "assert" => "a phase such as `plan`",
            "=" if keyword == "param" => "a directory in quotes",
            "," if place == Where::Commands && before == Kind::Str => {
                let d = self.error_at(f.from, to, "a command rule takes one pattern".to_owned());
                return Some(d.here("no list here").help(
                    "write a rule for each, or alternatives in one: `\"git (log|diff) ...\"`",
                ));
            }
            _ if keyword == "assert"
                && self.kind(f.from) == Some(Kind::Str)
                && before == Kind::Word =>
            {
                let d = self.error_at(f.from, to, "`permission` takes no pattern".to_owned());
                return Some(d.here("remove this").help(
                    "`permission` asks without a path; for paths write `never read \"PATTERN\"`",
                ));
            }
            _ => {
                let tails: &[&str] = match place {
                    Where::Test => &["because"],
                    Where::Commands => &["except"],
                    Where::File if keyword == "assert" => &["except", "in"],
                    _ => &[],
                };
                let first = self.tokens.get(f.from).is_some_and(|t| t.first);
                let near = did_you_mean(word, tails.iter().copied()).filter(|_| !first)?;
                let d = self.error_at(f.from, to, format!("unknown keyword `{word}`"));
                return Some(d.here("not a keyword").help(format!("did you mean `{near}`?")));
            }
        };
        let found = self.found(next, to);
        let d =
            self.error_at(next, to, format!("expected {expected} after `{word}`, found {found}"));
        Some(d.here(format!("expected {expected}")))
    }

    /// What follows a complete statement as if it went on: `allow read, write`,
    /// `allow read write`, `hide "a" "b"`.
    fn joined_wrongly(&self, f: &Failure, to: usize) -> Option<Diagnostic> {
        let previous = self.previous?;
        let keyword = self.word(previous);
        let last = f.from.checked_sub(1)?;
        let (mark, kind) = (self.word(f.from), self.kind(f.from));
        let first = self.tokens.get(f.from).is_some_and(|t| t.first);
        let field = matches!(keyword, "allow" | "ask" | "deny" | "uses" | "permission");
        let after_name = self.kind(last) == Some(Kind::Word) && last > previous;
        let after_text = self.kind(last) == Some(Kind::Str);
        if field && after_name {
            if matches!(mark, "," | "+" | "&" | "and" | "or") {
                return Some(
                    self.error_at(
                        f.from,
                        to,
                        format!("permissions are joined by `|`, not `{mark}`"),
                    )
                    .here("write `|`")
                    .help(format!("for example `{keyword} read | write`")),
                );
            }
            if !first && permission(mark) {
                let d = self
                    .error_at(f.from, to, format!("expected `|` before `{mark}`"))
                    .here("permissions are joined by `|`");
                return Some(d.help(format!("write `{} | {mark}`", self.word(last))));
            }
            if !first && kind == Some(Kind::Str) {
                return Some(
                    self.error_at(f.from, to, "a permission takes no path".to_owned())
                        .here("not expected here")
                        .help(format!(
                            "to set it for some paths only, write `on {mark} {{ {keyword} {} }}` in a mount",
                            self.word(last)
                        )),
                );
            }
        }
        if after_text && kind == Some(Kind::Str) {
            let mut d = self
                .error_at(
                    f.from,
                    to,
                    format!("expected `,` between {} and {mark}", self.word(last)),
                )
                .here("strings of a list are separated by `,`");
            let end = self.span(last).end as usize;
            d.fix.push(Edit { span: Span::new(self.file, end, end), text: ",".to_owned() });
            return Some(d);
        }
        if keyword == "use" && mark.contains(':') && !mark.contains("::") {
            let d = self.error_at(f.from, to, format!("`{mark}` is not the name of a profile"));
            return Some(
                d.here("one `:` too few").help(format!("write `{}`", mark.replace(':', "::"))),
            );
        }
        let list = matches!(keyword, "use" | "phases" | "grants" | "requires" | "manager");
        if list && after_name && !first && kind == Some(Kind::Word) {
            return Some(
                self.error_at(f.from, to, format!("expected `,` before `{mark}`"))
                    .here("names of a list are separated by `,`"),
            );
        }
        None
    }

    /// A word that begins no statement here.
    fn wrong_word(&self, f: &Failure, place: Where, to: usize) -> Option<Diagnostic> {
        let whole = self.word(f.from);
        // `permissions:read` is one token.
        let word = whole.split(':').next().unwrap_or(whole);
        if self.kind(f.from) != Some(Kind::Word) {
            return None;
        }
        let same = |w: &&str| w.eq_ignore_ascii_case(word);
        let error = self.error_at(f.from, to, format!("{} cannot hold `{word}`", place.name()));
        if let Some((.., advice)) =
            OTHER_WORDS.iter().find(|(p, words, _)| *p == place && words.iter().any(same))
        {
            return Some(error.here("not a word of Mero here").help(*advice));
        }
        if let Some(near) = did_you_mean(word, place.keywords().iter().copied()) {
            let d = self.error_at(f.from, to, format!("unknown keyword `{word}`"));
            return Some(d.here("not a keyword").help(format!("did you mean `{near}`?")));
        }
        let home: Vec<&str> = ALL
            .iter()
            .filter(|p| **p != place && p.keywords().contains(&word))
            .map(|p| p.name())
            .collect();
        if home.is_empty() {
            return None;
        }
        let at_top = home.as_slice() == [Where::File.name()];
        let help = if at_top {
            format!("`{word}` stands at the top level of a file; is a `}}` missing before it?")
        } else {
            format!("`{word}` stands in {}", home.join(", or in "))
        };
        Some(error.here("not here").help(help))
    }

    /// `allow = read`, `mount root: "x"`.
    fn assigned(&self, f: &Failure, place: Where, to: usize) -> Option<Diagnostic> {
        let inside = f.byte > self.span(f.at).start as usize;
        let rest = self.text.get(f.byte..self.span(f.at).end as usize).unwrap_or("");
        let mark = rest.chars().next().filter(|c| matches!(c, '=' | ':'))?;
        if !inside && f.expected.contains(&Rule::equals) && mark == '=' {
            return None;
        }
        if f.expected.contains(&Rule::equals) {
            let d = self.error_at(f.at, to, format!("expected `=`, found `{mark}`"));
            return Some(d.here("write `=`"));
        }
        if f.expected.contains(&Rule::kw_at) {
            let d = self.error_at(
                f.at,
                to,
                format!("expected `at` after the mount's name, found `{mark}`"),
            );
            return Some(d.here("write `at`"));
        }
        let before = if inside {
            self.text.get(self.span(f.at).start as usize..f.byte).unwrap_or("")
        } else {
            self.word(f.at.checked_sub(1)?)
        };
        let mut d = self
            .error_at(f.at, to, format!("`{before}` is followed by its value without `{mark}`"))
            .here(format!("remove the `{mark}`"));
        if let Some(form) = self.form(f.from, place) {
            d = d.help(format!("the form is: {form}"));
        }
        d.primary.span = Span::new(self.file, f.byte, f.byte.saturating_add(1));
        Some(d)
    }

    /// A keyword without its operand, and the next statement behind it.
    fn forgotten_operand(&self, f: &Failure, place: Where, to: usize) -> Option<Diagnostic> {
        let keyword = self.word(f.from);
        let effect = matches!(keyword, "allow" | "ask" | "deny");
        let string = self.kind(f.at) == Some(Kind::Str);
        if place == Where::Body && effect && string && f.at < to {
            let text = self.word(f.at);
            return Some(
                self.error_at(f.at, to, format!("`{keyword}` takes permissions here, not a string"))
                    .here("expected a permission such as `read`")
                    .help(format!(
                        "a command goes into `commands {{ {keyword} {text} }}`, a tool into \
                         `tools {{ {keyword} {text} }}`, a path into `on {text} {{ {keyword} read }}`"
                    )),
            );
        }
        if place == Where::Body && effect && self.word(f.at) == "*" && f.at < to {
            let d = self.error_at(f.at, to, "`*` is not a permission".to_owned());
            return Some(d.here("write `all`"));
        }
        if place == Where::Commands && effect && permission(self.word(f.at)) {
            let d = self.error_at(
                f.at,
                to,
                format!("`{keyword}` takes a command pattern here, not a permission"),
            );
            return Some(d.here("expected a pattern in quotes").help(
                "permissions are set outside the `commands` block; paths of commands are \
                 checked with `{read}` in a pattern",
            ));
        }
        None
    }

    fn argument_slips(&self, f: &Failure, place: Where, to: usize) -> Option<Diagnostic> {
        let keyword = self.word(f.from);
        if place == Where::Test && self.kind(f.at) == Some(Kind::Str) {
            let second = f.at == f.from.saturating_add(1);
            let effect = matches!(keyword, "allow" | "ask" | "deny");
            return (second && effect).then(|| {
                let d = self.error_at(f.at, to, format!("expected an action after `{keyword}`"));
                let text = self.word(f.at);
                d.here("what is to be done with it?").help(format!(
                    "write `{keyword} read {text}` for a path, `{keyword} run {text}` for a command"
                ))
            });
        }
        if keyword == "mount" && f.expected.contains(&Rule::kw_at) {
            let name = f.at.checked_sub(1).filter(|n| self.word(*n) == "at")?;
            let d = self.error_at(name, to, "expected a name for the mount before `at`".to_owned());
            return Some(
                d.here("the name is missing")
                    .help("the form is: `mount NAME at \"DIRECTORY\" { … }`"),
            );
        }
        if matches!(self.word(f.at), "[" | "(") && f.at < to && keyword != "@" {
            let d = self.error_at(f.at, to, "lists and sets have no brackets".to_owned());
            let d = d.here("remove the brackets");
            return Some(match self.form(f.from, place) {
                Some(form) => d.help(format!("the form is: {form}")),
                None => d,
            });
        }
        // `re "x"`: the prefix belongs right before the quote.
        let prefix = matches!(self.word(f.at), "r" | "re" | "glob" | "text");
        let next = f.at.saturating_add(1);
        if prefix && next < to && self.kind(next) == Some(Kind::Str) {
            let (word, text) = (self.word(f.at), self.word(next));
            let d = self.error_at(f.at, to, format!("`{word}` and its string belong together"));
            return Some(d.here("blank after this").help(format!("write `{word}{text}`")));
        }
        // A regular expression where only strings are taken.
        let strings = f.expected.iter().any(|r| wants_string(*r));
        let written = self.word(f.at);
        let prefixed = ["re", "glob", "text"].iter().find(|p| written.starts_with(**p));
        if let (Some(prefix), true, Some(Kind::Str)) = (prefixed, strings, self.kind(f.at)) {
            let d =
                self.error_at(f.at, to, format!("`{prefix}\"…\"` patterns are for commands only"));
            return Some(d.here("expected a plain string"));
        }
        None
    }

    /// A word or path where a string is wanted.
    fn unquoted(&self, f: &Failure, to: usize) -> Option<Diagnostic> {
        let pattern = |r: &Rule| matches!(r, Rule::pattern | Rule::regex | Rule::glob | Rule::text);
        let wanted = f.expected.iter().any(|r| wants_string(*r) || pattern(r));
        // A keyword of another line is a forgotten operand, not a bare string.
        if !wanted || f.at >= to || self.tokens.get(f.at).is_some_and(|t| t.first) {
            return None;
        }
        let names = f.expected.iter().any(|r| matches!(r, Rule::tool_name));
        let kind = self.kind(f.at)?;
        if names
            || !matches!(kind, Kind::Word | Kind::Other)
            || matches!(self.word(f.at), "," | "|" | "[" | "(")
        {
            return None;
        }
        let start = self.span(f.at).start as usize;
        let rest = self.text.get(start..).unwrap_or("");
        // A command is what stands on the line; anything else ends with the word.
        let line = f.expected.contains(&Rule::command)
            || (f.expected.iter().any(pattern) && self.word(f.from) != "assert");
        let ends =
            |c: char| matches!(c, '\n' | ',' | '"' | '}' | ')') || (!line && c.is_whitespace());
        let len = rest.find(ends).unwrap_or(rest.len());
        let text = rest.get(..len).unwrap_or("");
        let text = text.split(" //").next().unwrap_or(text);
        let text = text.trim_end().trim_end_matches('{').trim_end();
        let shown: String = text.chars().take(60).collect();
        if shown.is_empty() {
            return None;
        }
        let span = Span::new(self.file, start, start.saturating_add(text.len()));
        let mut d = self
            .error_at(f.at, to, format!("`{shown}` must stand in quotes"))
            .here("expected a string")
            .help(format!("write `\"{shown}\"`"));
        d.primary.span = span;
        Some(d)
    }

    /// `mount root att "x"`.
    fn near_keyword(&self, f: &Failure, to: usize) -> Option<Diagnostic> {
        let word = self.word(f.at);
        let known: &[(Rule, &str)] = &[
            (Rule::kw_at, "at"),
            (Rule::kw_approves, "approves"),
            (Rule::never, "never"),
            (Rule::kw_never, "never"),
            (Rule::always, "always"),
            (Rule::kw_always, "always"),
            (Rule::effect, "allow"),
            (Rule::effect, "ask"),
            (Rule::effect, "deny"),
            (Rule::at_allow, "allow"),
        ];
        if f.at >= to || self.kind(f.at) != Some(Kind::Word) {
            return None;
        }
        let wanted = known.iter().filter(|(r, _)| f.expected.contains(r)).map(|(_, w)| *w);
        let near = did_you_mean(word, wanted)?;
        let d = self.error_at(f.at, to, format!("expected `{near}`, found `{word}`"));
        Some(d.here("not a keyword").help(format!("did you mean `{near}`?")))
    }
}

fn permission(word: &str) -> bool {
    matches!(word, "read" | "write" | "execute" | "delete" | "all" | "none")
}
