//! Decides what an AI agent may touch, from a table compiled by `meroc`.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
