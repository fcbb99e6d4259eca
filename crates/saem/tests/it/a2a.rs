//! Saem as an A2A agent: cards, every carrier and version, bad input, owners, and what a restart leaves.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::chat::small;
use crate::world::{PATIENCE, Served, World, answer};

/// The agent for kits.
pub(crate) async fn kit(world: &World) -> Served {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_saem"));
    command.args(["conformance", "a2a"]).env_remove("SAEM_DATA");
    command.env("SAEM_MODELS_DISCOVER", "false").env("TMPDIR", world.files());
    std::fs::create_dir_all(world.files()).unwrap();
    let mut served = Served::start(command).await;
    served.address = served.address.trim_end_matches("/a2a").to_owned();
    served
}

/// Calls a method; gives the whole answer.
pub(crate) async fn call(served: &Served, version: &str, method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let request = served.client.post(served.url("/a2a")).header("A2A-Version", version);
    let (status, body) = answer(request.json(&body).send().await.unwrap()).await;
    assert_eq!((status, &body["id"]), (200, &json!(7)), "{body}");
    body
}

/// The result of a method.
pub(crate) async fn result(served: &Served, version: &str, method: &str, params: Value) -> Value {
    let body = call(served, version, method, params).await;
    assert!(body.get("error").is_none(), "{body}");
    body["result"].clone()
}

/// A message of 1.0.
pub(crate) fn message(id: &str, task: Option<&Value>) -> Value {
    let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": "hi" }] });
    if let Some(task) = task {
        message["taskId"] = task.clone();
    }
    json!({ "message": message })
}

/// What a stream tells, as JSON.
async fn events(response: reqwest::Response) -> Vec<Value> {
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("text/event-stream"), "{kind}");
    let text = tokio::time::timeout(PATIENCE, response.text()).await.unwrap().unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[tokio::test]
async fn cards_are_where_each_generation_looks_for_them() {
    let world = World::new();
    let served = world.serve().await;
    let (status, merged) = served.get("/.well-known/agent-card.json").await;
    assert_eq!(status, 200, "{merged}");
    let url = served.url("/a2a");
    assert_eq!(merged["supportedInterfaces"][0]["url"], json!(url));
    assert_eq!((&merged["url"], &merged["protocolVersion"]), (&json!(url), &json!("0.3.0")));
    let (_, old) = served.get("/.well-known/agent.json").await;
    assert!(old.get("supportedInterfaces").is_none() && old["url"] == json!(url), "{old}");
    let path = served.url("/.well-known/agent-card.json");
    let get = |version: &str, known: &str| {
        let request = served.client.get(&path).header("A2A-Version", version);
        request.header("If-None-Match", known).send()
    };
    let strict = get("1.0", "x").await.unwrap();
    let (tag, vary) = (strict.headers()["etag"].clone(), strict.headers()["vary"].clone());
    assert!(vary.to_str().unwrap().contains("A2A-Version"));
    assert!(strict.headers()["cache-control"].to_str().unwrap().contains("max-age=300"));
    let strict: Value = strict.json().await.unwrap();
    assert!(strict.get("url").is_none() && strict["capabilities"]["pushNotifications"] == true);
    assert_eq!(get("1.0", tag.to_str().unwrap()).await.unwrap().status(), 304);
    assert_eq!(get("0.3", tag.to_str().unwrap()).await.unwrap().status(), 200);
    assert_eq!(get("7.0", "x").await.unwrap().status(), 400);
}

#[tokio::test]
async fn a_question_is_answered_from_the_documents_and_its_context_is_remembered() {
    let world = small();
    let served = world.serve().await;
    let ask = |text: &str, context: Option<&str>| {
        let mut message =
            json!({ "messageId": text, "role": "ROLE_USER", "parts": [{ "text": text }] });
        if let Some(context) = context {
            message["contextId"] = json!(context);
        }
        json!({ "message": message })
    };
    let first = result(&served, "1.0", "SendMessage", ask("When is a budget alert sent?", None));
    let first = first.await["task"].clone();
    assert_eq!(first["status"]["state"], "TASK_STATE_COMPLETED", "{first}");
    let parts = &first["artifacts"][0]["parts"];
    assert!(parts.to_string().contains("threshold is crossed"), "{parts}");
    assert!(parts.to_string().contains("\"citations\""), "{parts}");
    let mut search = ask("budget alert", first["contextId"].as_str());
    search["message"]["metadata"] = json!({ "skill": "search" });
    let found = result(&served, "1.0", "SendMessage", search).await["task"].clone();
    assert_eq!(found["contextId"], first["contextId"]);
    assert!(
        found["artifacts"][0]["parts"][1]["data"]["passages"][0]["text"].is_string(),
        "{found}"
    );
    let (_, sessions) = served.get("/api/sessions").await;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "{sessions}");
}

#[tokio::test]
async fn a_text_file_of_a_message_is_read_for_its_answer() {
    let world = small();
    let served = world.serve().await;
    let parts = json!([
        { "text": "What is the code name of the winter release?" },
        { "raw": "VGhlIGNvZGUgbmFtZSBvZiB0aGUgd2ludGVyIHJlbGVhc2UgaXMgS2luZ2Zpc2hlci4=",
          "filename": "release.txt", "mediaType": "text/plain" },
    ]);
    let asked = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": parts } });
    let task = result(&served, "1.0", "SendMessage", asked).await["task"].clone();
    assert!(task["artifacts"].to_string().contains("Kingfisher"), "{task}");
    let video = json!([{ "raw": "AAAA", "mediaType": "video/mp4" }]);
    let asked = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": video } });
    let refused = call(&served, "1.0", "SendMessage", asked).await;
    assert_eq!(refused["error"]["code"], -32005, "{refused}");
}

#[tokio::test]
async fn the_kit_gets_what_it_asks_for() {
    let world = World::new();
    let served = kit(&world).await;
    for (id, state, inside) in [
        ("tck-complete-task-1", "COMPLETED", "Hello from TCK"),
        ("tck-artifact-text-1", "COMPLETED", "Generated text content"),
        ("tck-artifact-file-1", "COMPLETED", "output.txt"),
        ("tck-artifact-file-url-1", "COMPLETED", "https://example.com/output.txt"),
        ("tck-artifact-data-1", "COMPLETED", "\"count\":42"),
        ("tck-input-required-1", "INPUT_REQUIRED", ""),
        ("tck-reject-task-1", "REJECTED", "rejected"),
        ("tck-task-failure-1", "FAILED", ""),
        ("tck-stream-artifact-chunked-1", "COMPLETED", "chunk-2"),
        ("anything", "COMPLETED", ""),
    ] {
        let task = result(&served, "1.0", "SendMessage", message(id, None)).await["task"].clone();
        assert_eq!(task["status"]["state"], format!("TASK_STATE_{state}"), "{id}: {task}");
        assert!(task.to_string().contains(inside), "{id}: {task}");
    }
    let direct = result(&served, "1.0", "SendMessage", message("tck-message-response", None)).await;
    assert_eq!(direct["message"]["parts"][0]["text"], "Direct message response", "{direct}");
    let asks = result(&served, "1.0", "SendMessage", message("tck-multi-turn", None)).await;
    let further = message("tck-multi-turn-2", Some(&asks["task"]["id"]));
    let done = result(&served, "1.0", "SendMessage", further).await;
    assert_eq!(done["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{done}");
    let mut endless = message("tck-cancel", None);
    endless["configuration"] = json!({ "returnImmediately": true });
    let endless = result(&served, "1.0", "SendMessage", endless).await;
    let id = &endless["task"]["id"];
    let cancelled = result(&served, "1.0", "CancelTask", json!({ "id": id })).await;
    assert_eq!(cancelled["status"]["state"], "TASK_STATE_CANCELED", "{cancelled}");
}

#[tokio::test]
async fn streams_tell_the_same_over_both_carriers_and_in_both_versions() {
    let world = World::new();
    let served = kit(&world).await;
    let new = message("tck-stream-001", None);
    let old = json!({ "message": { "kind": "message", "messageId": "tck-stream-001", "role": "user",
        "parts": [{ "kind": "text", "text": "hi" }] } });
    let rpc = |method: &str, params: &Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    for (path, version, body, wrapped) in [
        ("/a2a", "1.0", rpc("SendStreamingMessage", &new), true),
        ("/a2a", "0.3", rpc("message/stream", &old), true),
        ("/a2a/message:stream", "1.0", new.clone(), false),
        ("/a2a/v1/message:stream", "0.3", old.clone(), false),
    ] {
        let request = served.client.post(served.url(path)).header("A2A-Version", version);
        let told = events(request.json(&body).send().await.unwrap()).await;
        assert_eq!(told.len(), 4, "{path} {version}: {told:?}");
        let last = if wrapped { told[3]["result"].clone() } else { told[3].clone() };
        assert!(last.to_string().to_lowercase().contains("completed"), "{last}");
        assert!(told[2].to_string().contains("Stream hello from TCK"), "{told:?}");
    }
}

#[tokio::test]
async fn every_operation_works_over_http_and_json() {
    let world = World::new();
    let served = kit(&world).await;
    let ask = async |method: &str, path: &str, body: Option<&Value>| {
        let url = served.url(&format!("/a2a{path}"));
        let request = served.client.request(method.parse().unwrap(), url);
        let request = request.header("A2A-Version", "1.0");
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let response = request.send().await.unwrap();
        let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!(kind, "application/a2a+json", "{path}");
        answer(response).await
    };
    let body = message("tck-input-required", None);
    let (status, sent) = ask("POST", "/message:send", Some(&body)).await;
    assert_eq!(status, 200, "{sent}");
    let id = sent["task"]["id"].as_str().unwrap();
    let (_, task) = ask("GET", &format!("/tasks/{id}?historyLength=0"), None).await;
    assert!(task["id"] == id && task.get("history").is_none(), "{task}");
    let (_, list) = ask("GET", "/tasks?status=TASK_STATE_INPUT_REQUIRED&pageSize=1", None).await;
    assert_eq!((&list["totalSize"], &list["nextPageToken"]), (&json!(1), &json!("")), "{list}");
    let hooks = format!("/tasks/{id}/pushNotificationConfigs");
    let config = json!({ "id": "h", "url": "https://example.com/hook" });
    let (status, set) = ask("POST", &hooks, Some(&config)).await;
    assert_eq!((status, &set["taskId"]), (200, &json!(id)), "{set}");
    assert_eq!(ask("GET", &format!("{hooks}/h"), None).await.1["url"], config["url"]);
    assert_eq!(ask("GET", &hooks, None).await.1["configs"].as_array().unwrap().len(), 1);
    assert_eq!(ask("DELETE", &format!("{hooks}/h"), None).await, (200, json!({})));
    assert_eq!(ask("GET", &format!("{hooks}/h"), None).await.0, 404);
    let (_, card) = ask("GET", "/extendedAgentCard", None).await;
    assert_eq!(card["name"], "Saem", "{card}");
    let (status, cancelled) = ask("POST", &format!("/tasks/{id}:cancel"), Some(&json!({}))).await;
    assert_eq!((status, &cancelled["status"]["state"]), (200, &json!("TASK_STATE_CANCELED")));
    let (status, again) = ask("POST", &format!("/tasks/{id}:cancel"), Some(&json!({}))).await;
    assert_eq!(status, 400, "{again}");
    assert_eq!(again["error"]["details"][0]["reason"], "TASK_NOT_CANCELABLE", "{again}");
    let (status, absent) = ask("GET", "/tasks/nothing", None).await;
    assert_eq!((status, &absent["error"]["status"]), (404, &json!("NOT_FOUND")), "{absent}");
}

#[tokio::test]
async fn bad_input_gets_the_error_of_the_version_spoken() {
    let world = World::new();
    let served = kit(&world).await;
    let raw = async |version: &str, body: &str| {
        let request = served.client.post(served.url("/a2a")).header("A2A-Version", version);
        let request = request.header("content-type", "application/json").body(body.to_owned());
        let (status, body) = answer(request.send().await.unwrap()).await;
        assert_eq!(status, 200, "{body}");
        body["error"]["code"].clone()
    };
    let request = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    };
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let done = result(&served, "1.0", "SendMessage", message("tck-complete-task", None)).await;
    let ended = json!({ "message": {
        "messageId": "m2", "role": "ROLE_USER", "parts": [{ "text": "x" }], "taskId": done["task"]["id"] } });
    for (version, body, code) in [
        ("1.0", "{".to_owned(), -32700),
        ("1.0", "[]".to_owned(), -32600),
        ("1.0", r#"{"id":1,"method":"GetTask"}"#.to_owned(), -32600),
        ("1.0", request("Nothing", "{}"), -32601),
        ("0.3", request("tasks/list", "{}"), -32601),
        ("1.0", request("SendMessage", "{}"), -32602),
        ("0.3", request("message/send", "{}"), -32602),
        ("1.0", request("SendMessage", "[1]"), -32602),
        ("1.0", request("message/send", "{}"), -32009),
        ("3.0", request("SendMessage", "{}"), -32009),
        ("1.0", request("GetTask", r#"{"id":"nothing"}"#), -32001),
        ("0.3", request("tasks/get", r#"{"id":"nothing"}"#), -32001),
        ("0.3", request("tasks/cancel", r#"{"id":"nothing"}"#), -32001),
        ("1.0", request("ListTasks", r#"{"pageSize":101}"#), -32602),
        ("1.0", request("ListTasks", r#"{"pageToken":"!"}"#), -32602),
        ("1.0", request("SendMessage", &ended.to_string()), -32004),
        (
            "1.0",
            request("SubscribeToTask", &json!({ "id": done["task"]["id"] }).to_string()),
            -32004,
        ),
        ("1.0", request("GetTask", &format!(r#"{{"id":"x","metadata":{{"a":{deep}}}}}"#)), -32700),
    ] {
        assert_eq!(raw(version, &body).await, json!(code), "{version} {body}");
    }
    let inside = json!({ "taskId": done["task"]["id"], "id": "h", "url": "http://10.0.0.7/hook" });
    let refused = call(&served, "1.0", "CreateTaskPushNotificationConfig", inside).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[tokio::test]
async fn tasks_are_their_owners_alone_and_the_card_says_how_to_prove_it() {
    let world = small();
    let key = |tenant: &str| {
        let made = &world.json(&["key", "create", "--tenant", tenant, "--scopes", "read"])[0];
        made["key"].as_str().unwrap().to_owned()
    };
    let (mina, joon, other) = (key("local"), key("local"), key("other"));
    let served = world.serve().await;
    let call = async |key: &str, method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = served.client.post(served.url("/a2a")).bearer_auth(key);
        answer(request.header("A2A-Version", "1.0").json(&body).send().await.unwrap()).await
    };
    let (_, sent) = call(&mina, "SendMessage", message("m", None)).await;
    let id = sent["result"]["task"]["id"].clone();
    assert!(id.is_string(), "{sent}");
    let (_, absent) = call(&joon, "GetTask", json!({ "id": "nothing" })).await;
    for stranger in [&joon, &other] {
        for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
            let (status, refused) = call(stranger, method, json!({ "id": id })).await;
            assert_eq!((status, &refused), (200, &absent), "{method}");
        }
        let (_, list) = call(stranger, "ListTasks", json!({})).await;
        assert_eq!(list["result"]["totalSize"], 0, "{list}");
    }
    let (_, routed) = call(&mina, "GetTask", json!({ "id": id, "tenant": "other" })).await;
    assert_eq!(routed, absent, "where a call is routed to opens nothing");
    let (_, own) = call(&mina, "GetTask", json!({ "id": id })).await;
    assert_eq!(own["result"]["id"], id);
    let nobody = served.client.post(served.url("/a2a")).json(&json!({})).send().await.unwrap();
    assert_eq!(nobody.status(), 401);
    assert_eq!(served.get("/a2a/extendedAgentCard").await.0, 401);
    let (_, card) = served.get("/.well-known/agent-card.json").await;
    let schemes = &card["securitySchemes"];
    assert!(schemes["bearer"].is_object() && schemes["apiKey"].is_object(), "{card}");
    assert_eq!(card["securityRequirements"].as_array().unwrap().len(), 2, "{card}");
}

#[tokio::test]
async fn a_task_outlives_the_process_and_what_was_at_work_has_failed() {
    let world = small();
    let mut served = world.serve().await;
    let done = result(&served, "1.0", "SendMessage", message("m", None)).await["task"].clone();
    let config = json!({ "taskId": done["id"], "id": "h", "url": "https://example.com/hook" });
    result(&served, "1.0", "CreateTaskPushNotificationConfig", config.clone()).await;
    served.child.start_kill().unwrap();
    served.child.wait().await.unwrap();
    let served = world.serve().await;
    let again = result(&served, "1.0", "GetTask", json!({ "id": done["id"] })).await;
    assert_eq!(again, done);
    let known = json!({ "taskId": done["id"], "id": "h" });
    let known = result(&served, "1.0", "GetTaskPushNotificationConfig", known).await;
    assert_eq!(known["url"], config["url"]);
}

#[tokio::test]
async fn a_card_can_be_for_callers_alone() {
    let world = World::new();
    world.ok(&["key", "create", "--scopes", "read"]);
    let served = world.serve_with(&[("SAEM_A2A_CARD", "authenticated")]).await;
    assert_eq!(served.get("/.well-known/agent-card.json").await.0, 401);
    assert_eq!(served.get("/.well-known/agent.json").await.0, 401);
    let without = World::new();
    let served = without.serve_with(&[("SAEM_A2A_ENABLED", "false")]).await;
    assert_eq!(served.get("/.well-known/agent-card.json").await.0, 404);
    assert_eq!(served.post("/a2a", &json!({})).await.0, 404);
}

/// Takes webhooks on this machine: what each holds, once its whole body is there.
pub(crate) async fn receiver() -> (String, tokio::sync::mpsc::Receiver<String>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/hook", listener.local_addr().unwrap());
    let (tell, told) = tokio::sync::mpsc::channel(10_000);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            let is_whole = loop {
                let mut buffer = vec![0; 64 << 10];
                // Whoever is killed leaves half a request, or a connection that breaks.
                let count = stream.read(&mut buffer).await.unwrap_or_default();
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
                let length = text.lines().find_map(|line| {
                    line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
                });
                let is_whole = text
                    .split_once("\r\n\r\n")
                    .is_some_and(|(_, body)| length.is_some_and(|length| body.len() >= length));
                if is_whole || count == 0 {
                    break is_whole;
                }
            };
            if !is_whole {
                continue;
            }
            _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await;
            if tell.send(text).await.is_err() {
                return;
            }
        }
    });
    (address, told)
}

#[tokio::test]
async fn webhooks_come_in_order_with_what_their_receiver_wants_to_see() {
    let world = World::new();
    let served = kit(&world).await;
    let (url, mut told) = receiver().await;
    let mut sent = message("tck-stream-001", None);
    sent["configuration"] = json!({ "taskPushNotificationConfig": { "url": url, "token": "hush",
        "authentication": { "scheme": "Bearer", "credentials": "abc" } } });
    result(&served, "1.0", "SendMessage", sent).await;
    for inside in ["TASK_STATE_WORKING", "Stream hello from TCK", "TASK_STATE_COMPLETED"] {
        let hook = tokio::time::timeout(PATIENCE, told.recv()).await.unwrap().unwrap();
        assert!(hook.contains(inside), "{inside}: {hook}");
        let hook = hook.to_lowercase();
        for header in [
            "x-a2a-notification-token: hush",
            "a2a-notification-token: hush",
            "authorization: bearer abc",
            "content-type: application/a2a+json",
        ] {
            assert!(hook.contains(header), "{header}: {hook}");
        }
    }
}

#[tokio::test]
async fn the_product_calls_no_webhook_inside() {
    let world = World::new();
    let served = world.serve().await;
    let (url, _told) = receiver().await;
    for url in [url.as_str(), "http://localhost/x", "http://169.254.169.254/", "http://[::1]/"] {
        let mut sent = message("m", None);
        sent["configuration"] = json!({ "taskPushNotificationConfig": { "url": url } });
        for method in ["SendMessage", "SendStreamingMessage"] {
            let refused = call(&served, "1.0", method, sent.clone()).await;
            // A name is looked up when it is used, and refused then.
            let is_name = url.contains("localhost");
            assert_eq!(refused["error"]["code"] == -32602, !is_name, "{url}: {refused}");
            if is_name {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_card_is_signed_with_the_key_of_the_configuration() {
    let world = World::new();
    let key = world.file("key.pem", KEY);
    let served = world.serve_with(&[("SAEM_A2A_SIGNING_KEY", key.to_str().unwrap())]).await;
    let (_, card) = served.get("/.well-known/agent-card.json").await;
    let (_, keys) = served.get("/.well-known/jwks.json").await;
    assert_eq!(keys["keys"][0]["kty"], "EC", "{keys}");
    let signatures = card["signatures"].as_array().unwrap();
    assert!(!signatures.is_empty(), "{card}");
    let known = keys["keys"][0]["kid"].as_str().unwrap().to_owned();
    let found = a2a::card::verify(&card, |header, input, signature| {
        let part = |name: &str| {
            let text = keys["keys"][0][name].as_str().unwrap();
            base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, text).unwrap()
        };
        let point = [&[4][..], &part("x"), &part("y")].concat();
        let algorithm = &ring::signature::ECDSA_P256_SHA256_FIXED;
        let public = ring::signature::UnparsedPublicKey::new(algorithm, point);
        header.key_id == known && public.verify(input, signature).is_ok()
    });
    assert_eq!(found.unwrap().card.name, "Saem");
}

#[tokio::test]
async fn paths_can_be_there_for_some_networks_alone() {
    let world = World::new();
    let rules = "/a2a=10.1.0.0/16,/.well-known=10.1.0.0/16";
    let served = world.serve_with(&[("SAEM_SERVER_NETWORKS", rules)]).await;
    assert_eq!(served.post("/a2a", &json!({})).await.0, 404);
    assert_eq!(served.get("/.well-known/agent-card.json").await.0, 404);
    assert_eq!(served.get("/health/live").await.0, 200);
}

/// A key for tests alone.
pub(crate) const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgx/duQNIIUSQgJYg3
ekxROrFJ0xTUKquzbd92Nvg7ZnKhRANCAASQjB0e7XSxLHw11vC7o+Cd/0gcLEVX
nuR6LzPNNaGVSkcViUpRaE7AmkaMEe0HY5K8D1G8Nk6JGzn0fsbBgXCA
-----END PRIVATE KEY-----
";
