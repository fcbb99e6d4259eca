//! Which tools a model is shown: all of them, or one that finds them when they would fill its context.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::definition::Definition;
use crate::analysis;
use crate::model::ToolSpec;

/// The tool that finds tools.
pub const FIND_TOOLS: &str = "find_tools";

/// Tools that one search for tools gives.
pub const FOUND_MAX: usize = 8;

/// Bytes of a definition for one token, about: schemas are short words and signs.
const BYTES_PER_TOKEN: usize = 3;

/// A match in the name counts as several in the description: names are chosen, descriptions wander.
const NAME_WEIGHT: f64 = 3.0;

/// What a model gets to see of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// Every tool with its schema.
    All,
    /// `find_tools`, and whatever it has found so far.
    Search,
}

/// Whether all definitions fit into `tokens_max` tokens, the share of the context that tools may have.
#[must_use]
pub fn offer(tools: &[Definition], tokens_max: usize) -> Offer {
    let bytes = tools.iter().map(Definition::bytes).fold(0_usize, usize::saturating_add);
    if bytes / BYTES_PER_TOKEN <= tokens_max { Offer::All } else { Offer::Search }
}

/// A tool of the registry as a model sees it.
#[must_use]
pub fn spec(tool: &Definition) -> ToolSpec {
    ToolSpec {
        name: tool.name.to_string(),
        description: tool.description.clone(),
        parameters: object_schema(&tool.input_schema),
    }
}

/// The tool that finds tools, as a model sees it.
#[must_use]
pub fn find_tools_spec() -> ToolSpec {
    ToolSpec {
        name: FIND_TOOLS.to_owned(),
        description: "Finds tools by what they do. Call it before anything else needs a tool; the \
                      tools that it names can be called afterwards."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What is to be done, in a few words"}},
            "required": ["query"],
            "additionalProperties": false,
        }),
    }
}

/// Servers of models want `type` at the root, and some want `properties`.
fn object_schema(schema: &Value) -> Value {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    Value::Object(schema)
}

/// The tools that fit a query best, best first. An exact name comes before everything.
#[must_use]
pub fn find<'a>(tools: &'a [Definition], query: &str, count: usize) -> Vec<&'a Definition> {
    let wanted = terms(query);
    let read: Vec<(BTreeSet<String>, BTreeSet<String>)> = tools
        .iter()
        .map(|tool| {
            let title = tool.title.as_deref().unwrap_or_default();
            (terms(&format!("{} {title}", spaced(tool.name.as_str()))), terms(&tool.description))
        })
        .collect();
    let mut common: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, description) in &read {
        for term in name.union(description) {
            *common.entry(term.as_str()).or_default() += 1;
        }
    }
    let rarity = |term: &str| {
        let tools_with = common.get(term).copied().unwrap_or_default();
        let ratio = (1 + tools.len()) as f64 / (1 + tools_with) as f64;
        ratio.ln() + 0.1
    };
    let mut scored: Vec<(f64, &Definition)> = tools
        .iter()
        .zip(&read)
        .map(|(tool, (name, description))| {
            let score = wanted.iter().map(|term| {
                let in_name = if name.contains(term) { NAME_WEIGHT } else { 0.0 };
                let in_description = if description.contains(term) { 1.0 } else { 0.0 };
                (in_name + in_description) * rarity(term)
            });
            let exact = query
                .split_whitespace()
                .any(|word| word == tool.name.as_str() || word == tool.original);
            (score.sum::<f64>() + if exact { f64::from(u16::MAX) } else { 0.0 }, tool)
        })
        .filter(|(score, _)| *score > 0.0)
        .collect();
    scored.sort_by(|one, other| {
        other.0.total_cmp(&one.0).then_with(|| one.1.name.cmp(&other.1.name))
    });
    scored.into_iter().take(count).map(|(_, tool)| tool).collect()
}

fn spaced(name: &str) -> String {
    name.replace(['_', '-'], " ")
}

fn terms(text: &str) -> BTreeSet<String> {
    let words = analysis::words(text).into_iter().filter(analysis::Word::says_something);
    words
        .flat_map(|word| {
            let grams = word.grams.into_iter().map(|gram| gram.text);
            std::iter::once(word.stem).chain(word.parts).chain(word.humps).chain(grams)
        })
        .filter(|term| !term.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::definition::Offered;
    use crate::tools::listing;
    use crate::tools::naming::ServerId;

    fn tools(list: &[(&str, &str)]) -> Vec<Definition> {
        let offered = list.iter().map(|(name, description)| Offered {
            name: (*name).to_owned(),
            description: (*description).to_owned(),
            input_schema: json!({"type": "object"}),
            ..Offered::default()
        });
        listing::take(&ServerId::for_name("s"), offered.collect(), str::to_owned).tools
    }

    fn sample() -> Vec<Definition> {
        tools(&[
            ("read_file", "Reads the contents of a file."),
            ("sendMail", "Sends an e-mail to somebody."),
            ("list_invoices", "청구서 목록을 보여준다."),
            ("get_weather", "Says what the weather is like."),
        ])
    }

    #[track_caller]
    fn check(query: &str, first: &str) {
        let tools = sample();
        let found = find(&tools, query, FOUND_MAX);
        assert_eq!(found.first().map(|tool| tool.original.as_str()), Some(first), "{query}");
    }

    #[test]
    fn a_tool_is_found_by_what_it_does_in_both_languages() {
        check("read a file", "read_file");
        check("send mail to Mina", "sendMail");
        check("이번 달 청구서를 보여줘", "list_invoices");
        check("what is the weather", "get_weather");
    }

    #[test]
    fn an_exact_name_comes_first_and_nonsense_finds_nothing() {
        check("files and mail and get_weather", "get_weather");
        check("s__read_file mail", "read_file");
        assert!(find(&sample(), "zzzz", FOUND_MAX).is_empty());
        assert_eq!(find(&sample(), "file mail weather", 2).len(), 2);
    }

    #[test]
    fn definitions_that_would_fill_the_context_are_searched_instead() {
        let tools = sample();
        let tokens = tools.iter().map(Definition::bytes).sum::<usize>() / BYTES_PER_TOKEN;
        assert_eq!(offer(&tools, tokens), Offer::All);
        assert_eq!(offer(&tools, tokens - 1), Offer::Search);
        assert_eq!(offer(&[], 0), Offer::All);
    }

    #[test]
    fn a_schema_without_a_root_gets_one() {
        let mut tool = sample().remove(0);
        tool.input_schema = json!({});
        assert_eq!(spec(&tool).parameters, json!({"type": "object", "properties": {}}));
    }
}
