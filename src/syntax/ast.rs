//! The tree of one file: what was written, every node with its place.
//!
//! Nothing is resolved here: names are text, permission sets are lists of
//! names, patterns are strings with their kind. Comments stay in a list beside
//! the items ([`File::comments`]), in order, for the formatter.

use crate::source::{Span, Spanned};
use serde::Serialize;

/// A string with its place.
pub type Name = Spanned<String>;

/// One file.
#[derive(Clone, Debug, Serialize)]
pub struct File {
    /// `edition N`, where it stands.
    pub edition: Option<Spanned<u32>>,
    /// `import "…"` lines.
    pub imports: Vec<Import>,
    /// Everything else, in order.
    pub items: Vec<Item>,
    /// Every `//` and `///` comment, in order of position.
    pub comments: Vec<Comment>,
    /// The whole file.
    pub span: Span,
}

/// A comment as written, without its line end.
#[derive(Clone, Debug, Serialize)]
pub struct Comment {
    /// With the slashes.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// `import "path.mero"`.
#[derive(Clone, Debug, Serialize)]
pub struct Import {
    /// Annotations before it.
    pub attributes: Attributes,
    /// The path.
    pub path: Name,
    /// The whole statement.
    pub span: Span,
}

/// What may precede an item or a statement.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Attributes {
    /// Lines of `///`, without the slashes and one blank after them.
    pub doc: Vec<String>,
    /// `@allow(CODE, "reason")`.
    pub allows: Vec<Allow>,
}

/// `@allow(CODE, "reason")`.
#[derive(Clone, Debug, Serialize)]
pub struct Allow {
    /// The code or name as written.
    pub code: Name,
    /// Why.
    pub reason: Name,
    /// The whole annotation.
    pub span: Span,
}

/// A top-level item.
#[derive(Clone, Debug, Serialize)]
pub struct Item {
    /// Documentation and annotations.
    pub attributes: Attributes,
    /// Which, with its parts.
    pub kind: ItemKind,
    /// From the keyword to the end.
    pub span: Span,
}

/// The kinds of item.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// `permission NAME = A | B`.
    Permission {
        /// The new name.
        name: Name,
        /// What it stands for.
        set: PermissionSet,
    },
    /// `param NAME` or `param NAME = "default"`.
    Param {
        /// The parameter.
        name: Name,
        /// Its default directory.
        default: Option<Name>,
    },
    /// `profile NAME { … }`.
    Profile {
        /// The profile.
        name: Name,
        /// Its statements.
        body: Vec<Statement>,
    },
    /// `context NAME [narrows OTHER] { … }`.
    Context {
        /// The context.
        name: Name,
        /// The context it claims to be no more permissive than.
        narrows: Option<Name>,
        /// Its statements.
        body: Vec<Statement>,
    },
    /// `tool NAME { … }`; the name is an identifier or a string.
    Tool {
        /// The tool.
        name: Name,
        /// What is said of it.
        body: Vec<ToolStatement>,
    },
    /// `manager NAME approves A, B`.
    Manager {
        /// The context that may approve.
        name: Name,
        /// On whose requests.
        approves: Vec<Name>,
    },
    /// `test CONTEXT { … }`.
    Test {
        /// The context under test.
        context: Name,
        /// What is expected.
        body: Vec<TestStatement>,
    },
    /// `assert CONTEXT never|always …`.
    Assert(Box<Assert>),
}

/// `A | B`, each a permission or a named set.
#[derive(Clone, Debug, Serialize)]
pub struct PermissionSet {
    /// The names in order.
    pub names: Vec<Name>,
    /// All of it.
    pub span: Span,
}

/// `allow`, `ask`, `deny`, as a field or an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Yes.
    Allow,
    /// Once approved.
    Ask,
    /// No.
    Deny,
}

impl Effect {
    /// The keyword.
    #[must_use]
    pub const fn keyword(self) -> &'static str {
        match self {
            Effect::Allow => "allow",
            Effect::Ask => "ask",
            Effect::Deny => "deny",
        }
    }
}

/// A statement of a context, profile, mount or `on` block. Which kinds may
/// stand where is checked by `hir`, so that the message can say so.
#[derive(Clone, Debug, Serialize)]
pub struct Statement {
    /// Documentation and annotations.
    pub attributes: Attributes,
    /// Which.
    pub kind: StatementKind,
    /// From the keyword to the end.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StatementKind {
    /// `use a, std::b`; names keep their `std::`.
    Use(Vec<Name>),
    /// `phases plan, default`.
    Phases(Vec<Name>),
    /// `unconfined`.
    Unconfined,
    /// `allow SET`, `ask SET`, `deny SET`.
    Field {
        /// Which field.
        field: Effect,
        /// Its value.
        set: PermissionSet,
    },
    /// `hide "…", "…"`.
    Hide(Vec<Name>),
    /// `mount SLUG at "HOST" { … }`.
    Mount {
        /// The slug.
        slug: Name,
        /// The host directory as written.
        host: Name,
        /// Its statements.
        body: Vec<Statement>,
    },
    /// `on "…", "…" { … }`.
    On {
        /// The patterns.
        patterns: Vec<Name>,
        /// Field statements.
        body: Vec<Statement>,
    },
    /// `commands { … }`.
    Commands(Vec<CommandStatement>),
    /// `tools { … }`.
    Tools(Vec<ToolRule>),
    /// `grants a:b, c:d`; keys as written, right or wrong.
    Grants(Vec<Name>),
    /// `env "NAME", …` (in a context, profile or `commands` block).
    Env(Vec<Name>),
    /// `wrappers "NAME", …` (likewise).
    Wrappers(Vec<Name>),
}

/// How a pattern is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PatternKind {
    /// `"git status ..."`: word by word (for paths: `.gitignore` syntax).
    Word,
    /// `re"…"`.
    Regex,
    /// `glob"…"`.
    Glob,
    /// `text"…"`.
    Text,
}

/// A pattern as written.
#[derive(Clone, Debug, Serialize)]
pub struct Pattern {
    /// How to read it.
    pub kind: PatternKind,
    /// The text, with the string's escapes resolved.
    pub text: String,
    /// Where, prefix and quotes included.
    pub span: Span,
}

/// A statement of a `commands` block.
#[derive(Clone, Debug, Serialize)]
pub struct CommandStatement {
    /// Documentation and annotations.
    pub attributes: Attributes,
    /// Which.
    pub kind: CommandStatementKind,
    /// From the keyword to the end.
    pub span: Span,
}

/// The kinds of statement in a `commands` block.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandStatementKind {
    /// `allow [readonly] PATTERN [except PATTERN, …]`.
    Rule {
        /// What it does.
        effect: Effect,
        /// Where `readonly` stands, if it does.
        readonly: Option<Span>,
        /// What it matches.
        pattern: Pattern,
        /// What it leaves out.
        except: Vec<Pattern>,
    },
    /// `otherwise EFFECT`.
    Otherwise(Spanned<Effect>),
    /// `opaque EFFECT`.
    Opaque(Spanned<Effect>),
    /// `env "NAME", …`.
    Env(Vec<Name>),
    /// `wrappers "NAME", …`.
    Wrappers(Vec<Name>),
}

/// A statement of a `tools` block.
#[derive(Clone, Debug, Serialize)]
pub struct ToolRule {
    /// Documentation and annotations.
    pub attributes: Attributes,
    /// Which.
    pub kind: ToolRuleKind,
    /// From the keyword to the end.
    pub span: Span,
}

/// The kinds of statement in a `tools` block.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRuleKind {
    /// `allow "a*", "b"`.
    Rule {
        /// What it does.
        effect: Effect,
        /// Globs over tool names.
        patterns: Vec<Name>,
    },
    /// `otherwise EFFECT`.
    Otherwise(Spanned<Effect>),
}

/// A statement of a `tool` item.
#[derive(Clone, Debug, Serialize)]
pub struct ToolStatement {
    /// Documentation and annotations.
    pub attributes: Attributes,
    /// Which.
    pub kind: ToolStatementKind,
    /// From the keyword to the end.
    pub span: Span,
}

/// The kinds of statement in a `tool` item.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatementKind {
    /// `requires KEY, …`.
    Requires(Vec<Name>),
    /// `uses SET`.
    Uses(PermissionSet),
    /// `readonly`.
    Readonly,
    /// `ability LEVEL`.
    Ability(Name),
}

/// What a test or an assertion asks for.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// `read`, `read | write` on a path.
    Path(PermissionSet),
    /// `run`: a command string.
    Run,
    /// `argv`: an argument vector.
    Argv,
    /// `tool`: a tool's name.
    Tool,
    /// `permission SET`: path-free.
    Permission(PermissionSet),
}

/// A statement of a `test` item.
#[derive(Clone, Debug, Serialize)]
pub struct TestStatement {
    /// Documentation and annotations.
    pub attributes: Attributes,
    /// Which.
    pub kind: TestStatementKind,
    /// From the keyword to the end.
    pub span: Span,
}

/// The kinds of statement in a `test` item.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TestStatementKind {
    /// `EFFECT ACTION ARG, … [because REASON]`.
    Expect {
        /// The effect expected.
        effect: Spanned<Effect>,
        /// What is asked.
        action: Action,
        /// Paths, commands, names: one request each; for `argv` the words of
        /// one request; empty for `permission`.
        args: Vec<Name>,
        /// The reason expected, as written.
        because: Option<Name>,
    },
    /// `in PHASE { … }`.
    In {
        /// The phase as written.
        phase: Name,
        /// What is expected there.
        body: Vec<TestStatement>,
    },
}

/// `never` or `always`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantifier {
    /// On no request.
    Never,
    /// On every request.
    Always,
}

/// `assert CONTEXT never [EFFECT] ACTION PATTERN [except …] [in PHASE, …]`.
#[derive(Clone, Debug, Serialize)]
pub struct Assert {
    /// The context.
    pub context: Name,
    /// Never or always.
    pub quantifier: Spanned<Quantifier>,
    /// The effect; required after `always`.
    pub effect: Option<Spanned<Effect>>,
    /// What is asked.
    pub action: Action,
    /// Which requests; absent for `permission`.
    pub pattern: Option<Pattern>,
    /// Which not.
    pub except: Vec<Pattern>,
    /// Phases as written; empty for all that the context admits.
    pub phases: Vec<Name>,
}
