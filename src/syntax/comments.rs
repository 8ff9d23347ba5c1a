//! Comments beside the tree, and documentation for what it documents.
//!
//! The grammar skips all comments alike. `///` lines belong to the item or
//! statement whose first token follows them, annotations between or not;
//! `////` is an ordinary rule-off line.

use super::ast::Comment;
use crate::source::{FileId, Span};
use std::ops::Range;

/// Comments with their text.
pub(super) fn collect(file: FileId, text: &str, ranges: &[Range<usize>]) -> Vec<Comment> {
    let comment = |range: &Range<usize>| Comment {
        text: text.get(range.clone()).unwrap_or("").trim_end().to_owned(),
        span: Span::new(file, range.start, range.end),
    };
    ranges.iter().map(comment).collect()
}

/// The documentation lines among the comments between two places.
/// Cost: logarithmic in the comments, linear in those between.
pub(super) fn docs(comments: &[Comment], from: usize, to: usize) -> Vec<String> {
    let first = comments.partition_point(|c| (c.span.start as usize) < from);
    let between = comments.iter().skip(first).take_while(|c| (c.span.start as usize) < to);
    between.filter_map(|c| doc(&c.text)).collect()
}

fn doc(text: &str) -> Option<String> {
    let line = text.strip_prefix("///").filter(|rest| !rest.starts_with('/'))?;
    Some(line.strip_prefix(' ').unwrap_or(line).to_owned())
}
