//! `saem documents`: lists, shows and deletes documents.

use std::process::ExitCode;

use agent::names::{CollectionName, DocumentId};
use anyhow::{Result, bail};
use serde_json::json;
use server::api::wire::{DocumentBody, DocumentState, TagBody};

use crate::args::Documents;
use crate::backend::{self, Backend};
use crate::config::Config;
use crate::output::Output;
use crate::wiring::Installation;

pub(crate) async fn run(config: Config, command: Documents, output: &Output) -> Result<ExitCode> {
    let backend = Backend::open(&config).await?;
    match command {
        Documents::List { collection } => {
            let collection = collection.as_deref().map(str::parse).transpose()?;
            list(&backend, collection.as_ref(), output).await?;
        }
        Documents::Show { id } => show(&backend, &id.parse()?, output).await?,
        Documents::Delete { ids } => delete(&backend, &ids, output).await?,
    }
    backend.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn list(
    backend: &Backend<Installation>,
    collection: Option<&CollectionName>,
    output: &Output,
) -> Result<()> {
    let mut count = 0;
    let each = |document: DocumentBody| {
        count += 1;
        output.json(&document)?;
        output.line(&line(&document))
    };
    backend.each_document(collection, each).await?;
    output.line(&format!("{count} documents"))
}

fn line(document: &DocumentBody) -> String {
    let state = match document.status {
        DocumentState::Ready => format!("{} chunks", document.chunks),
        DocumentState::Failed => {
            format!("failed: {}", document.reason.as_deref().unwrap_or_default())
        }
    };
    let (collection, kind) = (&document.collection, &document.doc_type);
    format!("{}  {collection}/{kind}  {}  {state}", document.id, document.source)
}

async fn show(backend: &Backend<Installation>, id: &DocumentId, output: &Output) -> Result<()> {
    let document = backend.document(id).await?;
    let sections = match document.status {
        DocumentState::Ready => backend.sections(id).await?,
        DocumentState::Failed => Vec::new(),
    };
    output.json(&json!({ "document": document, "sections": sections }))?;
    output.line(&line(&document))?;
    output.line(&format!("title: {}", document.title))?;
    for (tag, values) in &document.tags {
        let values: Vec<String> = values.iter().map(TagBody::to_string).collect();
        output.line(&format!("{tag}: {}", values.join(", ")))?;
    }
    for section in sections {
        let indent = "  ".repeat(usize::from(section.level));
        output.line(&format!("{indent}{}  ({})", section.heading, section.id))?;
    }
    for warning in &document.warnings {
        output.line(&format!("warning: {warning}"))?;
    }
    Ok(())
}

async fn delete(backend: &Backend<Installation>, ids: &[String], output: &Output) -> Result<()> {
    let ids = ids.iter().map(|id| id.parse()).collect::<Result<Vec<DocumentId>, _>>()?;
    let gone = backend.delete(ids.clone()).await?;
    output.json(&json!({ "deleted": gone }))?;
    output.line(&format!("deleted {} of {} documents", gone.len(), ids.len()))?;
    if let Some(missing) = ids.iter().find(|id| !gone.contains(id)) {
        bail!(backend::absent(missing));
    }
    Ok(())
}
