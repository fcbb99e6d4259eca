//! Real texts to make vectors of: every sentence of the data sets, then their parts, until there are enough.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Texts shorter than this say nothing, longer ones are cut: in characters.
const CHARACTERS_MIN: usize = 12;
const CHARACTERS_MAX: usize = 400;

/// Stretches of so many words, one beginning every so many: what chunks of a text overlap like.
const WINDOWS: [(usize, usize); 5] = [(18, 7), (10, 4), (25, 10), (14, 5), (6, 3)];

pub(crate) struct Texts {
    pub(crate) passages: Vec<String>,
    pub(crate) questions: Vec<String>,
}

/// Up to `wanted` different texts, sentences first, and as many questions as asked for.
pub(crate) fn read(folder: &Path, wanted: usize, questions: usize) -> Result<Texts> {
    let mut paragraphs = Vec::new();
    let mut asked = Vec::new();
    for file in files(folder)? {
        let text = std::fs::read_to_string(&file)?;
        let is_lines = file.extension().is_some_and(|extension| extension == "jsonl");
        let parts: Vec<&str> = if is_lines { text.lines().collect() } else { vec![&text] };
        for part in parts {
            let value = serde_json::from_str(part).with_context(|| file.display().to_string())?;
            collect(&value, None, &mut paragraphs, &mut asked);
        }
    }
    asked.sort();
    asked.dedup();
    ensure!(asked.len() >= questions, "{} has too few questions", folder.display());
    // Evenly over all of them, so that both languages are there.
    let every = asked.len() / questions.max(1);
    let asked: Vec<String> = asked.into_iter().step_by(every.max(1)).take(questions).collect();
    let mut known: HashSet<String> = asked.iter().cloned().collect();
    let mut passages = Vec::new();
    let mut add = |text: &str| {
        let text: String = text.trim().chars().take(CHARACTERS_MAX).collect();
        let is_new = passages.len() < wanted && text.chars().count() >= CHARACTERS_MIN;
        if is_new && known.insert(text.clone()) {
            passages.push(text);
        }
    };
    let sentences = |paragraph: &str| -> Vec<String> {
        paragraph.split_inclusive(['.', '?', '!', '\n']).map(str::to_owned).collect()
    };
    paragraphs.iter().flat_map(|paragraph| sentences(paragraph)).for_each(|text| add(&text));
    for (words, step) in WINDOWS {
        for paragraph in &paragraphs {
            let all: Vec<&str> = paragraph.split_whitespace().collect();
            for window in all.windows(words).step_by(step) {
                add(&window.join(" "));
            }
        }
    }
    Ok(Texts { passages, questions: asked })
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else if path.extension().is_some_and(|kind| kind == "json" || kind == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn collect(
    value: &Value,
    name: Option<&str>,
    paragraphs: &mut Vec<String>,
    asked: &mut Vec<String>,
) {
    match value {
        Value::String(text) if name == Some("question") => asked.push(text.clone()),
        Value::String(text) => paragraphs.push(text.clone()),
        Value::Array(items) => {
            items.iter().for_each(|item| collect(item, name, paragraphs, asked));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, item)| collect(item, Some(name), paragraphs, asked));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
