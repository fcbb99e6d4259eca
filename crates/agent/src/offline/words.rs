//! The words that carry a question, and how much of them a text says.

use crate::language::is_hangul;
use crate::memory::SaidTurn;

/// A question as words that say something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    words: Vec<String>,
}

/// English words that ask or connect.
const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "did", "do",
    "does", "for", "from", "get", "give", "has", "have", "how", "i", "if", "in", "is", "it", "its",
    "let", "long", "many", "may", "me", "much", "my", "need", "of", "often", "on", "or", "our",
    "out", "please", "shall", "should", "show", "so", "tell", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "to", "us", "want", "was", "we", "what",
    "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

/// Korean words that do, and endings of verbs that only ask.
const FUNCTION_STARTS: &[&str] = &[
    "무엇",
    "뭐",
    "뭔",
    "누가",
    "누구",
    "언제",
    "어디",
    "어느",
    "어떤",
    "어떻",
    "왜",
    "몇",
    "얼마",
    "무슨",
    "알려",
    "가르쳐",
    "궁금",
    "있나",
    "있어",
    "있는",
    "있습",
    "되나",
    "되어",
    "되는",
    "되죠",
    "될까",
    "하나요",
    "하는",
    "해요",
    "해야",
    "하려",
    "하면",
    "하고",
    "할까",
    "합니",
    "인가",
    "인지",
    "나요",
    "싶어",
    "싶습",
    "싶은",
    "주세",
    "수",
    "것",
    "거",
    "때",
    "그",
    "이",
    "저",
    "좀",
    "제",
    "우리",
    "저희",
    "방법",
];

/// Particles and endings that follow a noun, the longer ones first.
const PARTICLES: &[&str] = &[
    "해주세요",
    "해줄래요",
    "해줘요",
    "해줘",
    "에서는",
    "으로는",
    "이라는",
    "에게서",
    "한테서",
    "까지는",
    "부터는",
    "에서",
    "으로",
    "까지",
    "부터",
    "에게",
    "한테",
    "처럼",
    "보다",
    "마다",
    "이나",
    "라는",
    "하면",
    "하는",
    "했는",
    "해서",
    "하고",
    "할",
    "해",
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "의",
    "에",
    "로",
    "도",
    "만",
    "와",
    "과",
    "요",
    "나",
];

impl Asked {
    #[must_use]
    pub fn new(question: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        for word in telling_words(&question.to_lowercase()) {
            let stem = if is_korean(word) { korean_stem(word) } else { english_stem(word) };
            if !words.iter().any(|known| known == stem) {
                words.push(stem.to_owned());
            }
        }
        Self { words }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// How much of it a text says: 0 to 1. Longer words and numbers weigh more.
    #[must_use]
    pub fn coverage(&self, text: &str) -> f32 {
        let text = text.to_lowercase();
        let (mut said, mut all) = (0.0, 0.0);
        for word in &self.words {
            let weight = weight(word);
            all += weight;
            said += weight * share_said(word, &text);
        }
        if all > 0.0 { said / all } else { 0.0 }
    }
}

/// The words that say something, of a text in lower case.
pub(crate) fn telling_words(lower: &str) -> Vec<&str> {
    let mut words = split(lower);
    words.retain(|word| {
        !FUNCTION_WORDS.contains(word) && !is_korean_function(word, korean_stem(word))
    });
    words
}

fn weight(word: &str) -> f32 {
    let letters = word.chars().count() as f32;
    let per_letter = if is_korean(word) { 1.0 } else { 0.4 };
    (letters * per_letter).clamp(0.8, 4.0)
}

/// 1 for a word that stands there; of a Korean one the share of its pairs of syllables, as it may be spaced otherwise.
fn share_said(word: &str, text: &str) -> f32 {
    if text.contains(word) {
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
    let cut = PARTICLES.iter().find_map(|particle| word.strip_suffix(particle));
    cut.filter(|stem| stem.chars().count() >= 2 || ends_in_digit(stem)).unwrap_or(word)
}

fn is_korean_function(word: &str, stem: &str) -> bool {
    is_korean(word)
        && !word.starts_with(|letter: char| letter.is_ascii_digit())
        && FUNCTION_STARTS
            .iter()
            .any(|start| stem == *start || (start.chars().count() >= 2 && word.starts_with(start)))
}

fn english_stem(word: &str) -> &str {
    let endings = ["ies", "ing", "es", "ed", "s"];
    let cut = endings.iter().find_map(|ending| word.strip_suffix(ending));
    cut.filter(|stem| stem.len() >= 4).unwrap_or(word)
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
    let asked = Asked::new(question);
    let lower = question.trim().to_lowercase();
    let mut signs = LEANS_KOREAN.iter().chain(LEANS_ENGLISH);
    let leans = signs.any(|sign| lower.starts_with(sign) || lower.contains(&format!(" {sign}")));
    if !leans && asked.words.len() >= ALONE_WORDS_MIN {
        return question.to_owned();
    }
    let mut added: Vec<String> = Vec::new();
    for word in Asked::new(&before.question).words {
        let is_replaced = asked.words.iter().any(|new| counts_alike(new, &word));
        if !is_replaced && !asked.words.contains(&word) {
            added.push(word);
        }
    }
    if added.is_empty() { question.to_owned() } else { format!("{} {question}", added.join(" ")) }
}

/// Whether two words are numbers of the same thing: `11월` and `1월`.
fn counts_alike(one: &str, other: &str) -> bool {
    let unit =
        |word: &str| word.trim_start_matches(|letter: char| letter.is_ascii_digit()).to_owned();
    let is_number = |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit());
    is_number(one) && is_number(other) && unit(one) == unit(other)
}
