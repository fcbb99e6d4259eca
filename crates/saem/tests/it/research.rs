//! Research over the command line: a report whose every quote stands in its document, also after `kill -9` anywhere.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::model_server::{Answer, ModelServer};

use crate::world::{World, shown};

const ALERTS: &str = "# Alerts\n\nA budget alert is sent when 80 percent of the monthly budget is spent. Budget alerts go to the owner by mail.\n";
const COSTS: &str = "# Costs\n\nBudget alerts cost nothing for the first 10 budgets. Each further budget costs 2 dollars in a month.\n";

pub(crate) const QUESTION: &str = "How do budget alerts work and what do they cost?";

/// Writes after which every run here has ended: more would be a run that does not end.
const WRITES_MAX: u32 = 200;

pub(crate) fn library() -> World {
    let world = World::new();
    world.file("alerts.md", ALERTS);
    world.file("costs.md", COSTS);
    world.ok(&[
        "ingest",
        world.files().to_str().unwrap(),
        "--collection",
        "guides",
        "--type",
        "guide",
    ]);
    world
}

/// Answers every question of a run from what it is shown.
pub(crate) fn played(request: &Value) -> Answer {
    let name = request["response_format"]["json_schema"]["name"].as_str().unwrap_or_default();
    let answer = match name {
        "plan" => json!({
            "strategy": "alerts, then costs", "estimated_seconds": 10, "steps": [
                {"description": "how budget alerts work", "sources": ["local"], "keywords": ["budget alert"]},
                {"description": "what budget alerts cost", "sources": ["local"], "keywords": ["alert cost"]},
            ],
        }),
        "assessment" => json!({
            "relevance": 0.9, "coverage": 0.9, "needs_more_search": false, "feedback": "enough",
            "more_keywords": [], "structure": ["Alerts", "Costs"],
        }),
        "section" => {
            let quotes = [
                "A budget alert is sent when 80 percent of the monthly budget is spent.",
                "Budget alerts cost nothing for the first 10 budgets.",
            ];
            let shown = request["messages"][1]["content"].as_str().unwrap();
            let sources = shown.split("<<<source [").skip(1);
            let claims = sources.filter_map(|source| {
                let number: u32 = source.split(']').next()?.parse().ok()?;
                let quote = quotes.iter().find(|quote| source.contains(**quote))?;
                let heading = shown.rsplit("Write the section: ").next()?;
                let text = format!("{heading}: {quote}");
                Some(json!({"text": text, "citations": [{"source": number, "quote": quote}]}))
            });
            json!({"claims": claims.collect::<Vec<_>>(), "not_found": []})
        }
        other => panic!("nobody asks for {other}: {request:#}"),
    };
    Answer::text(answer.to_string())
}

/// A report without what differs from run to run: names and times.
pub(crate) fn lasting(report: &Value) -> Value {
    let sections = report["sections"].as_array().unwrap().iter().map(|section| {
        let claims = section["claims"].as_array().unwrap().iter().map(|claim| {
            let citations = claim["citations"].as_array().unwrap().iter().map(|citation| {
                json!([citation["quote"], citation["start"], citation["end"], citation["verdict"]])
            });
            json!([claim["text"], claim["is_supported"], citations.collect::<Vec<_>>()])
        });
        json!([section["heading"], claims.collect::<Vec<_>>()])
    });
    json!([sections.collect::<Vec<_>>(), report["not_found"], report["ended"]])
}

pub(crate) fn report(output: &std::process::Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    last["report"].clone()
}

/// What makes this model Saem's.
pub(crate) fn environment(model: &ModelServer) -> [(&str, &str); 2] {
    [("SAEM_MODELS_BASE_URL", &model.base_url), ("SAEM_MODELS_MODEL", "gpt-5-nano")]
}

/// Kills runs of these arguments, each after one write more than the last: all come to the same report, and ask the model as
/// often as a run that nobody kills.
pub(crate) fn outlives_every_write(
    world: &World,
    model: &ModelServer,
    arguments: &[&str],
    asked: usize,
    expected: &Value,
) {
    let environment = environment(model);
    let newest = || world.json(&["research", "--list"]).remove(0);
    let mut last = newest()["id"].clone();
    for (kills, count) in (1..WRITES_MAX).enumerate() {
        let before = model.requests().len();
        let point = format!("store.after_commit:{count}");
        let killed =
            world.run_with(arguments, &[&environment[..], &[("SAEM_FAILPOINT", &point)]].concat());
        if killed.status.success() {
            assert!(kills > 3, "{kills}");
            return;
        }
        assert_eq!(killed.status.signal(), Some(6), "{}", shown(&killed));
        let newest = newest();
        let is_begun = newest["id"] != last;
        last = newest["id"].clone();
        // One that has ended lacks nothing but the end of its process.
        if is_begun && newest["state"] == "unfinished" {
            let id = last.as_str().unwrap();
            let resumed = world.run_with(&["research", "--resume", id, "--json"], &environment);
            assert!(resumed.status.success(), "{}", shown(&resumed));
            assert_eq!(lasting(&report(&resumed)), *expected, "killed at write {count}");
        }
        let wanted = if is_begun { asked } else { 0 };
        assert_eq!(model.requests().len() - before, wanted, "killed at write {count}");
    }
    panic!("the run does not end");
}

#[test]
fn a_report_without_a_model_quotes_the_documents_word_for_word() {
    let world = library();
    let said = world.json(&["research", QUESTION, "--yes"]);
    let report = &said.last().unwrap()["report"];
    let claims: Vec<&Value> = report["sections"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|section| section["claims"].as_array().unwrap())
        .collect();
    assert!(!claims.is_empty(), "{report:#}");
    for claim in claims {
        assert_eq!(claim["is_supported"], true);
        for citation in claim["citations"].as_array().unwrap() {
            let quote = citation["quote"].as_str().unwrap();
            assert!(ALERTS.contains(quote) || COSTS.contains(quote), "{quote}");
        }
    }
    let messages = &said[..said.len() - 1];
    for (number, message) in (1..).zip(messages) {
        assert_eq!(message["seq"], number, "{message}");
        agent::research::message::AgentMessage::read(message).unwrap();
    }
}

#[test]
fn reports_go_to_files_and_runs_are_listed() {
    let world = library();
    let (page, text) = (world.files().join("report.html"), world.files().join("report.md"));
    world.ok(&["research", QUESTION, "--yes", "--out", page.to_str().unwrap()]);
    world.ok(&["research", QUESTION, "--yes", "--out", text.to_str().unwrap()]);
    assert!(std::fs::read_to_string(page).unwrap().starts_with("<!doctype html>"));
    assert!(std::fs::read_to_string(text).unwrap().contains("## Sources"));
    for (name, begins) in [("report.pdf", &b"%PDF-1.7"[..]), ("report.docx", &b"PK\x03\x04"[..])] {
        let file = world.files().join(name);
        world.ok(&["research", QUESTION, "--yes", "--out", file.to_str().unwrap()]);
        assert!(std::fs::read(file).unwrap().starts_with(begins), "{name}");
    }
    let listed = world.json(&["research", "--list"]);
    assert_eq!(listed.len(), 4);
    assert_eq!(listed[0]["state"], "enough");
    let ended = world.error(&["research", "--resume", listed[0]["id"].as_str().unwrap()]);
    assert!(ended.contains("the run has ended"), "{ended}");
    assert!(world.error(&["research", "x", "--out", "report.exe"]).contains(".html"));
    assert!(world.error(&["research", "x", "--budget", "hours=1"]).contains("hours"));
}

#[test]
fn a_budget_ends_in_a_report_that_says_so() {
    let world = library();
    let said = world.ok(&["research", QUESTION, "--yes", "--budget", "calls=2"]);
    assert!(said.contains("The calls for it were used up"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_killed_at_any_place_of_its_journal_goes_on_and_asks_nothing_twice() {
    let model = ModelServer::answering(Duration::ZERO, played).await;
    let world = library();
    let arguments = ["research", QUESTION, "--yes", "--json"];
    let whole = world.run_with(&arguments, &environment(&model));
    assert!(whole.status.success(), "{}", shown(&whole));
    let expected = lasting(&report(&whole));
    let asked = model.requests().len();
    outlives_every_write(&world, &model, &arguments, asked, &expected);
}
