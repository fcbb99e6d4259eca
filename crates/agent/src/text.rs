//! Cuts text without breaking a character, and what is kept as a line with a text behind it.

use std::str::Utf8Error;

/// The longest prefix of `text` of at most `bytes_max` bytes that ends between two characters.
#[must_use]
pub fn clip(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

/// The first line, and the text behind it as it is: how what has a text of its own is kept without escaping it.
pub fn line_and_text(bytes: &[u8]) -> Result<(&[u8], &str), Utf8Error> {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (line, rest) = bytes.split_at(end);
    Ok((line, str::from_utf8(rest.get(1..).unwrap_or_default())?))
}

#[cfg(test)]
mod tests {
    use super::{clip, line_and_text};

    #[test]
    fn the_text_behind_a_line_may_have_lines_or_be_missing() {
        assert_eq!(line_and_text("{}\n샘\n물\n".as_bytes()), Ok((&b"{}"[..], "샘\n물\n")));
        assert_eq!(line_and_text(b"{}\n"), Ok((&b"{}"[..], "")));
        assert_eq!(line_and_text(b"{}"), Ok((&b"{}"[..], "")));
        assert!(line_and_text(b"{}\n\xff").is_err());
    }

    #[test]
    fn a_hangul_syllable_is_never_cut_in_two() {
        assert_eq!(clip("샘물", 4), "샘");
        assert_eq!(clip("샘물", 6), "샘물");
        assert_eq!(clip("샘물", 100), "샘물");
        assert_eq!(clip("샘물", 2), "");
    }
}
