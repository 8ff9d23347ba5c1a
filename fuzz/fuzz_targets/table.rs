//! Bytes with the digest that belongs to them: only validation protects, and what
//! it accepts answers every request. The magic, version and length are made
//! right as well, so that the fuzzer need not find them.
#![no_main]

#[path = "../../tests/common/exercise.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;
use mero_runtime::format::{HEADER, MAGIC, VERSION};

fuzz_target!(|bytes: &[u8]| {
    exercise::read(bytes, true);
    if bytes.len() < HEADER {
        return;
    }
    let mut table = bytes.to_vec();
    table[..8].copy_from_slice(&MAGIC);
    table[8..12].copy_from_slice(&VERSION.to_le_bytes());
    exercise::sign(&mut table, true);
    exercise::read(&table, false);
});
