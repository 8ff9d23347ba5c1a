//! Command and tool rules as automata.
//!
//! A rule is plain if its pattern has no path words and its exceptions are of
//! its own kind (argument vectors, or texts): then it is one language, the
//! pattern without its exceptions. Plain rules of a kind multiply into few
//! automata whose labels are the strictest effect and whether a `readonly` rule
//! grants. The others stay rules with automata of their own, tried one by one.

use super::{Options, RuleNumbers, Unfit};
use crate::automata::argv::{self, Hole};
use crate::automata::regex::Search;
use crate::automata::{
    ByteSet, Classes, Dfa, PatternError, Re, determinize, difference, glob, product_tree, regex,
    text, union,
};
use crate::hir::{CommandRule, Commands, Tools};
use crate::limits::{MAX_PATTERN_STATES, MAX_PRODUCT_STATES};
use crate::source::Span;
use crate::syntax::ast::{Pattern, PatternKind};
use mero_runtime::Effect;
use mero_runtime::format::rule_cell;
use std::sync::Arc;

/// What a list of rules says of a command or a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Verdict {
    /// 0 deny, 1 ask, 2 allow, 3 no rule.
    effect: u8,
    readonly: bool,
    rule: u32,
}

const NONE: Verdict = Verdict { effect: 3, readonly: false, rule: super::NO_RULE };

impl Verdict {
    fn join(a: &Verdict, b: &Verdict) -> Verdict {
        let stricter = if b.effect < a.effect { b } else { a };
        Verdict { readonly: stricter.effect > 0 && (a.readonly || b.readonly), ..*stricter }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = vec![self.effect, u8::from(self.readonly)];
        out.extend(self.rule.to_le_bytes().iter().take(3));
        debug_assert_eq!(out.len(), rule_cell::SIZE);
        out
    }
}

/// Over what an automaton runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// Words, each followed by NUL.
    Words,
    /// The command's text.
    Text,
}

/// A rule that is not plain.
#[derive(Debug)]
pub(super) struct Composite {
    pub(super) effect: Effect,
    pub(super) readonly: bool,
    pub(super) over: Over,
    pub(super) matches: Dfa<Verdict>,
    pub(super) holes: Vec<Hole>,
    pub(super) except_words: Option<Dfa<Verdict>>,
    pub(super) except_texts: Option<Dfa<Verdict>>,
    pub(super) rule: u32,
}

/// All rules of a context's commands.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) words: Vec<Dfa<Verdict>>,
    pub(super) texts: Vec<Dfa<Verdict>>,
    pub(super) composites: Vec<Composite>,
}

/// A pattern read, before there are classes.
enum Read {
    Re(Re),
    Search(Search),
}

impl Read {
    fn sets(&self, into: &mut Vec<ByteSet>) {
        match self {
            Read::Re(re) => re.sets(into),
            Read::Search(search) => into.extend(search.sets()),
        }
    }

    fn dfa(&self, classes: &Arc<Classes>, span: Span) -> Result<Dfa<bool>, Unfit> {
        match self {
            Read::Re(re) => determinize(re, classes, MAX_PATTERN_STATES),
            Read::Search(search) => search.to_dfa(classes),
        }
        .map_err(|e| Unfit::too_large(span, e))
    }
}

struct Piece {
    over: Over,
    read: Read,
    span: Span,
}

fn bad(span: Span) -> impl Fn(PatternError) -> Unfit {
    move |e| Unfit { span, message: e.message, help: e.help }
}

fn read(pattern: &Pattern, basename: bool) -> Result<(Piece, Vec<Hole>), Unfit> {
    let span = pattern.span;
    let bad = bad(span);
    let mut holes = Vec::new();
    let (over, read) = match pattern.kind {
        PatternKind::Word => {
            let words = argv::words(&pattern.text, basename).map_err(bad)?;
            holes = words.holes;
            (Over::Words, Read::Re(words.re))
        }
        PatternKind::Regex => {
            (Over::Text, Read::Search(regex::search(&pattern.text).map_err(bad)?))
        }
        PatternKind::Glob => (Over::Text, Read::Re(text::glob(&pattern.text).map_err(bad)?)),
        PatternKind::Text => (Over::Text, Read::Re(text::literal(&pattern.text).map_err(bad)?)),
    };
    Ok((Piece { over, read, span }, holes))
}

struct ReadRule<'h> {
    rule: &'h CommandRule,
    piece: Piece,
    holes: Vec<Hole>,
    except: Vec<Piece>,
}

impl ReadRule<'_> {
    fn plain(&self) -> bool {
        self.holes.is_empty() && self.except.iter().all(|e| e.over == self.piece.over)
    }
}

/// Plans the rules of a `commands` block.
pub(super) fn commands(
    commands: &Commands,
    numbers: &mut RuleNumbers,
    options: Options,
) -> Result<Plan, Unfit> {
    let mut rules = Vec::new();
    for rule in &commands.rules {
        let (piece, holes) = read(&rule.pattern, rule.effect == Effect::Deny)?;
        let except = rule
            .except
            .iter()
            .map(|p| read(p, false).map(|(piece, _)| piece))
            .collect::<Result<Vec<_>, _>>()?;
        rules.push(ReadRule { rule, piece, holes, except });
    }
    let mut plan = Plan::default();
    for over in [Over::Words, Over::Text] {
        let plain = rules.iter().filter(|r| r.plain() && r.piece.over == over).collect::<Vec<_>>();
        let pieces = plain.iter().flat_map(|r| std::iter::once(&r.piece).chain(&r.except));
        let classes = classes(pieces);
        let mut automata = Vec::new();
        for r in plain {
            let matched = without(&r.piece, r.except.iter(), &classes)?;
            automata.push(label(&matched, r.rule.effect, r.rule.readonly, numbers.of(r.rule.span)));
        }
        let groups = multiply(automata, options)?;
        match over {
            Over::Words => plan.words = groups,
            Over::Text => plan.texts = groups,
        }
    }
    for r in rules.iter().filter(|r| !r.plain()) {
        let number = numbers.of(r.rule.span);
        let except = |over: Over| -> Result<Option<Dfa<Verdict>>, Unfit> {
            let of_kind = r.except.iter().filter(|e| e.over == over).collect::<Vec<_>>();
            let Some((first, rest)) = of_kind.split_first() else { return Ok(None) };
            let classes = classes(of_kind.iter().copied());
            let mut all = first.read.dfa(&classes, first.span)?;
            for e in rest {
                let next = e.read.dfa(&classes, e.span)?;
                all = union(&all, &next, MAX_PRODUCT_STATES)
                    .map_err(|x| Unfit::too_large(e.span, x))?;
            }
            Ok(Some(label(&all, Effect::Allow, false, number)))
        };
        let own = classes([&r.piece]);
        let matched = r.piece.read.dfa(&own, r.piece.span)?;
        plan.composites.push(Composite {
            effect: r.rule.effect,
            // In `plan` nothing but reading is granted, and what a path word needs counts.
            readonly: r.rule.readonly && r.holes.iter().all(only_reads),
            over: r.piece.over,
            matches: label(&matched, r.rule.effect, r.rule.readonly, number),
            holes: r.holes.clone(),
            except_words: except(Over::Words)?,
            except_texts: except(Over::Text)?,
            rule: number,
        });
    }
    Ok(plan)
}

fn only_reads(hole: &Hole) -> bool {
    hole.permissions.iter().all(|p| p == "read")
}

/// Plans the rules of a `tools` block.
pub(super) fn tools(
    tools: &Tools,
    numbers: &mut RuleNumbers,
    options: Options,
) -> Result<Vec<Dfa<Verdict>>, Unfit> {
    let mut pieces = Vec::new();
    for rule in &tools.rules {
        let span = rule.pattern.span;
        let re = glob::name(&rule.pattern.node).map_err(bad(span))?;
        pieces.push((rule, Piece { over: Over::Text, read: Read::Re(re), span }));
    }
    let classes = classes(pieces.iter().map(|(_, p)| p));
    let mut automata = Vec::new();
    for (rule, piece) in &pieces {
        let matched = piece.read.dfa(&classes, piece.span)?;
        automata.push(label(&matched, rule.effect, false, numbers.of(piece.span)));
    }
    multiply(automata, options)
}

fn classes<'p>(pieces: impl IntoIterator<Item = &'p Piece>) -> Arc<Classes> {
    let mut sets = vec![ByteSet::of(0), ByteSet::of(b'/')];
    for piece in pieces {
        piece.read.sets(&mut sets);
    }
    Arc::new(Classes::new(sets))
}

fn without<'p>(
    piece: &Piece,
    except: impl Iterator<Item = &'p Piece>,
    classes: &Arc<Classes>,
) -> Result<Dfa<bool>, Unfit> {
    let mut matched = piece.read.dfa(classes, piece.span)?;
    for e in except {
        let carved = e.read.dfa(classes, e.span)?;
        matched = difference(&matched, &carved, MAX_PRODUCT_STATES)
            .map_err(|x| Unfit::too_large(e.span, x))?;
    }
    Ok(matched)
}

fn label(matched: &Dfa<bool>, effect: Effect, readonly: bool, rule: u32) -> Dfa<Verdict> {
    matched.map(|&m| if m { Verdict { effect: effect as u8, readonly, rule } } else { NONE })
}

fn multiply(automata: Vec<Dfa<Verdict>>, options: Options) -> Result<Vec<Dfa<Verdict>>, Unfit> {
    let budget = if options.separate { 0 } else { MAX_PRODUCT_STATES };
    product_tree(automata, &Verdict::join, budget)
        .map_err(|e| Unfit::too_large(Span::new(crate::source::FileId(0), 0, 0), e))
}
