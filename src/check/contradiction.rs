//! `contradiction`: one level allows and denies the same thing. Deny wins, so
//! the allowance is a mistake, or the denial is.

use crate::automata::{ByteSet, Classes, Dfa, Re, argv, determinize, glob, regex, text};
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::{CommandRule, Fields, Policy};
use crate::limits::MAX_PATTERN_STATES;
use crate::source::Span;
use crate::syntax::ast::PatternKind;
use mero_runtime::Effect;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Contexts, mounts and `on` blocks.
pub(super) fn fields(policy: &Policy) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    let mut level = |fields: &Fields, what: &str| {
        let (Some(allow), Some(deny)) = (fields.allow, fields.deny) else { return };
        let both = allow.set & deny.set;
        if !both.is_empty() && seen.insert(deny.span) {
            out.push(
                Diagnostic::new(
                    &codes::CONTRADICTION,
                    deny.span,
                    format!("{what} allows and denies `{both}`: the denial wins"),
                )
                .here("denied here")
                .label(allow.span, "allowed here")
                .help(format!("take `{both}` out of one of the two")),
            );
        }
    };
    for context in &policy.contexts {
        level(&context.fields, &format!("the context `{}`", context.name));
        for mount in &context.mounts {
            level(&mount.fields, &format!("the mount `{}`", mount.slug));
            for block in &mount.on {
                level(&block.fields, "the block");
            }
        }
    }
    out
}

/// Command and tool rules with one language, however spelt: equal languages
/// have equal minimal automata.
pub(super) fn rules(policy: &Policy) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    for context in &policy.contexts {
        let commands = context.commands.iter().flat_map(|c| &c.rules).collect::<Vec<_>>();
        for over_words in [true, false] {
            let of_kind = commands
                .iter()
                .filter(|r| (r.pattern.kind == PatternKind::Word) == over_words)
                .filter_map(|r| Some((r.effect, r.span, read(r)?)))
                .collect::<Vec<_>>();
            pairs(&of_kind, &mut seen, &mut out, "command");
        }
        let tools = context
            .tools
            .iter()
            .flat_map(|t| &t.rules)
            .filter_map(|r| {
                Some((r.effect, r.pattern.span, Read::Re(glob::name(&r.pattern.node).ok()?)))
            })
            .collect::<Vec<_>>();
        pairs(&tools, &mut seen, &mut out, "tool");
    }
    out
}

enum Read {
    Re(Re),
    Search(regex::Search),
}

/// A rule's pattern as typed; rules with exceptions or path words have
/// languages of their own kind and are left out.
fn read(rule: &CommandRule) -> Option<Read> {
    if !rule.except.is_empty() {
        return None;
    }
    let text = &rule.pattern.text;
    Some(match rule.pattern.kind {
        PatternKind::Word => {
            let words = argv::words(text, false).ok()?;
            if !words.holes.is_empty() {
                return None;
            }
            Read::Re(words.re)
        }
        PatternKind::Regex => Read::Search(regex::search(text).ok()?),
        PatternKind::Glob => Read::Re(text::glob(text).ok()?),
        PatternKind::Text => Read::Re(text::literal(text).ok()?),
    })
}

fn pairs(
    rules: &[(Effect, Span, Read)],
    seen: &mut BTreeSet<(Span, Span)>,
    out: &mut Vec<Diagnostic>,
    what: &str,
) {
    let opposed = |e: Effect| rules.iter().any(|(other, ..)| *other == e);
    if !(opposed(Effect::Allow) && opposed(Effect::Deny)) {
        return;
    }
    let mut sets = vec![ByteSet::of(0)];
    for (_, _, read) in rules {
        match read {
            Read::Re(re) => re.sets(&mut sets),
            Read::Search(search) => sets.extend(search.sets()),
        }
    }
    let classes = Arc::new(Classes::new(sets));
    let mut allowed: HashMap<Dfa<bool>, Span> = HashMap::new();
    let automaton = |read: &Read| match read {
        Read::Re(re) => determinize(re, &classes, MAX_PATTERN_STATES).ok(),
        Read::Search(search) => search.to_dfa(&classes).ok(),
    };
    for (_, span, read) in rules.iter().filter(|(e, ..)| *e == Effect::Allow) {
        if let Some(dfa) = automaton(read) {
            allowed.entry(dfa).or_insert(*span);
        }
    }
    for (_, span, read) in rules.iter().filter(|(e, ..)| *e == Effect::Deny) {
        let Some(allow) = automaton(read).and_then(|dfa| allowed.get(&dfa).copied()) else {
            continue;
        };
        if seen.insert((allow, *span)) {
            out.push(
                Diagnostic::new(
                    &codes::CONTRADICTION,
                    *span,
                    format!("the same {what}s are allowed and denied: the denial wins"),
                )
                .here("denied here")
                .label(allow, "allowed here")
                .help("remove one of the two"),
            );
        }
    }
}
