//! Texts that come along with a question: they are read as passages of that turn, and kept nowhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::filter::Tags;
use crate::knowledge::{Excerpt, Found, Passage};
use crate::names::{DocumentId, SectionId};
use crate::retrieval::Marks;
use crate::text::clip;

/// A text with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enclosure {
    pub name: String,
    pub text: String,
}

/// Longest piece of a text that is a passage, in bytes: about as long as a chunk of a document.
const PIECE_BYTES_MAX: usize = 1_500;

/// Pieces of all texts together that are read: as many as fill the passages' share of a context.
const PIECES_MAX: usize = 5;

/// The pieces of the texts that say most of what is asked, in the order of the texts.
#[must_use]
pub fn passages(question: &str, enclosures: &[Enclosure]) -> Vec<Passage> {
    let asked = words(question);
    let mut pieces: Vec<(usize, &Enclosure, usize, &str)> = Vec::new();
    for enclosure in enclosures {
        for (ordinal, piece) in cut(&enclosure.text).into_iter().enumerate() {
            pieces.push((words(piece).intersection(&asked).count(), enclosure, ordinal, piece));
        }
    }
    let mut places: Vec<usize> = (0..pieces.len()).collect();
    // Stable: of pieces that say as much, the first ones.
    places.sort_by_key(|place| std::cmp::Reverse(pieces.get(*place).map(|piece| piece.0)));
    places.truncate(PIECES_MAX);
    places.sort_unstable();
    let chosen = places.into_iter().filter_map(|place| pieces.get(place));
    chosen
        .filter_map(|(_, enclosure, ordinal, piece)| passage(enclosure, *ordinal, piece))
        .collect()
}

fn words(text: &str) -> BTreeSet<String> {
    let words =
        text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Cuts a text at the ends of lines, or in a long line anywhere.
fn cut(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let most = clip(rest, PIECE_BYTES_MAX);
        let end = match most.rfind('\n') {
            Some(end) if most.len() < rest.len() && end > 0 => end,
            _ => most.len().max(1),
        };
        let Some((piece, after)) = rest.split_at_checked(end) else { break };
        pieces.push(piece);
        rest = after.trim_start();
    }
    pieces
}

fn passage(enclosure: &Enclosure, ordinal: usize, piece: &str) -> Option<Passage> {
    let document: DocumentId = format!("{:032x}", number(&enclosure.name)).parse().ok()?;
    let ordinal = u32::try_from(ordinal).ok()?;
    let excerpt = Excerpt {
        section: SectionId { document: document.clone(), ordinal },
        document,
        chunk: ordinal,
        title: enclosure.name.clone(),
        source: enclosure.name.clone(),
        heading_path: vec![enclosure.name.clone()],
        text: piece.to_owned(),
        range: 0..piece.len(),
        tags: Tags::new(),
        marks: Marks::default(),
    };
    Some(Passage { excerpt: Arc::new(excerpt), score: 1.0, found: Found::default() })
}

/// A number for a name: FNV-1a of 128 bits. No document has such a number, as theirs are made of more than a name.
fn number(name: &str) -> u128 {
    name.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |sum, byte| {
        (sum ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(question: &str, text: &str) -> Vec<String> {
        let enclosures = [Enclosure { name: "a.txt".to_owned(), text: text.to_owned() }];
        passages(question, &enclosures).iter().map(|passage| passage.text.clone()).collect()
    }

    #[test]
    fn a_short_text_is_one_passage_under_its_name() {
        let enclosures = [Enclosure {
            name: "메모.md".to_owned(),
            text: "예산은 백만 원이다.\n".to_owned(),
        }];
        let found = passages("예산은?", &enclosures);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].title.as_str(), found[0].text.as_str()),
            ("메모.md", "예산은 백만 원이다.")
        );
    }

    #[test]
    fn of_a_long_text_the_pieces_that_say_what_is_asked_are_read() {
        let filler = format!("{}\n", "nothing of interest here ".repeat(50));
        let text = format!("{}The budget is seven.\n{}", filler.repeat(20), filler.repeat(20));
        let found = texts("How large is the budget?", &text);
        assert_eq!(found.len(), PIECES_MAX);
        assert!(found.iter().any(|piece| piece.contains("budget is seven")), "{found:?}");
        assert!(found.iter().all(|piece| piece.len() <= PIECE_BYTES_MAX));
    }

    #[test]
    fn a_line_without_end_is_cut_between_letters() {
        let found = texts("x", &"가".repeat(2_000));
        assert_eq!(found.len(), 4);
        assert!(texts("x", " \n ").is_empty());
    }
}
