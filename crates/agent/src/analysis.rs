//! Takes mixed Korean and English text apart into words: what the keyword index keeps and questions are made of.
//!
//! There is no dictionary. A Korean word is kept twice: as overlapping pairs of syllables, which
//! find it inside compounds and whatever the spacing, and cut to its stem by rule. An English word
//! is stemmed. Codes, versions and amounts are kept whole and in parts.

mod english;
mod glossary;
mod korean;
mod latin;
mod letters;

pub use glossary::{Translation, translations};

use letters::{Letter, is_hangul, is_ideograph, letters};

/// Longest term, in letters: keys and encoded data beyond this are nothing a person types.
pub const TERM_LETTERS_MAX: usize = 64;

/// A word of a text or of a question, with all the terms that it gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub kind: WordKind,
    /// Whole: the stem of an ordinary word, a code without its hyphens. Empty when too long.
    pub stem: String,
    /// What a compound consists of: `nb` and `4031` of `NB-4031`.
    pub parts: Vec<String>,
    /// The words inside `GetCostAndUsage`; they are indexed, but a question is not split so.
    pub humps: Vec<String>,
    /// Pairs of syllables; only Korean, Han and kana have any.
    pub grams: Vec<Gram>,
    /// Where it stands, in bytes.
    pub from: usize,
    pub to: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    Ordinary,
    /// Asks or connects, and says nothing itself: `which`, `무엇인가요`.
    Function,
    /// A product name, a version, an error code: worth more than its rarity says.
    Code,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gram {
    pub text: String,
    pub place: GramPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GramPlace {
    /// Within the stem.
    Stem,
    /// Touches a particle or an ending, so it says little: the 의로 of 혐의로.
    Ending,
    /// A single syllable.
    Single,
}

impl Word {
    /// Whether it is more than a word that asks or connects.
    #[must_use]
    pub fn says_something(&self) -> bool {
        self.kind != WordKind::Function
    }
}

/// The words of `text`, in order.
#[must_use]
pub fn words(text: &str) -> Vec<Word> {
    let letters = letters(text);
    let mut words: Vec<Word> = Vec::new();
    for run in runs(&letters) {
        let glued_to = words.last().filter(|_| run.is_glued).map(|word| word.stem.as_str());
        let word = run.word(glued_to);
        words.extend(word);
    }
    words
}

/// Letters of one script that stand together.
struct Run<'a> {
    script: Script,
    letters: &'a [Letter],
    /// It follows a Latin word or a number without a space.
    is_glued: bool,
}

fn runs(letters: &[Letter]) -> impl Iterator<Item = Run<'_>> {
    let mut rest = letters;
    let mut before: Option<Letter> = None;
    std::iter::from_fn(move || {
        loop {
            let first = rest.first()?;
            let script = script(first.letter);
            let length = match script {
                Script::Hangul | Script::Ideograph => {
                    rest.iter().take_while(|letter| self::script(letter.letter) == script).count()
                }
                Script::Latin => latin::length(rest),
                Script::None => 1,
            };
            let (run, after) = rest.split_at_checked(length)?;
            let is_glued = before.is_some_and(|before| before.to == first.from);
            before = run.last().copied().filter(|_| script == Script::Latin);
            rest = after;
            if script != Script::None {
                return Some(Run { script, letters: run, is_glued });
            }
        }
    })
}

impl Run<'_> {
    /// The word that it is, if it is one; `glued_to` is the stem of the word that it follows without a space.
    fn word(&self, glued_to: Option<&str>) -> Option<Word> {
        match self.script {
            Script::Hangul => hangul_word(self.letters, glued_to),
            Script::Ideograph => Some(ideograph_word(self.letters)),
            Script::Latin => Some(latin::word(self.letters)),
            Script::None => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Hangul,
    Ideograph,
    /// Every other letter and digit, written with spaces between words.
    Latin,
    None,
}

fn script(letter: char) -> Script {
    if is_hangul(letter) {
        Script::Hangul
    } else if is_ideograph(letter) {
        Script::Ideograph
    } else if letter.is_alphanumeric() {
        Script::Latin
    } else {
        Script::None
    }
}

/// `glued_to` is the Latin word or number that the run follows without a space.
fn hangul_word(run: &[Letter], glued_to: Option<&str>) -> Option<Word> {
    let syllables: Vec<char> = run.iter().map(|letter| letter.letter).collect();
    if glued_to.is_some() && korean::is_particle(&syllables) {
        return None;
    }
    let stem = korean::stem(&syllables);
    let mut grams = grams(&syllables, stem.len());
    // `6월` and `30일` say more than their number and their counter apart.
    if let (Some(number), Some(counter)) =
        (glued_to.and_then(latin::trailing_number), syllables.first())
    {
        grams.push(Gram { text: format!("{number}{counter}"), place: GramPlace::Stem });
    }
    let is_function = korean::is_function_word(stem) || korean::is_function_word(&syllables);
    let kind = if is_function { WordKind::Function } else { WordKind::Ordinary };
    Some(syllabic_word(run, kind, bounded(stem.iter().collect()), grams))
}

fn ideograph_word(run: &[Letter]) -> Word {
    let letters: Vec<char> = run.iter().map(|letter| letter.letter).collect();
    let grams = grams(&letters, letters.len());
    syllabic_word(run, WordKind::Ordinary, bounded(letters.iter().collect()), grams)
}

fn syllabic_word(run: &[Letter], kind: WordKind, stem: String, grams: Vec<Gram>) -> Word {
    let (from, to) = span(run);
    Word { kind, stem, parts: Vec::new(), humps: Vec::new(), grams, from, to }
}

/// A pair that begins behind the stem is left out: what it belongs to comes with any word.
fn grams(letters: &[char], stem_length: usize) -> Vec<Gram> {
    let pairs = letters.windows(2).enumerate().take(stem_length.max(1)).map(|(start, pair)| Gram {
        text: pair.iter().collect(),
        place: if start + 2 <= stem_length { GramPlace::Stem } else { GramPlace::Ending },
    });
    // A noun of one syllable stands alone in one place and before a particle in another.
    let single = letters
        .first()
        .filter(|_| stem_length == 1)
        .map(|letter| Gram { text: letter.to_string(), place: GramPlace::Single });
    single.into_iter().chain(pairs).collect()
}

/// A term, or nothing when it is too long to be one.
fn bounded(term: String) -> String {
    if term.chars().count() > TERM_LETTERS_MAX { String::new() } else { term }
}

fn span(run: &[Letter]) -> (usize, usize) {
    (run.first().map_or(0, |first| first.from), run.last().map_or(0, |last| last.to))
}

#[cfg(test)]
mod tests;
