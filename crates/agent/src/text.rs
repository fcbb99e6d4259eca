//! Cuts text without breaking a character, and what is kept as a line with a text behind it.

use simdutf8::basic::Utf8Error;

/// The longest prefix of `text` of at most `bytes_max` bytes that ends between two characters.
#[must_use]
pub fn clip(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

/// The first line, and the text behind it as it is: how what has a text of its own is kept without escaping it.
pub fn line_and_text(bytes: &[u8]) -> Result<(&[u8], &str), Utf8Error> {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (line, rest) = bytes.split_at(end);
    Ok((line, simdutf8::basic::from_utf8(rest.get(1..).unwrap_or_default())?))
}

/// How many of the bytes are such. A processor counts many at once as long as the number fits into a byte itself.
pub fn count_bytes(bytes: &[u8], is_such: impl Fn(u8) -> bool) -> usize {
    let few = bytes.chunks(usize::from(u8::MAX));
    few.map(|few| usize::from(few.iter().map(|byte| u8::from(is_such(*byte))).sum::<u8>())).sum()
}

#[cfg(test)]
mod tests {
    use super::{clip, count_bytes, line_and_text};

    #[test]
    fn bytes_are_counted_beyond_what_a_byte_can_count() {
        for length in [0, 1, 254, 255, 256, 510, 511, 10_000] {
            assert_eq!(count_bytes(&vec![b'a'; length], |byte| byte == b'a'), length);
            assert_eq!(count_bytes(&vec![b'b'; length], |byte| byte == b'a'), 0);
        }
    }

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
