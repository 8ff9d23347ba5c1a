//! The resolved policy: names looked up, profiles spliced in, fields settled.
//!
//! Takes the trees of all files of a compilation, gives a [`Policy`] in which
//! every context is complete by itself, and the findings on names and types.
//! Patterns stay text with their kind: the oracle reads them in its own naive
//! way, the automata in theirs.

mod context;
pub mod host;
pub mod resolve;
mod scope;

use crate::source::{SourceMap, Span, Spanned};
use crate::syntax::ast::{Pattern, Quantifier};
use mero_runtime::{Effect, Permission, Phase, Reason};
use serde::{Serialize, Serializer};
use std::collections::HashMap;

pub use host::{Anchor, Host};

/// A whole policy.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Policy {
    /// Host directories to be given when the table is bound.
    pub params: Vec<Param>,
    /// Who asks.
    pub contexts: Vec<Context>,
    /// Declared host tools.
    pub tools: Vec<Tool>,
    /// Who may approve for whom.
    pub managers: Vec<Manager>,
    /// Expectations on single requests.
    pub tests: Vec<Test>,
    /// Expectations on all requests of a pattern.
    pub asserts: Vec<Assert>,
    /// All files, for positions and texts.
    #[serde(skip)]
    pub sources: SourceMap,
}

/// `param NAME`.
#[derive(Clone, Debug, Serialize)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// The directory if none is given.
    pub default: Option<String>,
    /// Where it is declared.
    pub span: Span,
}

/// A set of permissions with the place that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The set.
    #[serde(serialize_with = "permission")]
    pub set: Permission,
    /// The statement.
    pub span: Span,
}

/// The three fields of a context, mount or `on` block.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Fields {
    /// What is granted.
    pub allow: Option<Setting>,
    /// What needs approval.
    pub ask: Option<Setting>,
    /// What is forbidden.
    pub deny: Option<Setting>,
}

impl Fields {
    /// The fields that are set, each with its keyword.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Setting)> {
        [("allow", self.allow), ("ask", self.ask), ("deny", self.deny)]
            .into_iter()
            .filter_map(|(name, field)| field.map(|f| (name, f)))
    }
}

/// One context, complete.
#[derive(Clone, Debug, Serialize)]
pub struct Context {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// Documentation lines.
    pub doc: Vec<String>,
    /// The context that it claims to be no more permissive than.
    pub narrows: Option<Spanned<usize>>,
    /// Phases it admits.
    #[serde(serialize_with = "phase_names")]
    pub phases: Vec<Phase>,
    /// Where `phases` stands, if it does.
    pub phases_span: Option<Span>,
    /// Where `unconfined` stands, if it does.
    pub unconfined: Option<Span>,
    /// Own fields: for path-free checks, and what top-level mounts inherit.
    pub fields: Fields,
    /// Hide patterns, relative to the governing top-level mount.
    pub hide: Vec<Spanned<String>>,
    /// All mounts; parents before children, in order of the text.
    pub mounts: Vec<Mount>,
    /// Command rules; absent: every command is denied.
    pub commands: Option<Commands>,
    /// Tool rules; absent: grants alone govern.
    pub tools: Option<Tools>,
    /// Grants held, first seen first.
    pub grants: Vec<Spanned<String>>,
}

impl Context {
    /// The mount named `root`.
    #[must_use]
    pub fn root(&self) -> Option<usize> {
        self.mounts.iter().position(|m| m.slug == "root")
    }

    /// Which island each mount is of, by the index of the mount at its root: mounts share
    /// the lists of their chain, and one that lies inside another that has lists, without
    /// being nested in it, begins an island of its own.
    #[must_use]
    pub fn islands(&self) -> Vec<usize> {
        let by_host: HashMap<&Host, usize> =
            self.mounts.iter().enumerate().map(|(i, m)| (&m.host, i)).collect();
        let mut roots: Vec<usize> = Vec::new();
        for (index, mount) in self.mounts.iter().enumerate() {
            let Some(parent) = mount.parent else {
                roots.push(index);
                continue;
            };
            let chain = self.chain(index);
            let lists = |m: &Mount| !m.hide.is_empty() || !m.on.is_empty();
            // The deepest mount around it, of whatever nesting, that is nested around it or
            // has lists.
            let mut above = mount.host.clone();
            let mut enclosing = None;
            while above.segments.pop().is_some() && enclosing.is_none() {
                enclosing = by_host
                    .get(&above)
                    .copied()
                    .filter(|e| chain.contains(e) || self.mounts.get(*e).is_some_and(lists));
            }
            let inherited = roots.get(parent).copied().unwrap_or(parent);
            let nested = enclosing.is_none_or(|e| chain.contains(&e));
            roots.push(if nested { inherited } else { index });
        }
        roots
    }

    /// The mount and its ancestors, from the outermost inward.
    #[must_use]
    pub fn chain(&self, mount: usize) -> Vec<usize> {
        let mut chain = Vec::new();
        let mut next = Some(mount);
        while let Some(index) = next {
            chain.push(index);
            next = self.mounts.get(index).and_then(|m| m.parent);
        }
        chain.reverse();
        chain
    }
}

/// One mount.
#[derive(Clone, Debug, Serialize)]
pub struct Mount {
    /// Its slug.
    pub slug: String,
    /// Where the slug stands.
    pub span: Span,
    /// The enclosing mount.
    pub parent: Option<usize>,
    /// Its host directory, from its anchor.
    pub host: Host,
    /// Where the host directory stands.
    pub host_span: Span,
    /// Fields as set here.
    pub fields: Fields,
    /// Hide patterns, relative to this directory.
    pub hide: Vec<Spanned<String>>,
    /// `on` blocks in order.
    pub on: Vec<OnBlock>,
}

/// `on "…" { … }`.
#[derive(Clone, Debug, Serialize)]
pub struct OnBlock {
    /// Patterns as in a hide list.
    pub patterns: Vec<Spanned<String>>,
    /// What holds there.
    pub fields: Fields,
    /// The whole block.
    pub span: Span,
}

/// `commands { … }`, all blocks of a context together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Commands {
    /// The rules in order.
    pub rules: Vec<CommandRule>,
    /// What holds where no rule applies.
    #[serde(serialize_with = "effect_option")]
    pub otherwise: Option<Spanned<Effect>>,
    /// What holds for what is not understood.
    #[serde(serialize_with = "effect_option")]
    pub opaque: Option<Spanned<Effect>>,
    /// Names that may be assigned before a command.
    pub env: Vec<Spanned<String>>,
    /// Programs that `allow` rules reach through; absent: the default list.
    pub wrappers: Option<Vec<Spanned<String>>>,
}

impl Commands {
    /// Whether anything here allows or asks, so that some command may run.
    #[must_use]
    pub fn may_run(&self) -> bool {
        let rest = [&self.otherwise, &self.opaque].into_iter().flatten().map(|e| e.node);
        self.rules.iter().map(|r| r.effect).chain(rest).any(|e| e != Effect::Deny)
    }
}

/// One command rule.
#[derive(Clone, Debug, Serialize)]
pub struct CommandRule {
    /// What it does.
    #[serde(serialize_with = "effect")]
    pub effect: Effect,
    /// Whether it holds in `plan`.
    pub readonly: bool,
    /// What it matches.
    pub pattern: Pattern,
    /// What it leaves out.
    pub except: Vec<Pattern>,
    /// The whole rule.
    pub span: Span,
}

/// `tools { … }`, all blocks of a context together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tools {
    /// The rules, one glob each.
    pub rules: Vec<ToolRule>,
    /// What holds where no rule matches.
    #[serde(serialize_with = "effect_option")]
    pub otherwise: Option<Spanned<Effect>>,
}

impl Tools {
    /// What holds where no rule matches: as written, else deny if any `allow`
    /// or `ask` rule stands, else allow.
    #[must_use]
    pub fn otherwise(&self) -> Effect {
        let grants = self.rules.iter().any(|r| r.effect != Effect::Deny);
        let default = if grants { Effect::Deny } else { Effect::Allow };
        self.otherwise.as_ref().map_or(default, |o| o.node)
    }
}

/// One glob of a tool rule.
#[derive(Clone, Debug, Serialize)]
pub struct ToolRule {
    /// What it does.
    #[serde(serialize_with = "effect")]
    pub effect: Effect,
    /// The glob.
    pub pattern: Spanned<String>,
}

/// `tool NAME { … }`.
#[derive(Clone, Debug, Serialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// Grants it requires.
    pub requires: Vec<Spanned<String>>,
    /// Permissions it declares to use.
    pub uses: Option<Setting>,
    /// Whether it only reads.
    pub readonly: bool,
    /// Its ability cost (1, 2, 4, 8, 16).
    pub ability: Option<u8>,
}

/// `manager NAME approves …`.
#[derive(Clone, Debug, Serialize)]
pub struct Manager {
    /// The context that approves.
    pub context: usize,
    /// For these.
    pub approves: Vec<usize>,
    /// Where it stands.
    pub span: Span,
}

/// What a test or assertion asks for.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Permissions on a path.
    Path(#[serde(serialize_with = "permission")] Permission),
    /// A command string.
    Run,
    /// An argument vector.
    Argv,
    /// A tool.
    Tool,
    /// Permissions with no path.
    Permission(#[serde(serialize_with = "permission")] Permission),
}

/// `test CONTEXT { … }`.
#[derive(Clone, Debug, Serialize)]
pub struct Test {
    /// The context.
    pub context: usize,
    /// The whole item.
    pub span: Span,
    /// One request each.
    pub cases: Vec<TestCase>,
}

/// One expectation.
#[derive(Clone, Debug, Serialize)]
pub struct TestCase {
    /// In this phase.
    #[serde(serialize_with = "phase_name")]
    pub phase: Phase,
    /// Expected.
    #[serde(serialize_with = "effect")]
    pub effect: Effect,
    /// Expected too, where given.
    #[serde(serialize_with = "reason_option")]
    pub because: Option<Reason>,
    /// What is asked.
    pub action: Action,
    /// The path, command or name; the words of an argument vector.
    pub args: Vec<String>,
    /// Where it stands: the statement, or one of its arguments if it has several.
    pub span: Span,
}

/// `assert CONTEXT never|always …`.
#[derive(Clone, Debug, Serialize)]
pub struct Assert {
    /// The context.
    pub context: usize,
    /// Never or always.
    pub quantifier: Quantifier,
    /// The effect; for `never` without one: not allow and not ask.
    #[serde(serialize_with = "plain_effect_option")]
    pub effect: Option<Effect>,
    /// What is asked.
    pub action: Action,
    /// Which requests.
    pub pattern: Option<Pattern>,
    /// Which not.
    pub except: Vec<Pattern>,
    /// In these phases.
    #[serde(serialize_with = "phase_names")]
    pub phases: Vec<Phase>,
    /// The whole item.
    pub span: Span,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn permission<S: Serializer>(set: &Permission, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(set)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn effect<S: Serializer>(effect: &Effect, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(effect.name())
}

#[allow(clippy::ref_option, reason = "serde's signature")]
fn effect_option<S: Serializer>(e: &Option<Spanned<Effect>>, s: S) -> Result<S::Ok, S::Error> {
    e.as_ref().map(|e| e.node.name()).serialize(s)
}

#[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn plain_effect_option<S: Serializer>(e: &Option<Effect>, s: S) -> Result<S::Ok, S::Error> {
    e.map(Effect::name).serialize(s)
}

#[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn reason_option<S: Serializer>(r: &Option<Reason>, s: S) -> Result<S::Ok, S::Error> {
    r.map(Reason::name).serialize(s)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn phase_name<S: Serializer>(phase: &Phase, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(phase.name())
}

fn phase_names<S: Serializer>(phases: &[Phase], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(phases.iter().map(|p| p.name()))
}
