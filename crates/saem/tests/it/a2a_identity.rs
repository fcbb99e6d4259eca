//! Who may read the card and call the agent: every way of proving it, on every operation, over all three bindings; and where the agent never goes.

mod inside;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::signature::KeyPair as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::a2a::{KEY, call, message, result};
use crate::chat::small;
use crate::peers::script_of;
use crate::world::{PATIENCE, Served, World};

/// Where the card is, for whatever generation.
const CARDS: [&str; 3] = ["/.well-known/agent-card.json", "/.well-known/agent.json", "/agent.json"];

/// Every method of JSON-RPC, by version.
const METHODS: [(&str, &[&str]); 3] = [
    (
        "1.0",
        &[
            "SendMessage",
            "SendStreamingMessage",
            "GetTask",
            "ListTasks",
            "CancelTask",
            "SubscribeToTask",
            "CreateTaskPushNotificationConfig",
            "GetTaskPushNotificationConfig",
            "ListTaskPushNotificationConfigs",
            "DeleteTaskPushNotificationConfig",
            "GetExtendedAgentCard",
        ],
    ),
    (
        "0.3",
        &[
            "message/send",
            "message/stream",
            "tasks/get",
            "tasks/cancel",
            "tasks/resubscribe",
            "tasks/pushNotificationConfig/set",
            "tasks/pushNotificationConfig/get",
            "tasks/pushNotificationConfig/list",
            "tasks/pushNotificationConfig/delete",
            "agent/getAuthenticatedExtendedCard",
        ],
    ),
    (
        "0.1",
        &[
            "tasks/send",
            "tasks/sendSubscribe",
            "tasks/pushNotification/set",
            "tasks/pushNotification/get",
        ],
    ),
];

/// Every operation over HTTP+JSON: those of 1.0 as they are, those of 0.3 below `/v1`.
const OPERATIONS: [(&str, &str); 11] = [
    ("POST", "/message:send"),
    ("POST", "/message:stream"),
    ("GET", "/tasks"),
    ("GET", "/tasks/x"),
    ("POST", "/tasks/x:cancel"),
    ("GET", "/tasks/x:subscribe"),
    ("POST", "/tasks/x/pushNotificationConfigs"),
    ("GET", "/tasks/x/pushNotificationConfigs"),
    ("GET", "/tasks/x/pushNotificationConfigs/y"),
    ("DELETE", "/tasks/x/pushNotificationConfigs/y"),
    ("GET", "/extendedAgentCard"),
];

/// How a request was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    /// The agent itself has answered, if only that the request makes no sense.
    LetIn,
    /// Somebody has to say who they are, or somebody else has to.
    Unknown,
    /// As if it were not there.
    NotThere,
    /// Not a word was said.
    Silence,
}

/// Whoever calls, and what they show.
struct Visitor<'a> {
    client: reqwest::Client,
    header: Option<(&'a str, String)>,
    /// The certificate for gRPC, if the server encrypts.
    certificates: Option<bool>,
}

impl<'a> Visitor<'a> {
    fn plain(header: Option<(&'a str, String)>) -> Self {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { client, header, certificates: None }
    }

    async fn ask(&self, verb: &str, url: String, version: &str, body: Option<Value>) -> Met {
        let request =
            self.client.request(verb.parse().unwrap(), url).header("A2A-Version", version);
        let request = match &self.header {
            Some((name, value)) => request.header(*name, value),
            None => request,
        };
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = loop {
            let again = request.try_clone().unwrap();
            let Ok(response) = again.send().await else { return Met::Silence };
            // Strangers may not ask as often as this.
            if response.status() != 429 {
                break response;
            }
            tokio::task::yield_now().await;
        };
        let status = response.status().as_u16();
        let kind = response.headers().get("content-type").cloned();
        let is_problem = kind.is_some_and(|kind| kind == "application/problem+json");
        match status {
            401 | 403 => Met::Unknown,
            404 if is_problem => Met::NotThere,
            500.. => panic!("{}", response.text().await.unwrap()),
            _ => Met::LetIn,
        }
    }

    /// Every cell of the table: what was asked, and how it was met.
    async fn tries_everything(&self, served: &Served) -> Vec<(String, Met)> {
        let mut met = Vec::new();
        for (version, methods) in METHODS {
            for method in methods {
                let body =
                    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "id": "x" } });
                let cell = self.ask("POST", served.url("/a2a"), version, Some(body)).await;
                met.push((format!("JSON-RPC {method}"), cell));
            }
        }
        for (version, below) in [("1.0", ""), ("0.3", "/v1")] {
            for (verb, path) in OPERATIONS {
                let url = served.url(&format!("/a2a{below}{path}"));
                let body = (verb == "POST").then(|| json!({}));
                let cell = self.ask(verb, url, version, body).await;
                met.push((format!("HTTP+JSON {version} {verb} {path}"), cell));
            }
        }
        met.extend(self.tries_grpc(served).await);
        met
    }

    async fn tries_grpc(&self, served: &Served) -> Vec<(String, Met)> {
        let mut script = script_of("a2a-1.3", "a2a_grpc.py");
        let (_, target) = served.address.split_once("://").unwrap();
        script.arg(target);
        if let Some((name, value)) = &self.header {
            script.args(["--header", name, value]);
        }
        if let Some(has_certificate) = self.certificates {
            script.arg("--ca").arg(tls("ca.test.pem"));
            if has_certificate {
                script.arg("--cert").arg(tls("client.test.pem"));
                script.arg("--key").arg(tls("client.test-key.pem"));
            }
        }
        let output = tokio::time::timeout(PATIENCE * 2, script.stderr(Stdio::piped()).output());
        let output = output.await.unwrap().unwrap();
        let said = crate::world::shown(&output);
        assert!(output.status.success(), "{said}");
        let lines = said.lines().filter(|line| line.starts_with('{'));
        let met = lines.map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let met = match line["code"].as_str().unwrap() {
                "UNAUTHENTICATED" | "PERMISSION_DENIED" => Met::Unknown,
                "UNIMPLEMENTED" => Met::NotThere,
                "UNAVAILABLE" => Met::Silence,
                "INTERNAL" | "UNKNOWN" | "DEADLINE_EXCEEDED" => panic!("{said}"),
                _ => Met::LetIn,
            };
            (format!("gRPC {}", line["method"].as_str().unwrap()), met)
        });
        let met: Vec<_> = met.collect();
        assert_eq!(met.len(), 21, "{said}");
        met
    }

    async fn reads_cards(&self, served: &Served) -> Vec<(String, Met)> {
        let mut met = Vec::new();
        for path in CARDS {
            met.push((path.to_owned(), self.ask("GET", served.url(path), "1.0", None).await));
        }
        met
    }
}

#[track_caller]
fn all(cells: &[(String, Met)], expected: Met, who: &str) {
    assert!(!cells.is_empty());
    let odd: Vec<_> = cells.iter().filter(|(_, met)| *met != expected).collect();
    assert!(odd.is_empty(), "{who}: {expected:?} was expected: {odd:?}");
}

fn tls(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
}

/// An issuer of tokens on this machine.
struct Issuer {
    port: u16,
    pair: ring::signature::EcdsaKeyPair,
    _server: tokio::task::JoinSet<()>,
}

impl Issuer {
    async fn start() -> Self {
        let text: String = KEY.lines().filter(|line| !line.starts_with('-')).collect();
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        let algorithm = &ring::signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let random = ring::rand::SystemRandom::new();
        let pair = ring::signature::EcdsaKeyPair::from_pkcs8(algorithm, &bytes, &random).unwrap();
        let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
        let keys = json!({ "keys": [{ "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "k",
            "x": BASE64.encode(x), "y": BASE64.encode(y) }] });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut server = tokio::task::JoinSet::new();
        server.spawn(async move {
            let body = keys.to_string();
            while let Ok((mut stream, _)) = listener.accept().await {
                let _head = stream.read(&mut [0; 4096]).await;
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _gone = stream.write_all(format!("{head}{body}").as_bytes()).await;
            }
        });
        Self { port, pair, _server: server }
    }

    /// A token with these claims put into the place of the usual ones.
    fn token(&self, changed: &Value) -> String {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let mut claims = json!({ "iss": "https://issuer.example.com", "aud": "saem", "sub": "mina", "tenant": "acme",
            "scope": "read write", "iat": now, "exp": now + 600 });
        for (name, value) in changed.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let header = json!({ "alg": "ES256", "kid": "k", "typ": "JWT" });
        let input =
            format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
        let random = ring::rand::SystemRandom::new();
        let signature = self.pair.sign(&random, input.as_bytes()).unwrap();
        format!("{input}.{}", BASE64.encode(signature))
    }
}

/// A server that takes keys and the issuer's tokens, with a card that only callers may read; and a key.
async fn guarded(world: &World, issuer: &Issuer) -> (Served, String) {
    let made = world.json(&["key", "create", "--scopes", "read,write"]).remove(0);
    let (port, keys) = (issuer.port.to_string(), format!("http://127.0.0.1:{}/keys", issuer.port));
    let served = world
        .serve_with(&[
            ("SAEM_A2A_CARD", "authenticated"),
            ("SAEM_AUTH_JWT_ISSUER", "https://issuer.example.com"),
            ("SAEM_AUTH_JWT_AUDIENCE", "saem"),
            ("SAEM_AUTH_JWKS_URL", &keys),
            ("SAEM_EGRESS_ALLOW_PRIVATE", "127.0.0.0/8"),
            ("SAEM_EGRESS_PORTS", &port),
            ("SAEM_SERVER_REQUESTS_PER_MINUTE_MAX", "100000"),
        ])
        .await;
    (served, made["key"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn keys_and_tokens_open_every_operation_over_every_binding_and_nothing_else_does() {
    let (world, issuer) = (World::new(), Issuer::start().await);
    let (served, key) = guarded(&world, &issuer).await;
    let bearer = |token: &str| Some(("Authorization", format!("Bearer {token}")));
    let good = [
        ("a key", bearer(&key)),
        ("a key in its own header", Some(("x-api-key", key.clone()))),
        ("a token", bearer(&issuer.token(&json!({})))),
    ];
    for (who, header) in good {
        let visitor = Visitor::plain(header);
        all(&visitor.tries_everything(&served).await, Met::LetIn, who);
        all(&visitor.reads_cards(&served).await, Met::LetIn, who);
    }
    // What is no key and no token at all is a mistake of the caller's, and is told as one.
    let word = served.client.post(served.url("/a2a")).json(&json!({}));
    let word = word.header("Authorization", "Basic bWluYTpodXNo").send().await.unwrap();
    assert_eq!(word.status(), 400);
    let signed = issuer.token(&json!({}));
    let (said, signature) = signed.rsplit_once('.').unwrap();
    let forged = format!("{said}.{}", signature.chars().rev().collect::<String>());
    let unsigned =
        format!("{}.{}.", BASE64.encode(r#"{"alg":"none"}"#), signed.split('.').nth(1).unwrap());
    let bad = [
        ("nobody", None),
        ("a made-up key", bearer(&format!("{key}x"))),
        ("a token for somebody else", bearer(&issuer.token(&json!({ "aud": "other" })))),
        (
            "a token of somebody else",
            bearer(&issuer.token(&json!({ "iss": "https://evil.example" }))),
        ),
        ("an old token", bearer(&issuer.token(&json!({ "exp": 1_000_000 })))),
        ("a token that may nothing", bearer(&issuer.token(&json!({ "scope": "" })))),
        ("a forged token", bearer(&forged)),
        ("an unsigned token", bearer(&unsigned)),
    ];
    for (who, header) in bad {
        let visitor = Visitor::plain(header);
        all(&visitor.tries_everything(&served).await, Met::Unknown, who);
        all(&visitor.reads_cards(&served).await, Met::Unknown, who);
    }
}

#[tokio::test]
async fn from_another_network_neither_card_nor_agent_are_there_whatever_one_shows() {
    let (world, issuer) = (World::new(), Issuer::start().await);
    let made = world.json(&["key", "create", "--scopes", "read,write"]).remove(0);
    let key = made["key"].as_str().unwrap();
    let header = || Some(("Authorization", format!("Bearer {key}")));
    let services = "/lf.a2a.v1.A2AService=10.1.0.0/16,/a2a.v1.A2AService=10.1.0.0/16";
    let hidden =
        format!("/a2a=10.1.0.0/16,/.well-known=10.1.0.0/16,/agent.json=10.1.0.0/16,{services}");
    let served = world.serve_with(&[("SAEM_SERVER_NETWORKS", &hidden)]).await;
    for header in [None, header()] {
        let visitor = Visitor::plain(header);
        all(&visitor.tries_everything(&served).await, Met::NotThere, "from outside");
        all(&visitor.reads_cards(&served).await, Met::NotThere, "from outside");
    }
    served.kill().await;
    let shown = hidden.replace("10.1.0.0/16", "127.0.0.0/8");
    let served = world.serve_with(&[("SAEM_SERVER_NETWORKS", &shown)]).await;
    let visitor = Visitor::plain(header());
    all(&visitor.tries_everything(&served).await, Met::LetIn, "from inside");
    all(&visitor.reads_cards(&served).await, Met::LetIn, "from inside");
    drop(issuer);
}

#[tokio::test]
async fn where_certificates_are_asked_for_no_operation_is_reached_without_one() {
    let world = World::new();
    let path = |name: &str| tls(name).display().to_string();
    let served = world
        .serve_with(&[
            ("SAEM_SERVER_TLS_CERTIFICATE", &path("server.test.pem")),
            ("SAEM_SERVER_TLS_KEY", &path("server.test-key.pem")),
            ("SAEM_SERVER_TLS_CLIENT_CA", &path("ca.test.pem")),
        ])
        .await;
    let read = |name: &str| std::fs::read(tls(name)).unwrap();
    for (has_certificate, expected) in [(true, Met::LetIn), (false, Met::Silence)] {
        let ca = reqwest::Certificate::from_pem(&read("ca.test.pem")).unwrap();
        let builder = reqwest::Client::builder().no_proxy().tls_certs_only([ca]);
        let builder = match has_certificate {
            true => {
                let pem = [read("client.test.pem"), read("client.test-key.pem")].concat();
                builder.identity(reqwest::Identity::from_pem(&pem).unwrap())
            }
            false => builder,
        };
        let client = builder.build().unwrap();
        let visitor = Visitor { client, header: None, certificates: Some(has_certificate) };
        let who = format!("with a certificate: {has_certificate}");
        all(&visitor.tries_everything(&served).await, expected, &who);
        all(&visitor.reads_cards(&served).await, expected, &who);
    }
}
