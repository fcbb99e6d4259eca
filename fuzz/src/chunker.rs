//! Feeds bytes to the readers of Markdown, text, JSON and CSV, and what they make of them to the splitter.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| extract::checks::chunker(bytes));
