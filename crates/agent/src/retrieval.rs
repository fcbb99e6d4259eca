//! Decides which of the found passages are shown: what is quoted first, the share of each kind, and no passage twice.

use std::ops::Range;
use std::sync::OnceLock;

use crate::filter::TagValue;
use crate::knowledge::{Excerpt, Passage};

/// The `doc_type` whose passages are questions with their answers.
pub const FAQ: &str = "faq";

/// How many passages of each kind a search over everything gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    pub faq: usize,
    pub guide: usize,
}

impl Default for Shares {
    fn default() -> Self {
        Self { faq: 3, guide: 7 }
    }
}

impl Shares {
    /// All of them together.
    #[must_use]
    pub fn total(self) -> usize {
        self.faq + self.guide
    }
}

/// Whether a passage is a question with its answer; everything else counts as a guide.
#[must_use]
pub fn is_faq(passage: &Passage) -> bool {
    *passage.marks.is_faq.get_or_init(|| {
        let types = passage.tags.get("doc_type").map_or(&[][..], Vec::as_slice);
        types.iter().any(|value| matches!(value, TagValue::Text(name) if name == FAQ))
    })
}

/// Longest question of a pair, in bytes: what is longer is no question.
const QUESTION_BYTES_MAX: usize = 1_000;

/// The question and the answer of a pair: a blank line stands between them.
#[must_use]
pub fn pair(text: &str) -> Option<(&str, &str)> {
    let (question, answer) = text.trim().split_once("\n\n")?;
    let (question, answer) = (question.trim(), answer.trim());
    let is_pair = !answer.is_empty() && (1..=QUESTION_BYTES_MAX).contains(&question.len());
    is_pair.then_some((question, answer))
}

/// Picks the best of each kind up to its share, lets one kind fill up for the other, and keeps the order.
#[must_use]
pub fn share_out(passages: Vec<Passage>, shares: Shares) -> Vec<Passage> {
    let faq_there = passages.iter().filter(|passage| is_faq(passage)).count();
    let guide_there = passages.len() - faq_there;
    let mut faq = shares.faq + shares.guide.saturating_sub(guide_there);
    let mut guide = shares.guide + shares.faq.saturating_sub(faq_there);
    let mut takes = |passage: &Passage| {
        let left = if is_faq(passage) { &mut faq } else { &mut guide };
        let takes = *left > 0;
        *left = left.saturating_sub(1);
        takes
    };
    passages.into_iter().filter(|passage| takes(passage)).take(shares.total()).collect()
}

/// Texts that share this much of their words say the same.
const SAME_SHARE: f32 = 0.9;

/// Words that are compared; longer texts are told apart by their beginnings.
const COMPARED_WORDS_MAX: usize = 200;

/// Leaves out every passage that says the same as one before it.
#[must_use]
pub fn without_repeats(passages: Vec<Passage>) -> Vec<Passage> {
    first_of_each(passages, |_| false)
}

/// The same as far as [`share_out`] looks: what comes after the last passage that it takes is left out as well.
#[must_use]
pub fn without_repeats_to_share(passages: Vec<Passage>, shares: Shares) -> Vec<Passage> {
    let (mut faq, mut guide) = (0, 0);
    first_of_each(passages, |passage| {
        *(if is_faq(passage) { &mut faq } else { &mut guide }) += 1;
        faq >= shares.faq && guide >= shares.guide
    })
}

/// Every passage that says something new, up to the first that is the last.
fn first_of_each(
    passages: Vec<Passage>,
    mut is_last: impl FnMut(&Passage) -> bool,
) -> Vec<Passage> {
    let mut kept: Vec<Passage> = Vec::with_capacity(passages.len());
    for passage in passages {
        let shingles = shingles_of(&passage);
        if !kept.iter().any(|earlier| is_same(shingles_of(earlier), shingles)) {
            let is_last = is_last(&passage);
            kept.push(passage);
            if is_last {
                break;
            }
        }
    }
    kept
}

/// What is found out about an excerpt when it is first asked for, and then known. It follows from what the excerpt says, so that it
/// makes no two different, and a copy, which may be edited, begins without.
#[derive(Debug, Default)]
pub struct Marks {
    is_faq: OnceLock<bool>,
    /// What its text is told apart from others by.
    shingles: OnceLock<Vec<u64>>,
}

fn shingles_of(excerpt: &Excerpt) -> &[u64] {
    excerpt.marks.shingles.get_or_init(|| shingles(&excerpt.text))
}

impl Clone for Marks {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Marks {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// What stands in quotes in a question, in bytes. An open quote quotes nothing.
#[must_use]
pub fn quotes(question: &str) -> Vec<Range<usize>> {
    let marks = ['"', '“', '”', '「', '」', '『', '』'];
    let found: Vec<(usize, &str)> = question.match_indices(marks).collect();
    found.as_chunks::<2>().0.iter().map(|[(from, mark), (to, _)]| from + mark.len()..*to).collect()
}

/// The same as text in lower case: it is meant word for word.
#[must_use]
pub fn quoted(question: &str) -> Vec<String> {
    let inside = quotes(question).into_iter().filter_map(|range| question.get(range));
    inside.map(|part| part.trim().to_lowercase()).filter(|part| !part.is_empty()).collect()
}

/// Puts the passages that say all of the quotes word for word before the others; the order is kept otherwise,
/// and no score below a passage is higher than its own.
#[must_use]
pub fn exact_first(passages: Vec<Passage>, quotes: &[String]) -> Vec<Passage> {
    if quotes.is_empty() {
        return passages;
    }
    let best = passages.first().map_or(0.0, |passage| passage.score);
    let says_all = |passage: &Passage| {
        let text = passage.text.to_lowercase();
        let headings = passage.heading_path.join("\n").to_lowercase();
        quotes.iter().all(|quote| text.contains(quote) || headings.contains(quote))
    };
    let (mut exact, others): (Vec<_>, Vec<_>) = passages.into_iter().partition(says_all);
    for passage in &mut exact {
        passage.score = passage.score.max(best);
    }
    exact.extend(others);
    exact
}

/// Runs of three words as numbers, sorted, without regard to case and punctuation.
fn shingles(text: &str) -> Vec<u64> {
    let words = words(text);
    let mut shingles: Vec<u64> = match words.as_slice() {
        [] | [_] | [_, _] => words,
        words => words.windows(3).map(|run| run.iter().fold(FNV_START, mixed)).collect(),
    };
    shingles.sort_unstable();
    shingles.dedup();
    shingles
}

/// FNV-1a: quick, and the same on every machine.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

fn mixed(sum: u64, part: &u64) -> u64 {
    (sum ^ part).wrapping_mul(FNV_PRIME)
}

/// The first words of a text, as numbers.
fn words(text: &str) -> Vec<u64> {
    let mut words = Vec::with_capacity(COMPARED_WORDS_MAX);
    let mut open = None;
    for letter in text.chars() {
        let sum = open.unwrap_or(FNV_START);
        let added = |letter: char| mixed(sum, &u64::from(u32::from(letter)));
        open = match letter {
            'a'..='z' | '0'..='9' => Some(added(letter)),
            'A'..='Z' => Some(added(letter.to_ascii_lowercase())),
            // Nearly all that is left, and neither to be looked up nor with a small form.
            '가'..='힣' => Some(added(letter)),
            _ if letter.is_alphanumeric() => {
                let lower = letter.to_lowercase();
                Some(lower.fold(sum, |sum, letter| mixed(sum, &u64::from(u32::from(letter)))))
            }
            _ => {
                words.extend(open);
                None
            }
        };
        if words.len() == COMPARED_WORDS_MAX {
            return words;
        }
    }
    words.extend(open);
    words
}

fn is_same(a: &[u64], b: &[u64]) -> bool {
    let (small, large) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let is_enough = |shared: usize| {
        let all = small.len() + large.len() - shared;
        all == 0 || shared as f32 >= SAME_SHARE * all as f32
    };
    // So many of them may be missing; texts about different things have lost them after a few words.
    let mut shared_at_most = small.len();
    if !is_enough(shared_at_most) {
        return false;
    }
    for shingle in small {
        if large.binary_search(shingle).is_err() {
            shared_at_most -= 1;
            if !is_enough(shared_at_most) {
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn passage(kind: &str, text: &str) -> Passage {
        let mut passage = Passage { score: 0.0, ..samples::passage(kind, "", text) };
        passage.edit().heading_path.clear();
        passage
    }

    /// `given` and `expected` hold `f` for a FAQ pair and `g` for a guide.
    #[track_caller]
    fn check(given: &str, expected: &str) {
        let passages =
            given.chars().map(|c| passage(if c == 'f' { "faq" } else { "guide" }, "")).collect();
        let out = share_out(passages, Shares::default());
        let out: String = out.iter().map(|p| if is_faq(p) { 'f' } else { 'g' }).collect();
        assert_eq!(out, expected, "{given}");
    }

    #[test]
    fn each_kind_has_its_share_and_fills_up_for_the_other() {
        check("ffffffffffgggggggggg", "fffggggggg");
        check("gfgfgfgfgfgfgfgfgfgf", "gfgfgfgggg");
        check("ffffffffffff", "ffffffffff");
        check("gggggggggggg", "gggggggggg");
        check("fggggggggggg", "fggggggggg");
        check("ffffffffffgg", "ffffffffgg");
        check("fg", "fg");
        check("", "");
    }

    #[test]
    fn a_passage_that_says_the_same_comes_once() {
        let texts =
            ["예산 알림을 켜려면 설정을 엽니다.", "예산 알림을 켜려면, 설정을 엽니다", "다른 글"];
        let passages = texts.map(|text| passage("guide", text)).to_vec();
        let kept: Vec<String> =
            without_repeats(passages).into_iter().map(|p| p.text.clone()).collect();
        assert_eq!(kept, [texts[0], texts[2]]);
    }

    #[test]
    fn what_is_shared_out_does_not_depend_on_what_comes_after() {
        let kinds = "gfggfgggfggfggffggfg";
        for length in 0..kinds.len() {
            let texts = (0..).map(|place| format!("Text {} of the guide", place / 2));
            let passages: Vec<Passage> = kinds
                .chars()
                .zip(texts)
                .take(length)
                .map(|(kind, text)| passage(if kind == 'f' { "faq" } else { "guide" }, &text))
                .collect();
            let shares = Shares { faq: 2, guide: 3 };
            let all = share_out(without_repeats(passages.clone()), shares);
            assert_eq!(share_out(without_repeats_to_share(passages, shares), shares), all);
        }
    }

    #[test]
    fn case_and_signs_do_not_make_another_text() {
        assert_eq!(shingles("Ärger, über ALLES — 예산을!"), shingles("ärger über alles: 예산을"));
        assert_eq!(shingles(""), shingles(" — "));
        assert_ne!(shingles("a b c"), shingles("a bc"));
    }

    #[test]
    fn an_open_quote_quotes_nothing() {
        assert_eq!(quoted("a \"B c\" d \"e"), ["b c"]);
        assert_eq!(quoted("「비용」 5\" disk"), ["비용"]);
        assert!(quoted("5\" disk").is_empty());
    }

    #[test]
    fn what_is_quoted_comes_first() {
        let texts = ["예산 알림", "The monthly budget report", "The Budget Alert mail"];
        let check = |question: &str, expected: [usize; 3]| {
            let passages = texts.map(|text| passage("guide", text)).to_vec();
            let out = exact_first(passages, &quoted(question));
            let out: Vec<&str> = out.iter().map(|passage| passage.text.as_str()).collect();
            assert_eq!(out, expected.map(|place| texts[place]), "{question}");
        };
        check("where is the \"budget alert\"?", [2, 0, 1]);
        check("“알림” \"예산\"", [0, 1, 2]);
        check("budget alert", [0, 1, 2]);
        check("an \"open quote", [0, 1, 2]);
        check("\"\"", [0, 1, 2]);
        check("\"report\" and \"alert\"", [0, 1, 2]);
    }

    #[test]
    fn a_passage_that_says_more_is_kept() {
        let long = "one two three four five six seven eight nine ten eleven twelve";
        let passages =
            vec![passage("guide", "one two three four five six"), passage("guide", long)];
        assert_eq!(without_repeats(passages).len(), 2);
    }
}
