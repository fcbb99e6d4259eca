//! The real process, with rmcp's own client on its standard input and output, in both eras of the protocol.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected should end there"
)]

use std::process::Stdio;
use std::time::Duration;

use rmcp::model::{
    ArgumentInfo, CallToolRequestParams, CallToolResult, CompleteRequestParams,
    GetPromptRequestParams, ProtocolVersion, ReadResourceRequestParams, Reference,
    ResourceContents, ResourceUpdatedNotificationParam, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RunningService};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

/// How long a test waits for anything: far more than it takes, so that only a hang ends here.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the server has told without being asked.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    ListChanged,
    Updated(String),
}

#[derive(Clone)]
struct Listener {
    told: mpsc::Sender<Told>,
}

impl ClientHandler for Listener {
    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.told.send(Told::ListChanged).await.unwrap();
    }

    async fn on_resource_updated(
        &self,
        updated: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.told.send(Told::Updated(updated.uri)).await.unwrap();
    }
}

struct World {
    home: tempfile::TempDir,
    child: Child,
    client: RunningService<RoleClient, Listener>,
    told: mpsc::Receiver<Told>,
}

impl World {
    async fn start(lifecycle: ClientLifecycleMode) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_snippet-server"))
            .arg("--dir")
            .arg(home.path().join("snippets"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let transport = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let (sender, told) = mpsc::channel(64);
        let client = Listener { told: sender }.serve_with_lifecycle(transport, lifecycle);
        let client = tokio::time::timeout(PATIENCE, client).await.unwrap().unwrap();
        Self { home, child, client, told }
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> CallToolResult {
        let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        tokio::time::timeout(PATIENCE, self.client.call_tool(request)).await.unwrap().unwrap()
    }

    async fn uris(&self) -> Vec<String> {
        let resources = self.client.list_all_resources().await.unwrap();
        resources.into_iter().map(|resource| resource.uri).collect()
    }

    /// The client goes, and so does the server.
    async fn end(mut self) {
        self.client.cancel().await.unwrap();
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        assert!(ended.expect("a server without a client ends").unwrap().success());
    }
}

fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

fn for_loop() -> Value {
    json!({
        "language": "rust", "name": "For loop", "prefix": "forr",
        "body": "for ${1:item} in $2 {\n\t$0\n}", "description": "반복문"
    })
}

const URI: &str = "snippet://rust/For%20loop";

/// Adds, finds, reads and completes, and asks for a prompt: the same in both eras.
async fn snippets_come_and_are_found(world: &World) {
    let tools = world.client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["add_snippet", "delete_snippet", "list_snippets"]);

    let added = world.call("add_snippet", for_loop()).await;
    let expected = json!({ "uri": URI, "file": "rust.json", "added": true });
    assert_eq!(added.structured_content, Some(expected));
    let file = world.home.path().join("snippets/rust.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let body = json!(["for ${1:item} in $2 {", "\t$0", "}"]);
    assert_eq!(
        file["For loop"],
        json!({ "prefix": "forr", "body": body, "description": "반복문" })
    );

    assert_eq!(
        world.call("list_snippets", json!({})).await.structured_content.unwrap()["snippets"][0]["uri"],
        URI
    );
    assert_eq!(world.uris().await, [URI]);
    let read = world.client.read_resource(ReadResourceRequestParams::new(URI)).await.unwrap();
    let ResourceContents::TextResourceContents { text, mime_type, .. } = &read.contents[0] else {
        unreachable!("a snippet is text");
    };
    assert_eq!(mime_type.as_deref(), Some("application/json"));
    let read: Value = serde_json::from_str(text).unwrap();
    assert_eq!(read["For loop"]["body"], body);

    let reference = Reference::for_resource("snippet://{language}/{name}");
    let request = CompleteRequestParams::new(reference, ArgumentInfo::new("name", "For"));
    let completed = world.client.complete(request).await.unwrap();
    assert_eq!(completed.completion.values, ["For loop"]);

    let Value::Object(arguments) = json!({ "language": "rust", "purpose": "a {taken} test" })
    else {
        unreachable!("arguments are an object")
    };
    let request = GetPromptRequestParams::new("write_snippet").with_arguments(arguments);
    let prompt = world.client.get_prompt(request).await.unwrap();
    let words = serde_json::to_string(&prompt.messages).unwrap();
    assert!(words.contains("`rust`: a {taken} test") && words.contains("`forr`"), "{words}");
}

/// What is wrong is told to the model, and changes nothing.
async fn mistakes_are_told(world: &World) {
    let mut other = for_loop();
    other["body"] = "loop".into();
    let before = std::fs::read(world.home.path().join("snippets/rust.json")).unwrap();
    for (tool, arguments, words) in [
        ("add_snippet", other, "already has another"),
        (
            "add_snippet",
            json!({ "language": "../x", "name": "a", "prefix": "a", "body": "a" }),
            "not the id of a language",
        ),
        ("add_snippet", json!({ "language": "rust" }), "missing field"),
        (
            "delete_snippet",
            json!({ "language": "rust", "name": "none" }),
            "no snippet of this name",
        ),
    ] {
        let result = world.call(tool, arguments).await;
        let said = serde_json::to_string(&result.content).unwrap();
        assert!(result.is_error == Some(true) && said.contains(words), "{said}");
    }
    assert_eq!(std::fs::read(world.home.path().join("snippets/rust.json")).unwrap(), before);
    let unknown = ReadResourceRequestParams::new("snippet://rust/none");
    assert!(world.client.read_resource(unknown).await.is_err());
    let same = world.call("add_snippet", for_loop()).await.structured_content.unwrap();
    assert_eq!(same["added"], false);
}

#[tokio::test]
async fn a_client_of_the_old_era_adds_finds_and_deletes_and_hears_of_changes() {
    let mut world = World::start(ClientLifecycleMode::Initialize).await;
    snippets_come_and_are_found(&world).await;
    assert_eq!(world.told.recv().await, Some(Told::ListChanged));
    mistakes_are_told(&world).await;
    #[expect(deprecated, reason = "clients of the old era subscribe this way")]
    world.client.subscribe(rmcp::model::SubscribeRequestParams::new(URI)).await.unwrap();
    world.call("delete_snippet", json!({ "language": "rust", "name": "For loop" })).await;
    assert_eq!(world.told.recv().await, Some(Told::ListChanged));
    assert_eq!(world.told.recv().await, Some(Told::Updated(URI.to_owned())));
    assert!(world.uris().await.is_empty());
    world.end().await;
}

#[tokio::test]
async fn a_client_of_the_new_era_hears_only_of_what_it_listens_to() {
    let mut world = World::start(modern()).await;
    snippets_come_and_are_found(&world).await;
    mistakes_are_told(&world).await;
    let filter = SubscriptionFilter::builder().resources_list_changed().resource_subscription(URI);
    let mut listening = world.client.listen(filter.build()).await.unwrap();
    world.call("delete_snippet", json!({ "language": "rust", "name": "For loop" })).await;
    let next = async |listening: &mut rmcp::service::Subscription| {
        tokio::time::timeout(PATIENCE, listening.next()).await.unwrap().unwrap().unwrap()
    };
    let told = next(&mut listening).await;
    assert!(matches!(told, ServerNotification::ResourceListChangedNotification(_)), "{told:?}");
    let told = next(&mut listening).await;
    assert!(
        matches!(&told, ServerNotification::ResourceUpdatedNotification(updated) if updated.params.uri == URI),
        "{told:?}"
    );
    assert!(world.told.try_recv().is_err(), "nothing was told to those who do not listen");
    // Not given up first: a client that goes while it listens is gone all the same.
    world.end().await;
    drop(listening);
}
