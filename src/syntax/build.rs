//! What each kind of block holds: its keywords, its grammar rule, and how a
//! parsed statement becomes a node.

use super::ast::{
    Attributes, CommandStatement, CommandStatementKind, Import, Item, ItemKind, Statement,
    StatementKind, TestStatement, TestStatementKind, ToolRule, ToolRuleKind, ToolStatement,
    ToolStatementKind,
};
use super::grammar::Rule;
use super::lower::{Pair, Place, inner};
use super::recover::{Block, Parser};
use crate::source::{Span, Spanned};

/// The blocks there are, for messages and keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    File,
    Body,
    Commands,
    Tools,
    Tool,
    Test,
}

impl Where {
    /// The words that begin a statement there.
    pub(super) fn keywords(self) -> &'static [&'static str] {
        match self {
            Where::File => &[
                "edition",
                "import",
                "permission",
                "param",
                "profile",
                "context",
                "tool",
                "manager",
                "test",
                "assert",
            ],
            Where::Body => &[
                "use",
                "phases",
                "unconfined",
                "allow",
                "ask",
                "deny",
                "hide",
                "mount",
                "on",
                "commands",
                "tools",
                "grants",
                "env",
                "wrappers",
            ],
            Where::Commands => &["allow", "ask", "deny", "otherwise", "opaque", "env", "wrappers"],
            Where::Tools => &["allow", "ask", "deny", "otherwise"],
            Where::Tool => &["requires", "uses", "readonly", "ability"],
            Where::Test => &["allow", "ask", "deny", "in"],
        }
    }

    /// With its article, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Where::File => "the top level of a file",
            Where::Body => "a context, profile or mount",
            Where::Commands => "a `commands` block",
            Where::Tools => "a `tools` block",
            Where::Tool => "a `tool` item",
            Where::Test => "a `test` item",
        }
    }

    /// The block that a head of this keyword opens.
    pub(super) fn opened_by(self, keyword: &str) -> Option<Where> {
        match (self, keyword) {
            (Where::File, "context" | "profile") | (Where::Body, "mount" | "on") => {
                Some(Where::Body)
            }
            (Where::File, "tool") => Some(Where::Tool),
            (Where::File, "test") | (Where::Test, "in") => Some(Where::Test),
            (Where::Body, "commands") => Some(Where::Commands),
            (Where::Body, "tools") => Some(Where::Tools),
            _ => None,
        }
    }
}

/// A node of a block.
pub(super) trait Unit: Sized {
    /// In which block.
    const WHERE: Where;
    /// The grammar's rule for one of them.
    const RULE: Rule;
    /// Makes it. `block` is there where the pair is a head.
    fn build(parser: &mut Parser<'_>, made: Made<'_>, block: Option<Block>) -> Option<Self>;
}

/// A statement that parsed.
pub(super) struct Made<'t> {
    pub(super) attributes: Attributes,
    pub(super) pair: Pair<'t>,
    pub(super) place: Place,
    /// To the end of its block, if it has one.
    pub(super) span: Span,
}

/// What stands at the top of a file.
pub(super) enum Entry {
    Edition(Spanned<u32>),
    Import(Import),
    Item(Box<Item>),
}

impl Unit for Entry {
    const WHERE: Where = Where::File;
    const RULE: Rule = Rule::file_unit;

    fn build(parser: &mut Parser<'_>, made: Made<'_>, block: Option<Block>) -> Option<Self> {
        let Made { attributes, pair, place, span } = made;
        let rule = pair.as_rule();
        if rule == Rule::assertion {
            let kind = ItemKind::Assert(Box::new(place.assertion(pair)?));
            return Some(Entry::Item(Box::new(Item { attributes, kind, span })));
        }
        let mut parts = inner(pair);
        let first = parts.next()?;
        let name = place.name(&first);
        let kind = match rule {
            Rule::edition => {
                // A number too large for the type is as unknown as any other.
                let number = name.node.parse().unwrap_or(u32::MAX);
                return Some(Entry::Edition(Spanned::new(number, span)));
            }
            Rule::import => return Some(Entry::Import(Import { attributes, path: name, span })),
            Rule::permission => ItemKind::Permission { name, set: place.set(parts.next()?) },
            Rule::param => ItemKind::Param { name, default: parts.next().map(|p| place.name(&p)) },
            Rule::manager => ItemKind::Manager { name, approves: place.names(parts) },
            Rule::profile_head => ItemKind::Profile { name, body: parser.block(block?) },
            Rule::context_head => {
                let narrows = parts.next().map(|p| place.name(&p));
                ItemKind::Context { name, narrows, body: parser.block(block?) }
            }
            Rule::tool_head => ItemKind::Tool { name, body: parser.block(block?) },
            Rule::test_head => ItemKind::Test { context: name, body: parser.block(block?) },
            _ => return None,
        };
        Some(Entry::Item(Box::new(Item { attributes, kind, span })))
    }
}

impl Unit for Statement {
    const WHERE: Where = Where::Body;
    const RULE: Rule = Rule::body_unit;

    fn build(parser: &mut Parser<'_>, made: Made<'_>, block: Option<Block>) -> Option<Self> {
        let Made { attributes, pair, place, span } = made;
        let rule = pair.as_rule();
        let mut parts = inner(pair);
        let kind = match rule {
            Rule::r#use => StatementKind::Use(place.names(parts)),
            Rule::phases => StatementKind::Phases(place.names(parts)),
            Rule::unconfined => StatementKind::Unconfined,
            Rule::field => {
                let field = place.effect(&parts.next()?).node;
                StatementKind::Field { field, set: place.set(parts.next()?) }
            }
            Rule::hide => StatementKind::Hide(place.names(parts)),
            Rule::grants => StatementKind::Grants(place.names(parts)),
            Rule::env => StatementKind::Env(place.names(parts)),
            Rule::wrappers => StatementKind::Wrappers(place.names(parts)),
            Rule::mount_head => {
                let slug = place.name(&parts.next()?);
                let host = place.name(&parts.next()?);
                StatementKind::Mount { slug, host, body: parser.block(block?) }
            }
            Rule::on_head => {
                let patterns = place.names(parts);
                StatementKind::On { patterns, body: parser.block(block?) }
            }
            Rule::commands_head => StatementKind::Commands(parser.block(block?)),
            Rule::tools_head => StatementKind::Tools(parser.block(block?)),
            _ => return None,
        };
        Some(Statement { attributes, kind, span })
    }
}

impl Unit for CommandStatement {
    const WHERE: Where = Where::Commands;
    const RULE: Rule = Rule::command_unit;

    fn build(_: &mut Parser<'_>, made: Made<'_>, _: Option<Block>) -> Option<Self> {
        let Made { attributes, pair, place, span } = made;
        let rule = pair.as_rule();
        let mut parts = inner(pair);
        let kind = match rule {
            Rule::otherwise => CommandStatementKind::Otherwise(place.effect(&parts.next()?)),
            Rule::opaque => CommandStatementKind::Opaque(place.effect(&parts.next()?)),
            Rule::env => CommandStatementKind::Env(place.names(parts)),
            Rule::wrappers => CommandStatementKind::Wrappers(place.names(parts)),
            Rule::command_rule => {
                let effect = place.effect(&parts.next()?).node;
                let mut readonly = None;
                let mut pattern = None;
                let mut except = Vec::new();
                for part in parts {
                    match part.as_rule() {
                        Rule::readonly => readonly = Some(place.span(&part)),
                        Rule::pattern => pattern = Some(place.pattern(&part)),
                        _ => except = place.patterns(part),
                    }
                }
                CommandStatementKind::Rule { effect, readonly, pattern: pattern?, except }
            }
            _ => return None,
        };
        Some(CommandStatement { attributes, kind, span })
    }
}

impl Unit for ToolRule {
    const WHERE: Where = Where::Tools;
    const RULE: Rule = Rule::rule_unit;

    fn build(_: &mut Parser<'_>, made: Made<'_>, _: Option<Block>) -> Option<Self> {
        let Made { attributes, pair, place, span } = made;
        let rule = pair.as_rule();
        let mut parts = inner(pair);
        let effect = place.effect(&parts.next()?);
        let kind = match rule {
            Rule::otherwise => ToolRuleKind::Otherwise(effect),
            _ => ToolRuleKind::Rule { effect: effect.node, patterns: place.names(parts) },
        };
        Some(ToolRule { attributes, kind, span })
    }
}

impl Unit for ToolStatement {
    const WHERE: Where = Where::Tool;
    const RULE: Rule = Rule::tool_unit;

    fn build(_: &mut Parser<'_>, made: Made<'_>, _: Option<Block>) -> Option<Self> {
        let Made { attributes, pair, place, span } = made;
        let rule = pair.as_rule();
        let mut parts = inner(pair);
        let kind = match rule {
            Rule::requires => ToolStatementKind::Requires(place.names(parts)),
            Rule::uses => ToolStatementKind::Uses(place.set(parts.next()?)),
            Rule::readonly => ToolStatementKind::Readonly,
            _ => ToolStatementKind::Ability(place.name(&parts.next()?)),
        };
        Some(ToolStatement { attributes, kind, span })
    }
}

impl Unit for TestStatement {
    const WHERE: Where = Where::Test;
    const RULE: Rule = Rule::test_unit;

    fn build(parser: &mut Parser<'_>, made: Made<'_>, block: Option<Block>) -> Option<Self> {
        let Made { attributes, pair, place, span } = made;
        let rule = pair.as_rule();
        let mut parts = inner(pair);
        if rule == Rule::in_head {
            let phase = place.name(&parts.next()?);
            let kind = TestStatementKind::In { phase, body: parser.block(block?) };
            return Some(TestStatement { attributes, kind, span });
        }
        let effect = place.effect(&parts.next()?);
        let asked = parts.next()?;
        let because = parts.next().and_then(|p| inner(p).next()).map(|p| place.name(&p));
        let (action, args) = match asked.as_rule() {
            Rule::action_permission => (place.action(asked)?, Vec::new()),
            Rule::expect_argv => (super::ast::Action::Argv, place.names(inner(asked))),
            _ => {
                let mut parts = inner(asked);
                (place.action(parts.next()?)?, place.names(parts))
            }
        };
        let kind = TestStatementKind::Expect { effect, action, args, because };
        Some(TestStatement { attributes, kind, span })
    }
}
