//! Documents and collections over the wire.

use agent::names::{CollectionName, DocumentId, SectionId};
use agent::ports::DocumentList;
use axum::extract::{FromRequest, Multipart, Request, State};
use engine::{Order, Upload};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;

use super::wire::chunks::ChunksBody;
use super::wire::{
    CollectionBody, CollectionsBody, DeletedBody, DocumentBody, DocumentsBody, JobBody,
    NewCollection, SectionBody, SectionsBody,
};
use super::{Api, OK, READ, WRITE, read_id};
use crate::guard::Caller;
use crate::input::{Json, Path, Query};
use crate::problem::Problem;
use crate::routes::Route;

/// Documents in one page unless fewer are asked for.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1000;

/// Longest date: one with a time to the nanosecond and an offset fits.
const DATE_BYTES_MAX: usize = 40;

/// Where documents go that name no collection.
const COLLECTION: &str = "documents";

pub(super) fn routes(upload_bytes_max: u64) -> Vec<Route<Api>> {
    let mut routes = vec![
        Route::post("/api/documents", WRITE, "Takes a document in: JSON or a form", add)
            .takes_upload::<NewDocumentBody>()
            .body_bytes_max(upload_bytes_max)
            .gives::<JobBody>(StatusCode::ACCEPTED),
        Route::get("/api/documents", READ, "Lists documents", list)
            .query::<ListQuery>()
            .gives::<DocumentsBody>(OK),
        Route::get("/api/documents/{id}", READ, "Shows a document", show).gives::<DocumentBody>(OK),
        Route::delete("/api/documents/{id}", WRITE, "Deletes a document everywhere", delete)
            .gives_nothing(StatusCode::NO_CONTENT),
        Route::get("/api/documents/{id}/sections", READ, "Shows a document's headings", sections)
            .gives::<SectionsBody>(OK),
        Route::get("/api/documents/{id}/chunks", READ, "Shows a document's chunks", chunks)
            .query::<ChunksQuery>()
            .gives::<ChunksBody>(OK),
    ];
    routes.extend([
        Route::get("/api/collections", READ, "Lists collections", collections)
            .gives::<CollectionsBody>(OK),
        Route::put("/api/collections/{name}", WRITE, "Makes a collection", put_collection)
            .takes::<NewCollection>()
            .gives::<CollectionBody>(OK),
        Route::delete(
            "/api/collections/{name}",
            WRITE,
            "Deletes a collection and its documents",
            delete_collection,
        )
        .gives::<DeletedBody>(OK),
    ]);
    routes.into_iter().map(|route| route.tag("documents")).collect()
}

/// A document as JSON: its text, or the address to fetch it from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewDocumentBody {
    /// The document's name, unique in its collection; its ending says the format.
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    text: Option<String>,
    /// Instead of `text`: an http(s) address.
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    collection: Option<String>,
    /// `faq`, `guide` or any other word.
    #[serde(default, rename = "type")]
    doc_type: Option<String>,
    /// Such as `text/markdown`, if the name does not tell.
    #[serde(default)]
    media_type: Option<String>,
    /// Columns that hold question and answer of a FAQ.
    #[serde(default)]
    question: Option<String>,
    #[serde(default)]
    answer: Option<String>,
    /// When the source was changed last, such as `2026-03-01`, if the document does not say.
    #[serde(default)]
    updated_at: Option<String>,
}

/// Which documents are listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    #[serde(default)]
    collection: Option<String>,
    /// `next` of the page before.
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

/// Which chunks are shown.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChunksQuery {
    /// Only of this section.
    #[serde(default)]
    section: Option<String>,
}

async fn add(
    State(api): State<Api>,
    principal: Caller,
    headers: HeaderMap,
    request: Request,
) -> Result<(StatusCode, Json<JobBody>), Problem> {
    let idempotency = headers.get("idempotency-key").map(|value| value.to_str().map(str::to_owned));
    let idempotency = idempotency
        .transpose()
        .map_err(|_| Problem::refused("The Idempotency-Key is not plain text."))?;
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (body, bytes) = if kind.starts_with("multipart/form-data") {
        read_form(request).await?
    } else {
        let Json(mut body) = Json::<NewDocumentBody>::from_request(request, &()).await?;
        let bytes = body.text.take().map(String::into_bytes);
        (body, bytes)
    };
    let job = api.knowledge.accept(&principal, upload(body, bytes, idempotency)?).await?;
    Ok((StatusCode::ACCEPTED, Json(job.into())))
}

/// A form: the part `file` is the document, the others are what JSON would say.
async fn read_form(request: Request) -> Result<(NewDocumentBody, Option<Vec<u8>>), Problem> {
    let mut form = Multipart::from_request(request, &()).await.map_err(|rejection| {
        Problem::refused(format!("The form cannot be read: {}.", rejection.body_text()))
    })?;
    let mut fields = serde_json::Map::new();
    let mut bytes = None;
    while let Some(field) = form.next_field().await.map_err(Problem::from)? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "file" {
            let own_name = field.file_name().map(|name| serde_json::Value::from(name.to_owned()));
            let media_type =
                field.content_type().map(|kind| serde_json::Value::from(kind.to_owned()));
            let whole = field.bytes().await.map_err(Problem::from)?;
            if bytes.replace(whole.to_vec()).is_some() {
                return Err(Problem::refused("A form holds one file: send one request for each."));
            }
            fields.entry("name").or_insert(own_name.unwrap_or_default());
            fields.entry("media_type").or_insert(media_type.unwrap_or_default());
        } else {
            let text = field.text().await.map_err(Problem::from)?;
            fields.insert(name, text.into());
        }
    }
    let body = serde_json::from_value(fields.into())
        .map_err(|error| Problem::refused(format!("A field of the form is wrong: {error}.")))?;
    Ok((body, bytes))
}

fn upload(
    body: NewDocumentBody,
    bytes: Option<Vec<u8>>,
    idempotency: Option<String>,
) -> Result<Upload, Problem> {
    let (source, bytes, is_address) = match (body.url, bytes) {
        (Some(_), Some(_)) => {
            return Err(Problem::refused("Give either the document or an address, not both."));
        }
        (Some(url), None) => (url, Vec::new(), true),
        (None, Some(bytes)) => {
            let unnamed = || Problem::refused("The document has no name: say name.");
            (body.name.filter(|name| !name.is_empty()).ok_or_else(unnamed)?, bytes, false)
        }
        (None, None) => {
            return Err(Problem::refused("There is no document: give text, a file or a url."));
        }
    };
    let collection = body.collection.as_deref().unwrap_or(COLLECTION);
    if body.updated_at.as_deref().is_some_and(|date| !is_date(date)) {
        return Err(Problem::refused("updated_at is no date such as 2026-03-01."));
    }
    let mapping = (body.question.is_some() || body.answer.is_some())
        .then(|| extract_mapping(body.question, body.answer));
    let order = Order {
        collection: collection.parse::<CollectionName>()?,
        source,
        media_type: body.media_type.filter(|kind| kind != "application/octet-stream"),
        doc_type: body.doc_type,
        mapping,
        is_address,
        updated_at: body.updated_at,
    };
    Ok(Upload { order, bytes, idempotency })
}

/// A day in ISO form, with or without a time: dates are compared as text.
fn is_date(text: &str) -> bool {
    let is_day = |(place, byte): (usize, u8)| match place {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"+-:. ".contains(&byte);
    (10..=DATE_BYTES_MAX).contains(&text.len())
        && text.bytes().take(10).enumerate().all(is_day)
        && text.bytes().all(is_legal)
}

fn extract_mapping(question: Option<String>, answer: Option<String>) -> engine::Mapping {
    engine::Mapping { question, answer, ..engine::Mapping::default() }
}

async fn list(
    State(api): State<Api>,
    principal: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<DocumentsBody>, Problem> {
    let collection = query.collection.as_deref().map(str::parse).transpose()?;
    let limit = query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let list = DocumentList { collection, after: query.after, limit };
    let page = api.knowledge.documents(&principal.tenant, list).await?;
    let documents = page.items.into_iter().map(Into::into).collect();
    Ok(Json(DocumentsBody { documents, next: page.next }))
}

async fn show(
    State(api): State<Api>,
    principal: Caller,
    Path(id): Path<String>,
) -> Result<Json<DocumentBody>, Problem> {
    let id: DocumentId = read_id(&id, "document")?;
    Ok(Json(api.knowledge.document(&principal.tenant, &id).await?.into()))
}

async fn delete(
    State(api): State<Api>,
    principal: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id: DocumentId = read_id(&id, "document")?;
    let gone = api.knowledge.delete(&principal, vec![id]).await?;
    if gone.is_empty() { Err(Problem::not_found("document")) } else { Ok(StatusCode::NO_CONTENT) }
}

async fn sections(
    State(api): State<Api>,
    principal: Caller,
    Path(id): Path<String>,
) -> Result<Json<SectionsBody>, Problem> {
    let id: DocumentId = read_id(&id, "document")?;
    let sections = api.knowledge.sections(&principal.tenant, &id).await?;
    Ok(Json(SectionsBody { sections: sections.into_iter().map(SectionBody::in_list).collect() }))
}

async fn chunks(
    State(api): State<Api>,
    principal: Caller,
    Path(id): Path<String>,
    Query(query): Query<ChunksQuery>,
) -> Result<Json<ChunksBody>, Problem> {
    let id: DocumentId = read_id(&id, "document")?;
    let section: Option<SectionId> =
        query.section.as_deref().map(|section| read_id(section, "section")).transpose()?;
    if section.as_ref().is_some_and(|section| section.document != id) {
        return Err(Problem::not_found("section"));
    }
    let ordinal = section.map(|section| section.ordinal);
    let chunks = api.knowledge.chunks(&principal.tenant, &id, ordinal).await?;
    Ok(Json(ChunksBody { chunks: chunks.into_iter().map(Into::into).collect() }))
}

async fn collections(
    State(api): State<Api>,
    principal: Caller,
) -> Result<Json<CollectionsBody>, Problem> {
    let all = api.knowledge.collections(&principal.tenant).await?;
    Ok(Json(CollectionsBody { collections: all.into_iter().map(Into::into).collect() }))
}

async fn put_collection(
    State(api): State<Api>,
    principal: Caller,
    Path(name): Path<String>,
    Json(body): Json<NewCollection>,
) -> Result<Json<CollectionBody>, Problem> {
    let name: CollectionName = name.parse()?;
    let collection = api.knowledge.put_collection(&principal, name, body.doc_type).await?;
    Ok(Json(collection.into()))
}

async fn delete_collection(
    State(api): State<Api>,
    principal: Caller,
    Path(name): Path<String>,
) -> Result<Json<DeletedBody>, Problem> {
    let name: CollectionName = read_id(&name, "collection")?;
    let documents = api.knowledge.delete_collection(&principal, &name).await?;
    Ok(Json(DeletedBody { documents }))
}

#[cfg(test)]
mod tests {
    use super::is_date;

    #[test]
    fn a_date_is_a_day_in_iso_form_with_or_without_a_time() {
        for date in ["2026-03-01", "2026-03-01T09:30:00.123+09:00", "2026-03-01 09:30"] {
            assert!(is_date(date), "{date}");
        }
        let long = format!("2026-03-01{}", "0".repeat(40));
        for text in ["", "2026", "2026/03/01", "01-03-2026", "2026-03-01\n", "2026-03-0가", &long]
        {
            assert!(!is_date(text), "{text:?}");
        }
    }
}
