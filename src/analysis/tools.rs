//! Names of tools: which rules match, how often, and what follows.
//!
//! Rules become automata over names; declared tools are literals among them, since
//! what they require and use counts too. Decisions on a name depend on how many rules
//! of each effect match it and on which declared tool it is.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "states and tools index what was built for them; counts stay below 3"
)]

use super::commands::Tally;
use crate::automata::explore::{Letters, Machine, explore, live};
use crate::automata::{
    ByteSet, Classes, Dfa, PatternError, Re, TooLarge, determinize, glob, product_tree, text,
};
use crate::hir::{Context, Policy, Tool, Tools};
use crate::limits::{MAX_PATTERN_STATES, MAX_PRODUCT_STATES};
use mero_runtime::{Effect, Permission, Phase, Reason, phases};
use std::sync::Arc;

/// What all tool names of one question are written over.
#[derive(Clone, Debug)]
pub struct Alphabet {
    classes: Arc<Classes>,
    /// All names: text that is not empty.
    names: Dfa<bool>,
}

fn read(pattern: &str) -> Result<Re, TooLarge> {
    glob::name(pattern).map_err(|_: PatternError| TooLarge::Classes)
}

impl Alphabet {
    /// An alphabet for the tool rules of contexts, and more globs.
    ///
    /// # Errors
    /// [`TooLarge`], or a pattern that cannot be read as [`TooLarge::Classes`].
    pub fn new<'p>(
        policies: &[&Policy],
        patterns: impl IntoIterator<Item = &'p str>,
    ) -> Result<Alphabet, TooLarge> {
        let mut sets = Vec::new();
        for policy in policies {
            for rule in
                policy.contexts.iter().filter_map(|c| c.tools.as_ref()).flat_map(|t| &t.rules)
            {
                read(&rule.pattern.node)?.sets(&mut sets);
            }
            sets.extend(policy.tools.iter().flat_map(|t| t.name.bytes()).map(ByteSet::of));
        }
        for pattern in patterns {
            read(pattern)?.sets(&mut sets);
        }
        let any = text::any();
        any.sets(&mut sets);
        let classes = Arc::new(Classes::new(sets));
        let all = determinize(&any, &classes, MAX_PATTERN_STATES)?;
        let empty = determinize(&Re::Empty, &classes, MAX_PATTERN_STATES)?;
        let names = crate::automata::difference(&all, &empty, MAX_PRODUCT_STATES)?;
        Ok(Alphabet { classes, names })
    }

    /// All names.
    #[must_use]
    pub fn names(&self) -> &Dfa<bool> {
        &self.names
    }

    /// The names that a glob matches.
    ///
    /// # Errors
    /// As [`Alphabet::new`].
    pub fn language(&self, pattern: &str) -> Result<Dfa<bool>, TooLarge> {
        determinize(&read(pattern)?, &self.classes, MAX_PATTERN_STATES)
    }
}

/// The tool rules of a context, and the declared tools.
pub struct Names<'p> {
    context: &'p Context,
    tools: &'p [Tool],
    /// Where each rule matches.
    pub rules: Vec<Dfa<bool>>,
    tallies: Vec<Dfa<Tally>>,
    /// Which declared tool a name is: its index, and one.
    declared: Dfa<u32>,
}

/// What one rule adds.
#[must_use]
pub fn tally(effect: Effect) -> Tally {
    let mut tally = Tally::default();
    match effect {
        Effect::Deny => tally.deny = 1,
        Effect::Ask => tally.ask = 1,
        Effect::Allow => tally.allow = 1,
    }
    tally
}

impl<'p> Names<'p> {
    /// Reads the rules.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn new(
        policy: &'p Policy,
        context: &'p Context,
        alphabet: &Alphabet,
    ) -> Result<Names<'p>, TooLarge> {
        let mut rules = Vec::new();
        let mut tallies = Vec::new();
        for rule in context.tools.iter().flat_map(|t| &t.rules) {
            let matched = alphabet.language(&rule.pattern.node)?;
            tallies.push(matched.map(|&m| if m { tally(rule.effect) } else { Tally::default() }));
            rules.push(matched);
        }
        let add = |a: &Tally, b: &Tally| a.and(*b);
        let tallies = product_tree(tallies, &add, MAX_PRODUCT_STATES)?;
        let mut declared = Vec::new();
        for (index, tool) in policy.tools.iter().enumerate() {
            let re = Re::literal(tool.name.as_bytes());
            let exact = determinize(&re, &alphabet.classes, MAX_PATTERN_STATES)?;
            declared.push(exact.map(|&e| if e { index as u32 + 1 } else { 0 }));
        }
        let join = |a: &u32, b: &u32| *a.max(b);
        let declared =
            super::paths::one(product_tree(declared, &join, MAX_PRODUCT_STATES)?, &join)?
                .unwrap_or_else(|| Dfa::constant(&alphabet.classes, 0));
        Ok(Names { context, tools: &policy.tools, rules, tallies, declared })
    }

    /// What is answered for a name with a tally.
    #[must_use]
    pub fn decide(&self, tally: Tally, tool: Option<usize>, phase: Phase) -> (Effect, Reason) {
        let tool = tool.and_then(|t| self.tools.get(t));
        let written = match &self.context.tools {
            None => (Effect::Allow, Reason::Granted),
            Some(tools) => written(tools, tally),
        };
        let readonly = tool.is_some_and(|t| t.readonly);
        let edits = Permission::READ | Permission::WRITE;
        let only_edits = tool.and_then(|t| t.uses).is_some_and(|u| edits.contains(u.set));
        let ruled = match (phase, written.0) {
            (Phase::Plan, Effect::Allow | Effect::Ask) if !readonly => {
                (Effect::Deny, Reason::Phase)
            }
            (Phase::AcceptEdits, Effect::Ask) if only_edits => (Effect::Allow, Reason::Granted),
            _ => phases::loose(phase, written),
        };
        if matches!(ruled.1, Reason::ToolDenied | Reason::ToolNotAllowed) {
            return ruled;
        }
        let held = |key: &str| self.context.grants.iter().any(|g| g.node == key);
        if tool.is_none_or(|t| t.requires.iter().all(|k| held(&k.node))) {
            ruled
        } else {
            (Effect::Deny, Reason::GrantMissing)
        }
    }
}

fn written(tools: &Tools, tally: Tally) -> (Effect, Reason) {
    let ruled = tally.any();
    let effect = match tally {
        t if t.deny > 0 => Effect::Deny,
        t if t.ask > 0 => Effect::Ask,
        t if t.allow > 0 => Effect::Allow,
        _ => tools.otherwise(),
    };
    let reason = match effect {
        Effect::Allow => Reason::Granted,
        Effect::Ask => Reason::ApprovalRequired,
        Effect::Deny if ruled => Reason::ToolDenied,
        Effect::Deny => Reason::ToolNotAllowed,
    };
    (effect, reason)
}

struct Search<'a> {
    question: &'a Dfa<bool>,
    asks: Vec<bool>,
    names: &'a Dfa<bool>,
    tallies: Vec<&'a Dfa<Tally>>,
    declared: Vec<&'a Dfa<u32>>,
}

impl Machine for Search<'_> {
    type State = Box<[u32]>;

    fn start(&self) -> Option<Self::State> {
        let mut state = vec![self.question.start(), self.names.start()];
        state.extend(self.tallies.iter().map(|d| d.start()));
        state.extend(self.declared.iter().map(|d| d.start()));
        Some(state.into_boxed_slice())
    }

    fn step(&self, state: &Self::State, byte: u8) -> Option<Self::State> {
        let question = self.question.step(state[0], byte);
        if byte == 0 || !self.asks[question as usize] {
            return None;
        }
        let mut next = vec![question, self.names.step(state[1], byte)];
        let rest = &state[2..];
        next.extend(self.tallies.iter().zip(rest).map(|(d, &s)| d.step(s, byte)));
        let rest = &rest[self.tallies.len()..];
        next.extend(self.declared.iter().zip(rest).map(|(d, &s)| d.step(s, byte)));
        Some(next.into_boxed_slice())
    }
}

/// Visits every kind of name that `question` accepts, shortest first, with the tally
/// and the index of the declared tool on each side, and the name for who wants it.
/// Stops when told to, and says whether it was.
///
/// # Errors
/// [`TooLarge`] if the search outgrows `budget`.
pub fn visit(
    question: &Dfa<bool>,
    alphabet: &Alphabet,
    sides: &[&Names<'_>],
    budget: usize,
    mut each: impl FnMut(&[(Tally, Option<usize>)], &dyn Fn() -> Option<String>) -> bool,
) -> Result<bool, TooLarge> {
    let search = Search {
        asks: live(question, |&q| q),
        question,
        names: &alphabet.names,
        tallies: sides.iter().flat_map(|s| &s.tallies).collect(),
        declared: sides.iter().map(|s| &s.declared).collect(),
    };
    let mut letters = Letters::new();
    letters.add(question);
    letters.add(&alphabet.names);
    search.tallies.iter().for_each(|d| letters.add(d));
    search.declared.iter().for_each(|d| letters.add(d));
    explore(&search, &letters.bytes(), budget, |at| {
        if !*question.label(at.state[0]) || !*alphabet.names.label(at.state[1]) {
            return false;
        }
        let mut rest = &at.state[2..];
        let mut tallies = Vec::new();
        for side in sides {
            let (own, others) = rest.split_at(side.tallies.len());
            let labels = side.tallies.iter().zip(own).map(|(d, &s)| *d.label(s));
            tallies.push(labels.fold(Tally::default(), Tally::and));
            rest = others;
        }
        let labels = search.declared.iter().zip(rest);
        let tools = labels.map(|(d, &s)| d.label(s).checked_sub(1).map(|t| t as usize));
        let seen = tallies.into_iter().zip(tools).collect::<Vec<_>>();
        // A name is text.
        each(&seen, &|| String::from_utf8(at.string()).ok())
    })
}

/// A shortest name that `question` accepts and that is `wanted`, given for each side the
/// tally of its rules and the index of the declared tool.
///
/// # Errors
/// [`TooLarge`] if the search outgrows `budget`.
pub fn find(
    question: &Dfa<bool>,
    alphabet: &Alphabet,
    sides: &[&Names<'_>],
    budget: usize,
    mut wanted: impl FnMut(&[(Tally, Option<usize>)]) -> bool,
) -> Result<Option<String>, TooLarge> {
    let mut found = None;
    visit(question, alphabet, sides, budget, |seen, name| {
        if wanted(seen) {
            found = name();
        }
        found.is_some()
    })?;
    Ok(found)
}
