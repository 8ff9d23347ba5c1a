//! The names of places: which strings of a space virtual path patterns mean.
//!
//! One file may be named in several ways: `/x` and `/root/x`, `/data/x` and
//! `/root/data/x`, and by the host's own path where mounts have absolute directories. A
//! claim about paths is about files, so a pattern means a place if it matches any of its
//! names.

#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "states and mounts index what was built for them"
)]

use super::{Alphabet, Model};
use crate::automata::{Dfa, TooLarge, difference, union};
use crate::hir::Anchor;
use crate::limits::MAX_PRODUCT_STATES;

impl Model<'_> {
    /// The strings of a space one of whose names a language of virtual paths (without
    /// their leading `/`) has.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn named(
        &self,
        space: usize,
        names: &Dfa<bool>,
        alphabet: &Alphabet,
    ) -> Result<Dfa<bool>, TooLarge> {
        let anchor = self.spaces[space].anchor;
        let mounts = &self.context.mounts;
        // Host paths; and all there is, where nothing is mounted.
        let mut all = match anchor {
            Anchor::Absolute => names.clone(),
            _ => Dfa::constant(&alphabet.classes, false),
        };
        for mount in mounts.iter().filter(|m| m.host.anchor == anchor) {
            let directory = mount.host.segments.join("/");
            let own = moved(names, &directory, &mount.slug);
            all = union(&all, &own, MAX_PRODUCT_STATES)?;
            if mount.slug != "root" {
                continue;
            }
            // Without `root` in front; there, the names of other mounts are theirs.
            let mut bare = names.clone();
            for other in mounts {
                let mut there = mount.host.clone();
                there.segments.push(other.slug.clone());
                if there != other.host {
                    let theirs = alphabet.question(&format!("/{}", other.slug))?;
                    bare = difference(&bare, &theirs, MAX_PRODUCT_STATES)?;
                }
            }
            all = union(&all, &moved(&bare, &directory, ""), MAX_PRODUCT_STATES)?;
        }
        Ok(all)
    }
}

/// The strings `directory/rest` (or `directory` itself) for which `name/rest` (or `name`)
/// is in a language.
fn moved(language: &Dfa<bool>, directory: &str, name: &str) -> Dfa<bool> {
    let classes = language.classes();
    let width = classes.count();
    let at = language.advance(language.start(), name.as_bytes());
    // Behind the directory's own `/`.
    let inside = if name.is_empty() { language.start() } else { language.step(at, b'/') };
    let own = !name.is_empty() && *language.label(at);
    let mut trans = language.transitions().to_vec();
    let mut labels = language.labels().to_vec();
    let (first, dead) = (labels.len() as u32, labels.len() as u32 + 1);
    let bytes = directory.as_bytes();
    // `first` is the start, then comes `dead`, then one state for each byte.
    let chain = |i: usize| if i == 0 { first } else { first + 1 + i as u32 };
    let slash = usize::from(classes.class(b'/'));
    let row = |i: usize| -> Vec<u32> {
        let mut row = vec![dead; width];
        match bytes.get(i) {
            Some(&byte) => row[usize::from(classes.class(byte))] = chain(i + 1),
            // The anchor's own directory: the rest begins at once.
            None if bytes.is_empty() => {
                for (class, to) in row.iter_mut().enumerate() {
                    *to = language.next(inside, class as u8);
                }
            }
            None => row[slash] = inside,
        }
        row
    };
    trans.extend(row(0));
    labels.push(bytes.is_empty() && own);
    trans.extend(std::iter::repeat_n(dead, width));
    labels.push(false);
    for i in 1..=bytes.len() {
        trans.extend(row(i));
        labels.push(i == bytes.len() && own);
    }
    let whole = Dfa::from_parts(classes, trans, labels, first);
    whole.map_or_else(|| Dfa::constant(classes, false), |d| d.map(|&l| l))
}
