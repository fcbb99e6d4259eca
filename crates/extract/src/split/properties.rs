//! What holds for every document that is split.

use proptest::prelude::*;

use super::*;
use crate::{BlockKind, Hint, Limits, estimate_tokens, extract};

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

fn letters(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn check(text: &str, file_name: &str, limits: &SplitLimits) -> Result<(), TestCaseError> {
    let hint = Hint { file_name: Some(file_name), ..Hint::default() };
    let Ok(extracted) = extract(text.as_bytes(), &hint, &Limits::default()) else { return Ok(()) };
    check_blocks(&extracted)?;
    let split = split(&extracted, limits);
    prop_assert_eq!(&split, &super::split(&extracted, limits));
    let text = &extracted.text;
    let mut last_end = 0;
    for chunk in &split.chunks {
        prop_assert!(chunk.start < chunk.end && chunk.start >= last_end);
        last_end = chunk.end;
        prop_assert!(text.is_char_boundary(chunk.start) && text.is_char_boundary(chunk.end));
        let source = &text[chunk.start..chunk.end];
        prop_assert!(chunk.text.ends_with(source));
        prop_assert!(estimate_tokens(&chunk.text) <= limits.tokens_max, "{:?}", chunk.text);
        let section = &split.sections[chunk.section];
        prop_assert!(section.start <= chunk.start && chunk.end <= section.end);
        let pieces: String = chunk.pieces.iter().map(|piece| &chunk.text[piece.clone()]).collect();
        prop_assert_eq!(letters(&pieces), letters(&chunk.text));
    }
    check_nothing_lost(&extracted, &split)
}

fn check_blocks(extracted: &Extracted) -> Result<(), TestCaseError> {
    let text = &extracted.text;
    let body_start = crate::front_matter::parse(text).body_start;
    let mut at = if extracted.format == crate::Format::Markdown { body_start } else { 0 };
    for block in &extracted.blocks {
        prop_assert!(block.start >= at && block.end > block.start, "{:?}", extracted.blocks);
        prop_assert!(text[at..block.start].trim().is_empty(), "{:?}", &text[at..block.start]);
        at = block.end;
        match block.kind {
            BlockKind::Table { header_end: inner } | BlockKind::Pair { answer_start: inner } => {
                prop_assert!(
                    block.start < inner && inner <= block.end && text.is_char_boundary(inner)
                );
            }
            _ => {}
        }
    }
    prop_assert!(text[at..].trim().is_empty(), "{:?}", &text[at..]);
    Ok(())
}

/// Every block is in the chunks, and every heading in a chunk or in the tree.
fn check_nothing_lost(extracted: &Extracted, split: &Split) -> Result<(), TestCaseError> {
    let text = &extracted.text;
    let mut sections = split.sections.iter().skip(1);
    for block in &extracted.blocks {
        let mut covered = String::new();
        for chunk in &split.chunks {
            let (start, end) = (chunk.start.max(block.start), chunk.end.min(block.end));
            covered.push_str(text.get(start..end).unwrap_or_default());
        }
        let is_covered = letters(&covered) == letters(&text[block.start..block.end]);
        if let BlockKind::Heading { .. } = block.kind {
            let section = sections.next().unwrap();
            prop_assert_eq!(section.start, block.start);
            let source = &text[block.start..block.end];
            let heading = markdown::heading_text(source, extracted.format);
            prop_assert!(is_covered || section.heading == heading);
        } else {
            prop_assert!(is_covered, "{:?} of {:?}", &text[block.start..block.end], covered);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn splitting_markdown_loses_nothing_and_keeps_every_bound(
        text in markdown(), target in 8usize..60, more in 0usize..40,
    ) {
        let tokens_max = (target + more).max(16);
        check(&text, "x.md", &SplitLimits { tokens_target: target, tokens_max, tokens_small: 10 })?;
        check(&text, "x.md", &SplitLimits::default())?;
        check(&text, "x.txt", &SplitLimits { tokens_target: target, tokens_max, tokens_small: 10 })?;
        check(&text, "x.html", &SplitLimits::default())?;
    }

    #[test]
    fn splitting_pairs_loses_nothing_and_keeps_every_bound(text in pairs(), target in 16usize..80) {
        check(&text, "x.json", &SplitLimits { tokens_target: target, tokens_max: target + 20, tokens_small: 10 })?;
    }
}
