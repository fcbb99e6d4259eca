//! MCP clients of both eras, written out by hand, on the real server.

mod changes;
mod doors;
mod leaving;
mod offers;
mod stdio;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use serde_json::{Value, json};

use crate::world::Served;

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// Somebody who speaks MCP.
#[derive(Clone)]
pub(crate) struct Caller {
    client: reqwest::Client,
    url: String,
    key: Option<String>,
    /// Of the older era.
    session: Option<String>,
}

/// What came back: the status, and every message of the answer.
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) messages: Vec<Value>,
    pub(crate) challenge: String,
    session: Option<String>,
}

impl Heard {
    /// The last message: the answer itself.
    #[track_caller]
    pub(crate) fn answer(&self) -> &Value {
        self.messages.last().expect("there is an answer")
    }

    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        let result = &self.answer()["result"];
        assert!(result.is_object(), "{} {}", self.status, self.answer());
        result
    }
}

impl Caller {
    pub(crate) fn of(served: &Served, key: Option<&str>) -> Self {
        let (client, url) = (served.client.clone(), served.url("/mcp"));
        Self { client, url, key: key.map(str::to_owned), session: None }
    }

    fn request(&self, method: reqwest::Method) -> reqwest::RequestBuilder {
        let mut request = self.client.request(method, &self.url);
        request = request.header(ACCEPT, "application/json, text/event-stream");
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, format!("Bearer {key}"));
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        request
    }

    /// Asks in the newer era.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Heard {
        self.ask_as(1, method, params).await
    }

    pub(crate) async fn ask_as(&self, id: u64, method: &str, params: Value) -> Heard {
        heard(self.asking(id, method, params).send().await.unwrap()).await
    }

    /// A request of the newer era, not sent yet.
    pub(crate) fn asking(&self, id: u64, method: &str, params: Value) -> reqwest::RequestBuilder {
        let body = modern(id, method, params);
        let params = &body["params"];
        let mut request = self.request(reqwest::Method::POST);
        request = request.header("mcp-protocol-version", MODERN).header("mcp-method", method);
        let names = [&params["name"], &params["uri"], &params["taskId"]];
        let name = names.iter().find_map(|name| name.as_str());
        if let Some(name) = name.filter(|_| method != "subscriptions/listen") {
            request = request.header("mcp-name", name);
        }
        request.json(&body)
    }

    /// Calls a tool in the newer era; gives its result.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let heard = self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        heard.result().clone()
    }

    /// Says hello in the older era.
    pub(crate) async fn hello(&self) -> Self {
        let body = hello(1);
        let said = self.request(reqwest::Method::POST).json(&body).send().await.unwrap();
        let heard = heard(said).await;
        assert_eq!(heard.result()["protocolVersion"], LEGACY);
        let session = heard.session.expect("there is a session");
        let caller = Self { session: Some(session), ..self.clone() };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let said = caller.say(&initialized).await;
        assert_eq!(said.status, 202);
        caller
    }

    /// Sends a message of the older era as it is.
    pub(crate) async fn say(&self, message: &Value) -> Heard {
        let request = self.request(reqwest::Method::POST).header("mcp-protocol-version", LEGACY);
        heard(request.json(message).send().await.unwrap()).await
    }

    pub(crate) async fn say_method(&self, method: &str, params: Value) -> Heard {
        self.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await
    }

    /// A session's stream, or its end.
    pub(crate) fn bare(&self, method: reqwest::Method) -> reqwest::RequestBuilder {
        self.request(method).header("mcp-protocol-version", LEGACY)
    }

    /// The same session with another's credentials.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self.clone() }
    }
}

pub(crate) fn modern(id: u64, method: &str, mut params: Value) -> Value {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    let able = &mut meta["io.modelcontextprotocol/clientCapabilities"];
    if able.is_null() {
        *able = json!({});
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(crate) fn hello(id: u64) -> Value {
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params })
}

async fn heard(response: reqwest::Response) -> Heard {
    let status = response.status().as_u16();
    let header = |name: &str| {
        let value = response.headers().get(name).and_then(|value| value.to_str().ok());
        value.map(str::to_owned)
    };
    let is_stream = header(CONTENT_TYPE.as_str()).unwrap_or_default().contains("event-stream");
    let challenge = header(WWW_AUTHENTICATE.as_str()).unwrap_or_default();
    let session = header("mcp-session-id");
    let text = response.text().await.unwrap();
    let messages = if is_stream {
        in_stream(&text)
    } else {
        serde_json::from_str(&text).into_iter().collect()
    };
    Heard { status, messages, challenge, session }
}

/// The messages of a stream of events.
pub(crate) fn in_stream(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}
