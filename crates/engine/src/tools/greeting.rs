//! The beginning of a connection: the program started or the address called, and the first words in the right era.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ProtocolVersion;
use rmcp::service::RoleClient;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientCacheConfig, ClientLifecycleMode, ClientServiceExt};

use super::access::Access;
use super::child::{LastWords, Program, Start};
use super::connection::{Link, shortened};
use super::doorway::Doorway;
use super::handler::{Handler, Shared};
use super::http::{ANSWER_BYTES_MAX, BoundedClient};
use super::settings::{Launch, ServerSettings};
use crate::tasks::Tasks;

/// How long the library waits for an answer to the new greeting before it gives the old one on the same pipe. A program
/// that takes longer to start answers both, in an order that the library takes for an error: it is greeted anew.
const PROBE_WAIT: Duration = Duration::from_secs(10);

/// What a connection is made with.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) start: Start,
    pub(super) tasks: Tasks,
    /// The way in, where a server may want to know who comes.
    pub(super) access: Option<Arc<Access>>,
}

/// Connects, in the new era if the server knows it. A server that is silent to the new greeting gets the old one.
pub(super) async fn connect(
    settings: &ServerSettings,
    shared: &Arc<Shared>,
    ground: &Ground,
) -> Result<Link, String> {
    let auto = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    let words = LastWords::default();
    let started = tokio::time::Instant::now();
    let tried =
        tokio::time::timeout(settings.waits.connect, greet(settings, shared, ground, &words, auto));
    let outcome = match tried.await {
        Ok(Ok(link)) => Ok(link),
        Ok(Err(why)) if started.elapsed() < PROBE_WAIT => Err(why),
        Ok(Err(_)) | Err(_) => {
            let old = greet(settings, shared, ground, &words, ClientLifecycleMode::Initialize);
            let again = tokio::time::timeout(settings.waits.connect, old).await;
            again.unwrap_or_else(|_| Err("it does not answer".to_owned()))
        }
    };
    let link = outcome.map_err(|why| with_last_words(why, &words))?;
    link.service.peer().set_response_cache_config(ClientCacheConfig::disabled()).await;
    link.follow_changes();
    Ok(link)
}

fn with_last_words(why: String, words: &LastWords) -> String {
    let lines = words.lines();
    let last: Vec<&str> = lines.iter().rev().take(3).rev().map(String::as_str).collect();
    if last.is_empty() { why } else { format!("{why}; it said: {}", last.join(" / ")) }
}

async fn greet(
    settings: &ServerSettings,
    shared: &Arc<Shared>,
    ground: &Ground,
    words: &LastWords,
    mode: ClientLifecycleMode,
) -> Result<Link, String> {
    let handler = Handler(Arc::clone(shared));
    let (service, program) = match &settings.launch {
        launch @ Launch::Program { command, .. } => {
            let (limits, start) = (&settings.limits, &ground.start);
            let started = Program::start(launch, limits, start, words, &ground.tasks);
            let (program, (output, input)) =
                started.map_err(|error| format!("{command} cannot be started: {error}"))?;
            let transport = AsyncRwTransport::<RoleClient, _, _>::new(output, input)
                .with_max_line_length(ANSWER_BYTES_MAX);
            let service = Box::pin(handler.serve_with_lifecycle(transport, mode)).await;
            (service.map_err(|error| shortened(&error))?, Some(program))
        }
        Launch::Address { url, headers } => {
            let client = BoundedClient::new(settings.waits.connect).map_err(|e| e.to_string())?;
            let client = Doorway { client, access: ground.access.clone() };
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .custom_headers(header_map(headers)?)
                .max_sse_event_size(ANSWER_BYTES_MAX);
            // A session that has expired is greeted anew by us, and what was under way is not sent again.
            config.reinit_on_expired_session = false;
            let transport = StreamableHttpClientTransport::with_client(client, config);
            let service = Box::pin(handler.serve_with_lifecycle(transport, mode)).await;
            (service.map_err(|error| shortened(&error))?, None)
        }
        Launch::Agent { .. } => return Err("it is an agent, and speaks no MCP".to_owned()),
    };
    Ok(Link {
        service,
        shared: Arc::clone(shared),
        program: Mutex::new(program),
        waits: settings.waits,
        tasks: ground.tasks.clone(),
        listing: Mutex::default(),
    })
}

fn header_map(
    headers: &BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let each = headers.iter().map(|(name, value)| {
        let wrong = || format!("the header {name:?} is not legal");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((name, value))
    });
    each.collect()
}
