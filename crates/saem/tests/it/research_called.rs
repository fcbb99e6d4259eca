//! Research with a tool of an MCP server and with another agent, end to end: quotes of what they returned, approvals over
//! the API, and `kill -9` anywhere.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Output;

use serde_json::{Value, json};
use testkit::tool_server::{Answer, ToolServer, legacy, said, tools};

use crate::peers::snippet_server;
use crate::research::QUESTION;
use crate::world::{PATIENCE, Served, World, shown};

const SAID_BY_TOOL: &str = "A budget alert is sent when 80 percent of the monthly budget is spent. Budget alerts go to the owner by mail.";
const SAID_BY_AGENT: &str = "Budget alerts cost nothing for the first 10 budgets. Each further budget costs 2 dollars in a month.";

const SOURCES: &str = "tool:notes__find,agent:guide";

/// Writes after which every run here has ended: more would be a run that does not end.
const WRITES_MAX: u32 = 200;

/// A server with one tool that only reads.
async fn notes() -> ToolServer {
    let tool = json!({
        "name": "find", "description": "Finds notes.",
        "annotations": { "readOnlyHint": true, "openWorldHint": true },
        "inputSchema": { "type": "object", "properties": { "q": { "type": "string" } } },
    });
    ToolServer::start(move |request| {
        legacy(request, |method| match method {
            "tools/list" => tools(request, std::slice::from_ref(&tool)),
            "tools/call" => said(request, SAID_BY_TOOL),
            _ => Answer::Hangup,
        })
    })
    .await
}

/// An agent that answers every message at once.
async fn guide() -> ToolServer {
    ToolServer::start(|request| {
        let artifact = json!({ "artifactId": "a", "parts": [{ "text": SAID_BY_AGENT }] });
        let status = json!({ "state": "TASK_STATE_COMPLETED" });
        let task =
            json!({ "id": "t", "contextId": "c", "status": status, "artifacts": [artifact] });
        let result = json!({ "task": task });
        Answer::Json(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }))
    })
    .await
}

/// Somebody who has written both down.
struct Person {
    world: World,
    config: String,
    notes: ToolServer,
    guide: ToolServer,
}

impl Person {
    async fn new(trust: &str) -> Self {
        let (world, notes, guide) = (World::new(), notes().await, guide().await);
        std::fs::create_dir_all(world.data()).unwrap();
        let servers = json!({ "mcpServers": {
            "notes": { "url": notes.url, "trust": trust },
            "snippets": { "command": snippet_server(), "args": ["--dir", world.files()] },
        } });
        std::fs::write(world.data().join("mcp.json"), servers.to_string()).unwrap();
        let card = json!({
            "name": "Guide", "description": "Knows costs.", "version": "1",
            "supportedInterfaces": [
                { "url": guide.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }
            ],
            "capabilities": {}, "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"], "skills": [],
        });
        let card = world.file("guide.json", card.to_string());
        let settings = format!("[agents.guide]\ncard = {:?}\n", card.display().to_string());
        let config = world.file("saem.toml", settings).display().to_string();
        Self { world, config, notes, guide }
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let all = [&["research"], arguments, &["--json", "--config", &self.config]].concat();
        self.world.run_with(&all, environment)
    }

    fn research(&self, environment: &[(&str, &str)]) -> Output {
        self.run(&[QUESTION, "--yes", "--sources", SOURCES], environment)
    }

    /// How often each question was put to each of the two.
    fn asked(&self) -> BTreeMap<String, usize> {
        let tool = self.notes.messages("tools/call");
        let tool = tool.iter().map(|call| format!("tool {}", call["params"]["arguments"]["q"]));
        let agent = self.guide.messages("SendMessage");
        let text = |call: &Value| call["params"]["message"]["parts"][0]["text"].to_string();
        let agent = agent.iter().map(|call| format!("agent {}", text(call)));
        let mut counts = BTreeMap::new();
        tool.chain(agent).for_each(|asked| *counts.entry(asked).or_default() += 1);
        counts
    }
}

fn report(output: &Output) -> Value {
    assert!(output.status.success(), "{}", shown(output));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    last["report"].clone()
}

/// Every quote of a report stands where it says, in what was returned; gives whose words were quoted.
fn check_quotes(report: &Value) -> (bool, bool) {
    let sections = report["sections"].as_array().unwrap().iter();
    let claims = sections.flat_map(|section| section["claims"].as_array().unwrap());
    let citations = claims.flat_map(|claim| claim["citations"].as_array().unwrap());
    let place = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let mut by = (false, false);
    for citation in citations {
        let range = place(&citation["start"])..place(&citation["end"]);
        let quote = citation["quote"].as_str();
        let (tool, agent) = (SAID_BY_TOOL.get(range.clone()), SAID_BY_AGENT.get(range));
        assert!(tool == quote || agent == quote, "{citation}");
        by = (by.0 || tool == quote, by.1 || agent == quote);
    }
    by
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_and_an_agent_are_quoted_and_a_run_that_is_killed_anywhere_repeats_nothing() {
    let person = Person::new("trusted").await;
    let whole = report(&person.research(&[]));
    assert_eq!(check_quotes(&whole), (true, true), "{whole:#}");
    let titles: Vec<&Value> =
        whole["sources"].as_array().unwrap().iter().map(|source| &source["title"]).collect();
    assert!(titles.iter().any(|title| title.to_string().contains("notes__find: ")), "{titles:?}");
    let each = person.asked();
    assert!(each.len() > 3 && each.values().all(|count| *count == 1), "{each:?}");
    for count in 1..WRITES_MAX {
        let before = person.asked();
        let point = format!("store.after_commit:{count}");
        let killed = person.research(&[("SAEM_FAILPOINT", &point)]);
        if killed.status.success() {
            assert!(count > 3, "{count}");
            return;
        }
        assert_eq!(killed.status.signal(), Some(6), "{}", shown(&killed));
        let runs = person.run(&["--list"], &[]);
        let runs = String::from_utf8(runs.stdout).unwrap();
        let newest: Value = serde_json::from_str(runs.lines().next().unwrap()).unwrap();
        if newest["state"] != "unfinished" {
            continue;
        }
        let resumed = report(&person.run(&["--resume", newest["id"].as_str().unwrap()], &[]));
        check_quotes(&resumed);
        for (asked, times) in person.asked() {
            let times = times - before.get(&asked).copied().unwrap_or(0);
            // A tool that only reads may be asked again what it was being asked; an agent may not.
            let most = if asked.starts_with("tool") { 2 } else { 1 };
            assert!(times <= most, "killed at write {count}: {asked} {times} times");
        }
    }
    panic!("the run does not end");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_searched_is_said_before_a_run_begins() {
    let person = Person::new("untrusted").await;
    for (source, words) in [
        ("tool:nobody__find", "there is no such server; there are"),
        ("tool:notes__lose", "there are notes__find"),
        ("tool:snippets__list_snippets", "no argument for what is searched"),
        ("agent:nobody", "no such agent in the configuration; there are guide"),
        ("agent:urn:air:example.com:x", "no such agent in the catalogue"),
    ] {
        let output = person.run(&[QUESTION, "--yes", "--sources", source], &[]);
        assert!(!output.status.success() && shown(&output).contains(words), "{}", shown(&output));
    }
    // Nobody is there to say yes: the tool is out, and the agent answers.
    let report = report(&person.research(&[]));
    assert_eq!(check_quotes(&report), (false, true), "{report:#}");
    assert_eq!(person.notes.count("tools/call"), 0);
    assert!(report.to_string().contains("tool:notes__find did not answer"), "{report:#}");
}

/// The call that a run asks about.
async fn asked_about(served: &Served, id: &str) -> String {
    let asked = async {
        loop {
            let (_, run) = served.get(&format!("/api/research/{id}")).await;
            if let Some(call) = run["progress"]["awaits"][0]["allow"].as_str() {
                return call.to_owned();
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.expect("it asks")
}

async fn ended(served: &Served, id: &str) -> Value {
    let ended = async {
        loop {
            let path = format!("/api/research/{id}/report?format=json");
            let (status, report) = served.get(&path).await;
            if status == 200 {
                return report;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.expect("it ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_allowed_or_done_without_over_the_api() {
    let person = Person::new("untrusted").await;
    let settings = std::fs::read_to_string(&person.config).unwrap();
    let quota = [("SAEM_SERVER_REQUESTS_PER_MINUTE_MAX", "600000")];
    let served = person.world.serve_configured(&settings, &quota).await;
    let sources = json!(["tool:notes__find", "agent:guide"]);
    let body = json!({ "question": QUESTION, "approval": "given", "sources": sources });
    for (control, by) in [("do_without", (false, true)), ("allow", (true, true))] {
        let (status, run) = served.post("/api/research", &body).await;
        assert_eq!(status, 201, "{run}");
        let id = run["id"].as_str().unwrap();
        let call = asked_about(&served, id).await;
        assert_eq!(person.notes.count("tools/call"), 0, "nothing is sent before the yes");
        let word = json!({ "control": control, "call": call });
        let (status, run) = served.post(&format!("/api/research/{id}/control"), &word).await;
        assert_eq!(status, 200, "{run}");
        assert_eq!(check_quotes(&ended(&served, id).await), by, "{control}");
        let late = served.post(&format!("/api/research/{id}/control"), &word).await;
        assert_eq!(late.0, 409, "{late:?}");
    }
    assert!(person.notes.count("tools/call") > 1, "one yes is for the whole run");
    let (_, activity) = served.get("/api/activity").await;
    let noted = activity["activity"].as_array().unwrap().len();
    assert_eq!(noted, person.notes.count("tools/call"), "{activity}");
}
