//! Callers of an MCP server: requests of the new era over connections that stay open.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::crowd;
use crate::http::Connection;
use crate::report::percentile;

/// The revision of the protocol that is spoken.
const REVISION: &str = "2026-07-28";

/// Whom to call, and as whom.
pub(super) struct Caller {
    pub(super) address: String,
    pub(super) key: Option<String>,
}

/// A request, ready to be sent.
pub(super) struct Request {
    path: String,
    headers: String,
    body: String,
    /// What stands in every good answer.
    expected: &'static str,
}

/// What callers saw of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Played {
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) per_second: f64,
}

impl Request {
    pub(super) fn list() -> Self {
        Self::of("tools/list", None, json!({}))
    }

    pub(super) fn call(tool: &str, arguments: &Value) -> Self {
        Self::of("tools/call", Some(tool), json!({ "name": tool, "arguments": arguments }))
    }

    /// A call of a tool that stands behind Saem, over its own API.
    pub(super) fn behind(tool: &str, arguments: &Value) -> Self {
        Self {
            path: format!("/api/tools/{tool}/call"),
            headers: String::new(),
            body: json!({ "arguments": arguments }).to_string(),
            expected: "\"is_error\":false",
        }
    }

    fn of(method: &str, name: Option<&str>, mut params: Value) -> Self {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
        });
        if let Some(fields) = params.as_object_mut() {
            fields.insert("_meta".to_owned(), meta);
        }
        let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        Self {
            path: "/mcp".to_owned(),
            expected: "\"result\"",
            headers: format!(
                "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {REVISION}\r\n\
                 Mcp-Method: {method}\r\n{name}"
            ),
            body: json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
                .to_string(),
        }
    }
}

impl Caller {
    /// The result of one request.
    pub(super) fn answer(&self, request: &Request) -> Result<Value> {
        let answer = self.open(request)?.post(&request.path, &request.body)?;
        let answer: Value = serde_json::from_slice(&answer)?;
        answer.get("result").cloned().with_context(|| format!("a result in {answer}"))
    }

    /// Sends a request so many times over so many connections at once.
    pub(super) fn play(&self, request: &Request, times: usize, at_once: usize) -> Result<Played> {
        let open = |_| self.open(request);
        let connections: Vec<Connection> = (0..at_once).map(open).collect::<Result<_>>()?;
        let send = |to: &mut Connection, _| {
            let start = Instant::now();
            let answer = to.post(&request.path, &request.body)?;
            let took = start.elapsed();
            // Whole, and no error: both would be quick.
            let is_good = answer.ends_with(b"}")
                && !contains(&answer, b"\"isError\":true")
                && contains(&answer, request.expected.as_bytes());
            ensure!(is_good, "{}", String::from_utf8_lossy(&answer));
            Ok(took)
        };
        let (took, wall) = crowd::play(connections, times, send)?;
        Ok(Played {
            p50_ms: percentile(&took, 0.5),
            p99_ms: percentile(&took, 0.99),
            per_second: times as f64 / wall.as_secs_f64(),
        })
    }

    fn open(&self, request: &Request) -> Result<Connection> {
        let connection = Connection::open(&self.address)?.with_headers(&request.headers);
        Ok(match &self.key {
            Some(key) => connection.with_key(key),
            None => connection,
        })
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
