//! An embedder behind an OpenAI-compatible server: OpenAI, Ollama, vLLM, TEI, LM Studio.

mod wire;

use std::time::Duration;

use agent::ports::{EmbedFor, Embedder, Later, PortError};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use reqwest::{Client, Response, StatusCode, Url};
use tokio::sync::Semaphore;

pub use crate::http::SecretKey;
use crate::http::{self, COMPLAINT_BYTES_MAX, read, root_cause};
use crate::patience::{self, Again, Patience};

#[cfg(test)]
mod tests;

/// Largest answer that is read, in bytes: 512 texts of 4,096 numbers, each written with 20 digits, fit.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Whose settings messages speak of.
const WHOSE: &str = "the embedder";

/// What is embedded once at the start, to learn how many numbers the model gives.
const PROBE: &str = "probe";

/// Where the embedder is and how it is used.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteSettings {
    /// Up to the version: `http://127.0.0.1:11434/v1`.
    pub base_url: String,
    pub model: String,
    pub api_key: Option<SecretKey>,
    /// How many numbers to ask for; none for the model's own count.
    pub dimensions: Option<usize>,
    /// What the model wants before a question, such as `query: `.
    pub query_prefix: String,
    /// What the model wants before a passage, such as `passage: `.
    pub passage_prefix: String,
    pub batch_texts_max: usize,
    /// A single longer text goes alone.
    pub batch_bytes_max: usize,
    /// Requests on the way at once, over all callers.
    pub concurrency_max: usize,
    pub connect_time_max: Duration,
    /// For one request, from sending to the last byte.
    pub answer_time_max: Duration,
    /// Requests for one batch, the first included.
    pub tries_max: u32,
    /// The wait after the first failure; it doubles with each.
    pub retry_wait_first: Duration,
    /// The longest wait, also when the server asks for a longer one.
    pub retry_wait_max: Duration,
}

impl RemoteSettings {
    #[must_use]
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            dimensions: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            // TEI takes no more than 32 texts unless it is told to.
            batch_texts_max: 32,
            // Far below the 8 to 32 k tokens times 32 that servers take, far above the cost of a round trip.
            batch_bytes_max: 128 * 1024,
            // Keeps a server with one GPU busy without making interactive questions wait for long.
            concurrency_max: 4,
            connect_time_max: Duration::from_secs(5),
            // A full batch on a laptop without a GPU.
            answer_time_max: Duration::from_secs(60),
            tries_max: 4,
            retry_wait_first: Duration::from_millis(500),
            retry_wait_max: Duration::from_secs(20),
        }
    }
}

/// Embeds by asking a server.
#[derive(Debug)]
pub struct RemoteEmbedder {
    settings: RemoteSettings,
    client: Client,
    endpoint: Url,
    identity: String,
    dimensions: usize,
    on_the_way: Semaphore,
}

/// One request that gave nothing, and whether another may.
#[derive(Debug)]
struct Failure {
    error: PortError,
    again: Again,
}

impl RemoteEmbedder {
    /// Asks the server for one vector, to learn its length and to find out now whether the settings are right.
    pub async fn connect(settings: RemoteSettings) -> Result<Self, PortError> {
        let endpoint = http::address(WHOSE, &settings.base_url, "embeddings")?;
        let client = http::client(WHOSE, &endpoint, settings.api_key.as_ref(), |builder| {
            builder.connect_timeout(settings.connect_time_max).timeout(settings.answer_time_max)
        })?;
        let on_the_way = Semaphore::new(settings.concurrency_max.clamp(1, Semaphore::MAX_PERMITS));
        let mut embedder =
            Self { settings, client, endpoint, identity: String::new(), dimensions: 0, on_the_way };
        let probe = embedder.embed_batch(&[PROBE.to_owned()]).await?;
        embedder.dimensions = probe.first().map_or(0, Vec::len);
        embedder.identity = identity(&embedder.settings, embedder.dimensions);
        match embedder.settings.dimensions {
            Some(asked) if asked != embedder.dimensions => Err(embedder.unavailable(format!(
                "{} gives {} numbers where {asked} were asked for: leave `dimensions` out, or choose \
                 a model that can shorten its vectors",
                embedder.settings.model, embedder.dimensions
            ))),
            _ => Ok(embedder),
        }
    }

    async fn embed_all(
        &self,
        texts: &[String],
        purpose: EmbedFor,
    ) -> Result<Vec<Vec<f32>>, PortError> {
        let prefix = match purpose {
            EmbedFor::Query => &self.settings.query_prefix,
            EmbedFor::Passage => &self.settings.passage_prefix,
        };
        let texts = texts.iter().map(|text| prepared(prefix, text));
        let answers: Vec<Vec<Vec<f32>>> = stream::iter(batches(texts, &self.settings))
            .map(|batch| self.embed_of_known_length(batch))
            .buffered(self.settings.concurrency_max.max(1))
            .try_collect()
            .await?;
        Ok(answers.into_iter().flatten().collect())
    }

    async fn embed_of_known_length(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, PortError> {
        let vectors = self.embed_batch(&texts).await?;
        match vectors.iter().find(|vector| vector.len() != self.dimensions) {
            None => Ok(vectors),
            Some(other) => Err(self.unavailable(format!(
                "its vectors had {} numbers at the start and now have {}: was the model behind it \
                 changed? Restart to embed anew",
                self.dimensions,
                other.len()
            ))),
        }
    }

    /// Asks until there is an answer or the tries are used up. Dropping the future drops the request.
    async fn embed_batch(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, PortError> {
        // Held while waiting too: a server that asks for patience is not asked by others meanwhile.
        let _permit = self.on_the_way.acquire().await.map_err(|closed| PortError::Broken {
            what: "the queue of the embedder",
            source: Box::new(closed),
        })?;
        let body = wire::request(&self.settings, texts)?;
        let mut patience = Patience::new(
            self.settings.tries_max,
            self.settings.retry_wait_first,
            self.settings.retry_wait_max,
        );
        loop {
            let failure = match self.ask(body.clone(), texts.len()).await {
                Ok(vectors) => return Ok(vectors),
                Err(failure) => failure,
            };
            match patience.wait_before_next(&failure.again) {
                Some(wait) => {
                    tracing::debug!(error = %failure.error, ?wait, "asking the embedder again");
                    tokio::time::sleep(wait).await;
                }
                None => return Err(failure.error),
            }
        }
    }

    async fn ask(&self, body: Vec<u8>, count: usize) -> Result<Vec<Vec<f32>>, Failure> {
        let response = self
            .client
            .post(self.endpoint.clone())
            .body(body)
            .send()
            .await
            .map_err(|error| self.unanswered(error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refusal(status, response).await);
        }
        let Some(answer) =
            read(response, ANSWER_BYTES_MAX).await.map_err(|error| self.unanswered(error))?
        else {
            return Err(self.final_failure("its answer is too large: make the batches smaller"));
        };
        wire::vectors(&answer, count).map_err(|why| self.final_failure(&self.clean(&why)))
    }

    fn unanswered(&self, error: reqwest::Error) -> Failure {
        let error = error.without_url();
        let cause = self.clean(&root_cause(&error));
        if error.is_connect() {
            let error = self.unavailable(format!("no connection ({cause}): is it running?"));
            return Failure { error, again: Again::Soon };
        }
        if error.is_timeout() {
            return self.final_failure(&format!(
                "no answer within {:?}: make the batches smaller, or give it more time",
                self.settings.answer_time_max
            ));
        }
        self.final_failure(&format!("the answer broke off ({cause}): look at its log"))
    }

    async fn refusal(&self, status: StatusCode, response: Response) -> Failure {
        let after = patience::retry_after(response.headers());
        // Not the server's words when it is about the key: some repeat it.
        let about_key = matches!(status.as_u16(), 401 | 403);
        let words = match read(response, COMPLAINT_BYTES_MAX).await {
            Ok(Some(body)) if !about_key => self.clean(&wire::complaint(&body)),
            _ => String::new(),
        };
        let words = if words.is_empty() { words } else { format!("; it says: {words}") };
        let (number, model) = (status.as_u16(), &self.settings.model);
        let again = after.map_or(Again::Soon, Again::After);
        match number {
            401 | 403 => {
                self.final_failure(&format!("it refuses the key ({number}): check the key"))
            }
            404 => self.final_failure(&format!(
                "it does not know the model or the path (404): check the model name `{model}`, and \
                 that the base URL ends as its manual says, mostly in /v1{words}"
            )),
            429 => Failure {
                error: self.unavailable(format!("it has too much to do (429): try later{words}")),
                again,
            },
            500..=599 => Failure {
                error: self.unavailable(format!("it failed ({number}): look at its log{words}")),
                again,
            },
            300..=399 => self.final_failure(&format!(
                "it redirects ({number}): set the base URL to the final address"
            )),
            _ => Failure {
                error: PortError::Refused(format!(
                    "{} refuses the texts ({number}): are they too long for {model}?{words}",
                    self.name()
                )),
                again: Again::Never,
            },
        }
    }

    fn final_failure(&self, why: &str) -> Failure {
        Failure { error: self.unavailable(why.to_owned()), again: Again::Never }
    }

    fn unavailable(&self, why: String) -> PortError {
        PortError::Unavailable { what: self.name(), why }
    }

    fn name(&self) -> String {
        format!("the embedder at {}", self.settings.base_url)
    }

    fn clean(&self, words: &str) -> String {
        http::clean(words, self.settings.api_key.as_ref())
    }
}

impl Embedder for RemoteEmbedder {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed<'a>(&'a self, texts: &'a [String], purpose: EmbedFor) -> Later<'a, Vec<Vec<f32>>> {
        Box::pin(self.embed_all(texts, purpose))
    }
}

/// A passage prefix is part of every kept vector. A question's is not: questions are embedded anew each time.
fn identity(settings: &RemoteSettings, dimensions: usize) -> String {
    let plain = format!("openai:{}:{dimensions}", settings.model);
    match settings.passage_prefix.as_str() {
        "" => plain,
        prefix => format!("{plain}:{prefix:?}"),
    }
}

/// Servers refuse a whole batch for one empty text, but take a blank.
fn prepared(prefix: &str, text: &str) -> String {
    if prefix.is_empty() && text.is_empty() { " ".to_owned() } else { format!("{prefix}{text}") }
}

/// Cuts the texts into runs that keep both limits.
fn batches(texts: impl Iterator<Item = String>, settings: &RemoteSettings) -> Vec<Vec<String>> {
    let mut batches = Vec::new();
    let mut batch: Vec<String> = Vec::new();
    let mut bytes: usize = 0;
    for text in texts {
        bytes = bytes.saturating_add(text.len());
        let full = batch.len() >= settings.batch_texts_max || bytes > settings.batch_bytes_max;
        if full && !batch.is_empty() {
            batches.push(std::mem::take(&mut batch));
            bytes = text.len();
        }
        batch.push(text);
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}
