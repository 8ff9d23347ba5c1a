//! The parts of a word. Almost every word is of one part, which takes no list of its own.

use super::Part;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

/// Parts of a word, in order: a slice of [`Part`].
#[derive(Clone, Default)]
pub struct Parts(Held);

#[derive(Clone, Default)]
enum Held {
    #[default]
    None,
    One(Part),
    Many(Vec<Part>),
}

impl Parts {
    /// A single part.
    #[must_use]
    pub const fn one(part: Part) -> Parts {
        Parts(Held::One(part))
    }

    /// Adds a part at the end.
    pub(super) fn push(&mut self, part: Part) {
        self.0 = match core::mem::take(&mut self.0) {
            Held::None => Held::One(part),
            Held::One(first) => Held::Many(alloc::vec![first, part]),
            Held::Many(mut parts) => {
                parts.push(part);
                Held::Many(parts)
            }
        };
    }

    /// Keeps the first parts.
    pub(super) fn truncate(&mut self, length: usize) {
        match &mut self.0 {
            Held::Many(parts) => parts.truncate(length),
            held if length == 0 => *held = Held::None,
            _ => {}
        }
    }
}

impl Deref for Parts {
    type Target = [Part];

    fn deref(&self) -> &[Part] {
        match &self.0 {
            Held::None => &[],
            Held::One(part) => core::slice::from_ref(part),
            Held::Many(parts) => parts,
        }
    }
}

impl DerefMut for Parts {
    fn deref_mut(&mut self) -> &mut [Part] {
        match &mut self.0 {
            Held::None => &mut [],
            Held::One(part) => core::slice::from_mut(part),
            Held::Many(parts) => parts,
        }
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Parts) -> bool {
        **self == **other
    }
}

impl Eq for Parts {}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<'p> IntoIterator for &'p Parts {
    type Item = &'p Part;
    type IntoIter = core::slice::Iter<'p, Part>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
