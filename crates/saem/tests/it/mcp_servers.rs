//! MCP servers that are not ours, and the example that is, behind Saem: their tools, resources and prompts under one roof.

mod talking;

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::peers::{node, package, python, script_path, snippet_server};
use crate::world::{PATIENCE, Served, World, shown};

const EVERYTHING: &str = "@modelcontextprotocol/server-everything/dist/index.js";
const FILESYSTEM: &str = "@modelcontextprotocol/server-filesystem/dist/index.js";

/// A world whose configuration, in the form that other programs use, has these servers.
fn world(servers: &Value) -> World {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    let file = json!({ "mcpServers": servers }).to_string();
    std::fs::write(world.data().join("mcp.json"), file).unwrap();
    world
}

/// Seconds for a server to start: many tests run at once, and one with Python or Node in it takes its time.
const CONNECT_SECONDS_MAX: u64 = 60;

fn everything() -> Value {
    json!({ "command": node(), "args": [package(EVERYTHING), "stdio"], "connect_seconds_max": CONNECT_SECONDS_MAX })
}

fn notes() -> Value {
    json!({ "command": python(), "args": [script_path("fastmcp_server.py"), "stdio"], "connect_seconds_max": CONNECT_SECONDS_MAX })
}

/// Calls a tool as somebody who has said yes to it.
#[track_caller]
fn call(world: &World, tool: &str, arguments: &Value) -> Value {
    let printed = world.json(&["mcp", "call", tool, &arguments.to_string(), "--yes"]);
    printed.into_iter().next().unwrap()
}

#[track_caller]
fn names(world: &World) -> Vec<String> {
    let tools = world.json(&["mcp", "tools"]);
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// A server over HTTP; it is killed when the value goes.
async fn http(mut command: Command) -> (Child, String) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = async {
        loop {
            let line = lines.next_line().await.unwrap().expect("it says where it listens");
            if line.starts_with("http") {
                return line;
            }
        }
    };
    let address = tokio::time::timeout(PATIENCE, address).await.unwrap();
    (child, address)
}

/// A server that may be asked as often as a test wants to know something.
async fn serve(world: &World) -> Served {
    serve_with(world, &[]).await
}

async fn serve_with(world: &World, environment: &[(&str, &str)]) -> Served {
    let quota = ("SAEM_SERVER_REQUESTS_PER_MINUTE_MAX", "600000");
    world.serve_with(&[environment, &[quota]].concat()).await
}

/// Asks for something over the API, and answers what is asked meanwhile: forms with these values, all else with a yes.
async fn answering(served: &Served, path: &str, body: &Value, values: &Value) -> Value {
    let answers = async {
        loop {
            let (status, approvals) = served.get("/api/approvals").await;
            assert_eq!(status, 200, "{approvals}");
            for open in approvals["open"].as_array().unwrap() {
                let is_form = open["question"].to_string().contains("\"schema\"");
                let values = if is_form { values.clone() } else { Value::Null };
                let answer = json!({ "answer": "once", "values": values });
                served.post(&format!("/api/approvals/{}", open["id"]), &answer).await;
            }
            tokio::task::yield_now().await;
        }
    };
    let both = async {
        tokio::select! {
            (status, output) = served.post(path, body) => {
                assert_eq!(status, 200, "{path}: {output}");
                output
            }
            () = answers => unreachable!("somebody always answers"),
        }
    };
    tokio::time::timeout(PATIENCE, both).await.expect("it comes to an end")
}

/// A resource of a server, as text.
async fn resource(served: &Served, server: &str, uri: &str) -> String {
    let path = format!("/api/tool-servers/{server}/read");
    let read = answering(served, &path, &json!({ "uri": uri }), &Value::Null).await;
    read["text"].as_str().unwrap().to_owned()
}

/// What a prompt of a server says.
async fn prompt(served: &Served, server: &str, name: &str, arguments: &Value) -> String {
    let path = format!("/api/tool-servers/{server}/prompt");
    let body = json!({ "name": name, "arguments": arguments });
    let said = answering(served, &path, &body, &Value::Null).await;
    said["messages"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn servers_of_others_are_listed_and_called_under_one_roof() {
    let files = World::new();
    let shared = files.file("shared/읽어줘.txt", "샘은 깊다.");
    let shared = shared.parent().unwrap().canonicalize().unwrap();
    let files = json!({ "command": node(), "args": [package(FILESYSTEM), shared] });
    let world = world(&json!({ "everything": everything(), "files": files, "notes": notes() }));
    let servers = world.json(&["mcp", "list", "--check"]);
    assert_eq!(servers.len(), 3, "{servers:?}");
    for server in &servers {
        let expected = if server["id"] == "notes" { "2026-07-28" } else { "2025-11-25" };
        assert_eq!(server["version"], expected, "each in its own era: {server}");
        assert!(server["tools"].as_u64().unwrap() >= 3, "{server}");
    }
    let names = names(&world);
    for name in ["everything__echo", "files__read_text_file", "notes__add"] {
        assert!(names.contains(&name.to_owned()), "{name} in {names:?}");
    }
    let said = call(&world, "everything__echo", &json!({ "message": "안녕" }));
    assert!(said["text"].as_str().unwrap().contains("안녕"), "{said}");
    let path = shared.join("읽어줘.txt");
    let read = call(&world, "files__read_text_file", &json!({ "path": path }));
    assert!(read["text"].as_str().unwrap().contains("샘은 깊다."), "{read}");
    let sum = call(&world, "notes__add", &json!({ "a": 20, "b": 22 }));
    assert!(sum["text"].as_str().unwrap().contains("42"), "{sum}");
    let outside =
        world.run(&["mcp", "call", "files__read_text_file", "--arg", "path=/etc/passwd", "--yes"]);
    assert!(!outside.status.success() && !shown(&outside).contains("root:"), "{}", shown(&outside));
}

#[test]
fn a_call_that_takes_its_time_or_fails_is_told_as_it_is() {
    let world = world(&json!({ "everything": everything(), "notes": notes() }));
    let counted = call(&world, "notes__count", &json!({ "to": 5 }));
    assert!(counted["text"].as_str().unwrap().contains("counted to 5"), "{counted}");
    let long = json!({ "duration": 1, "steps": 4 });
    let done = call(&world, "everything__trigger-long-running-operation", &long);
    assert!(done["text"].as_str().unwrap().contains("completed"), "{done}");
    let failed = world.run(&["mcp", "call", "notes__fail", "--arg", "why=no water", "--yes"]);
    assert!(!failed.status.success() && shown(&failed).contains("no water"), "{}", shown(&failed));
}

#[test]
fn nothing_that_changes_something_runs_without_a_yes() {
    let folder = World::new();
    let snippets = folder.files().join("snippets");
    let server = json!({ "command": snippet_server(), "args": ["--dir", snippets] });
    let world = world(&json!({ "snippets": server }));
    let snippet =
        json!({ "language": "rust", "name": "a", "prefix": "a", "body": "x" }).to_string();
    let asked = world.run(&["mcp", "call", "snippets__add_snippet", &snippet]);
    assert!(!asked.status.success(), "{}", shown(&asked));
    assert!(!snippets.exists(), "nobody has said yes");
}

#[tokio::test]
async fn the_snippet_server_is_used_with_its_resources_and_its_prompt() {
    let folder = World::new();
    let snippets = folder.files().join("snippets");
    let server = json!({ "command": snippet_server(), "args": ["--dir", snippets] });
    let world = world(&json!({ "snippets": server }));
    let served = serve(&world).await;
    let servers = world.json(&["mcp", "list", "--check"]);
    assert_eq!(servers[0]["version"], "2026-07-28", "{servers:?}");
    world.ok(&["mcp", "accept", "snippets"]);
    let snippet = json!({
        "language": "rust", "name": "For loop", "prefix": "forr", "body": "for $1 in $2 {\n\t$0\n}"
    });
    call(&world, "snippets__add_snippet", &snippet);
    let file = std::fs::read_to_string(snippets.join("rust.json")).unwrap();
    assert!(file.contains("\"forr\""), "{file}");
    let listed = call(&world, "snippets__list_snippets", &json!({}));
    assert!(listed["text"].as_str().unwrap().contains("For loop"), "{listed}");
    let uri = "snippet://rust/For%20loop";
    let offers = served.get("/api/tool-servers/snippets/offers").await.1;
    assert_eq!(offers["resources"][0]["uri"], uri, "{offers}");
    let text = resource(&served, "snippets", uri).await;
    assert!(text.contains("for $1 in $2 {"), "{text}");
    let arguments = json!({ "language": "rust", "purpose": "a test" });
    let text = prompt(&served, "snippets", "write_snippet", &arguments).await;
    assert!(text.contains("`rust`: a test") && text.contains("`forr`"), "{text}");
    let other = json!({ "language": "rust", "name": "For loop", "prefix": "x", "body": "x" });
    let taken = ["mcp", "call", "snippets__add_snippet", &other.to_string(), "--yes"];
    let taken = world.error(&taken);
    assert!(taken.contains("already has another"), "{taken}");
    call(&world, "snippets__delete_snippet", &json!({ "language": "rust", "name": "For loop" }));
    let offers = served.get("/api/tool-servers/snippets/offers").await.1;
    assert_eq!(offers["resources"], json!([]), "what is gone is not offered: {offers}");
}

#[tokio::test]
async fn servers_over_http_are_reached_in_their_own_era() {
    let mut notes = Command::new(python());
    notes.arg(script_path("fastmcp_server.py")).arg("http").env("NO_PROXY", "*");
    let (_notes, url) = http(notes).await;
    let world = world(&json!({ "notes": { "url": url } }));
    let servers = world.json(&["mcp", "list", "--check"]);
    assert_eq!(servers[0]["version"], "2026-07-28", "{servers:?}");
    let sum = call(&world, "notes__add", &json!({ "a": 1, "b": 2 }));
    assert!(sum["text"].as_str().unwrap().contains('3'), "{sum}");
    let served = serve(&world).await;
    let text = resource(&served, "notes", "note://first").await;
    assert!(text.contains("샘물은 맑다."), "{text}");
    let text = prompt(&served, "notes", "poem", &json!({ "about": "rain" })).await;
    assert!(text.contains("Write a poem about rain."), "{text}");
}

/// A server over pipes that tells what is new, and asks.
fn garden(era: &[&str]) -> Value {
    let script = script_path("typescript_server.mjs");
    let arguments = [script.to_str().unwrap(), package("").to_str().unwrap()].map(str::to_owned);
    let arguments = arguments.into_iter().chain(era.iter().map(|word| (*word).to_owned()));
    let arguments: Vec<String> = arguments.collect();
    json!({ "command": node(), "args": arguments, "connect_seconds_max": CONNECT_SECONDS_MAX })
}

async fn check_growing(garden: &Value, version: &str) {
    let world = world(&json!({ "garden": garden }));
    let _served = serve(&world).await;
    let servers = world.json(&["mcp", "list", "--check"]);
    assert_eq!(servers[0]["version"], version, "{servers:?}");
    let grown = "garden__grown".to_owned();
    assert!(!names(&world).contains(&grown));
    world.ok(&["mcp", "accept", "garden"]);
    call(&world, "garden__grow", &json!({}));
    let waiting = async {
        while !names(&world).contains(&grown) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("what a server tells is heard");
    let off = world.error(&["mcp", "call", "garden__grown", "--yes"]);
    assert!(off.contains("accept"), "{off}");
    world.ok(&["mcp", "accept", "garden__grown"]);
    let grown = call(&world, "garden__grown", &json!({}));
    assert!(grown["text"].as_str().unwrap().contains("grown up"), "{grown}");
}

#[tokio::test]
async fn a_tool_that_comes_later_is_heard_of_and_off_until_it_is_accepted() {
    check_growing(&garden(&[]), "2026-07-28").await;
}

#[tokio::test]
async fn a_tool_that_comes_later_is_heard_of_in_the_old_era_too() {
    check_growing(&garden(&["old"]), "2025-11-25").await;
}

#[tokio::test]
async fn what_a_server_asks_the_user_is_answered_over_the_api() {
    let world = world(&json!({ "everything": everything() }));
    let served = serve(&world).await;
    world.ok(&["mcp", "accept", "everything"]);
    let path = "/api/tools/everything__trigger-elicitation-request/call";
    let values = json!({ "name": "김샘", "check": true });
    let output = answering(&served, path, &json!({ "arguments": {} }), &values).await;
    assert!(output["text"].as_str().unwrap().contains("김샘"), "{output}");
}

#[tokio::test]
async fn a_server_that_does_not_start_hurts_no_other() {
    let broken = json!({ "command": "no-program-is-called-this" });
    let world = world(&json!({ "broken": broken, "notes": notes() }));
    let output = world.run(&["mcp", "list", "--check", "--json"]);
    assert!(shown(&output).contains("\"down\""), "{}", shown(&output));
    let sum = call(&world, "notes__add", &json!({ "a": 1, "b": 2 }));
    assert!(sum["text"].as_str().unwrap().contains('3'), "{sum}");
}
