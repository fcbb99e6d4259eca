//! Turns rows and objects into questions with answers, or into records of `column: value` lines.

mod csv;
mod json;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::document::{BlockKind, Draft, one_line};
use crate::limits::{Limits, within};
use crate::{ExtractError, Extracted, Format, Mapping};

pub(crate) use self::csv::read_csv;
pub(crate) use self::json::{read_json, read_json_lines};

/// Rows that are told apart in warnings; the others are only counted.
const ROW_WARNINGS_MAX: usize = 20;
const QUESTION_NAMES: [&str; 6] = ["question", "questions", "q", "질문", "문의", "질의"];
const ANSWER_NAMES: [&str; 6] = ["answer", "answers", "a", "답변", "답", "응답"];

/// A column and what the row has there.
type Cell = (String, Value);

/// Collects the rows of a document.
struct Rows<'a> {
    draft: Draft<'a>,
    mapping: &'a Mapping,
    limits: &'a Limits,
    rows: usize,
    warnings: Vec<String>,
    flawed_rows: usize,
}

impl<'a> Rows<'a> {
    fn new(mapping: &'a Mapping, limits: &'a Limits) -> Self {
        let draft = Draft::new(limits);
        Self { draft, mapping, limits, rows: 0, warnings: Vec::new(), flawed_rows: 0 }
    }

    /// Adds a row; `number` is how its author would count it.
    fn push(&mut self, number: usize, cells: Vec<Cell>) -> Result<(), ExtractError> {
        self.rows += 1;
        within("rows", self.rows, self.limits.rows_max)?;
        let mut row = Row::default();
        for (name, value) in cells {
            match self.role(&name) {
                Role::Question => row.question = Some(plain(&value)),
                Role::Answer => row.answer = Some(plain(&value)),
                Role::Title => row.title = Some(plain(&value)),
                Role::Text => row.text = Some(plain(&value)),
                Role::Other => row.others.push((name, value)),
            }
        }
        match row {
            Row { question: Some(question), answer: Some(answer), others, .. } => {
                self.push_pair(number, &question, &answer, others)
            }
            Row { text: Some(text), title, others, .. } => {
                self.push_text(number, title.as_deref().unwrap_or_default(), &text, others)
            }
            Row { question, answer, title, others, .. } => {
                let mut lines = String::new();
                let named = [("question", question), ("answer", answer), ("title", title)];
                for (name, value) in named {
                    push_line(&mut lines, name, &value.unwrap_or_default());
                }
                self.push_record(lines, &others)
            }
        }
    }

    fn role(&self, name: &str) -> Role {
        let mapped =
            |wanted: &Option<String>| wanted.as_ref().map(|wanted| is_same_name(name, wanted));
        let known = |names: &[&str]| names.iter().any(|known| is_same_name(name, known));
        match () {
            () if mapped(&self.mapping.question).unwrap_or_else(|| known(&QUESTION_NAMES)) => {
                Role::Question
            }
            () if mapped(&self.mapping.answer).unwrap_or_else(|| known(&ANSWER_NAMES)) => {
                Role::Answer
            }
            () if mapped(&self.mapping.title) == Some(true) => Role::Title,
            () if mapped(&self.mapping.text) == Some(true) => Role::Text,
            () => Role::Other,
        }
    }

    fn push_pair(
        &mut self,
        number: usize,
        question: &str,
        answer: &str,
        others: Vec<Cell>,
    ) -> Result<(), ExtractError> {
        let missing = match (question.trim(), answer.trim()) {
            ("", "") if others.iter().all(|(_, value)| plain(value).trim().is_empty()) => {
                return Ok(());
            }
            ("", _) => "question",
            (_, "") => "answer",
            _ => {
                self.draft.push_pair(question, answer)?;
                self.add_fields(others);
                return Ok(());
            }
        };
        self.warn(format!("row {number} has no {missing} and was left out"));
        Ok(())
    }

    fn push_text(
        &mut self,
        number: usize,
        title: &str,
        text: &str,
        others: Vec<Cell>,
    ) -> Result<(), ExtractError> {
        if text.trim().is_empty() {
            self.warn(format!("row {number} has no text and was left out"));
            return Ok(());
        }
        self.draft.push_heading(1, title)?;
        self.draft.push(BlockKind::Record, text)?;
        self.add_fields(others);
        Ok(())
    }

    fn push_record(&mut self, mut lines: String, cells: &[Cell]) -> Result<(), ExtractError> {
        for (name, value) in cells {
            push_lines(&mut lines, name, value, self.limits)?;
        }
        self.draft.push(BlockKind::Record, &lines)
    }

    fn add_fields(&mut self, others: Vec<Cell>) {
        if let Some(block) = self.draft.blocks.last_mut() {
            block.fields =
                others.into_iter().filter(|(_, value)| !plain(value).is_empty()).collect();
        }
    }

    fn warn(&mut self, warning: String) {
        self.flawed_rows += 1;
        if self.flawed_rows <= ROW_WARNINGS_MAX {
            self.warnings.push(warning);
        }
    }

    fn finish(
        mut self,
        format: Format,
        title: Option<String>,
        about: BTreeMap<String, Value>,
    ) -> Extracted {
        let untold = self.flawed_rows.saturating_sub(ROW_WARNINGS_MAX);
        if untold > 0 {
            self.warnings.push(format!("{untold} more rows were left out"));
        }
        let mut extracted = self.draft.finish(format, title);
        extracted.front_matter = about;
        extracted.warnings = self.warnings;
        extracted
    }
}

#[derive(Clone, Copy)]
enum Role {
    Question,
    Answer,
    Title,
    Text,
    Other,
}

#[derive(Default)]
struct Row {
    question: Option<String>,
    answer: Option<String>,
    title: Option<String>,
    text: Option<String>,
    others: Vec<Cell>,
}

fn is_same_name(name: &str, wanted: &str) -> bool {
    let (name, wanted) = (name.trim(), wanted.trim());
    name.eq_ignore_ascii_case(wanted) || name.to_lowercase() == wanted.to_lowercase()
}

/// A value as a person would write it.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn push_line(lines: &mut String, name: &str, value: &str) {
    if !value.trim().is_empty() {
        lines.push_str(name);
        lines.push_str(": ");
        lines.push_str(value.trim());
        lines.push('\n');
    }
}

/// A line for each plain value; nested ones are named by their path. Depth is bounded by the parser.
fn push_lines(
    lines: &mut String,
    name: &str,
    value: &Value,
    limits: &Limits,
) -> Result<(), ExtractError> {
    within("bytes of text", lines.len(), limits.text_bytes_max)?;
    match value {
        Value::Array(items) if items.iter().all(|item| !item.is_array() && !item.is_object()) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            push_line(lines, name, &items.join(", "));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                push_lines(lines, &path(name, &(index + 1).to_string()), item, limits)?;
            }
        }
        Value::Object(members) => {
            for (member, value) in members {
                push_lines(lines, &path(name, member), value, limits)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            push_line(lines, name, &plain(value));
        }
    }
    Ok(())
}

fn path(parent: &str, name: &str) -> String {
    let name = one_line(name);
    if parent.is_empty() { name } else { format!("{parent}.{name}") }
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test may panic")]
mod tests;
