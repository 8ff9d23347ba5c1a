//! Words for what the grammar wanted.
//!
//! Takes a [`Failure`] (where a statement began, where it stopped, the rules
//! that pest tried there) and makes one sentence: what was expected, after
//! what, and what stood there instead. Known slips go first (`slips`), as they
//! can say what to write.

use super::build::Where;
use super::grammar::Rule;
use super::recover::Parser;
use super::token::Kind;
use crate::diag::{Diagnostic, did_you_mean, registry};

/// A statement that did not parse.
pub(super) struct Failure {
    /// Its first token.
    pub(super) from: usize,
    /// The token at which no rule could go on.
    pub(super) at: usize,
    /// The same in bytes; may lie inside the token.
    pub(super) byte: usize,
    /// Rules tried there.
    pub(super) expected: Vec<Rule>,
    /// Rules that must not match there, and did.
    pub(super) refused: Vec<Rule>,
    /// The head whose `{` is missing, if that is it.
    pub(super) head: Option<Rule>,
}

impl Failure {
    pub(super) fn at(from: usize, at: usize, byte: usize) -> Self {
        Failure { from, at, byte, expected: Vec::new(), refused: Vec::new(), head: None }
    }

    /// A head that is not followed by a brace.
    pub(super) fn no_brace(from: usize, at: usize, head: Rule) -> Self {
        Failure { head: Some(head), ..Failure::at(from, at, 0) }
    }
}

impl Parser<'_> {
    /// The error for a failure in a block of this kind that ends at token `to`.
    pub(super) fn explain(&self, failure: &Failure, place: Where, to: usize) -> Diagnostic {
        if let Some(head) = failure.head {
            return self.no_brace(failure, head, to);
        }
        if let Some(slip) = self.slip(failure, place, to) {
            return slip;
        }
        if failure.at == failure.from {
            return self.unknown_statement(failure, place);
        }
        let what = words(failure);
        let after = self.after(failure);
        let found = self.found(failure.at, to);
        // What is missing at a line's end is shown there, not on the next line.
        let place_at = self.tokens.get(failure.at).filter(|t| t.first).map_or(to, |_| failure.at);
        let mut d = self
            .error_at(failure.at, place_at, format!("expected {what}{after}, found {found}"))
            .here(format!("expected {what}"));
        if let Some(help) = self.form(failure.from, place) {
            d = d.help(format!("the form is: {help}"));
        }
        d
    }

    pub(super) fn error_at(&self, i: usize, to: usize, message: String) -> Diagnostic {
        // At the end of a block the place is right behind its last token, which
        // is where the missing piece goes.
        let mut span = self.span(i);
        if i >= to {
            let last = to.checked_sub(1).map_or(span, |n| self.span(n));
            span = crate::source::Span { start: last.end, end: last.end, ..last };
        }
        Diagnostic::new(&registry::SYNTAX_ERROR, span, message)
    }

    fn no_brace(&self, failure: &Failure, head: Rule, to: usize) -> Diagnostic {
        let after = match head {
            Rule::mount_head => "the host directory",
            Rule::on_head => "the patterns",
            Rule::commands_head => "`commands`",
            Rule::tools_head => "`tools`",
            Rule::in_head => "the phase",
            Rule::tool_head => "the tool's name",
            Rule::profile_head => "the profile's name",
            _ => "the context's name",
        };
        if let Some(d) = self.not_ascii(failure.at, to) {
            return d;
        }
        let word = self.word(failure.at);
        if head == Rule::context_head && failure.at < to {
            if word == "narrows" {
                let next = failure.at.saturating_add(1);
                let found = self.found(next, to);
                return self
                    .error_at(
                        next,
                        to,
                        format!("expected the name of a context after `narrows`, found {found}"),
                    )
                    .here("expected a name");
            }
            if did_you_mean(word, ["narrows"]).is_some() {
                return self
                    .error_at(failure.at, to, format!("unknown keyword `{word}`"))
                    .here("not a keyword")
                    .help("did you mean `narrows`?");
            }
        }
        if matches!(word, ":" | "=") && failure.at < to {
            return self
                .error_at(failure.at, to, format!("no `{word}` stands before a block"))
                .here(format!("remove this `{word}`"));
        }
        let last = failure.at.checked_sub(1).map_or(self.span(0), |n| self.span(n));
        let found = self.found(failure.at, to);
        let end = crate::source::Span { start: last.end, ..last };
        Diagnostic::new(
            &registry::SYNTAX_ERROR,
            end,
            format!("expected `{{` after {after}, found {found}"),
        )
        .here("expected `{`")
    }

    /// What stands at a token, for "found …".
    pub(super) fn found(&self, i: usize, to: usize) -> String {
        if i >= self.tokens.len() {
            return "the end of the file".to_owned();
        }
        if i >= to {
            return "the end of the block".to_owned();
        }
        let word = self.word(i);
        match self.kind(i) {
            Some(Kind::Str) if word.chars().count() > 24 => "a string".to_owned(),
            Some(Kind::Str) => format!("the string `{word}`"),
            _ => format!("`{}`", word.chars().take(40).collect::<String>()),
        }
    }

    /// "after …", from the token before.
    fn after(&self, failure: &Failure) -> String {
        let Some(before) = failure.at.checked_sub(1).filter(|b| *b >= failure.from) else {
            return String::new();
        };
        let keyword = self.word(failure.from);
        let word = self.word(before);
        let second = before == failure.from.saturating_add(1);
        match (keyword, self.kind(before)) {
            ("mount", Some(Kind::Word)) if second => " after the mount's name".to_owned(),
            ("test" | "context" | "assert", Some(Kind::Word)) if second => {
                " after the context's name".to_owned()
            }
            ("permission" | "param", Some(Kind::Word)) if second => " after the name".to_owned(),
            ("manager", Some(Kind::Word)) if second => " after the manager's name".to_owned(),
            (_, Some(Kind::Str)) if word.chars().count() > 24 => " after the string".to_owned(),
            _ => format!(" after `{word}`"),
        }
    }

    /// A token that begins no statement of this block.
    fn unknown_statement(&self, failure: &Failure, place: Where) -> Diagnostic {
        let what = match place {
            Where::File => "an item",
            _ => "a statement",
        };
        let found = self.found(failure.from, usize::MAX);
        let first = self.tokens.get(failure.from).is_some_and(|t| t.first);
        let before = failure.from.checked_sub(1).filter(|b| self.kind(*b) != Some(Kind::Open));
        if let (Some(previous), Some(_), false) = (self.previous, before, first) {
            let d = Diagnostic::new(
                &registry::SYNTAX_ERROR,
                self.span(failure.from),
                format!("{found} does not belong to the statement before it"),
            )
            .here(format!("expected the start of {what}"));
            let form = self.form(previous, place);
            return match form {
                Some(form) => d.help(format!("the form is: {form}")),
                None => d,
            };
        }
        let known = place.keywords().iter().map(|k| format!("`{k}`")).collect::<Vec<_>>();
        Diagnostic::new(
            &registry::SYNTAX_ERROR,
            self.span(failure.from),
            format!("expected {what}, found {found}"),
        )
        .here(format!("not the start of {what}"))
        .help(format!("{} takes {}", place.name(), known.join(", ")))
    }

    /// How a statement is written, by its keyword.
    pub(super) fn form(&self, i: usize, place: Where) -> Option<&'static str> {
        Some(match (self.word(i), place) {
            ("edition", _) => "`edition 1`",
            ("import", _) => "`import \"common.mero\"`",
            ("permission", _) => "`permission edit = read | write`",
            ("param", _) => "`param WORKSPACE` or `param WORKSPACE = \"./default\"`",
            ("profile", _) => "`profile NAME { … }`",
            ("context", _) => "`context NAME { … }` or `context NAME narrows OTHER { … }`",
            ("tool", _) => "`tool NAME { … }`",
            ("manager", _) => "`manager NAME approves CONTEXT, …`",
            ("test", _) => "`test CONTEXT { … }`",
            ("assert", _) => {
                "`assert CONTEXT never read \"**/.env\"` or `assert CONTEXT always allow read \"/docs/**\"`"
            }
            ("mount", _) => "`mount NAME at \"DIRECTORY\" { … }`",
            ("on", _) => "`on \"PATTERN\", … { … }`",
            ("use", _) => "`use PROFILE, …`",
            ("phases", _) => "`phases plan, default, accept_edits`",
            ("hide", _) => "`hide \"*.pem\", \".env\"`",
            ("grants", _) => "`grants core:fs.read, …`",
            ("env", _) => "`env \"NODE_ENV\", …`",
            ("wrappers", _) => "`wrappers \"timeout\", …`",
            ("otherwise", _) => "`otherwise allow`, `otherwise ask` or `otherwise deny`",
            ("opaque", _) => "`opaque ask` or `opaque deny`",
            ("requires", _) => "`requires core:fs.read, …`",
            ("uses", _) => "`uses read | write`",
            ("ability", _) => "`ability basic`",
            ("in", _) => "`in PHASE { … }`",
            ("@", _) => "`@allow(CODE, \"reason\")`",
            (_, Where::Body) => "`allow read | write`, each a permission, `all` or `none`",
            (_, Where::Commands) => "`allow [readonly] \"git log ...\" [except \"git log -p\"]`",
            (_, Where::Tools) => "`allow \"file_*\", \"grep\"`",
            (_, Where::Test) => {
                "`allow read \"/x\"`, `deny run \"rm -rf /\"`, `ask argv \"git\", \"push\"`, \
                 `allow tool \"grep\"` or `deny permission execute`"
            }
            _ => return None,
        })
    }
}

/// "A, B or C" for the rules of a failure.
fn words(failure: &Failure) -> String {
    let mut words: Vec<&str> = Vec::new();
    for rule in failure.expected.iter().chain(&failure.refused) {
        let word = phrase(*rule);
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }
    if words.contains(&ACTION) {
        words.retain(|w| !w.starts_with("a permission"));
        // After `never`: the effect may be left out, and comes first.
        words.sort_by_key(|w| *w == ACTION);
    }
    match words.split_last() {
        None => "something else".to_owned(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// Whether a rule is a string without a prefix.
pub(super) fn wants_string(rule: Rule) -> bool {
    use Rule as R;
    matches!(
        rule,
        R::import_path
            | R::default_host
            | R::host
            | R::path_pattern
            | R::env_name
            | R::program
            | R::tool_glob
            | R::argument
            | R::path
            | R::command
            | R::silence_reason
            | R::tool_name_string
            | R::string
            | R::plain
            | R::raw
    )
}

const ACTION: &str =
    "an action (a permission such as `read`, or `run`, `argv`, `tool`, `permission`)";

/// A rule in words; empty for rules that say nothing to people.
fn phrase(rule: Rule) -> &'static str {
    use Rule as R;
    match rule {
        R::effect => "`allow`, `ask` or `deny`",
        R::set | R::set_name => "a permission such as `read` or `read | write`",
        R::new_name => "a name",
        R::slug => "a name for the mount",
        R::level => "a level (`simple`, `basic`, `intermediate`, `proficient` or `advanced`)",
        R::reason => "a reason such as `not-granted`",
        R::code => "the name of a finding",
        R::context_name | R::listed_context => "the name of a context",
        R::context_names => "the names of contexts",
        R::phase | R::item_phase => "a phase such as `plan`",
        R::profile_name => "the name of a profile",
        R::key => "a grant key such as `core:fs.read`",
        R::number => "a number",
        R::import_path => "the file's path in quotes",
        R::default_host => "a directory in quotes",
        R::host => "the host directory in quotes",
        R::path_pattern => "a pattern in quotes",
        R::env_name => "the name of a variable in quotes",
        R::program => "the name of a program in quotes",
        R::tool_glob => "a tool name or glob in quotes",
        R::tool_name => "the tool's name",
        R::argument | R::string | R::plain | R::raw => "a string",
        R::path => "a path in quotes",
        R::command => "a command in quotes",
        R::tool_name_string => "a tool's name in quotes",
        R::silence_reason => "the reason in quotes",
        R::pattern | R::regex | R::glob | R::text => "a pattern in quotes",
        R::equals => "`=`",
        R::comma => "`,`",
        R::paren_open => "`(`",
        R::paren_close => "`)`",
        R::bracket_close => "`]`",
        R::at_allow => "`@allow`",
        R::action_word
        | R::expect_words
        | R::expect_argv
        | R::asked_pattern
        | R::expect
        | R::expect_path
        | R::kw_run
        | R::word_run
        | R::kw_argv
        | R::kw_tool
        | R::word_tool
        | R::kw_permission
        | R::action_permission
        | R::action_path => ACTION,
        R::never => "`never`",
        R::always => "`always`",
        R::kw_never => "`never`",
        R::kw_always => "`always`",
        R::kw_approves => "`approves`",
        R::kw_at => "`at`",
        R::kw_narrows => "`narrows`",
        R::readonly | R::kw_readonly => "`readonly`",
        R::except | R::kw_except => "`except`",
        R::in_phases | R::kw_in => "`in`",
        R::because | R::kw_because => "`because`",
        _ => "",
    }
}
