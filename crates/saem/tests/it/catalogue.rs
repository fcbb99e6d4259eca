//! The catalogue of agents: over HTTP, by commands, and for MCP clients.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::tenants::key;
use crate::world::{Served, World};

fn card(name: &str, number: usize) -> Value {
    json!({
        "name": name,
        "description": "그림을 그립니다. Draws pictures.",
        "version": "1.0.0",
        "supportedInterfaces": [{
            "url": format!("https://url-{number}.example.com/a2a"),
            "protocolBinding": "JSONRPC", "protocolVersion": "1.0"
        }],
        "capabilities": { "streaming": true },
        "securitySchemes": {
            format!("scheme-{number}"): { "apiKeySecurityScheme": { "location": "header", "name": "X-Key" } }
        },
        "securityRequirements": [{ "schemes": { format!("scheme-{number}"): { "list": [] } } }],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["image/png"],
        "skills": [{
            "id": format!("skill-{number}"), "name": "이미지 생성", "description": "Generates images",
            "tags": ["image"]
        }]
    })
}

const TIERS: [&str; 4] = ["public", "authenticated", "partner:globex", "private"];
const PARTS: [&str; 4] = ["agent", "url", "skills", "security"];

/// An agent for each part in each tier, as a keeper writes them down.
fn lines() -> String {
    let mut lines = String::new();
    for (number, (part, tier)) in cases().into_iter().enumerate() {
        let mut disclosure = json!({ "agent": "public" });
        disclosure[part] = json!(tier);
        let line = json!({
            "identifier": format!("urn:air:agents.example.com:agent-{number}-"),
            "owner": "acme", "standing": "approved", "disclosure": disclosure,
            "card": card(&format!("agent-{number}-"), number),
        });
        lines.push_str(&format!("{line}\n"));
    }
    lines
}

fn cases() -> Vec<(&'static str, &'static str)> {
    PARTS.iter().flat_map(|part| TIERS.iter().map(move |tier| (*part, *tier))).collect()
}

async fn ask(
    served: &Served,
    key: Option<&str>,
    path: &str,
    body: Option<&Value>,
) -> (u16, String) {
    let mut request = match body {
        None => served.client.get(served.url(path)),
        Some(body) => served.client.post(served.url(path)).json(body),
    };
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Every route that shows many agents at once, and which parts of them it can show.
fn routes() -> Vec<(&'static str, Option<Value>, &'static [&'static str])> {
    let facet = |field: &str| json!({ "field": field, "limit": 200 });
    let facets =
        [facet("data.skills.id"), facet("data.supportedInterfaces.url"), facet("identifier")];
    let all = &PARTS[..];
    vec![
        ("/registry/find?limit=100", None, all),
        ("/registry/find?limit=100&q=draw+pictures", None, all),
        ("/registry/agents?pageSize=100", None, all),
        (
            "/registry/search",
            Some(json!({ "query": { "text": "그림 pictures" }, "pageSize": 100 })),
            all,
        ),
        (
            "/registry/explore",
            Some(json!({ "resultType": { "facets": facets } })),
            &["agent", "url", "skills"],
        ),
    ]
}

#[tokio::test]
async fn each_caller_sees_of_each_agent_what_its_tiers_say_on_every_route() {
    let world = World::new();
    let [eve, globex, acme] = ["eve", "globex", "acme"].map(|tenant| key(&world, tenant, "read"));
    let keeper = key(&world, "local", "admin");
    let served = world.serve().await;
    let import = served.client.post(served.url("/registry/import")).bearer_auth(&keeper);
    let import = import.header("content-type", "application/x-ndjson").body(lines());
    let imported: Value = import.send().await.unwrap().json().await.unwrap();
    assert_eq!(imported["agents"].as_array().unwrap().len(), 16, "{imported}");
    let mut checked = 0;
    for (who, reached) in [
        (None, &TIERS[..1]),
        (Some(&eve), &TIERS[..2]),
        (Some(&globex), &TIERS[..3]),
        (Some(&acme), &TIERS[..]),
        (Some(&keeper), &TIERS[..]),
    ] {
        let who = who.map(String::as_str);
        let mut answers = Vec::new();
        for (path, body, parts) in routes() {
            let (status, text) = ask(&served, who, path, body.as_ref()).await;
            assert_eq!(status, 200, "{path}: {text}");
            answers.push((path.to_owned(), text, parts));
        }
        for (number, (part, tier)) in cases().into_iter().enumerate() {
            let sees = |one: &str| (part != "agent" && part != one) || reached.contains(&tier);
            let sees_agent = part != "agent" || reached.contains(&tier);
            let identifier = format!("urn:air:agents.example.com:agent-{number}-");
            let mut answers = answers.clone();
            for path in ["", "/card"] {
                let path = format!("/registry/agents/{identifier}{path}");
                let (status, text) = ask(&served, who, &path, None).await;
                assert_eq!(status, if sees_agent { 200 } else { 404 }, "{path} {text}");
                answers.push((path, text, &PARTS[..]));
            }
            for (path, text, parts) in &answers {
                for (one, mark) in [
                    ("agent", format!("agent-{number}-")),
                    ("url", format!("url-{number}.")),
                    ("skills", format!("\"skill-{number}\"")),
                    ("security", format!("scheme-{number}\"")),
                ] {
                    let expected = parts.contains(&one) && sees_agent && sees(one);
                    let case = format!("{part} in {tier}: {one} on {path} for {who:?}");
                    assert_eq!(text.contains(&mark), expected, "{case}: {text}");
                    checked += 1;
                }
            }
        }
        let total = 12 + reached.len();
        let list: Value = serde_json::from_str(&answers[2].1).unwrap();
        assert_eq!(list["total"], total, "{who:?}");
        let found: Value = serde_json::from_str(&answers[0].1).unwrap();
        assert_eq!(found["facets"]["capabilities"][0]["count"], total, "{who:?}");
    }
    assert_eq!(checked, 5 * 16 * 7 * 4);
    // What is hidden and what is not there are refused in the same words.
    let mut told = Vec::new();
    for name in ["agent-3-", "nobody"] {
        let path = format!("/registry/agents/urn:air:agents.example.com:{name}");
        told.push(ask(&served, Some(&eve), &path, None).await);
    }
    assert_eq!(told[0], told[1]);
    let (_, manifest) = ask(&served, Some(&keeper), "/.well-known/ard.json", None).await;
    assert!(manifest.contains("agent-0-") && !manifest.contains("agent-1-"), "{manifest}");
}

/// Serves one card to whoever asks, as long as the test runs.
async fn agent(card: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => break,
                }
            }
            let length = card.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{card}"
            );
            _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    port
}

#[tokio::test]
async fn an_agent_is_registered_by_its_address_through_the_guard_and_overwritten_by_its_owner_alone()
 {
    let world = World::new();
    let [acme, eve] = ["acme", "eve"].map(|tenant| key(&world, tenant, "read,write"));
    let keeper = key(&world, "local", "admin");
    let port = agent(card("Painter", 1).to_string()).await;
    let (url, ports) = (format!("http://127.0.0.1:{port}"), port.to_string());
    let body = json!({ "url": url, "disclosure": { "agent": "public" } });
    let served = world.serve().await;
    let (status, told) = ask(&served, Some(&acme), "/registry/agents", Some(&body)).await;
    assert_eq!(status, 400, "the inside is closed: {told}");
    served.kill().await;
    let open =
        [("SAEM_EGRESS_ALLOW_PRIVATE", "127.0.0.0/8"), ("SAEM_EGRESS_PORTS", ports.as_str())];
    let served = world.serve_with(&open).await;
    let (status, told) = ask(&served, Some(&acme), "/registry/agents", Some(&body)).await;
    assert_eq!(status, 201, "{told}");
    assert!(told.contains("\"standing\":\"pending\""), "{told}");
    let path = "/registry/agents/urn:air:127.0.0.1:painter";
    assert_eq!(ask(&served, None, path, None).await.0, 404);
    assert_eq!(ask(&served, Some(&acme), path, None).await.0, 200);
    let approve = |key: &str| {
        let request = served.client.patch(served.url(path)).bearer_auth(key);
        request.json(&json!({ "standing": "approved" })).send()
    };
    assert_eq!(approve(&acme).await.unwrap().status(), 403);
    assert_eq!(approve(&eve).await.unwrap().status(), 404);
    assert_eq!(approve(&keeper).await.unwrap().status(), 200);
    assert_eq!(ask(&served, None, path, None).await.0, 200);
    assert_eq!(ask(&served, Some(&acme), "/registry/agents", Some(&body)).await.0, 200);
    assert_eq!(ask(&served, Some(&eve), "/registry/agents", Some(&body)).await.0, 409);
    let remove = |key: &str| served.client.delete(served.url(path)).bearer_auth(key).send();
    assert_eq!(remove(&eve).await.unwrap().status(), 403);
    assert_eq!(remove(&acme).await.unwrap().status(), 204);
    assert_eq!(ask(&served, Some(&acme), path, None).await.0, 404);
}

#[tokio::test]
async fn ard_clients_get_the_errors_and_the_manifest_that_they_expect() {
    let world = World::new();
    let served = world.serve().await;
    for body in [
        json!({}),
        json!({ "query": { "text": "" } }),
        json!({ "query": { "text": "x" }, "pageSize": 0 }),
    ] {
        let (status, told) = served.post("/registry/search", &body).await;
        assert_eq!((status, told["errorCode"].as_str()), (400, Some("INVALID_ARGUMENT")), "{told}");
        assert!(told["message"].is_string());
    }
    let (status, told) = served.get("/registry/agents?filter=nonsense").await;
    assert_eq!((status, told["errorCode"].as_str()), (400, Some("INVALID_ARGUMENT")));
    for path in ["/.well-known/ai-catalog.json", "/.well-known/ard.json"] {
        let (status, manifest) = served.get(path).await;
        assert_eq!((status, manifest["specVersion"].as_str()), (200, Some("1.0")), "{manifest}");
        let entry = &manifest["entries"][0];
        assert_eq!(entry["type"], "application/ai-registry+json");
        let base = entry["url"].as_str().unwrap();
        assert!(base.starts_with("http://127.0.0.1:") && base.ends_with("/registry"), "{base}");
    }
    let (status, told) =
        served.post("/registry/search", &json!({ "query": { "text": "x" } })).await;
    assert_eq!((status, told), (200, json!({ "results": [] })));
}

#[tokio::test]
async fn commands_keep_a_catalogue_with_a_server_and_without() {
    let world = World::new();
    let file = world.file("card.json", card("Painter", 1).to_string());
    let file = file.to_str().unwrap();
    let id = "urn:air:url-1.example.com:painter";
    let registered = world.json(&["agents", "register", file, "--tier", "public"]);
    assert_eq!(
        (registered[0]["identifier"].as_str(), registered[0]["is_new"].as_bool()),
        (Some(id), Some(true))
    );
    let found = world.json(&["agents", "find", "이미지 생성, 스트리밍"]);
    assert_eq!(found[0]["identifier"], id);
    assert!(found[0]["relevance"].as_u64().unwrap() >= 50, "{found:?}");
    assert!(world.json(&["agents", "find", "quantum chess"]).is_empty());
    let line = world.ok(&["agents", "export"]);
    let served = world.serve().await;
    let listed = world.json(&["agents", "list"]);
    assert_eq!((listed.len(), listed[0]["identifier"].as_str()), (1, Some(id)));
    assert_eq!(
        world.json(&["agents", "find", "--tag", "image", "--capability", "streaming"]).len(),
        1
    );
    assert!(world.json(&["agents", "find", "--skill", "other"]).is_empty());
    assert_eq!(world.json(&["agents", "deprecate", id])[0]["standing"], "deprecated");
    assert_eq!(world.json(&["agents", "approve", id])[0]["standing"], "approved");
    assert!(world.ok(&["agents", "show", id]).contains("version 1 (1.0.0)"));
    world.ok(&["agents", "remove", id]);
    assert!(world.error(&["agents", "show", id]).contains("there is no agent"));
    served.kill().await;
    let lines = world.file("agents.jsonl", format!("{line}{{}}\n"));
    let error = world.error(&["agents", "import", lines.to_str().unwrap()]);
    assert!(error.contains("line 2: missing field"), "{error}");
    assert_eq!(world.ok(&["agents", "export"]), line);
}

#[tokio::test]
async fn the_agents_that_another_catalogue_publishes_are_taken_in_and_nobody_elses() {
    let (one, two) = (World::new(), World::new());
    let port = agent(card("Painter", 1).to_string()).await.to_string();
    let open = [("SAEM_EGRESS_ALLOW_PRIVATE", "127.0.0.0/8"), ("SAEM_EGRESS_PORTS", port.as_str())];
    let served = one.serve_with(&open).await;
    let own =
        json!({ "url": format!("http://127.0.0.1:{port}"), "disclosure": { "agent": "public" } });
    assert_eq!(served.post("/registry/agents", &own).await.0, 201);
    // A keeper may vouch for whatever name; to others that is no proof.
    let vouched = json!({ "card": card("Foreign", 2), "identifier": "urn:air:other.example.com:foreign",
        "disclosure": { "agent": "public" } });
    assert_eq!(served.post("/registry/agents", &vouched).await.0, 201);
    let ports = format!("{port},{}", served.address.rsplit(':').next().unwrap());
    let open = [("SAEM_EGRESS_ALLOW_PRIVATE", "127.0.0.0/8"), ("SAEM_EGRESS_PORTS", &ports)];
    let crawled = two.run_with(&["agents", "crawl", &served.address, "--tier", "public"], &open);
    let said = crate::world::shown(&crawled);
    assert!(!crawled.status.success(), "one was left out: {said}");
    assert!(said.contains("does not speak for other.example.com"), "{said}");
    let list = two.ok(&["agents", "list"]);
    assert!(list.contains("urn:air:127.0.0.1:painter"), "{said}\n{list}");
    assert!(!list.contains("foreign"), "{list}");
    let nowhere = two.run_with(&["agents", "crawl", &format!("http://127.0.0.1:{port}/x")], &open);
    assert!(!nowhere.status.success(), "a card is no manifest");
    let inside = two.run(&["agents", "crawl", &served.address]);
    assert!(!inside.status.success(), "the inside is closed");
}
