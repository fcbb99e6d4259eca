//! `saem search`: finds passages and shows where they stand.

use std::process::ExitCode;

use agent::filter::Filter;
use agent::knowledge::Passage;
use agent::names::TenantId;
use anyhow::Result;
use engine::search::{Mode, SearchRequest};
use serde_json::json;

use crate::args;
use crate::config::Config;
use crate::output::Output;
use crate::wiring::Installation;

/// Lines of a passage that are shown to people; programs get all.
const LINES_SHOWN: usize = 6;

pub(crate) async fn run(config: Config, search: args::Search, output: &Output) -> Result<ExitCode> {
    let request = SearchRequest {
        text: search.words.join(" "),
        filter: Filter::read(search.conditions.iter().map(String::as_str))?,
        collection: search.collection.as_deref().map(str::parse).transpose()?,
        mode: match search.mode {
            args::Mode::Hybrid => Mode::Hybrid,
            args::Mode::Keyword => Mode::Keyword,
            args::Mode::Vector => Mode::Vector,
        },
        count: search.count,
    };
    let installation = Installation::open(&config).await?;
    let answer = installation.knowledge.search(&TenantId::local(), request).await?;
    installation.close().await;
    for warning in &answer.warnings {
        output.line(&format!("note: {warning}"))?;
    }
    output.json(&json!({ "passages": answer.passages, "warnings": answer.warnings }))?;
    if answer.passages.is_empty() {
        output.line("nothing found; `saem documents list` shows what there is to search")?;
    }
    for (number, passage) in (1..).zip(&answer.passages) {
        output.line(&shown(number, passage, search.explain))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(number: usize, passage: &Passage, explain: bool) -> String {
    let path = passage.heading_path.join(" › ");
    let mut text =
        format!("[{number}] {path}\n    {} · section {}\n", passage.source, passage.section);
    if explain {
        let rank = |rank: Option<u32>| rank.map_or("–".to_owned(), |rank| rank.to_string());
        let score =
            |score: Option<f32>| score.map_or("–".to_owned(), |score| format!("{score:.2}"));
        let found = &passage.found;
        text += &format!(
            "    score {:.3} · keyword rank {} ({}) · vector rank {} ({})\n",
            passage.score,
            rank(found.keyword_rank),
            score(found.keyword_score),
            rank(found.vector_rank),
            score(found.similarity),
        );
    }
    let mut lines = passage.text.lines().filter(|line| !line.trim().is_empty());
    for line in lines.by_ref().take(LINES_SHOWN) {
        text += &format!("    {line}\n");
    }
    if lines.next().is_some() {
        text += "    …\n";
    }
    text
}
