//! What a client asks: read with patience, as every client adds something of its own.

use agent::identity::Timestamp;
use agent::memory::{SaidTurn, SessionId};
use engine::chat::{Question, Talk};
use http::{HeaderValue, StatusCode};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::problem::{Problem, clipped};

/// Messages of one request: more than any conversation that a person has.
const MESSAGES_MAX: usize = 10_000;

/// Turns that are taken over from a client that remembers by itself: as many as fit a context.
const TOLD_MAX: usize = 20;

/// A request, as far as it means something here.
#[derive(Debug, Deserialize)]
pub(super) struct ChatRequest {
    messages: Vec<WireMessage>,
    #[serde(default)]
    pub(super) stream: bool,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    n: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Debug, Deserialize)]
struct WireMessage {
    role: String,
    #[serde(default)]
    content: Option<Content>,
}

/// A text, or parts of which some are texts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Debug, Deserialize)]
struct ContentPart {
    r#type: String,
    #[serde(default)]
    text: Option<String>,
}

impl ChatRequest {
    pub(super) fn read(body: &[u8]) -> Result<Self, Problem> {
        let request: Self = serde_json::from_slice(body)
            .map_err(|error| Problem::refused(format!("The body is no chat request: {error}.")))?;
        if request.n.is_some_and(|n| n != 1) {
            return Err(Problem::refused("Saem gives one answer: leave n out, or set it to 1."));
        }
        if request.messages.len() > MESSAGES_MAX {
            return Err(Problem::refused(format!("More than {MESSAGES_MAX} messages were sent.")));
        }
        Ok(request)
    }

    pub(super) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }

    /// The last thing that the user said, and what was said before it.
    pub(super) fn question(&self, header: Option<&HeaderValue>) -> Result<Question, Problem> {
        let conversation = self.conversation(header)?;
        let mut told: Vec<SaidTurn> = Vec::new();
        let mut open: Option<String> = None;
        for message in &self.messages {
            match message.role.as_str() {
                "user" => {
                    let text = message.text()?;
                    // Two in a row are one question.
                    open =
                        Some(open.map_or_else(|| text.clone(), |open| format!("{open}\n{text}")));
                }
                "assistant" => {
                    if let Some(question) = open.take() {
                        told.push(said(question, message.text()?));
                    }
                }
                // What an application tells its model is not a question, and our rules stay ours.
                "system" | "developer" | "tool" | "function" => {}
                other => {
                    let why = format!("A message has the role {other:?}: use user or assistant.");
                    return Err(Problem::refused(clipped(why.into())));
                }
            }
        }
        let Some(text) = open else {
            return Err(Problem::refused(
                "The last message must be the user's: it is the question.",
            ));
        };
        let surplus = told.len().saturating_sub(TOLD_MAX);
        told.drain(..surplus);
        Ok(Question { told, ..Question::new(text, conversation) })
    }

    /// By header, else by `user`; without either the client remembers by itself.
    fn conversation(&self, header: Option<&HeaderValue>) -> Result<Talk, Problem> {
        if let Some(header) = header {
            let name = header.to_str().ok().and_then(|name| name.parse().ok());
            return name.map(Talk::Known).ok_or_else(wrong_session);
        }
        match self.user.as_deref().map(str::trim).filter(|user| !user.is_empty()) {
            Some(user) => Ok(Talk::Known(session_of(user)?)),
            None => Ok(Talk::Unkept),
        }
    }
}

/// A user's own session: their name if it can be one, else a name made from it.
fn session_of(user: &str) -> Result<SessionId, Problem> {
    if let Ok(session) = user.parse() {
        return Ok(session);
    }
    let hash = Sha256::digest(user.as_bytes());
    let name: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("user-{name}").parse().map_err(|_| wrong_session())
}

fn wrong_session() -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "invalid_session",
        "the session has no legal name",
        "A session's name has 1 to 128 of A-Z, a-z, 0-9, and . _ @ - between them.",
        "Choose another name.",
    )
}

fn said(question: String, answer: String) -> SaidTurn {
    SaidTurn { number: 0, at: Timestamp(0), question, answer, is_complete: true }
}

impl WireMessage {
    fn text(&self) -> Result<String, Problem> {
        match &self.content {
            None => Ok(String::new()),
            Some(Content::Text(text)) => Ok(text.clone()),
            Some(Content::Parts(parts)) => {
                let text = |part: &ContentPart| match (part.r#type.as_str(), &part.text) {
                    ("text" | "input_text", Some(text)) => Ok(text.clone()),
                    _ => Err(Problem::refused(
                        "Saem reads text: leave images, sounds and files out.",
                    )),
                };
                let texts: Result<Vec<String>, Problem> = parts.iter().map(text).collect();
                Ok(texts?.join("\n"))
            }
        }
    }
}
