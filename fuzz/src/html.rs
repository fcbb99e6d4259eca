//! Feeds bytes to the reader of HTML, and what it makes of them to the splitter.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| extract::checks::html(bytes));
