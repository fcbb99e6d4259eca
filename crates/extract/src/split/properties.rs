//! What holds for every document that is split.

use proptest::prelude::*;
use serde_json::Value;

use crate::checks::check;
use crate::{Limits, SplitLimits};

/// Markdown with something of everything in it.
fn markdown() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "#{1,4} [a-z가-힣 ]{0,30}",
        "[A-Za-z가-힣 .,!?*`|]{0,120}",
        "- [a-z가-힣 .]{0,40}",
        "  - [a-z가-힣 .]{0,40}",
        "[1-9]\\. [a-z가-힣 .]{0,60}",
        "\\| [a-z가-힣]{0,10} \\| [a-z0-9]{0,40} \\|",
        Just("| --- | --- |".to_owned()),
        Just("```".to_owned()),
        Just("    indented".to_owned()),
        Just("---".to_owned()),
        Just("===".to_owned()),
        Just("[ref]: http://example.com \"title\"".to_owned()),
        "> [a-z가-힣 .]{0,60}",
        Just(String::new()),
        Just("<div>".to_owned()),
        Just("[^1]: note".to_owned()),
        "\\PC{0,60}",
    ];
    proptest::collection::vec(line, 0..40).prop_map(|lines| lines.join("\n"))
}

fn pairs() -> impl Strategy<Value = String> {
    let row = ("[a-z가-힣? ]{1,60}", "[A-Za-z가-힣 .!]{1,400}");
    proptest::collection::vec(row, 1..6).prop_map(|rows| {
        let rows = rows.into_iter().map(|(q, a)| serde_json::json!({"question": q, "answer": a}));
        Value::from_iter(rows).to_string()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn splitting_markdown_loses_nothing_and_keeps_every_bound(
        text in markdown(), target in 8usize..60, more in 0usize..40,
    ) {
        let tokens_max = (target + more).max(16);
        check(text.as_bytes(), "x.md", &Limits::default(), &SplitLimits { tokens_target: target, tokens_max, tokens_small: 10 });
        check(text.as_bytes(), "x.md", &Limits::default(), &SplitLimits::default());
        check(text.as_bytes(), "x.txt", &Limits::default(), &SplitLimits { tokens_target: target, tokens_max, tokens_small: 10 });
        check(text.as_bytes(), "x.html", &Limits::default(), &SplitLimits::default());
    }

    #[test]
    fn splitting_pairs_loses_nothing_and_keeps_every_bound(text in pairs(), target in 16usize..80) {
        check(text.as_bytes(), "x.json", &Limits::default(), &SplitLimits { tokens_target: target, tokens_max: target + 20, tokens_small: 10 });
    }
}
