//! The pool of strings: each is stored once, and a name that is the tail or a
//! segment of a directory that is stored already points into it.

use super::Unfit;
use crate::source::Span;
use std::collections::HashMap;

/// A pool under construction.
#[derive(Debug, Default)]
pub(super) struct Strings {
    pool: Vec<u8>,
    known: HashMap<Vec<u8>, u32>,
}

impl Strings {
    /// Stores a directory and makes its segments and tails known.
    pub(super) fn directory(&mut self, text: &[u8]) {
        if self.known.contains_key(text) {
            return;
        }
        let start = self.pool.len();
        self.pool.extend_from_slice(text);
        let at = |offset: usize| u32::try_from(start.saturating_add(offset)).unwrap_or(u32::MAX);
        self.known.entry(text.to_vec()).or_insert(at(0));
        let mut offset = 0usize;
        for segment in text.split(|&b| b == b'/') {
            self.known.entry(segment.to_vec()).or_insert(at(offset));
            offset = offset.saturating_add(segment.len()).saturating_add(1);
        }
    }

    /// Where a string stands.
    pub(super) fn offset(&mut self, text: &[u8], span: Span) -> Result<u32, Unfit> {
        if let Some(&offset) = self.known.get(text) {
            return Ok(offset);
        }
        let offset = u32::try_from(self.pool.len()).unwrap_or(u32::MAX);
        self.pool.extend_from_slice(text);
        self.known.insert(text.to_vec(), offset);
        if self.pool.len() >= 1 << 24 {
            return Err(Unfit {
                span,
                message: "the names and directories of the policy take more than 16 MiB".into(),
                help: "split the policy into several tables".into(),
            });
        }
        Ok(offset)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.pool
    }
}
