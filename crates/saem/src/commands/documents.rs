//! `saem documents`: lists, shows and deletes documents.

use std::process::ExitCode;

use agent::identity::Principal;
use agent::knowledge::{Document, Status};
use agent::names::{CollectionName, DocumentId, TenantId};
use agent::ports::DocumentList;
use anyhow::{Result, bail};
use engine::Knowledge;
use serde_json::json;

use crate::args::Documents;
use crate::config::Config;
use crate::output::Output;
use crate::wiring::Installation;

/// Documents asked for at a time.
const PAGE: usize = 500;

pub(crate) async fn run(config: Config, command: Documents, output: &Output) -> Result<ExitCode> {
    let installation = Installation::open(&config).await?;
    let knowledge = &installation.knowledge;
    let code = match command {
        Documents::List { collection } => {
            let collection = collection.as_deref().map(str::parse).transpose()?;
            list(knowledge, collection, output).await?
        }
        Documents::Show { id } => show(knowledge, &id.parse()?, output).await?,
        Documents::Delete { ids } => delete(knowledge, &ids, output).await?,
    };
    installation.close().await;
    Ok(code)
}

async fn list(
    knowledge: &Knowledge,
    collection: Option<CollectionName>,
    output: &Output,
) -> Result<ExitCode> {
    let mut after = None;
    let mut count = 0;
    loop {
        let list = DocumentList { collection: collection.clone(), after, limit: PAGE };
        let page = knowledge.documents(&TenantId::local(), list).await?;
        for document in &page.items {
            output.json(document)?;
            output.line(&line(document))?;
        }
        count += page.items.len();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    output.line(&format!("{count} documents"))?;
    Ok(ExitCode::SUCCESS)
}

fn line(document: &Document) -> String {
    let state = match &document.status {
        Status::Ready => format!("{} chunks", document.chunks),
        Status::Failed { reason } => format!("failed: {reason}"),
    };
    let (collection, kind) = (&document.collection, &document.doc_type);
    format!("{}  {collection}/{kind}  {}  {state}", document.id, document.source)
}

async fn show(knowledge: &Knowledge, id: &DocumentId, output: &Output) -> Result<ExitCode> {
    let tenant = TenantId::local();
    let document = knowledge.document(&tenant, id).await?;
    let sections = match document.status {
        Status::Ready => knowledge.sections(&tenant, id).await?,
        Status::Failed { .. } => Vec::new(),
    };
    output.json(&json!({ "document": document, "sections": sections }))?;
    output.line(&line(&document))?;
    output.line(&format!("title: {}", document.title))?;
    for (tag, values) in &document.tags {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        output.line(&format!("{tag}: {}", values.join(", ")))?;
    }
    for section in sections {
        let indent = "  ".repeat(usize::from(section.level));
        output.line(&format!("{indent}{}  ({})", section.heading, section.id))?;
    }
    for warning in &document.warnings {
        output.line(&format!("warning: {warning}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn delete(knowledge: &Knowledge, ids: &[String], output: &Output) -> Result<ExitCode> {
    let ids = ids.iter().map(|id| id.parse()).collect::<Result<Vec<DocumentId>, _>>()?;
    let gone = knowledge.delete(&Principal::local_owner(), ids.clone()).await?;
    output.json(&json!({ "deleted": gone }))?;
    output.line(&format!("deleted {} of {} documents", gone.len(), ids.len()))?;
    if let Some(missing) = ids.iter().find(|id| !gone.contains(id)) {
        bail!("there is no document {missing}; `saem documents list` shows them");
    }
    Ok(ExitCode::SUCCESS)
}
