//! Who gets in: hosts and origins, keys and scopes, tenants that never meet, and sessions that are their owner's alone.

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Caller, LEGACY, hello, modern};
use crate::tenants::key;
use crate::world::{Served, World};

/// Sends a request as it is written; gives the status of the answer.
async fn raw(served: &Served, path: &str, headers: &str, body: &str) -> u16 {
    let address = served.address.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let method = if body.is_empty() { "GET" } else { "POST" };
    let request = format!(
        "{method} {path} HTTP/1.1\r\n{headers}Accept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    String::from_utf8_lossy(&head[9..]).parse().unwrap()
}

#[tokio::test]
async fn only_its_own_names_and_pages_reach_the_endpoint() {
    let world = World::new();
    let served = world.serve_with(&[("SAEM_MCP_SSE", "true")]).await;
    let port = served.address.rsplit(':').next().unwrap().to_owned();
    let body = modern(1, "tools/list", json!({})).to_string();
    let host = |name: &str| format!("Host: {name}\r\n");
    let hosts = [
        (host(&format!("localhost:{port}")), 200),
        (host(&format!("127.0.0.1:{port}")), 200),
        (host(&format!("[::1]:{port}")), 200),
        (host("evil.com"), 421),
        (host(&format!("localhost.evil.com:{port}")), 421),
        (String::new(), 400),
        (format!("{}{}", host("localhost"), host("localhost")), 400),
    ];
    for (headers, status) in &hosts {
        assert_eq!(raw(&served, "/mcp", headers, &body).await, *status, "{headers:?}");
        assert_eq!(raw(&served, "/sse", headers, "").await, *status, "/sse {headers:?}");
    }
    let absolute = "http://evil.com/mcp";
    assert_ne!(raw(&served, absolute, &host("localhost"), &body).await, 200);
    for (origin, status) in [
        (format!("http://127.0.0.1:{port}"), 200),
        ("null".to_owned(), 403),
        ("http://evil.com".to_owned(), 403),
        ("http://localhost.evil".to_owned(), 403),
        ("http://127.0.0.1:1".to_owned(), 403),
        (format!("http://localhost:{port}"), 403),
    ] {
        let headers = format!("Host: 127.0.0.1:{port}\r\nOrigin: {origin}\r\n");
        assert_eq!(raw(&served, "/mcp", &headers, &body).await, status, "{origin}");
        assert_eq!(raw(&served, "/sse", &headers, "").await, status, "/sse {origin}");
    }
}

#[tokio::test]
async fn the_old_transport_is_off_unless_it_is_asked_for() {
    let served = World::new().serve().await;
    assert_eq!(served.get("/sse").await.0, 404);
    assert_eq!(served.post("/messages?session=x", &json!({})).await.0, 404);
}

#[tokio::test]
async fn a_tool_that_writes_needs_a_key_that_may_write() {
    let world = World::new();
    let (reader, writer) = (key(&world, "acme", "read"), key(&world, "acme", "read,write"));
    let served = world.serve().await;
    let nobody = Caller::of(&served, None).ask("tools/list", json!({})).await;
    assert_eq!(nobody.status, 401);
    assert!(nobody.challenge.contains("scope=\"saem:read\""), "{}", nobody.challenge);
    let call = json!({ "name": "ingest_document", "arguments": { "name": "a.md", "text": "tea" } });
    let refused = Caller::of(&served, Some(&reader)).ask("tools/call", call.clone()).await;
    assert_eq!(refused.status, 403);
    let wanted = "scope=\"saem:read saem:write\", error=\"insufficient_scope\"";
    assert!(refused.challenge.contains(wanted), "{}", refused.challenge);
    let old = Caller::of(&served, Some(&reader)).hello().await;
    assert_eq!(old.say_method("tools/call", call.clone()).await.status, 403);
    let done = Caller::of(&served, Some(&writer)).ask("tools/call", call).await;
    assert_eq!(done.result()["isError"], false);
}

#[tokio::test]
async fn a_client_without_a_token_is_told_where_to_get_one_and_for_what() {
    let world = World::new();
    let settings = [
        ("SAEM_AUTH_JWT_ISSUER", "https://issuer.example.com"),
        ("SAEM_AUTH_JWT_AUDIENCE", "saem"),
        ("SAEM_AUTH_JWKS_URL", "https://issuer.example.com/keys"),
        ("SAEM_AUTH_RESOURCE", "https://saem.example.com/"),
    ];
    let served = world.serve_with(&settings).await;
    let nobody = Caller::of(&served, None).ask("tools/list", json!({})).await;
    assert_eq!(nobody.status, 401);
    let metadata = "https://saem.example.com/.well-known/oauth-protected-resource/mcp";
    let challenge =
        format!("Bearer realm=\"saem\", resource_metadata=\"{metadata}\", scope=\"saem:read\"");
    assert_eq!(nobody.challenge, challenge);
    let (status, metadata) = served.get("/.well-known/oauth-protected-resource/mcp").await;
    assert_eq!((status, &metadata["resource"]), (200, &json!("https://saem.example.com/mcp")));
    let [issuer, audience, keys, _] = settings;
    let strange = [issuer, audience, keys, ("SAEM_AUTH_RESOURCE", "saem.example.com")];
    let refused = World::new().run_with(&["serve", "--listen", "127.0.0.1:0"], &strange);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("auth.resource"));
}

#[tokio::test]
async fn tenants_never_meet() {
    let world = World::new();
    let (ours, theirs) = (key(&world, "acme", "admin"), key(&world, "other", "admin"));
    let served = world.serve().await;
    let (ours, theirs) = (Caller::of(&served, Some(&ours)), Caller::of(&served, Some(&theirs)));
    let secret = json!({ "name": "secret.md", "text": "# Plan\n\nThe password is barley." });
    ours.call("ingest_document", secret).await;
    let asked = ours.call("ask", json!({ "question": "what is the password?" })).await;
    let listed = ours.ask("resources/list", json!({})).await;
    let uri = listed.result()["resources"][0]["uri"].as_str().unwrap().to_owned();
    let found = ours.call("search_all", json!({ "query": "password" })).await;
    let section = found["structuredContent"]["passages"][0]["section"].as_str().unwrap();

    let found = theirs.call("search_all", json!({ "query": "password barley" })).await;
    assert_eq!(found["structuredContent"]["passages"], json!([]));
    let listed = theirs.ask("resources/list", json!({})).await;
    assert_eq!(listed.result()["resources"], json!([]));
    let documents = theirs.call("list_documents", json!({})).await;
    assert_eq!(documents["structuredContent"]["documents"], json!([]));
    for uri in [uri.clone(), format!("{uri}/sections/1")] {
        let read = theirs.ask("resources/read", json!({ "uri": uri })).await;
        let random = format!("saem://documents/{:032}", 7);
        let absent = theirs.ask("resources/read", json!({ "uri": random })).await;
        let told = |answer: &Value| answer["error"]["message"].clone();
        assert_eq!(told(read.answer()), told(absent.answer()), "{}", read.answer());
    }
    let read = theirs.call("get_section", json!({ "section": section })).await;
    assert_eq!(read["isError"], true);
    let session = asked["structuredContent"]["session"].as_str().unwrap();
    let on = json!({ "question": "what did I ask before?", "session": session });
    let on = theirs.call("ask", on).await.to_string();
    assert!(!on.contains("barley"), "{on}");
    let completing = json!({
        "ref": { "type": "ref/resource", "uri": "saem://documents/{id}" },
        "argument": { "name": "id", "value": "" },
    });
    let completed = theirs.ask("completion/complete", completing).await;
    assert_eq!(completed.result()["completion"]["values"], json!([]));
}

#[tokio::test]
async fn a_session_is_its_owners_alone() {
    let world = World::new();
    let (ours, other) = (key(&world, "acme", "read"), key(&world, "acme", "read"));
    let theirs = key(&world, "other", "read");
    let served = world.serve().await;
    let session = Caller::of(&served, Some(&ours)).hello().await;
    assert_eq!(session.say_method("tools/list", json!({})).await.status, 200);
    for key in [&other, &theirs] {
        let thief = session.with_key(key);
        assert_eq!(thief.say_method("tools/list", json!({})).await.status, 404);
        for method in [reqwest::Method::GET, reqwest::Method::DELETE] {
            let status = thief.bare(method.clone()).send().await.unwrap().status().as_u16();
            // An end of what is not there is no error, and ends nothing.
            assert_eq!(status, if method == reqwest::Method::GET { 404 } else { 204 }, "{method}");
        }
    }
    assert_eq!(session.say_method("tools/list", json!({})).await.status, 200);
    let ended = session.bare(reqwest::Method::DELETE).send().await.unwrap();
    assert_eq!(ended.status(), 204);
    assert_eq!(session.say_method("tools/list", json!({})).await.status, 404);
}

#[tokio::test]
async fn two_hundred_clients_with_the_same_id_get_their_own_answers() {
    let world = World::new();
    let many = [
        ("SAEM_SERVER_REQUESTS_PER_MINUTE_MAX", "600000"),
        ("SAEM_SERVER_CONNECTIONS_PER_ADDRESS_MAX", "1000"),
    ];
    let served = world.serve_with(&many).await;
    let caller = Caller::of(&served, None);
    let one = |number: usize| {
        let caller = caller.clone();
        async move {
            let mine = format!("saem://documents/{number:032x}");
            let heard = caller.ask("resources/read", json!({ "uri": mine })).await;
            assert_eq!(heard.answer()["id"], 1);
            assert_eq!(heard.answer()["error"]["data"]["uri"], mine, "{}", heard.answer());
        }
    };
    for round in 0..5 {
        join_all((0..200).map(|number| one(round * 1000 + number))).await;
    }
    let sessions = join_all((0..200).map(|_| async { caller.hello().await })).await;
    let asking = sessions.iter().enumerate().map(|(number, session)| async move {
        let mine = format!("saem://documents/{number:032x}");
        let heard = session.say_method("resources/read", json!({ "uri": mine })).await;
        assert_eq!(heard.answer()["error"]["data"]["uri"], mine, "{}", heard.answer());
    });
    join_all(asking).await;
}

#[tokio::test]
async fn an_old_client_talks_over_the_old_transport() {
    let world = World::new();
    let (ours, theirs) = (key(&world, "acme", "read"), key(&world, "other", "read"));
    let served = world.serve_with(&[("SAEM_MCP_SSE", "true")]).await;
    let client = &served.client;
    assert_eq!(client.get(served.url("/sse")).send().await.unwrap().status(), 401);
    let mut stream = client.get(served.url("/sse")).bearer_auth(&ours).send().await.unwrap();
    let mut text = String::new();
    let endpoint = read_event(&mut stream, &mut text).await;
    assert!(endpoint.starts_with("/messages?session="), "{endpoint}");
    let post = |key: &str, body: Value| {
        client.post(served.url(&endpoint)).bearer_auth(key).json(&body).send()
    };
    assert_eq!(post(&theirs, hello(1)).await.unwrap().status(), 404);
    assert_eq!(post(&ours, hello(1)).await.unwrap().status(), 202);
    let answer: Value = serde_json::from_str(&read_event(&mut stream, &mut text).await).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], LEGACY);
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(post(&ours, initialized).await.unwrap().status(), 202);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert_eq!(post(&ours, list).await.unwrap().status(), 202);
    let answer: Value = serde_json::from_str(&read_event(&mut stream, &mut text).await).unwrap();
    assert_eq!(answer["result"]["tools"][0]["name"], "search_all");
    let call = json!({ "name": "ingest_document", "arguments": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call });
    assert_eq!(post(&ours, call).await.unwrap().status(), 403);
}

async fn read_event(stream: &mut reqwest::Response, text: &mut String) -> String {
    loop {
        if let Some((event, rest)) = text.split_once("\n\n") {
            let data = event.lines().find_map(|line| line.strip_prefix("data: "));
            let data = data.map(str::to_owned);
            *text = rest.to_owned();
            if let Some(data) = data {
                return data;
            }
            continue;
        }
        let piece = stream.chunk().await.unwrap().expect("the stream goes on");
        text.push_str(&String::from_utf8_lossy(&piece));
    }
}
