//! What a model reads of a tool's answer: the same as programs get, in words, with the addresses to read on.

use std::fmt::Write as _;

use engine::chat::Doing;

use super::forms::Answered;
use crate::api::wire::{DocumentState, DocumentsBody, JobBody, SearchBody, SectionBody, WorkState};

/// Something that can be told in words.
pub(super) trait Words {
    fn words(&self) -> String;
}

impl Words for SearchBody {
    fn words(&self) -> String {
        let mut text = String::new();
        if self.passages.is_empty() {
            text.push_str("Nothing was found. Try other words, or fewer conditions.\n");
        }
        for (place, passage) in self.passages.iter().enumerate() {
            let path = passage.heading_path.join(" › ");
            let (number, section) = (place + 1, &passage.section);
            _ = write!(text, "[{number}] {path} (section {section})\n{}\n\n", passage.text);
        }
        for warning in &self.warnings {
            _ = writeln!(text, "Note: {warning}");
        }
        text.trim_end().to_owned()
    }
}

impl Words for SectionBody {
    fn words(&self) -> String {
        let path = self.heading_path.join(" › ");
        let cut = if self.is_cut == Some(true) { "\n\n(The section goes on.)" } else { "" };
        format!("{path} (section {})\n{}{cut}", self.id, self.text.as_deref().unwrap_or_default())
    }
}

impl Words for Answered {
    fn words(&self) -> String {
        let mut text = self.answer.trim_end().to_owned();
        text.push_str("\n\n");
        for citation in &self.citations {
            let path = citation.heading_path.join(" › ");
            let (number, section) = (citation.number, &citation.section);
            _ = writeln!(text, "[{number}] {path} (section {section})");
        }
        for place in &self.menu {
            _ = writeln!(text, "{}: {}", place.title, place.link);
        }
        _ = write!(text, "session: {}", self.session);
        text
    }
}

impl Words for DocumentsBody {
    fn words(&self) -> String {
        let mut text = String::new();
        if self.documents.is_empty() {
            text.push_str("There are no documents here.\n");
        }
        for document in &self.documents {
            let state = match document.status {
                DocumentState::Ready => "",
                DocumentState::Failed => ", could not be read",
            };
            _ = writeln!(
                text,
                "saem://documents/{} {} ({}, {}{state})",
                document.id, document.title, document.doc_type, document.source
            );
        }
        if let Some(next) = &self.next {
            _ = writeln!(text, "There are more: pass after={next}");
        }
        text.trim_end().to_owned()
    }
}

impl Words for JobBody {
    fn words(&self) -> String {
        let (id, source) = (&self.id, &self.source);
        let mut text = match self.state {
            WorkState::Waiting => format!("{source} is being taken in, as job {id}."),
            WorkState::Done if self.documents_unchanged > 0 => {
                format!("{source} was known already, byte for byte.")
            }
            WorkState::Done => format!("{source} can be found now, in {} chunks.", self.chunks),
            WorkState::Failed => format!("{source} was not taken in."),
        };
        for failure in &self.failures {
            _ = write!(text, "\n{}: {}", failure.source, failure.reason);
        }
        text
    }
}

/// What Saem is doing, for somebody who waits.
pub(super) fn doing(doing: &Doing) -> String {
    match doing {
        Doing::Searching { query } => format!("searching: {query}"),
        Doing::Judging { passages } => format!("judging {passages} passages"),
        Doing::Reading { title } => format!("reading {title}"),
        Doing::Answering => "answering".to_owned(),
        Doing::CallingTools { names } => format!("calling {}", names.join(", ")),
        Doing::AwaitingApproval { server, .. } => format!("{server} waits for an approval"),
    }
}
