//! Tests of prompts: what a file says, and what becomes of it.

use serde_json::json;

use super::*;

fn prompts(name: &str, text: &str) -> Result<Prompts, PromptFault> {
    Prompts::read(vec![PromptFile { name: name.to_owned(), text: text.to_owned() }])
}

#[track_caller]
fn check(text: &str, arguments: &Value, wanted: &str) {
    let prompts = prompts("it", text).unwrap();
    let mut get = GetPromptRequestParams::new("it");
    get.arguments = arguments.as_object().cloned();
    let result = serde_json::to_value(prompts.get(&get).unwrap()).unwrap();
    assert_eq!(result["messages"][0]["content"]["text"], wanted);
}

#[test]
fn the_prompts_that_ship_can_be_read_and_name_what_they_take() {
    let prompts = Prompts::read(Vec::new()).unwrap();
    let names: Vec<&str> = prompts.list().iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names, ["answer-from-documents", "summarize-document"]);
    assert_eq!(prompts.values("answer-from-documents", "collection"), Some(&Values::Collections));
    let listed = Values::Listed(vec!["한국어".to_owned(), "English".to_owned()]);
    assert_eq!(prompts.values("summarize-document", "language"), Some(&listed));
    let get = GetPromptRequestParams::new("summarize-document");
    assert!(prompts.get(&get).unwrap_err().message.contains("document is missing"));
}

#[test]
fn arguments_are_filled_in_once_and_what_they_hold_is_left_alone() {
    let text = "---\narguments:\n  - name: a\n  - name: b\n---\n{{a}} and {{ b }}, {{c}}, {{";
    check(text, &json!({ "a": "{{b}}", "b": "물" }), "{{b}} and 물, {{c}}, {{");
    check(text, &json!({}), "and , {{c}}, {{");
}

#[test]
fn a_file_without_a_head_is_all_text() {
    check("just words", &json!({}), "just words");
}

#[test]
fn a_later_prompt_takes_the_place_of_an_earlier_one_of_its_name() {
    let prompts = prompts("summarize-document", "---\ntitle: Ours\n---\nshort").unwrap();
    let titles: Vec<_> = prompts.list().iter().map(|prompt| prompt.title.as_deref()).collect();
    assert_eq!(titles, [Some("Answer from our documents"), Some("Ours")]);
}

#[test]
fn a_file_that_is_no_prompt_says_why() {
    for (name, text, why) in [
        ("a b", "x", "its name"),
        ("a", "---\ntitle: x", "does not end"),
        ("a", "---\ncolour: red\n---\n", "colour is not known"),
        ("a", "---\narguments:\n  - name: x y\n---\n", "no name for an argument"),
        ("a", "---\narguments:\n    required: true\n---\n", "before any argument"),
        ("a", "---\narguments:\n  - name: x\n    required: yes\n---\n", "true or false"),
        ("a", "---\narguments:\n  - name: x\n    values: some\n---\n", "[a, b]"),
        ("a", "---\nnonsense\n---\n", "no key: value"),
        ("a", &"x".repeat(PROMPT_BYTES_MAX + 1), "more than"),
    ] {
        let fault = prompts(name, text).err().unwrap();
        assert!(fault.to_string().contains(why), "{fault}");
    }
}
