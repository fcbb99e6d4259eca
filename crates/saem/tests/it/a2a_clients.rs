//! Clients of A2A that are not ours, four generations of them, as they are, get from the agent what they expect.

use std::process::Stdio;

use tokio::process::Command;

use crate::a2a::kit;
use crate::peers::{node, package, script_of, script_path};
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
