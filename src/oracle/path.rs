//! Paths: section 4 of the language, in its order.

use super::{Answer, Oracle, glob};
use crate::hir::{Anchor, Context, Host, Mount};
use crate::source::{Span, Spanned};
use mero_runtime::{Effect, Kind, MAX_PATH, Permission, Phase, Reason};

/// The directories of a host. All absolute.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// Where `./…` mounts are.
    pub base: Vec<u8>,
    /// The session's home directory.
    pub home: Option<Vec<u8>>,
    /// The session's working directory.
    pub working_directory: Option<Vec<u8>>,
    /// Directories of parameters, by name.
    pub params: Vec<(String, Vec<u8>)>,
}

type Segments = Vec<Vec<u8>>;
type Field = (Permission, Option<Span>);

/// The three fields that hold for a path.
#[derive(Clone, Copy)]
pub(super) struct Effective {
    pub(super) allow: Field,
    pub(super) ask: Field,
    pub(super) deny: Field,
}

impl Effective {
    pub(super) fn of_context(context: &Context) -> Effective {
        let field = |f: Option<crate::hir::Setting>| {
            f.map_or((Permission::empty(), None), |s| (s.set, Some(s.span)))
        };
        let f = context.fields;
        Effective { allow: field(f.allow), ask: field(f.ask), deny: field(f.deny) }
    }
}

/// Splits a path; `.` and empty segments go, `..` stays.
fn split(path: &[u8], backslash: bool) -> Segments {
    path.split(|&b| b == b'/' || (backslash && b == b'\\'))
        .filter(|s| !s.is_empty() && *s != b".")
        .map(<[u8]>::to_vec)
        .collect()
}

/// Takes back a segment for each `..`; at the root there is none to take.
fn normal(path: Segments) -> Segments {
    let mut out = Segments::new();
    for segment in path {
        if segment == b".." {
            out.pop();
        } else {
            out.push(segment);
        }
    }
    out
}

fn is_separator(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'/' | b'\\'))
}

/// A resolved request.
struct Place {
    segments: Segments,
    /// Without a leading `/`: an unconfined context without working directory.
    relative: bool,
}

impl Oracle<'_> {
    /// A path, for a set of permissions.
    #[must_use]
    pub fn path(&self, path: &[u8], permissions: Permission, kind: Kind) -> Answer {
        self.path_by(path, permissions, kind, false)
    }

    /// `by_host`: as a program on the host reads the path, not as requests do.
    fn path_by(&self, path: &[u8], permissions: Permission, kind: Kind, by_host: bool) -> Answer {
        if !self.admitted() {
            return Answer::deny(Reason::Phase);
        }
        let place = match self.resolve(path, by_host) {
            Ok(place) => place,
            Err(reason) => return Answer::deny(reason),
        };
        if permissions.is_empty() {
            return Answer::deny(Reason::Invalid);
        }
        let last = path.rsplit(|&b| b == b'/' || b == b'\\').next().unwrap_or(path);
        let says_directory = matches!(last, b"" | b"." | b"..");
        let kinds: &[bool] = match (kind, says_directory) {
            (Kind::File, false) => &[false],
            (Kind::Directory, _) | (Kind::Unknown, true) => &[true],
            (Kind::File, true) | (Kind::Unknown, false) => &[false, true],
        };
        let mut worst: Option<Answer> = None;
        for &directory in kinds {
            let answer = self.at(&place, permissions, directory);
            worst = Some(match worst {
                Some(w) => w.stricter(answer),
                None => answer,
            });
        }
        let mut answer = worst.unwrap_or(Answer::deny(Reason::Invalid));
        if permissions.contains(Permission::DELETE) && answer.mount.is_some() {
            answer = self.deleting(&place, answer);
        }
        let mut host = Vec::new();
        for segment in &place.segments {
            if !(place.relative && host.is_empty()) {
                host.push(b'/');
            }
            host.extend(segment);
        }
        if host.is_empty() {
            host.push(if place.relative { b'.' } else { b'/' });
        }
        answer.host = Some(host);
        answer
    }

    fn anchor(&self, anchor: Anchor) -> Option<Segments> {
        let path: &[u8] = match anchor {
            Anchor::Absolute => b"/",
            Anchor::Base => &self.hosts.base,
            Anchor::Home => self.hosts.home.as_deref()?,
            Anchor::Param(index) => {
                let name = &self.policy.params.get(index)?.name;
                &self.hosts.params.iter().find(|(n, _)| n == name)?.1
            }
        };
        path.starts_with(b"/").then(|| normal(split(path, false)))
    }

    fn directory(&self, host: &Host) -> Option<Segments> {
        let mut out = self.anchor(host.anchor)?;
        out.extend(host.segments.iter().map(|s| s.as_bytes().to_vec()));
        Some(out)
    }

    /// Addressing: what place a request names.
    fn resolve(&self, path: &[u8], by_host: bool) -> Result<Place, Reason> {
        if path.is_empty() || path.len() > MAX_PATH || path.contains(&0) {
            return Err(Reason::Invalid);
        }
        let done = |segments: Segments| Ok(Place { segments: normal(segments), relative: false });
        let under = |base: &[u8], rest: &[u8]| {
            let mut segments = split(base, false);
            segments.extend(split(rest, true));
            done(segments)
        };
        let absolute = is_separator(path.first());
        if path.first() == Some(&b'~') {
            let rest = path.get(1..).unwrap_or(&[]);
            if !rest.is_empty() && !is_separator(rest.first()) {
                return Err(Reason::Invalid);
            }
            return match &self.hosts.home {
                Some(home) if home.starts_with(b"/") => under(home, rest),
                _ => Err(Reason::Invalid),
            };
        }
        let written = split(path, true);
        let cwd = self.hosts.working_directory.as_deref();
        let Some(root) = self.context.root() else {
            if self.context.unconfined.is_none() {
                return Err(Reason::Outside);
            }
            if absolute {
                return done(written);
            }
            if written.iter().any(|s| s == b"..") {
                return Err(Reason::Outside);
            }
            return match cwd {
                Some(cwd) => under(cwd, path),
                None => Ok(Place { segments: written, relative: true }),
            };
        };
        if absolute && by_host {
            return done(written);
        } else if absolute {
            for mount in &self.context.mounts {
                let directory = self.directory(&mount.host).ok_or(Reason::Invalid)?;
                if written.starts_with(&directory) {
                    return done(written);
                }
            }
        } else if let Some(cwd) = cwd {
            return under(cwd, path);
        }
        // The first segment as it stands: `./data` addresses root.
        let name = path.split(|&b| b == b'/' || b == b'\\').find(|s| !s.is_empty()).unwrap_or(&[]);
        let named = |m: &Mount| !by_host && m.slug.as_bytes() == name;
        let slug = self.context.mounts.iter().position(named);
        let mount = self.context.mounts.get(slug.unwrap_or(root)).ok_or(Reason::Outside)?;
        let mut segments = self.directory(&mount.host).ok_or(Reason::Invalid)?;
        segments.extend(written.into_iter().skip(usize::from(slug.is_some())));
        done(segments)
    }

    /// The deepest mount that covers a place.
    fn governing(&self, place: &Segments) -> Option<usize> {
        let covers = |mount: &Mount| {
            self.directory(&mount.host).filter(|d| place.starts_with(d)).map(|d| d.len())
        };
        let mounts = self.context.mounts.iter().enumerate();
        mounts
            .filter_map(|(i, m)| covers(m).map(|d| (d, i)))
            .max_by_key(|(d, _)| *d)
            .map(|(_, i)| i)
    }

    fn at(&self, place: &Place, permissions: Permission, directory: bool) -> Answer {
        if self.context.root().is_none() && self.context.unconfined.is_some() {
            return self.unconfined(place, permissions, directory);
        }
        let Some(index) = self.governing(&place.segments) else {
            return Answer::deny(Reason::Outside);
        };
        let chain = self.context.chain(index);
        let mount = self.context.mounts.get(index);
        let slug = mount.map(|m| m.slug.clone());
        let hidden = self.hidden(&chain, &place.segments, directory);
        let answer = match hidden {
            Some(span) => Answer::new(Effect::Deny, Reason::Hidden, Some(span)),
            None => self.judge(self.effective(&chain, &place.segments, directory), permissions),
        };
        Answer { mount: slug, ..answer }
    }

    /// The part of a place below a mount's directory, if there is one.
    fn below<'a>(&self, mount: &Mount, place: &'a [Vec<u8>]) -> Option<&'a [Vec<u8>]> {
        let directory = self.directory(&mount.host)?;
        place.strip_prefix(&directory[..]).filter(|rest| !rest.is_empty())
    }

    /// Hiding: each directory on the way, then the path itself. At each, the
    /// lists from the context inward; the last match wins.
    fn hidden(&self, chain: &[usize], place: &Segments, directory: bool) -> Option<Span> {
        let top = self.context.mounts.get(*chain.first()?)?;
        let start = self.directory(&top.host)?.len();
        for end in start.saturating_add(1)..=place.len() {
            let here = place.get(..end)?;
            let is_directory = end < place.len() || directory;
            let mut verdict = None;
            let mut list = |mount: &Mount, patterns: &[Spanned<String>]| {
                if let Some(rest) = self.below(mount, here) {
                    for pattern in patterns {
                        if let Some(negated) = glob::ignore(&pattern.node, rest, is_directory) {
                            verdict = (!negated).then_some(pattern.span);
                            self.note(pattern.span, || {
                                let what = if negated { "shows" } else { "hides" };
                                let here = rest.join(&b'/');
                                format!("{what} `{}`", String::from_utf8_lossy(&here))
                            });
                        }
                    }
                }
            };
            list(top, &self.context.hide);
            for &index in chain {
                let mount = self.context.mounts.get(index)?;
                list(mount, &mount.hide);
            }
            if verdict.is_some() {
                return verdict;
            }
        }
        None
    }

    /// Inheritance: from the context inward; a mount's own value first, then
    /// its `on` blocks in order.
    fn effective(&self, chain: &[usize], place: &Segments, directory: bool) -> Effective {
        let mut fields = Effective::of_context(self.context);
        for (field, setting) in self.context.fields.iter() {
            self.note(setting.span, || format!("context: `{field}` is {}", setting.set));
        }
        for (depth, &index) in chain.iter().enumerate() {
            let Some(mount) = self.context.mounts.get(index) else { continue };
            if depth > 0 {
                // A grant is never inherited.
                fields.allow = (Permission::empty(), None);
            }
            let mut set = |f: &crate::hir::Fields, place: &str| {
                for (field, setting) in f.iter() {
                    self.note(setting.span, || format!("{place}: `{field}` is {}", setting.set));
                }
                let put = |slot: &mut Field, value: Option<crate::hir::Setting>| {
                    if let Some(s) = value {
                        *slot = (s.set, Some(s.span));
                    }
                };
                put(&mut fields.allow, f.allow);
                put(&mut fields.ask, f.ask);
                put(&mut fields.deny, f.deny);
            };
            set(&mount.fields, &format!("mount `{}`", mount.slug));
            let Some(rest) = self.below(mount, place) else { continue };
            for block in &mount.on {
                let applies = block.patterns.iter().any(|pattern| {
                    // The matching path and everything below it.
                    (1..=rest.len()).any(|end| {
                        let is_directory = end < rest.len() || directory;
                        let here = rest.get(..end).unwrap_or(rest);
                        glob::ignore(&pattern.node, here, is_directory) == Some(false)
                    })
                });
                if applies {
                    set(&block.fields, "`on` block");
                }
            }
        }
        fields
    }

    /// Deleting a directory reaches the mounts below it: the strictest of them
    /// counts where it is stricter than the answer on the path itself.
    fn deleting(&self, place: &Place, own: Answer) -> Answer {
        let mut below: Option<Answer> = None;
        for mount in &self.context.mounts {
            let Some(directory) = self.directory(&mount.host) else { continue };
            if directory.len() > place.segments.len() && directory.starts_with(&place.segments) {
                let at = Place { segments: directory, relative: false };
                let answer = self.at(&at, Permission::DELETE, true);
                below = Some(match below {
                    Some(b) => b.stricter(answer),
                    None => answer,
                });
            }
        }
        match below {
            Some(b) if b.effect < own.effect => Answer { mount: own.mount, rule: b.rule, ..b },
            _ => own,
        }
    }

    fn unconfined(&self, place: &Place, permissions: Permission, directory: bool) -> Answer {
        let hidden = |path: &[Vec<u8>]| {
            (1..=path.len()).find_map(|end| {
                let here = path.get(..end)?;
                let is_directory = end < path.len() || directory;
                let mut verdict = None;
                for pattern in &self.context.hide {
                    if let Some(negated) = glob::ignore(&pattern.node, here, is_directory) {
                        verdict = (!negated).then_some(pattern.span);
                    }
                }
                verdict
            })
        };
        let cwd = self.hosts.working_directory.as_ref().map(|d| normal(split(d, false)));
        let inside = cwd.and_then(|d| place.segments.strip_prefix(&d[..]).map(<[_]>::to_vec));
        match hidden(&place.segments).or_else(|| inside.and_then(|rest| hidden(&rest))) {
            Some(span) => Answer::new(Effect::Deny, Reason::Hidden, Some(span)),
            None => self.judge(Effective::of_context(self.context), permissions),
        }
    }

    /// A path word of a command: a program reads it as the host does. Approving edits is
    /// not approving commands, so `accept_edits` changes nothing here; and in `plan` it is
    /// the rule that has to be `readonly`, whatever its paths need.
    pub(super) fn path_word(&self, path: &[u8], permissions: Permission) -> Answer {
        let phase = match self.phase {
            Phase::AcceptEdits | Phase::Plan => Phase::Default,
            phase => phase,
        };
        let admitted = Oracle { phase, ..*self };
        admitted.path_in_admitted(path, permissions)
    }

    fn path_in_admitted(&self, path: &[u8], permissions: Permission) -> Answer {
        if self.admitted() {
            return self.path_by(path, permissions, Kind::Unknown, true);
        }
        // `accept_edits` is admitted and `default` is not: judge as written.
        let mut context = self.context.clone();
        context.phases.push(self.phase);
        Oracle { context: &context, ..*self }.path_by(path, permissions, Kind::Unknown, true)
    }
}
