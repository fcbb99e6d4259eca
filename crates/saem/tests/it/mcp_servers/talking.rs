//! What goes back and forth while a server works: its questions, its progress, its news, and calls that are taken back.

use std::path::Path;
use std::time::Duration;

use testkit::model_server::{Answer, ModelServer};

use super::*;
use crate::chat::{borrowed, model_settings};

const EVERYTHING_OVER_HTTP: &str = "everything_over_http.mjs";

/// What our own model says to servers that ask it.
const SAID: &str = "Tomatoes, of course.";

async fn everything_over_http() -> (Child, Value) {
    let mut command = Command::new(node());
    command.arg(script_path(EVERYTHING_OVER_HTTP)).arg("streamableHttp").arg(package(EVERYTHING));
    let (child, url) = http(command).await;
    (child, json!({ "url": url }))
}

async fn notes_over_http() -> (Child, Value) {
    let mut command = Command::new(python());
    command.arg(script_path("fastmcp_server.py")).arg("http").env("NO_PROXY", "*");
    let (child, url) = http(command).await;
    (child, json!({ "url": url }))
}

async fn garden_over_http() -> (Child, Value) {
    let mut command = Command::new(node());
    command.arg(script_path("typescript_server.mjs")).arg(package("")).arg("http");
    let (child, url) = http(command).await;
    (child, json!({ "url": url }))
}

/// A running Saem that lends its model to these servers.
async fn lending(servers: &Value) -> (World, Served, ModelServer) {
    let model = ModelServer::answering(Duration::ZERO, |_| Answer::text(SAID).using(40, 10)).await;
    let mut settings = model_settings(&model.base_url);
    settings.push(("SAEM_MCP_SAMPLING_TOKENS_MAX", "5000".to_owned()));
    let world = world(servers);
    let served = serve_with(&world, &borrowed(&settings)).await;
    (world, served, model)
}

/// Calls a tool over the API and says yes to whatever is asked; gives what it said.
async fn say(served: &Served, tool: &str, arguments: &Value) -> String {
    let path = format!("/api/tools/{tool}/call");
    let values = json!({ "name": "김샘" });
    let output = answering(served, &path, &json!({ "arguments": arguments }), &values).await;
    output["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn our_model_answers_the_reference_server_after_a_yes_over_pipes_and_over_http() {
    let (_child, remote) = everything_over_http().await;
    let (_world, served, model) =
        lending(&json!({ "everything": everything(), "remote": remote })).await;
    for server in ["everything", "remote"] {
        let tool = format!("{server}__trigger-sampling-request");
        let text = say(&served, &tool, &json!({ "prompt": "Which plant?" })).await;
        assert!(text.contains(SAID), "{server}: {text}");
    }
    let asked = model.requests();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked.iter().all(|request| request.to_string().contains("Which plant?")), "{asked:?}");
    // Forty tokens in and ten out, twice.
    let (_, cost) = served.get("/api/cost").await;
    let spent = &cost["spent"]["tools"];
    assert_eq!((&spent["tokens_in"], &spent["tokens_out"]), (&json!(80), &json!(20)), "{cost}");
}

#[tokio::test]
async fn our_model_and_our_user_answer_servers_of_both_sdks_in_both_eras() {
    let (_notes, notes_remote) = notes_over_http().await;
    let (_garden, garden_remote) = garden_over_http().await;
    let (_world, served, _model) = lending(&json!({
        "notes": notes_remote,
        "garden": garden(&[]), "garden_old": garden(&["old"]), "garden_remote": garden_remote,
    }))
    .await;
    let text = say(&served, "notes__sign", &json!({})).await;
    assert_eq!(text, format!("{SAID} 김샘"));
    for server in ["garden", "garden_old", "garden_remote"] {
        let text = say(&served, &format!("{server}__plan"), &json!({})).await;
        assert_eq!(text, format!("planned: {SAID}"), "{server}");
        let text = say(&served, &format!("{server}__name"), &json!({})).await;
        assert_eq!(text, "named 김샘", "{server}");
    }
}

#[tokio::test]
async fn what_the_reference_server_asks_over_http_is_answered_over_the_api() {
    let (_child, remote) = everything_over_http().await;
    let world = world(&json!({ "everything": remote }));
    let served = serve(&world).await;
    let path = "/api/tools/everything__trigger-elicitation-request/call";
    let values = json!({ "name": "김샘", "check": true });
    let output = answering(&served, path, &json!({ "arguments": {} }), &values).await;
    assert!(output["text"].as_str().unwrap().contains("김샘"), "{output}");
}

/// Waits until a server has written this into a file.
async fn wait_for(path: &Path, text: &str) {
    while std::fs::read_to_string(path).unwrap_or_default() != text {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_call_that_its_caller_leaves_is_taken_back_at_the_server() {
    let (_notes, notes_remote) = notes_over_http().await;
    let (_garden, garden_remote) = garden_over_http().await;
    let world = world(&json!({
        "notes": notes(), "notes_remote": notes_remote,
        "garden": garden(&[]), "garden_old": garden(&["old"]), "garden_remote": garden_remote,
    }));
    let served = serve(&world).await;
    for server in ["notes", "notes_remote", "garden", "garden_old", "garden_remote"] {
        let file = world.file(&format!("{server}.txt"), "");
        let tool = format!("{server}__wait");
        let arguments = json!({ "file": file });
        let left = async {
            tokio::select! {
                said = say(&served, &tool, &arguments) => panic!("{server}: {said}"),
                () = wait_for(&file, "waiting") => {}
            }
            wait_for(&file, "taken back").await;
        };
        let left = tokio::time::timeout(PATIENCE, left).await;
        left.unwrap_or_else(|_| panic!("{server} was not told"));
        noted_as_taken_back(&served, &tool).await;
    }
}

/// Waits until the log of calls has one of this tool.
async fn noted_as_taken_back(served: &Served, tool: &str) {
    let noted = async {
        loop {
            let (_, activity) = served.get(&format!("/api/activity?tool={tool}")).await;
            if let Some(line) = activity["activity"].as_array().unwrap().first() {
                assert_eq!(line["outcome"], "cancelled", "{line}");
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, noted).await.expect("it is noted");
}

#[tokio::test]
async fn a_call_to_the_reference_server_that_its_caller_leaves_is_noted_as_taken_back() {
    let (_child, remote) = everything_over_http().await;
    let world = world(&json!({ "everything": everything(), "remote": remote }));
    let served = serve(&world).await;
    for server in ["everything", "remote"] {
        let tool = format!("{server}__trigger-long-running-operation");
        let path = format!("/api/tools/{tool}/call");
        let body = json!({ "arguments": { "duration": 600, "steps": 1 } });
        let allowed = async {
            // Nothing is asked any more once it is allowed: then it runs.
            let mut was_asked = false;
            loop {
                let (_, approvals) = served.get("/api/approvals").await;
                match approvals["open"].as_array().unwrap().first() {
                    Some(open) => {
                        let answer = json!({ "answer": "once" });
                        served.post(&format!("/api/approvals/{}", open["id"]), &answer).await;
                        was_asked = true;
                    }
                    None if was_asked => return,
                    None => tokio::task::yield_now().await,
                }
            }
        };
        tokio::select! {
            (status, body) = served.post(&path, &body) => panic!("{status} {body}"),
            () = allowed => {}
        }
        noted_as_taken_back(&served, &tool).await;
        // The server is as good as before.
        let said = say(&served, &format!("{server}__echo"), &json!({ "message": "still" })).await;
        assert!(said.contains("still"), "{said}");
    }
}

/// Asks for a resource until it is in another state than the one that was seen.
async fn follow(served: &Served, server: &str, uri: &str, seen: Option<u64>) -> (u64, String) {
    let path = format!("/api/tool-servers/{server}/follow");
    let following = async {
        loop {
            let body = json!({ "uri": uri, "seen": seen });
            let (status, followed) = served.post(&path, &body).await;
            assert_eq!(status, 200, "{server}: {followed}");
            if let Some(text) = followed["resource"]["text"].as_str() {
                return (followed["state"].as_u64().unwrap(), text.to_owned());
            }
        }
    };
    let news = tokio::time::timeout(PATIENCE, following).await;
    news.unwrap_or_else(|_| panic!("{server} tells nothing"))
}

#[tokio::test]
async fn a_resource_that_is_followed_is_read_again_when_its_server_says_that_it_has_changed() {
    let (_child, remote) = garden_over_http().await;
    let world = world(&json!({
        "garden": garden(&[]), "garden_old": garden(&["old"]), "garden_remote": remote,
    }));
    let served = serve(&world).await;
    for server in ["garden", "garden_old", "garden_remote"] {
        let (first, text) = follow(&served, server, "garden://plant", None).await;
        assert_eq!(text, "1 cm", "{server}");
        say(&served, &format!("{server}__water"), &json!({})).await;
        let (second, text) = follow(&served, server, "garden://plant", Some(first)).await;
        assert_eq!(text, "2 cm", "{server}");
        assert_ne!(first, second);
    }
}

#[tokio::test]
async fn a_resource_of_the_reference_server_is_followed_over_pipes_and_over_http() {
    let (_child, remote) = everything_over_http().await;
    let world = world(&json!({ "everything": everything(), "remote": remote }));
    let served = serve(&world).await;
    let uri = "demo://resource/dynamic/text/1";
    for server in ["everything", "remote"] {
        let (seen, text) = follow(&served, server, uri, None).await;
        assert!(text.contains("Resource 1"), "{text}");
        say(&served, &format!("{server}__toggle-subscriber-updates"), &json!({})).await;
        let (now, _) = follow(&served, server, uri, Some(seen)).await;
        assert_ne!(now, seen, "{server}");
    }
    let refused = served.post("/api/tool-servers/none/follow", &json!({ "uri": uri })).await;
    assert_eq!(refused.0, 404, "{refused:?}");
}

#[tokio::test]
async fn a_server_that_tells_of_no_changes_says_so_when_it_is_followed() {
    let world = world(&json!({ "notes": notes() }));
    let error = world.error(&["mcp", "read", "notes", "note://first", "--follow"]);
    assert!(error.contains("does not tell when its resources change"), "{error}");
}

#[tokio::test]
async fn progress_over_http_keeps_a_call_alive_beyond_its_patience() {
    let (_child, mut remote) = everything_over_http().await;
    // Longer than between two steps, and shorter than all of them together.
    remote["call_seconds_max"] = json!(3);
    let world = world(&json!({ "everything": remote }));
    let tool = "everything__trigger-long-running-operation";
    let done = call(&world, tool, &json!({ "duration": 5, "steps": 20 }));
    assert!(done["text"].as_str().unwrap().contains("completed"), "{done}");
}

#[tokio::test]
async fn a_tool_that_comes_later_is_heard_of_over_http_too() {
    let (_child, remote) = garden_over_http().await;
    check_growing(&remote, "2026-07-28").await;
}
