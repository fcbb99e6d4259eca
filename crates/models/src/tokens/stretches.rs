//! Cuts a text where its tokens are cut anyway, so that long texts are counted in short parts.

/// Length from which a stretch ends at the next sure place, in bytes: a few hundred tokens.
const STRETCH_BYTES: usize = 4 * 1024;

/// Length at which a stretch ends in any case, in bytes. No text for people is so long without a word's end; for
/// other text the count may then be off by a token or two per cut. Longer stretches cost too much time.
const STRETCH_BYTES_MAX: usize = 16 * 1024;

/// The parts of a text, in order; together they are the text.
pub(super) fn stretches(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (stretch, others) = rest.split_at_checked(end(rest))?;
        rest = others;
        (!stretch.is_empty()).then_some(stretch)
    })
}

/// Where the first stretch of a text ends.
fn end(text: &str) -> usize {
    if text.len() <= STRETCH_BYTES {
        return text.len();
    }
    let from = text.floor_char_boundary(STRETCH_BYTES);
    let most = text.floor_char_boundary(STRETCH_BYTES_MAX);
    let mut letters = text.get(from..most).unwrap_or_default().char_indices();
    let mut before = letters.next().map_or(' ', |(_, letter)| letter);
    while let Some((place, letter)) = letters.next() {
        let next = letters.clone().next().map_or(' ', |(_, letter)| letter);
        if is_cut(before, letter, next) {
            return from + place;
        }
        before = letter;
    }
    most
}

/// Whether o200k always begins a new piece at `letter`: a single blank between a letter or digit and a letter goes
/// with the word after it, whatever stands around them.
fn is_cut(before: char, letter: char, next: char) -> bool {
    letter == ' ' && before.is_alphanumeric() && next.is_alphabetic()
}
