//! Command strings and what they are taken apart into.
mod support;
