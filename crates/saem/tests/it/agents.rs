//! Agents that are not ours, spoken to from the command line and as tools; and agents that mean harm.

mod circle;
mod hostile;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::peers::{agent, node_agent};
use crate::tenants::key;
use crate::world::{PATIENCE, World, events};

/// An agent that runs; it is killed when the value goes.
pub(crate) async fn start(mut command: Command) -> (Child, String) {
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap();
    (child, line.expect("it says where it listens"))
}

/// A world whose configuration has these settings.
fn world(settings: &str) -> (World, String) {
    let world = World::new();
    let file = world.file(
        "saem.toml",
        format!("[agents]\nconnect_seconds_max = 60\nlist_seconds_max = 60\n{settings}"),
    );
    (world, file.display().to_string())
}

#[track_caller]
fn json(world: &World, config: &str, arguments: &[&str]) -> Vec<Value> {
    world.json(&[&["a2a"], arguments, &["--config", config]].concat())
}

fn state(answer: &Value) -> &str {
    answer["task"]["status"]["state"].as_str().unwrap_or_default()
}

/// All that a task has made, as one text.
fn made(answer: &Value) -> String {
    let parts = answer["task"]["artifacts"].as_array().unwrap().iter();
    let parts = parts.flat_map(|made| made["parts"].as_array().unwrap());
    parts.map(|part| part["text"].as_str().unwrap()).collect()
}

/// Everything that can be done with an agent: its card, asking, following, answering its question, cancelling.
async fn speaks(command: Command, spoken: &str) {
    let (_agent, said) = start(command).await;
    let (url, origin) = said.split_once(' ').unwrap_or((&said, ""));
    let origins: Vec<&str> = origin.split_whitespace().collect();
    let (world, config) =
        world(&format!("[agents.painter]\nurl = \"{url}\"\norigins = {origins:?}\n"));
    // What is elsewhere than its card is believed only where the configuration says so.
    let url = if origin.is_empty() { url } else { "painter" };
    let card = json(&world, &config, &["card", "painter"]).remove(0);
    assert_eq!(
        (&card["spoken"], &card["signature"]),
        (&json!(spoken), &json!("not signed")),
        "{card}"
    );
    assert_eq!(card["card"]["skills"][0]["id"], "paint");

    let said = json(&world, &config, &["send", "painter", "샘", "--skill", "paint"]).remove(0);
    assert_eq!(state(&said), "TASK_STATE_COMPLETED", "{said}");
    let text = made(&said);
    assert!(text.starts_with("painted: 샘 "), "{text}");
    assert!(
        text.contains("\"skill\": \"paint\"") || text.contains("\"skill\":\"paint\""),
        "{text}"
    );

    let mut told = json(&world, &config, &["send", url, "강", "--stream"]);
    let last = told.pop().unwrap();
    assert_eq!(state(&last), "TASK_STATE_COMPLETED", "{last}");
    assert!(told.iter().any(|event| event.to_string().contains("mixing colours")), "{told:?}");
    assert!(told.iter().any(|event| event["artifactUpdate"]["append"] == true), "{told:?}");
    assert!(
        world
            .ok(&["a2a", "send", url, "강", "--stream", "--config", &config])
            .contains("painted: 강")
    );

    let asks = json(&world, &config, &["send", "painter", "ask me"]).remove(0);
    assert_eq!(state(&asks), "TASK_STATE_INPUT_REQUIRED", "{asks}");
    assert!(asks["task"]["status"].to_string().contains("Which colour?"), "{asks}");
    let done = asks["task"]["id"].as_str().unwrap();
    let answered = json(&world, &config, &["send", "painter", "--task", done, "blue"]).remove(0);
    assert_eq!(state(&answered), "TASK_STATE_COMPLETED", "{answered}");
    assert_eq!(answered["task"]["id"], done);
    let seen = json(&world, &config, &["tasks", "painter", done]).remove(0);
    assert_eq!(seen["status"]["state"], "TASK_STATE_COMPLETED", "{seen}");

    let failed = world.run(&["a2a", "send", url, "fail", "--config", &config]);
    assert!(!failed.status.success());
    assert!(String::from_utf8_lossy(&failed.stdout).contains("no more paint"), "{failed:?}");

    let begun = json(&world, &config, &["send", "painter", "for ever", "--no-wait"]).remove(0);
    let id = begun["task"]["id"].as_str().unwrap_or_else(|| panic!("{begun}"));
    let cancelled = json(&world, &config, &["cancel", "painter", id]).remove(0);
    assert_eq!(cancelled["status"]["state"], "TASK_STATE_CANCELED", "{cancelled}");
    let late = world.error(&["a2a", "cancel", url, done, "--config", &config]);
    assert!(late.contains("the agent says"), "{late}");
    let absent = world.error(&["a2a", "tasks", url, "nothing", "--config", &config]);
    assert!(absent.contains("the agent says"), "{absent}");
}

#[tokio::test]
async fn an_agent_of_the_python_sdk_is_spoken_to_over_grpc() {
    speaks(agent("a2a-1.3", "a2a_grpc_server.py", "GRPC"), "1.0 GRPC").await;
}

#[tokio::test]
async fn an_agent_over_grpc_is_a_stranger_where_only_its_card_says_that_it_is() {
    let (_agent, said) = start(agent("a2a-1.3", "a2a_grpc_server.py", "GRPC")).await;
    let (url, _) = said.split_once(' ').unwrap();
    let (world, config) = world(&format!("[agents.painter]\nurl = \"{url}\"\n"));
    let inside = world.error(&["a2a", "send", "painter", "샘", "--config", &config]);
    assert!(inside.contains("may not be opened"), "{inside}");
}

#[tokio::test]
async fn an_agent_of_the_python_sdk_is_spoken_to_over_json_rpc() {
    speaks(agent("a2a-agent", "a2a_server.py", "JSONRPC"), "1.0 JSONRPC").await;
}

#[tokio::test]
async fn an_agent_of_the_python_sdk_is_spoken_to_over_http_and_json() {
    speaks(agent("a2a-agent", "a2a_server.py", "HTTP+JSON"), "1.0 HTTP+JSON").await;
}

#[tokio::test]
async fn an_agent_of_0_3_is_spoken_to_over_json_rpc() {
    speaks(agent("a2a-agent-0.3", "a2a_old_server.py", "JSONRPC"), "0.3 JSONRPC").await;
}

#[tokio::test]
async fn an_agent_of_0_3_is_spoken_to_over_http_and_json() {
    speaks(agent("a2a-agent-0.3", "a2a_old_server.py", "HTTP+JSON"), "0.3 HTTP+JSON").await;
}

#[tokio::test]
async fn an_agent_of_the_javascript_sdk_is_spoken_to_over_json_rpc() {
    speaks(node_agent("JSONRPC"), "1.0 JSONRPC").await;
}

#[tokio::test]
async fn an_agent_of_the_javascript_sdk_is_spoken_to_over_http_and_json() {
    speaks(node_agent("HTTP+JSON"), "1.0 HTTP+JSON").await;
}

#[tokio::test]
async fn skills_are_tools_beside_those_of_servers() {
    let (_agent, url) = start(agent("a2a-agent", "a2a_server.py", "JSONRPC")).await;
    let (world, config) = world(&format!("[agents.painter]\nurl = \"{url}\"\n"));
    let configured = |arguments: &[&str]| world.json(&[arguments, &["--config", &config]].concat());
    let tools = configured(&["mcp", "tools"]);
    assert_eq!(tools[0]["name"], "painter__paint", "{tools:?}");
    let servers = configured(&["mcp", "list", "--check"]);
    assert_eq!(servers[0]["version"], "1.0 JSONRPC", "{servers:?}");
    let given = configured(&["mcp", "call", "painter__paint", "--arg", "message=호수", "--yes"]);
    let text = given[0]["text"].as_str().unwrap();
    assert!(text.contains("painted: 호수") && text.contains("saem-hops"), "{text}");
    let denied =
        world.error(&["mcp", "call", "painter__paint", "--arg", "message=x", "--config", &config]);
    assert!(denied.contains("painter__paint"), "{denied}");
    let activity = configured(&["activity"]);
    assert_eq!(activity.len(), 2, "{activity:?}");
    let listed = json(&world, &config, &["tasks", "painter"]).remove(0);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn an_agent_is_written_to_over_the_api_by_its_name_and_never_by_an_address() {
    let (_agent, url) = start(agent("a2a-agent", "a2a_server.py", "JSONRPC")).await;
    let world = World::new();
    let [reader, writer] = ["read", "read,write"].map(|scopes| key(&world, "local", scopes));
    let stranger = key(&world, "acme", "read,write");
    let served = world.serve_configured(&format!("[agents.painter]\nurl = \"{url}\"\n"), &[]).await;
    let send = async |who: &str, name: &str, message: &str| {
        let name = name.replace('/', "%2F");
        let path = served.url(&format!("/api/agents/{name}/send"));
        let request = served.client.post(path).bearer_auth(who);
        let answer = request.json(&json!({ "message": message })).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (status, told) = send(&writer, "painter", "샘").await;
    assert_eq!(status, 200, "{told}");
    let told = events(&told);
    let text: String = told
        .iter()
        .filter(|(name, _)| name == "text")
        .map(|(_, data)| data["text"].as_str().unwrap())
        .collect();
    assert!(text.starts_with("painted: 샘 "), "{told:?}");
    let (name, last) = told.last().unwrap();
    assert_eq!((name.as_str(), &last["state"]), ("done", &json!("completed")));
    assert_eq!(send(&reader, "painter", "샘").await.0, 403);
    assert_eq!(send(&stranger, "painter", "샘").await.0, 404, "the tenant may not use it");
    assert_eq!(send(&writer, &url, "샘").await.0, 404, "an address is no name");
    assert_eq!(send(&writer, "urn:air:nowhere.example:painter", "샘").await.0, 404);
    assert_eq!(send(&writer, "painter", " ").await.0, 400);
    let listed = served.client.get(served.url("/api/agents")).bearer_auth(&reader);
    let listed: Value = listed.send().await.unwrap().json().await.unwrap();
    assert_eq!(listed["agents"][0]["state"], "up", "{listed}");
    assert_eq!(listed["own_card"], "/.well-known/agent-card.json");
    let hidden = served.client.get(served.url("/api/agents")).bearer_auth(&stranger);
    let hidden: Value = hidden.send().await.unwrap().json().await.unwrap();
    assert_eq!(hidden["agents"], json!([]));
}

#[tokio::test]
async fn an_agent_of_the_catalogue_is_a_stranger_wherever_it_says_it_is() {
    let (_agent, url) = start(agent("a2a-agent", "a2a_server.py", "JSONRPC")).await;
    let world = World::new();
    let served = world.serve().await;
    let card: Value = served
        .client
        .get(format!("{url}/.well-known/agent-card.json"))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let (status, told) = served.post("/registry/agents", &json!({ "card": card })).await;
    assert_eq!(status, 201, "{told}");
    let path = format!("/api/agents/{}/send", told["identifier"].as_str().unwrap());
    let answer = served.client.post(served.url(&path)).json(&json!({ "message": "샘" }));
    let told = events(&answer.send().await.unwrap().text().await.unwrap());
    let (name, last) = told.last().unwrap();
    assert_eq!((name.as_str(), &last["code"]), ("failed", &json!("agent_down")), "{told:?}");
    assert!(last["detail"].as_str().unwrap().contains("may not be opened"), "{last}");
}

#[tokio::test]
async fn a_saem_asks_another() {
    let other = World::new();
    let served = other.serve().await;
    let (world, config) = world("");
    let url = served.url("");
    let card = json(&world, &config, &["card", &url]).remove(0);
    assert!(card["spoken"].as_str().unwrap().starts_with("1.0 "), "{card}");
    let said = json(&world, &config, &["send", &url, "예산 알림은 언제 오나요?", "--stream"])
        .pop()
        .unwrap();
    assert_eq!(state(&said), "TASK_STATE_COMPLETED", "{said}");
}

#[tokio::test]
async fn an_agent_is_shown_the_certificate_that_it_asks_for() {
    let other = World::new();
    let file = |name: &str| format!("{}/tests/fixtures/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    let served = other
        .serve_with(&[
            ("SAEM_SERVER_TLS_CERTIFICATE", &file("server.test.pem")),
            ("SAEM_SERVER_TLS_KEY", &file("server.test-key.pem")),
            ("SAEM_SERVER_TLS_CLIENT_CA", &file("ca.test.pem")),
        ])
        .await;
    let url = served.url("");
    let ca = file("ca.test.pem");
    let (own, key) = (file("client.test.pem"), file("client.test-key.pem"));
    let (world, config) = world(&format!(
        "[agents.known]\nurl = \"{url}\"\nca = \"{ca}\"\ncertificate = \"{own}\"\ncertificate_key = \"{key}\"\n"
    ));
    let said = json(&world, &config, &["send", "known", "hello"]).remove(0);
    assert_eq!(state(&said), "TASK_STATE_COMPLETED", "{said}");
    drop(world);
    let (world, config) =
        crate::agents::world(&format!("[agents.unknown]\nurl = \"{url}\"\nca = \"{ca}\"\n"));
    world.error(&["a2a", "send", "unknown", "hello", "--config", &config]);
}

#[tokio::test]
async fn an_agent_calls_back_with_what_happens() {
    let other = World::new();
    let served = crate::a2a::kit(&other).await;
    let (world, config) = world("");
    let url = served.url("");
    let mut told = json(&world, &config, &["send", &url, "tck-long-running", "--stream", "--push"]);
    let last = told.pop().unwrap();
    assert_eq!(state(&last), "TASK_STATE_COMPLETED", "{last}");
    // It was not done when the message was taken, so that its end came in by the webhook alone.
    assert_eq!(told.first().unwrap()["task"]["status"]["state"], "TASK_STATE_WORKING", "{told:?}");
    assert_eq!(told.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
}
