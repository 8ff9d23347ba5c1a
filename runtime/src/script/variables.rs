//! Variables in command strings: which names may be set, before a command, on their
//! own, or by a builtin.

use super::allowed;
use crate::command::{Found, NO_RULE};
use crate::decision::{Decision, Phase};
use crate::shell::{Assignment, Part, Simple, Word};
use crate::table::Context;

impl Context<'_> {
    /// Whether a name may be assigned for the commands that follow: it is listed,
    /// or begins in lower case, as the variables of scripts do and those that
    /// programs heed do not.
    pub(super) fn harmless(&self, name: &[u8]) -> bool {
        name.first().is_some_and(u8::is_ascii_lowercase) || self.env_lists(name)
    }

    pub(super) fn env_lists(&self, name: &[u8]) -> bool {
        self.env().any(|listed| match listed.strip_suffix(b"*") {
            Some(prefix) => name.starts_with(prefix),
            None => listed == name,
        })
    }

    pub(super) fn assignment(
        &self,
        phase: Phase,
        command: &Simple,
        assignment: &Assignment,
    ) -> Decision {
        let fine = if command.words.is_empty() {
            self.harmless(&assignment.name)
        } else {
            self.env_lists(&assignment.name)
        };
        if fine { allowed() } else { self.opaque_decision(phase) }
    }

    /// Builtins that set variables: the names must be harmless. `None` where the
    /// rules decide as usual.
    pub(super) fn builtin(
        &self,
        phase: Phase,
        name: &[u8],
        words: &[Word],
        own: &Found,
    ) -> Option<Decision> {
        let rest = words.get(1..).unwrap_or(&[]);
        let opaque = || Some(self.opaque_decision(phase));
        let known = rest.iter().map(|w| {
            w.parts.first().map_or(Some(&b""[..]), |p| match p {
                Part::Known(bytes) => Some(bytes.as_slice()),
                _ => None,
            })
        });
        match name {
            b"export" | b"declare" | b"typeset" | b"local" | b"readonly" => {
                for (head, word) in known.zip(rest) {
                    let Some(head) = head else { return opaque() };
                    if head.starts_with(b"-") || head.starts_with(b"+") {
                        // `-n` makes a reference, `-f` is about functions.
                        let plain = word
                            .known()
                            .is_some_and(|k| k.iter().skip(1).all(|b| b"xrgpl".contains(b)));
                        if plain { continue } else { return opaque() }
                    }
                    let end = head.iter().position(|&b| b == b'=' || b == b'+');
                    if end.is_none() && word.known().is_none() {
                        return opaque();
                    }
                    let variable = head.get(..end.unwrap_or(head.len())).unwrap_or(head);
                    let fine = if name == b"export" {
                        self.env_lists(variable)
                    } else {
                        self.harmless(variable)
                    };
                    if !fine || variable.contains(&b'[') {
                        return opaque();
                    }
                }
                // Listing the name says that it may be set.
                let plain = own.effect == NO_RULE && !rest.is_empty() && phase != Phase::Plan;
                plain.then(allowed)
            }
            b"printf" => {
                let first = rest.first()?;
                match first.known() {
                    Some(k) if k.starts_with(b"-v") => {
                        let inline = k.get(2..).filter(|n| !n.is_empty());
                        let variable = inline.or_else(|| rest.get(1).and_then(Word::known));
                        if variable.is_some_and(|v| self.harmless(v)) { None } else { opaque() }
                    }
                    Some(_) => None,
                    // A format that is not known could be `-v`.
                    None if first.parts.first().is_some_and(
                        |p| matches!(p, Part::Known(k) if !k.is_empty() && !k.starts_with(b"-")),
                    ) =>
                    {
                        None
                    }
                    None => opaque(),
                }
            }
            b"read" | b"mapfile" | b"readarray" | b"getopts" | b"unset" | b"let" => {
                let fine = rest.iter().all(|w| {
                    w.known().is_some_and(|k| {
                        let first = k.first().copied().unwrap_or(b'a');
                        let plain =
                            k.iter().all(|b| b.is_ascii_alphanumeric() || b"_-:.,;/ ".contains(b));
                        plain && (!first.is_ascii_uppercase() || self.env_lists(k)) && first != b'_'
                    })
                });
                if fine && name != b"let" { None } else { opaque() }
            }
            _ => None,
        }
    }
}
