//! Research at a server: runs are watched, steered and survive the server; streams that are cut lose and repeat nothing.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use testkit::model_server::ModelServer;

use crate::research::{QUESTION, library, played};
use crate::socket::Socket;
use crate::tenants::key;
use crate::world::{PATIENCE, Served, answer, events};

/// Watchers of one run whose memory is measured.
const WATCHERS: usize = 200;

/// What each may cost; a third of it is usual in a build for tests.
const WATCHER_BYTES_MAX: u64 = 15_000;

/// Begins a run and gives its id.
pub(crate) async fn begin(served: &Served, approval: &str) -> String {
    let body = json!({ "question": QUESTION, "approval": approval });
    let (status, run) = served.post("/api/research", &body).await;
    assert_eq!(status, 201, "{run}");
    run["id"].as_str().unwrap().to_owned()
}

/// A stream of a run, read event by event.
pub(crate) struct Stream {
    response: reqwest::Response,
    text: String,
}

impl Stream {
    pub(crate) async fn open(served: &Served, id: &str, after: u64) -> Self {
        let path = format!("/api/research/{id}/events");
        let request = served.client.get(served.url(&path));
        let request = request.header("last-event-id", after.to_string());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self { response, text: String::new() }
    }

    /// The next event by its name; none when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                if let Some(found) = events(&event).pop() {
                    return Some(found);
                }
                continue;
            }
            let piece = tokio::time::timeout(PATIENCE, self.response.chunk()).await.unwrap();
            self.text.push_str(std::str::from_utf8(&piece.ok()??).unwrap());
        }
    }
}

/// Reads a run to its end, over streams that are cut after each message.
pub(crate) async fn read_in_pieces(served: &Served, id: &str, mut after: u64) -> Vec<Value> {
    let mut messages = Vec::new();
    loop {
        let mut stream = Stream::open(served, id, after).await;
        match stream.next().await {
            Some((name, message)) if name == "agent_message" => {
                after = message["seq"].as_u64().unwrap();
                messages.push(message);
            }
            Some((name, end)) => {
                assert_eq!(name, "end", "{end}");
                return messages;
            }
            None => {}
        }
    }
}

pub(crate) async fn said(served: &Served, id: &str) -> Vec<Value> {
    let (status, body) = served.get(&format!("/api/research/{id}/messages")).await;
    assert_eq!(status, 200, "{body}");
    body["messages"].as_array().unwrap().clone()
}

pub(crate) async fn control(served: &Served, id: &str, control: &str) -> (u16, Value) {
    served.post(&format!("/api/research/{id}/control"), &json!({ "control": control })).await
}

pub(crate) async fn decide(served: &Served, id: &str, body: &Value) -> (u16, Value) {
    served.post(&format!("/api/research/{id}/plan"), body).await
}

pub(crate) async fn slow_model(pause: Duration) -> ModelServer {
    ModelServer::answering(pause, played).await
}

fn with_model(model: &ModelServer) -> [(&str, &str); 2] {
    [("SAEM_MODELS_BASE_URL", model.base_url.as_str()), ("SAEM_MODELS_MODEL", "gpt-5-nano")]
}

pub(crate) fn is_gapless(messages: &[Value]) -> bool {
    messages.iter().zip(1..).all(|(message, seq)| message["seq"] == json!(seq))
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_are_cut_at_every_message_lose_and_repeat_nothing() {
    let (world, model) = (library(), slow_model(Duration::from_millis(20)).await);
    let served = world.serve_with(&with_model(&model)).await;
    let id = begin(&served, "given").await;
    let live = read_in_pieces(&served, &id, 0).await;
    assert!(live.len() > 10 && is_gapless(&live), "{live:#?}");
    assert_eq!(live, said(&served, &id).await);
    for after in 0..=live.len() {
        let rest = read_in_pieces(&served, &id, after as u64).await;
        assert_eq!(rest, live[after..]);
    }
    let path = format!("/api/research/{id}/events?after=0&case=camel");
    let camel = served.client.get(served.url(&path)).send().await.unwrap().text().await.unwrap();
    assert_eq!(events(&camel)[0].1["queryId"], json!(id));
}

#[tokio::test(flavor = "multi_thread")]
async fn sockets_that_are_cut_at_every_message_lose_and_repeat_nothing() {
    let (world, model) = (library(), slow_model(Duration::from_millis(20)).await);
    let served = world.serve_with(&with_model(&model)).await;
    let id = begin(&served, "asked").await;
    let mut live: Vec<Value> = Vec::new();
    loop {
        let path = format!("/api/research/{id}/socket?after={}", live.len());
        let mut socket = Socket::open(&served, &path).await;
        let Some(frame) = socket.next().await else { continue };
        if frame["type"] == "end" {
            assert_eq!(socket.next().await, None, "and then it is closed");
            break;
        }
        assert_eq!(frame["type"], "agent_message", "{frame}");
        live.push(frame["data"].clone());
        if live.last().unwrap()["content"]["request"].is_object() {
            socket.send(&json!({ "type": "control", "data": { "control": "resume" } })).await;
            let refused = socket.next().await.unwrap();
            assert_eq!(
                (&refused["type"], &refused["data"]["status"]),
                (&json!("refused"), &json!(409))
            );
            socket.send(&json!({ "type": "plan", "data": { "decision": "approve" } })).await;
            // What is said and what is answered come in either order.
            loop {
                let frame = socket.next().await.unwrap();
                match frame["type"].as_str().unwrap() {
                    "agent_message" => live.push(frame["data"].clone()),
                    "run" => break,
                    other => panic!("{other}"),
                }
            }
        }
    }
    assert!(live.len() > 10 && is_gapless(&live), "{live:#?}");
    assert_eq!(live, said(&served, &id).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_at_hand_is_told_as_a_gap() {
    let world = library();
    let served = world.serve().await;
    let id = begin(&served, "asked").await;
    let mut stream = Stream::open(&served, &id, 9_999).await;
    let (name, gap) = stream.next().await.unwrap();
    assert_eq!((name.as_str(), &gap["requested_event_id"]), ("gap", &json!(9_999)));
    assert_eq!((&gap["run_id"], &gap["earliest_available_event_id"]), (&json!(id), &json!(1)));
    assert_eq!(stream.next().await, None);
    let path = format!("/api/research/{id}/events");
    let plain = served.client.get(served.url(&path)).header("last-event-id", "x").send().await;
    assert_eq!(answer(plain.unwrap()).await.0, 400);
    assert_eq!(served.get(&format!("/api/research/{id}/socket")).await.0, 426);
    let foreign = served.client.get(served.url(&format!("/api/research/{id}/socket")));
    let foreign = foreign.header("origin", "https://evil.example").send().await.unwrap();
    assert_eq!(foreign.status(), 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_takes_effect_while_a_model_is_being_waited_for() {
    let (world, model) = (library(), slow_model(Duration::from_secs(3_600)).await);
    let served = world.serve_with(&with_model(&model)).await;
    let id = begin(&served, "given").await;
    while model.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    let asked_at = Instant::now();
    let (status, run) = control(&served, &id, "stop").await;
    assert_eq!((status, &run["state"], &run["ended"]), (200, &json!("ended"), &json!("stopped")));
    assert!(asked_at.elapsed() < Duration::from_secs(5), "{:?}", asked_at.elapsed());
    assert_eq!(read_in_pieces(&served, &id, 0).await, said(&served, &id).await);
    assert_eq!(served.get(&format!("/api/research/{id}/report")).await.0, 404);
    assert_eq!(control(&served, &id, "stop").await.0, 409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_edited_and_followed_and_a_run_pauses_and_goes_on() {
    let world = library();
    let served = world.serve().await;
    let id = begin(&served, "asked").await;
    assert_eq!(control(&served, &id, "pause").await.1["state"], "paused");
    assert_eq!(control(&served, &id, "pause").await.0, 409);
    let step = json!({
        "step_number": 1, "description": "what alerts cost", "sources": ["local"], "keywords": ["budget alerts cost"],
    });
    let bad = json!({ "decision": "edit", "steps": [] });
    assert_eq!(decide(&served, &id, &bad).await.0, 400);
    let (status, run) = decide(&served, &id, &json!({ "decision": "edit", "steps": [step] })).await;
    assert_eq!((status, &run["state"]), (200, &json!("paused")), "{run}");
    assert_eq!(decide(&served, &id, &json!({ "decision": "approve" })).await.0, 409);
    let early = served.get(&format!("/api/research/{id}/report")).await;
    assert_eq!(early.0, 409, "{}", early.1);
    assert_eq!(control(&served, &id, "resume").await.0, 200);
    let messages = read_in_pieces(&served, &id, 0).await;
    let plans = messages.iter().filter(|it| it["content"]["estimated_time"].is_number());
    let steps: Vec<&Value> = plans.map(|plan| &plan["content"]["search_steps"]).collect();
    assert_eq!(steps, [&json!([step])]);
    let (status, run) = served.get(&format!("/api/research/{id}")).await;
    assert_eq!(
        (status, &run["state"], &run["progress"]["has_report"]),
        (200, &json!("ended"), &json!(true))
    );
    let (_, report) = served.get(&format!("/api/research/{id}/report?format=json")).await;
    assert_eq!(report["question"], QUESTION);
    for (format, start) in [("md", "# "), ("html", "<!doctype html>")] {
        let path = format!("/api/research/{id}/report?format={format}");
        let text = served.client.get(served.url(&path)).send().await.unwrap().text().await.unwrap();
        assert!(text.starts_with(start), "{text}");
    }
    assert_eq!(served.get(&format!("/api/research/{id}/report?format=exe")).await.0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_goes_on_with_its_runs_when_it_starts_again() {
    let (world, model) = (library(), slow_model(Duration::from_millis(100)).await);
    let mut served = world.serve_with(&with_model(&model)).await;
    let (id, waiting) = (begin(&served, "given").await, begin(&served, "asked").await);
    let mut stream = Stream::open(&served, &id, 0).await;
    let mut seen = Vec::new();
    while seen.len() < 3 {
        seen.push(stream.next().await.unwrap().1);
    }
    served.child.kill().await.unwrap();
    drop(stream);
    let served = world.serve_with(&with_model(&model)).await;
    seen.extend(read_in_pieces(&served, &id, 3).await);
    assert!(is_gapless(&seen), "{seen:#?}");
    assert_eq!(seen, said(&served, &id).await);
    let (_, run) = served.get(&format!("/api/research/{id}")).await;
    assert_eq!(run["ended"], "enough", "{run}");
    // The plan of the other may have been made before or after.
    while served.get(&format!("/api/research/{waiting}")).await.1["state"] != "approving" {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        decide(&served, &waiting, &json!({ "decision": "refuse" })).await.1["ended"],
        "refused"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_seen_by_who_began_them_and_nobody_else() {
    let world = library();
    let keys =
        [key(&world, "one", "admin"), key(&world, "two", "admin"), key(&world, "one", "admin")];
    let served = world.serve().await;
    let send = async |who: usize, method: Method, path: &str, body: Option<Value>| {
        let mut request = served.client.request(method, served.url(path)).bearer_auth(&keys[who]);
        if let Some(body) = body {
            request = request.json(&body);
        }
        answer(request.send().await.unwrap()).await
    };
    let body = json!({ "question": "canary-7731?", "approval": "asked" });
    let (_, run) = send(0, Method::POST, "/api/research", Some(body)).await;
    let id = run["id"].as_str().unwrap();
    for stranger in [1, 2] {
        let (status, list) = send(stranger, Method::GET, "/api/research", None).await;
        assert_eq!((status, &list["runs"]), (200, &json!([])));
        for rest in ["", "/messages", "/events", "/report"] {
            let path = format!("/api/research/{id}{rest}");
            assert_eq!(send(stranger, Method::GET, &path, None).await.0, 404, "{path}");
        }
        let stop = Some(json!({ "control": "stop" }));
        let refuse = Some(json!({ "decision": "refuse" }));
        let path = format!("/api/research/{id}");
        assert_eq!(send(stranger, Method::POST, &format!("{path}/control"), stop).await.0, 404);
        assert_eq!(send(stranger, Method::POST, &format!("{path}/plan"), refuse).await.0, 404);
        assert_eq!(send(stranger, Method::DELETE, &path, None).await.0, 404);
    }
    let (_, list) = send(0, Method::GET, "/api/research?limit=1", None).await;
    assert_eq!(list["runs"][0]["question"], "canary-7731?");
    assert_eq!(send(0, Method::DELETE, &format!("/api/research/{id}"), None).await.0, 204);
    assert_eq!(send(0, Method::GET, &format!("/api/research/{id}"), None).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed_page_by_page_and_bad_orders_are_refused() {
    let world = library();
    let served = world.serve().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.insert(0, begin(&served, "asked").await);
    }
    let (_, first) = served.get("/api/research?limit=2").await;
    let next = first["next"].as_str().unwrap();
    let (_, second) = served.get(&format!("/api/research?limit=2&after={next}")).await;
    assert!(second["next"].is_null());
    let runs =
        [first["runs"].as_array().unwrap().clone(), second["runs"].as_array().unwrap().clone()];
    let mut listed: Vec<&str> =
        runs.iter().flatten().map(|run| run["id"].as_str().unwrap()).collect();
    // Runs of the same millisecond are in the order of their names.
    listed.sort_unstable();
    ids.sort_unstable();
    assert_eq!(listed, ids);
    for bad in [
        json!({ "question": " " }),
        json!({ "question": "x", "sources": ["bing"] }),
        json!({ "question": "x", "budget": { "dollars": -1 } }),
        json!({ "question": "x", "approval": "maybe" }),
        json!({ "question": "x", "more": 1 }),
    ] {
        assert_eq!(served.post("/api/research", &bad).await.0, 400, "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_works_through_a_server_that_has_the_folder() {
    let world = library();
    let served = world.serve().await;
    let said = world.json(&["research", QUESTION, "--yes"]);
    assert!(said.last().unwrap()["report"]["sections"].is_array());
    assert!(is_gapless(&said[..said.len() - 1]));
    let id = begin(&served, "asked").await;
    let listed = world.json(&["research", "--list"]);
    assert_eq!((listed.len(), &listed[0]["id"]), (2, &json!(id)));
    assert!(world.ok(&["research", "--show", &id]).contains("approving"));
    assert!(world.ok(&["research", "--control", &id, "pause"]).contains("paused"));
    assert!(world.error(&["research", "--control", &id, "dance"]).contains("finish"));
    assert!(world.ok(&["research", "--control", &id, "stop"]).contains("stopped"));
    assert!(world.error(&["research", "--resume", &id]).contains("the run has ended"));
    let done = listed[1]["id"].as_str().unwrap();
    assert!(world.ok(&["research", "--show", done]).contains("## Sources"));
}

/// Memory that a process has in use, in bytes.
fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn many_watch_one_run_for_a_few_kilobytes_each() {
    let world = library();
    let more = [
        ("SAEM_SERVER_CONNECTIONS_PER_ADDRESS_MAX", "1000"),
        ("SAEM_SERVER_REQUESTS_AT_ONCE_MAX", "1000"),
    ];
    let served = world.serve_with(&more).await;
    let id = begin(&served, "asked").await;
    let process = served.child.id().unwrap();
    let path = format!("/api/research/{id}/socket");
    let mut sockets = Vec::new();
    // The first ones pay for what all share.
    for _ in 0..16 {
        sockets.push(watching(&served, &path).await);
    }
    let before = memory(process);
    for _ in 0..WATCHERS {
        sockets.push(watching(&served, &path).await);
    }
    let each = memory(process).saturating_sub(before) / WATCHERS as u64;
    println!("a watcher of a run costs {each} bytes");
    assert!(each <= WATCHER_BYTES_MAX, "{each}");
    control(&served, &id, "stop").await;
    for socket in &mut sockets {
        while socket.next().await.is_some_and(|frame| frame["type"] != "end") {}
    }
}

async fn watching(served: &Served, path: &str) -> Socket {
    let mut socket = Socket::open(served, path).await;
    assert_eq!(socket.next().await.unwrap()["type"], "agent_message");
    socket
}
