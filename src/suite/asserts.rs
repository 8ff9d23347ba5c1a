//! Assertions, proved for every request that their pattern matches, or refuted by one.
//!
//! The requests of an assertion are a language: virtual paths, argument vectors, or
//! names of tools. It is searched together with the decision automata of the context
//! for a state whose answer the assertion forbids; if all states are seen and none is,
//! it is proved. A state that is found becomes a request, which the table confirms.
//!
//! `never run` reads its pattern as `deny` rules do (a first word without `/` is any
//! program of that name), since it says what must not run.

mod runners;

use super::{Answered, Verdict};
use crate::analysis::commands::{self, Class, Outcomes, Rules, Unread, decide};
use crate::analysis::grounds::{Grounds, Places};
use crate::analysis::{BUDGET, paths, tools};
use crate::automata::{Dfa, TooLarge, difference};
use crate::compare::{path, path_as};
use crate::hir::{Action, Assert, Context, Policy};
use crate::limits::MAX_PRODUCT_STATES;
use crate::request::{Ask, Judge, quoted};
use crate::syntax::ast::{Pattern, PatternKind, Quantifier};
use mero_runtime::{Effect, Permission, Phase, Reason};
use std::rc::Rc;

impl Assert {
    /// Whether an answer is one that the assertion forbids.
    #[must_use]
    pub fn forbids(&self, effect: Effect) -> bool {
        match (self.quantifier, self.effect) {
            (Quantifier::Never, None) => effect > Effect::Deny,
            (Quantifier::Never, Some(never)) => effect == never,
            (Quantifier::Always, Some(always)) => effect != always,
            (Quantifier::Always, None) => false,
        }
    }

    /// The assertion as it would stand alone.
    #[must_use]
    pub fn text(&self) -> String {
        let quantifier = match self.quantifier {
            Quantifier::Never => "never",
            Quantifier::Always => "always",
        };
        let effect = self.effect.map_or_else(String::new, |e| format!(" {e}"));
        let action = match self.action {
            Action::Path(set) => set.to_string(),
            Action::Permission(set) => format!("permission {set}"),
            Action::Run => "run".to_owned(),
            Action::Argv => "argv".to_owned(),
            Action::Tool => "tool".to_owned(),
        };
        let written = |p: &Pattern| {
            let prefix = match p.kind {
                PatternKind::Word => "",
                PatternKind::Regex => "re",
                PatternKind::Glob => "glob",
                PatternKind::Text => "text",
            };
            format!(" {prefix}{:?}", p.text)
        };
        let pattern = self.pattern.as_ref().map_or_else(String::new, written);
        let except = self.except.iter().map(written).collect::<Vec<_>>().join(",");
        let except = if except.is_empty() { except } else { format!(" except{except}") };
        format!("{quantifier}{effect} {action}{pattern}{except}")
    }
}

/// Vectors that may be set aside, one by one, since no table confirms that they refute.
const DOUBTS: usize = 24;

/// The assertions of one context, with what they share.
pub(super) struct Prover<'g, 'p> {
    context: &'g Context,
    judge: &'g Judge<'g>,
    grounds: &'g Grounds<'p>,
    vectors: Result<Vectors<'g>, Unread>,
    names: Result<(tools::Alphabet, tools::Names<'g>), TooLarge>,
}

struct Vectors<'p> {
    alphabet: commands::Alphabet,
    rules: Rules<'p>,
    outcomes: Rc<Outcomes>,
}

/// All patterns of assertions of one sort.
fn patterns<'a>(
    asserts: &'a [&Assert],
    of: impl Fn(&Action) -> bool + 'a,
) -> impl Iterator<Item = &'a Pattern> + 'a {
    asserts.iter().filter(move |a| of(&a.action)).flat_map(|a| a.pattern.iter().chain(&a.except))
}

impl<'g, 'p> Prover<'g, 'p> {
    pub(super) fn new(
        policy: &'g Policy,
        grounds: &'g Grounds<'p>,
        judge: &'g Judge<'g>,
        asserts: &[&Assert],
    ) -> Prover<'g, 'p> {
        let texts = |of: fn(&Action) -> bool| {
            patterns(asserts, of).map(|p| p.text.as_str()).collect::<Vec<_>>()
        };
        let context = grounds.context;
        let any = |of: fn(&Action) -> bool| asserts.iter().any(|a| of(&a.action));
        let runs = any(|a| matches!(a, Action::Run | Action::Argv));
        let unasked = TooLarge::Classes;
        let vectors = || {
            let block = context.commands.as_ref();
            let rules = block.iter().flat_map(|b| &b.rules);
            let rules = rules.flat_map(|r| std::iter::once(&r.pattern).chain(&r.except));
            let own = patterns(asserts, |a| matches!(a, Action::Run | Action::Argv));
            let alphabet = commands::Alphabet::new(rules.chain(own).map(|p| (p, 0)))?;
            let rules = Rules::new(block, &alphabet, 0)?;
            let outcomes = grounds.outcomes(&alphabet);
            Ok(Vectors { alphabet, rules, outcomes })
        };
        let names = || {
            let own = texts(|a| matches!(a, Action::Tool));
            let alphabet = tools::Alphabet::new(&[policy], own)?;
            let names = tools::Names::new(policy, context, &alphabet)?;
            Ok((alphabet, names))
        };
        let vectors = if runs { vectors() } else { Err(unasked.into()) };
        Prover {
            context,
            judge,
            grounds,
            vectors,
            names: if any(|a| matches!(a, Action::Tool)) { names() } else { Err(unasked) },
        }
    }

    pub(super) fn prove(&self, assert: &Assert) -> Verdict {
        let result = match assert.action {
            Action::Path(permissions) => self.paths(assert, permissions).map_err(|e| e.to_string()),
            Action::Permission(permissions) => Ok(self.free(assert, permissions)),
            Action::Run | Action::Argv => self.commands(assert).map_err(|e| e.to_string()),
            Action::Tool => self.tools(assert).map_err(|e| e.to_string()),
        };
        result.unwrap_or_else(Verdict::Unproved)
    }

    fn admitted(&self, phase: Phase, effect: impl FnOnce() -> Effect) -> Effect {
        if self.context.phases.contains(&phase) { effect() } else { Effect::Deny }
    }

    /// The answer of the table, if the assertion forbids it.
    fn refutes(&self, assert: &Assert, phase: Phase, ask: Ask) -> Option<Answered> {
        let (effect, reason): (Effect, Reason) = self.judge.decide(&self.context.name, phase, &ask);
        assert.forbids(effect).then_some(Answered { phase, ask, effect, reason })
    }

    fn free(&self, assert: &Assert, permissions: Permission) -> Verdict {
        let ask = |&phase: &Phase| self.refutes(assert, phase, Ask::Permission(permissions));
        assert.phases.iter().find_map(ask).map_or(Verdict::Passed, Verdict::Failed)
    }

    fn paths(&self, assert: &Assert, permissions: Permission) -> Result<Verdict, TooLarge> {
        let Places { alphabet, model } = self.grounds.places()?;
        let Some(pattern) = &assert.pattern else { return Ok(Verdict::Passed) };
        let meant = alphabet.question(&pattern.text)?;
        let excepted = assert.except.iter().map(|e| alphabet.question(&e.text));
        let excepted = excepted.collect::<Result<Vec<_>, _>>()?;
        let forbidden = |v: &[paths::Verdict]| {
            let forbids = |&phase: &Phase| {
                let decided = |v: &paths::Verdict| v.decide(permissions, phase).0;
                v.iter().any(|v| assert.forbids(self.admitted(phase, || decided(v))))
            };
            assert.phases.iter().copied().find(forbids)
        };
        let mut found = None;
        if self.context.mounts.is_empty() {
            // Every path has one name.
            let question = excepted
                .iter()
                .try_fold(meant, |all, e| difference(&all, e, MAX_PRODUCT_STATES))?;
            let walker = paths::Virtual::new(model, alphabet)?;
            paths::visit(&[&walker], Some(&question), alphabet, BUDGET, |v, string| {
                found = forbidden(v).map(|phase| (phase, path(&string(), permissions)));
                found.is_some()
            })?;
        } else {
            for space in 0..model.spaces.len() {
                let mut question = model.named(space, &meant, alphabet)?;
                for e in &excepted {
                    let carved = model.named(space, e, alphabet)?;
                    question = difference(&question, &carved, MAX_PRODUCT_STATES)?;
                }
                let reader = paths::Reader::new(model, space, None);
                paths::visit(&[&reader], Some(&question), alphabet, BUDGET, |v, string| {
                    // What no mount covers, no virtual path names.
                    let Some(mount) = v.first().and_then(|v| v.mount) else { return false };
                    found = forbidden(v).map(|phase| {
                        let string = string();
                        let shown = model.virtual_path(&string, mount);
                        let directory = string.is_empty() || string.ends_with(b"/");
                        (phase, path_as(shown, directory, permissions))
                    });
                    found.is_some()
                })?;
                if found.is_some() {
                    break;
                }
            }
        }
        let Some((phase, ask)) = found else { return Ok(Verdict::Passed) };
        Ok(self.refutes(assert, phase, ask.clone()).map_or_else(
            || Verdict::Unproved(format!("the table does not confirm that {ask:?} refutes it")),
            Verdict::Failed,
        ))
    }

    fn commands(&self, assert: &Assert) -> Result<Verdict, String> {
        let vectors = self.vectors.as_ref().map_err(ToString::to_string)?;
        let Vectors { alphabet, rules, outcomes } = vectors;
        let Some(pattern) = &assert.pattern else { return Ok(Verdict::Passed) };
        let by_name = assert.quantifier == Quantifier::Never;
        let question =
            alphabet.reading(pattern, &assert.except, by_name).map_err(|e| e.to_string())?;
        let mut doubtful = None;
        for class in [Class::Written, Class::Bypass] {
            let of_class = |p: &Phase| Class::of(*p) == class;
            let phases = assert.phases.iter().copied().filter(of_class).collect::<Vec<_>>();
            if phases.is_empty() {
                continue;
            }
            let letters = alphabet.possible(class, outcomes.letters(class));
            let mut left = question.clone();
            for plain in [true, false] {
                let domain = alphabet.domain(letters, plain).map_err(|e| e.to_string())?;
                let mut attempts = 0..DOUBTS;
                while let Some((phase, string)) =
                    self.forbidden(assert, &phases, rules, &left, &domain)?
                {
                    // A word that is put in for another must still be meant.
                    let meant = |argv: &Vec<Vec<u8>>| *question.run(&alphabet.string(argv));
                    let candidates = outcomes.realised(alphabet, &string);
                    let mut candidates = candidates.into_iter().filter(meant);
                    let refuted = candidates.find_map(|argv| self.vector(assert, phase, argv));
                    if let Some(answered) = refuted {
                        return Ok(Verdict::Failed(answered));
                    }
                    // A path's letter was not that of the word: others may be.
                    let words = alphabet.words(&string);
                    let less = alphabet.except(&left, &words).map_err(|e| e.to_string())?;
                    match (attempts.next(), less) {
                        (Some(_), Some(less)) => left = less,
                        _ => {
                            doubtful = Some(words);
                            break;
                        }
                    }
                }
            }
        }
        let runners = self.runners(assert, &question).map_err(|e| e.to_string())?;
        if let Some(Verdict::Failed(answered)) = runners {
            return Ok(Verdict::Failed(answered));
        }
        Ok(match doubtful {
            None => runners.unwrap_or(Verdict::Passed),
            Some(argv) => Verdict::Unproved(format!(
                "`{}` may refute it, and the table says otherwise",
                String::from_utf8_lossy(&argv.join(&b' '))
            )),
        })
    }

    /// A string of `left` whose tally gets what the assertion forbids, and the phase.
    fn forbidden(
        &self,
        assert: &Assert,
        phases: &[Phase],
        rules: &Rules<'_>,
        left: &Dfa<bool>,
        domain: &Dfa<bool>,
    ) -> Result<Option<(Phase, Vec<u8>)>, String> {
        let forbids = |tally| {
            let forbids = |&phase: &Phase| {
                assert.forbids(self.admitted(phase, || decide(rules.block, tally, phase).0))
            };
            phases.iter().copied().find(forbids)
        };
        if !assert.forbids(Effect::Deny) && rules.only_denials() {
            // Denials only make less of what is forbidden.
            let forbidden = |_: &bool, tally| forbids(tally).is_some();
            let grants = [rules.grants().map_err(|e| e.to_string())?];
            let found = commands::any(left, |&l| l, domain, &grants, BUDGET, forbidden);
            if found == Ok(None) {
                return Ok(None);
            }
        }
        let mut found = None;
        commands::visit(
            left,
            |&l| l,
            domain,
            &[rules],
            BUDGET,
            |_, tallies, string| {
                let tally = tallies.first().copied().unwrap_or_default();
                found = forbids(tally).map(|phase| (phase, string()));
                found.is_some()
            },
        )
        .map_err(|e| e.to_string())?;
        Ok(found)
    }

    /// A vector that refutes, as a string if that does too.
    fn vector(&self, assert: &Assert, phase: Phase, argv: Vec<Vec<u8>>) -> Option<Answered> {
        let command = quoted(&argv).map(Ask::Command);
        let as_string = command.and_then(|c| self.refutes(assert, phase, c));
        as_string.or_else(|| self.refutes(assert, phase, Ask::Argv(argv)))
    }

    fn tools(&self, assert: &Assert) -> Result<Verdict, TooLarge> {
        let (alphabet, names) = self.names.as_ref().map_err(|e| *e)?;
        let Some(pattern) = &assert.pattern else { return Ok(Verdict::Passed) };
        let mut question = alphabet.language(&pattern.text)?;
        for except in &assert.except {
            let carved = alphabet.language(&except.text)?;
            question = difference(&question, &carved, MAX_PRODUCT_STATES)?;
        }
        let mut phase_found = None;
        let found = tools::find(&question, alphabet, &[names], BUDGET, |seen| {
            phase_found = assert.phases.iter().copied().find(|&phase| {
                seen.iter().any(|&(tally, tool)| {
                    let effect = self.admitted(phase, || names.decide(tally, tool, phase).0);
                    assert.forbids(effect)
                })
            });
            phase_found.is_some()
        })?;
        let (Some(name), Some(phase)) = (found, phase_found) else { return Ok(Verdict::Passed) };
        let ask = Ask::Tool { name: name.clone(), requires: Vec::new() };
        Ok(match self.refutes(assert, phase, ask) {
            Some(answered) => Verdict::Failed(answered),
            None => Verdict::Unproved(format!(
                "the tool `{name}` may refute it, and the table says otherwise"
            )),
        })
    }
}
