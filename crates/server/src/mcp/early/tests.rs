//! What happens between a request to listen and the word that it is granted is told.

use std::sync::Arc;
use std::time::Duration;

use ::http::Request;
use agent::identity::{Principal, Scope};
use agent::ports::{Entropy, PortError};
use bytes::Bytes;
use engine::tasks::Tasks;
use http_body_util::{BodyExt as _, Full};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse, MetaObject,
    Prompt, ReadResourceRequestParams, ReadResourceResponse, Resource, ResourceTemplate,
    ServerConfig, Tool,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::broadcast;

use crate::guard::Caller;
use crate::mcp::early::{LISTEN, Piped};
use crate::mcp::handler::{Handler, Whose, no_resource};
use crate::mcp::http::Endpoint;
use crate::mcp::offer::{Answer, Asked, Completing, News, Offer, Part};
use crate::mcp::{Shared, capabilities};

const MODERN: &str = "2026-07-28";
const PATIENCE: Duration = Duration::from_secs(20);
const CHANGED: &str = "notifications/prompts/list_changed";

/// Its prompts change the moment somebody asks whose an address is: while a filter is looked through.
struct Bell(broadcast::Sender<News>);

impl Offer for Bell {
    fn tools(&self) -> &[Tool] {
        &[]
    }

    fn scope(&self, _tool: &str) -> Scope {
        Scope::Read
    }

    fn call<'a>(
        &'a self,
        call: CallToolRequestParams,
        _asked: &'a Asked,
    ) -> Answer<'a, CallToolResponse> {
        Box::pin(async move { Err(no_resource(&call.name)) })
    }

    fn resources<'a>(
        &'a self,
        _after: Option<String>,
        _asked: &'a Asked,
    ) -> Answer<'a, Part<Resource>> {
        Box::pin(async { Ok(Part { items: Vec::new(), next: None }) })
    }

    fn templates(&self) -> &[ResourceTemplate] {
        &[]
    }

    fn owns(&self, _uri: &str) -> bool {
        // Nobody hears it if nobody listens yet.
        _ = self.0.send(News::PromptsChanged);
        true
    }

    fn read<'a>(
        &'a self,
        read: ReadResourceRequestParams,
        _asked: &'a Asked,
    ) -> Answer<'a, ReadResourceResponse> {
        Box::pin(async move { Err(no_resource(&read.uri)) })
    }

    fn prompts(&self) -> &[Prompt] {
        &[]
    }

    fn prompt<'a>(
        &'a self,
        get: GetPromptRequestParams,
        _asked: &'a Asked,
    ) -> Answer<'a, GetPromptResponse> {
        Box::pin(async move { Err(no_resource(&get.name)) })
    }

    fn complete<'a>(
        &'a self,
        _completing: Completing,
        _asked: &'a Asked,
    ) -> Answer<'a, Option<Vec<String>>> {
        Box::pin(async { Ok(None) })
    }

    fn news(&self) -> Option<broadcast::Receiver<News>> {
        Some(self.0.subscribe())
    }
}

struct Zeroes;

impl Entropy for Zeroes {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), PortError> {
        bytes.fill(0);
        Ok(())
    }
}

fn shared() -> Arc<Shared> {
    let offers: Vec<Arc<dyn Offer>> = vec![Arc::new(Bell(broadcast::channel(4).0))];
    let info = ServerConfig::new(capabilities(&offers));
    Arc::new(Shared { offers, info, stamp: MetaObject::new(), tasks: Tasks::new() })
}

fn modern(id: u64, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn listen(id: u64) -> String {
    let wanted = json!({ "promptsListChanged": true, "resourceSubscriptions": ["bell://"] });
    modern(id, LISTEN, json!({ "notifications": wanted }))
}

#[tokio::test]
async fn over_pipes_nothing_is_missed() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let handler = Piped(Handler::new(shared(), Whose::Fixed(Principal::local_owner())));
    let (heard, mut said) = tokio::io::split(ours);
    for message in [modern(1, "server/discover", json!({})), listen(2)] {
        said.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    let _running = rmcp::serve_server(handler, tokio::io::split(theirs)).await.unwrap();
    let mut lines = BufReader::new(heard).lines();
    let told = async {
        loop {
            let line = lines.next_line().await.unwrap().expect("the conversation goes on");
            if line.contains(CHANGED) {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("the change is told");
}

#[tokio::test]
async fn over_http_nothing_is_missed() {
    let endpoint = Endpoint::new(&shared(), &Zeroes).unwrap();
    let caller = Principal::local_owner();
    let request = Request::post("/mcp")
        .header("host", "127.0.0.1")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", LISTEN)
        .body(())
        .unwrap();
    let (mut parts, ()) = request.into_parts();
    parts.extensions.insert(Caller(caller.clone()));
    endpoint.bring_along(&mut parts, &caller).await;
    let message = Full::new(Bytes::from(listen(1)));
    let mut answer = endpoint.service.handle(Request::from_parts(parts, message)).await;
    assert_eq!(answer.status(), 200);
    let told = async {
        let mut text = String::new();
        while !text.contains(CHANGED) {
            let frame = answer.body_mut().frame().await.unwrap_or_else(|| panic!("over: {text}"));
            let Ok(frame) = frame;
            text += &String::from_utf8_lossy(&frame.into_data().unwrap_or_default());
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("the change is told");
}
