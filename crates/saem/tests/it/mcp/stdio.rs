//! MCP on standard input and output: on the folder itself, beside a server, and beside another client; and `mcp install`.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::{LEGACY, hello, modern};
use crate::world::{PATIENCE, World};

struct Piped {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Piped {
    fn start(world: &World) -> Self {
        let mut child = world.start_piped(&["mcp", "serve", "--stdio"]);
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, output }
    }

    async fn say(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// The next line, which is a message: nothing else is ever printed.
    async fn hear(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await.unwrap().unwrap();
        let line = line.expect("there is another line");
        let message: Value = serde_json::from_str(&line).expect(&line);
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// What answers the request of this id; gives what came before it too.
    async fn answer(&mut self, id: u64) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let message = self.hear().await;
            if message["id"] == id && message["method"].is_null() {
                return (message, before);
            }
            before.push(message);
        }
    }

    async fn ask(&mut self, message: &Value) -> Value {
        self.say(message).await;
        self.answer(message["id"].as_u64().unwrap()).await.0
    }

    async fn hello(&mut self) {
        let answer = self.ask(&hello(1)).await;
        assert_eq!(answer["result"]["protocolVersion"], LEGACY, "{answer}");
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    }

    /// Closes its end; the process ends well and says nothing more.
    async fn end(self) {
        let Self { mut child, input, mut output } = self;
        drop(input);
        let ended = tokio::time::timeout(PATIENCE, child.wait()).await.expect("it ends").unwrap();
        assert!(ended.success());
        assert_eq!(output.next_line().await.unwrap(), None);
    }
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "p" } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn tea(id: u64) -> Value {
    call(id, "ingest_document", &json!({ "name": "차.md", "text": "# 차\n\nBarley tea is cold." }))
}

/// Both eras, on whatever is behind the pipes.
async fn talks(world: &World) {
    let mut old = Piped::start(world);
    old.hello().await;
    let added = old.ask(&tea(2)).await;
    assert_eq!(added["result"]["isError"], false, "{added}");
    old.say(&call(3, "ask", &json!({ "question": "is barley tea cold?" }))).await;
    let (answer, before) = old.answer(3).await;
    assert!(answer["result"]["structuredContent"]["answer"].is_string(), "{answer}");
    assert!(before.iter().any(|told| told["method"] == "notifications/progress"), "{before:?}");
    old.say(&json!({ "jsonrpc": "2.0", "id": 4, "method": "ping" })).await;
    assert_eq!(old.answer(4).await.0["result"], json!({}));
    old.end().await;

    let mut new = Piped::start(world);
    let found = new.ask(&modern(1, "server/discover", json!({}))).await;
    assert!(found["result"]["supportedVersions"].to_string().contains("2026-07-28"), "{found}");
    let params = json!({ "name": "search_all", "arguments": { "query": "barley" } });
    let found = new.ask(&modern(2, "tools/call", params)).await;
    let source = &found["result"]["structuredContent"]["passages"][0]["source"];
    assert_eq!(source, "차.md", "{found}");
    let listen = json!({ "notifications": { "resourcesListChanged": true } });
    new.say(&modern(3, "subscriptions/listen", listen)).await;
    let told = new.hear().await;
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged", "{told}");
    let green = json!({ "name": "green.md", "text": "Green tea." });
    let green = json!({ "name": "ingest_document", "arguments": green });
    new.say(&modern(4, "tools/call", green)).await;
    let mut methods = vec![new.hear().await["method"].clone(), new.hear().await["method"].clone()];
    methods.sort_by_key(Value::to_string);
    assert_eq!(methods, [json!("notifications/resources/list_changed"), Value::Null]);
    let taken_back = json!({ "requestId": 3 });
    let cancelled = "notifications/cancelled";
    new.say(&json!({ "jsonrpc": "2.0", "method": cancelled, "params": taken_back })).await;
    new.end().await;
}

#[tokio::test]
async fn it_talks_on_the_folder_itself() {
    talks(&World::new()).await;
}

#[tokio::test]
async fn it_talks_beside_a_server_that_has_the_folder() {
    let world = World::new();
    let served = world.serve().await;
    talks(&world).await;
    assert!(served.search("barley").await.iter().any(|text| text.contains("Barley tea")));
}

#[tokio::test]
async fn a_second_client_and_other_commands_work_beside_the_first() {
    let world = World::new();
    let mut first = Piped::start(&world);
    first.hello().await;
    first.ask(&tea(2)).await;
    let mut second = Piped::start(&world);
    second.hello().await;
    let found = second.ask(&call(2, "search_all", &json!({ "query": "barley" }))).await;
    assert_eq!(found["result"]["structuredContent"]["passages"][0]["source"], "차.md");
    assert!(world.ok(&["search", "barley"]).contains("Barley tea"));
    second.end().await;
    first.end().await;
}

#[test]
fn installing_prints_an_entry_or_merges_it_into_what_is_there() {
    let world = World::new();
    for client in ["claude-desktop", "cursor", "vscode", "codex"] {
        let printed = world.ok(&["mcp", "install", "--client", client]);
        assert!(printed.contains("--stdio") && printed.contains("saem"), "{printed}");
    }
    let file = world.file("mcp.json", r#"{"mcpServers": {"other": {"command": "x"}}, "a": [1]}"#);
    let path = file.display().to_string();
    let install = ["mcp", "install", "--client", "cursor", "--write", "--file", &path];
    assert!(world.ok(&install).contains("has it now"));
    let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(written["a"], json!([1]));
    assert_eq!(written["mcpServers"]["other"], json!({ "command": "x" }));
    let arguments = written["mcpServers"]["saem"]["args"].to_string();
    assert!(arguments.contains(&world.data().display().to_string()), "{arguments}");
    assert!(world.ok(&install).contains("has it already"));
    std::fs::write(&file, "{ // mine\n}").unwrap();
    assert!(world.error(&install).contains("left alone"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ // mine\n}");
    assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no draft is left");
}
