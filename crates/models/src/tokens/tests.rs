//! Checks counts against those of the original, and that no text takes long.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::*;

fn exact() -> TokenCounter {
    TokenCounter::for_model("gpt-5-nano")
}

/// The tokens of the text taken as one.
fn whole(text: &str) -> usize {
    o200k().unwrap().encode(text, &HashSet::new()).unwrap().0.len()
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
    assert!(is_loaded());
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
        let rough = usize::try_from(tokens_in_about(text.len())).unwrap();
        let exact = exact().count(&text);
        assert!((exact / 2..exact * 2).contains(&rough), "{rough}, not {exact}, for {text}");
    }
    assert_eq!((tokens_in_about(0), tokens_in_about(1)), (0, 1));
}

#[test]
fn text_without_words_is_counted_in_short_stretches() {
    for unit in ["a", "Aa", "가", " ", "\n", " \n", "!", "1", "\u{301}", "👩‍👩‍👧‍👦"]
    {
        let text = unit.repeat(100_000 / unit.len());
        assert!(stretches(&text).all(|stretch| stretch.len() <= 16 * 1024), "{unit:?}");
        let count = exact().count(&text);
        assert!((text.len() / 128..=text.len()).contains(&count), "{unit:?}: {count}");
        let clipped = exact().clip(&text, 100);
        assert!(!clipped.is_empty() && exact().count(clipped) <= 100, "{unit:?}");
    }
}

#[test]
fn a_megabyte_without_a_space_does_not_take_minutes() {
    let text = "a".repeat(1 << 20);
    load();
    let start = Instant::now();
    assert_eq!(exact().count(&text), (1 << 20) / 8);
    // It takes half a second; the rest is for busy machines.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_long_text_counts_as_if_it_were_taken_as_one(
        words in prop::collection::vec("[a-zA-Z가-힣ぁ-ん0-9'/.,!\n\r\t \u{301}Ⅳ①🙂-]{1,12}", 800..1600),
    ) {
        let text = words.join(" ");
        prop_assert!(stretches(&text).count() > 1);
        prop_assert_eq!(stretches(&text).collect::<String>(), text.as_str());
        prop_assert_eq!(exact().count(&text), whole(&text));
    }

    #[test]
    fn a_clipped_text_keeps_its_limit(text in "[a-z가-힣 \n🙂']{0,200}", tokens in 0usize..40) {
        let clipped = exact().clip(&text, tokens);
        prop_assert!(text.starts_with(clipped));
        prop_assert!(whole(clipped) <= tokens);
        // Nothing was given away: four tokens more, the most that a character has, and there is more of the text.
        if clipped.len() < text.len() {
            prop_assert!(exact().clip(&text, tokens + 4).len() > clipped.len());
        }
    }
}
