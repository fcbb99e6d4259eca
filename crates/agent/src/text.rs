//! Cuts text without breaking a character.

/// The longest prefix of `text` of at most `bytes_max` bytes that ends between two characters.
#[must_use]
pub fn clip(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::clip;

    #[test]
    fn a_hangul_syllable_is_never_cut_in_two() {
        assert_eq!(clip("샘물", 4), "샘");
        assert_eq!(clip("샘물", 6), "샘물");
        assert_eq!(clip("샘물", 100), "샘물");
        assert_eq!(clip("샘물", 2), "");
    }
}
