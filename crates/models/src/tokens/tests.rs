//! Checks counts against those of the original, and that no text takes long.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::classes::Classes;
use super::merger::Merger;
use super::pieces::pieces;
use super::vocabulary::Vocabulary;
use agent::model::Usage;

use super::*;

fn exact() -> TokenCounter {
    TokenCounter::for_model("gpt-5-nano")
}

/// Texts and the lengths of their tokens, by the original (`golden/make.py`): words of many scripts, code, numbers, ends
/// of lines, marks, emoji, what is not assigned; by hand, from guides and at random.
const TEXTS: &str = include_str!("golden/texts.jsonl");

/// For each 4,096 code points a line: the tokens of what [`around`] puts about their characters, by the original.
const CHARACTERS: &str = include_str!("golden/characters.txt");

/// A character in the places where its kind matters.
fn around(one: char) -> String {
    format!("aB{one}Ab {one}1{one}'S\n{one}A {one}")
}

/// The lengths of a text's tokens, in bytes.
fn lengths(text: &str, classes: &Classes, vocabulary: &Vocabulary) -> Vec<usize> {
    let mut lengths = Vec::new();
    for piece in pieces(text, classes) {
        Merger::default().tokens(piece.as_bytes(), vocabulary, |length| lengths.push(length));
    }
    lengths
}

#[test]
fn tokens_are_those_of_the_original() {
    let (classes, vocabulary) = (Classes::load().unwrap(), Vocabulary::load().unwrap());
    let mut texts = 0;
    for line in TEXTS.lines() {
        let (text, original): (String, Vec<usize>) = serde_json::from_str(line).unwrap();
        assert_eq!(lengths(&text, &classes, &vocabulary), original, "{text:?}");
        for time in ["counted", "remembered"] {
            assert_eq!(exact().count(&text), original.len(), "{time}: {text:?}");
        }
        texts += 1;
    }
    assert!(texts > 500, "{texts}");
}

#[test]
fn every_character_there_is_counts_as_with_the_original() {
    let mut counts = CHARACTERS.lines();
    for start in (0..0x11_0000).step_by(4096) {
        let characters = (start..start + 4096).filter_map(char::from_u32);
        let count: usize = characters.map(|one| exact().count(&around(one))).sum();
        assert_eq!(counts.next(), Some(count.to_string().as_str()), "from U+{start:04X} on");
    }
    assert_eq!(counts.next(), None);
}

#[test]
fn pieces_are_those_of_the_regular_expression() {
    // From Python's regex 2026.5.9. Counts seldom show where a piece ends: few tokens would go across.
    let classes = Classes::load().unwrap();
    for expected in [
        &["hello", " ", " world"][..],
        &["a", "BC"],
        &["HTTPServer", " XMLId"],
        &["가", "ABC"],
        &["가ABc나", "D"],
        &["\u{301}", "ABC"],
        &["\u{301}Abc"],
        &["e\u{301}'s"],
        &["ǅx", "ǅ"],
        &["don't", " I'VE", " we'Re", " x'ſ", " x", "'r"],
        &["'s", " '", "s"],
        &["123", "456", "7", " ", "٣٤٥", "٦"],
        &["①②③", "④"],
        &["a", "  ", " ", "1"],
        &["a", "  ", " b"],
        &["a", " \n\n", " ", " b"],
        &["\r\n", " x"],
        &[" !?\r\n/", "x"],
        &["!abc", " !!", "abc"],
        &["!!\u{301}", "x"],
        &["\t", "\tx", "\u{a0}y", "  "],
        &["e", ".g", ".", " ", "3", ".", "14", "%"],
    ] {
        let text = expected.concat();
        assert_eq!(pieces(&text, &classes).collect::<Vec<_>>(), expected);
    }
}

/// The lengths of tokens if all is done as the rule says: what is a token is left whole; else of the neighbours that make
/// one, those of the lowest rank are joined, of these the leftmost, until none are left.
fn joined_one_by_one(piece: &[u8], vocabulary: &Vocabulary) -> Vec<usize> {
    if vocabulary.rank(piece).is_some() {
        return vec![piece.len()];
    }
    let mut ends: Vec<usize> = (0..=piece.len()).collect();
    loop {
        let ranks = ends.windows(3).enumerate().filter_map(|(place, ends)| {
            Some((vocabulary.rank(&piece[ends[0]..ends[2]])?, place + 1))
        });
        let Some((_, middle)) = ranks.min() else { break };
        ends.remove(middle);
    }
    ends.windows(2).map(|ends| ends[1] - ends[0]).collect()
}

#[test]
fn counts_are_those_of_o200k() {
    // From Python's tiktoken 0.14.
    for (text, count) in [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("안녕하세요", 2),
        ("비용 최적화 가이드", 7),
        ("클라우드 비용을 30% 줄이려면 예약 인스턴스를 사용하세요.\n", 20),
        ("fn main() { println!(\"샘\"); }", 10),
        ("I've they'LL don't", 5),
        ("<|endoftext|>", 7),
        ("  \n\n\t x", 3),
    ] {
        assert_eq!(exact().count(text), count, "{text:?}");
    }
}

#[test]
fn other_models_get_some_room() {
    assert_eq!(TokenCounter::for_model("llama3.2").count("hello world"), 3);
    assert_eq!(TokenCounter::with_percent(200).count("hello world"), 4);
    assert_eq!(TokenCounter::with_percent(0), TokenCounter::with_percent(1));
    for exact in ["gpt-5-nano", "openai/gpt-4o-mini", "o3", "gpt-oss:20b"] {
        assert_eq!(TokenCounter::for_model(exact).count("hello world"), 2, "{exact}");
    }
    let text = "one two three four five six seven eight nine ten";
    assert_eq!(TokenCounter::with_percent(200).clip(text, 6), "one two three");
    assert_eq!(exact().clip(text, 6), "one two three four five six");
}

#[test]
fn a_clipped_text_ends_between_two_characters() {
    let text = "샘물이 솟는 곳 👩‍👩‍👧‍👦 spring";
    for tokens in 0..=exact().count(text) + 1 {
        let clipped = exact().clip(text, tokens);
        assert!(text.starts_with(clipped));
        assert!(exact().count(clipped) <= tokens, "{tokens}: {clipped:?}");
    }
    assert_eq!(exact().clip(text, 0), "");
    assert_eq!(exact().clip(text, 1000), text);
}

#[test]
fn a_rough_count_is_not_far_off() {
    for text in ["비용을 줄이는 방법을 알려 주세요. ", "How do I reduce what I pay? "]
    {
        let text = text.repeat(20);
        let rough = usize::try_from(Usage::about(text.len(), 0).input).unwrap();
        let exact = exact().count(&text);
        assert!((exact / 2..exact * 2).contains(&rough), "{rough}, not {exact}, for {text}");
    }
    let about = Usage::about(0, 1);
    assert_eq!((about.input, about.output, about.is_estimated), (0, 1, true));
}

#[test]
fn text_without_words_can_be_counted_and_clipped() {
    for unit in ["a", "Aa", "가", " ", "\n", " \n", "!", "1", "\u{301}", "\u{301}A", "가A", "👩‍👩‍👧‍👦"]
    {
        let text = unit.repeat(100_000 / unit.len());
        let count = exact().count(&text);
        assert!((text.len() / 128..=text.len()).contains(&count), "{unit:?}: {count}");
        let clipped = exact().clip(&text, 100);
        assert!(!clipped.is_empty() && exact().count(clipped) <= 100, "{unit:?}");
    }
}

#[test]
fn a_piece_too_long_to_be_joined_at_once_is_off_by_a_token_or_two() {
    // Three bytes each, so that the cut goes through a character.
    let text = "가".repeat(100_000);
    assert!((100_000..=100_002).contains(&exact().count(&text)));
}

#[test]
fn a_megabyte_without_a_space_does_not_take_minutes() {
    let text = "a".repeat(1 << 20);
    let start = Instant::now();
    assert_eq!(exact().count(&text), (1 << 20) / 8);
    // It takes a fifth of a second; the rest is for busy machines.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn pieces_are_the_whole_text(text in "[a-zA-Z가-힣ぁ-ん0-9'/.,!\n\r\t \u{301}Ⅳ①🙂-]{0,200}|.{0,200}") {
        let classes = Classes::load().unwrap();
        prop_assert_eq!(pieces(&text, &classes).collect::<String>(), text.as_str());
        prop_assert!(pieces(&text, &classes).all(|piece| !piece.is_empty()));
    }

    #[test]
    fn bytes_are_joined_as_the_rule_says(piece in "[a-e]{1,80}|[ \n]{1,80}|[가-힣]{1,30}|\\PC{1,40}") {
        let vocabulary = Vocabulary::load().unwrap();
        let mut lengths = Vec::new();
        Merger::default().tokens(piece.as_bytes(), &vocabulary, |length| lengths.push(length));
        prop_assert_eq!(lengths, joined_one_by_one(piece.as_bytes(), &vocabulary));
    }

    #[test]
    fn a_clipped_text_keeps_its_limit(text in "[a-zA-C가-힣 \n\r\t1-3.,!/\u{301}🙂']{0,200}|[a-z가-힣 \n🙂']{0,200}", tokens in 0usize..60) {
        let clipped = exact().clip(&text, tokens);
        prop_assert!(text.starts_with(clipped));
        prop_assert!(exact().count(clipped) <= tokens);
        // Nothing was given away: four tokens more, the most that a character has, and there is more of the text.
        if clipped.len() < text.len() {
            prop_assert!(exact().clip(&text, tokens + 4).len() > clipped.len());
        }
    }
}
