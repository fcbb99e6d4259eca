//! What splitting does, shown on small documents.

use super::*;
use crate::{Extracted, Hint, Limits, extract};

fn read(text: &str, file_name: &str) -> Extracted {
    let hint = Hint { file_name: Some(file_name), ..Hint::default() };
    extract(text.as_bytes(), &hint, &Limits::default()).unwrap()
}

fn small(tokens_target: usize, tokens_max: usize) -> SplitLimits {
    SplitLimits { tokens_target, tokens_max, tokens_small: 5 }
}

/// Each chunk as its heading path and its text.
fn chunks(markdown: &str, limits: &SplitLimits) -> Vec<String> {
    let split = split(&read(markdown, "x.md"), limits);
    let show = |chunk: &Chunk| {
        let path = heading_path(&split.sections, chunk.section).join(" › ");
        format!("{path} ‖ {}", chunk.text)
    };
    split.chunks.iter().map(show).collect()
}

fn check(markdown: &str, expected: &[&str]) {
    assert_eq!(chunks(markdown, &SplitLimits::default()), expected);
}

#[test]
fn a_chunk_knows_the_headings_it_stands_under() {
    check(
        "앞말.\n\n# 배포\n\n먼저 백업한다.\n\n## 되돌리기\n\n복원한다.\n\n# 끝\n\n그만.",
        &[
            "배포 ‖ 앞말.",
            "배포 ‖ 먼저 백업한다.",
            "배포 › 되돌리기 ‖ 복원한다.",
            "배포 › 끝 ‖ 그만.",
        ],
    );
}

#[test]
fn a_heading_without_a_body_is_a_chunk_only_when_nothing_stands_under_it() {
    check("# A\n\n## B\n\ntext\n\n## C\n\n# D\n", &["A › B ‖ text", "A › C ‖ ## C", "A › D ‖ # D"]);
}

#[test]
fn sections_form_a_tree_and_cover_their_descendants() {
    let text = "# A\n\na\n\n### B\n\nb\n\n## C\n\nc\n\n# D\n\nd\n";
    let split = split(&read(text, "x.md"), &SplitLimits::default());
    let found: Vec<(Option<usize>, u8, &str, &str)> = split
        .sections
        .iter()
        .skip(1)
        .map(|s| (s.parent, s.level, s.heading.as_str(), &text[s.start..s.end]))
        .collect();
    assert_eq!(
        found,
        [
            (Some(0), 1, "A", "# A\n\na\n\n### B\n\nb\n\n## C\n\nc"),
            (Some(1), 3, "B", "### B\n\nb"),
            (Some(1), 2, "C", "## C\n\nc"),
            (Some(0), 1, "D", "# D\n\nd"),
        ]
    );
    assert_eq!((split.sections[0].start, split.sections[0].end), (0, text.len()));
}

#[test]
fn a_heading_loses_its_marks_and_a_rule_below_it_is_no_text() {
    check("## **Bold** `code` [link](http://x) ##\n\n---\n\ntext\n", &["Bold code link ‖ text"]);
    check("Two\nlines\n=====\n\ntext\n", &["Two lines ‖ text"]);
}

#[test]
fn every_part_of_a_table_repeats_its_header() {
    let rows: String = (0..12).map(|n| format!("| item {n} | price {n} |\n")).collect();
    let text = format!("| name | cost |\n| --- | --- |\n{rows}");
    let found = chunks(&text, &small(60, 80));
    assert!(found.len() > 2);
    for chunk in &found {
        assert_eq!(chunk.matches("| name | cost |\n| --- | --- |\n| item").count(), 1, "{chunk}");
        assert!(chunk.ends_with('|'));
    }
    let all = found.concat();
    assert!((0..12).all(|n| all.matches(&format!("| item {n} |")).count() == 1));
}

#[test]
fn steps_of_one_list_stay_together_with_the_code_between_them() {
    let text = "Intro words that stand before the list and are not part of it at all, so they may go elsewhere.\n\n1. Open it\n   ```\n   open\n   ```\n2. Close it\n3. Leave\n\nAfterwards there is more to say about this matter than fits into one chunk.";
    let found = chunks(text, &small(24, 44));
    assert!(
        found.iter().any(|chunk| chunk.contains("1. Open it") && chunk.contains("3. Leave")),
        "{found:#?}"
    );
}

#[test]
fn long_code_is_cut_at_lines_and_keeps_its_indentation() {
    let lines: String = (0..20).map(|n| format!("    let value_{n} = {n};\n")).collect();
    let found = chunks(&format!("```rust\n{lines}```\n"), &small(40, 60));
    assert!(found.len() > 2);
    assert!(found[1].starts_with(" ‖     let value_"), "{}", found[1]);
    assert!(found.iter().all(|chunk| chunk.ends_with(';') || chunk.ends_with("```")));
}

#[test]
fn a_long_answer_repeats_its_question() {
    let answer = "환불은 칠 일 안에 신청할 수 있습니다. ".repeat(12);
    let csv = format!("질문,답변,분류\n환불은 어떻게 하나요?,{answer},결제\n짧은 질문?,네.,기타\n");
    let split = split(&read(&csv, "faq.csv"), &small(70, 90));
    let (last, parts) = split.chunks.split_last().unwrap();
    assert!(parts.len() > 1);
    for part in parts {
        assert!(part.text.starts_with("환불은 어떻게 하나요?\n\n환불은"), "{}", part.text);
        assert_eq!(&part.text[part.pieces()[0].clone()], "환불은 어떻게 하나요?");
        assert_eq!(part.fields["분류"], "결제");
    }
    assert_eq!(last.text, "짧은 질문?\n\n네.");
    assert_eq!(last.fields["분류"], "기타");
}

#[test]
fn long_prose_is_cut_between_sentences() {
    let text = "첫 문장은 여기에서 끝납니다. 둘째 문장도 곧 끝납니다. 셋째 문장이 이어집니다. 넷째 문장입니다.";
    for chunk in chunks(text, &small(24, 30)) {
        assert!(chunk.ends_with('.'), "{chunk}");
    }
}

#[test]
fn a_small_end_joins_the_chunk_before_it() {
    let body = "This sentence fills the chunk with words. ".repeat(6);
    let found = chunks(
        &format!("{body}\n\nEnd."),
        &SplitLimits { tokens_target: 50, tokens_max: 80, tokens_small: 20 },
    );
    assert_eq!(found.len(), 1);
}

#[test]
fn a_word_without_end_is_still_cut() {
    let found = chunks(&"x".repeat(20_000), &SplitLimits::default());
    assert!(found.len() > 1);
}

#[test]
fn tags_say_what_is_in_a_chunk() {
    let text = "# 설정\n\n1. 연다\n2. 고른다\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## 코드\n\n```\nx\n```\n\n관리자인 경우에만 됩니다.\n";
    let split = split(&read(text, "x.md"), &SplitLimits::default());
    let tags: Vec<ChunkTags> = split.chunks.iter().map(|chunk| chunk.tags).collect();
    assert_eq!(
        (tags[0].has_steps, tags[0].has_table, tags[0].has_code, tags[0].has_conditions),
        (true, true, false, false)
    );
    assert_eq!(
        (tags[1].has_steps, tags[1].has_table, tags[1].has_code, tags[1].has_conditions),
        (false, false, true, true)
    );
}

#[test]
fn pieces_are_short_and_cover_the_chunk() {
    let text = "예산을 설정하면 알림이 옵니다. ".repeat(20);
    let split = split(&read(&text, "x.txt"), &SplitLimits::default());
    for chunk in &split.chunks {
        let joined: String =
            chunk.pieces().iter().map(|piece| &chunk.text[piece.clone()]).collect();
        let blank = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(blank(&joined), blank(&chunk.text));
        assert!(chunk.pieces().len() > 3);
        assert!(chunk.pieces().iter().all(|piece| piece.len() <= 220));
    }
}
