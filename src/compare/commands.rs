//! Commands: only where rules, or what holds around them, differ.

use super::{Change, Compare, Comparison, Key, Side};
use crate::analysis::BUDGET;
use crate::analysis::commands::{Alphabet, Class, Hit, Outcomes, Rules, Unread, decide, visit};
use crate::automata::Dfa;
use crate::hir::{CommandRule, Commands};
use crate::request::{Ask, quoted};
use crate::syntax::ast::Pattern;
use mero_runtime::{Effect, Phase};
use std::collections::{BTreeMap, BTreeSet};

/// What makes two rules one.
fn identity(rule: &CommandRule) -> String {
    let pattern = |p: &Pattern| format!("{:?} {:?}", p.kind, p.text);
    let except = rule.except.iter().map(pattern).collect::<Vec<_>>().join(", ");
    format!("{} {} {} except {except}", rule.effect, rule.readonly, pattern(&rule.pattern))
}

fn patterns(block: Option<&Commands>, side: usize) -> Vec<(Pattern, usize)> {
    let rules = block.into_iter().flat_map(|b| &b.rules);
    let patterns = rules.flat_map(|r| std::iter::once(&r.pattern).chain(&r.except));
    patterns.map(|p| (p.clone(), side)).collect()
}

impl Compare<'_> {
    /// Whether path words are granted alike.
    fn same_paths(&self, out: &Comparison) -> bool {
        let directories = |s: &Side<'_>| {
            s.context.mounts.iter().map(|m| (m.slug.clone(), m.host.clone())).collect::<Vec<_>>()
        };
        let changed = out.changes.iter().any(|c| matches!(c.ask, Ask::Path { .. }));
        !changed && out.unproved.is_empty() && directories(&self.old) == directories(&self.new)
    }

    pub(super) fn commands(&self, out: &mut Comparison) -> Result<(), Unread> {
        let (before, after) =
            (self.old.context.commands.as_ref(), self.new.context.commands.as_ref());
        let same_paths = self.same_paths(out);
        let other = usize::from(!same_paths);
        let mut all = patterns(before, 0);
        all.extend(patterns(after, other));
        let alphabet = Alphabet::new(all.iter().map(|(p, s)| (p, *s)))?;
        let old = Rules::new(before, &alphabet, 0)?;
        let new = Rules::new(after, &alphabet, other)?;
        let outcomes = match same_paths {
            true => Outcomes::new(&alphabet, &[self.new.context]),
            false => Outcomes::new(&alphabet, &[self.old.context, self.new.context]),
        };
        let otherwise =
            |b: Option<&Commands>| b.map(|b| b.otherwise.as_ref().map_or(Effect::Deny, |o| o.node));
        let everything = otherwise(before).unwrap_or(Effect::Deny)
            != otherwise(after).unwrap_or(Effect::Deny)
            || self.old.context.phases != self.new.context.phases;
        let holes_differ = !same_paths && !alphabet.keys().is_empty();
        let questions = if everything {
            vec![Dfa::constant(alphabet.classes(), Hit::Full)]
        } else {
            changed(&old, &new, holes_differ)
        };
        let mut classes: BTreeMap<(usize, Key), Vec<Vec<u8>>> = BTreeMap::new();
        for class in [Class::Written, Class::Bypass] {
            let phases = self.phases().filter(|&p| Class::of(p) == class).collect::<Vec<_>>();
            if phases.is_empty() {
                continue;
            }
            let letters = alphabet.possible(class, outcomes.letters(class));
            // Ordinary commands first; then all, for what is found nowhere else.
            for plain in [true, false] {
                let domain = alphabet.domain(letters, plain)?;
                for (number, question) in questions.iter().enumerate() {
                    let known = classes.keys().copied().collect::<BTreeSet<_>>();
                    let sides = [&old, &new];
                    visit(
                        question,
                        |h| *h != Hit::No,
                        &domain,
                        &sides,
                        BUDGET,
                        |_, t, string| {
                            let [a, b] = t else { return true };
                            for &phase in &phases {
                                let was = self.old.admitted(phase, || decide(before, *a, phase));
                                let is = self.new.admitted(phase, || decide(after, *b, phase));
                                let key = (number, (None, phase, was, is));
                                if (self.interest)(was, is) && (plain || !known.contains(&key)) {
                                    let class = classes.entry(key).or_default();
                                    if class.len() < self.samples {
                                        class.push(string());
                                    }
                                }
                            }
                            false
                        },
                    )?;
                }
            }
        }
        for ((_, key), strings) in classes {
            let asks = strings.iter().map(|string| {
                let asks = outcomes.realised(&alphabet, string).into_iter();
                let asks = asks.map(|argv| self.spelt(key, argv)).collect::<Vec<_>>();
                let counts = |ask: &&Ask| {
                    (self.interest)(self.old.ask(key.1, ask), self.new.ask(key.1, ask))
                };
                let counting = asks.iter().find(counts).cloned();
                counting.or_else(|| asks.first().cloned())
            });
            let asks = asks.flatten().collect();
            self.confirm(key, "commands", asks, out);
        }
        self.strings(&old, &new, &alphabet, out)
    }

    /// Whether all commands are answered alike, the first side in one phase and the
    /// second in another.
    pub(super) fn commands_agree(&self, first: Phase, second: Phase) -> Result<bool, Unread> {
        let (before, after) =
            (self.old.context.commands.as_ref(), self.new.context.commands.as_ref());
        let mut all = patterns(before, 0);
        all.extend(patterns(after, 0));
        let alphabet = Alphabet::new(all.iter().map(|(p, s)| (p, *s)))?;
        let has_paths = !alphabet.keys().is_empty();
        if has_paths && Class::of(first) != Class::of(second) {
            // What paths are granted differs then.
            return Ok(false);
        }
        let old = Rules::new(before, &alphabet, 0)?;
        let new = Rules::new(after, &alphabet, 0)?;
        let domain = alphabet.domain(alphabet.letters(), false)?;
        let any = Dfa::constant(alphabet.classes(), true);
        let sides = [&old, &new];
        let stopped = visit(
            &any,
            |&a| a,
            &domain,
            &sides,
            BUDGET,
            |_, t, _| match t {
                [a, b] => (self.interest)(decide(before, *a, first), decide(after, *b, second)),
                _ => true,
            },
        )?;
        Ok(!stopped)
    }

    /// As a command string, where that gets the same answers.
    fn spelt(&self, key: Key, argv: Vec<Vec<u8>>) -> Ask {
        let vector = Ask::Argv(argv);
        let Ask::Argv(words) = &vector else { return vector };
        let Some(command) = quoted(words).map(Ask::Command) else { return vector };
        let same = [self.old, self.new]
            .iter()
            .all(|side| side.ask(key.1, &command) == side.ask(key.1, &vector));
        if same { command } else { vector }
    }

    /// What only strings show: `env`, `wrappers`, `opaque`.
    fn strings(
        &self,
        old: &Rules<'_>,
        new: &Rules<'_>,
        alphabet: &Alphabet,
        out: &mut Comparison,
    ) -> Result<(), Unread> {
        let mut candidates = vec!["$x".to_owned(), "$(x)".to_owned()];
        let mut samples: Vec<String> = Vec::new();
        let domain = alphabet.domain(alphabet.letters(), true)?;
        for rules in [old, new] {
            let any = Dfa::constant(alphabet.classes(), true);
            let mut effects = BTreeSet::new();
            visit(
                &any,
                |&a| a,
                &domain,
                &[rules],
                BUDGET,
                |_, tallies, string| {
                    let effect = tallies.first().map(|t| decide(rules.block, *t, Phase::Default).0);
                    if effect.is_some_and(|e| effects.insert(e)) {
                        samples.extend(quoted(&alphabet.words(&string())));
                    }
                    effects.len() == 3
                },
            )?;
        }
        let names = |f: fn(&Commands) -> Vec<String>| {
            let of = |r: &Rules<'_>| r.block.map(f).unwrap_or_default();
            of(old).into_iter().chain(of(new)).collect::<BTreeSet<_>>()
        };
        let env = names(|b| b.env.iter().map(|e| e.node.clone()).collect());
        let wrappers =
            names(|b| b.wrappers.iter().flatten().map(|w| w.node.clone()).collect::<Vec<_>>());
        let defaults = ["time", "timeout", "nice", "nohup", "stdbuf", "setsid", "sh"];
        let wrappers = wrappers.iter().map(String::as_str).chain(defaults).collect::<BTreeSet<_>>();
        for sample in &samples {
            candidates
                .extend(env.iter().map(|name| format!("{}=x {sample}", name.replace('*', "X"))));
            for wrapper in &wrappers {
                candidates.push(format!("{wrapper} {sample}"));
                candidates.push(format!("{wrapper} 5 {sample}"));
            }
            candidates.push(format!("sh -c '{}'", sample.replace('\'', "'\\''")));
        }
        let mut seen = BTreeSet::new();
        for phase in self.phases() {
            for command in &candidates {
                let ask = Ask::Command(command.clone());
                let (before, after) = (self.old.ask(phase, &ask), self.new.ask(phase, &ask));
                let known = out.changes.iter().any(|c| {
                    let command = matches!(c.ask, Ask::Command(_) | Ask::Argv(_));
                    command && (c.phase, c.before, c.after) == (phase, before, after)
                });
                if (self.interest)(before, after) && !known && seen.insert((phase, before, after)) {
                    out.changes.push(Change { phase, before, after, ask });
                }
            }
        }
        Ok(())
    }
}

/// Where rules that only one side has apply.
fn changed(old: &Rules<'_>, new: &Rules<'_>, holes_differ: bool) -> Vec<Dfa<Hit>> {
    let ids =
        |rules: &Rules<'_>| rules.rules.iter().map(|r| identity(r.rule)).collect::<BTreeSet<_>>();
    let (before, after) = (ids(old), ids(new));
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for (rules, others) in [(old, &after), (new, &before)] {
        for rule in &rules.rules {
            let id = identity(rule.rule);
            let by_path = holes_differ && rule.hits.labels().contains(&Hit::Refused);
            if (by_path || !others.contains(&id)) && seen.insert(id) {
                out.push(rule.hits.clone());
            }
        }
    }
    out
}
