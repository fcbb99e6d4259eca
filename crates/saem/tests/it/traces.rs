//! Traces of turns reach a collector, and hold what was said only if that is wanted.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::model_server::ModelServer;

use crate::chat::{QUESTION, borrowed, model_settings, played, small};
use crate::world::{PATIENCE, shown};

#[tokio::test]
async fn traces_of_a_turn_reach_the_collector_without_what_was_said() {
    let world = small();
    let mut collector = Collector::start().await;
    let model = ModelServer::answering(Duration::ZERO, played).await;
    for (content, is_there) in [("false", false), ("true", true)] {
        let mut settings = model_settings(&model.base_url);
        settings.push(("SAEM_TELEMETRY_OTLP_ENDPOINT", collector.address.clone()));
        settings.push(("SAEM_TELEMETRY_CONTENT", content.to_owned()));
        let asking = world.start(&["ask", QUESTION, "--json"], &borrowed(&settings));
        let output =
            tokio::time::timeout(PATIENCE, asking.wait_with_output()).await.unwrap().unwrap();
        assert!(output.status.success(), "{}", shown(&output));
        let told = collector.next().await;
        let spans = told["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
        let find = |name: &str| spans.iter().find(|span| span["name"] == name).expect(name);
        let turn = find("invoke_agent saem");
        for name in ["execute_tool search_all", "chat gpt-5-nano"] {
            let child = find(name);
            assert_eq!(
                (&child["traceId"], &child["parentSpanId"]),
                (&turn["traceId"], &turn["spanId"])
            );
        }
        let calls = spans.iter().filter(|span| span["name"] == "chat gpt-5-nano").count();
        assert_eq!(calls, 2, "{spans:?}");
        let attribute = |span: &Value, name: &str| {
            let all = span["attributes"].as_array().unwrap();
            all.iter()
                .find(|attribute| attribute["key"] == name)
                .map(|found| found["value"].clone())
        };
        assert_eq!(
            attribute(turn, "saem.turn.outcome"),
            Some(json!({ "stringValue": "answered" }))
        );
        let tokens = attribute(turn, "gen_ai.aggregated_usage.input_tokens");
        assert_eq!(tokens, Some(json!({ "intValue": "2500" })));
        assert_eq!(told.to_string().contains("budget alert"), is_there, "{told}");
    }
}

/// Takes traces over HTTP and gives them to the test.
struct Collector {
    address: String,
    bodies: tokio::sync::mpsc::Receiver<Value>,
}

impl Collector {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (tell, bodies) = tokio::sync::mpsc::channel(8);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let body = read_request(stream).await;
                tell.send(serde_json::from_slice(&body).unwrap()).await.unwrap();
            }
        });
        Self { address, bodies }
    }

    async fn next(&mut self) -> Value {
        tokio::time::timeout(PATIENCE, self.bodies.recv()).await.unwrap().unwrap()
    }
}

/// The body of one request, which is answered with 200.
async fn read_request(stream: tokio::net::TcpStream) -> Vec<u8> {
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    stream.get_mut().write_all(answer).await.unwrap();
    body
}
