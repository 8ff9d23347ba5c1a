//! Argument vectors in which every word may be preceded by a *letter*.
//!
//! Some rules apply only where a path among the words is granted. To ask about such
//! rules and all others on the same strings, each word is written with one byte in
//! front that says what the word would be granted, and each word pattern is read to
//! allow any letter or only some. A rule over texts is pulled back to vectors: a NUL
//! between words reads as a blank, letters read as nothing.

// States are numbered within tables that are built here.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::alphabet::{ByteSet, Classes};
use super::dfa::Dfa;
use super::minimize::minimize;
use std::sync::Arc;

/// All vectors: at least one word, the first one not empty; with a byte of `letters` in
/// front of each word, unless there are none.
pub fn valid(classes: &Arc<Classes>, letters: ByteSet, nonempty: bool) -> Dfa<bool> {
    // 0 first word begins, 1 in it at its first byte, 2 inside a word, 3 a word ended
    // (accepting), 4 a later word's first byte, 5 dead.
    let with = !letters.is_empty();
    let mut trans = Vec::new();
    for state in 0..6_u32 {
        for &byte in classes.reps() {
            let inside = |empty_ok: bool| match byte {
                0 if empty_ok => 3,
                0 => 5,
                _ => 2,
            };
            trans.push(match state {
                0 if with && letters.contains(byte) => 1,
                0 if with => 5,
                0 | 1 => inside(false),
                2 => inside(true),
                3 if with && letters.contains(byte) => 4,
                3 if with => 5,
                3 | 4 => inside(!nonempty),
                _ => 5,
            });
        }
    }
    let labels = vec![false, false, false, true, false, false];
    minimize(&Dfa { classes: Arc::clone(classes), trans, labels, start: 0 })
}

/// The vectors whose text (words joined by blanks) an automaton accepts.
pub fn pulled_back(text: &Dfa<bool>, letters: ByteSet) -> Dfa<bool> {
    let classes = &text.classes;
    let n = text.states() as u32;
    let with = !letters.is_empty();
    // q: inside a word. n + q: a word ended there. 2n: nothing read. 2n + 1: dead.
    let (ended, start, dead) = (|q: u32| n + q, 2 * n, 2 * n + 1);
    let mut trans = Vec::new();
    for q in 0..n {
        for &byte in classes.reps() {
            trans.push(if byte == 0 { ended(q) } else { text.step(q, byte) });
        }
    }
    for q in 0..n {
        let blank = text.step(q, b' ');
        for &byte in classes.reps() {
            trans.push(match byte {
                _ if with => {
                    if letters.contains(byte) {
                        blank
                    } else {
                        dead
                    }
                }
                0 => ended(blank),
                _ => text.step(blank, byte),
            });
        }
    }
    for &byte in classes.reps() {
        trans.push(match byte {
            _ if with => {
                if letters.contains(byte) {
                    text.start
                } else {
                    dead
                }
            }
            0 => ended(text.start),
            _ => text.step(text.start, byte),
        });
    }
    trans.extend(std::iter::repeat_n(dead, classes.count()));
    let mut labels = vec![false; n as usize];
    labels.extend(text.labels.iter().copied());
    labels.extend([false, false]);
    minimize(&Dfa { classes: Arc::clone(classes), trans, labels, start })
}
