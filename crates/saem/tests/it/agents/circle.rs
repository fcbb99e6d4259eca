//! Two Saems that ask each other come to an end by the number of agents that a message has come through.

use std::net::TcpListener;
use std::time::Duration;

use testkit::model_server::{Answer, ModelServer};

use super::*;
use crate::chat::{borrowed, model_settings, played};
use crate::world::Served;

/// A model that asks the other agent whatever it is asked, and says what came of it.
async fn model() -> ModelServer {
    ModelServer::answering(Duration::ZERO, |request| {
        if !request["response_format"]["json_schema"]["name"].is_null() {
            return played(request);
        }
        let messages = request["messages"].as_array().unwrap();
        match messages.iter().rfind(|message| message["role"] == "tool") {
            Some(result) => Answer::text(format!("It says: {}", result["content"])),
            None if request["tools"].is_null() => Answer::text("There is nobody to ask."),
            None => Answer::call("other__ask", "{\"message\": \"When is a budget alert sent?\"}"),
        }
    })
    .await
}

/// A Saem at an address, with the one at another address as an agent.
async fn saem(world: &World, at: &str, other: &str, model: &ModelServer) -> Served {
    let config = format!("[agents]\nhops_max = 2\n[agents.other]\nurl = \"http://{other}\"\n");
    let config = world.file("saem.toml", config);
    let page = world.file("budget.md", "# Budget alerts\n\nAn alert is sent at the threshold.");
    world.ok(&["ingest", page.to_str().unwrap()]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_saem"));
    command.args(["serve", "--listen", at, "--config"]).arg(config).env_remove("SAEM_DATA");
    command.arg("--data").arg(world.data()).env("SAEM_MODELS_DISCOVER", "false");
    command.envs(borrowed(&model_settings(&model.base_url)));
    Served::start(command).await
}

fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[tokio::test]
async fn two_agents_that_ask_each_other_come_to_an_end() {
    let (one, two, model) = (World::new(), World::new(), model().await);
    let (at_one, at_two) = (free(), free());
    let first = saem(&one, &at_one, &at_two, &model).await;
    let _second = saem(&two, &at_two, &at_one, &model).await;
    let send = async |text: &str, task: Option<&Value>| {
        let mut message =
            json!({ "messageId": text, "role": "ROLE_USER", "parts": [{ "text": text }] });
        if let Some(task) = task {
            message["taskId"] = task["id"].clone();
            message["messageId"] = json!(format!("{text} {}", task["status"]["timestamp"]));
        }
        let sent = crate::a2a::result(&first, "1.0", "SendMessage", json!({ "message": message }));
        tokio::time::timeout(PATIENCE, sent).await.unwrap()["task"].clone()
    };
    let mut task = send("When is a budget alert sent?", None).await;
    let mut questions = 0;
    while task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED" {
        questions += 1;
        assert!(questions <= 8, "it never ends: {task}");
        task = send("yes", Some(&task)).await;
    }
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    // One for each call: the first asks the second, which asks the first, which may ask nobody any more.
    assert_eq!(questions, 3, "{task}");
    // The model hears of it as it was said. What it makes of that is told in pieces, which may end in the middle of these words.
    let asked = model.requests();
    let is_told =
        |request: &Value| request.to_string().contains("has come through 2 agents already");
    assert!(asked.iter().any(is_told), "{asked:?}");
    assert!(task["artifacts"].to_string().contains("It says: "), "{task}");
}

#[tokio::test]
async fn what_the_header_says_counts_too() {
    let (one, model) = (World::new(), model().await);
    let (at, nobody) = (free(), free());
    let served = saem(&one, &at, &nobody, &model).await;
    // Nobody is there to be asked, but nobody is asked either.
    let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "When is a budget alert sent?" }] });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": { "message": message } });
    let request = served.client.post(served.url("/a2a")).header("A2A-Version", "1.0");
    let request = request.header("Saem-Hops", "2").json(&body);
    let (_, answer) = crate::world::answer(request.send().await.unwrap()).await;
    let noted = &answer["result"]["task"]["history"][0]["metadata"]["saem-hops"];
    assert_eq!(noted, &json!(2), "{answer}");
}
