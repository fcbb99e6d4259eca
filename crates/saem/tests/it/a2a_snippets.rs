//! What the documents on agents tell people to type works as it stands there: every block of theirs is run.
//!
//! A block has a mark before it, `<!-- run: NAME -->`, and a test below that runs it. Only addresses, ids and ports are put into the place
//! of those that nobody has.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::a2a::kit;
use crate::chat::small;
use crate::world::{Served, World, answer, shown};

const DOCUMENTS: [&str; 3] = ["a2a.md", "a2a-client.md", "registry.md"];

/// The blocks that are run below.
const RUN: [&str; 8] = [
    "serve-an-agent",
    "card-for-callers",
    "signed-card",
    "networks",
    "ask-agents",
    "write-agents-down",
    "catalogue",
    "disclosure",
];

fn document(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// The blocks of a document, each with its mark and its language.
fn blocks(text: &str) -> Vec<(Option<String>, String, String)> {
    let (mut blocks, mut mark, mut lines) = (Vec::new(), None, text.lines());
    while let Some(line) = lines.next() {
        let named = line.strip_prefix("<!-- run: ").and_then(|rest| rest.strip_suffix(" -->"));
        if let Some(language) = line.strip_prefix("```") {
            let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((mark.take(), language.to_owned(), inside.join("\n")));
        } else {
            mark = named.map(str::to_owned);
        }
    }
    blocks
}

/// The block with this mark.
fn block(mark: &str) -> String {
    let all = DOCUMENTS.iter().flat_map(|name| blocks(&document(name)));
    let mut found = all.filter(|(name, ..)| name.as_deref() == Some(mark));
    let (_, _, text) = found.next().unwrap_or_else(|| panic!("no block is marked {mark}"));
    assert!(found.next().is_none(), "two blocks are marked {mark}");
    text
}

#[test]
fn every_block_is_run() {
    let mut marks = BTreeSet::new();
    for name in DOCUMENTS {
        for (mark, language, text) in blocks(&document(name)) {
            assert!(["bash", "toml", "json"].contains(&language.as_str()), "{name}: {language}");
            marks.insert(mark.unwrap_or_else(|| panic!("{name}: nobody runs\n{text}")));
        }
    }
    assert_eq!(marks, RUN.iter().map(|mark| (*mark).to_owned()).collect());
}

/// A person at a terminal, with a world of their own.
struct Person {
    world: World,
    environment: Vec<(&'static str, String)>,
}

impl Person {
    /// `configuration` is what the person has written down.
    fn with(world: World, configuration: &str) -> Self {
        let file = world.file("saem.toml", configuration).display().to_string();
        let (program, data) = (env!("CARGO_BIN_EXE_saem"), world.data());
        let script = format!(
            "#!/bin/sh\nexec '{program}' \"$@\" --data '{}' --config '{file}'\n",
            data.display()
        );
        let saem = world.file("bin/saem", script);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(saem, mode).unwrap();
        Self { world, environment: vec![("SAEM_MODELS_DISCOVER", "false".to_owned())] }
    }

    fn shell(&self, text: &str) -> Command {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.world.files().join("bin").display());
        let mut command = Command::new("sh");
        command.args(["-e", "-c", text]).current_dir(self.world.files()).env("PATH", path);
        command.env_remove("SAEM_DATA").env("NO_PROXY", "*").env("no_proxy", "*");
        command.envs(self.environment.iter().map(|(name, value)| (*name, value.as_str())));
        command
    }

    /// Types what stands in a block, with some of it put into the place of other; gives what is shown.
    #[track_caller]
    fn types(&self, text: &str, instead: &[(&str, &str)]) -> String {
        let text = instead.iter().fold(text.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from} is not in\n{text}");
            text.replace(from, to)
        });
        let output = self.shell(&text).output().unwrap();
        assert!(output.status.success(), "{text}\n{}", shown(&output));
        shown(&output)
    }

    /// Types the line of a block that starts a server, on a free port.
    async fn starts(&self, line: &str) -> Served {
        let line = match line.contains("--listen") {
            true => line.replace("127.0.0.1:7777", "127.0.0.1:0"),
            false => format!("{line} --listen 127.0.0.1:0"),
        };
        Served::start(self.shell(&format!("exec env {line}")).into()).await
    }
}

/// A block in two: the line that starts a server, and the rest.
fn around_server(text: &str) -> (String, String) {
    let (serving, rest): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.contains("saem serve"));
    assert_eq!(serving.len(), 1, "{text}");
    (serving[0].to_owned(), rest.join("\n"))
}

#[tokio::test]
async fn an_agent_is_shown_to_others() {
    let person = Person::with(small(), "");
    let (line, rest) = around_server(&block("serve-an-agent"));
    let served = person.starts(&line).await;
    let (_, address) = served.address.split_once("://").unwrap();
    let said = person.types(&rest, &[("127.0.0.1:7777", address)]);
    assert!(
        said.contains("supportedInterfaces") && said.contains("TASK_STATE_COMPLETED"),
        "{said}"
    );
    assert!(said.contains("threshold is crossed"), "{said}");
}

#[tokio::test]
async fn a_card_is_for_callers_alone() {
    let person = Person::with(World::new(), &block("card-for-callers"));
    let made = person.types("saem key create --scopes read --json", &[]);
    let made: Value = serde_json::from_str(made.trim()).unwrap();
    let served = person.starts("saem serve").await;
    let card = served.url("/.well-known/agent-card.json");
    assert_eq!(served.client.get(&card).send().await.unwrap().status(), 401);
    let request = served.client.get(&card).bearer_auth(made["key"].as_str().unwrap());
    let (status, card) = answer(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{card}");
    assert_eq!(card["supportedInterfaces"][0]["url"], "https://saem.example.com/a2a", "{card}");
}

#[tokio::test]
async fn a_card_is_signed() {
    let person = Person::with(World::new(), "");
    let (line, rest) = around_server(&block("signed-card"));
    person.types(&rest, &[]);
    let served = person.starts(&line).await;
    let (_, card) = served.get("/.well-known/agent-card.json").await;
    assert!(card["signatures"][0]["signature"].is_string(), "{card}");
    assert_eq!(served.get("/.well-known/jwks.json").await.1["keys"][0]["kty"], "EC");
}

#[tokio::test]
async fn a_card_is_there_for_a_network_alone() {
    let person = Person::with(World::new(), &block("networks"));
    let served = person.starts("saem serve").await;
    assert_eq!(served.get("/.well-known/agent-card.json").await.0, 404);
    assert_eq!(served.get("/a2a/extendedAgentCard").await.0, 200);
}

#[tokio::test]
async fn agents_are_asked() {
    let (world, catalogue) = (World::new(), World::new());
    let agent = kit(&world).await;
    let registry = catalogue.serve().await;
    let person = Person::with(world, &format!("[agents.painter]\nurl = \"{}\"\n", agent.address));
    let task = |words: &str| {
        let text = format!("saem a2a send painter {words} --no-wait --json");
        let said: Value = serde_json::from_str(person.types(&text, &[]).trim()).unwrap();
        said["task"]["id"].as_str().unwrap().to_owned()
    };
    let (asks, works) = (task("tck-input-required"), task("tck-cancel"));
    let said = person.types(
        &block("ask-agents"),
        &[
            ("https://agents.example.com", &agent.address),
            ("https://catalogue.example.com/ard", &registry.url("/registry")),
            ("7f3a", &asks),
            ("c0de", &works),
        ],
    );
    assert!(said.contains("A2A 1.0") && said.contains("not signed"), "{said}");
    assert!(said.contains(&format!("{works}: canceled")), "{said}");
}

#[tokio::test]
async fn agents_are_written_down() {
    let world = World::new();
    let agent = kit(&world).await;
    let (_, card) = agent.get("/.well-known/agent-card.json").await;
    let file =
        |name: &str, value: &Value| world.file(name, value.to_string()).display().to_string();
    let (card, keys) = (file("clerk-card.json", &card), file("keys.json", &json!({ "keys": [] })));
    let configuration = block("write-agents-down")
        .replace("/etc/saem/clerk-card.json", &card)
        .replace("/etc/saem/clerk-keys.json", &keys);
    let mut person = Person::with(world, &configuration);
    person.environment.push(("PAINTER_TOKEN", "hush".to_owned()));
    let said = person.types("saem mcp list --json", &[]);
    for name in ["painter", "clerk", "translator"] {
        assert!(said.contains(&format!("\"{name}\"")), "{name}: {said}");
    }
    assert!(!said.contains("hush"), "{said}");
    let refused = person.shell("saem a2a card clerk").output().unwrap();
    assert!(!refused.status.success(), "a card that has to be signed and is not: {refused:?}");
}

#[tokio::test]
async fn a_catalogue_is_filled_and_asked() {
    let world = World::new();
    let agent = kit(&world).await;
    let port = agent.address.rsplit(':').next().unwrap().to_owned();
    let mut person = Person::with(world, "");
    person.environment.push(("SAEM_EGRESS_ALLOW_PRIVATE", "127.0.0.0/8".to_owned()));
    person.environment.push(("SAEM_EGRESS_PORTS", port));
    let card = json!({
        "name": "Painter", "description": "그림을 그립니다. Draws pictures.", "version": "1.0.0",
        "supportedInterfaces": [
            { "url": "https://painter.example.com/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
        "capabilities": { "streaming": true },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["image/png"],
        "skills": [{ "id": "paint", "name": "이미지 생성", "description": "Generates images", "tags": ["image"] }],
    });
    person.world.file("card.json", card.to_string());
    let instead = [("https://painter.example.com ", &*format!("{} ", agent.address))];
    let said = person.types(&block("catalogue"), &instead);
    assert!(said.matches("urn:air:painter.example.com:painter").count() >= 3, "{said}");
}

#[tokio::test]
async fn a_disclosure_is_given() {
    let world = World::new();
    let agent = kit(&world).await;
    let port = agent.address.rsplit(':').next().unwrap().to_owned();
    let environment =
        [("SAEM_EGRESS_ALLOW_PRIVATE", "127.0.0.0/8"), ("SAEM_EGRESS_PORTS", port.as_str())];
    let served = world.serve_with(&environment).await;
    let body = block("disclosure").replace("https://painter.example.com", &agent.address);
    let (status, made) =
        served.post("/registry/agents", &serde_json::from_str(&body).unwrap()).await;
    assert!((200..300).contains(&status), "{status} {made}");
}
