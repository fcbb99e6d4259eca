//! The words that carry a question, and how much of them a text says.

use super::everyday;
use super::word_list::WordList;
use crate::analysis::{self, Word, WordKind};
use crate::language::is_hangul;
use crate::memory::SaidTurn;

/// A question as words that say something.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    words: Vec<String>,
    terms: Vec<AskedTerm>,
}

/// One thing that is asked about.
#[derive(Debug, Clone, PartialEq)]
struct AskedTerm {
    /// The word without its endings.
    stem: String,
    /// What a compound consists of.
    parts: Vec<String>,
    /// What it is called in the other language.
    translations: Vec<String>,
    weight: f32,
    is_name: bool,
}

/// What a word of the other language counts: the same thing, perhaps.
const TRANSLATED: f32 = 0.8;

/// What a code or the name of a product counts more.
const CODE: f32 = 1.5;

/// English words that ask or connect.
pub(super) static FUNCTION_WORDS: WordList = WordList::new(
    "\
    a able about already also an and any anything are as at be by can could did do does for from get \
    gets give got happen happens has have how i if in is it its just let long make makes many may me \
    more much my need of often on once or our out please possible really shall should show so something \
    still tell that the their them then there these they this those to us want was way we what when \
    where which who why will with would you your",
);

/// Korean words that do, and endings of verbs that only ask.
static FUNCTION_STARTS: WordList = WordList::new(
    "\
    무엇 뭐 뭔 누가 누구 언제 어디 어느 어떤 어떻 왜 몇 얼마 무슨 알려 가르쳐 궁금 있나 있어 있는 있습 되나 되어 되는 \
    되죠 될까 하나요 하는 해요 해야 하려 하면 하고 할까 합니 인가 인지 나요 싶어 싶습 싶은 주세 수 것 거 때 그 이 저 좀 \
    제 우리 저희 방법 있게 없게 없이 없나 없는 없으 되게 하게 되면 돼요 됩니 하죠 할지 하기 하지 않게 않는 않고 안 못 더 \
    덜 꼭 미리 바로 다시 먼저 원래 그냥 너무 많이 조금 같이 모두 전부 이번 지난 다음 이런 저런 그런 이렇 그렇 저렇 보려 \
    보고 보면 봐요 보여 보이 볼 나오 나와 나올 나옵 나온 주나 주는 줘 줘요 주고 받게 받는 받고 받을 받았 받나 쓰는 쓸 \
    써요 쓰고 쓰려 쓰면 오나 오는 올 와요 가나 가는 알고 알아 힘들 어려 괜찮 이유 경우 정도 중 동안 뒤 후 전에 때문 매번 \
    자꾸 도와 하려면 뭘 게 곳 쪽 말고 대신 거라 왜요 싶 하던 했는 됐 된다",
);

/// Particles and endings that follow a noun.
static PARTICLES: WordList = WordList::new(
    "\
    해주세요 해줄래요 해줘요 해줘 에서는 으로는 이라는 에게서 한테서 까지는 부터는 에서 으로 까지 부터 에게 한테 처럼 보다 \
    마다 이나 라는 하면 하는 했는 해서 하고 할 해 은 는 이 가 을 를 의 에 로 도 만 와 과 요 나",
);

impl Asked {
    #[must_use]
    pub fn new(question: &str) -> Self {
        Self { words: asked_words(question), terms: terms(question) }
    }

    /// Things with names of their own that none of these texts mentions.
    pub fn unheard<'a>(&'a self, texts: &'a [String]) -> impl Iterator<Item = &'a str> {
        let is_heard = |term: &AskedTerm| {
            let is_in = |text: &String| {
                let parts = term.parts.iter().any(|part| text.contains(part.as_str()));
                parts || term.share_said(text) > 0.0
            };
            texts.iter().any(is_in)
        };
        let names = self.terms.iter().filter(|term| term.is_name);
        names.filter(move |term| !is_heard(term)).map(|term| term.stem.as_str())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// How much of it a text says: 0 to 1. Longer words and names weigh more.
    #[must_use]
    pub fn coverage(&self, text: &str) -> f32 {
        let text = text.to_lowercase();
        let (mut said, mut all) = (0.0, 0.0);
        for term in &self.terms {
            all += term.weight;
            said += term.weight * term.share_said(&text);
        }
        if all > 0.0 { said / all } else { 0.0 }
    }
}

impl AskedTerm {
    /// How much of it a text in lower case says: 0 to 1.
    fn share_said(&self, text: &str) -> f32 {
        let own = share_said(&self.stem, text);
        if own >= TRANSLATED {
            return own;
        }
        let translated = self.translations.iter().any(|other| stands_in(other, text));
        if translated { TRANSLATED } else { own }
    }
}

/// The words that say something, without their endings, each once.
fn asked_words(question: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in telling_words(&question.to_lowercase()) {
        let stem = if is_korean(word) { korean_stem(word) } else { english_stem(word) };
        if !words.iter().any(|known| known == stem) {
            words.push(stem.to_owned());
        }
    }
    words
}

/// What is asked about, each thing once.
fn terms(question: &str) -> Vec<AskedTerm> {
    let words = analysis::words(question);
    let translations = analysis::translations(&words);
    let is_korean_question = is_korean(question);
    let mut terms: Vec<AskedTerm> = Vec::new();
    let surface = |word: &Word| question.get(word.from..word.to).unwrap_or_default();
    for (place, word) in words.iter().enumerate() {
        if !word.says_something() || word.stem.is_empty() {
            continue;
        }
        let next = words.get(place + 1).map(surface).unwrap_or_default();
        let surface = surface(word);
        let lower = surface.to_lowercase();
        if is_korean(&lower) && is_korean_function(&lower, &word.stem) {
            continue;
        }
        // A code is written with its hyphens, and a text is searched for English words as they begin.
        let stem = match word.kind {
            WordKind::Code => lower.clone(),
            WordKind::Ordinary | WordKind::Function if is_korean(&lower) => {
                everyday::noun(&word.stem).to_owned()
            }
            WordKind::Ordinary | WordKind::Function => english_beginning(&lower).to_owned(),
        };
        if terms.iter().any(|known| known.stem == stem) {
            continue;
        }
        let of = |translation: &&analysis::Translation| translation.from == word.from;
        // A stem may end in an i that the word has as a y.
        let begins =
            |other: &analysis::Translation| other.word.stem.trim_end_matches('i').to_owned();
        let others = translations.iter().filter(of).map(begins);
        let is_name = is_name(question, word, is_korean_question);
        let weight = match word.kind {
            WordKind::Code if !is_joined(surface) => weight(&stem) * CODE,
            _ if is_name => weight(&stem),
            _ if is_korean(&stem) => at_most(&stem, everyday::korean(surface, &stem, next)),
            WordKind::Code | WordKind::Ordinary | WordKind::Function => {
                at_most(&stem, everyday::english(&lower, &stem))
            }
        };
        let parts = word.parts.clone();
        terms.push(AskedTerm { stem, parts, translations: others.collect(), weight, is_name });
    }
    terms
}

/// Whether a word is a name by how it is written: a capital inside a sentence, a digit, Latin letters among Korean.
fn is_name(question: &str, word: &Word, is_korean_question: bool) -> bool {
    let surface = question.get(word.from..word.to).unwrap_or_default();
    let mut letters = surface.chars();
    let Some(first) = letters.next().filter(char::is_ascii_alphabetic) else { return false };
    let before = question.get(..word.from).unwrap_or_default().trim_end();
    let begins = before.is_empty() || before.ends_with(['.', '?', '!', ':']);
    let rest = letters.as_str();
    !rest.is_empty()
        && (is_korean_question
            || rest.contains(|letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit())
            || (first.is_ascii_uppercase() && !begins))
}

/// The words that say something, of a text in lower case.
pub(crate) fn telling_words(lower: &str) -> Vec<&str> {
    let mut words = split(lower);
    words.retain(|word| !FUNCTION_WORDS.has(word) && !is_korean_function(word, korean_stem(word)));
    words
}

/// Whether it is words joined by a hyphen (`on-premises`) rather than a code.
fn is_joined(surface: &str) -> bool {
    surface.contains('-')
        && surface.chars().all(|letter| letter == '-' || letter.is_ascii_lowercase())
}

fn at_most(word: &str, weight_max: Option<f32>) -> f32 {
    weight_max.map_or_else(|| weight(word), |weight_max| weight(word).min(weight_max))
}

fn weight(word: &str) -> f32 {
    let letters = word.chars().count() as f32;
    let per_letter = if is_korean(word) { 1.0 } else { 0.4 };
    (letters * per_letter).clamp(0.8, 4.0)
}

/// 1 for a word that stands there; of a Korean one the share of its pairs of syllables, as it may be spaced otherwise.
fn share_said(word: &str, text: &str) -> f32 {
    if stands_in(word, text) {
        return 1.0;
    }
    if !is_korean(word) {
        return 0.0;
    }
    let letters: Vec<char> = word.chars().collect();
    let pairs = letters.windows(2);
    let all = pairs.len();
    let found = pairs.filter(|pair| text.contains(&pair.iter().collect::<String>())).count();
    // Half a word is less than half of what it says.
    if all == 0 { 0.0 } else { (found as f32 / all as f32).powi(2) }
}

/// Whether a word stands in a text in lower case: an English one where a word begins, as `ask` is nothing of `task`.
fn stands_in(word: &str, text: &str) -> bool {
    if !word.bytes().all(|letter| letter.is_ascii_alphabetic()) {
        return text.contains(word);
    }
    let goes_on = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_alphanumeric);
    text.match_indices(word).any(|(at, _)| at.checked_sub(1).is_none_or(|before| !goes_on(before)))
}

/// Runs of letters and digits of one script, of a text in lower case.
pub(crate) fn split(lower: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut was_hangul = false;
    for (at, letter) in lower.char_indices() {
        let hangul = is_hangul(letter);
        let belongs = letter.is_alphanumeric();
        let word = lower.get(start..end).unwrap_or_default();
        if !word.is_empty() && (!belongs || (hangul != was_hangul && !ends_in_digit(word))) {
            words.push(word);
            start = at;
        }
        if belongs {
            was_hangul = hangul;
            end = at + letter.len_utf8();
        } else {
            start = at + letter.len_utf8();
            end = start;
        }
    }
    words.extend(lower.get(start..end).filter(|word| !word.is_empty()));
    words
}

/// `11월` stays one word: the number says little without what it counts.
fn ends_in_digit(word: &str) -> bool {
    word.ends_with(|letter: char| letter.is_ascii_digit())
}

pub(crate) fn is_korean(word: &str) -> bool {
    word.chars().any(is_hangul)
}

pub(crate) fn korean_stem(word: &str) -> &str {
    let cut = PARTICLES.cut_off(word);
    cut.filter(|stem| stem.chars().count() >= 2 || ends_in_digit(stem)).unwrap_or(word)
}

fn is_korean_function(word: &str, stem: &str) -> bool {
    is_korean(word)
        && !word.starts_with(|letter: char| letter.is_ascii_digit())
        && (FUNCTION_STARTS.has(stem)
            // One syllable begins many a word that says something.
            || FUNCTION_STARTS.begins(word, |start| start.chars().count() >= 2))
}

fn english_stem(word: &str) -> &str {
    let endings = ["ies", "ing", "es", "ed", "s"];
    let cut = endings.iter().find_map(|ending| word.strip_suffix(ending));
    cut.filter(|stem| stem.len() >= 4).unwrap_or(word)
}

/// How a word begins in whatever form it stands in a text.
fn english_beginning(word: &str) -> &str {
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("\u{2019}s")).unwrap_or(word);
    let stem = english_stem(word);
    let short = stem.strip_suffix('s').filter(|short| short.len() == 3 && !short.ends_with('s'));
    short.unwrap_or(stem)
}

/// Signs that a question leans on what was said before.
const LEANS_KOREAN: &[&str] = &[
    "그럼",
    "그러면",
    "그건",
    "그거",
    "그것",
    "그게",
    "거기",
    "그 ",
    "아까",
    "방금",
    "이건",
    "이거",
    "그때",
];
const LEANS_ENGLISH: &[&str] = &[
    "and ",
    "what about",
    "how about",
    "then ",
    "it ",
    "that ",
    "them",
    "those",
    "these",
    "this",
    "same ",
    "also ",
    "they ",
    "its ",
];

/// Words beyond which a question stands on its own unless it leans on something.
const ALONE_WORDS_MIN: usize = 3;

/// The question put so that it makes sense alone: with the words of the last question that it does not replace.
#[must_use]
pub fn contextual(question: &str, earlier: &[SaidTurn]) -> String {
    let Some(before) = earlier.last() else { return question.to_owned() };
    let asked = asked_words(question);
    if !leans(question) && asked.len() >= ALONE_WORDS_MIN {
        return question.to_owned();
    }
    let mut added: Vec<String> = Vec::new();
    for word in asked_words(&before.question) {
        let is_replaced = asked.iter().any(|new| counts_alike(new, &word));
        if !is_replaced && !asked.contains(&word) {
            added.push(word);
        }
    }
    if added.is_empty() { question.to_owned() } else { format!("{} {question}", added.join(" ")) }
}

/// Whether a question says so that it leans on what was said before, in front or behind a blank.
fn leans(question: &str) -> bool {
    let lower = question.trim().to_lowercase();
    let is_sign =
        |rest: &str| LEANS_KOREAN.iter().chain(LEANS_ENGLISH).any(|sign| rest.starts_with(sign));
    let blanks = lower.match_indices(' ').filter_map(|(at, _)| lower.get(at + 1..));
    std::iter::once(lower.as_str()).chain(blanks).any(is_sign)
}

/// Whether two words are numbers of the same thing: `11월` and `1월`.
fn counts_alike(one: &str, other: &str) -> bool {
    let unit =
        |word: &str| word.trim_start_matches(|letter: char| letter.is_ascii_digit()).to_owned();
    let is_number = |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit());
    is_number(one) && is_number(other) && unit(one) == unit(other)
}
