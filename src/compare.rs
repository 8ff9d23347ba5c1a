//! Two contexts side by side: every class of requests that they answer differently.
//!
//! A class is a kind of request (paths with one permission, commands, tools, path-free
//! permissions) with a phase and the two answers. All states that the decision automata
//! of both sides reach together are visited, so no class is missing; each comes with
//! short requests that have been put to both compiled tables. `diff` shows all classes,
//! `narrows` those that are more permissive.
//!
//! Cost: that of the searches ([`BUDGET`]); commands are searched only where rules
//! differ. What outgrows it is named in [`Comparison::unproved`].

mod commands;

use crate::analysis::{BUDGET, paths, tools};
use crate::automata::TooLarge;
use crate::hir::{Context, Policy};
use crate::request::{Ask, Judge};
use mero_runtime::{Effect, Kind, Permission, Phase, Reason};
use std::collections::{BTreeMap, BTreeSet};

/// An answer.
pub type Answer = (Effect, Reason);

/// One of the two.
#[derive(Clone, Copy, Debug)]
pub struct Side<'p> {
    /// Its policy.
    pub policy: &'p Policy,
    /// Its context.
    pub context: &'p Context,
    /// Its compiled table.
    pub judge: &'p Judge<'p>,
}

impl Side<'_> {
    fn ask(&self, phase: Phase, ask: &Ask) -> Answer {
        self.judge.decide(&self.context.name, phase, ask)
    }

    fn admitted(&self, phase: Phase, answer: impl FnOnce() -> Answer) -> Answer {
        if self.context.phases.contains(&phase) { answer() } else { (Effect::Deny, Reason::Phase) }
    }
}

/// A class of requests with other answers, and one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// In this phase.
    pub phase: Phase,
    /// What the first side answers.
    pub before: Answer,
    /// What the second answers.
    pub after: Answer,
    /// A request of the class.
    pub ask: Ask,
}

/// All classes.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// In order of kind, phase and answers.
    pub changes: Vec<Change>,
    /// Questions that outgrew their budget, or whose example no table confirms.
    pub unproved: Vec<String>,
}

/// What is looked for.
pub struct Compare<'p> {
    /// Before.
    pub old: Side<'p>,
    /// After.
    pub new: Side<'p>,
    /// Which pairs of answers count.
    pub interest: fn(Answer, Answer) -> bool,
    /// How many requests of one class to give, of those whose strings are shortest.
    pub samples: usize,
}

/// Questions that are told one by one.
const MOST_UNPROVED: usize = 12;

/// The requests of a class: what is asked but for the request itself, and answers.
type Key = (Option<Permission>, Phase, Answer, Answer);

impl<'p> Compare<'p> {
    /// Looks for all classes.
    #[must_use]
    pub fn run(&self) -> Comparison {
        let Some([old, new]) = self.less() else { return self.run_once() };
        let less = Compare {
            old: Side { context: &old, ..self.old },
            new: Side { context: &new, ..self.new },
            interest: self.interest,
            samples: self.samples,
        };
        let less = less.run_once();
        if less.unproved.is_empty() {
            return less;
        }
        // Perhaps because some examples are hidden by what was left out.
        let whole = self.run_once();
        if less.unproved.len() < whole.unproved.len() { less } else { whole }
    }

    /// Both contexts without the hide patterns that stand in the same list of both: what
    /// one of them hides is hidden on both sides, so nothing that differs is missed.
    /// `None` where a pattern takes back what another hides, or where nothing is common.
    fn less(&self) -> Option<[Context; 2]> {
        let mut sides = [self.old.context.clone(), self.new.context.clone()];
        let lists = |c: &Context| {
            let own = c.mounts.iter().map(|m| (Some(m.slug.clone()), &m.hide));
            let all = own.chain([(None, &c.hide)]).flat_map(|(slug, list)| {
                list.iter().map(move |pattern| (slug.clone(), pattern.node.clone()))
            });
            all.collect::<BTreeSet<_>>()
        };
        let [before, after] = [lists(&sides[0]), lists(&sides[1])];
        let common = before.intersection(&after).cloned().collect::<BTreeSet<_>>();
        if common.is_empty() || before.union(&after).any(|(_, p)| p.starts_with('!')) {
            return None;
        }
        for context in &mut sides {
            context.hide.retain(|p| !common.contains(&(None, p.node.clone())));
            for mount in &mut context.mounts {
                let slug = Some(mount.slug.clone());
                mount.hide.retain(|p| !common.contains(&(slug.clone(), p.node.clone())));
            }
        }
        Some(sides)
    }

    fn run_once(&self) -> Comparison {
        let mut out = Comparison::default();
        self.free(&mut out);
        let same_paths = self.paths(&mut out).unwrap_or_else(|error| {
            out.unproved.push(format!("which answers on paths differ: {error}"));
            false
        });
        if let Err(error) = self.commands(same_paths, &mut out) {
            out.unproved.push(format!("which answers on commands differ: {error}"));
        }
        if let Err(error) = self.tools(&mut out) {
            out.unproved.push(format!("which answers on tools differ: {error}"));
        }
        let mut told = BTreeSet::new();
        out.unproved.retain(|what| told.insert(what.clone()));
        let left = out.unproved.len().saturating_sub(MOST_UNPROVED);
        if left > 0 {
            out.unproved.truncate(MOST_UNPROVED);
            out.unproved.push(format!("{left} more such questions"));
        }
        out
    }

    fn phases(&self) -> impl Iterator<Item = Phase> {
        Phase::ALL
            .into_iter()
            .filter(|p| self.old.context.phases.contains(p) || self.new.context.phases.contains(p))
    }

    /// Both contexts, or the one that both sides have.
    fn contexts(&self) -> impl Iterator<Item = &'p Context> {
        let same = std::ptr::eq(self.old.context, self.new.context);
        let other = (!same).then_some(self.new.context);
        std::iter::once(self.old.context).chain(other)
    }

    /// Whether the first side in one phase answers everything as the second does in
    /// another: with one context on both sides, whether its phases differ. Commands are
    /// taken as their rules count, and strings that are not understood as `opaque` says.
    ///
    /// # Errors
    /// [`TooLarge`] if a search outgrows its budget.
    pub fn phases_agree(&self, first: Phase, second: Phase) -> Result<bool, TooLarge> {
        let differs = |a: Answer, b: Answer| (self.interest)(a, b);
        for (_, p) in Permission::NAMES {
            let ask = Ask::Permission(p);
            if differs(self.old.ask(first, &ask), self.new.ask(second, &ask)) {
                return Ok(false);
            }
        }
        for command in ["$x", "$(x)", "x >$x"] {
            let ask = Ask::Command(command.to_owned());
            if differs(self.old.ask(first, &ask), self.new.ask(second, &ask)) {
                return Ok(false);
            }
        }
        let alphabet = paths::Alphabet::new(&[self.old.context, self.new.context], [])?;
        // Most phases differ on a plain file of some mount.
        for mount in self.contexts().flat_map(|c| &c.mounts) {
            for (_, p) in Permission::NAMES {
                let ask = path(format!("{}/x", mount.slug).as_bytes(), p);
                if differs(self.old.ask(first, &ask), self.new.ask(second, &ask)) {
                    return Ok(false);
                }
            }
        }
        // One context on both sides is walked once.
        let models = self
            .contexts()
            .map(|context| paths::Model::new(context, &alphabet))
            .collect::<Result<Vec<_>, _>>()?;
        let walkers = models
            .iter()
            .map(|model| paths::Virtual::new(model, &alphabet))
            .collect::<Result<Vec<_>, _>>()?;
        let walkers = walkers.iter().collect::<Vec<_>>();
        let stopped = paths::visit(&walkers, None, &alphabet, BUDGET, |v, _| match (v, v) {
            ([.., a], [b, ..]) => Permission::NAMES
                .iter()
                .any(|(_, p)| differs(b.decide(*p, first), a.decide(*p, second))),
            _ => true,
        })?;
        if stopped {
            return Ok(false);
        }
        let alphabet = tools::Alphabet::new(&[self.old.policy, self.new.policy], [])?;
        let old = tools::Names::new(self.old.policy, self.old.context, &alphabet)?;
        let new = tools::Names::new(self.new.policy, self.new.context, &alphabet)?;
        let sides = [&old, &new];
        let stopped =
            tools::visit(alphabet.names(), &alphabet, &sides, BUDGET, |seen, _| match seen {
                [a, b] => differs(old.decide(a.0, a.1, first), new.decide(b.0, b.1, second)),
                _ => true,
            })?;
        Ok(!stopped && self.commands_agree(first, second).unwrap_or(false))
    }

    /// Adds the requests of a class that both tables confirm.
    fn confirm(&self, key: Key, what: &str, asks: Vec<Ask>, out: &mut Comparison) {
        let (_, phase, before, after) = key;
        let mut confirmed = false;
        for ask in asks {
            let (old, new) = (self.old.ask(phase, &ask), self.new.ask(phase, &ask));
            if (self.interest)(old, new) {
                confirmed = true;
                let change = Change { phase, before: old, after: new, ask };
                if !out.changes.contains(&change) {
                    out.changes.push(change);
                }
            }
        }
        if !confirmed {
            out.unproved.push(format!(
                "{what} in `{phase}` may go from {} ({}) to {} ({}): no example is confirmed",
                before.0, before.1, after.0, after.1
            ));
        }
    }

    /// Permissions with no path.
    fn free(&self, out: &mut Comparison) {
        for phase in self.phases() {
            for (_, p) in Permission::NAMES {
                let ask = Ask::Permission(p);
                let (before, after) = (self.old.ask(phase, &ask), self.new.ask(phase, &ask));
                if (self.interest)(before, after) {
                    out.changes.push(Change { phase, before, after, ask });
                }
            }
        }
    }

    /// Compares paths; gives whether path words of commands are granted alike, whatever
    /// is of interest and in whichever phases.
    fn paths(&self, out: &mut Comparison) -> Result<bool, TooLarge> {
        let alphabet = paths::Alphabet::new(&[self.old.context, self.new.context], [])?;
        let models = [
            paths::Model::new(self.old.context, &alphabet)?,
            paths::Model::new(self.new.context, &alphabet)?,
        ];
        let old = paths::Virtual::new(&models[0], &alphabet)?;
        let new = paths::Virtual::new(&models[1], &alphabet)?;
        let mut classes: BTreeMap<Key, Vec<Vec<u8>>> = BTreeMap::new();
        let same_phases = self.old.context.phases == self.new.context.phases;
        let mut same = true;
        paths::visit(&[&old, &new], None, &alphabet, BUDGET, |verdicts, string| {
            let [a, b] = verdicts else { return true };
            if a == b && same_phases {
                return false;
            }
            same &= Permission::NAMES.iter().all(|(_, p)| {
                let phases = [Phase::Default, Phase::BypassPermissions];
                phases.iter().all(|&phase| a.decide(*p, phase).0 == b.decide(*p, phase).0)
            });
            for phase in self.phases() {
                for (_, p) in Permission::NAMES {
                    let before = self.old.admitted(phase, || a.decide(p, phase));
                    let after = self.new.admitted(phase, || b.decide(p, phase));
                    if (self.interest)(before, after) {
                        let class = classes.entry((Some(p), phase, before, after)).or_default();
                        if class.len() < self.samples {
                            class.push(string());
                        }
                    }
                }
            }
            false
        })?;
        for (key, strings) in classes {
            let asks = strings.iter().map(|s| path(s, key.0.unwrap_or_default())).collect();
            self.confirm(key, "paths", asks, out);
        }
        Ok(same)
    }

    fn tools(&self, out: &mut Comparison) -> Result<(), TooLarge> {
        let alphabet = tools::Alphabet::new(&[self.old.policy, self.new.policy], [])?;
        let old = tools::Names::new(self.old.policy, self.old.context, &alphabet)?;
        let new = tools::Names::new(self.new.policy, self.new.context, &alphabet)?;
        let held = |c: &Context, key: &str| c.grants.iter().any(|g| g.node == key);
        let grants = self.old.context.grants.iter().chain(&self.new.context.grants);
        let mut grants = grants
            .map(|g| g.node.as_str())
            .filter(|g| held(self.old.context, g) != held(self.new.context, g))
            .map(Some)
            .collect::<Vec<_>>();
        grants.push(None);
        let mut classes: BTreeMap<(Option<&str>, Key), Vec<String>> = BTreeMap::new();
        tools::visit(alphabet.names(), &alphabet, &[&old, &new], BUDGET, |seen, name| {
            let [a, b] = seen else { return true };
            for phase in self.phases() {
                for &grant in &grants {
                    let with_grant = |context: &Context, answer: Answer| {
                        let by_rule =
                            matches!(answer.1, Reason::ToolDenied | Reason::ToolNotAllowed);
                        match grant {
                            Some(g) if !by_rule && !held(context, g) => {
                                (Effect::Deny, Reason::GrantMissing)
                            }
                            _ => answer,
                        }
                    };
                    let before = self.old.admitted(phase, || {
                        with_grant(self.old.context, old.decide(a.0, a.1, phase))
                    });
                    let after = self.new.admitted(phase, || {
                        with_grant(self.new.context, new.decide(b.0, b.1, phase))
                    });
                    if (self.interest)(before, after) {
                        let key = (grant, (None, phase, before, after));
                        let class = classes.entry(key).or_default();
                        if class.len() < self.samples {
                            class.extend(name());
                        }
                    }
                }
            }
            false
        })?;
        for ((grant, key), names) in classes {
            let requires = grant.map(str::to_owned).into_iter().collect::<Vec<_>>();
            let ask = |name: String| Ask::Tool { name, requires: requires.clone() };
            self.confirm(key, "tools", names.into_iter().map(ask).collect(), out);
        }
        Ok(())
    }
}

/// The request for a virtual path as a [`paths::Virtual`] walks it.
#[must_use]
pub fn path(string: &[u8], permissions: Permission) -> Ask {
    let directory = string.is_empty() || string.ends_with(b"/");
    let mut path = vec![b'/'];
    path.extend_from_slice(string.strip_suffix(b"/").unwrap_or(string));
    path_as(path, directory, permissions)
}

/// The request for a path, a directory or a file.
#[must_use]
pub fn path_as(path: Vec<u8>, directory: bool, permissions: Permission) -> Ask {
    let kind = if directory { Kind::Directory } else { Kind::File };
    Ask::Path { path, permissions, kind }
}
