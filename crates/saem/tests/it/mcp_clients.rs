//! MCP clients that are not ours, as they are, get from Saem what they expect: over HTTP and over pipes, in both eras.

use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::process::Command;

use crate::chat::small;
use crate::peers::{node, package, script};
use crate::world::{PATIENCE, World, shown};

/// Checks that the script makes of a whole talk.
const CHECKS_MIN: usize = 20;

/// Has a library talk with a server; what it says shows where it failed.
async fn check(library: &str, era: &str, target: &[&str]) {
    let mut command = script("mcp_client.py");
    command.args([library, era]).args(target).stdin(Stdio::null());
    let output = ended(command).await;
    let said = shown(&output);
    assert!(output.status.success(), "{said}");
    let holding = said.matches("\"holds\": true").count();
    assert!(holding >= CHECKS_MIN && !said.contains("Traceback"), "{holding}: {said}");
}

async fn ended(mut command: Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    output.expect("the client comes to an end").unwrap()
}

/// The command that clients start for a talk over pipes.
fn pipes(world: &World) -> Vec<String> {
    let data = world.data();
    let words = ["env", "SAEM_MODELS_DISCOVER=false", env!("CARGO_BIN_EXE_saem")];
    let words =
        words.into_iter().chain(["mcp", "serve", "--stdio", "--data", data.to_str().unwrap()]);
    words.map(str::to_owned).collect()
}

async fn check_http(library: &str, era: &str) {
    let world = small();
    let served = world.serve().await;
    check(library, era, &[&served.url("/mcp")]).await;
}

async fn check_pipes(library: &str, era: &str) {
    let world = small();
    let command = pipes(&world);
    check(library, era, &command.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn the_python_sdk_of_the_old_era_gets_all_there_is_over_http() {
    check_http("sdk", "old").await;
}

#[tokio::test]
async fn the_python_sdk_of_the_new_era_gets_all_there_is_over_http() {
    check_http("sdk", "new").await;
}

#[tokio::test]
async fn the_python_sdk_of_the_old_era_gets_all_there_is_over_pipes() {
    check_pipes("sdk", "old").await;
}

#[tokio::test]
async fn the_python_sdk_of_the_new_era_gets_all_there_is_over_pipes() {
    check_pipes("sdk", "new").await;
}

#[tokio::test]
async fn fastmcp_of_both_eras_gets_all_there_is_over_http() {
    check_http("fastmcp", "old").await;
    check_http("fastmcp", "new").await;
}

#[tokio::test]
async fn fastmcp_of_both_eras_gets_all_there_is_over_pipes() {
    check_pipes("fastmcp", "old").await;
    check_pipes("fastmcp", "new").await;
}

#[tokio::test]
async fn pipes_beside_a_running_server_reach_the_same_documents() {
    let world = small();
    let _served = world.serve().await;
    let command = pipes(&world);
    check("sdk", "new", &command.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

/// Has the Inspector call one method; gives what it printed.
async fn inspected(world: &World, target: &[String], era: &str, arguments: &[&str]) -> Value {
    let mut command = Command::new(node());
    command.arg(package("@modelcontextprotocol/inspector/clients/launcher/build/index.js"));
    command.arg("--cli").args(["--protocol-era", era, "--format", "json"]).args(arguments);
    // It keeps a catalogue at home.
    command.env("HOME", world.files()).env("NO_PROXY", "*").stdin(Stdio::null());
    command.arg("--").args(target);
    let output = ended(command).await;
    let said = shown(&output);
    assert!(output.status.success(), "{era} {arguments:?}: {said}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect(&said);
    answer["result"].clone()
}

async fn check_inspector(world: &World, target: &[String]) {
    for era in ["legacy", "modern"] {
        let tools = inspected(world, target, era, &["--method", "tools/list", "--strict"]).await;
        assert_eq!(tools["tools"].as_array().unwrap().len(), 9, "{tools}");
        let call = ["--method", "tools/call", "--tool-name", "ask"];
        let asked = ["--tool-arg", "question=When is a budget alert sent?"];
        let answer = inspected(world, target, era, &[&call[..], &asked].concat()).await;
        let answer = answer["structuredContent"]["answer"].as_str().unwrap();
        assert!(answer.contains("threshold is crossed"), "{answer}");
        let resources = inspected(world, target, era, &["--method", "resources/list"]).await;
        let uri = resources["resources"][0]["uri"].as_str().unwrap();
        let read =
            inspected(world, target, era, &["--method", "resources/read", "--uri", uri]).await;
        assert!(read["contents"][0]["text"].as_str().unwrap().contains("threshold"), "{read}");
        let prompts = inspected(world, target, era, &["--method", "prompts/list"]).await;
        assert_eq!(prompts["prompts"].as_array().unwrap().len(), 2, "{prompts}");
    }
}

#[tokio::test]
async fn the_inspector_of_both_eras_gets_all_there_is_over_http() {
    let world = small();
    let served = world.serve().await;
    check_inspector(&world, &[served.url("/mcp")]).await;
}

#[tokio::test]
async fn the_inspector_of_both_eras_gets_all_there_is_over_pipes() {
    let world = small();
    check_inspector(&world, &pipes(&world)).await;
}
