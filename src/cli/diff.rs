//! `meroc diff`: what two versions of a policy decide differently.

mod report;

use super::{FOUND, Failure, Outcome, Terminal};
use crate::compare::{Answer, Change, Compare, Side};
use crate::driver::{self, Analysis, Host};
use crate::hir::{Anchor, Context, Host as Directory, Param, Policy, Tools};
use crate::request::Judge;
use crate::source::{Span, Spanned};
use crate::table::{self, Options};
use clap::ValueEnum;
use mero_runtime::{Effect, Phase};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct Diff {
    /// The version before: a file, a directory, `-`, `REV:path`, or a table with debug sections
    old: String,
    /// The version after
    new: String,
    /// Exit with 1 if some request is decided more permissively, or at all otherwise
    #[arg(long, value_enum, value_name = "WHAT")]
    fail_on: Option<Gate>,
    /// Also show requests that get the same effect for another reason
    #[arg(long)]
    reasons: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Gate {
    /// A request gets more than before
    Widen,
    /// Any difference
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal
    Human,
    /// For programs
    Json,
    /// For a comment on a pull request
    Markdown,
}

/// Which way a class of requests moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    Widens,
    Narrows,
    Reason,
}

impl Direction {
    fn of(before: Answer, after: Answer) -> Direction {
        match after.0.cmp(&before.0) {
            std::cmp::Ordering::Greater => Direction::Widens,
            std::cmp::Ordering::Less => Direction::Narrows,
            std::cmp::Ordering::Equal => Direction::Reason,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Direction::Widens => "widens",
            Direction::Narrows => "narrows",
            Direction::Reason => "reason",
        }
    }
}

/// A rule that took part, on one side.
struct At {
    side: &'static str,
    file: String,
    line: u32,
    text: String,
}

/// One class of changed requests.
struct Class {
    /// As it is called after, or before if it is gone.
    context: String,
    change: Change,
    direction: Direction,
    rules: Vec<At>,
}

/// A mount that is another directory now, or is called otherwise.
struct Moved {
    context: String,
    mount: String,
    before: String,
    after: String,
    /// Whether the new directory lies in the old one.
    inside: bool,
}

/// All that differs.
#[derive(Default)]
struct Difference {
    classes: Vec<Class>,
    moved: Vec<Moved>,
    renamed: Vec<(String, String)>,
    added: Vec<String>,
    removed: Vec<String>,
    unproved: Vec<String>,
}

impl Difference {
    fn widens(&self) -> bool {
        self.classes.iter().any(|c| c.direction == Direction::Widens)
            || self.moved.iter().any(|m| !m.inside)
    }

    fn equivalent(&self) -> bool {
        self.classes.is_empty()
            && self.moved.is_empty()
            && self.renamed.is_empty()
            && self.added.is_empty()
            && self.removed.is_empty()
            && self.unproved.is_empty()
    }
}

impl Diff {
    pub(super) fn run(self, host: &dyn Host, terminal: Terminal) -> Outcome {
        if self.old == "-" && self.new == "-" {
            return Err(Failure::usage(
                "standard input cannot be both versions",
                "name a file, a directory, or `REV:path` for one of them",
            ));
        }
        let (mut old, mut new) =
            (load(host, &self.old, terminal)?, load(host, &self.new, terminal)?);
        align(&mut old.policy, &mut new.policy);
        let (old, new) = (compiled(old, terminal)?, compiled(new, terminal)?);
        let shown = super::progress::Progress::new("comparing");
        let difference = self.compare(&old, &new)?;
        drop(shown);
        let text = match self.format {
            Format::Human => report::human(&difference, terminal.color),
            Format::Json => report::json(&difference),
            Format::Markdown => report::markdown(&difference, &self.old, &self.new),
        };
        std::io::stdout().write_all(text.as_bytes())?;
        // What is not proved does not pass a gate.
        let unproved = !difference.unproved.is_empty();
        let refused = match self.fail_on {
            None => false,
            Some(Gate::Widen) => difference.widens() || unproved,
            Some(Gate::Any) => !difference.equivalent(),
        };
        Ok(if refused { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
    }

    fn compare(&self, old: &Version, new: &Version) -> Result<Difference, Failure> {
        let (before, after) = (old.judge()?, new.judge()?);
        let before = Compared { policy: &old.analysis.policy, judge: &before };
        let after = Compared { policy: &new.analysis.policy, judge: &after };
        Ok(self.contexts(&before, &after))
    }

    fn contexts<'p>(&self, old: &Compared<'p>, new: &Compared<'p>) -> Difference {
        let mut out = Difference::default();
        let name = |c: &Context| c.name.clone();
        let names = |p: &Policy| p.contexts.iter().map(name).collect::<BTreeSet<_>>();
        let (before, after) = (names(old.policy), names(new.policy));
        for context in &new.policy.contexts {
            if let Some(was) = old.find(&context.name) {
                self.pair(old, was, new, context, &mut out);
            }
        }
        // A context that is gone and a new one that decides the same: renamed.
        let mut gone =
            old.policy.contexts.iter().filter(|c| !after.contains(&c.name)).collect::<Vec<_>>();
        for context in new.policy.contexts.iter().filter(|c| !before.contains(&c.name)) {
            let twin = gone.iter().position(|was| {
                let mut none = Difference::default();
                self.pair(old, was, new, context, &mut none);
                none.equivalent()
            });
            match twin {
                Some(at) => out.renamed.push((gone.remove(at).name.clone(), name(context))),
                None => {
                    let nobody = nobody(context);
                    self.pair(old, &nobody, new, context, &mut out);
                    out.added.push(name(context));
                }
            }
        }
        for was in gone {
            let nobody = nobody(was);
            self.pair(old, was, new, &nobody, &mut out);
            out.removed.push(name(was));
        }
        out.classes.sort_by(|a, b| {
            let key = |c: &Class| (c.direction, c.context.clone());
            key(a).cmp(&key(b))
        });
        out
    }

    fn pair(
        &self,
        old: &Compared<'_>,
        was: &Context,
        new: &Compared<'_>,
        is: &Context,
        out: &mut Difference,
    ) {
        let effects: fn(Answer, Answer) -> bool = |a, b| a.0 != b.0;
        let reasons: fn(Answer, Answer) -> bool = |a, b| a != b;
        let comparison = Compare {
            old: Side { policy: old.policy, context: was, judge: old.judge },
            new: Side { policy: new.policy, context: is, judge: new.judge },
            interest: if self.reasons { reasons } else { effects },
            samples: 16,
        }
        .run();
        let mut seen = BTreeSet::new();
        for change in comparison.changes {
            let sides = [("before", old, was), ("after", new, is)];
            let rules = sides.iter().filter_map(|(side, version, context)| {
                let (policy, phase) = (version.policy, change.phase);
                at(side, policy, version.judge.rule(policy, context, phase, &change.ask)?)
            });
            let rules = rules.collect::<Vec<_>>();
            let key = (
                change.phase,
                change.before,
                change.after,
                std::mem::discriminant(&change.ask),
                permissions(&change),
                rules.iter().map(|r| (r.side, r.file.clone(), r.line)).collect::<Vec<_>>(),
            );
            // One request for each kind and the rules behind it.
            if seen.iter().any(|k| *k == format!("{key:?}")) {
                continue;
            }
            seen.insert(format!("{key:?}"));
            let direction = Direction::of(change.before, change.after);
            out.classes.push(Class { context: is.name.clone(), change, direction, rules });
        }
        out.unproved.extend(comparison.unproved.iter().map(|u| format!("`{}`: {u}", is.name)));
        moved(old.policy, was, new.policy, is, out);
    }
}

fn permissions(change: &Change) -> Option<mero_runtime::Permission> {
    match &change.ask {
        crate::request::Ask::Path { permissions, .. } => Some(*permissions),
        _ => None,
    }
}

/// A version with its table.
struct Version {
    analysis: Analysis,
    bytes: Vec<u8>,
}

impl Version {
    fn judge(&self) -> Result<Judge<'_>, Failure> {
        Judge::new(&self.bytes, &self.analysis.policy).map_err(|e| Failure::Internal {
            message: format!("the table just compiled cannot be read: {e}"),
        })
    }
}

struct Compared<'p> {
    policy: &'p Policy,
    judge: &'p Judge<'p>,
}

impl<'p> Compared<'p> {
    fn find(&self, name: &str) -> Option<&'p Context> {
        self.policy.contexts.iter().find(|c| c.name == name)
    }
}

fn load(host: &dyn Host, name: &str, terminal: Terminal) -> Result<Analysis, Failure> {
    let analysis = match super::engine::table_bytes(host, name)? {
        Some(bytes) => driver::read_table(name, &bytes)?,
        None => driver::read(host, name)?,
    };
    if analysis.is_broken() {
        super::engine::show(&analysis.diagnostics, &analysis, terminal);
        return Err(Failure::Broken);
    }
    Ok(analysis)
}

fn compiled(analysis: Analysis, terminal: Terminal) -> Result<Version, Failure> {
    let compiled = table::compile(&analysis.policy, Options::default()).map_err(|d| {
        super::engine::show(&[*d], &analysis, terminal);
        Failure::Broken
    })?;
    Ok(Version { analysis, bytes: compiled.bytes })
}

/// Who has no rights at all, in the phases of another: a context that does not exist.
fn nobody(like: &Context) -> Context {
    let deny = Spanned { node: Effect::Deny, span: like.span };
    Context {
        name: like.name.clone(),
        span: like.span,
        doc: Vec::new(),
        narrows: None,
        phases: like.phases.clone(),
        phases_span: None,
        unconfined: None,
        fields: crate::hir::Fields::default(),
        hide: Vec::new(),
        mounts: Vec::new(),
        commands: None,
        tools: Some(Tools { rules: Vec::new(), otherwise: Some(deny) }),
        grants: Vec::new(),
    }
}

fn at(side: &'static str, policy: &Policy, span: Span) -> Option<At> {
    let file = policy.sources.get(span.file)?;
    let text = policy.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
    Some(At { side, file: file.name.clone(), line: policy.sources.position(span).line, text })
}

/// Where a virtual path of one segment leads: a mount's directory, or a name in `root`.
fn leads(context: &Context, slug: &str) -> Option<Directory> {
    if let Some(mount) = context.mounts.iter().find(|m| m.slug == slug) {
        return Some(mount.host.clone());
    }
    let mut inside = context.mounts.get(context.root()?)?.host.clone();
    inside.segments.push(slug.to_owned());
    Some(inside)
}

/// A directory as a policy writes it, with what a parameter stands for if nobody says.
fn written(policy: &Policy, directory: &Directory) -> String {
    let mut note = String::new();
    let start = match directory.anchor {
        Anchor::Absolute => String::new(),
        Anchor::Base => ".".to_owned(),
        Anchor::Home => "~".to_owned(),
        Anchor::Param(index) => {
            let param = policy.params.get(index);
            if let Some(default) = param.and_then(|p| p.default.as_deref()) {
                note = format!(" ({default} by default)");
            }
            format!("${}", param.map_or("", |p| p.name.as_str()))
        }
    };
    let path = directory.segments.iter().fold(start, |path, s| path + "/" + s);
    (if path.is_empty() { "/".to_owned() } else { path }) + &note
}

/// The same virtual paths may be other files now: decisions do not show it.
fn moved(old: &Policy, was: &Context, new: &Policy, is: &Context, out: &mut Difference) {
    let slugs = was.mounts.iter().chain(&is.mounts).map(|m| m.slug.as_str());
    for slug in slugs.collect::<BTreeSet<_>>() {
        let (Some(before), Some(after)) = (leads(was, slug), leads(is, slug)) else { continue };
        let (from, to) = (written(old, &before), written(new, &after));
        if from != to {
            // Of parameters nobody knows which lies in which.
            let inside = before.covers(&after) && !matches!(before.anchor, Anchor::Param(_));
            out.moved.push(Moved {
                context: is.name.clone(),
                mount: slug.to_owned(),
                before: from,
                after: to,
                inside,
            });
        }
    }
}

/// Gives the parameters of two versions the same numbers, by their names.
fn align(old: &mut Policy, new: &mut Policy) {
    let mut all = old.params.clone();
    for param in &new.params {
        if !all.iter().any(|p| p.name == param.name) {
            all.push(param.clone());
        }
    }
    let number = |name: &str| all.iter().position(|p| p.name == name);
    for policy in [old, new] {
        let names = policy.params.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
        for mount in policy.contexts.iter_mut().flat_map(|c| &mut c.mounts) {
            if let Anchor::Param(index) = &mut mount.host.anchor
                && let Some(to) = names.get(*index).and_then(|n| number(n))
            {
                *index = to;
            }
        }
        let own = |p: &Param| {
            let mine = policy.params.iter().find(|q| q.name == p.name);
            mine.cloned().unwrap_or_else(|| Param { default: None, ..p.clone() })
        };
        policy.params = all.iter().map(own).collect();
    }
}

/// Phases in which one class of requests moves alike.
fn in_phases(classes: &[Class]) -> Vec<(&Class, Vec<Phase>)> {
    let mut out: Vec<(&Class, Vec<Phase>)> = Vec::new();
    for class in classes {
        let same = |c: &Class| {
            (&c.context, &c.change.ask, c.change.before, c.change.after)
                == (&class.context, &class.change.ask, class.change.before, class.change.after)
        };
        match out.iter_mut().find(|(c, _)| same(c)) {
            Some((_, phases)) => phases.push(class.change.phase),
            None => out.push((class, vec![class.change.phase])),
        }
    }
    out
}
