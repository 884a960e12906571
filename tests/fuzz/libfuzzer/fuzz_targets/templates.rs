//! libFuzzer on `entry::templates`.
#![no_main]

#[path = "../../entry.rs"]
#[allow(dead_code, reason = "each target calls one of them")]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    entry::templates(bytes);
});
