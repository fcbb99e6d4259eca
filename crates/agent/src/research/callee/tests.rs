//! Checks which argument takes a query, and what answers of tools come to.

use serde_json::json;

use super::*;
use crate::tools::RESULT_BYTES_MAX;
use crate::tools::outcome::Piece;

fn argument(schema: &Value) -> Result<String, String> {
    query_argument(schema).map(str::to_owned)
}

fn tool() -> ProviderId {
    "tool:notes__find".parse().unwrap()
}

fn text(words: &str) -> ToolOutput {
    ToolOutput::of(vec![Piece::Text(words.to_owned())], None, false)
}

fn data(structured: Value) -> ToolOutput {
    ToolOutput::of(Vec::new(), Some(structured), false)
}

fn link(address: &str, title: &str) -> Piece {
    Piece::Link(Link { address: address.to_owned(), title: title.to_owned() })
}

#[test]
fn the_query_goes_where_people_put_it_or_where_the_only_text_does() {
    let string = json!({"type": "string"});
    let both =
        json!({"properties": {"text": string, "query": string, "limit": {"type": "integer"}}});
    assert_eq!(argument(&both).unwrap(), "query");
    let only = json!({"properties": {"message": string, "task": string}, "required": ["message"]});
    assert_eq!(argument(&only).unwrap(), "message");
    let maybe = json!({"properties": {"q": {"type": ["string", "null"]}}, "required": ["q"]});
    assert_eq!(argument(&maybe).unwrap(), "q");
    let untyped = json!({"properties": {"search": {"description": "what"}}});
    assert_eq!(argument(&untyped).unwrap(), "search");
    let arguments = arguments(&json!({"properties": {"q": string}}), "봄 샘").unwrap();
    assert_eq!(Value::Object(arguments), json!({"q": "봄 샘"}));
}

#[test]
fn a_tool_that_wants_something_else_is_refused_by_name() {
    let string = json!({"type": "string"});
    let more =
        json!({"properties": {"query": string, "repo": string}, "required": ["query", "repo"]});
    assert!(argument(&more).unwrap_err().contains("it needs repo besides query"));
    for none in [
        json!({}),
        json!({"properties": {"count": {"type": "integer"}}, "required": ["count"]}),
        json!({"properties": {"path": string, "mode": string}}),
        json!({"properties": {"query": {"type": "integer"}}}),
        json!({"properties": {"text": {"type": "string", "enum": ["a", "b"]}}}),
    ] {
        assert!(argument(&none).unwrap_err().contains("no argument"), "{none}");
    }
}

#[test]
fn a_plain_text_is_one_source_that_was_read_and_says_what_was_asked() {
    let hits = hits(&tool(), "봄 샘", &text("샘은 봄에 솟는다.\nIt rises in spring."), 8);
    assert_eq!(hits.len(), 1);
    assert_eq!((hits[0].title.as_str(), hits[0].is_summary), ("notes__find: 봄 샘", false));
    assert_eq!(
        (hits[0].text.as_str(), hits[0].start),
        ("샘은 봄에 솟는다.\nIt rises in spring.", 0)
    );
    assert_eq!(hits[0].address, None);
    let other = super::hits(&tool(), "여름 샘", &text("샘은 봄에 솟는다."), 8);
    assert_ne!(hits[0].place, other[0].place, "another question has another answer");
}

#[test]
fn data_that_names_places_of_the_web_gives_what_is_read_there() {
    let row = json!({"title": "Springs", "url": "https://a.example/1", "snippet": "About springs.", "date": "2026-01-02"});
    let file = json!({"title": "A file", "url": "file:///etc/passwd"});
    let bare = json!({"url": "https://a.example/icon.png"});
    let shapes = [
        json!([row, file, bare]),
        json!({"results": [row, row]}),
        json!({"data": {"web": {"results": [row]}}}),
    ];
    for shape in shapes {
        for output in [data(shape.clone()), text(&shape.to_string())] {
            let hits = hits(&tool(), "springs", &output, 8);
            assert_eq!(hits.len(), 1, "{shape}");
            assert_eq!(hits[0].address.as_deref(), Some("https://a.example/1"));
            assert_eq!(
                (hits[0].title.as_str(), hits[0].text.as_str()),
                ("Springs", "About springs.")
            );
            assert!(hits[0].is_summary);
            assert_eq!(hits[0].published.as_deref(), Some("2026-01-02"));
        }
    }
    let many: Vec<Value> = (0..50)
        .map(|number| json!({"title": "x", "link": format!("https://a.example/{number}")}))
        .collect();
    assert_eq!(hits(&tool(), "springs", &data(json!(many)), 8).len(), 8);
}

#[test]
fn data_without_places_is_read_as_it_stands() {
    let hits = hits(&tool(), "q", &data(json!({"celsius": 21})), 8);
    assert_eq!((hits.len(), hits[0].text.as_str()), (1, r#"{"celsius":21}"#));
}

#[test]
fn resource_links_of_the_web_are_read_there_and_a_text_beside_them_counts_too() {
    let links = vec![link("https://a.example/1", "One"), link("notes://2", "Two")];
    let alone = ToolOutput::of(vec![link("https://a.example/1", "One")], None, false);
    let found = hits(&tool(), "q", &alone, 8);
    assert_eq!((found.len(), found[0].title.as_str()), (1, "One"));
    let mut pieces = vec![Piece::Text("Two notes.".to_owned())];
    pieces.extend(links);
    let found = hits(&tool(), "q", &ToolOutput::of(pieces, None, false), 8);
    assert_eq!(found.len(), 2);
    assert!(!found[0].is_summary && found[0].text.starts_with("Two notes."), "{found:?}");
    assert!(found[1].is_summary);
    assert!(hits(&tool(), "q", &ToolOutput::of(Vec::new(), None, false), 8).is_empty());
}

#[test]
fn a_hostile_answer_stays_bounded_and_visible() {
    let much = hits(&tool(), "q", &text(&"샘\u{1b}[2J\u{202e} ".repeat(RESULT_BYTES_MAX / 4)), 8);
    assert!(much[0].text.len() <= TEXT_BYTES_MAX);
    assert!(!much[0].text.contains(['\u{1b}', '\u{202e}']));
    let deep =
        (0..100).fold(json!({"title": "x", "url": "https://a.example"}), |inner, _| json!([inner]));
    assert!(hits(&tool(), "q", &data(deep), 8).iter().all(|hit| !hit.is_summary));
    let row =
        json!({"title": "a\nb\u{7}", "url": "https://a.example/ x", "text": "y".repeat(9_999)});
    assert!(hits(&tool(), "q", &data(json!([row])), 8).iter().all(|hit| hit.address.is_none()));
    let row = json!({"title": "a\nb\u{7}", "url": "https://a.example/", "text": "y".repeat(9_999)});
    let hits = hits(&tool(), "q", &data(json!([row])), 8);
    assert_eq!((hits[0].title.as_str(), hits[0].text.len()), ("a b", SUMMARY_BYTES_MAX));
}
