//! Assertions about commands that run others.
//!
//! What a wrapper or a shell runs is decided as that command, and denials reach through
//! every runner: there the rules that match the whole vector are not all. So what an
//! assertion means of such commands is looked at apart. An inner command is most often
//! the end of the vector: from every place where a word may begin, the vectors that the
//! assertion still means are searched for one with a forbidden answer, and the table is
//! asked about the whole. If nothing can be found, a wrapper is proved; scripts are not
//! ends of vectors, so what is meant of shells is proved only where it is few vectors,
//! each of which the table is asked about.

use super::{Answered, DOUBTS, Prover, Vectors, Verdict};
use crate::analysis::BUDGET;
use crate::analysis::commands::{self, Alphabet, Class, Unread, decide};
use crate::automata::explore::{Letters, Machine, explore, live};
use crate::automata::{Dfa, TooLarge, intersect, is_empty, union, witness};
use crate::hir::Assert;
use crate::limits::MAX_PRODUCT_STATES;
use crate::request::quoted;
use mero_runtime::{Effect, Phase};
use std::collections::BTreeSet;

/// Places in the vectors of one assertion at which an inner command may begin.
const PLACES: usize = 400;

/// What may stand between a runner and what it runs, and behind it, if the assertion does
/// not say.
const AROUND: [(&[&str], &[&str]); 5] =
    [(&[], &[]), (&["5"], &[]), (&["-n", "5"], &[]), (&["-c"], &[]), (&[".", "-exec"], &[";"])];

/// The ends of words of an automaton: its state, and whether a word has just ended.
struct Words<'a>(&'a Dfa<bool>, Vec<bool>);

impl Machine for Words<'_> {
    type State = (u32, bool);

    fn start(&self) -> Option<(u32, bool)> {
        Some((self.0.start(), false))
    }

    fn step(&self, (state, _): &(u32, bool), byte: u8) -> Option<(u32, bool)> {
        let next = self.0.step(*state, byte);
        let alive = self.1.get(next as usize).copied().unwrap_or(false);
        alive.then_some((next, byte == 0))
    }
}

/// Where words end, each with a shortest string that leads there; `None` if there are too
/// many.
fn places(asked: &Dfa<bool>) -> Option<Vec<(u32, Vec<u8>)>> {
    let mut letters = Letters::new();
    letters.add(asked);
    let mut out = Vec::new();
    explore(&Words(asked, live(asked, |&l| l)), &letters.bytes(), BUDGET, |at| {
        if at.state.1 {
            out.push((at.state.0, at.string()));
        }
        out.len() > PLACES
    })
    .is_ok_and(|stopped| !stopped)
    .then_some(out)
}

/// The words that all vectors of an automaton begin with.
fn head(asked: &Dfa<bool>, alphabet: &Alphabet) -> Vec<Vec<u8>> {
    let alive = live(asked, |&l| l);
    let letters = alphabet.letters();
    let mut state = asked.start();
    let (mut head, mut whole, mut begins) = (Vec::new(), 0, true);
    while !asked.label(state) && head.len() < 4_096 {
        let next = (0..=u8::MAX).map(|b| (b, asked.step(state, b)));
        let mut next = next.filter(|(_, s)| alive.get(*s as usize) == Some(&true));
        let Some((byte, to)) = next.next() else { break };
        // A letter that says nothing of the word is as good as another.
        let alike = |(b, s): (u8, u32)| begins && s == to && letters.contains(b);
        if !next.all(alike) {
            break;
        }
        begins = byte == 0;
        head.push(byte);
        if begins {
            whole = head.len();
        }
        state = to;
    }
    head.truncate(whole);
    alphabet.words(&head)
}

/// The only places where a command begins, if the first words of all vectors say so: how a
/// wrapper reads its options depends on what stands before its command and the command's
/// name. `None` if that is open.
fn known_places(asked: &Dfa<bool>, alphabet: &Alphabet) -> Option<Vec<(u32, Vec<u8>)>> {
    let words = head(asked, alphabet);
    let mut out = Vec::new();
    let mut at = 0_usize;
    while words.get(at).is_some_and(|w| mero_runtime::is_runner(w)) {
        let own = words.get(at..)?.iter().map(Vec::as_slice).collect::<Vec<_>>();
        at = at.checked_add(mero_runtime::command_at(&own)?)?;
        let before = alphabet.string(words.get(..at)?);
        out.push((asked.advance(asked.start(), &before), before));
    }
    words.get(at).map(|_| out)
}

impl Prover<'_, '_> {
    /// Whether commands that run others are answered as the assertion says: `None` if so,
    /// else a request that is not, or why it cannot be told.
    pub(super) fn runners(
        &self,
        assert: &Assert,
        question: &Dfa<bool>,
    ) -> Result<Option<Verdict>, Unread> {
        let Ok(Vectors { alphabet, rules, .. }) = &self.vectors else { return Ok(None) };
        let Some(block) = rules.block else { return Ok(None) };
        let admitted = |p: &Phase| self.context.phases.contains(p);
        let phases = assert.phases.iter().copied().filter(admitted).collect::<Vec<_>>();
        let grants = assert.forbids(Effect::Allow) || assert.forbids(Effect::Ask);
        let denies = assert.forbids(Effect::Deny);
        let meant = |some: Dfa<bool>| -> Result<_, TooLarge> {
            intersect(question, &some, MAX_PRODUCT_STATES)
        };
        let transparent = meant(alphabet.transparent(block)?)?;
        let mut doubtful = Dfa::constant(alphabet.classes(), false);
        if denies {
            // Any runner may run what is denied, in more ways than as the vector's end.
            doubtful = union(&meant(alphabet.runners()?)?, &transparent, MAX_PRODUCT_STATES)?;
        } else if grants {
            doubtful = meant(alphabet.scripts()?)?;
        }
        let asked = if denies { doubtful.clone() } else { transparent };
        if phases.is_empty() || is_empty(&asked) {
            return Ok(None);
        }
        let all = places(&asked);
        let Some(places) = known_places(&asked, alphabet).or(all) else {
            return Ok(Some(Verdict::Unproved("too many places where a command may begin".into())));
        };
        let mut unconfirmed = false;
        for (state, before) in places {
            match self.inner(assert, &phases, &asked, state, &before)? {
                Some(Ok(answered)) => return Ok(Some(Verdict::Failed(answered))),
                Some(Err(())) => unconfirmed = true,
                None => {}
            }
        }
        if let Some(answered) = self.scripts(assert, &phases, &asked)? {
            return Ok(Some(Verdict::Failed(answered)));
        }
        if unconfirmed {
            doubtful = asked;
        }
        self.one_by_one(assert, &phases, doubtful)
    }

    /// A command with a forbidden answer that may begin behind `before`, put to the table
    /// with what stands before it. `Err` if there is one and the table says otherwise.
    fn inner(
        &self,
        assert: &Assert,
        phases: &[Phase],
        asked: &Dfa<bool>,
        state: u32,
        before: &[u8],
    ) -> Result<Option<Result<Answered, ()>>, Unread> {
        let Ok(Vectors { alphabet, rules, outcomes }) = &self.vectors else { return Ok(None) };
        let parts = (asked.transitions().to_vec(), asked.labels().to_vec());
        let Some(rest) = Dfa::from_parts(asked.classes(), parts.0, parts.1, state) else {
            return Ok(None);
        };
        let mut found = None;
        for &phase in phases {
            let class = Class::of(phase);
            let letters = alphabet.possible(class, outcomes.letters(class));
            let domain = alphabet.domain(letters, false)?;
            if !assert.forbids(Effect::Deny) && rules.only_denials() {
                // Denials only make less of what is forbidden.
                let forbidden = |_: &bool, t| {
                    let effect = decide(rules.block, t, phase).0;
                    effect > Effect::Deny && assert.forbids(effect)
                };
                let grants = [rules.grants()?];
                if commands::any(&rest, |&r| r, &domain, &grants, BUDGET, forbidden) == Ok(None) {
                    continue;
                }
            }
            let mut string = None;
            let sides = [rules];
            commands::visit(
                &rest,
                |&r| r,
                &domain,
                &sides,
                BUDGET,
                |_, tallies, at| {
                    let tally = tallies.first().copied().unwrap_or_default();
                    let effect = decide(rules.block, tally, phase).0;
                    let counts = effect > Effect::Deny || tally.deny > 0;
                    if counts && assert.forbids(effect) {
                        string = Some(at());
                    }
                    string.is_some()
                },
            )?;
            let Some(string) = string else { continue };
            found = Some(Err(()));
            for words in outcomes.realised(alphabet, &string) {
                for (between, behind) in AROUND {
                    let literal = |w: &&str| w.as_bytes().to_vec();
                    let mut argv = alphabet.words(before);
                    argv.extend(between.iter().map(literal));
                    argv.extend(words.iter().cloned());
                    argv.extend(behind.iter().map(literal));
                    if *asked.run(&alphabet.string(&argv))
                        && let Some(answered) = self.vector(assert, phase, argv)
                    {
                        return Ok(Some(Ok(answered)));
                    }
                }
            }
        }
        Ok(found)
    }

    /// A script of one command, with a forbidden answer, for what reads scripts.
    fn scripts(
        &self,
        assert: &Assert,
        phases: &[Phase],
        asked: &Dfa<bool>,
    ) -> Result<Option<Answered>, Unread> {
        let Ok(Vectors { alphabet, rules, .. }) = &self.vectors else { return Ok(None) };
        let mut samples: BTreeSet<String> = BTreeSet::new();
        let domain = alphabet.domain(alphabet.letters(), true)?;
        let any = Dfa::constant(alphabet.classes(), true);
        for &phase in phases {
            let mut effects = BTreeSet::new();
            commands::visit(
                &any,
                |&a| a,
                &domain,
                &[rules],
                BUDGET,
                |_, tallies, string| {
                    let tally = tallies.first().copied().unwrap_or_default();
                    if effects.insert(decide(rules.block, tally, phase)) {
                        samples.extend(quoted(&alphabet.words(&string())));
                    }
                    effects.len() > 8
                },
            )?;
        }
        let env = rules.block.iter().flat_map(|b| &b.env).map(|e| e.node.replace('*', "X"));
        let sets = env.chain(["CI".to_owned()]).map(|name| format!("{name}=1"));
        let sets = sets.collect::<Vec<_>>();
        for name in mero_runtime::transparent() {
            let whole = samples.iter().map(|s| vec![name, "-c", s.as_str()]);
            let trapped = samples.iter().map(|s| vec![name, s.as_str(), "EXIT"]);
            let joined = samples.iter().map(|s| vec![name, s.as_str()]);
            let set = sets.iter().map(|s| vec![name, s.as_str()]);
            for words in whole.chain(trapped).chain(joined).chain(set) {
                let argv = words.iter().map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>();
                if !asked.run(&alphabet.string(&argv)) {
                    continue;
                }
                let refuted = phases.iter().find_map(|&p| self.vector(assert, p, argv.clone()));
                if refuted.is_some() {
                    return Ok(refuted);
                }
            }
        }
        Ok(None)
    }

    /// Puts what is in doubt to the table, vector by vector; that is a proof only if there
    /// are few.
    fn one_by_one(
        &self,
        assert: &Assert,
        phases: &[Phase],
        doubtful: Dfa<bool>,
    ) -> Result<Option<Verdict>, Unread> {
        let Ok(Vectors { alphabet, .. }) = &self.vectors else { return Ok(None) };
        let domain = alphabet.domain(alphabet.letters(), false)?;
        let mut left = intersect(&doubtful, &domain, MAX_PRODUCT_STATES)?;
        for _ in 0..DOUBTS {
            let Some(string) = witness::shortest(&left, |&l| l) else { return Ok(None) };
            let argv = alphabet.words(&string);
            let refuted = phases.iter().find_map(|&p| self.vector(assert, p, argv.clone()));
            if let Some(answered) = refuted {
                return Ok(Some(Verdict::Failed(answered)));
            }
            match alphabet.except(&left, &argv)? {
                Some(less) => left = less,
                None => break,
            }
        }
        let example = witness::shortest(&left, |&l| l).map(|s| alphabet.words(&s).join(&b' '));
        Ok(example.map(|text| {
            Verdict::Unproved(format!(
                "`{}` and its like run other commands",
                String::from_utf8_lossy(&text)
            ))
        }))
    }
}
