//! What the readers of rows do, shown on small documents.

use serde_json::json;

use crate::{BlockKind, ExtractError, Extracted, Hint, Limits, Mapping, extract};

fn read_with(
    text: &str,
    file_name: &str,
    mapping: Option<&Mapping>,
) -> Result<Extracted, ExtractError> {
    let hint = Hint { file_name: Some(file_name), mapping, ..Hint::default() };
    extract(text.as_bytes(), &hint, &Limits::default())
}

fn read(text: &str, file_name: &str) -> Extracted {
    read_with(text, file_name, None).unwrap()
}

#[test]
fn questions_and_answers_become_pairs_with_their_other_columns_as_fields() {
    let extracted = read(
        "Question,ANSWER,category,updated_at\n\"환불\n되나요?\",\"네, \"\"7일\"\" 안에.\n신청하세요.\",결제,2026-01-02\n",
        "faq.csv",
    );
    assert_eq!(extracted.text, "환불 되나요?\n\n네, \"7일\" 안에.\n신청하세요.");
    assert!(
        matches!(extracted.blocks[0].kind, BlockKind::Pair { answer_start } if extracted.text[answer_start..].starts_with("네"))
    );
    assert_eq!(
        json!(extracted.blocks[0].fields),
        json!({"category": "결제", "updated_at": "2026-01-02"})
    );
}

#[test]
fn rows_without_a_question_or_answer_become_warnings_with_their_number() {
    let extracted = read("질문,답변\nA?,a\n,b\nC?,\n,\n", "faq.csv");
    assert_eq!(extracted.blocks.len(), 1);
    assert_eq!(
        extracted.warnings,
        ["row 3 has no question and was left out", "row 4 has no answer and was left out"]
    );
}

#[test]
fn other_rows_become_records() {
    for text in [
        "name;price\n서버;10\n\ndisk;\n",
        "name\tprice\n서버\t10\ndisk\t\n",
        "name,price\n서버,10\ndisk,\n",
    ] {
        let extracted = read(text, "x.csv");
        assert_eq!(extracted.text, "name: 서버\nprice: 10\n\nname: disk");
        assert!(extracted.blocks.iter().all(|block| block.kind == BlockKind::Record));
    }
}

#[test]
fn a_mapping_names_the_columns() {
    let mapping = Mapping {
        question: Some("물음".into()),
        answer: Some("Reply".into()),
        ..Mapping::default()
    };
    let extracted = read_with("물음,reply\nA?,a\n", "x.csv", Some(&mapping)).unwrap();
    assert_eq!(extracted.text, "A?\n\na");
    let mapping =
        Mapping { title: Some("head".into()), text: Some("body".into()), ..Mapping::default() };
    let extracted =
        read_with(r#"[{"head": "T", "body": "words", "tag": 3}]"#, "x.json", Some(&mapping))
            .unwrap();
    assert_eq!(extracted.text, "# T\n\nwords");
    assert_eq!(json!(extracted.blocks[1].fields), json!({"tag": 3}));
}

#[test]
fn json_comes_as_a_list_as_an_object_around_a_list_or_as_one_record() {
    let list = r#"[{"q": "A?", "a": "a"}, {"q": "B?", "a": "b"}]"#;
    assert_eq!(read(list, "x.json").text, "A?\n\na\n\nB?\n\nb");
    let around = format!(r#"{{"title": "FAQ", "items": {list}}}"#);
    let extracted = read(&around, "x.json");
    assert_eq!((extracted.blocks.len(), extracted.title.as_deref()), (2, Some("FAQ")));
    let one = r#"{"zone": "서울", "limits": {"cpu": 4, "tags": ["a", "b"]}, "none": null}"#;
    assert_eq!(read(one, "x.json").text, "zone: 서울\nlimits.cpu: 4\nlimits.tags: a, b");
    assert_eq!(read("\"just text\"", "x.json").text, "just text");
}

#[test]
fn json_lines_skip_broken_lines_with_a_warning() {
    let extracted =
        read("{\"q\":\"A?\",\"a\":\"a\"}\n\n{broken\n{\"q\":\"B?\",\"a\":\"b\"}\n", "x.jsonl");
    assert_eq!(extracted.blocks.len(), 2);
    assert_eq!(extracted.warnings, ["line 3 is not valid JSON and was left out"]);
    assert_eq!(
        read("{\"q\":\"A?\",\"a\":\"a\"}\n{\"q\":\"B?\",\"a\":\"b\"}\n", "x.json").blocks.len(),
        2
    );
    assert!(matches!(read_with("{broken\n", "x.jsonl", None), Err(ExtractError::Malformed { .. })));
}

#[test]
fn deep_json_is_refused() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(read_with(&deep, "x.json", None), Err(ExtractError::TooDeep { limit: 127 }));
    assert_eq!(
        read_with(&"{\"a\":".repeat(100_000), "x.jsonl", None),
        Err(ExtractError::TooDeep { limit: 127 })
    );
    let allowed = format!("{}1{}", "[".repeat(127), "]".repeat(127));
    assert_eq!(read(&allowed, "x.json").text.trim_start_matches(|c| "1.: ".contains(c)), "");
}

#[test]
fn a_million_columns_are_refused() {
    let wide = ",".repeat(1_000_000);
    let expected = Err(ExtractError::TooLarge { what: "columns", limit: 1_000 });
    assert_eq!(read_with(&wide, "x.csv", None), expected);
    assert_eq!(read_with(&format!("a,b\n{wide}\n"), "x.csv", None), expected);
}

#[test]
fn too_many_rows_are_refused() {
    let limits = Limits { rows_max: 3, ..Limits::default() };
    let hint = Hint { file_name: Some("x.json"), ..Hint::default() };
    let found = extract(b"[1,2,3,4]", &hint, &limits);
    assert_eq!(found, Err(ExtractError::TooLarge { what: "rows", limit: 3 }));
}

#[test]
fn utf_16_from_a_spreadsheet_is_read() {
    let bytes: Vec<u8> = "질문\t답변\r\n환불되나요?\t네, 됩니다.\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let hint = Hint { file_name: Some("x.csv"), ..Hint::default() };
    assert_eq!(
        extract(&bytes, &hint, &Limits::default()).unwrap().text,
        "환불되나요?\n\n네, 됩니다."
    );
}
