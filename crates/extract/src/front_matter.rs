//! Reads the lines between `---` (or `+++`) fences at the beginning of a Markdown document.
//!
//! It knows the part of YAML that people write there: scalars, lists, one level of nested keys, block text.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

/// Longest front matter, in bytes: more is a document that happens to begin with a rule.
const FRONT_MATTER_BYTES_MAX: usize = 64 << 10;

#[derive(Default)]
pub(crate) struct FrontMatter {
    pub(crate) values: BTreeMap<String, Value>,
    /// Where the document proper begins.
    pub(crate) body_start: usize,
}

/// What stands before the document, if it has front matter at all.
pub(crate) fn parse(text: &str) -> FrontMatter {
    find(text).unwrap_or_default()
}

fn find(text: &str) -> Option<FrontMatter> {
    let (fence, separator) = match text.get(..4)? {
        "---\n" => ("---", ':'),
        "+++\n" => ("+++", '='),
        _ => return None,
    };
    let mut lines = Vec::new();
    let mut body_start = 4;
    for line in text.get(4..)?.split_inclusive('\n') {
        body_start += line.len();
        if body_start > FRONT_MATTER_BYTES_MAX {
            return None;
        }
        let line = line.trim_end();
        if line == fence || (line == "..." && separator == ':') {
            let values = entries(&lines, separator)?;
            return Some(FrontMatter { values, body_start });
        }
        lines.push(line);
    }
    None
}

/// Nothing when a line at the margin is no entry: then the fences were rules of the document.
fn entries(lines: &[&str], separator: char) -> Option<BTreeMap<String, Value>> {
    let mut values = BTreeMap::new();
    let mut lines = lines.iter().copied().peekable();
    while let Some(line) = lines.next() {
        let is_table = separator == '=' && line.starts_with('[');
        if line.trim().is_empty() || line.starts_with('#') || is_table {
            continue;
        }
        let (key, value) = entry(line, separator)?;
        let mut nested = Vec::new();
        while let Some(next) = lines.next_if(|next| belongs_to_entry_above(next)) {
            nested.push(next);
        }
        values.insert(
            key,
            if nested.is_empty() { scalar(value) } else { nested_value(value, &nested) },
        );
    }
    Some(values)
}

fn belongs_to_entry_above(line: &str) -> bool {
    line.starts_with([' ', '\t']) || line.starts_with("- ") || line == "-"
}

fn entry(line: &str, separator: char) -> Option<(String, &str)> {
    let (key, value) = line.split_once(separator)?;
    let is_entry = separator == '=' || value.is_empty() || value.starts_with([' ', '\t']);
    let key = key.trim().trim_matches(['"', '\'']);
    (is_entry && !key.is_empty()).then(|| (key.to_owned(), value.trim()))
}

/// The value of an entry whose text goes on below it: a list, text in lines, or keys of its own.
fn nested_value(head: &str, lines: &[&str]) -> Value {
    if let Some(style) = head.chars().next().filter(|first| matches!(first, '|' | '>')) {
        let glue = if style == '|' { "\n" } else { " " };
        let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        return Value::String(lines.join(glue));
    }
    if !head.is_empty() {
        // A value that was wrapped onto further lines, or an inline list over several.
        let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        return scalar(&format!("{head} {}", lines.join(" ")));
    }
    let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    if lines.clone().all(|line| line.starts_with('-')) {
        return lines.map(|line| scalar(line.trim_start_matches('-').trim())).collect();
    }
    lines
        .filter_map(|line| entry(line, ':'))
        .map(|(key, value)| (key, scalar(value)))
        .collect::<Map<_, _>>()
        .into()
}

fn scalar(text: &str) -> Value {
    let text = text.trim();
    if let Some(quoted) = quoted(text) {
        return Value::String(quoted);
    }
    let text = text.split_once(" #").map_or(text, |(value, _)| value.trim_end());
    if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inline_items(inner).into_iter().map(scalar).collect();
    }
    match text {
        "true" | "True" => Value::Bool(true),
        "false" | "False" => Value::Bool(false),
        "" | "null" | "~" => Value::Null,
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

/// The inside of a quoted text, when one pair of quotes holds all of it.
fn quoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let inner = text.strip_prefix(quote)?;
    let mut characters = inner.char_indices().peekable();
    let mut content = String::new();
    while let Some((at, character)) = characters.next() {
        match character {
            '\'' if quote == '\'' && characters.next_if(|(_, next)| *next == '\'').is_some() => {
                content.push('\'');
            }
            _ if character == quote => {
                let rest = inner.get(at + 1..)?.trim_start();
                return (rest.is_empty() || rest.starts_with('#')).then_some(content);
            }
            '\\' if quote == '"' => content.push(match characters.next()?.1 {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            _ => content.push(character),
        }
    }
    None
}

/// Parts of an inline list; commas in quotes do not count.
fn inline_items(inner: &str) -> Vec<&str> {
    let (mut items, mut start, mut open) = (Vec::new(), 0, None);
    for (at, character) in inner.char_indices() {
        match (character, open) {
            ('"' | '\'', None) => open = Some(character),
            (_, Some(quote)) if quote == character => open = None,
            (',', None) => {
                items.push(inner.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(inner.get(start..).unwrap_or_default());
    items.retain(|item| !item.trim().is_empty());
    items
}

/// Plain decimal numbers only: dates, versions and codes with leading zeros stay text.
fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) || (whole.starts_with('0') && whole != "0") {
        return None;
    }
    match text.parse::<i64>() {
        Ok(integer) => Some(integer.into()),
        Err(_) => Number::from_f64(text.parse().ok()?),
    }
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test may panic")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_usual_kinds_of_values_are_read() {
        let text = "---\ntitle: \"비용: 분석\"\ntags: [a, 'b, c', 3]\n# comment\ndraft: false\nupdated: 2026-11-15\nversion: 1.10\norder: 7\nzip: 01234\nowners:\n  - mina\n  - joon # lead\nmeta:\n  kind: faq\nsummary: >\n  one\n  two\nempty:\n---\n# Body\n";
        let front = parse(text);
        assert_eq!(
            json!(front.values),
            json!({
                "title": "비용: 분석", "tags": ["a", "b, c", 3], "draft": false, "updated": "2026-11-15",
                "version": 1.1, "order": 7, "zip": "01234", "owners": ["mina", "joon"],
                "meta": {"kind": "faq"}, "summary": "one two", "empty": null,
            })
        );
        assert_eq!(&text[front.body_start..], "# Body\n");
    }

    #[test]
    fn toml_fences_are_read_too() {
        let front = parse("+++\ntitle = \"시작\"\nweight = 3\n+++\nbody");
        assert_eq!(json!(front.values), json!({"title": "시작", "weight": 3}));
    }

    #[test]
    fn a_rule_at_the_beginning_is_not_front_matter() {
        for text in
            ["---\nPlain words\n---\nmore", "---\nnever closed: 1\n", "----\na: 1\n---\n", "text"]
        {
            assert_eq!(parse(text).body_start, 0, "{text}");
        }
    }
}
