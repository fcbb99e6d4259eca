//! No task, no webhook and nothing that a webhook is to be told is lost, however often the process is killed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::a2a::{message, receiver, result};
use crate::chat::small;
use crate::world::{PATIENCE, Served};

/// How often the process is killed, each time at another moment of what it does; `A2A_KILLS` says otherwise.
const KILLS: usize = 200;

/// What the server has said yes to.
#[derive(Default)]
struct Acknowledged {
    tasks: BTreeSet<String>,
    /// By task and webhook.
    hooks: BTreeSet<(String, String)>,
}

impl Acknowledged {
    fn task(&mut self, task: &Value, hooks: &[&str]) {
        let id = task["id"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned();
        for hook in hooks {
            self.hooks.insert((id.clone(), (*hook).to_owned()));
        }
        self.tasks.insert(id);
    }
}

/// Has something done and gives back in the middle of it.
async fn disturb(served: &Served, url: &str, round: usize, acknowledged: &mut Acknowledged) {
    let hook = |id: &str| json!({ "id": id, "url": url });
    let mut sent = message(&format!("m{round}"), None);
    sent["configuration"] = json!({ "taskPushNotificationConfig": hook("h") });
    match round % 4 {
        // It was just taken on.
        0 => {
            sent["configuration"]["returnImmediately"] = json!(true);
            let begun = result(served, "1.0", "SendMessage", sent).await;
            acknowledged.task(&begun["task"], &["h"]);
        }
        // It is being told of, event by event.
        1 => stream(served, &sent, 1 + round / 4 % 4, acknowledged).await,
        // It is done, and gets one more webhook.
        2 => {
            let done = result(served, "1.0", "SendMessage", sent).await["task"].clone();
            let mut second = hook("second");
            second["taskId"] = done["id"].clone();
            result(served, "1.0", "CreateTaskPushNotificationConfig", second).await;
            acknowledged.task(&done, &["h", "second"]);
        }
        // Several at once.
        _ => {
            sent["configuration"]["returnImmediately"] = json!(true);
            let send = |place: usize| {
                let mut sent = sent.clone();
                sent["message"]["messageId"] = json!(format!("m{round}-{place}"));
                result(served, "1.0", "SendMessage", sent)
            };
            let (first, second, third) = tokio::join!(send(1), send(2), send(3));
            for begun in [first, second, third] {
                acknowledged.task(&begun["task"], &["h"]);
            }
        }
    }
}

/// Reads so many events of a stream, the task first.
async fn stream(served: &Served, sent: &Value, events: usize, acknowledged: &mut Acknowledged) {
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": sent });
    let request = served.client.post(served.url("/a2a")).header("A2A-Version", "1.0").json(&body);
    let mut response = request.send().await.unwrap();
    let mut text = String::new();
    while text.matches("\n\n").count() < events {
        let Some(chunk) = response.chunk().await.unwrap() else { break };
        text.push_str(&String::from_utf8_lossy(&chunk));
    }
    let first = text.lines().find_map(|line| line.strip_prefix("data: ")).expect(&text);
    let first: Value = serde_json::from_str(first).unwrap();
    acknowledged.task(&first["result"]["task"], &["h"]);
}

/// What each webhook of each task was told, in the order in which it came; what came twice in a row counts once.
type Seen = BTreeMap<String, Vec<String>>;

fn note(seen: &mut Seen, hook: &str) {
    let (_, body) = hook.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).expect(body);
    let (event, name) = match body.get("statusUpdate") {
        Some(event) => (event, event["status"]["state"].as_str().unwrap().to_owned()),
        None => (&body["artifactUpdate"], "artifact".to_owned()),
    };
    let seen = seen.entry(event["taskId"].as_str().unwrap().to_owned()).or_default();
    if seen.last() != Some(&name) {
        seen.push(name);
    }
}

#[tokio::test]
async fn no_task_and_no_webhook_is_lost_however_often_the_process_is_killed() {
    let kills = std::env::var("A2A_KILLS").ok().and_then(|count| count.parse().ok());
    let world = small();
    let (url, mut told) = receiver().await;
    let port = url.rsplit(':').next().unwrap().trim_end_matches("/hook").to_owned();
    let environment = [
        ("SAEM_EGRESS_ALLOW_PRIVATE", "127.0.0.0/8"),
        ("SAEM_EGRESS_PORTS", port.as_str()),
        ("SAEM_EMBEDDER_KIND", "none"),
        ("SAEM_LOG_LEVEL", "error"),
    ];
    let (mut acknowledged, mut seen) = (Acknowledged::default(), Seen::new());
    for round in 0..kills.unwrap_or(KILLS) {
        let mut served = world.serve_with(&environment).await;
        disturb(&served, &url, round, &mut acknowledged).await;
        served.child.start_kill().unwrap();
        served.child.wait().await.unwrap();
    }
    let served = world.serve_with(&environment).await;
    let mut ends = BTreeMap::new();
    for id in &acknowledged.tasks {
        let task = result(&served, "1.0", "GetTask", json!({ "id": id })).await;
        ends.insert(id.clone(), task["status"]["state"].as_str().unwrap().to_owned());
    }
    for (task, hook) in &acknowledged.hooks {
        let known = json!({ "taskId": task, "id": hook });
        let known = result(&served, "1.0", "GetTaskPushNotificationConfig", known).await;
        assert_eq!(known["url"], json!(url));
    }
    assert!(ends.values().all(|end| end.ends_with("COMPLETED") || end.ends_with("FAILED")));
    let has_all = |seen: &Seen| {
        ends.iter().all(|(id, end)| seen.get(id).is_some_and(|seen| seen.contains(end)))
    };
    while !has_all(&seen) {
        let hook = tokio::time::timeout(PATIENCE, told.recv()).await.expect("all are told");
        note(&mut seen, &hook.unwrap());
    }
    for (id, seen) in &seen {
        let order = ["TASK_STATE_WORKING", "artifact", "TASK_STATE_COMPLETED", "TASK_STATE_FAILED"];
        let places = seen.iter().map(|name| order.iter().position(|known| known == name).unwrap());
        assert!(places.is_sorted(), "{id}: {seen:?}");
    }
}
