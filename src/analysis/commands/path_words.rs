//! What path words get, and words that get it.
//!
//! A letter claims that a word would be granted, asked for, or refused; here is which
//! claims are true of some path, for one context or for two that are compared, with a
//! short path for each that can be written as a word (relative to `root`, or absolute).

use super::{Alphabet, Class};
use crate::analysis::BUDGET;
use crate::analysis::paths::{self, Model, Reader, Verdict, Virtual, Walker};
use crate::automata::{ByteSet, TooLarge};
use crate::hir::{Anchor, Context};
use mero_runtime::{Permission, Phase};
use std::collections::BTreeMap;

/// Where relative path words are.
pub const ROOT: &str = "/root/**";

/// Digits, one for each kind of path word, and a path that has them.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    known: BTreeMap<(Class, Vec<u8>), Option<Vec<u8>>>,
    /// All letters that words can have.
    real: BTreeMap<Class, ByteSet>,
}

impl Outcomes {
    /// The outcomes of an alphabet whose sides are these contexts. All letters are taken
    /// to be real where the search outgrows its budget.
    #[must_use]
    pub fn new(alphabet: &Alphabet, sides: &[&Context]) -> Outcomes {
        if alphabet.keys().is_empty() {
            return Outcomes::default();
        }
        let models = || {
            let own = paths::Alphabet::new(sides, [ROOT])?;
            let models =
                sides.iter().map(|c| Model::new(c, &own)).collect::<Result<Vec<_>, _>>()?;
            Ok((own, models))
        };
        let models: Result<_, TooLarge> = models();
        match &models {
            Ok((own, models)) => Outcomes::of(alphabet, own, &models.iter().collect::<Vec<_>>()),
            Err(_) => Outcomes::unknown(alphabet),
        }
    }

    /// As [`Outcomes::new`], where the models of the sides are known; `own` tells apart
    /// what [`ROOT`] does.
    #[must_use]
    pub fn of(alphabet: &Alphabet, own: &paths::Alphabet, models: &[&Model<'_>]) -> Outcomes {
        if alphabet.keys().is_empty() {
            return Outcomes::default();
        }
        let mut out = Outcomes::nothing(alphabet);
        let collected = out.collect(alphabet, own, models).is_ok();
        out.finish(alphabet, collected);
        out
    }

    /// All letters are taken to be real.
    #[must_use]
    pub fn unknown(alphabet: &Alphabet) -> Outcomes {
        if alphabet.keys().is_empty() {
            return Outcomes::default();
        }
        let mut out = Outcomes::nothing(alphabet);
        out.finish(alphabet, false);
        out
    }

    fn nothing(alphabet: &Alphabet) -> Outcomes {
        let mut out = Outcomes::default();
        // A path that is no path at all is always there.
        for class in [Class::Written, Class::Bypass] {
            out.known.insert((class, vec![0; alphabet.keys().len()]), None);
        }
        out
    }

    fn finish(&mut self, alphabet: &Alphabet, collected: bool) {
        for class in [Class::Written, Class::Bypass] {
            let letters =
                if collected { self.combined(alphabet, class) } else { alphabet.letters() };
            self.real.insert(class, letters);
        }
    }

    /// The letters that words can have in a class of phases.
    #[must_use]
    pub fn letters(&self, class: Class) -> ByteSet {
        self.real.get(&class).copied().unwrap_or_default()
    }

    fn note(&mut self, alphabet: &Alphabet, verdicts: &[Verdict], word: Option<Vec<u8>>) {
        for (class, phase) in
            [(Class::Written, Phase::Default), (Class::Bypass, Phase::BypassPermissions)]
        {
            let digit = |side: usize, permissions: Permission| {
                // One context may be all sides.
                let verdict = verdicts.get(side).or(verdicts.first());
                verdict.map_or(0, |v| v.decide(permissions, phase).0 as u8)
            };
            let digits =
                alphabet.keys().iter().map(|k| digit(k.side, k.permissions)).collect::<Vec<_>>();
            let slot = self.known.entry((class, digits)).or_default();
            if slot.is_none() {
                slot.clone_from(&word);
            }
        }
    }

    fn collect(
        &mut self,
        alphabet: &Alphabet,
        own: &paths::Alphabet,
        models: &[&Model<'_>],
    ) -> Result<(), TooLarge> {
        let walkers = models.iter().map(|m| Virtual::new(m, own)).collect::<Result<Vec<_>, _>>()?;
        // A relative word is below `root`; without mounts it is below nothing.
        let mounted = models.iter().all(|m| !m.context.mounts.is_empty());
        let below = own.question(ROOT)?;
        let walkers = walkers.iter().collect::<Vec<_>>();
        let prefix: &[u8] = if mounted { b"root/" } else { b"" };
        self.visit(alphabet, own, &walkers, mounted.then_some(&below), |string| {
            string.strip_prefix(prefix).map(<[u8]>::to_vec)
        })?;
        let mut anchors =
            models.iter().flat_map(|m| &m.spaces).map(|s| s.anchor).collect::<Vec<_>>();
        anchors.sort_unstable();
        anchors.dedup();
        for anchor in anchors.into_iter().filter(|_| mounted) {
            let readers = models.iter().map(|m| {
                let space = m.spaces.iter().position(|s| s.anchor == anchor)?;
                Some(Reader::new(m, space, None))
            });
            // Where one side has no mounts, everything is outside: told by its absence.
            let Some(readers) = readers.collect::<Option<Vec<_>>>() else {
                return Err(TooLarge::Classes);
            };
            let readers = readers.iter().collect::<Vec<_>>();
            self.visit(alphabet, own, &readers, None, |string| {
                (anchor == Anchor::Absolute).then(|| [b"/", string].concat())
            })?;
        }
        Ok(())
    }

    fn visit<W: Walker>(
        &mut self,
        alphabet: &Alphabet,
        own: &paths::Alphabet,
        walkers: &[&W],
        question: Option<&crate::automata::Dfa<bool>>,
        word: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<(), TooLarge> {
        paths::visit(walkers, question, own, BUDGET, |verdicts, string| {
            let string = string();
            if string.is_empty() || string.ends_with(b"/") {
                return false;
            }
            // Nobody knows what a word's path is: the stricter of file and directory.
            let stricter = walkers.iter().zip(verdicts).map(|(walker, file)| {
                let mut state = walker.start();
                for &byte in string.iter().chain(b"/") {
                    state = walker.step(&state, byte);
                }
                let directory = walker.verdict(&state);
                let hidden = file.hidden || directory.hidden;
                Verdict {
                    hidden,
                    allow: file.allow & directory.allow,
                    ask: file.ask | directory.ask,
                    deny: file.deny | directory.deny,
                    ..directory
                }
            });
            let stricter = stricter.collect::<Vec<_>>();
            self.note(alphabet, &stricter, word(&string));
            false
        })?;
        Ok(())
    }

    /// Kinds of path words that can be one argument share their digits; words of several
    /// groups are several words, so any combination.
    fn combined(&self, alphabet: &Alphabet, class: Class) -> ByteSet {
        let mut groups = alphabet.keys().iter().map(|k| &k.prefixes).collect::<Vec<_>>();
        groups.sort();
        groups.dedup();
        let mut all = vec![vec![0u8; alphabet.keys().len()]];
        for group in groups {
            let mine = |k: usize| alphabet.keys().get(k).is_some_and(|key| &key.prefixes == group);
            let mut next = Vec::new();
            for base in &all {
                let known = self.known.keys().filter(|(c, _)| *c == class);
                for (_, digits) in known {
                    let digit = |k: usize| if mine(k) { digits.get(k) } else { base.get(k) };
                    next.push((0..base.len()).map(|k| digit(k).copied().unwrap_or(0)).collect());
                }
            }
            next.sort();
            next.dedup();
            all = next;
        }
        all.iter().map(|d| alphabet.letter(d)).collect()
    }

    /// Vectors that a string of the alphabet may stand for, the likeliest first: as it
    /// is, and with words put in that are what their letters claim.
    #[must_use]
    pub fn realised(&self, alphabet: &Alphabet, string: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let words = alphabet.words(string);
        let letters = alphabet.letters_of(string);
        let put = |at: usize| {
            let (word, letter) = (words.get(at)?, *letters.get(at)?);
            self.standing_for(alphabet, word, letter)
        };
        let mut out = vec![words.clone()];
        let all = (0..words.len()).filter(|&i| i > 0).filter_map(|i| Some((i, put(i)?)));
        let all = all.collect::<Vec<_>>();
        let replaced = |which: &[(usize, Vec<u8>)]| {
            let mut argv = words.clone();
            for (at, word) in which {
                if let Some(slot) = argv.get_mut(*at) {
                    slot.clone_from(word);
                }
            }
            argv
        };
        out.push(replaced(&all));
        out.extend(all.iter().map(|one| replaced(std::slice::from_ref(one))));
        out.dedup();
        out
    }

    /// A word with a path in it that gets what a letter claims.
    fn standing_for(&self, alphabet: &Alphabet, word: &[u8], letter: u8) -> Option<Vec<u8>> {
        let keys = || alphabet.keys().iter().enumerate();
        let before = |prefix: &&Vec<u8>| word.starts_with(prefix) && word.len() > prefix.len();
        let prefix =
            keys().flat_map(|(_, k)| &k.prefixes).filter(before).max_by_key(|p| p.len())?;
        let claimed = |digits: &Vec<u8>| {
            keys()
                .filter(|(_, k)| k.prefixes.contains(prefix))
                .all(|(i, _)| digits.get(i) == Some(&alphabet.digit(letter, i)))
        };
        let path = self.known.iter().find(|((_, d), w)| w.is_some() && claimed(d))?.1.as_ref()?;
        Some([prefix.as_slice(), path.as_slice()].concat())
    }
}
