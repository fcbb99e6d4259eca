//! Without credentials nothing opens but what is public, and tenants never meet.

use serde_json::{Value, json};

use crate::world::{Served, World, answer};

pub(crate) fn key(world: &World, tenant: &str, scopes: &str) -> String {
    let created = world.json(&["key", "create", "--tenant", tenant, "--scopes", scopes]);
    created[0]["key"].as_str().unwrap().to_owned()
}

async fn call(
    served: &Served,
    method: &str,
    path: &str,
    key: Option<&str>,
    body: Option<&Value>,
) -> (u16, Value) {
    let method = method.to_uppercase().parse().unwrap();
    let mut request = served.client.request(method, served.url(path));
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    if let Some(body) = body {
        request = request.json(body);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// Calls again while strangers come too often: this test is many strangers.
async fn patient(served: &Served, method: &str, path: &str, key: Option<&str>) -> (u16, Value) {
    loop {
        let (status, body) = call(served, method, path, key, None).await;
        if status != 429 {
            return (status, body);
        }
        tokio::task::yield_now().await;
    }
}

const PUBLIC: &[&str] = &[
    "/",
    "/page/{edition}/{path}",
    "/api/login",
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
    "/a2a/.well-known/agent-card.json",
    "/a2a/.well-known/agent.json",
    "/a2a/agent.json",
    "/agent.json",
    "/health/live",
    "/health/ready",
    "/api/openapi.json",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/ai-catalog.json",
    "/.well-known/ard.json",
];

/// Routes that anybody may call, and where somebody with credentials may see more.
const OPEN: &[(&str, &str)] = &[
    ("get", "/registry/agents"),
    ("get", "/registry/agents/{identifier}"),
    ("get", "/registry/agents/{identifier}/card"),
    ("get", "/registry/find"),
    ("post", "/registry/explore"),
    ("post", "/registry/search"),
];

#[tokio::test]
async fn every_route_but_the_public_ones_refuses_a_caller_without_credentials() {
    let world = World::new();
    key(&world, "acme", "admin");
    let served = world.serve().await;
    let (_, description) = served.get("/api/openapi.json").await;
    let mut refused = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let filled = path
                .replace("{id}", "00000000000000000000000000000000")
                .replace("{name}", "x")
                .replace("{prefix}", "x");
            for credential in
                [None, Some("saem_wrong"), Some("saem_aaaaaaaa_bbbbbbbb"), Some("e30.e30.e30")]
            {
                let (status, body) = patient(&served, method, &filled, credential).await;
                // Agents post to `/`, where people get the page.
                let is_public = PUBLIC.contains(&path.as_str()) && (path != "/" || method == "get");
                let is_open = OPEN.contains(&(method.as_str(), path.as_str()));
                if is_public || (is_open && credential.is_none()) {
                    assert!(status < 500 && status != 401, "{method} {path}: {status}");
                } else {
                    assert_eq!(status, 401, "{method} {path} {credential:?}: {body}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused >= 60, "the table was really walked: {refused}");
}

#[tokio::test]
async fn a_key_opens_what_its_scopes_say_and_nothing_after_it_is_revoked() {
    let world = World::new();
    let reader = key(&world, "acme", "read");
    let writer = key(&world, "acme", "write");
    let admin = key(&world, "acme", "admin");
    let served = world.serve().await;
    let document = json!({ "name": "a.txt", "text": "x" });
    for (who, get, post, keys) in
        [(&reader, 200, 403, 403), (&writer, 403, 202, 403), (&admin, 200, 202, 200)]
    {
        assert_eq!(call(&served, "GET", "/api/documents", Some(who), None).await.0, get);
        assert_eq!(
            call(&served, "POST", "/api/documents", Some(who), Some(&document)).await.0,
            post
        );
        assert_eq!(call(&served, "GET", "/api/keys", Some(who), None).await.0, keys);
    }
    let prefix = reader.split('_').nth(1).unwrap();
    let revoked = call(&served, "DELETE", &format!("/api/keys/{prefix}"), Some(&admin), None).await;
    assert_eq!(revoked.0, 204, "{}", revoked.1);
    assert_eq!(call(&served, "GET", "/api/documents", Some(&reader), None).await.0, 401);
    let in_query = format!("/api/documents?api_key={admin}");
    assert_eq!(call(&served, "GET", &in_query, None, None).await.0, 400);
}

/// Addresses that everybody may ask, each for their own.
fn open_to_all(foreign: &str, id: &str) -> Vec<String> {
    vec![
        format!("/api/search?q={foreign}"),
        format!("/api/search?q={foreign}&mode=keyword"),
        format!("/api/search?q={foreign}&mode=vector&count=100"),
        "/api/search?q=budget&count=100".to_owned(),
        format!("/api/search?filter=collection%3D{foreign}"),
        format!("/api/search?filter=document%3D{id}"),
        "/api/documents?limit=1000".to_owned(),
        "/api/documents?after=0".to_owned(),
        "/api/collections".to_owned(),
        "/api/jobs".to_owned(),
        "/api/keys".to_owned(),
        "/api/audit".to_owned(),
        "/api/sessions?limit=200".to_owned(),
        "/api/cost?by=session".to_owned(),
        "/v1/models".to_owned(),
    ]
}

/// Addresses of another tenant's things, each with one of the same form that names nothing.
fn theirs_and_nobodys(
    id: &str,
    job: &str,
    prefix: &str,
    turn: &str,
) -> Vec<(&'static str, String, String)> {
    let absent = "0".repeat(32);
    let session = turn.rsplit_once('.').unwrap().0;
    vec![
        ("GET", format!("/api/turns/{turn}"), format!("/api/turns/no.{}", "0".repeat(27))),
        ("GET", format!("/api/sessions/{session}"), "/api/sessions/none".to_owned()),
        ("DELETE", format!("/api/sessions/{session}"), "/api/sessions/none".to_owned()),
        ("GET", format!("/api/sessions/{session}/memory"), "/api/sessions/no/memory".to_owned()),
        ("GET", format!("/api/documents/{id}"), format!("/api/documents/{absent}")),
        (
            "GET",
            format!("/api/documents/{id}/sections"),
            format!("/api/documents/{absent}/sections"),
        ),
        ("DELETE", format!("/api/documents/{id}"), format!("/api/documents/{absent}")),
        ("GET", format!("/api/sections/{id}.0"), format!("/api/sections/{absent}.0")),
        ("GET", format!("/api/jobs/{job}"), "/api/jobs/none".to_owned()),
        ("DELETE", format!("/api/keys/{prefix}"), "/api/keys/zzzzzzzz".to_owned()),
    ]
}

#[tokio::test]
async fn nothing_of_one_tenant_reaches_another_by_any_way_in() {
    let world = World::new();
    let keys = [key(&world, "one", "admin"), key(&world, "two", "admin")];
    let served = world.serve().await;
    let canaries = ["canary-alpha-7731", "canary-omega-2209"];
    let mut turns = Vec::new();
    for (key, canary) in keys.iter().zip(canaries) {
        let text = format!("# Secret\n\nThe word is {canary}. 예산 알림 budget alert.");
        let body = json!({ "name": "secret.md", "text": text, "collection": canary });
        let (status, job) = call(&served, "POST", "/api/documents", Some(key), Some(&body)).await;
        assert_eq!(status, 202, "{job}");
        let path = format!("/api/jobs/{}", job["id"].as_str().unwrap());
        while call(&served, "GET", &path, Some(key), None).await.1["state"] == "waiting" {
            tokio::task::yield_now().await;
        }
        let question = json!({ "question": format!("{canary} budget alert"), "session": canary });
        let told = call(&served, "POST", "/api/chat", Some(key), Some(&question)).await.1;
        let told = crate::world::events(told.as_str().unwrap());
        let (name, turn) = told.last().unwrap();
        assert_eq!(name, "done");
        turns.push(turn["id"].as_str().unwrap().to_owned());
    }
    for (me, other) in [(0, 1), (1, 0)] {
        let (key, foreign) = (&keys[me], canaries[other]);
        let (_, theirs) = call(&served, "GET", "/api/documents", Some(&keys[other]), None).await;
        let id = theirs["documents"][0]["id"].as_str().unwrap();
        let (_, jobs) = call(&served, "GET", "/api/jobs", Some(&keys[other]), None).await;
        let job = jobs["jobs"][0]["id"].as_str().unwrap();
        let prefix = keys[other].split('_').nth(1).unwrap();
        for path in open_to_all(foreign, id) {
            let (status, body) = call(&served, "GET", &path, Some(key), None).await;
            assert!(!body.to_string().contains(foreign), "{path}: {body}");
            assert!(status == 200, "{path}: {status} {body}");
        }
        for (method, theirs, random) in theirs_and_nobodys(id, job, prefix, &turns[other]) {
            let forbidden = call(&served, method, &theirs, Some(key), None).await;
            let missing = call(&served, method, &random, Some(key), None).await;
            assert_eq!(forbidden, missing, "{method} {theirs}: absent and forbidden look the same");
            assert_eq!(forbidden.0, 404);
        }
    }
    for (key, canary) in keys.iter().zip(canaries) {
        let (_, found) =
            call(&served, "GET", &format!("/api/search?q={canary}"), Some(key), None).await;
        assert!(found.to_string().contains(canary), "one's own is there");
        assert_eq!(
            call(&served, "GET", "/api/keys", Some(key), None).await.0,
            200,
            "and no key was revoked"
        );
    }
}

#[tokio::test]
async fn credentials_that_disagree_and_foreign_origins_are_refused() {
    let world = World::new();
    let (one, two) = (key(&world, "one", "read"), key(&world, "two", "read"));
    let served = world.serve().await;
    let request =
        served.client.get(served.url("/api/documents")).bearer_auth(&one).header("x-api-key", &two);
    assert_eq!(answer(request.send().await.unwrap()).await.0, 400);
    let request = served
        .client
        .get(served.url("/api/documents"))
        .bearer_auth(&one)
        .header("origin", "https://evil.example");
    assert_eq!(answer(request.send().await.unwrap()).await.0, 403);
}
