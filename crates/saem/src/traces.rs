//! Sends the spans of turns, searches, model calls and memories to an OpenTelemetry collector, as OTLP in JSON over HTTP.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::config::Telemetry;
use crate::system::SystemEntropy;

/// Spans that wait to be sent; more are dropped: a collector that is away must not cost memory.
const WAITING_MAX: usize = 4_096;

/// Spans in one request, and how long the first of them waits for others.
const BATCH_MAX: usize = 512;
const BATCH_WAIT: Duration = Duration::from_secs(2);

/// For one request to the collector.
const SEND_TIME_MAX: Duration = Duration::from_secs(10);

/// Longest text of an attribute, in bytes.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// Collects finished spans.
pub(crate) struct Traces {
    finished: mpsc::Sender<Finished>,
}

/// Sends what was collected until the layer is gone.
pub(crate) struct Sender {
    finished: mpsc::Receiver<Finished>,
    /// Taken from the line, and not sent yet.
    batch: Vec<Finished>,
    client: reqwest::Client,
    address: reqwest::Url,
}

/// A span on its way.
struct Open {
    trace: [u8; 16],
    id: [u8; 8],
    parent: Option<[u8; 8]>,
    began: SystemTime,
    attributes: Said,
}

struct Finished {
    name: String,
    open: Open,
    ended: SystemTime,
}

/// What is said of a span.
#[derive(Default)]
struct Said(BTreeMap<&'static str, Value>);

/// The layer and the sender of the configuration; none if no collector is named.
pub(crate) fn traces(settings: &Telemetry) -> Result<Option<(Traces, Sender)>> {
    if settings.otlp_endpoint.is_empty() {
        return Ok(None);
    }
    let endpoint = settings.otlp_endpoint.trim_end_matches('/');
    let address = format!("{endpoint}/v1/traces");
    let address = address.parse().with_context(|| {
        "telemetry.otlp_endpoint is no address such as http://127.0.0.1:4318".to_owned()
    })?;
    let mut headers = HeaderMap::new();
    for header in &settings.otlp_headers {
        // Not repeated in the message: it may hold a key.
        let wrong = "telemetry.otlp_headers: an entry is not of the form name=value";
        let (name, value) = header.reveal().split_once('=').context(wrong)?;
        let mut value = HeaderValue::from_str(value).context(wrong)?;
        value.set_sensitive(true);
        headers.insert(name.parse::<HeaderName>().context(wrong)?, value);
    }
    _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .http1_only()
        .timeout(SEND_TIME_MAX)
        .default_headers(headers)
        .build()?;
    let (tell, finished) = mpsc::channel(WAITING_MAX);
    Ok(Some((Traces { finished: tell }, Sender { finished, batch: Vec::new(), client, address })))
}

impl<S> Layer<S> for Traces
where
    S: tracing::Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    #[expect(clippy::disallowed_methods, reason = "a span says when it was by the real clock")]
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let above = span.parent().and_then(|parent| {
            let extensions = parent.extensions();
            extensions.get::<Open>().map(|open| (open.trace, open.id))
        });
        let mut own = Said::default();
        attributes.record(&mut own);
        let (trace, parent) =
            above.map_or_else(|| (random(), None), |(trace, parent)| (trace, Some(parent)));
        let began = SystemTime::now();
        span.extensions_mut().insert(Open { trace, id: random(), parent, began, attributes: own });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut open.attributes);
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a span says when it was by the real clock")]
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(open) = span.extensions_mut().remove::<Open>() else { return };
        let (name, ended) = (span.name().to_owned(), SystemTime::now());
        // A collector that is away or slow costs spans, and nothing else.
        let _full = self.finished.try_send(Finished { name, open, ended });
    }
}

impl Sender {
    /// Sends batch after batch until `done`, and then what is left.
    pub(crate) async fn run(mut self, done: CancellationToken) {
        let mut was_well = true;
        loop {
            let is_last = tokio::select! {
                () = done.cancelled() => true,
                () = self.is_batch() => false,
            };
            let mut batch = std::mem::take(&mut self.batch);
            while batch.len() < BATCH_MAX
                && let Ok(next) = self.finished.try_recv()
            {
                batch.push(next);
            }
            if !batch.is_empty() {
                let sent = self.send(batch).await;
                // Said once, not every two seconds.
                if let (Err(error), true) = (&sent, was_well) {
                    tracing::warn!(%error, "the collector takes no traces");
                }
                was_well = sent.is_ok();
            } else if is_last {
                return;
            }
        }
    }

    /// Waits for spans, and a moment for more of them.
    async fn is_batch(&mut self) {
        if self.batch.is_empty() {
            self.batch.extend(self.finished.recv().await);
        }
        let more = async {
            while self.batch.len() < BATCH_MAX {
                self.batch.extend(self.finished.recv().await);
            }
        };
        let _enough = tokio::time::timeout(BATCH_WAIT, more).await;
    }

    async fn send(&self, batch: Vec<Finished>) -> Result<(), reqwest::Error> {
        let body = request(batch).to_string();
        let request = self.client.post(self.address.clone()).body(body);
        let sent = request.header("content-type", "application/json").send().await?;
        sent.error_for_status().map(|_| ())
    }
}

/// Ids that are not all zero; chance that fails gives one that only repeats.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [1; N];
    let _same = agent::ports::Entropy::fill(&SystemEntropy, &mut bytes);
    bytes
}

fn request(spans: Vec<Finished>) -> Value {
    let spans: Vec<Value> = spans.into_iter().map(span).collect();
    let service = attribute("service.name", &json!("saem"));
    let version = attribute("service.version", &json!(env!("CARGO_PKG_VERSION")));
    json!({ "resourceSpans": [{
        "resource": { "attributes": [service, version] },
        "scopeSpans": [{ "scope": { "name": "saem" }, "spans": spans }],
    }] })
}

fn span(Finished { name, open, ended }: Finished) -> Value {
    let mut attributes = open.attributes.0;
    let name = attributes
        .remove("otel.name")
        .and_then(|name| Some(name.as_str()?.to_owned()))
        .unwrap_or(name);
    // 1 is internal and 3 is a client, as the protocol counts them.
    let kind = if attributes.remove("otel.kind").is_some() { 3 } else { 1 };
    let has_failed = attributes.contains_key("error.type");
    let list: Vec<Value> = attributes.iter().map(|(name, value)| attribute(name, value)).collect();
    let mut span = json!({
        "traceId": hexadecimal(&open.trace),
        "spanId": hexadecimal(&open.id),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": nanoseconds(open.began),
        "endTimeUnixNano": nanoseconds(ended),
        "attributes": list,
        "status": { "code": if has_failed { 2 } else { 0 } },
    });
    if let (Some(parent), Some(span)) = (open.parent, span.as_object_mut()) {
        span.insert("parentSpanId".to_owned(), hexadecimal(&parent).into());
    }
    span
}

fn attribute(name: &str, value: &Value) -> Value {
    let value = match value {
        Value::Bool(flag) => json!({ "boolValue": flag }),
        // Whole numbers are texts in this protocol.
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            json!({ "intValue": number.to_string() })
        }
        Value::Number(number) => json!({ "doubleValue": number }),
        Value::String(text) => json!({ "stringValue": text }),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            json!({ "stringValue": value.to_string() })
        }
    };
    json!({ "key": name, "value": value })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn nanoseconds(moment: SystemTime) -> String {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

impl Visit for Said {
    fn record_str(&mut self, field: &Field, value: &str) {
        let text = agent::text::clip(value, TEXT_BYTES_MAX).to_owned();
        self.0.insert(field.name(), text.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
