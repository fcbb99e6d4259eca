//! `saem sessions`: what was said, what is remembered of it, and how to correct or forget it.

use std::io::Read;
use std::process::ExitCode;

use agent::memory::SessionId;
use anyhow::{Context, Result};
use server::api::wire::chat::{MemoryBody, MemoryEditBody, NewEntityBody, VersionBody};
use time::OffsetDateTime;
use time::macros::format_description;

use crate::args::{EditSession, Sessions};
use crate::backend::{Backend, LocalChat};
use crate::config::Config;
use crate::output::Output;

pub(crate) async fn run(config: Config, command: Sessions, output: &Output) -> Result<ExitCode> {
    let backend = Backend::chat(&config).await?;
    let outcome = act(&backend, command, output).await;
    backend.remembered().await;
    backend.close().await;
    outcome.map(|()| ExitCode::SUCCESS)
}

async fn act(backend: &Backend<LocalChat>, command: Sessions, output: &Output) -> Result<()> {
    match command {
        Sessions::List { count } => list(backend, count, output).await,
        Sessions::Show { id, memory } => {
            let id: SessionId = id.parse()?;
            if !memory {
                show(backend, &id, output).await?;
            }
            if memory || !output.is_json() {
                show_memory(backend, &id, output).await
            } else {
                Ok(())
            }
        }
        Sessions::Edit(edit) => edit_session(backend, edit, output).await,
        Sessions::Forget { ids } => {
            for id in ids {
                backend.forget(&id.parse()?).await?;
                output.line(&format!("forgot {id}"))?;
                output.json(&serde_json::json!({ "forgot": id }))?;
            }
            Ok(())
        }
    }
}

async fn list(backend: &Backend<LocalChat>, count: usize, output: &Output) -> Result<()> {
    let page = backend.sessions(count).await?;
    output.json(&page)?;
    if page.sessions.is_empty() {
        output.line("no conversations yet; `saem ask` begins one")?;
    }
    for line in &page.sessions {
        output.line(&format!("{}  {}  {}", line.id, moment(line.used_at), line.title))?;
    }
    if page.next.is_some() {
        output.line("… and more: --count shows them")?;
    }
    Ok(())
}

async fn show(backend: &Backend<LocalChat>, id: &SessionId, output: &Output) -> Result<()> {
    let session = backend.session(id).await?;
    output.json(&session)?;
    output.line(&format!("{} · {} · {} turns", session.id, session.title, session.turns_said))?;
    for turn in &session.turns {
        output.line(&format!("\n[{}] {} · {}", turn.number, moment(turn.at), turn.outcome))?;
        output.line(&format!("you:  {}", turn.question))?;
        output.line(&format!("saem: {}", turn.answer))?;
    }
    Ok(())
}

/// Shows what is remembered of a conversation.
pub(crate) async fn show_memory(
    backend: &Backend<LocalChat>,
    id: &SessionId,
    output: &Output,
) -> Result<()> {
    let body = backend.memory(id).await?;
    output.json(&body)?;
    let MemoryBody { now, short_term, unfolded, refused, earlier } = body;
    let VersionBody { version, memory, entities, folded_to, written_by, .. } = now;
    output.line(&format!(
        "\nmemory, version {version}, of turns 1 to {folded_to}{}:",
        if written_by.is_empty() { String::new() } else { format!(", by {written_by}") }
    ))?;
    output.line(if memory.is_empty() { "(empty)" } else { &memory })?;
    output.line("\nfacts:")?;
    for fact in &entities {
        output.line(&format!("  {}: {} (turn {})", fact.key, fact.value, fact.turn))?;
    }
    output
        .line(&format!("\n{short_term} turns word for word, {unfolded} not in the memory yet"))?;
    if let Some(refused) = refused {
        output.line(&format!("the last rewrite was refused: {refused}"))?;
    }
    if !earlier.is_empty() {
        let versions: Vec<String> = earlier.iter().map(|of| of.version.to_string()).collect();
        output.line(&format!(
            "earlier versions: {} (edit --back-to brings one back)",
            versions.join(", ")
        ))?;
    }
    Ok(())
}

async fn edit_session(
    backend: &Backend<LocalChat>,
    edit: EditSession,
    output: &Output,
) -> Result<()> {
    let id: SessionId = edit.id.parse()?;
    if let Some(title) = &edit.title {
        backend.rename(&id, title).await?;
    }
    if let Some(version) = edit.back_to {
        backend.roll_back(&id, version).await?;
        backend.remembered().await;
    }
    let memory = edit.memory.as_deref().map(text).transpose()?;
    let has_facts = !edit.facts.is_empty() || !edit.no_facts.is_empty();
    if memory.is_some() || has_facts {
        let entities = if has_facts { Some(facts(backend, &id, &edit).await?) } else { None };
        backend.edit_memory(&id, MemoryEditBody { memory, entities }).await?;
    }
    show_memory(backend, &id, output).await
}

/// The facts as they are to be: those that are there, with what was added, changed and removed.
async fn facts(
    backend: &Backend<LocalChat>,
    id: &SessionId,
    edit: &EditSession,
) -> Result<Vec<NewEntityBody>> {
    let known = backend.memory(id).await?.now.entities;
    let known = known.into_iter().map(|fact| NewEntityBody { key: fact.key, value: fact.value });
    let mut facts: Vec<NewEntityBody> =
        known.filter(|fact| !edit.no_facts.contains(&fact.key)).collect();
    for fact in &edit.facts {
        let (key, value) = fact
            .split_once('=')
            .with_context(|| format!("--fact {fact:?} is not of the form key=value"))?;
        facts.retain(|known| known.key != key);
        facts.push(NewEntityBody { key: key.to_owned(), value: value.to_owned() });
    }
    Ok(facts)
}

fn text(given: &str) -> Result<String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).context("the memory on standard input")?;
    Ok(text)
}

/// A moment as `2026-11-15 09:30`, in UTC.
fn moment(milliseconds: u64) -> String {
    let seconds = i64::try_from(milliseconds / 1000).unwrap_or_default();
    let form = format_description!("[year]-[month]-[day] [hour]:[minute]");
    let moment = OffsetDateTime::from_unix_timestamp(seconds).ok();
    moment.and_then(|moment| moment.format(form).ok()).unwrap_or_default()
}
