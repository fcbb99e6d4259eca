//! Makes what `models` counts tokens with: `cargo xtask convert-tokens RANKS CATEGORIES ASSETS`.
//!
//! RANKS is `assets/o200k_base.tiktoken` of the crate `tiktoken-rs` 0.12.1, the file that OpenAI publishes (its SHA-256
//! begins with `446a9538cb6c348e`). CATEGORIES is `src/unicode_tables/general_category.rs` of the crate
//! `regex-syntax` 0.8.11, the tables of Unicode 16 that the original counts by. ASSETS is the folder to write to.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// One for each code point there can be.
const CODE_POINTS: usize = 0x11_0000;

/// The tables that matter, each with the number of its class; what is in none has number 0.
const CLASSES: [(&str, u8); 7] = [
    ("UPPERCASE_LETTER", 1),
    ("TITLECASE_LETTER", 1),
    ("LOWERCASE_LETTER", 2),
    ("MODIFIER_LETTER", 3),
    ("OTHER_LETTER", 3),
    ("MARK", 4),
    ("NUMBER", 5),
];

/// Reads the ranks and the tables, and writes both assets.
pub(crate) fn run(ranks: &str, categories: &str, assets: &str) -> Result<()> {
    let ranks = fs::read_to_string(ranks).context("the ranks")?;
    let categories = fs::read_to_string(categories).context("the categories")?;
    let assets = Path::new(assets);
    fs::write(assets.join("o200k.bin"), tokens(&ranks)?)?;
    fs::write(assets.join("unicode-16-classes.bin"), runs(&classes(&categories)?)?)?;
    Ok(())
}

/// Each token in the order of ranks, as its length in one byte and its bytes.
fn tokens(ranks: &str) -> Result<Vec<u8>> {
    let mut asset = Vec::new();
    for (expected, line) in ranks.lines().enumerate() {
        let (token, rank) = line.split_once(' ').context("a line without a rank")?;
        ensure!(rank.parse() == Ok(expected), "rank {rank} stands where {expected} should");
        let token = STANDARD.decode(token)?;
        asset.push(u8::try_from(token.len())?);
        asset.extend(token);
    }
    Ok(asset)
}

/// By code point, the number of its class.
fn classes(source: &str) -> Result<Vec<u8>> {
    ensure!(source.contains("Unicode version: 16.0.0."), "not the tables of Unicode 16");
    let mut classes = vec![0; CODE_POINTS];
    for (name, class) in CLASSES {
        let start = format!("pub const {name}: ");
        let (_, table) = source.split_once(&start).with_context(|| format!("no table {name}"))?;
        let (table, _) = table.split_once("];").context("a table without an end")?;
        let (_, table) = table.split_once("&[\n").context("a table without a start")?;
        for range in table.lines() {
            let range = range.trim().strip_prefix('(').and_then(|range| range.strip_suffix("),"));
            let (first, last) =
                range.and_then(|range| range.split_once(", ")).context("not a range")?;
            let place = code_point(first)?..=code_point(last)?;
            classes.get_mut(place).context("a range beyond the last character")?.fill(class);
        }
    }
    Ok(classes)
}

/// Reads a character as Rust writes it: `'a'` or `'\u{300}'`.
fn code_point(literal: &str) -> Result<usize> {
    let inside = literal.strip_prefix('\'').and_then(|inside| inside.strip_suffix('\''));
    let inside = inside.with_context(|| format!("{literal} is not a character"))?;
    if let Some(digits) = inside.strip_prefix("\\u{").and_then(|digits| digits.strip_suffix('}')) {
        return Ok(usize::from_str_radix(digits, 16)?);
    }
    let mut characters = inside.chars();
    let character = characters.next().filter(|_| characters.next().is_none());
    Ok(character.with_context(|| format!("{literal} is not a character"))? as usize)
}

/// Runs of one class, from the first code point on: eight times its length and its class, as a number of which each
/// byte holds seven bits, the lowest first, and the eighth says that there are more.
fn runs(classes: &[u8]) -> Result<Vec<u8>> {
    let mut asset = Vec::new();
    for run in classes.chunk_by(|left, right| left == right) {
        let class = run.first().copied().unwrap_or_default();
        let mut number = run.len() * 8 + usize::from(class);
        while number >= 0x80 {
            asset.push(u8::try_from(number & 0x7f)? | 0x80);
            number >>= 7;
        }
        asset.push(u8::try_from(number)?);
    }
    Ok(asset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_written_with_its_length_and_out_of_order_not_at_all() {
        assert_eq!(tokens("IQ== 0\naGk= 1\n").unwrap(), b"\x01!\x02hi");
        assert!(tokens("IQ== 1\n").is_err());
        assert!(tokens("IQ==\n").is_err());
    }

    #[test]
    fn a_character_is_read_as_it_is_written_in_rust() {
        assert_eq!(code_point("'a'").unwrap(), 0x61);
        assert_eq!(code_point("'가'").unwrap(), 0xac00);
        assert_eq!(code_point("'\\u{300}'").unwrap(), 0x300);
        for wrong in ["a", "''", "'ab'", "'\\u{x}'"] {
            assert!(code_point(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_run_is_one_number() {
        assert_eq!(runs(&[0, 0, 1, 3, 3, 3]).unwrap(), [16, 9, 27]);
        assert_eq!(runs(&[2; 100]).unwrap(), [0xa2, 0x06]);
    }
}
