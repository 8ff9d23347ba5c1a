//! One context: profiles spliced in, fields settled, mounts laid out.

use super::resolve::{effect, grant_key, phase};
use super::scope::{Kind, Scope};
use super::{
    CommandRule, Commands, Context, Fields, Host, Mount, OnBlock, Setting, ToolRule, Tools, host,
};
use crate::diag::registry as codes;
use crate::diag::{Diagnostic, did_you_mean};
use crate::limits::{MAX_PROFILE_DEPTH, MAX_SPLICED_BYTES};
use crate::source::{Span, Spanned};
use crate::syntax::ast::{
    self, CommandStatementKind, Item, ItemKind, Name, Statement, StatementKind, ToolRuleKind,
};
use mero_runtime::{Effect, Permission, Phase};
use std::collections::{HashMap, HashSet};

/// A value that a context may set once, and profiles may set for it.
#[derive(Clone)]
struct Slot<T> {
    own: Option<(T, Span)>,
    /// Value, place, and the profile that sets it.
    given: Vec<(T, Span, String)>,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot { own: None, given: Vec::new() }
    }
}

impl<T: Copy + PartialEq> Slot<T> {
    fn set(&mut self, scope: &Scope<'_>, what: &str, value: T, span: Span, profile: Option<&str>) {
        if let Some(profile) = profile {
            self.given.push((value, span, profile.to_owned()));
        } else if let Some((_, first)) = self.own {
            twice(scope, what, first, span);
        } else {
            self.own = Some((value, span));
        }
    }

    /// The context's own value, else that of its profiles, which must agree.
    fn settle(self, scope: &Scope<'_>, what: &str, place: Span) -> Option<(T, Span)> {
        if self.own.is_some() {
            return self.own;
        }
        let mut given = self.given.into_iter();
        let (value, span, profile) = given.next()?;
        for (other, other_span, other_profile) in given {
            if other != value {
                scope.report(
                    Diagnostic::new(
                        &codes::CONFLICTING_FIELDS,
                        place,
                        format!("the profiles `{profile}` and `{other_profile}` set `{what}` differently"),
                    )
                    .label(span, format!("`{profile}` sets it here"))
                    .label(other_span, format!("`{other_profile}` sets it here"))
                    .help(format!("set `{what}` in the context itself: that beats its profiles")),
                );
            }
        }
        Some((value, span))
    }
}

fn twice(scope: &Scope<'_>, what: &str, first: Span, again: Span) {
    scope.report(
        Diagnostic::new(
            &codes::CONFLICTING_FIELDS,
            again,
            format!("`{what}` is set twice in one place"),
        )
        .here("set again here")
        .label(first, "first set here")
        .help(format!("join the two, as in `{what} read | write`, or remove one")),
    );
}

#[derive(Default)]
struct Builder {
    fields: [Slot<Permission>; 3],
    otherwise: Slot<Effect>,
    opaque: Slot<Effect>,
    tools_otherwise: Slot<Effect>,
    commands: Commands,
    has_commands: bool,
    tools: Tools,
    has_tools: bool,
    hide: Vec<Spanned<String>>,
    grants: Vec<Spanned<String>>,
    granted: HashSet<String>,
    phases: Option<(Vec<Phase>, Span)>,
    unconfined: Option<Span>,
    mounts: Vec<Mount>,
}

struct Resolver<'s, 'a> {
    scope: &'s Scope<'a>,
    params: &'s [String],
}

/// Resolves one context.
pub(super) fn resolve(
    scope: &Scope<'_>,
    params: &[String],
    item: &Item,
    name: &Name,
    body: &[Statement],
) -> Context {
    let resolver = Resolver { scope, params };
    let mut builder = Builder::default();
    resolver.statements(&mut builder, body, &mut Vec::new());
    let [allow, ask, deny] = std::mem::take(&mut builder.fields);
    let settle = |slot: Slot<Permission>, what| {
        slot.settle(scope, what, name.span).map(|(set, span)| Setting { set, span })
    };
    let fields = Fields {
        allow: settle(allow, "allow"),
        ask: settle(ask, "ask"),
        deny: settle(deny, "deny"),
    };
    let spanned = |v: Option<(Effect, Span)>| v.map(|(e, s)| Spanned::new(e, s));
    builder.commands.otherwise =
        spanned(builder.otherwise.clone().settle(scope, "otherwise", name.span));
    builder.commands.opaque = spanned(builder.opaque.clone().settle(scope, "opaque", name.span));
    builder.tools.otherwise =
        spanned(builder.tools_otherwise.clone().settle(scope, "otherwise", name.span));
    check_mounts(scope, name, &builder);
    let (phases, phases_span) = match builder.phases {
        Some((phases, span)) => (phases, Some(span)),
        None => (vec![Phase::Plan, Phase::Default, Phase::AcceptEdits], None),
    };
    Context {
        name: name.node.clone(),
        span: name.span,
        doc: item.attributes.doc.clone(),
        narrows: None,
        phases,
        phases_span,
        unconfined: builder.unconfined,
        fields,
        hide: builder.hide,
        mounts: builder.mounts,
        commands: builder.has_commands.then_some(builder.commands),
        tools: builder.has_tools.then_some(builder.tools),
        grants: builder.grants,
    }
}

impl Resolver<'_, '_> {
    /// Takes statements of a context or, with `open` not empty, of a profile.
    fn statements(&self, b: &mut Builder, body: &[Statement], open: &mut Vec<String>) {
        let scope = self.scope;
        for statement in body {
            let profile = open.last().cloned();
            let profile = profile.as_deref();
            match &statement.kind {
                StatementKind::Use(names) => {
                    for name in names {
                        self.splice(b, name, open);
                    }
                }
                StatementKind::Field { field, set } => {
                    let (slot, what) = match field {
                        ast::Effect::Allow => (&mut b.fields[0], "allow"),
                        ast::Effect::Ask => (&mut b.fields[1], "ask"),
                        ast::Effect::Deny => (&mut b.fields[2], "deny"),
                    };
                    slot.set(scope, what, scope.permissions(set), statement.span, profile);
                }
                StatementKind::Hide(patterns) => b.hide.extend(patterns.iter().cloned()),
                StatementKind::Grants(keys) => {
                    for key in keys {
                        if grant_key(scope, key) && b.granted.insert(key.node.clone()) {
                            b.grants.push(key.clone());
                        }
                    }
                }
                StatementKind::Commands(body) => self.commands(b, body, profile),
                StatementKind::Tools(rules) => self.tools(b, rules, profile),
                StatementKind::Env(names) => {
                    b.commands.env.extend(names.iter().cloned());
                }
                StatementKind::Wrappers(names) => {
                    b.commands.wrappers.get_or_insert_default().extend(names.iter().cloned());
                }
                StatementKind::Phases(_)
                | StatementKind::Unconfined
                | StatementKind::Mount { .. }
                    if profile.is_some() =>
                {
                    let what = match &statement.kind {
                        StatementKind::Phases(_) => "phases",
                        StatementKind::Unconfined => "unconfined",
                        _ => "mount",
                    };
                    self.misplaced(
                        statement,
                        &format!("a profile cannot hold `{what}`"),
                        "say it in each context: a profile is only what several contexts share",
                    );
                }
                StatementKind::Phases(names) => {
                    let phases = names.iter().filter_map(|n| phase(scope, n)).collect::<Vec<_>>();
                    if let Some((_, first)) = &b.phases {
                        twice(scope, "phases", *first, statement.span);
                    } else {
                        let mut phases = phases;
                        phases.sort();
                        phases.dedup();
                        b.phases = Some((phases, statement.span));
                    }
                }
                StatementKind::Unconfined => b.unconfined = Some(statement.span),
                StatementKind::Mount { slug, host, body } => {
                    self.mount(b, None, slug, host, body);
                }
                StatementKind::On { .. } => self.misplaced(
                    statement,
                    "an `on` block refines a mount and can stand only in one",
                    "move it into the mount whose paths it is about",
                ),
            }
        }
    }

    fn misplaced(&self, statement: &Statement, message: &str, help: &str) {
        self.scope
            .report(Diagnostic::new(&codes::BAD_STATEMENT, head(statement), message).help(help));
    }

    fn splice(&self, b: &mut Builder, name: &Name, open: &mut Vec<String>) {
        let Some(definition) = self.scope.find(Kind::Profile, name) else { return };
        if open.contains(&name.node) {
            self.scope.report(
                Diagnostic::new(
                    &codes::IMPORT_CYCLE,
                    name.span,
                    format!("the profile `{}` uses itself", name.node),
                )
                .label(definition.name, "defined here")
                .help("remove one `use` of the circle"),
            );
            return;
        }
        if open.len() >= MAX_PROFILE_DEPTH {
            self.scope.report(
                Diagnostic::new(
                    &codes::TOO_DEEP,
                    name.span,
                    format!("more than {MAX_PROFILE_DEPTH} profiles use one another in a row"),
                )
                .help("use them side by side: `use a, b, c`"),
            );
            return;
        }
        if !self.scope.splice(definition.item.span.range().len()) {
            self.scope.report(
                Diagnostic::new(
                    &codes::TOO_LARGE,
                    name.span,
                    format!(
                        "the profiles come to more than {MAX_SPLICED_BYTES} bytes, each counted wherever it is used"
                    ),
                )
                .help("use each profile once, and fewer of them in one another"),
            );
            return;
        }
        if let ItemKind::Profile { body, .. } = &definition.item.kind {
            open.push(name.node.clone());
            self.statements(b, body, open);
            open.pop();
        }
    }

    fn commands(&self, b: &mut Builder, body: &[ast::CommandStatement], profile: Option<&str>) {
        b.has_commands = true;
        for statement in body {
            match &statement.kind {
                CommandStatementKind::Rule { effect: e, readonly, pattern, except } => {
                    if let (Some(span), ast::Effect::Deny) = (readonly, e) {
                        self.scope.report(
                            Diagnostic::new(
                                &codes::BAD_STATEMENT,
                                *span,
                                "`readonly` says that a rule holds in `plan` too; a `deny` always does",
                            )
                            .help("remove `readonly`"),
                        );
                    }
                    b.commands.rules.push(CommandRule {
                        effect: effect(*e),
                        readonly: readonly.is_some() && *e != ast::Effect::Deny,
                        pattern: pattern.clone(),
                        except: except.clone(),
                        span: statement.span,
                    });
                }
                CommandStatementKind::Otherwise(e) => {
                    b.otherwise.set(
                        self.scope,
                        "otherwise",
                        effect(e.node),
                        statement.span,
                        profile,
                    );
                }
                CommandStatementKind::Opaque(e) => {
                    if e.node == ast::Effect::Allow {
                        self.scope.report(
                            Diagnostic::new(
                                &codes::BAD_STATEMENT,
                                e.span,
                                "what is not understood cannot be allowed",
                            )
                            .help(
                                "write `opaque ask`, or leave it out: opaque commands are denied",
                            ),
                        );
                    }
                    let e_value = effect(e.node).min(Effect::Ask);
                    b.opaque.set(self.scope, "opaque", e_value, statement.span, profile);
                }
                CommandStatementKind::Env(names) => b.commands.env.extend(names.iter().cloned()),
                CommandStatementKind::Wrappers(names) => {
                    b.commands.wrappers.get_or_insert_default().extend(names.iter().cloned());
                }
            }
        }
    }

    fn tools(&self, b: &mut Builder, rules: &[ast::ToolRule], profile: Option<&str>) {
        b.has_tools = true;
        for rule in rules {
            match &rule.kind {
                ToolRuleKind::Rule { effect: e, patterns } => {
                    b.tools.rules.extend(
                        patterns
                            .iter()
                            .map(|p| ToolRule { effect: effect(*e), pattern: p.clone() }),
                    );
                }
                ToolRuleKind::Otherwise(e) => {
                    b.tools_otherwise.set(
                        self.scope,
                        "otherwise",
                        effect(e.node),
                        rule.span,
                        profile,
                    );
                }
            }
        }
    }

    fn mount(
        &self,
        b: &mut Builder,
        parent: Option<usize>,
        slug: &Name,
        host_text: &Name,
        body: &[Statement],
    ) {
        let scope = self.scope;
        let parent_host = parent.and_then(|p| b.mounts.get(p)).map(|m| m.host.clone());
        let host = match &parent_host {
            Some(parent) => host::nested(parent, &host_text.node),
            None => {
                let find = |name: &str| {
                    let name = Spanned::new(name.to_owned(), host_text.span);
                    scope.find(Kind::Param, &name)?;
                    self.params.iter().position(|p| *p == name.node)
                };
                match host::top_level(&host_text.node, find) {
                    Ok(Ok(host)) => Ok(host),
                    // Reported by the look-up.
                    Ok(Err(_)) => return,
                    Err(problem) => Err(problem),
                }
            }
        };
        let host = host.unwrap_or_else(|(message, help)| {
            scope.report(Diagnostic::new(&codes::BAD_HOST, host_text.span, message).help(help));
            // A directory that is nobody else's, so that no error follows.
            let mut host = parent_host
                .clone()
                .unwrap_or(Host { anchor: host::Anchor::Base, segments: Vec::new() });
            host.segments.push(format!("<{}>", slug.node));
            host
        });
        if slug.node.len() > 255 {
            scope.report(Diagnostic::new(
                &codes::DUPLICATE_SLUG,
                slug.span,
                "a slug is at most 255 bytes long",
            ));
        }
        let index = b.mounts.len();
        b.mounts.push(Mount {
            slug: slug.node.clone(),
            span: slug.span,
            parent,
            host,
            host_span: host_text.span,
            fields: Fields::default(),
            hide: Vec::new(),
            on: Vec::new(),
        });
        let mut fields = Fields::default();
        let (mut hide, mut on) = (Vec::new(), Vec::new());
        for statement in body {
            match &statement.kind {
                StatementKind::Field { field, set } => {
                    self.field(&mut fields, *field, set, statement.span)
                }
                StatementKind::Hide(patterns) => hide.extend(patterns.iter().cloned()),
                StatementKind::On { patterns, body } => {
                    on.push(self.on(patterns, body, statement.span))
                }
                StatementKind::Mount { slug, host, body } => {
                    self.mount(b, Some(index), slug, host, body)
                }
                other => {
                    let what = keyword(other);
                    self.misplaced(
                        statement,
                        &format!("`{what}` cannot stand in a mount"),
                        "a mount holds `allow`, `ask`, `deny`, `hide`, `on` and nested mounts: move it into the context",
                    );
                }
            }
        }
        if let Some(mount) = b.mounts.get_mut(index) {
            (mount.fields, mount.hide, mount.on) = (fields, hide, on);
        }
    }

    fn field(&self, fields: &mut Fields, field: ast::Effect, set: &ast::PermissionSet, span: Span) {
        let setting = Setting { set: self.scope.permissions(set), span };
        let slot = match field {
            ast::Effect::Allow => &mut fields.allow,
            ast::Effect::Ask => &mut fields.ask,
            ast::Effect::Deny => &mut fields.deny,
        };
        if let Some(first) = slot {
            twice(self.scope, field.keyword(), first.span, span);
        } else {
            *slot = Some(setting);
        }
    }

    fn on(&self, patterns: &[Name], body: &[Statement], span: Span) -> OnBlock {
        let mut fields = Fields::default();
        for statement in body {
            if let StatementKind::Field { field, set } = &statement.kind {
                self.field(&mut fields, *field, set, statement.span);
            } else {
                let what = keyword(&statement.kind);
                self.misplaced(
                    statement,
                    &format!("`{what}` cannot stand in an `on` block"),
                    "an `on` block holds `allow`, `ask` and `deny`",
                );
            }
        }
        OnBlock { patterns: patterns.to_vec(), fields, span }
    }
}

const fn keyword(kind: &StatementKind) -> &'static str {
    match kind {
        StatementKind::Use(_) => "use",
        StatementKind::Phases(_) => "phases",
        StatementKind::Unconfined => "unconfined",
        StatementKind::Field { field, .. } => field.keyword(),
        StatementKind::Hide(_) => "hide",
        StatementKind::Mount { .. } => "mount",
        StatementKind::On { .. } => "on",
        StatementKind::Commands(_) => "commands",
        StatementKind::Tools(_) => "tools",
        StatementKind::Grants(_) => "grants",
        StatementKind::Env(_) => "env",
        StatementKind::Wrappers(_) => "wrappers",
    }
}

/// The statement's keyword, for a label that does not cover a whole block.
fn head(statement: &Statement) -> Span {
    let length = u32::try_from(keyword(&statement.kind).len()).unwrap_or(0);
    let end = statement.span.start.saturating_add(length).min(statement.span.end);
    Span { end, ..statement.span }
}

fn check_mounts(scope: &Scope<'_>, name: &Name, b: &Builder) {
    if let (Some(span), Some(first)) = (b.unconfined, b.mounts.first()) {
        scope.report(
            Diagnostic::new(
                &codes::BAD_STATEMENT,
                span,
                "`unconfined` is for contexts without mounts, and this one has some",
            )
            .label(first.span, "a mount")
            .help("remove `unconfined`, or the mounts"),
        );
    }
    let mut slugs: HashMap<&str, &Mount> = HashMap::new();
    let mut hosts: HashMap<&Host, &Mount> = HashMap::new();
    for mount in &b.mounts {
        if let Some(earlier) = slugs.insert(&mount.slug, mount) {
            scope.report(
                Diagnostic::new(
                    &codes::DUPLICATE_SLUG,
                    mount.span,
                    format!("two mounts of `{}` are named `{}`", name.node, mount.slug),
                )
                .label(earlier.span, "first named here")
                .help("slugs are unique in a context, nested mounts included"),
            );
        }
        if let Some(earlier) = hosts.insert(&mount.host, mount) {
            scope.report(
                Diagnostic::new(
                    &codes::DUPLICATE_SLUG,
                    mount.host_span,
                    format!(
                        "the mounts `{}` and `{}` have the same host directory",
                        earlier.slug, mount.slug
                    ),
                )
                .label(earlier.host_span, "first mounted here")
                .help("only one mount can govern a directory: join the two"),
            );
        }
    }
    if !b.mounts.is_empty() && !b.mounts.iter().any(|m| m.slug == "root") {
        let near = did_you_mean("root", b.mounts.iter().map(|m| m.slug.as_str()));
        scope.report(
            Diagnostic::new(
                &codes::MISSING_ROOT,
                name.span,
                format!("`{}` has mounts, and none of them is named `root`", name.node),
            )
            .help(near.map_or_else(
                || "name the one `root` that paths without a slug address".to_owned(),
                |n| format!("did you mean `{n}` to be `root`?"),
            )),
        );
    }
}
