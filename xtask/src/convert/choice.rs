//! Chooses the pieces that stay: what Korean, English, numbers, signs and code are written with.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::sentencepiece::{Model, Piece, WORD_START};

/// How many Latin pieces are kept as they are: these make up nearly all English text.
const LATIN_EXACT: usize = 42_000;
/// How much a word's use says of it with a capital, and in capitals.
const CAPITAL_SHARE: f32 = 0.2;
const CAPITALS_SHARE: f32 = 0.02;
/// The latter for words of so many letters, which may be abbreviations.
const ABBREVIATION_SHARE: f32 = 0.2;
const ABBREVIATION_LETTERS_MAX: usize = 4;
/// And how much after another sign than a space: in quotation marks, in a name in code.
const INSIDE_SHARE: f32 = 0.1;
/// And how much of a piece that is a word with capitals of its own, as names of products have them.
const OWN_CAPITALS_SHARE: f32 = 0.5;
/// A word's weight is one by its position in the list, counted from here: Zipf's law, flattened.
const FIRST_POSITION: f32 = 10.0;

/// The numbers of pieces in the order in which they are worth their place.
pub(crate) struct Ranked {
    /// These stay in any case.
    pub(crate) always: Vec<usize>,
    /// Of these, as many as there is room for.
    pub(crate) if_room: Vec<usize>,
    /// Of all, those rare enough to be kept coarsely.
    pub(crate) coarse: Vec<usize>,
}

/// What a piece's text says of it.
enum Class {
    /// A Hangul piece, a number or signs, or a single Latin letter.
    Always,
    /// A single character of another script.
    Foreign,
    /// A word or part of one in Latin letters, in one of several languages.
    Latin,
    /// Several letters of another script.
    Other,
}

/// Ranks the pieces: those that always stay, then the Latin ones by how much the words use them,
/// and those that no word uses by their score. The words are given the most frequent first.
pub(crate) fn rank<'w>(model: &Model, words: impl Iterator<Item = &'w str>) -> Ranked {
    let mut always = Vec::new();
    let mut latin = Vec::new();
    let mut coarse = Vec::new();
    for (number, piece) in model.pieces.iter().enumerate() {
        match class(piece) {
            Class::Always => always.push(number),
            Class::Foreign => coarse.push(number),
            Class::Latin => latin.push(number),
            Class::Other => {}
        }
    }
    let used = use_in(model, words);
    sort_by_worth(&mut latin, model, &used);
    always.extend(&coarse);
    coarse.extend(latin.iter().skip(LATIN_EXACT));
    Ranked { always, if_room: latin, coarse }
}

fn sort_by_worth(pieces: &mut [usize], model: &Model, used: &HashMap<usize, f32>) {
    let worth = |number: &usize| {
        let score = model.pieces.get(*number).map_or(0.0, |piece| piece.score);
        (used.get(number).copied().unwrap_or(0.0), score)
    };
    pieces.sort_by(|left, right| worth(right).partial_cmp(&worth(left)).unwrap_or(Ordering::Equal));
}

fn class(piece: &Piece) -> Class {
    let body = piece.body();
    if !piece.is_text || body.contains(WORD_START) {
        return Class::Other;
    }
    let is_latin = |character: char| character.is_alphabetic() && character < '\u{100}';
    let all = |is: &dyn Fn(char) -> bool| body.chars().all(is);
    let single = body.chars().count() <= 1;
    let hangul_or_signs = all(&|character| is_hangul(character) || is_sign(character));
    if hangul_or_signs || single && all(&is_latin) {
        Class::Always
    } else if single {
        Class::Foreign
    } else if all(&|character| is_latin(character) || is_sign(character)) {
        Class::Latin
    } else {
        Class::Other
    }
}

fn is_hangul(character: char) -> bool {
    matches!(character, '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}' | '\u{AC00}'..='\u{D7A3}')
}

/// A digit, punctuation or symbol that Korean and English texts and code have.
fn is_sign(character: char) -> bool {
    match character {
        '\0'..='\u{FF}' => !character.is_alphabetic(),
        '\u{2000}'..='\u{2BFF}' | '\u{3000}'..='\u{303F}' | '\u{FF00}'..='\u{FFEF}' => true,
        _ => false,
    }
}

/// By piece, how much the words use it, as they are listed, with a capital and in capitals.
fn use_in<'w>(model: &Model, words: impl Iterator<Item = &'w str>) -> HashMap<usize, f32> {
    let mut known = HashMap::new();
    for (number, piece) in model.pieces.iter().enumerate().filter(|(_, piece)| piece.is_text) {
        known.insert(piece.text.as_str(), (number, piece.score));
    }
    let mut own_capitals: HashMap<String, Vec<usize>> = HashMap::new();
    for (number, piece) in model.pieces.iter().enumerate() {
        let inside = piece.body().get(1..).unwrap_or_default();
        if inside.contains(|letter: char| letter.is_ascii_uppercase())
            && piece.body().contains(|letter: char| letter.is_ascii_lowercase())
        {
            own_capitals.entry(piece.body().to_ascii_lowercase()).or_default().push(number);
        }
    }
    let mut used = HashMap::new();
    let words = words.filter(|word| word.chars().all(|letter| letter.is_ascii_alphabetic()));
    for (position, word) in words.enumerate() {
        let weight = 1.0 / (position as f32 + FIRST_POSITION);
        for piece in own_capitals.get(word).into_iter().flatten() {
            *used.entry(*piece).or_insert(0.0) += weight * OWN_CAPITALS_SHARE;
        }
        let mut capital = word.to_owned();
        if let Some(first) = capital.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let capitals = word.to_ascii_uppercase();
        let short = word.len() <= ABBREVIATION_LETTERS_MAX;
        let capitals_share = if short { ABBREVIATION_SHARE } else { CAPITALS_SHARE };
        for (form, share) in [(word, 1.0), (&capital, CAPITAL_SHARE), (&capitals, capitals_share)] {
            for piece in spell(&known, &format!("{WORD_START}{form}")) {
                *used.entry(piece).or_insert(0.0) += weight * share;
            }
            for piece in spell(&known, form) {
                *used.entry(piece).or_insert(0.0) += weight * share * INSIDE_SHARE;
            }
        }
    }
    used
}

/// The likeliest spelling of a text that has a piece for each of its letters.
fn spell(known: &HashMap<&str, (usize, f32)>, text: &str) -> Vec<usize> {
    let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    ends.push(text.len());
    // By end, the best score up to there, and the last piece with where it begins.
    let mut best: HashMap<usize, (f32, usize, usize)> = HashMap::from([(0, (0.0, 0, 0))]);
    for (index, end) in ends.iter().enumerate() {
        for from in ends.iter().take(index) {
            let piece = text.get(*from..*end).and_then(|part| known.get(part));
            let before = best.get(from).map(|before| before.0);
            if let (Some((number, score)), Some(before)) = (piece, before) {
                let better = best.get(end).is_none_or(|present| before + score > present.0);
                if better {
                    best.insert(*end, (before + score, *from, *number));
                }
            }
        }
    }
    let mut pieces = Vec::new();
    let mut end = text.len();
    while end > 0
        && let Some((_, from, number)) = best.get(&end)
    {
        pieces.push(*number);
        end = *from;
    }
    pieces
}
