//! Cuts text into the pieces the network knows: the likeliest way to spell it (a unigram model).
//!
//! The marks are no text: where a text says `</s>`, that is four characters and ends nothing.

use super::asset::{DamagedAsset, Keys, Reader};
use super::normalizer::{Normalizer, WORD_START};
use super::trie::Trie;

/// Stands for a character that no piece has.
pub(super) const UNKNOWN: u32 = 0;
/// Stands before every text.
const START: u32 = 1;
/// Stands after every text.
const END: u32 = 2;
/// How many pieces are marks rather than text; the others are numbered from here on.
pub(super) const MARKS: u32 = 3;

/// Longest run without a space that is spelt as one, in bytes: what is longer is no word, and is
/// cut there so that the tables of a run stay small.
const RUN_BYTES_MAX: usize = 4096;

/// The pieces, how likely each is, and how text is written before it is cut.
#[derive(Debug)]
pub(super) struct Tokenizer {
    normalizer: Normalizer,
    pieces: Trie,
    /// By piece without the marks, the logarithm of how likely it is.
    scores: Vec<f32>,
    /// That of a character that has no piece.
    unknown_score: f32,
    #[cfg(test)]
    texts: Vec<String>,
}

/// The best spelling up to a place in a run.
#[derive(Debug, Clone, Copy)]
struct Best {
    score: f64,
    /// Where the spelling's last piece begins, and which it is.
    from: usize,
    piece: u32,
}

impl Tokenizer {
    /// Reads the normalizer's table and the pieces from the asset.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DamagedAsset> {
        let normalizer = Normalizer::read(reader)?;
        let count = reader.count()?;
        let unknown_score = reader.float()?;
        let mut keys = Keys::default();
        let mut scores = Vec::with_capacity(count);
        for _ in 0..count {
            reader.next_key(&mut keys)?;
            scores.push(reader.float()?);
        }
        let keys = keys.slices();
        if keys.iter().any(|key| std::str::from_utf8(key).is_err()) {
            return Err(DamagedAsset("a piece is not UTF-8"));
        }
        Ok(Self {
            normalizer,
            pieces: Trie::new(&keys).ok_or(DamagedAsset("the pieces are out of order"))?,
            scores,
            unknown_score,
            #[cfg(test)]
            texts: keys.iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect(),
        })
    }

    /// How many pieces there are, the marks among them.
    pub(super) fn len(&self) -> usize {
        self.scores.len() + MARKS as usize
    }

    /// The pieces of a text between the marks for start and end, at most `pieces_max` with them:
    /// of a longer text, the beginning.
    pub(super) fn encode(&self, text: &str, pieces_max: usize) -> Vec<u32> {
        let mut pieces = vec![START];
        let limit = pieces_max.saturating_sub(1).max(2);
        self.spell(text, &mut pieces, limit);
        if pieces.len() == 1 {
            pieces.push(UNKNOWN);
        }
        pieces.truncate(limit);
        pieces.push(END);
        pieces
    }

    /// How many pieces the whole text has, the marks not counted.
    pub(super) fn count(&self, text: &str) -> usize {
        let mut pieces = Vec::new();
        self.spell(text, &mut pieces, usize::MAX);
        pieces.len()
    }

    /// A piece as text, for tests to compare with the original's.
    #[cfg(test)]
    pub(super) fn piece_text(&self, piece: u32) -> &str {
        match piece.checked_sub(MARKS) {
            Some(position) => self.texts.get(position as usize).map_or("", String::as_str),
            None => ["<unk>", "<s>", "</s>"].get(piece as usize).copied().unwrap_or(""),
        }
    }

    /// Adds the text's pieces, and stops after the word that reaches `limit`.
    fn spell(&self, text: &str, pieces: &mut Vec<u32>, limit: usize) {
        let normalized = self.normalizer.normalize(text);
        let mut best = Vec::new();
        let mut rest = normalized.as_str();
        while !rest.is_empty() && pieces.len() < limit {
            let (run, left) = split_run(rest);
            self.spell_run(run, &mut best, pieces);
            rest = left;
        }
    }

    /// Adds the pieces of one run. No piece reaches over the start of a word, so that the best
    /// spelling of a text is that of its runs.
    fn spell_run(&self, run: &str, best: &mut Vec<Best>, pieces: &mut Vec<u32>) {
        best.clear();
        let unreached = Best { score: f64::NEG_INFINITY, from: 0, piece: UNKNOWN };
        best.resize(run.len() + 1, unreached);
        if let Some(start) = best.first_mut() {
            start.score = 0.0;
        }
        for (from, character) in run.char_indices() {
            self.spell_from(run, from, character.len_utf8(), best);
        }
        let added = pieces.len();
        let mut end = run.len();
        while end > 0
            && let Some(last) = best.get(end)
        {
            pieces.push(last.piece);
            end = last.from;
        }
        if let Some(reversed) = pieces.get_mut(added..) {
            reversed.reverse();
        }
    }

    /// Tries each piece that begins at `from`, and the unknown one where no piece is the character.
    #[inline]
    fn spell_from(&self, run: &str, from: usize, character_bytes: usize, best: &mut [Best]) {
        let Some(score_before) = best.get(from).map(|before| before.score) else { return };
        let bytes = run.as_bytes().get(from..).unwrap_or_default();
        let mut improve = |length: usize, piece: u32, score: f32| {
            let score = score_before + f64::from(score);
            if let Some(place) = best.get_mut(from + length)
                && score > place.score
            {
                *place = Best { score, from, piece };
            }
        };
        let mut character_known = false;
        for (length, position) in self.pieces.prefixes(bytes) {
            let score = self.scores.get(position as usize).copied().unwrap_or(self.unknown_score);
            improve(length, position + MARKS, score);
            character_known |= length == character_bytes;
        }
        if !character_known {
            improve(character_bytes, UNKNOWN, self.unknown_score);
        }
    }
}

/// Cuts off the first run: up to the next start of a word, or to [`RUN_BYTES_MAX`].
fn split_run(text: &str) -> (&str, &str) {
    let first = text.chars().next().map_or(0, char::len_utf8);
    let after_first = text.get(first..).unwrap_or_default();
    let word = after_first.find(WORD_START).map_or(text.len(), |at| first + at);
    let end = word.min(text.floor_char_boundary(RUN_BYTES_MAX));
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The text's beginning, cut at a character.
pub(super) fn clip(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}
