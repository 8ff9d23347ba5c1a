//! Commands: only where rules, or what holds around them, differ.

use super::{Answer, Change, Compare, Comparison, Key, Side};
use crate::analysis::BUDGET;
use crate::analysis::commands::{
    Alphabet, Class, Hit, Outcomes, Rules, Tally, Unread, decide, visit,
};
use crate::automata::{Dfa, intersect, union};
use crate::hir::{CommandRule, Commands};
use crate::limits::MAX_PRODUCT_STATES;
use crate::request::{Ask, quoted};
use crate::syntax::ast::Pattern;
use mero_runtime::{Effect, Phase, Reason};
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
    /// Whether a path word means the same file on both sides.
    fn same_directories(&self) -> bool {
        let directories = |s: &Side<'_>| {
            s.context.mounts.iter().map(|m| (m.slug.clone(), m.host.clone())).collect::<Vec<_>>()
        };
        directories(&self.old) == directories(&self.new)
    }

    pub(super) fn commands(&self, same_paths: bool, out: &mut Comparison) -> Result<(), Unread> {
        let (before, after) =
            (self.old.context.commands.as_ref(), self.new.context.commands.as_ref());
        let same_paths = same_paths && self.same_directories();
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
        self.strings(&old, &new, &alphabet, out)?;
        self.behind_runners(&old, &new, &questions, &alphabet, out)
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
        let rules = self
            .contexts()
            .map(|context| Rules::new(context.commands.as_ref(), &alphabet, 0))
            .collect::<Result<Vec<_>, _>>()?;
        let domain = alphabet.domain(alphabet.letters(), false)?;
        let any = Dfa::constant(alphabet.classes(), true);
        let sides = rules.iter().collect::<Vec<_>>();
        let stopped = visit(
            &any,
            |&a| a,
            &domain,
            &sides,
            BUDGET,
            |_, t, _| match (t, t) {
                ([a, ..], [.., b]) => {
                    (self.interest)(decide(before, *a, first), decide(after, *b, second))
                }
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
        let samples = self.samples(&[old, new], alphabet)?;
        let mut groups: Vec<Vec<String>> = Vec::new();
        let opaque = |r: &Rules<'_>| {
            r.block.and_then(|b| b.opaque.as_ref()).map_or(Effect::Deny, |o| o.node)
        };
        if opaque(old) != opaque(new) {
            groups.push(vec!["$x".to_owned()]);
        }
        for name in differing(env(old), env(new)) {
            let name = name.replace('*', "X");
            let set = samples.iter().map(|s| format!("{name}=x {s}"));
            groups.push(set.chain([format!("export {name}=x")]).collect());
        }
        for name in differing(wrappers(old), wrappers(new)) {
            let forms =
                samples.iter().flat_map(|s| [format!("{name} {s}"), format!("{name} 5 {s}")]);
            groups.push(forms.collect());
        }
        for group in groups {
            self.candidates(&group, out);
        }
        Ok(())
    }

    /// Adds those of some command strings that are of interest, one for each pair of
    /// answers; gives whether there was one.
    fn candidates(&self, commands: &[String], out: &mut Comparison) -> bool {
        let mut seen = BTreeSet::new();
        for phase in self.phases() {
            for command in commands {
                let ask = Ask::Command(command.clone());
                let (before, after) = (self.old.ask(phase, &ask), self.new.ask(phase, &ask));
                if (self.interest)(before, after) && seen.insert((phase, before, after)) {
                    let change = Change { phase, before, after, ask };
                    if !out.changes.contains(&change) {
                        out.changes.push(change);
                    }
                }
            }
        }
        !seen.is_empty()
    }

    /// Where a rule on a wrapper or shell itself comes or goes, what it runs decides on one
    /// side and the rule on the other: tallies do not show it, examples may.
    fn behind_runners(
        &self,
        old: &Rules<'_>,
        new: &Rules<'_>,
        questions: &[Dfa<Hit>],
        alphabet: &Alphabet,
        out: &mut Comparison,
    ) -> Result<(), Unread> {
        let mut transparent = alphabet.scripts()?;
        for block in [old.block, new.block].into_iter().flatten() {
            let own = alphabet.transparent(block)?;
            transparent = union(&transparent, &own, MAX_PRODUCT_STATES)?;
        }
        let all = alphabet.domain(alphabet.letters(), false)?;
        let domain = intersect(&all, &transparent, MAX_PRODUCT_STATES)?;
        let mut open = false;
        for question in questions {
            let sides = [old, new];
            open |= visit(
                question,
                |h| *h != Hit::No,
                &domain,
                &sides,
                BUDGET,
                |_, t, _| match t {
                    [a, b] if a.any() != b.any() => self.phases().any(|phase| {
                        let was = through(old.block, *a, phase);
                        let is = through(new.block, *b, phase);
                        was.iter().any(|&was| is.iter().any(|&is| (self.interest)(was, is)))
                    }),
                    _ => false,
                },
            )?;
        }
        if !open {
            return Ok(());
        }
        let names = wrappers(old).into_iter().chain(wrappers(new)).collect::<BTreeSet<_>>();
        let mut commands = Vec::new();
        for sample in self.samples(&[old, new], alphabet)? {
            let quoted = sample.replace('\'', "'\\''");
            for name in &names {
                commands.extend([format!("{name} {sample}"), format!("{name} 5 {sample}")]);
            }
            for name in mero_runtime::transparent() {
                commands.push(format!("{name} -c '{quoted}'"));
                commands.push(format!("{name} '{quoted}'"));
                commands.push(format!("{name} '{quoted}' EXIT"));
            }
        }
        if !self.candidates(&commands, out) {
            out.unproved.push("what wrappers and shells run where rules name them".to_owned());
        }
        Ok(())
    }

    /// Commands with each answer that rules give in each phase.
    fn samples(
        &self,
        sides: &[&Rules<'_>],
        alphabet: &Alphabet,
    ) -> Result<BTreeSet<String>, Unread> {
        let domain = alphabet.domain(alphabet.letters(), true)?;
        let any = Dfa::constant(alphabet.classes(), true);
        let phases = self.phases().collect::<Vec<_>>();
        let mut samples = BTreeSet::new();
        for rules in sides {
            let mut seen = BTreeSet::new();
            visit(
                &any,
                |&a| a,
                &domain,
                &[rules],
                BUDGET,
                |_, tallies, string| {
                    let tally = tallies.first().copied().unwrap_or_default();
                    let answers = phases.iter().map(|&p| decide(rules.block, tally, p));
                    if seen.insert(answers.collect::<Vec<_>>()) {
                        samples.extend(quoted(&alphabet.words(&string())));
                    }
                    seen.len() > 16
                },
            )?;
        }
        Ok(samples)
    }
}

/// What a block may answer to a wrapper or shell, whatever it runs: where a rule names
/// it, that answer or a denial from within.
fn through(block: Option<&Commands>, tally: Tally, phase: Phase) -> Vec<Answer> {
    let mut answers = vec![(Effect::Deny, Reason::CommandDenied), decide(block, tally, phase)];
    if !tally.any() && block.is_some_and(Commands::may_run) {
        answers.push((Effect::Ask, Reason::ApprovalRequired));
        answers.push((Effect::Allow, Reason::Granted));
    }
    answers
}

fn env(rules: &Rules<'_>) -> BTreeSet<String> {
    rules.block.iter().flat_map(|b| &b.env).map(|e| e.node.clone()).collect()
}

/// The programs that `allow` rules reach through.
fn wrappers(rules: &Rules<'_>) -> BTreeSet<String> {
    match rules.block.and_then(|b| b.wrappers.as_ref()) {
        Some(list) => list.iter().map(|w| w.node.clone()).collect(),
        None => crate::library::DEFAULT_WRAPPERS.iter().map(|&w| w.to_owned()).collect(),
    }
}

fn differing(a: BTreeSet<String>, b: BTreeSet<String>) -> Vec<String> {
    a.symmetric_difference(&b).cloned().collect()
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
