//! Decisions on paths.
//!
//! A path decision: find the place that the request means, find the deepest
//! mount that covers it by walking the tries of host directories, walk the
//! automata of that mount's island over the rest of the path (they know hiding
//! and `on` blocks), and judge each permission by the effective fields. All of
//! it reads the table and the request only; the cost is linear in the path.

use crate::decision::{Decision, Effect, Kind, MountId, Permission, Phase, Reason, RuleId, phases};
use crate::format::{Section, anchor, below, class, context, mount, node, spaces};
use crate::links::Links;
use crate::path::{MAX_PATH, Place, Segments, is_separator};
use crate::table::{Context, Record};
use crate::verdict::{Verdict, Walked, both};

/// What a host knows about a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Session<'a> {
    /// The phase that it is in.
    pub phase: Phase,
    /// The policy's base directory, absolute: where `./…` mounts are.
    pub base: &'a [u8],
    /// The home directory, absolute, where one is known.
    pub home: Option<&'a [u8]>,
    /// The working directory, absolute, where the session has one.
    pub working_directory: Option<&'a [u8]>,
    /// Directories of the policy's parameters, by name.
    pub params: &'a [(&'a str, &'a [u8])],
    /// Who follows links, where the file system is to be looked at: paths are then
    /// decided by every name that they turn out to have.
    pub links: Option<&'a dyn Links>,
}

/// The fields that hold for a path, with the rules that set them.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    pub(crate) allow: (Permission, Option<RuleId>),
    pub(crate) ask: (Permission, Option<RuleId>),
    pub(crate) deny: (Permission, Option<RuleId>),
}

impl Fields {
    /// Judges every permission asked for; the strictest counts.
    pub(crate) fn judge(&self, phase: Phase, permissions: Permission) -> Decision {
        if phase == Phase::Default {
            // As written: all permissions at once.
            let (effect, reason, rule) = if permissions.intersects(self.deny.0) {
                (Effect::Deny, Reason::Denied, self.deny.1)
            } else if !self.allow.0.contains(permissions) {
                (Effect::Deny, Reason::NotGranted, self.allow.1)
            } else if permissions.intersects(self.ask.0) {
                (Effect::Ask, Reason::ApprovalRequired, self.ask.1)
            } else if permissions.is_empty() {
                return Decision::deny(Reason::Invalid);
            } else {
                (Effect::Allow, Reason::Granted, self.allow.1)
            };
            return Decision { effect, reason, mount: None, rule };
        }
        let mut worst: Option<Decision> = None;
        for (_, permission) in Permission::NAMES {
            if !permissions.contains(permission) {
                continue;
            }
            let (effect, reason, rule) = if self.deny.0.contains(permission) {
                (Effect::Deny, Reason::Denied, self.deny.1)
            } else if !self.allow.0.contains(permission) {
                (Effect::Deny, Reason::NotGranted, self.allow.1)
            } else if self.ask.0.contains(permission) {
                (Effect::Ask, Reason::ApprovalRequired, self.ask.1)
            } else {
                (Effect::Allow, Reason::Granted, self.allow.1)
            };
            let (effect, reason) = phases::permission(phase, permission, (effect, reason));
            let decision = Decision { effect, reason, mount: None, rule };
            worst = Some(worst.map_or(decision, |w| w.stricter(decision)));
        }
        worst.unwrap_or(Decision::deny(Reason::Invalid))
    }
}

/// How a path is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressing {
    /// As requests name paths: `/x` is below `root`, `/slug/x` below a mount.
    Virtual,
    /// As a program on the host names them: `/x` is the host's, a relative path
    /// begins at the working directory, or at `root` where none is known.
    Host,
}

/// A place with what finding it told already.
pub(crate) struct Located<'a> {
    pub(crate) place: Place<'a>,
    /// The mount that the request addressed by slug or default.
    addressed: Option<u32>,
}

impl<'a> Context<'a> {
    /// The phases that the context admits.
    #[must_use]
    pub fn admits(&self, phase: Phase) -> bool {
        self.record.u8(context::PHASES) & phase.bit() != 0
    }

    /// Whether the context has no mounts and limits no place.
    #[must_use]
    pub fn is_unconfined(&self) -> bool {
        self.record.u8(context::FLAGS) & context::UNCONFINED != 0
    }

    /// The slug of a mount of this table.
    #[must_use]
    pub fn slug(&self, mount: MountId) -> &'a str {
        let record = self.table.record(Section::Mounts, mount.0);
        let length = usize::from(record.u8(mount::SLUG_LENGTH));
        self.table.text(self.table.slice(record.u24(mount::SLUG), length))
    }

    /// Decides a path for a set of permissions. Reads no file system: links
    /// are not followed.
    pub fn path(
        &self,
        session: &Session<'_>,
        path: &[u8],
        permissions: Permission,
        kind: Kind,
    ) -> Decision {
        if !self.admits(session.phase) {
            return Decision::deny(Reason::Phase);
        }
        if session.links.is_none()
            && let Some(decision) = self.quick(session, path, permissions, kind)
        {
            return decision;
        }
        self.path_in_phase(session, path, permissions, kind, Addressing::Virtual)
    }

    /// Decides a path of the host itself, as a program or a resolver of links
    /// names it: an absolute path outside every mount is `outside`, and never
    /// read as a path below `root`; a relative one begins at the working
    /// directory, or at `root`'s directory where the session has none.
    pub fn host_path(
        &self,
        session: &Session<'_>,
        path: &[u8],
        permissions: Permission,
        kind: Kind,
    ) -> Decision {
        if !self.admits(session.phase) {
            return Decision::deny(Reason::Phase);
        }
        self.path_in_phase(session, path, permissions, kind, Addressing::Host)
    }

    /// As [`Self::path`], whether or not the context admits the phase.
    pub(crate) fn path_in_phase(
        &self,
        session: &Session<'_>,
        path: &[u8],
        permissions: Permission,
        kind: Kind,
        addressing: Addressing,
    ) -> Decision {
        let located = match self.locate(session, path, addressing) {
            Ok(located) => located,
            Err(reason) => return Decision::deny(reason),
        };
        let decision = self.decide(session, &located, permissions, kind);
        match session.links {
            Some(links) if decision.effect != Effect::Deny => {
                let place = &located.place;
                let end = self.followed(session, place, path, permissions, addressing, links);
                decision.stricter(end)
            }
            _ => decision,
        }
    }

    /// The host path that a request means, lexically.
    ///
    /// # Errors
    /// The reason of the denial: `invalid` or `outside`.
    pub fn place<'s>(&self, session: &Session<'s>, path: &'s [u8]) -> Result<Place<'s>, Reason>
    where
        'a: 's,
    {
        self.locate(session, path, Addressing::Virtual).map(|l| l.place)
    }

    pub(crate) fn own_fields(&self) -> Fields {
        let field = |at: usize, rule: usize| {
            (
                Permission::from_bits_truncate(self.record.u8(at)),
                self.record.rule(context::FIELD_RULES.saturating_add(rule)),
            )
        };
        Fields {
            allow: field(context::ALLOW, 0),
            ask: field(context::ASK, 3),
            deny: field(context::DENY, 6),
        }
    }

    #[inline]
    pub(crate) fn anchor_path<'s>(&self, session: &Session<'s>, index: u32) -> Option<&'s [u8]> {
        let record = self.table.record(Section::Anchors, index);
        let path = match record.u8(anchor::KIND) {
            anchor::ABSOLUTE => return Some(b"/"),
            anchor::BASE => session.base,
            anchor::HOME => session.home?,
            _ => {
                let name = self.table.param(record.u24(anchor::PARAM));
                session.params.iter().find(|(n, _)| *n == name)?.1
            }
        };
        path.starts_with(b"/").then_some(path)
    }

    pub(crate) fn mount_class(&self, mount: u32) -> (Record<'a>, Record<'a>) {
        let record = self.table.record(Section::Mounts, mount);
        let class = self.table.record(Section::MountClasses, u32::from(record.u16(mount::CLASS)));
        (record, class)
    }

    pub(crate) fn directory(&self, mount: Record<'a>) -> &'a [u8] {
        let length = usize::from(mount.u16(mount::DIRECTORY_LENGTH));
        self.table.slice(mount.u24(mount::DIRECTORY), length)
    }

    pub(crate) fn locate<'s>(
        &self,
        session: &Session<'s>,
        path: &'s [u8],
        addressing: Addressing,
    ) -> Result<Located<'s>, Reason>
    where
        'a: 's,
    {
        if path.is_empty() || path.len() > MAX_PATH || path.contains(&0) {
            return Err(Reason::Invalid);
        }
        let plain = |parts| {
            let place = Place::new(parts).ok_or(Reason::Invalid)?;
            Ok(Located { place, addressed: None })
        };
        let absolute = path.first().is_some_and(|&b| is_separator(b));
        let unconfined = self.is_unconfined();
        if let Some(rest) = path.strip_prefix(b"~") {
            if rest.first().is_some_and(|&b| !is_separator(b)) {
                return Err(Reason::Invalid);
            }
            let home = session.home.filter(|h| h.starts_with(b"/")).ok_or(Reason::Invalid)?;
            return plain([home, b"", rest]);
        }
        let Some(root) = self.record.option(context::ROOT) else {
            if !unconfined {
                return Err(Reason::Outside);
            }
            if absolute {
                return plain([b"", b"", path]);
            }
            if Segments::of_request(path).any(|s| s == b"..") {
                return Err(Reason::Outside);
            }
            let Some(directory) = session.working_directory else {
                let place = Place::new([b"", b"", path]).ok_or(Reason::Invalid)?;
                return Ok(Located { place: place.relative(), addressed: None });
            };
            return plain([directory, b"", path]);
        };
        if absolute {
            if addressing == Addressing::Host || self.lies_in_a_mount(session, path)? {
                return plain([b"", b"", path]);
            }
        } else if let Some(directory) = session.working_directory {
            return plain([directory, b"", path]);
        }
        let start = path.iter().position(|&b| !is_separator(b)).unwrap_or(path.len());
        let from_name = path.get(start..).unwrap_or(&[]);
        let end = from_name.iter().position(|&b| is_separator(b)).unwrap_or(from_name.len());
        let (name, after) = from_name.split_at_checked(end).unwrap_or((from_name, b""));
        let space = spaces::SLUGS.saturating_add(self.index);
        let slug = match addressing {
            Addressing::Virtual => self.table.symbol(space, name),
            Addressing::Host => None,
        };
        let (mount, rest) = match slug {
            Some(mount) => (mount, after),
            None => (root, path),
        };
        let (record, class) = self.mount_class(mount);
        let anchors = self.record.list(context::ANCHORS);
        let anchor = anchors.start.saturating_add(u32::from(class.u8(class::ANCHOR)));
        let anchor = self.anchor_path(session, anchor).ok_or(Reason::Invalid)?;
        let place = Place::new([anchor, self.directory(record), rest]).ok_or(Reason::Invalid)?;
        Ok(Located { place, addressed: Some(mount) })
    }

    /// Whether an absolute path literally lies inside some mount's directory.
    fn lies_in_a_mount(&self, session: &Session<'_>, path: &[u8]) -> Result<bool, Reason> {
        for index in self.record.list(context::ANCHORS) {
            let anchor = self.anchor_path(session, index).ok_or(Reason::Invalid)?;
            let mut segments = Segments::of_request(path);
            if !Segments::of(anchor).all(|s| segments.next() == Some(s)) {
                continue;
            }
            let mut at = self.table.record(Section::Anchors, index).u24(anchor::NODE);
            loop {
                if self.table.record(Section::Nodes, at).option(node::MOUNT).is_some() {
                    return Ok(true);
                }
                match segments.next().and_then(|s| self.table.symbol(at, s)) {
                    Some(child) => at = child,
                    None => break,
                }
            }
        }
        Ok(false)
    }

    pub(crate) fn decide(
        &self,
        session: &Session<'_>,
        at: &Located<'_>,
        permissions: Permission,
        kind: Kind,
    ) -> Decision {
        if permissions.is_empty() {
            return Decision::deny(Reason::Invalid);
        }
        let kind = match kind {
            Kind::Unknown if at.place.directory => Kind::Directory,
            // A file's name with a trailing separator says both; the stricter
            // answer holds.
            Kind::File if at.place.directory => Kind::Unknown,
            kind => kind,
        };
        if self.is_unconfined() {
            return self.decide_unconfined(session, &at.place, permissions, kind);
        }
        let mut best: Option<(u32, usize)> = None;
        let mut below = below::FREE;
        let anchors = self.record.list(context::ANCHORS);
        let quick = at.addressed.filter(|_| anchors.len() == 1).zip(at.place.tail());
        let mut quick_start = None;
        if let Some((addressed, mut tail)) = quick {
            // One trie only, and nothing climbs: go on below the mount.
            let (record, _) = self.mount_class(addressed);
            let mount = self.descend(record.u24(mount::NODE), &mut tail, &mut below);
            best = mount.map(|m| (m, 0));
            quick_start = Some(addressed);
        } else {
            for index in anchors {
                let Some(anchor) = self.anchor_path(session, index) else {
                    return Decision::deny(Reason::Invalid);
                };
                let root = self.table.record(Section::Anchors, index).u24(anchor::NODE);
                let mut segments = at.place.segments();
                let mut depth = 0usize;
                let mut outcome = Some(true);
                for expected in Segments::of(anchor) {
                    outcome = segments.next().map(|s| s == expected);
                    if outcome != Some(true) {
                        break;
                    }
                    depth = depth.saturating_add(1);
                }
                match outcome {
                    Some(false) => continue,
                    None => {
                        // All of this trie lies below the place.
                        below = below.min(self.table.node(root).below);
                        if let Some(m) = self.table.record(Section::Nodes, root).option(node::MOUNT)
                        {
                            below = below.min(self.own_deletion(m));
                        }
                        continue;
                    }
                    Some(true) => {}
                }
                if let Some(mount) = self.descend(root, &mut segments, &mut below) {
                    let (record, _) = self.mount_class(mount);
                    let depth = depth.saturating_add(Segments::of(self.directory(record)).count());
                    if best.is_none_or(|(_, d)| depth > d) {
                        best = Some((mount, depth));
                    }
                }
            }
        }
        let Some((mount, _)) = best else {
            return Decision::deny(Reason::Outside);
        };
        let decision = self.decide_in_mount(session, at, mount, quick_start, permissions, kind);
        self.with_deletion(session.phase, decision, below, permissions)
    }

    /// Deleting a directory reaches the mounts below it.
    pub(crate) fn with_deletion(
        &self,
        phase: Phase,
        decision: Decision,
        below: u8,
        permissions: Permission,
    ) -> Decision {
        if below >= below::FREE || !permissions.contains(Permission::DELETE) {
            return decision;
        }
        let written = match below {
            below::HIDDEN => (Effect::Deny, Reason::Hidden),
            below::DENIED => (Effect::Deny, Reason::Denied),
            below::NOT_GRANTED => (Effect::Deny, Reason::NotGranted),
            _ => (Effect::Ask, Reason::ApprovalRequired),
        };
        let (effect, reason) = phases::permission(phase, Permission::DELETE, written);
        if effect < decision.effect {
            Decision { effect, reason, mount: decision.mount, rule: None }
        } else {
            decision
        }
    }

    /// Walks a trie as far as it goes: the deepest mount, and what deleting
    /// meets below if the path ends inside the trie.
    fn descend<'p>(
        &self,
        mut at: u32,
        segments: &mut impl Iterator<Item = &'p [u8]>,
        below: &mut u8,
    ) -> Option<u32> {
        loop {
            let node = self.table.node(at);
            let Some(segment) = segments.next() else {
                *below = (*below).min(node.below);
                return node.mount;
            };
            match node.child(&self.table, segment) {
                Some(child) => at = child,
                None => return node.mount,
            }
        }
    }

    /// What deleting the mount's own directory meets: its parent node's class
    /// holds it, but the root of a trie has no parent, so it is worked out.
    fn own_deletion(&self, mount: u32) -> u8 {
        let (_, class) = self.mount_class(mount);
        let delete =
            |at: usize| Permission::from_bits_truncate(class.u8(at)).contains(Permission::DELETE);
        if delete(class::DENY) {
            below::DENIED
        } else if !delete(class::ALLOW) {
            below::NOT_GRANTED
        } else if delete(class::ASK) {
            below::ASK
        } else {
            below::FREE
        }
    }

    fn decide_in_mount(
        &self,
        session: &Session<'_>,
        at: &Located<'_>,
        mount: u32,
        quick: Option<u32>,
        permissions: Permission,
        kind: Kind,
    ) -> Decision {
        let (_, class) = self.mount_class(mount);
        let Some(island) = class.option(class::ISLAND) else {
            return self.judge(session.phase, mount, class, &Walked::default(), permissions, kind);
        };
        let top = class.u24(class::TOP);
        let (top_record, _) = self.mount_class(top);
        let walked = match (quick, at.place.tail()) {
            // Addressed below the same top-level mount: its own directory, then
            // the rest, and nothing to skip.
            (Some(addressed), Some(tail))
                if self.mount_class(addressed).1.u24(class::TOP) == top =>
            {
                let skip = Segments::of(self.directory(top_record)).count();
                let own = Segments::of(self.directory(self.mount_class(addressed).0)).skip(skip);
                self.walk(island, own.chain(tail))
            }
            _ => {
                let anchors = self.record.list(context::ANCHORS);
                let anchor = anchors.start.saturating_add(u32::from(class.u8(class::ANCHOR)));
                let Some(anchor) = self.anchor_path(session, anchor) else {
                    return Decision::deny(Reason::Invalid);
                };
                let skip =
                    Segments::of(anchor).chain(Segments::of(self.directory(top_record))).count();
                self.walk(island, at.place.segments().skip(skip))
            }
        };
        self.judge(session.phase, mount, class, &walked, permissions, kind)
    }

    fn decide_unconfined(
        &self,
        session: &Session<'_>,
        place: &Place<'_>,
        permissions: Permission,
        kind: Kind,
    ) -> Decision {
        let fields = self.own_fields();
        let judge = |verdict: &Verdict| {
            if verdict.hidden() {
                let rule = verdict.hide.rule;
                return Decision {
                    effect: Effect::Deny,
                    reason: Reason::Hidden,
                    mount: None,
                    rule,
                };
            }
            fields.judge(session.phase, permissions)
        };
        let Some(island) = self.record.option(context::ISLAND) else {
            return judge(&Verdict::default());
        };
        // The list is read from the file system's root, and from the working
        // directory for what lies in it; the stricter reading holds.
        let decision = both(kind, &self.walk(island, place.segments()), judge);
        if let Some(directory) = session.working_directory {
            let mut rest = place.segments();
            if Segments::of(directory).all(|s| rest.next() == Some(s)) {
                return decision.stricter(both(kind, &self.walk(island, rest), judge));
            }
        }
        decision
    }
}
