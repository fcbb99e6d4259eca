//! Files as people write them, before and after a change.

use serde_json::json;

use super::*;

#[track_caller]
fn check_with(before: &str, after: &str) {
    let object = Object::read(before).unwrap();
    assert_eq!(object.with("new", &json!({ "body": ["a", "b"] })).unwrap(), after);
}

#[track_caller]
fn check_without(before: &str, after: &str) {
    let object = Object::read(before).unwrap();
    assert_eq!(object.without("old").unwrap(), after);
}

const NEW: &str = "\"new\": {\n\t\t\"body\": [\n\t\t\t\"a\",\n\t\t\t\"b\"\n\t\t]\n\t}";

#[test]
fn a_member_is_added_at_the_end_and_all_else_stays() {
    check_with("", &format!("\n{{\n\t{NEW}\n}}\n"));
    check_with("{}", &format!("{{\n\t{NEW}\n}}"));
    check_with("{\"a\": 1}", &format!("{{\"a\": 1,\n\t{NEW}\n}}"));
    check_with(
        "// 위\n{\n\t\"a\": 1 // 뒤, {\n\t/* \"b\": 2 */\n}\n// 아래\n",
        &format!("// 위\n{{\n\t\"a\": 1, // 뒤, {{\n\t/* \"b\": 2 */\n\t{NEW}\n}}\n// 아래\n"),
    );
    check_with("{\n\t\"a\": [1,],\n}", &format!("{{\n\t\"a\": [1,],\n\t{NEW},\n}}"));
    check_with("/* only words */", &format!("/* only words */\n{{\n\t{NEW}\n}}\n"));
}

#[test]
fn the_files_own_indentation_and_line_ends_are_kept() {
    let object = Object::read("{\r\n  \"a\": {}\r\n}\r\n").unwrap();
    let after = object.with("b", &json!({ "prefix": "x" })).unwrap();
    assert_eq!(after, "{\r\n  \"a\": {},\r\n  \"b\": {\r\n    \"prefix\": \"x\"\r\n  }\r\n}\r\n");
}

#[test]
fn a_member_is_removed_with_its_comma_and_comments_stay() {
    check_without(
        "{\n\t// kept\n\t\"old\": {\n\t\t\"x\": 1\n\t},\n\t\"b\": 2\n}",
        "{\n\t// kept\n\t\"b\": 2\n}",
    );
    check_without(
        "{\n\t\"a\": 1, // one\n\t\"old\": 2 // two\n}",
        "{\n\t\"a\": 1 // one\n\t // two\n}",
    );
    check_without("{\"old\": 1}", "{}");
    check_without("{\"a\": 1, \"old\": [\"}\"], \"b\": 2}", "{\"a\": 1,  \"b\": 2}");
    check_without("{\n\t\"old\": 1,\n}", "{\n}");
    check_without("{\n\t\"a\": 1\n}", "{\n\t\"a\": 1\n}");
    check_without("{ \"old\": 1, \"a\": 1, \"old\": 2, \"b\": 3 }", "{  \"a\": 1,  \"b\": 3 }");
}

#[test]
fn what_looks_like_a_comment_or_a_brace_in_quotes_is_text() {
    let text = r#"{ "a": "// no {\" /* ", "b\"}": "http://x" /* } */ }"#;
    let object = Object::read(text).unwrap();
    assert_eq!(object.values()["a"], "// no {\" /* ");
    assert_eq!(object.values()["b\"}"], "http://x");
    let after = object.without("a").unwrap();
    assert_eq!(after, r#"{  "b\"}": "http://x" /* } */ }"#);
}

#[test]
fn what_is_not_an_object_is_refused_with_the_place() {
    for (text, place) in [
        ("[1]", "line 1"),
        ("{\n // x\n \"a\" 1}", "line 3"),
        ("{\"a\":", "EOF"),
        ("{} {}", "trailing"),
        ("\"{}\"", "line 1"),
    ] {
        let error = Object::read(text).unwrap_err().to_string();
        assert!(error.contains(place), "{text}: {error}");
    }
}

#[test]
fn a_byte_order_mark_stays_where_it_is() {
    let after = Object::read("\u{feff}{\"a\": 1}").unwrap().without("a").unwrap();
    assert_eq!(after, "\u{feff}{}");
}
