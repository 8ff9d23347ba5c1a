//! Decisions on command strings.
//!
//! The string is taken apart ([`crate::shell`]); every simple command, every
//! redirection and every assignment in it is decided, what runners run among
//! them, and the least permissive answer is that of the string. What is not
//! understood is opaque; the parts around it are still searched for denials.
//!
//! A path in a command is the host's: an absolute one is read as such, a
//! relative one from the working directory, which `cd` may change. All
//! directories that the script may be in are tried; where one cannot be known,
//! relative paths are opaque.

mod cells;
mod text;
mod variables;

use self::cells::{Cells, Sum};
use self::text::{gap, is_plain_name, text_of, value};
use crate::command::{Found, NO_RULE};
use crate::decision::{Decision, Effect, Permission, Phase, Reason, phases};
use crate::eval::{Addressing, Session};
use crate::format::{NONE24, Section, context, hole, rule};
use crate::path::MAX_PATH;
use crate::runners::{Inner, inner};
use crate::sets::Walk;
use crate::shell::{Cause, Part, Redirect, Redirection, Script, Word, split};
use crate::table::{Context, Record};
use alloc::vec::Vec;
use core::ops::Range;

/// Deepest nesting of runners and scripts within one another.
const MAX_RUNNERS: u16 = 12;
/// Working directories that are told apart.
const MAX_DIRECTORIES: usize = 8;

/// A part of a command string, with its decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPart {
    /// Where it stands in the string.
    pub span: Range<usize>,
    /// What it is.
    pub kind: PartKind,
    /// What is decided of it.
    pub decision: Decision,
}

/// Is told each part: where it stands, what it is (worked out for who wants to know),
/// and what is decided.
type Each<'e> = dyn FnMut(&Range<usize>, &dyn Fn() -> PartKind, Decision) + 'e;

/// What a part of a command string is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A simple command: its words, `None` where one is not known.
    Command(Vec<Option<Vec<u8>>>),
    /// A redirection that opens a file.
    Redirection(Redirect),
    /// An assignment of this name.
    Assignment(Vec<u8>),
    /// A place that is not understood.
    Opaque(Cause),
}

/// What deciding a script carries along.
struct Run<'r> {
    session: &'r Session<'r>,
    /// Where the script may be; empty for the session's own.
    directories: Vec<Vec<u8>>,
    /// It may be somewhere that is not known.
    lost: bool,
    depth: u16,
    home: Option<&'r [u8]>,
}

fn allowed() -> Decision {
    Decision::new(Effect::Allow, Reason::Granted)
}

impl Context<'_> {
    /// Decides a command string as a shell would run it.
    pub fn command(&self, session: &Session<'_>, text: &str) -> Decision {
        self.command_with(session, text, &mut |_, _, _| {})
    }

    /// Decides a command string, and says of each part what was decided.
    pub fn command_parts(&self, session: &Session<'_>, text: &str) -> (Decision, Vec<CommandPart>) {
        let mut parts = Vec::new();
        let decision = self.command_with(session, text, &mut |span, kind, decision| {
            parts.push(CommandPart { span: span.clone(), kind: kind(), decision });
        });
        parts.sort_by_key(|p| (p.span.start, core::cmp::Reverse(p.span.end)));
        (decision, parts)
    }

    fn command_with(&self, session: &Session<'_>, text: &str, each: &mut Each<'_>) -> Decision {
        if !self.admits(session.phase) {
            return Decision::deny(Reason::Phase);
        }
        if text.contains('\0') || text.trim_matches([' ', '\t', '\n']).is_empty() {
            return Decision::deny(Reason::Invalid);
        }
        let home = session.home.filter(|h| h.starts_with(b"/"));
        let run = Run { session, directories: Vec::new(), lost: false, depth: 0, home };
        self.script(run, text.as_bytes(), each)
    }

    /// Decides an argument vector of a runner, and what it runs.
    pub(crate) fn runner(&self, session: &Session<'_>, argv: &[&[u8]]) -> Decision {
        let words = argv.iter().map(|w| Word::from_bytes(w, 0..0)).collect::<Vec<_>>();
        let home = session.home.filter(|h| h.starts_with(b"/"));
        let run = Run { session, directories: Vec::new(), lost: false, depth: 0, home };
        self.simple(&run, &words, None)
    }

    /// What stands for everything that is not understood.
    fn opaque_decision(&self, phase: Phase) -> Decision {
        let rule = self.record.rule(context::FIELD_RULES.saturating_add(12));
        let effect = Effect::from_byte(self.record.u8(context::OPAQUE)).unwrap_or(Effect::Deny);
        let (effect, reason) = match (phase, effect) {
            (Phase::Plan, Effect::Ask | Effect::Allow) => (Effect::Deny, Reason::Phase),
            (phase, effect) => phases::loose(phase, (effect, Reason::CommandOpaque)),
        };
        Decision { effect, reason, mount: None, rule }
    }

    fn script(&self, mut run: Run<'_>, source: &[u8], each: &mut Each<'_>) -> Decision {
        let phase = run.session.phase;
        let script = split(source);
        self.follow_directories(&mut run, &script);
        let mut worst = self.runs_nothing(phase);
        let mut add = |span: &Range<usize>, kind: &dyn Fn() -> PartKind, decision: Decision| {
            worst = worst.stricter(decision);
            each(span, kind, decision);
        };
        // Texts are searched in the whole string too.
        let whole = self.texts(&mut core::iter::once(source));
        if whole.effect == 0 {
            let denied = Decision { rule: whole.rule, ..Decision::deny(Reason::CommandDenied) };
            add(&(0..source.len()), &|| PartKind::Command(Vec::new()), denied);
        }
        for opaque in &script.opaque {
            let cause = || PartKind::Opaque(opaque.cause);
            add(&opaque.span, &cause, self.opaque_decision(phase));
        }
        for (name, span) in &script.variables {
            if !self.harmless(name) {
                let assigned = || PartKind::Assignment(name.clone());
                add(span, &assigned, self.opaque_decision(phase));
            }
        }
        let mut any = false;
        for command in &script.commands {
            any = true;
            for assignment in &command.assignments {
                let decision = self.assignment(phase, command, assignment);
                add(&assignment.span, &|| PartKind::Assignment(assignment.name.clone()), decision);
            }
            for redirection in &command.redirections {
                if redirection.kind != Redirect::Free {
                    let decision = self.redirection(&run, redirection);
                    add(&redirection.span, &|| PartKind::Redirection(redirection.kind), decision);
                }
            }
            if !command.words.is_empty() {
                let decision = self.simple(&run, &command.words, Some(source));
                let words = || {
                    let known = command.words.iter().map(|w| w.known().map(<[u8]>::to_vec));
                    PartKind::Command(known.collect())
                };
                add(&command.span, &words, decision);
            }
        }
        for redirection in &script.redirections {
            any = true;
            if redirection.kind != Redirect::Free {
                let decision = self.redirection(&run, redirection);
                add(&redirection.span, &|| PartKind::Redirection(redirection.kind), decision);
            }
        }
        if !any && script.opaque.is_empty() && whole.effect != 0 {
            // Nothing but a comment.
            return Decision::deny(Reason::Invalid);
        }
        worst
    }

    /// The answer to a script in which no command runs, only variables are set or
    /// files opened: what is decided of those, but nothing where no command may run.
    fn runs_nothing(&self, phase: Phase) -> Decision {
        if self.record.u8(context::FLAGS) & context::RUNS_COMMANDS != 0 {
            return allowed();
        }
        let written = (Effect::Deny, Reason::CommandNotAllowed);
        let (effect, reason) = phases::loose(phase, written);
        Decision::new(effect, reason)
    }

    /// Decides one simple command, and what it runs.
    fn simple(&self, run: &Run<'_>, words: &[Word], source: Option<&[u8]>) -> Decision {
        let phase = run.session.phase;
        let own = self.found(run, words, source);
        if own.effect == 0 {
            return self.conclude(phase, &own);
        }
        if run.depth > MAX_RUNNERS {
            return self.opaque_decision(phase);
        }
        let Some(name) = words.first().filter(|w| !w.may_vanish).and_then(Word::known) else {
            return self.opaque_decision(phase);
        };
        if name.is_empty() {
            return Decision::deny(Reason::Invalid);
        }
        if !is_plain_name(name) {
            return self.opaque_decision(phase);
        }
        if let Some(decision) = self.builtin(phase, name, words, &own) {
            return decision;
        }
        let mut reached: Option<Decision> = None;
        let mut opaque = false;
        for inner in inner(words) {
            let (decision, transparent) = match inner {
                Inner::Command { words: inner_words, assignments } => {
                    opaque |= !assignments.iter().all(|n| self.env_lists(n));
                    if inner_words.is_empty() {
                        continue;
                    }
                    let deeper = run.deeper();
                    let base = name.rsplit(|&b| b == b'/').next().unwrap_or(name);
                    let transparent = base == name && self.wrappers().any(|w| w == name);
                    (self.simple(&deeper, &inner_words, None), transparent)
                }
                Inner::Script { text, local } => (
                    self.script(run.deeper(), &text, &mut |_, _, _| {}),
                    local && !name.contains(&b'/'),
                ),
                Inner::Unclear { guess } => {
                    opaque = true;
                    if guess.is_empty() {
                        continue;
                    }
                    (self.simple(&run.deeper(), &guess, None), false)
                }
            };
            if decision.reason == Reason::CommandDenied {
                return decision;
            }
            opaque |= decision.reason == Reason::CommandOpaque;
            if transparent {
                reached = Some(reached.map_or(decision, |r| r.stricter(decision)));
            }
        }
        let lost = own.path.is_some_and(|p| p.reason == Reason::CommandOpaque);
        if opaque || (lost && own.effect == NO_RULE) {
            return self.opaque_decision(phase);
        }
        match reached {
            // A rule that names the runner is a rule on the runner.
            Some(reached) if own.effect == NO_RULE && own.path.is_none() => reached,
            _ => self.conclude(phase, &own),
        }
    }

    /// What the rules say of words that may not all be known: the least
    /// permissive over all their values.
    fn found(&self, run: &Run<'_>, words: &[Word], source: Option<&[u8]>) -> Found {
        let known = words.iter().map(Word::known).collect::<Option<Vec<_>>>();
        let judge =
            |path: &[u8], permissions| self.path_anywhere(run, path, permissions, Self::path_word);
        if let Some(argv) = known {
            let text = source.map(|s| text_of(words, &argv, s));
            return self.rules(&argv, text.as_deref(), &judge);
        }
        let mut sum = Sum::default();
        for a in self.record.list(context::TEXTS) {
            sum.add(&self.text_cells(run, a, words, source));
        }
        for a in self.record.list(context::WORDS) {
            sum.add(&self.word_cells(run, a, words));
        }
        let mut path = None;
        for index in self.record.list(context::RULES) {
            let record = self.table.record(Section::Rules, index);
            self.composite(run, record, words, source, &mut sum, &mut path);
        }
        sum.found(self.record.u8(context::OTHERWISE), path)
    }

    fn word_cells(&self, run: &Run<'_>, automaton: u32, words: &[Word]) -> Cells {
        let automaton = self.table.automaton(automaton);
        let mut walk = Walk::new(automaton);
        for word in words {
            walk.argument(word, run.home);
        }
        Cells::of(walk.states().map(|s| automaton.cell(s)))
    }

    fn text_cells(
        &self,
        run: &Run<'_>,
        automaton: u32,
        words: &[Word],
        source: Option<&[u8]>,
    ) -> Cells {
        let automaton = self.table.automaton(automaton);
        let mut walk = Walk::new(automaton);
        let mut last: Option<&Word> = None;
        for word in words {
            if let Some(last) = last {
                walk.blanks(gap(last, word, source));
            }
            last = Some(word);
            walk.parts(word, run.home, false);
        }
        Cells::of(walk.states().map(|s| automaton.cell(s)))
    }

    /// A rule with path words or exceptions of another kind.
    fn composite(
        &self,
        run: &Run<'_>,
        record: Record<'_>,
        words: &[Word],
        source: Option<&[u8]>,
        sum: &mut Sum,
        path: &mut Option<Decision>,
    ) {
        let cells = |at: usize, over_words: bool| match record.u24(at) {
            NONE24 => Cells::never(),
            a if over_words => self.word_cells(run, a, words),
            a => self.text_cells(run, a, words, source),
        };
        let matched = cells(rule::AUTOMATON, record.u8(rule::KIND) == 0);
        let excepted = [cells(rule::EXCEPT_WORDS, true), cells(rule::EXCEPT_TEXTS, false)];
        if matched.never_matches() || excepted.iter().any(Cells::always_matches) {
            return;
        }
        let effect = record.u8(rule::EFFECT);
        let mut certain = matched.always_matches() && excepted.iter().all(Cells::never_matches);
        let mut reached = effect;
        for index in record.list(rule::HOLES) {
            let hole = self.table.record(Section::Holes, index);
            match self.hole(run, hole, words) {
                None => certain = false,
                Some(answer) => match answer.effect {
                    Effect::Deny => {
                        *path = Some(path.map_or(answer, |p| p.stricter(answer)));
                        return;
                    }
                    Effect::Ask => reached = reached.min(1),
                    Effect::Allow => {}
                },
            }
        }
        sum.add(&Cells {
            least: reached,
            none: !certain,
            all_readonly: certain && record.u8(rule::READONLY) != 0,
            rule: record.rule(rule::RULE),
            asks: reached == 1,
        });
    }

    /// The answer on the paths of a hole; `None` where they are not all known.
    fn hole(&self, run: &Run<'_>, hole: Record<'_>, words: &[Word]) -> Option<Decision> {
        let permissions = Permission::from_bits_truncate(hole.u8(hole::PERMISSIONS));
        let first = usize::from(hole.u16(hole::WORD));
        let many = hole.u8(hole::MANY) == 1;
        let splits =
            |w: &Word| w.parts.iter().any(|p| matches!(p, Part::Unknown { quoted: false }));
        // An argument before it that may be several moves it.
        if words.iter().take(first).any(splits) {
            return None;
        }
        let count = if many { usize::MAX } else { 1 };
        let mut worst = allowed();
        for word in words.iter().skip(first).take(count) {
            let argument = value(word, run.home)?;
            for prefix in self.table.strings(hole, hole::PREFIXES) {
                let path = argument.strip_prefix(prefix);
                if let Some(path) = path.filter(|p| !p.is_empty() && p.first() != Some(&b'-')) {
                    worst =
                        worst.stricter(self.path_anywhere(run, path, permissions, Self::path_word));
                }
            }
        }
        Some(worst)
    }

    fn redirection(&self, run: &Run<'_>, redirection: &Redirection) -> Decision {
        let phase = run.session.phase;
        let permissions = match redirection.kind {
            Redirect::Read => Permission::READ,
            Redirect::Write => Permission::WRITE,
            Redirect::ReadWrite => Permission::READ.union(Permission::WRITE),
            Redirect::Free => return allowed(),
        };
        let Some(target) = value(&redirection.target, run.home) else {
            return self.opaque_decision(phase);
        };
        if target.starts_with(b"/dev/tcp/") || target.starts_with(b"/dev/udp/") {
            return self.opaque_decision(phase);
        }
        let device: [&[u8]; 4] = [b"/dev/null", b"/dev/stdin", b"/dev/stdout", b"/dev/stderr"];
        let descriptor =
            target.strip_prefix(b"/dev/fd/").is_some_and(|n| n.iter().all(u8::is_ascii_digit));
        if device.contains(&target.as_slice()) || descriptor {
            return allowed();
        }
        let decision = self.path_anywhere(run, &target, permissions, Self::command_path);
        if decision.reason == Reason::CommandOpaque {
            self.opaque_decision(phase)
        } else {
            decision
        }
    }

    /// A path of a command, from every directory that it may run in.
    fn path_anywhere(
        &self,
        run: &Run<'_>,
        path: &[u8],
        permissions: Permission,
        judge: impl Fn(&Self, &Session<'_>, &[u8], Permission) -> Decision,
    ) -> Decision {
        let relative = !path.starts_with(b"/");
        if relative && run.lost {
            return Decision::deny(Reason::CommandOpaque);
        }
        let mut decision = judge(self, run.session, path, permissions);
        if relative {
            for directory in &run.directories {
                let session = Session { working_directory: Some(directory), ..*run.session };
                decision = decision.stricter(judge(self, &session, path, permissions));
            }
        }
        decision
    }

    /// Works out where the commands of a script may be run: every `cd` adds the
    /// directories it may lead to. A relative `cd` that may run again, or a
    /// target that is not known, leads anywhere.
    fn follow_directories(&self, run: &mut Run<'_>, script: &Script) {
        for command in &script.commands {
            let mut words = &command.words[..];
            while let Some((Some(b"command" | b"builtin"), rest)) =
                words.split_first().map(|(w, r)| (w.known(), r))
            {
                words = rest;
            }
            let Some((Some(name), rest)) = words.split_first().map(|(w, r)| (w.known(), r)) else {
                continue;
            };
            match name {
                b"cd" => {}
                b"pushd" | b"popd" | b"source" | b"." => {
                    run.lost = true;
                    continue;
                }
                b"eval" | b"trap" => {
                    let mentions = |k: &[u8]| {
                        [&b"cd"[..], b"pushd", b"popd", b"source", b". "]
                            .iter()
                            .any(|n| k.windows(n.len()).any(|w| w == *n))
                    };
                    run.lost |= rest.iter().any(|w| w.known().is_none_or(mentions));
                    continue;
                }
                _ => continue,
            }
            let flag = |w: &&Word| matches!(w.known(), Some(b"-L" | b"-P" | b"-e" | b"--"));
            let target = rest.iter().find(|w| !flag(w));
            let target = match target {
                None => run.home.map(<[u8]>::to_vec),
                Some(word) => value(word, run.home).filter(|t| t != b"-"),
            };
            let Some(target) = target.filter(|t| t.starts_with(b"/") || !command.repeats) else {
                run.lost = true;
                continue;
            };
            let mut found = Vec::new();
            let from = core::iter::once(run.session.working_directory)
                .chain(run.directories.iter().map(|d| Some(d.as_slice())));
            for directory in from {
                let session = Session { working_directory: directory, ..*run.session };
                let mut buffer = [0u8; MAX_PATH];
                let place = self.locate(&session, &target, Addressing::Host);
                let copied =
                    place.ok().and_then(|l| l.place.copy_to(&mut buffer).map(<[u8]>::to_vec));
                match copied.filter(|p| p.starts_with(b"/")) {
                    Some(path) => found.push(path),
                    None => run.lost = true,
                }
            }
            run.directories.extend(found);
            run.directories.sort();
            run.directories.dedup();
            run.lost |= run.directories.len() > MAX_DIRECTORIES;
        }
    }
}

impl<'r> Run<'r> {
    fn deeper(&self) -> Run<'r> {
        Run {
            session: self.session,
            directories: self.directories.clone(),
            lost: self.lost,
            depth: self.depth.saturating_add(1),
            home: self.home,
        }
    }
}
