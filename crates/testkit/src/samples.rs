//! Small things that tests need many of.

use agent::filter::{TagValue, Tags};
use agent::identity::{AuditEntry, Timestamp};
use agent::knowledge::{Document, DocumentChunks, NewChunk, Status};
use agent::names::{DocumentId, TenantId};
use agent::ports::Kept;
use agent::turn::{Outcome, TurnId, TurnRecord};

#[must_use]
pub fn tenant(name: &str) -> TenantId {
    name.parse().unwrap()
}

/// A document id made of one digit.
#[must_use]
pub fn id(digit: char) -> DocumentId {
    digit.to_string().repeat(32).parse().unwrap()
}

#[must_use]
pub fn audit(action: &str) -> AuditEntry {
    AuditEntry {
        at: Timestamp(1),
        principal: "tester".to_owned(),
        action: action.to_owned(),
        object: "something".to_owned(),
    }
}

#[must_use]
pub fn document(id: &DocumentId, collection: &str, title: &str) -> Document {
    Document {
        id: id.clone(),
        collection: collection.parse().unwrap(),
        source: format!("{title}.md"),
        title: title.to_owned(),
        doc_type: "guide".to_owned(),
        format: "Markdown".to_owned(),
        content_hash: String::new(),
        recipe: String::new(),
        bytes: 1,
        sections: 1,
        chunks: 1,
        tags: Tags::new(),
        updated_at: None,
        ingested_at: Timestamp(1),
        status: Status::Ready,
        warnings: vec![],
        sequence: 0,
        accepted: 0,
    }
}

/// A document on its way into a store.
#[must_use]
pub fn kept(id: &DocumentId, title: &str, content: &str) -> Kept {
    Kept {
        document: document(id, "things", title),
        content: Some(content.as_bytes().to_vec()),
        accepted: None,
        audit: audit("document.put"),
    }
}

/// A document of one-line chunks on its way into an index, each with a vector.
#[must_use]
pub fn chunks(id: &DocumentId, doc_type: &str, texts: &[(&str, Vec<f32>)]) -> DocumentChunks {
    let tag = |text: &str| vec![TagValue::Text(text.to_owned())];
    let chunk = |(ordinal, (text, vector)): (u32, &(&str, Vec<f32>))| NewChunk {
        ordinal,
        section: 0,
        text: (*text).to_owned(),
        heading_path: vec!["Title".to_owned()],
        range: 0..text.len(),
        tags: Tags::from([
            ("order".to_owned(), vec![TagValue::Number(f64::from(ordinal))]),
            ("has_steps".to_owned(), vec![TagValue::Flag(ordinal == 0)]),
        ]),
        vectors: vec![vector.clone()],
    };
    DocumentChunks {
        document: id.clone(),
        title: "Title".to_owned(),
        source: "title.md".to_owned(),
        tags: Tags::from([("doc_type".to_owned(), tag(doc_type))]),
        chunks: (0..).zip(texts).map(chunk).collect(),
    }
}

/// A turn of this session in which somebody asked and was answered.
#[must_use]
pub fn turn(session: &str, number: u64, question: &str, answer: &str) -> TurnRecord {
    TurnRecord {
        id: TurnId::new(session.parse().unwrap(), Timestamp(number), number),
        number,
        at: Timestamp(number),
        question: question.to_owned(),
        answer: answer.to_owned(),
        outcome: Outcome::Answered,
        query: question.to_owned(),
        citations: vec![],
        menu: vec![],
        done: vec![],
        passages: vec![],
        context: vec![],
        calls: vec![],
        took_milliseconds: 3,
        notes: vec![],
        persisted: true,
    }
}
