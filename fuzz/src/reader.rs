//! The instrumented program: one reader, selected by the environment, fed by libFuzzer.

#![no_main]

use std::sync::LazyLock;

use iostall_fuzz::{READER_VARIABLE, Reader};

static READER: LazyLock<Reader> = LazyLock::new(|| {
    let name = std::env::var(READER_VARIABLE).unwrap_or_default();
    Reader::named(&name).unwrap_or_else(|| panic!("{READER_VARIABLE} names no reader: {name:?}"))
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| (READER.check)(input));
