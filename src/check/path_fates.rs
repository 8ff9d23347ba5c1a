//! The fates of hide patterns, `on` blocks, mounts, and the fields of all of them.

mod hiding;

use super::fate::{Covered, Fate, Fates, SINGLES, Thing, common, cover, places, usual_phase};
use crate::analysis::BUDGET;
use crate::analysis::grounds::{Grounds, Places};
use crate::analysis::paths::{
    Alphabet, Cell, Entry, Kind, Mark, Model, Reader, Verdict, Walker, find, instead,
};
use crate::automata::absorb::shut_directories;
use crate::automata::{Dfa, TooLarge};
use crate::hir::{Context, Fields, Setting};
use crate::request::{Ask, Judge};
use crate::source::Span;
use mero_runtime::{Effect, Phase};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

struct Paths<'p> {
    context: &'p Context,
    alphabet: &'p Alphabet,
    model: &'p Model<'p>,
    /// What hide patterns hide [for good](Paths::lasting), as far as it was asked.
    lasting: RefCell<HashMap<At, Rc<Dfa<bool>>>>,
}

pub(super) fn collect(grounds: &Grounds<'_>, judge: &Judge<'_>, fates: &mut Fates) {
    let context = grounds.context;
    if let Err(error) = of_context(grounds, judge, fates) {
        let what = format!("what decides on the paths of `{}`: {error}", context.name);
        fates.unproved.push((context.span, what));
    }
}

fn of_context(grounds: &Grounds<'_>, judge: &Judge<'_>, fates: &mut Fates) -> Result<(), TooLarge> {
    let context = grounds.context;
    if context.mounts.is_empty() && context.unconfined.is_none() {
        // Every path is outside.
        for pattern in &context.hide {
            let negated = pattern.node.starts_with('!');
            let thing = if negated { Thing::Reinclude } else { Thing::Hide };
            fates.add(pattern.span, thing, Fate::Dead);
        }
        return Ok(());
    }
    let Places { alphabet, model } = grounds.places()?;
    let paths = Paths { context, alphabet, model, lasting: RefCell::default() };
    // A context's list applies in each of its islands: idle means idle in all.
    for (space, island, index, entry) in paths.model.entries() {
        let at = At { space, island, index };
        let (span, thing) = match entry.kind {
            Kind::Hide { negated: false } => (entry.span, Thing::Hide),
            Kind::Hide { negated: true } => (entry.span, Thing::Reinclude),
            Kind::On { .. } => (entry.span, Thing::Block),
            Kind::Mount(mount) => {
                if context.mounts.get(mount).is_some() {
                    let fate = paths.power(at, mount, entry).unwrap_or(Fate::Decides);
                    // What is to be said of a mount without use is that.
                    let idle = !matches!(fate, Fate::Decides);
                    fates.add(entry.span, Thing::Mount, fate);
                    if idle {
                        continue;
                    }
                }
                paths.fields(at, entry, fates);
                continue;
            }
        };
        // What decides in one island is of use, whatever it does in others.
        if matches!(entry.kind, Kind::Hide { .. }) && fates.decides(span, thing) {
            continue;
        }
        let fate = match entry.kind {
            Kind::Hide { negated } => paths.pattern(at, entry, negated),
            _ => paths.block(at, entry, judge),
        };
        let fate = fate.unwrap_or_else(|error| {
            fates.unproved.push((span, format!("whether this ever decides: {error}")));
            Fate::Decides
        });
        let idle = !matches!(fate, Fate::Decides);
        fates.add(span, thing, fate);
        if matches!(entry.kind, Kind::On { .. }) && !idle {
            paths.fields(at, entry, fates);
        }
    }
    paths.own_fields(fates);
    Ok(())
}

/// The place of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct At {
    space: usize,
    island: usize,
    index: usize,
}

/// Whether two verdicts are told apart by some request, by its effect or, unless
/// `effects_only`, its reason.
fn differ(context: &Context, a: &Verdict, b: &Verdict, effects_only: bool) -> bool {
    // Paths of commands are judged as in `default`, whatever phases are admitted.
    let commands = context.commands.as_ref().is_some_and(|c| c.may_run());
    let of_commands = commands.then_some(Phase::Default);
    a != b
        && context.phases.iter().copied().chain(of_commands).any(|phase| {
            SINGLES.iter().any(|&p| {
                let (now, then) = (a.decide(p, phase), b.decide(p, phase));
                now.0 != then.0 || (!effects_only && now.1 != then.1)
            })
        })
}

impl Paths<'_> {
    /// Compares the list with one in which an entry sets something else; gives whether
    /// some effect differs, and whether some reason does.
    fn compare(
        &self,
        at: At,
        question: &Dfa<bool>,
        instead: Option<&Dfa<Cell>>,
    ) -> Result<(bool, bool), TooLarge> {
        let whole = Reader::new(self.model, at.space, None);
        let changed = Reader::replacing(self.model, at.space, at.island, at.index, instead);
        // Most statements matter for what they match first of all.
        if let Some(string) = common(question, self.alphabet.proper())? {
            let (a, b) = (whole.at_end(&string), changed.at_end(&string));
            if differ(self.context, &a, &b, true) {
                return Ok((true, true));
            }
        }
        let mut reason = false;
        let effect =
            find(&[&whole, &changed], Some(question), self.alphabet, BUDGET, |v| match v {
                [a, b] => {
                    reason |= differ(self.context, a, b, false);
                    differ(self.context, a, b, true)
                }
                _ => false,
            })?;
        Ok((effect.is_some(), reason))
    }

    /// Whether an entry makes a difference at one string.
    fn at_string(&self, at: At, string: &[u8]) -> bool {
        let whole = Reader::new(self.model, at.space, None);
        let changed = Reader::replacing(self.model, at.space, at.island, at.index, None);
        differ(self.context, &whole.at_end(string), &changed.at_end(string), false)
    }

    /// Where an entry can matter: what it matches, and all below.
    fn reach(entry: &Entry) -> Dfa<bool> {
        shut_directories(&entry.applies, b'/', |&a| a)
    }

    /// Whether an entry matches a string or a directory above it.
    fn reaches(entry: &Entry, string: &[u8]) -> bool {
        let dfa = &entry.applies;
        let mut state = dfa.start();
        for &byte in string {
            state = dfa.step(state, byte);
            if byte == b'/' && *dfa.label(state) {
                return true;
            }
        }
        *dfa.label(state)
    }

    /// The entries among `of` that together match what an entry matches.
    fn covering(&self, at: At, entry: &Entry, of: impl Fn(usize, &Entry) -> bool) -> Covered<Span> {
        let others = self.entries(at).iter().enumerate().filter(|(i, e)| of(*i, e));
        let (picked, covered) = cover(
            &entry.applies,
            self.alphabet.proper(),
            &others.map(|(_, e)| e).collect::<Vec<_>>(),
            Self::reaches,
            Self::reach,
            |e| matches!(e.kind, Kind::Hide { .. }),
        );
        (places(picked.into_iter().map(|e| e.span)), covered)
    }

    fn entries(&self, at: At) -> &[Entry] {
        self.model.spaces.get(at.space).map_or(&[], |s| s.entries(at.island))
    }

    /// Another entry of the list that says the same of the same paths, with nothing else
    /// said between; and whether it comes later.
    fn alike(&self, at: At, entry: &Entry) -> Option<(Span, bool)> {
        let hides = |e: &Entry| matches!(e.kind, Kind::Hide { .. });
        let entries = self.model.spaces.get(at.space)?.entries(at.island).iter().enumerate();
        let same = |e: &Entry| {
            hides(e) == hides(entry)
                && !matches!(e.kind, Kind::Mount(_))
                && e.cell == entry.cell
                && e.span != entry.span
                && e.applies == entry.applies
        };
        let mut alike = entries.filter(|(_, e)| same(e));
        alike.next_back().map(|(i, e)| (e.span, i > at.index))
    }

    /// A directory as requests name it.
    fn shown(&self, at: At, directory: &[u8]) -> String {
        let whole = Reader::new(self.model, at.space, None);
        let mut mount = whole.start();
        for &byte in directory {
            mount = whole.step(&mount, byte);
        }
        let path = match whole.verdict(&mount).mount.filter(|&m| m < self.context.mounts.len()) {
            Some(mount) => self.model.virtual_path(directory, mount),
            None => directory.to_vec(),
        };
        format!("{}/", String::from_utf8_lossy(&path).trim_end_matches('/'))
    }

    fn block(&self, at: At, entry: &Entry, judge: &Judge<'_>) -> Result<Fate, TooLarge> {
        let (effect, reason) = self.compare(at, &entry.applies, None)?;
        if effect || reason {
            return Ok(Fate::Decides);
        }
        match self.alike(at, entry) {
            Some((_, true)) => return Ok(Fate::Decides),
            Some((of, false)) => return Ok(Fate::Duplicate { of }),
            None => {}
        }
        // Would anything else that it might say be heard?
        let opposite = |m: Mark| Mark { value: if m.rank == 0 { 0 } else { !m.value & 15 }, ..m };
        let cell = Cell {
            hide: entry.cell.hide,
            allow: opposite(entry.cell.allow),
            ask: opposite(entry.cell.ask),
            deny: opposite(entry.cell.deny),
        };
        let entries = self.entries(at);
        let instead = instead(entries, at.index, cell)?;
        let (effect, reason) = self.compare(at, &entry.applies, Some(&instead))?;
        if effect || reason {
            // Most often another block says the same of more.
            let values = |c: &Cell| [c.allow, c.ask, c.deny].map(|m| (m.rank > 0, m.value));
            let same = |i: usize, e: &Entry| {
                let block = matches!(e.kind, Kind::On { .. });
                i != at.index && block && values(&e.cell) == values(&entry.cell)
            };
            let (by, covered) = self.covering(at, entry, same);
            let whole = covered.is_ok() && !by.is_empty();
            return Ok(if whole { Fate::Redundant { by } } else { Fate::SaysNothing });
        }
        let (by, _) = self.covering(at, entry, |i, e| {
            let later = i > at.index && !matches!(e.kind, Kind::Hide { .. });
            later || e.kind == Kind::Hide { negated: false }
        });
        let witness = self.example(at, entry, judge);
        Ok(Fate::Unreachable { by, witness })
    }

    fn example(&self, at: At, entry: &Entry, judge: &Judge<'_>) -> Option<crate::diag::Witness> {
        let whole = Reader::new(self.model, at.space, None);
        let mut mount = None;
        let string = find(&[&whole], Some(&entry.applies), self.alphabet, BUDGET, |v| {
            mount = v.first().and_then(|v| v.mount);
            mount.is_some()
        });
        let (string, mount) = (string.ok()??, mount?);
        let path = self.model.virtual_path(&string, mount);
        let phase = usual_phase(&self.context.phases);
        let kind = kind(&string);
        let ask = Ask::Path { path, permissions: mero_runtime::Permission::READ, kind };
        judge.witness(&self.context.name, phase, &ask)
    }

    /// Whether anything is granted on a mount.
    fn power(&self, at: At, mount: usize, entry: &Entry) -> Result<Fate, TooLarge> {
        let whole = Reader::new(self.model, at.space, None);
        let granted = |v: &Verdict| {
            self.context.phases.iter().any(|&phase| {
                SINGLES.iter().any(|&p| {
                    let alone = Verdict { below: None, ..*v };
                    alone.decide(p, phase).0 > Effect::Deny
                })
            })
        };
        let mut visible = false;
        let found = find(&[&whole], Some(&entry.applies), self.alphabet, BUDGET, |v| {
            v.iter().any(|v| {
                visible |= v.mount == Some(mount) && !v.hidden;
                v.mount == Some(mount) && granted(v)
            })
        })?;
        if found.is_some() {
            return Ok(Fate::Decides);
        }
        if visible {
            return Ok(Fate::Powerless);
        }
        let directory = self.context.mounts.get(mount).map(|m| m.host.segments.join("/") + "/");
        let by = directory.and_then(|d| match self.hidden_above(at, (d + "x").as_bytes())? {
            Fate::Below { by, .. } => Some(by),
            _ => None,
        });
        Ok(Fate::Hidden { by })
    }

    /// Each field of a mount or block: what would be without it?
    fn fields(&self, at: At, entry: &Entry, fates: &mut Fates) {
        let Some(fields) = self.fields_of(entry) else { return };
        let mut outgrown = 0_usize;
        for (name, setting) in fields.iter() {
            let mut cell = entry.cell;
            match name {
                "allow" => {
                    // Without the statement a nested mount grants nothing.
                    let nested = matches!(entry.kind, Kind::Mount(m)
                        if self.context.mounts.get(m).is_some_and(|m| m.parent.is_some()));
                    if nested {
                        cell.allow.value = 0;
                    } else {
                        cell.allow.rank = 0;
                    }
                }
                "ask" => cell.ask.rank = 0,
                _ => cell.deny.rank = 0,
            }
            let entries = self.entries(at);
            let space = self.model.spaces.get(at.space);
            let idle = name != "allow"
                && !self.context.phases.contains(&Phase::BypassPermissions)
                && space.is_some_and(|s| !s.may_allow(at.island, &entry.applies, self.all(name)));
            let found = if idle {
                // Only the reason of a denial can change, and only by another denial.
                Ok((false, name == "deny"))
            } else {
                instead(entries, at.index, cell).and_then(|instead| {
                    if self.shows_others(at, name, &entry.applies, &instead)? {
                        return Ok((true, true));
                    }
                    self.compare(at, &entry.applies, Some(&instead))
                })
            };
            if found.is_err() {
                outgrown = outgrown.saturating_add(1);
            }
            let fate = match found {
                Ok((false, false)) => Fate::SaysNothing,
                Ok((false, true)) if name == "deny" => denies_nothing(setting),
                Ok(_) | Err(_) => Fate::Decides,
            };
            fates.add(setting.span, Thing::Field(name), fate);
        }
        if outgrown > 0 {
            let what = "whether fields repeat what holds without them";
            fates.unproved.push((entry.span, what.to_owned()));
        }
    }

    /// Whether without a field what an earlier statement sets would come through, at one
    /// of the first places where one does: most fields are there for that.
    fn shows_others(
        &self,
        at: At,
        name: &str,
        question: &Dfa<bool>,
        instead: &Dfa<Cell>,
    ) -> Result<bool, TooLarge> {
        const TRIED: usize = 12;
        let sets = |e: &&Entry| {
            let mark = match name {
                "allow" => e.cell.allow,
                "ask" => e.cell.ask,
                _ => e.cell.deny,
            };
            mark.rank > 0
        };
        let earlier = self.entries(at).iter().take(at.index).rev().filter(sets);
        let whole = Reader::new(self.model, at.space, None);
        let changed = Reader::replacing(self.model, at.space, at.island, at.index, Some(instead));
        for other in earlier.take(TRIED) {
            if let Some(string) = common(question, &other.applies)?
                && differ(self.context, &whole.at_end(&string), &changed.at_end(&string), true)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// All permissions that some field of a name sets: without one of them, another of
    /// them holds.
    fn all(&self, name: &str) -> mero_runtime::Permission {
        let mounts = self.context.mounts.iter();
        let own =
            mounts.flat_map(|m| std::iter::once(&m.fields).chain(m.on.iter().map(|b| &b.fields)));
        let all = own.chain([&self.context.fields]).flat_map(Fields::iter);
        all.filter(|(n, _)| *n == name).map(|(_, s)| s.set).collect()
    }

    fn fields_of(&self, entry: &Entry) -> Option<Fields> {
        match entry.kind {
            Kind::Mount(m) => self.context.mounts.get(m).map(|m| m.fields),
            Kind::On { mount, block } => {
                self.context.mounts.get(mount)?.on.get(block).map(|b| b.fields)
            }
            Kind::Hide { .. } => None,
        }
    }

    /// The context's own fields hold for path-free checks too.
    fn own_fields(&self, fates: &mut Fates) {
        let own = |fields: Fields| {
            let set = |s: Option<Setting>| s.map_or(mero_runtime::Permission::empty(), |s| s.set);
            Verdict {
                mount: Some(0),
                allow: set(fields.allow),
                ask: set(fields.ask),
                deny: set(fields.deny),
                ..Verdict::OUTSIDE
            }
        };
        for (name, setting) in self.context.fields.iter() {
            let mut fields = self.context.fields;
            match name {
                "allow" => fields.allow = None,
                "ask" => fields.ask = None,
                _ => fields.deny = None,
            }
            let (with, without) = (own(self.context.fields), own(fields));
            let free = (
                differ(self.context, &with, &without, true),
                differ(self.context, &with, &without, false),
            );
            let mut fate = match free {
                (true, _) => Fate::Decides,
                (false, true) if name == "deny" => denies_nothing(setting),
                (false, true) => Fate::Decides,
                (false, false) => Fate::SaysNothing,
            };
            let mut changed = self.context.clone();
            changed.fields = fields;
            if !matches!(fate, Fate::Decides) {
                match self.elsewhere(&changed) {
                    Ok((false, false)) => {}
                    Ok((false, true)) if name == "deny" => fate = denies_nothing(setting),
                    Ok(_) => fate = Fate::Decides,
                    Err(error) => {
                        let what = format!("whether this repeats what holds without it: {error}");
                        fates.unproved.push((setting.span, what));
                        fate = Fate::Decides;
                    }
                }
            }
            fates.add(setting.span, Thing::Field(name), fate);
        }
    }

    /// Compares all places with those of another context with the same mounts.
    fn elsewhere(&self, changed: &Context) -> Result<(bool, bool), TooLarge> {
        let other = Model::new(changed, self.alphabet)?;
        let (mut effects, mut reasons) = (false, false);
        for space in 0..self.model.spaces.len() {
            let a = Reader::new(self.model, space, None);
            let b = Reader::new(&other, space, None);
            find(&[&a, &b], None, self.alphabet, BUDGET, |v| {
                if let [a, b] = v {
                    effects |= differ(self.context, a, b, true);
                    reasons |= differ(self.context, a, b, false);
                }
                effects
            })?;
        }
        Ok((effects, reasons))
    }
}

/// A `deny` without which the answers are denials too; `none` denies nothing anyway.
fn denies_nothing(setting: Setting) -> Fate {
    if setting.set.is_empty() { Fate::SaysNothing } else { Fate::DeniesNothing { witness: None } }
}

/// What kind of thing a string of a space is.
pub(super) fn kind(string: &[u8]) -> mero_runtime::Kind {
    if string.is_empty() || string.ends_with(b"/") {
        mero_runtime::Kind::Directory
    } else {
        mero_runtime::Kind::File
    }
}
