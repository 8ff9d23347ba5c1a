//! Names over all files of a compilation: who defines what, and what is used.

use crate::diag::registry as codes;
use crate::diag::{Diagnostic, did_you_mean};
use crate::limits::MAX_SPLICED_BYTES;
use crate::source::{FileId, Span};
use crate::syntax::ast::{File, Item, ItemKind, Name, PermissionSet};
use mero_runtime::Permission;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// One file of a compilation, parsed.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The file.
    pub file: FileId,
    /// Its tree.
    pub tree: File,
    /// The files that its imports name, where they could be read.
    pub imports: Vec<Option<FileId>>,
    /// Whether it is of the built-in library.
    pub std: bool,
}

/// The kinds of name that are unique among themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Permission,
    Param,
    Profile,
    Context,
    Tool,
    Manager,
}

impl Kind {
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Kind::Permission => "permission",
            Kind::Param => "parameter",
            Kind::Profile => "profile",
            Kind::Context => "context",
            Kind::Tool => "tool",
            Kind::Manager => "manager",
        }
    }
}

/// Where a name is defined.
#[derive(Clone, Copy)]
pub(super) struct Definition<'a> {
    pub(super) item: &'a Item,
    pub(super) name: Span,
    pub(super) file: FileId,
    pub(super) std: bool,
}

/// All definitions, and what has been used of them.
pub(super) struct Scope<'a> {
    pub(super) definitions: BTreeMap<(Kind, String), Definition<'a>>,
    used: RefCell<BTreeSet<(Kind, String)>>,
    /// Named permission sets, worked out.
    sets: RefCell<BTreeMap<String, Permission>>,
    /// Bytes of profiles spliced in so far.
    spliced: Cell<usize>,
    pub(super) diagnostics: RefCell<Vec<Diagnostic>>,
}

const SETS: [&str; 6] = ["read", "write", "execute", "delete", "all", "none"];

impl<'a> Scope<'a> {
    /// Collects the definitions of all files.
    pub(super) fn new(units: &'a [Unit]) -> Self {
        let mut scope = Scope {
            definitions: BTreeMap::new(),
            used: RefCell::default(),
            sets: RefCell::default(),
            spliced: Cell::default(),
            diagnostics: RefCell::default(),
        };
        for unit in units {
            for item in &unit.tree.items {
                let (kind, name) = match &item.kind {
                    ItemKind::Permission { name, .. } => (Kind::Permission, name),
                    ItemKind::Param { name, .. } => (Kind::Param, name),
                    ItemKind::Profile { name, .. } => (Kind::Profile, name),
                    ItemKind::Context { name, .. } => (Kind::Context, name),
                    ItemKind::Tool { name, .. } => (Kind::Tool, name),
                    ItemKind::Manager { name, .. } => (Kind::Manager, name),
                    ItemKind::Test { .. } | ItemKind::Assert(_) => continue,
                };
                scope.define(kind, name, unit, item);
            }
        }
        scope
    }

    fn define(&mut self, kind: Kind, name: &Name, unit: &Unit, item: &'a Item) {
        let built_in = kind == Kind::Permission && SETS.contains(&name.node.as_str());
        if built_in {
            self.report(
                Diagnostic::new(
                    &codes::DUPLICATE_NAME,
                    name.span,
                    format!(
                        "`{}` is a permission of the language and cannot be defined anew",
                        name.node
                    ),
                )
                .help("choose another name for the set"),
            );
            return;
        }
        let full = if unit.std { format!("std::{}", name.node) } else { name.node.clone() };
        if name.node.len() > 255 {
            self.report(Diagnostic::new(
                &codes::DUPLICATE_NAME,
                name.span,
                format!("a name of {} bytes is longer than a table holds (255)", name.node.len()),
            ));
            return;
        }
        if let Some(first) = self.definitions.get(&(kind, full.clone())) {
            let first = first.name;
            self.report(
                Diagnostic::new(
                    &codes::DUPLICATE_NAME,
                    name.span,
                    format!("the {} `{}` is defined twice", kind.noun(), name.node),
                )
                .here("defined again here")
                .label(first, "first defined here")
                .help(
                    "names are unique per kind over all files of a policy: rename one or remove it",
                ),
            );
            return;
        }
        let definition = Definition { item, name: name.span, file: unit.file, std: unit.std };
        self.definitions.insert((kind, full), definition);
    }

    pub(super) fn report(&self, diagnostic: Diagnostic) {
        self.diagnostics.borrow_mut().push(diagnostic);
    }

    /// Marks a definition as used and gives it; a miss is reported with the
    /// nearest name.
    pub(super) fn find(&self, kind: Kind, name: &Name) -> Option<Definition<'a>> {
        let key = (kind, name.node.clone());
        if let Some(found) = self.definitions.get(&key) {
            self.used.borrow_mut().insert(key);
            return Some(*found);
        }
        let of_kind = |k: Kind| {
            self.definitions.keys().filter(move |(kind, _)| *kind == k).map(|(_, n)| n.as_str())
        };
        let mut diagnostic = Diagnostic::new(
            &codes::UNDEFINED_NAME,
            name.span,
            format!("no {} is named `{}`", kind.noun(), name.node),
        )
        .here("not defined");
        let std_profiles =
            crate::library::STD.iter().map(|(n, _)| format!("std::{n}")).collect::<Vec<_>>();
        let library = std_profiles.iter().map(String::as_str).filter(|_| kind == Kind::Profile);
        diagnostic.help =
            Some(if let Some(near) = did_you_mean(&name.node, of_kind(kind).chain(library)) {
                format!("did you mean `{near}`?")
            } else if let Some(bare) = std_profiles
                .iter()
                .find(|n| kind == Kind::Profile && n.ends_with(&format!("::{}", name.node)))
            {
                format!("the built-in profile is `{bare}`")
            } else {
                let known = of_kind(kind).map(|n| format!("`{n}`")).collect::<Vec<_>>();
                if known.is_empty() {
                    format!("this policy defines no {}", kind.noun())
                } else {
                    format!("defined are {}", known.join(", "))
                }
            });
        self.report(diagnostic);
        None
    }

    pub(super) fn is_used(&self, kind: Kind, name: &str) -> bool {
        self.used.borrow().contains(&(kind, name.to_owned()))
    }

    /// Resolves a permission set. Sets that name sets are followed without
    /// recursion, and each is worked out once in a compilation.
    pub(super) fn permissions(&self, set: &PermissionSet) -> Permission {
        let mut open: BTreeSet<&str> = BTreeSet::new();
        // The set itself, and the named sets that are being worked out.
        let mut stack = vec![(None::<&str>, set.names.iter(), Permission::empty())];
        while let Some((_, names, out)) = stack.last_mut() {
            let Some(name) = names.next() else {
                let Some((own, _, out)) = stack.pop() else { break };
                if let Some(own) = own {
                    open.remove(own);
                    self.sets.borrow_mut().insert(own.to_owned(), out);
                }
                match stack.last_mut() {
                    Some((_, _, above)) => *above |= out,
                    None => return out,
                }
                continue;
            };
            if SETS.contains(&name.node.as_str()) {
                *out |= Permission::parse(&name.node).unwrap_or_default();
                continue;
            }
            if let Some(known) = self.sets.borrow().get(&name.node) {
                *out |= *known;
                continue;
            }
            let key = (Kind::Permission, name.node.clone());
            let Some(definition) = self.definitions.get(&key) else {
                self.unknown_permission(name);
                continue;
            };
            self.used.borrow_mut().insert(key);
            if open.contains(name.node.as_str()) {
                self.report(
                    Diagnostic::new(
                        &codes::UNKNOWN_PERMISSION,
                        name.span,
                        format!("the permission `{}` is defined by itself", name.node),
                    )
                    .label(definition.name, "defined here")
                    .help("a named set can only be built from other sets"),
                );
            } else if let ItemKind::Permission { set, .. } = &definition.item.kind {
                open.insert(&name.node);
                stack.push((Some(&name.node), set.names.iter(), Permission::empty()));
            }
        }
        Permission::empty()
    }

    /// Counts the text of a profile that is spliced in; `false` once it comes to
    /// more than is taken.
    pub(super) fn splice(&self, bytes: usize) -> bool {
        let spliced = self.spliced.get().saturating_add(bytes);
        self.spliced.set(spliced);
        spliced <= MAX_SPLICED_BYTES
    }

    fn unknown_permission(&self, name: &Name) {
        let named = self
            .definitions
            .keys()
            .filter(|(k, _)| *k == Kind::Permission)
            .map(|(_, n)| n.as_str())
            .collect::<Vec<_>>();
        let near = did_you_mean(&name.node, SETS.into_iter().chain(named));
        let help = near.map_or_else(
            || "permissions are `read`, `write`, `execute`, `delete`, `all`, `none`, and sets named with `permission`".to_owned(),
            |n| format!("did you mean `{n}`?"),
        );
        self.report(
            Diagnostic::new(
                &codes::UNKNOWN_PERMISSION,
                name.span,
                format!("there is no permission `{}`", name.node),
            )
            .help(help),
        );
    }
}
