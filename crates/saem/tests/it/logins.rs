//! Logins at servers of tools, end to end: a browser, tokens that are renewed, and nothing of them to be read on disk.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::tool_server::{Answer, legacy, reads, said, tools};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

use crate::world::{PATIENCE, World, shown};

/// What every secret of the server begins with: wherever it turns up, something has leaked.
pub(crate) const SECRET: &str = "hush-hush";

/// A server of tools that wants to know who comes, and its login beside it.
pub(crate) struct Guarded {
    pub(crate) address: String,
    state: Arc<Mutex<State>>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct State {
    /// Codes that were given out, each with the challenge that its bearer has to meet.
    codes: HashMap<String, String>,
    access: BTreeSet<String>,
    refresh: BTreeSet<String>,
    issued: usize,
    renewed: usize,
    /// Whether its page asks; else everybody is let in at once.
    asks: bool,
    /// An address that it gives in place of one of its own.
    lie: Option<(&'static str, &'static str)>,
}

impl State {
    /// What it says of one of its addresses.
    fn told(&self, field: &str, honest: String) -> String {
        match self.lie {
            Some((name, address)) if name == field => address.to_owned(),
            _ => honest,
        }
    }
}

struct Request {
    method: String,
    target: String,
    token: Option<String>,
    body: Vec<u8>,
}

type Reply = (&'static str, Vec<(&'static str, String)>, Value);

impl Guarded {
    async fn start() -> Self {
        Self::start_as(State::default()).await
    }

    /// One that shows a person a page, with a link to let Saem in and one to refuse.
    pub(crate) async fn asking() -> Self {
        Self::start_as(State { asks: true, ..State::default() }).await
    }

    async fn start_as(state: State) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(state));
        let (shared, own) = (Arc::clone(&state), address.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(serve(stream, own.clone(), Arc::clone(&shared)));
            }
        });
        Self { address, state, _tasks: tasks }
    }

    /// Forgets every token that opens the door; those that renew it stay good.
    fn end_access(&self) {
        self.state.lock().unwrap().access.clear();
    }

    fn renewed(&self) -> usize {
        self.state.lock().unwrap().renewed
    }
}

async fn serve(stream: TcpStream, own: String, state: Arc<Mutex<State>>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = next(&mut stream).await {
        let (status, headers, body) = answer(&request, &own, &state);
        let (kind, body) = match body {
            Value::Null => ("application/json", String::new()),
            Value::String(page) => ("text/html", page),
            other => ("application/json", other.to_string()),
        };
        let mut head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-type: {kind}\r\n\r\n"));
        if stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await.is_err() {
            return;
        }
    }
}

async fn next(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let (mut first, mut token, mut length) = (String::new(), None, 0);
    stream.read_line(&mut first).await.ok()?;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => token = value.strip_prefix("Bearer ").map(str::to_owned),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let mut words = first.split(' ').map(str::to_owned);
    Some(Request { method: words.next()?, target: words.next()?, token, body })
}

fn answer(request: &Request, own: &str, state: &Mutex<State>) -> Reply {
    let mut state = state.lock().unwrap();
    let url = Url::parse(&format!("{own}{}", request.target)).unwrap();
    match (request.method.as_str(), url.path()) {
        ("POST", "/mcp") => match &request.token {
            Some(token) if state.access.contains(token) => tool(&request.body),
            _ => {
                let metadata = format!("{own}/.well-known/oauth-protected-resource/mcp");
                let metadata = state.told("resource_metadata", metadata);
                let wanted = format!("Bearer resource_metadata=\"{metadata}\", scope=\"notes\"");
                ("401 Unauthorized", vec![("www-authenticate", wanted)], Value::Null)
            }
        },
        ("GET", "/.well-known/oauth-protected-resource/mcp") => {
            let issuer = state.told("authorization_servers", own.to_owned());
            let about =
                json!({ "resource": format!("{own}/mcp"), "authorization_servers": [issuer] });
            ("200 OK", Vec::new(), about)
        }
        ("GET", "/.well-known/oauth-authorization-server") => {
            let endpoint = |field: &str, path: &str| state.told(field, format!("{own}/{path}"));
            let about = json!({
                "issuer": own, "jwks_uri": endpoint("jwks_uri", "jwks"),
                "authorization_endpoint": endpoint("authorization_endpoint", "authorize"),
                "token_endpoint": endpoint("token_endpoint", "token"),
                "registration_endpoint": endpoint("registration_endpoint", "register"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": true,
            });
            ("200 OK", Vec::new(), about)
        }
        ("POST", "/register") => {
            let mut client: Value = serde_json::from_slice(&request.body).unwrap();
            client["client_id"] = json!("client-1");
            ("201 Created", Vec::new(), client)
        }
        ("GET", "/authorize") => authorize(&url, own, &mut state),
        ("POST", "/token") => token(&request.body, own, &mut state),
        _ => ("404 Not Found", Vec::new(), Value::Null),
    }
}

/// The person says yes, or is asked first.
fn authorize(url: &Url, own: &str, state: &mut State) -> Reply {
    let asked: HashMap<String, String> = url.query_pairs().into_owned().collect();
    assert_eq!(asked["code_challenge_method"], "S256");
    assert_eq!(asked["resource"], format!("{own}/mcp"));
    let refusal = match asked.get("said").map(String::as_str) {
        None if state.asks => {
            let link = |said: &str, words: &str| format!("<a href='{url}&said={said}'>{words}</a>");
            let page = format!(
                "<!doctype html><title>Garden</title><h1>May Saem see your garden?</h1><p>{} {}",
                link("yes", "Let it in"),
                link("no", "Refuse")
            );
            return ("200 OK", Vec::new(), json!(page));
        }
        Some("no") => Some("access_denied"),
        _ => None,
    };
    let code = format!("{SECRET}-code-{}", state.codes.len());
    state.codes.insert(code.clone(), asked["code_challenge"].clone());
    let mut back = Url::parse(&asked["redirect_uri"]).unwrap();
    let (name, said) = match refusal {
        Some(error) => ("error", error),
        None => ("code", code.as_str()),
    };
    back.query_pairs_mut()
        .append_pair(name, said)
        .append_pair("state", &asked["state"])
        .append_pair("iss", own);
    ("302 Found", vec![("location", back.to_string())], Value::Null)
}

fn token(body: &[u8], own: &str, state: &mut State) -> Reply {
    let given: HashMap<String, String> = url::form_urlencoded::parse(body).into_owned().collect();
    let is_good = match given["grant_type"].as_str() {
        "authorization_code" => {
            let challenge = state.codes.remove(&given["code"]);
            challenge == Some(base64(&Sha256::digest(given["code_verifier"].as_bytes())))
        }
        "refresh_token" => {
            state.renewed += 1;
            state.refresh.remove(&given["refresh_token"])
        }
        _ => false,
    };
    if !is_good || given["resource"] != format!("{own}/mcp") {
        return ("400 Bad Request", Vec::new(), json!({ "error": "invalid_grant" }));
    }
    state.issued += 1;
    let (access, refresh) =
        (format!("{SECRET}-access-{}", state.issued), format!("{SECRET}-refresh-{}", state.issued));
    state.access.insert(access.clone());
    state.refresh.insert(refresh.clone());
    let tokens = json!({
        "access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh,
        "scope": "notes",
    });
    ("200 OK", Vec::new(), tokens)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let group = |part: &[u8]| {
        let number = part.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        let number = number << (8 * (3 - part.len()));
        let letter = |place: usize| char::from(LETTERS[(number >> (18 - 6 * place)) as usize & 63]);
        (0..=part.len()).map(letter).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

fn tool(body: &[u8]) -> Reply {
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let answer = legacy(&message, |method| match method {
        "tools/list" => tools(&message, &[reads("look")]),
        "tools/call" => said(&message, "the secret garden"),
        _ => Answer::Accepted,
    });
    match answer {
        Answer::Json(value) => ("200 OK", Vec::new(), value),
        _ => ("202 Accepted", Vec::new(), Value::Null),
    }
}

pub(crate) fn world(guarded: &Guarded) -> World {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    let server = json!({ "url": format!("{}/mcp", guarded.address) });
    let file = json!({ "mcpServers": { "guarded": server } }).to_string();
    std::fs::write(world.data().join("mcp.json"), file).unwrap();
    world
}

/// Logs in; the browser goes to the page that it is told, with `change` made to the address that it is sent back to.
async fn log_in(world: &World, change: impl Fn(&mut Url)) -> std::process::Output {
    let arguments = ["mcp", "login", "guarded", "--port", "0", "--json", "-v"];
    let mut child = world.start(&arguments, &[]);
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let browsing = async {
        let mut heard = String::new();
        let page = loop {
            let mut line = String::new();
            if errors.read_line(&mut line).await.unwrap() == 0 {
                return heard;
            }
            if line.trim().starts_with("http") {
                break line.trim().to_owned();
            }
            heard.push_str(&line);
        };
        _ = rustls::crypto::ring::default_provider().install_default();
        let none = reqwest::redirect::Policy::none();
        let browser = reqwest::Client::builder().no_proxy().redirect(none).build().unwrap();
        let sent_back = browser.get(&page).send().await.unwrap();
        let mut back: Url = sent_back.headers()["location"].to_str().unwrap().parse().unwrap();
        change(&mut back);
        let shown = browser.get(back).send().await.unwrap();
        assert_eq!(shown.status(), 200);
        errors.read_to_string(&mut heard).await.unwrap();
        heard
    };
    let heard = tokio::time::timeout(PATIENCE, browsing).await.expect("a page is named");
    let mut output =
        tokio::time::timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap();
    output.stderr = heard.into_bytes();
    output
}

#[track_caller]
fn look(world: &World) -> String {
    world.ok(&["mcp", "call", "guarded__look", "--yes"]).trim().to_owned()
}

/// Every file of a folder.
pub(crate) fn check_nothing_is_readable(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            check_nothing_is_readable(&path);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        let has_secret = bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
        assert!(!has_secret, "{} holds a secret", path.display());
    }
}

// Commands are waited for on a thread of their own while the server answers on another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_logs_in_with_a_browser_stays_in_and_is_forgotten() {
    let guarded = Guarded::start().await;
    let world = world(&guarded);
    let wanted = world.error(&["mcp", "call", "guarded__look", "--yes"]);
    assert!(wanted.contains("saem mcp login guarded"), "{wanted}");
    let output = log_in(&world, |_| {}).await;
    assert!(output.status.success(), "{}", shown(&output));
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(done, json!({ "server": "guarded", "logged_in": true }));
    assert!(!shown(&output).contains(SECRET), "{}", shown(&output));
    assert_eq!(look(&world), "the secret garden");
    assert_eq!(guarded.renewed(), 0);
    guarded.end_access();
    assert_eq!(look(&world), "the secret garden");
    assert_eq!(guarded.renewed(), 1, "a token that the server has forgotten is renewed");
    check_nothing_is_readable(&world.data());
    let key = std::fs::metadata(world.data().join("mcp-logins/key")).unwrap();
    assert_eq!(key.permissions().mode() & 0o077, 0);
    assert_eq!(world.json(&["mcp", "logout", "guarded"])[0]["logged_out"], true);
    assert_eq!(world.json(&["mcp", "logout", "guarded"])[0]["logged_out"], false);
    let wanted = world.error(&["mcp", "call", "guarded__look", "--yes"]);
    assert!(wanted.contains("saem mcp login guarded"), "{wanted}");
}

// Commands are waited for on a thread of their own while the server answers on another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_server_is_logged_in_and_out_by_commands_beside_it() {
    let guarded = Guarded::start().await;
    let world = world(&guarded);
    let served = world.serve().await;
    let wanted = world.error(&["mcp", "call", "guarded__look", "--yes"]);
    assert!(wanted.contains("saem mcp login guarded"), "{wanted}");
    let output = log_in(&world, |_| {}).await;
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(look(&world), "the secret garden");
    guarded.end_access();
    assert_eq!(look(&world), "the secret garden");
    check_nothing_is_readable(&world.data());
    let path = "/api/tool-servers/guarded/login";
    let elsewhere = json!({ "redirect": "https://evil.example.com/callback" });
    let (status, refused) = served.post(path, &elsewhere).await;
    assert_eq!(status, 400, "{refused}");
    let stray = json!({ "returned": "http://127.0.0.1:1/callback?code=a&state=b" });
    assert_eq!(served.post(&format!("{path}/finish"), &stray).await.0, 404);
    assert_eq!(world.json(&["mcp", "logout", "guarded"])[0]["logged_out"], true);
    let wanted = world.error(&["mcp", "call", "guarded__look", "--yes"]);
    assert!(wanted.contains("saem mcp login guarded"), "{wanted}");
}

// Commands are waited for on a thread of their own while the server answers on another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_comes_back_from_somewhere_else_logs_nobody_in() {
    let guarded = Guarded::start().await;
    let world = world(&guarded);
    let replaced = |name: &'static str, value: &'static str| {
        move |back: &mut Url| {
            let pairs: Vec<(String, String)> = back.query_pairs().into_owned().collect();
            let change = |(key, old): (String, String)| {
                if key == name { (key, value.to_owned()) } else { (key, old) }
            };
            let pairs: Vec<_> = pairs.into_iter().map(change).collect();
            back.query_pairs_mut().clear().extend_pairs(pairs);
        }
    };
    for (name, value) in [("state", "forged"), ("iss", "https://evil.net"), ("code", "guessed")] {
        let output = log_in(&world, replaced(name, value)).await;
        assert!(!output.status.success(), "{name}: {}", shown(&output));
        let wanted = world.error(&["mcp", "call", "guarded__look", "--yes"]);
        assert!(wanted.contains("saem mcp login guarded"), "{name}: {wanted}");
    }
}

/// Where a server must not send us.
const INSIDE: [&str; 6] = [
    "http://169.254.169.254/latest/meta-data",
    "https://10.0.0.1/token",
    "https://[fd00::1]/token",
    "https://[::ffff:10.0.0.1]/token",
    "https://2852039166/token",
    "file:///etc/passwd",
];

/// What is said where nothing was sent: by the guard, by the protocol's own rules, by the reader of addresses.
const REFUSALS: [&str; 4] = ["private or reserved", "only http", "rejecting", "invalid format"];

// Commands are waited for on a thread of their own while the server answers on another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_address_of_a_login_leads_inside() {
    let guarded = Guarded::start().await;
    let world = world(&guarded);
    for field in ["authorization_servers", "registration_endpoint", "token_endpoint"] {
        for address in INSIDE {
            guarded.state.lock().unwrap().lie = Some((field, address));
            let output = log_in(&world, |_| {}).await;
            let said = shown(&output);
            assert!(!output.status.success(), "{field} {address}: {said}");
            let is_refused = REFUSALS.iter().any(|words| said.contains(words));
            assert!(is_refused, "{field} {address}: {said}");
        }
    }
    // A description of the server is only looked for at the server: its own is found without being named.
    for address in INSIDE {
        guarded.state.lock().unwrap().lie = Some(("resource_metadata", address));
        let output = log_in(&world, |_| {}).await;
        let said = shown(&output);
        assert!(output.status.success(), "{address}: {said}");
        assert!(said.contains("rejecting resource metadata URL"), "{address}: {said}");
    }
    // Nobody asks for the keys of a login: tokens are for the server, not for us.
    guarded.state.lock().unwrap().lie = Some(("jwks_uri", INSIDE[0]));
    let output = log_in(&world, |_| {}).await;
    assert!(output.status.success(), "{}", shown(&output));
}
