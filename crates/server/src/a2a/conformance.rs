//! The agent that kits for the protocol talk to: what it does is said by the beginning of a message's id, or of its text.

use std::time::Duration;

use ::a2a::ids::ArtifactId;
use ::a2a::model::{Artifact, Content, Message, Part, TaskState};
use engine::agents::serving::{Ended, Executor, Step, Teller, Work};
use futures_util::future::BoxFuture;
use serde_json::json;

/// How long work takes that is to be seen at work.
const LONG: Duration = Duration::from_secs(4);

/// Does what the kits expect.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kit;

/// What a message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    /// Answers without a task.
    Reply,
    /// Completes, saying something or nothing.
    Complete(Option<&'static str>),
    /// Completes with one artifact, after it has been at work or right away.
    Produce {
        product: Product,
        is_seen_working: bool,
    },
    Chunks,
    AskInput,
    Reject,
    Fail,
    /// Works for some seconds, then completes.
    Long,
    /// Works until it is cancelled.
    Endless,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Product {
    Text(&'static str),
    File,
    FileUrl,
    Data,
}

/// The beginnings; of two that fit, the longer one counts.
const BEHAVIOURS: [(&str, Behaviour); 21] = [
    ("tck-complete-task", Behaviour::Complete(Some("Hello from TCK"))),
    ("tck-artifact-text", at_once(Product::Text("Generated text content"))),
    ("tck-artifact-file", at_once(Product::File)),
    ("tck-artifact-file-url", at_once(Product::FileUrl)),
    ("tck-artifact-data", at_once(Product::Data)),
    ("tck-message-response", Behaviour::Reply),
    ("tck-input-required", Behaviour::AskInput),
    ("tck-multi-turn", Behaviour::AskInput),
    ("tck-reject-task", Behaviour::Reject),
    ("tck-task-failure", Behaviour::Fail),
    ("tck-stream-001", at_work(Product::Text("Stream hello from TCK"))),
    ("tck-stream-002", Behaviour::Complete(None)),
    ("tck-stream-003", at_work(Product::Text("Stream task lifecycle"))),
    ("tck-stream-ordering-001", at_work(Product::Text("Ordered output"))),
    ("tck-stream-artifact-text", at_work(Product::Text("Streamed text content"))),
    ("tck-stream-artifact-file", at_work(Product::File)),
    ("tck-stream-artifact-chunked", Behaviour::Chunks),
    ("test-resubscribe-message-id", Behaviour::Long),
    ("tck-long-running", Behaviour::Long),
    ("tck-cancel", Behaviour::Endless),
    ("", Behaviour::Complete(None)),
];

const fn at_once(product: Product) -> Behaviour {
    Behaviour::Produce { product, is_seen_working: false }
}

const fn at_work(product: Product) -> Behaviour {
    Behaviour::Produce { product, is_seen_working: true }
}

/// What a message asks for: by its id, and where that says nothing, by its text.
fn behaviour(message: &Message) -> Behaviour {
    let text = message.parts.iter().find_map(|part| match &part.content {
        Content::Text(text) => Some(text.trim()),
        Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
    });
    let named = |name: &str| {
        let fits = BEHAVIOURS.iter().filter(|(start, _)| name.starts_with(start));
        fits.max_by_key(|(start, _)| start.len()).filter(|(start, _)| !start.is_empty())
    };
    let found = named(message.id.as_str()).or_else(|| named(text.unwrap_or_default()));
    found.map_or(Behaviour::Complete(None), |(_, behaviour)| *behaviour)
}

impl Executor for Kit {
    fn media_types(&self) -> &'static [&'static str] {
        &["text/*", "application/json", "application/octet-stream", "image/*"]
    }

    fn reply(&self, message: &Message) -> Option<Vec<Part>> {
        let is_reply = behaviour(message) == Behaviour::Reply;
        is_reply.then(|| vec![Part::text("Direct message response")])
    }

    fn work(&self, work: Work) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // Whoever does not listen any more needs no result.
            let _ended = play(work).await;
        })
    }
}

async fn play(work: Work) -> Result<(), Ended> {
    // A further message answers what the task has asked for.
    let is_further = work.message.task.is_some();
    let behaviour = match behaviour(&work.message) {
        Behaviour::AskInput if is_further => Behaviour::Complete(None),
        Behaviour::Reply => Behaviour::Complete(None),
        other => other,
    };
    let tell = &work.tell;
    let end = |state, words: Option<&'static str>| {
        tell.status(state, words.map(Part::text).into_iter().collect())
    };
    match behaviour {
        Behaviour::Complete(words) => end(TaskState::Completed, words).await,
        Behaviour::Reject => end(TaskState::Rejected, Some("rejected")).await,
        Behaviour::Fail => end(TaskState::Failed, Some("failed")).await,
        Behaviour::AskInput => {
            end(TaskState::InputRequired, Some("More input is needed: send another message")).await
        }
        Behaviour::Produce { product, is_seen_working } => {
            if is_seen_working {
                end(TaskState::Working, None).await?;
            }
            tell.artifact(artifact(vec![part(product)])).await?;
            end(TaskState::Completed, None).await
        }
        Behaviour::Chunks => {
            end(TaskState::Working, None).await?;
            chunk(tell, "chunk-1 ", false).await?;
            chunk(tell, "chunk-2", true).await?;
            end(TaskState::Completed, None).await
        }
        Behaviour::Long => {
            end(TaskState::Working, None).await?;
            tokio::time::sleep(LONG).await;
            end(TaskState::Completed, None).await
        }
        Behaviour::Endless => {
            end(TaskState::Working, None).await?;
            std::future::pending().await
        }
        Behaviour::Reply => Ok(()),
    }
}

async fn chunk(tell: &Teller, text: &str, is_last: bool) -> Result<(), Ended> {
    let artifact = artifact(vec![Part::text(text)]);
    tell.tell(Step::Artifact { artifact, append: is_last, last_chunk: is_last }).await
}

fn artifact(parts: Vec<Part>) -> Artifact {
    Artifact {
        id: ArtifactId::numbered(0),
        name: Some("output".to_owned()),
        description: None,
        parts,
        extensions: Vec::new(),
        metadata: None,
    }
}

fn part(product: Product) -> Part {
    let file = |content| Part {
        media_type: Some("text/plain".to_owned()),
        filename: Some("output.txt".to_owned()),
        ..Part::new(content)
    };
    match product {
        Product::Text(text) => Part::text(text),
        Product::File => file(Content::Raw(b"Generated file content".to_vec())),
        Product::FileUrl => file(Content::Url("https://example.com/output.txt".to_owned())),
        Product::Data => Part::new(Content::Data(json!({ "key": "value", "count": 42 }))),
    }
}
