//! Addresses that strangers give: as a webhook, a file, a card or a key none leads inside.

use super::*;

/// Counts who comes.
async fn inside() -> (u16, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    (port, count)
}

/// Addresses that lead inside, however they are written; or nowhere that a web address leads.
fn corpus(port: u16) -> Vec<String> {
    let hosts = [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "[fe80::1]",
        "[fc00::1]",
        "224.0.0.1",
        "255.255.255.255",
        "user:hush@127.0.0.1",
        "127.0.0.1%00.example.com",
        "①②⑦.0.0.1",
    ];
    let mut corpus: Vec<String> =
        hosts.iter().map(|host| format!("http://{host}:{port}/hush")).collect();
    corpus.extend(hosts.iter().map(|host| format!("https://{host}:{port}/hush")));
    let odd = [
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "gopher://127.0.0.1:70/x",
        "data:text/plain,x",
        "//127.0.0.1/x",
        "",
        "http://",
    ];
    corpus.extend(odd.map(str::to_owned));
    corpus
}

#[tokio::test]
async fn no_address_from_outside_leads_inside_as_a_webhook_a_file_a_card_or_a_key() {
    let world = small();
    let (port, came) = inside().await;
    let open = port.to_string();
    // The port alone would not let it be refused.
    let environment = [
        ("SAEM_EGRESS_PORTS", open.as_str()),
        ("SAEM_SERVER_REQUESTS_PER_MINUTE_MAX", "100000"),
        ("SAEM_LOG_LEVEL", "error"),
    ];
    let served = world.serve_with(&environment).await;
    let mut waiting = message("tck", None);
    waiting["configuration"] = json!({ "returnImmediately": true });
    let task = result(&served, "1.0", "SendMessage", waiting).await["task"]["id"].clone();
    for url in corpus(port) {
        let hook = json!({ "id": "h", "url": url });
        let mut sent = message("m", None);
        sent["configuration"] = json!({ "taskPushNotificationConfig": hook });
        for method in ["SendMessage", "SendStreamingMessage"] {
            let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": sent });
            let request = served.client.post(served.url("/a2a")).header("A2A-Version", "1.0");
            let answer = request.json(&body).send().await.unwrap();
            assert_eq!(answer.status(), 200, "{url}");
            // To its end: what it would tell has then been told.
            answer.bytes().await.unwrap();
        }
        let mut set = hook.clone();
        set["taskId"] = task.clone();
        call(&served, "1.0", "CreateTaskPushNotificationConfig", set).await;

        let parts = json!([{ "text": "What does the file say?" }, { "url": url, "mediaType": "text/plain" }]);
        let asked = json!({ "message": { "messageId": "f", "role": "ROLE_USER", "parts": parts } });
        call(&served, "1.0", "SendMessage", asked).await;

        let (status, refused) = served.post("/registry/agents", &json!({ "url": url })).await;
        // A name that nobody has does not answer.
        assert!((400..500).contains(&status) || status == 502, "{url}: {status} {refused}");
        let (status, refused) =
            served.post("/registry/agents", &json!({ "card": signed(&url) })).await;
        // An owner of the folder may vouch for a card; nobody has asked for its keys.
        assert!(status < 500, "{url}: {status} {refused}");
    }
    assert_eq!(came.load(Ordering::Relaxed), 0, "nobody came in");
}

/// A card that says that its keys are at an address.
fn signed(jku: &str) -> Value {
    let protected = json!({ "alg": "ES256", "kid": "k", "typ": "JOSE", "jku": jku });
    json!({
        "name": "Liar", "description": "Lies.", "version": "1",
        "supportedInterfaces": [{ "url": "https://liar.example.com/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "lie", "name": "Lie", "description": "Lies.", "tags": ["x"] }],
        "signatures": [{ "protected": BASE64.encode(protected.to_string()), "signature": BASE64.encode([7; 64]) }],
    })
}
