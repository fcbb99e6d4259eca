//! `saem search`: finds passages and shows where they stand.

use std::process::ExitCode;

use agent::filter::Filter;
use anyhow::Result;
use engine::search::{Mode, SearchRequest};
use server::api::wire::{FoundBody, PassageBody};

use crate::args;
use crate::backend::{Backend, Search};
use crate::config::Config;
use crate::output::Output;

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
    let search = Search { request, conditions: search.conditions, explain: search.explain };
    let backend = Backend::open(&config).await?;
    if let Backend::Local(_) = backend {
        // Another version, or a process that was killed, may have left something to index; a server does that while
        // it answers, but this process ends with its answer.
        if let Err(error) = output.while_indexing(backend.settle()).await {
            output.line(&format!("note: some documents cannot be found yet: {error:#}"))?;
        }
    }
    let answer = backend.search(search).await?;
    backend.close().await;
    output.json(&answer)?;
    for warning in &answer.warnings {
        output.line(&format!("note: {warning}"))?;
    }
    if answer.passages.is_empty() {
        output.line("nothing found; `saem documents list` shows what there is to search")?;
    }
    for (number, passage) in (1..).zip(&answer.passages) {
        output.line(&shown(number, passage))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(number: usize, passage: &PassageBody) -> String {
    let path = passage.heading_path.join(" › ");
    let mut text =
        format!("[{number}] {path}\n    {} · section {}\n", passage.source, passage.section);
    if let Some(found) = &passage.found {
        text += &explained(passage.score, found);
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

fn explained(score: f32, found: &FoundBody) -> String {
    let rank = |rank: Option<u32>| rank.map_or("–".to_owned(), |rank| rank.to_string());
    let side = |score: Option<f32>| score.map_or("–".to_owned(), |score| format!("{score:.2}"));
    format!(
        "    score {score:.3} · keyword rank {} ({}) · vector rank {} ({})\n",
        rank(found.keyword_rank),
        side(found.keyword_score),
        rank(found.vector_rank),
        side(found.similarity),
    )
}
