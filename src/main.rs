//! The `meroc` command.
#![forbid(unsafe_code)]

fn main() {}
