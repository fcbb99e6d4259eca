//! Texts of configuration files: comments left out, variables filled in.

use anyhow::{Context, Result, bail};

/// JSON as editors take it: comments and commas before an end are left out; what stands in quotes stays.
pub(super) fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.trim_start_matches('\u{feff}').chars().peekable();
    let mut is_quoted = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if is_quoted => {
                plain.push(letter);
                plain.extend(letters.next());
            }
            '"' => {
                is_quoted = !is_quoted;
                plain.push(letter);
            }
            '/' if !is_quoted && letters.peek() == Some(&'/') => {
                while letters.next_if(|next| *next != '\n').is_some() {}
            }
            '/' if !is_quoted && letters.peek() == Some(&'*') => {
                let mut before = ' ';
                letters.next();
                for next in letters.by_ref() {
                    if before == '*' && next == '/' {
                        break;
                    }
                    before = next;
                }
            }
            '}' | ']' if !is_quoted => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
                plain.push(letter);
            }
            _ => plain.push(letter),
        }
    }
    plain
}

/// Fills in `${NAME}`, `${env:NAME}` and `${NAME:-otherwise}`.
pub(in crate::config) fn expand(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, after) = after.split_once('}').context("a ${ has no }")?;
        whole.push_str(before);
        let name = inside.strip_prefix("env:").unwrap_or(inside);
        if name.starts_with("input:") || name.contains(':') && !name.contains(":-") {
            bail!(
                "${{{inside}}} means something to another program only: write the value, or ${{NAME}}"
            );
        }
        let (name, otherwise) = match name.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise.to_owned())),
            None => (name, None),
        };
        let value = variable(name).or(otherwise);
        whole.push_str(&value.with_context(|| format!("the environment has no {name}"))?);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}
