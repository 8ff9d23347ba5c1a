//! Text to tree: the concrete syntax of Mero, edition 1.
//!
//! Takes the text of one file, gives a [`ast::File`] and every syntax error of
//! the file at once. Sees no other file and resolves no name.

pub mod ast;
