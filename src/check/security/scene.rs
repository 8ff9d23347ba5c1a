//! One context, in the phase that its rules are written for, with its judge.

use super::super::View;
use super::matcher::Matcher;
use crate::diag::Witness;
use crate::hir::{CommandRule, Context, Policy};
use crate::request::{Ask, Judge};
use mero_runtime::{Effect, Kind, Permission, Phase, Reason};

/// What a rule looks at.
pub(super) struct Scene<'v> {
    pub(super) policy: &'v Policy,
    judge: &'v Judge<'v>,
    pub(super) context: &'v Context,
    /// `default`, where rules hold as written; else the strictest that is admitted.
    pub(super) phase: Phase,
    /// The command rules with what they match; those that are too large are left out.
    pub(super) rules: Vec<(&'v CommandRule, Matcher)>,
}

/// An argument vector from its words.
pub(super) fn argv<W: AsRef<str>>(words: &[W]) -> Ask {
    Ask::Argv(words.iter().map(|w| w.as_ref().as_bytes().to_vec()).collect())
}

/// A path that is not known to be a directory or a file.
pub(super) fn path(path: &str, permissions: Permission) -> Ask {
    Ask::Path { path: path.as_bytes().to_vec(), permissions, kind: Kind::Unknown }
}

impl<'v> Scene<'v> {
    /// `None` for a context that admits no phase: nobody ever asks in it.
    pub(super) fn new(view: &'v View<'_>, context: &'v Context) -> Option<Scene<'v>> {
        let first = *context.phases.first()?;
        let default = context.phases.contains(&Phase::Default);
        let rules = context.commands.iter().flat_map(|c| &c.rules);
        Some(Scene {
            policy: view.policy,
            judge: &view.judge,
            context,
            phase: if default { Phase::Default } else { first },
            rules: rules.filter_map(|r| Some((r, Matcher::new(r)?))).collect(),
        })
    }

    /// Decides a request in the scene's phase.
    pub(super) fn decide(&self, ask: &Ask) -> (Effect, Reason) {
        self.judge.decide(&self.context.name, self.phase, ask)
    }

    /// The request as a witness, if it is allowed without a question.
    pub(super) fn allowed(&self, ask: &Ask) -> Option<Witness> {
        self.allowed_in(self.phase, ask)
    }

    /// Likewise in a phase.
    pub(super) fn allowed_in(&self, phase: Phase, ask: &Ask) -> Option<Witness> {
        let (effect, _) = self.judge.decide(&self.context.name, phase, ask);
        if effect == Effect::Allow { self.witness_in(phase, ask) } else { None }
    }

    /// The request with whatever answer it has.
    pub(super) fn witness(&self, ask: &Ask) -> Option<Witness> {
        self.witness_in(self.phase, ask)
    }

    fn witness_in(&self, phase: Phase, ask: &Ask) -> Option<Witness> {
        self.judge.witness(&self.context.name, phase, ask)
    }

    /// The rules of an effect.
    pub(super) fn of_effect(
        &self,
        effect: Effect,
    ) -> impl Iterator<Item = (&'v CommandRule, &Matcher)> {
        self.rules.iter().filter(move |(r, _)| r.effect == effect).map(|(r, m)| (*r, m))
    }
}
