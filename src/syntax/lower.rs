//! Pairs of the grammar to nodes of the tree, operand by operand.
//!
//! Every function takes what the grammar has accepted; the `Option`s are only
//! there because pairs do not say so in their types, and a `None` drops the
//! node.

use super::ast::{
    Action, Allow, Assert, Effect, Name, Pattern, PatternKind, PermissionSet, Quantifier,
};
use super::grammar::Rule;
use super::token;
use crate::source::{FileId, Span, Spanned};

pub(super) type Pair<'t> = pest::iterators::Pair<'t, Rule>;

/// Where the parsed piece of text stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) file: FileId,
    /// Bytes before it in the file.
    pub(super) base: usize,
}

/// The pairs inside, keywords left out.
pub(super) fn inner(pair: Pair<'_>) -> impl Iterator<Item = Pair<'_>> + Clone {
    pair.into_inner().filter(|p| !is_keyword(p.as_rule()))
}

/// Keywords and punctuation, which carry nothing.
fn is_keyword(rule: Rule) -> bool {
    use Rule as R;
    matches!(
        rule,
        R::at_allow
            | R::comma
            | R::equals
            | R::paren_open
            | R::paren_close
            | R::bracket_close
            | R::kw_ability
            | R::kw_always
            | R::kw_approves
            | R::kw_argv
            | R::kw_assert
            | R::kw_at
            | R::kw_because
            | R::kw_commands
            | R::kw_context
            | R::kw_edition
            | R::kw_env
            | R::kw_except
            | R::kw_grants
            | R::kw_hide
            | R::kw_import
            | R::kw_in
            | R::kw_manager
            | R::kw_mount
            | R::kw_narrows
            | R::kw_never
            | R::kw_on
            | R::kw_opaque
            | R::kw_otherwise
            | R::kw_param
            | R::kw_permission
            | R::kw_phases
            | R::kw_profile
            | R::kw_readonly
            | R::kw_requires
            | R::kw_run
            | R::kw_test
            | R::kw_tool
            | R::kw_tools
            | R::kw_unconfined
            | R::kw_use
            | R::kw_uses
            | R::kw_wrappers
    )
}

impl Place {
    pub(super) fn span(self, pair: &Pair<'_>) -> Span {
        let span = pair.as_span();
        let at = |n: usize| self.base.saturating_add(n);
        Span::new(self.file, at(span.start()), at(span.end()))
    }

    /// A name or a string.
    pub(super) fn name(self, pair: &Pair<'_>) -> Name {
        let written = pair.as_str();
        // Strings are told from names by their quotes: names have none.
        let node = if written.contains('"') { token::value(written) } else { written.to_owned() };
        Spanned::new(node, self.span(pair))
    }

    pub(super) fn names<'t>(self, pairs: impl Iterator<Item = Pair<'t>>) -> Vec<Name> {
        pairs.map(|p| self.name(&p)).collect()
    }

    pub(super) fn set(self, pair: Pair<'_>) -> PermissionSet {
        // The pair's own span may end in blanks.
        let whole = self.span(&pair);
        let names = self.names(pair.into_inner());
        let ends = names.first().zip(names.last());
        let span = ends.map_or(whole, |(first, last)| first.span.to(last.span));
        PermissionSet { names, span }
    }

    pub(super) fn effect(self, pair: &Pair<'_>) -> Spanned<Effect> {
        let effect = match pair.as_str() {
            "allow" => Effect::Allow,
            "ask" => Effect::Ask,
            _ => Effect::Deny,
        };
        Spanned::new(effect, self.span(pair))
    }

    pub(super) fn pattern(self, pair: &Pair<'_>) -> Pattern {
        let written = pair.as_str();
        let kind = match written.split(['"', '#']).next() {
            Some("re") => PatternKind::Regex,
            Some("glob") => PatternKind::Glob,
            Some("text") => PatternKind::Text,
            _ => PatternKind::Word,
        };
        Pattern { kind, text: token::value(written), span: self.span(pair) }
    }

    pub(super) fn patterns(self, pair: Pair<'_>) -> Vec<Pattern> {
        inner(pair).map(|p| self.pattern(&p)).collect()
    }

    pub(super) fn annotation(self, pair: Pair<'_>) -> Option<Allow> {
        let span = self.span(&pair);
        let mut parts = inner(pair);
        let code = self.name(&parts.next()?);
        let reason = self.name(&parts.next()?);
        Some(Allow { code, reason, span })
    }

    /// `run`, `argv`, `tool`, `permission SET` or a set.
    pub(super) fn action(self, pair: Pair<'_>) -> Option<Action> {
        match pair.as_rule() {
            Rule::action_permission => Some(Action::Permission(self.set(inner(pair).next()?))),
            Rule::action_path => Some(Action::Path(self.set(inner(pair).next()?))),
            _ => match pair.as_str() {
                "run" => Some(Action::Run),
                "argv" => Some(Action::Argv),
                _ => Some(Action::Tool),
            },
        }
    }

    pub(super) fn assertion(self, pair: Pair<'_>) -> Option<Assert> {
        let mut parts = inner(pair);
        let context = self.name(&parts.next()?);
        let quantifier = parts.next()?;
        let never = quantifier.as_rule() == Rule::never;
        let quantifier = Spanned::new(
            if never { Quantifier::Never } else { Quantifier::Always },
            self.span(&quantifier),
        );
        let mut assert = Assert {
            context,
            quantifier,
            effect: None,
            action: Action::Run,
            pattern: None,
            except: Vec::new(),
            phases: Vec::new(),
        };
        for part in parts {
            match part.as_rule() {
                Rule::effect => assert.effect = Some(self.effect(&part)),
                Rule::pattern => assert.pattern = Some(self.pattern(&part)),
                Rule::except => assert.except = self.patterns(part),
                Rule::in_phases => assert.phases = self.names(inner(part)),
                _ => assert.action = self.action(part)?,
            }
        }
        Some(assert)
    }
}
