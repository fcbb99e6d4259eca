//! Clients of A2A that are not ours, four generations of them, as they are, get from the agent what they expect.

use std::process::Stdio;

use tokio::process::Command;

use crate::a2a::kit;
use crate::peers::{a2a_cli, node, package, script_of, script_path};
use crate::world::{PATIENCE, World, shown};

/// Has a client talk with the agent; what it says shows where it failed.
async fn check(environment: &str, script: &str, arguments: &[&str], checks_min: usize) {
    talk(script_of(environment, script), arguments, checks_min).await;
}

async fn talk(mut command: Command, arguments: &[&str], checks_min: usize) {
    let world = World::new();
    let served = kit(&world).await;
    command.arg(&served.address).args(arguments).stderr(Stdio::piped()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = output.expect("the client comes to an end").unwrap();
    let said = shown(&output);
    assert!(output.status.success(), "{said}");
    let holding = said.matches("\"holds\": true").count();
    let failing = said.matches("\"holds\": false").count();
    assert!(holding >= checks_min && failing == 0, "{holding} hold, {failing} do not: {said}");
}

#[tokio::test]
async fn the_python_sdk_of_1_0_gets_all_there_is_over_json_rpc() {
    check("a2a-1.3", "a2a_client_1_3.py", &["JSONRPC", "1.0"], 18).await;
}

#[tokio::test]
async fn the_python_sdk_of_1_0_gets_all_there_is_over_http_and_json() {
    check("a2a-1.3", "a2a_client_1_3.py", &["HTTP+JSON", "1.0"], 18).await;
}

#[tokio::test]
async fn the_python_sdk_of_1_0_gets_all_there_is_over_grpc() {
    check("a2a-1.3", "a2a_client_1_3.py", &["GRPC", "1.0"], 18).await;
}

#[tokio::test]
async fn the_python_sdk_of_1_0_gets_all_there_is_of_0_3_over_every_binding() {
    for binding in ["JSONRPC", "HTTP+JSON", "GRPC"] {
        check("a2a-1.3", "a2a_client_1_3.py", &[binding, "0.3"], 15).await;
    }
}

#[tokio::test]
async fn the_python_sdk_of_0_3_gets_all_there_is_over_json_rpc() {
    check("a2a-0.3", "a2a_client_0_3.py", &["JSONRPC"], 9).await;
}

#[tokio::test]
async fn the_python_sdk_of_0_3_gets_all_there_is_over_http_and_json() {
    check("a2a-0.3", "a2a_client_0_3.py", &["HTTP+JSON"], 9).await;
}

#[tokio::test]
async fn the_python_sdk_of_0_2_gets_all_there_is() {
    check("a2a-0.2", "a2a_client_0_2.py", &[], 9).await;
}

#[tokio::test]
async fn python_a2a_gets_its_answers() {
    check("python-a2a", "a2a_client_0_1.py", &[], 3).await;
}

#[tokio::test]
async fn the_javascript_sdk_gets_all_there_is_over_json_rpc_and_over_http_and_json() {
    for binding in ["JSONRPC", "HTTP+JSON"] {
        let mut command = Command::new(node());
        command.arg(script_path("a2a_client.mjs")).arg(package("")).env("NO_PROXY", "*");
        talk(command, &[binding], 10).await;
    }
}

#[tokio::test]
async fn the_official_client_in_rust_gets_all_there_is_over_json_rpc_and_over_http_and_json() {
    let world = World::new();
    let served = kit(&world).await;
    std::fs::create_dir_all(world.files()).unwrap();
    let run = async |transport: &str, arguments: &[&str]| {
        let mut command = a2a_cli();
        // It looks for settings in the folder where it is started, and at home.
        command.current_dir(world.files()).env("HOME", world.files());
        command.args(["-a", &served.address, "-o", "json", "--transport", transport]);
        let output = tokio::time::timeout(PATIENCE, command.args(arguments).output()).await;
        let output = output.expect("the client comes to an end").unwrap();
        (output.status.success(), shown(&output))
    };
    for transport in ["jsonrpc", "rest"] {
        let ok = async |arguments: &[&str]| {
            let (is_well, said) = run(transport, arguments).await;
            assert!(is_well, "{transport} {arguments:?}: {said}");
            said
        };
        // Not held to the schema: the card at the well-known address has the fields of 0.3 too.
        let card = ok(&["card", "get"]).await;
        assert!(card.contains("\"Saem\""), "{card}");
        let sent = ok(&["send", "tck-artifact-text"]).await;
        assert!(sent.contains("TASK_STATE_COMPLETED"), "{sent}");
        assert!(sent.contains("Generated text content"), "{sent}");
        let told = ok(&["send", "tck-stream-artifact-chunked", "--stream"]).await;
        assert!(told.contains("chunk-1 ") && told.contains("chunk-2"), "{told}");
        assert!(told.contains("TASK_STATE_COMPLETED"), "{told}");
        let asks = ok(&["send", "tck-input-required"]).await;
        assert!(asks.contains("TASK_STATE_INPUT_REQUIRED"), "{asks}");
        // A hint for people follows.
        let first =
            serde_json::Deserializer::from_str(&asks).into_iter::<serde_json::Value>().next();
        let asks = first.unwrap().expect(&asks);
        let task = if asks["task"].is_object() { &asks["task"] } else { &asks };
        let id = task["id"].as_str().expect("an id");
        assert!(ok(&["task", "get", id]).await.contains(id));
        assert!(ok(&["task", "list"]).await.contains(id));
        let hook = ok(&["task", "push-config", "create", id, "https://example.com/x"]).await;
        assert!(hook.contains("https://example.com/x"), "{hook}");
        assert!(ok(&["task", "push-config", "list", id]).await.contains("https://example.com/x"));
        let cancelled = ok(&["task", "cancel", id]).await;
        assert!(cancelled.contains("TASK_STATE_CANCELED"), "{cancelled}");
        let (is_well, absent) = run(transport, &["task", "get", "nothing"]).await;
        assert!(!is_well && absent.to_lowercase().contains("not found"), "{absent}");
    }
}
