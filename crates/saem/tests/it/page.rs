//! The page, as people use it: a browser walks every room of the real binary, with programs that are not ours.

mod long;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::model_server::{Answer, ModelServer};
use tokio::process::Command;

use crate::agents;
use crate::chat::{borrowed, model_settings, played, small};
use crate::logins::{self, Guarded};
use crate::peers::{agent, node, package, script_path};
use crate::research;
use crate::tenants::key;
use crate::tools;
use crate::world::{Served, World, shown};

/// A walk through rooms on a busy machine: far more than it takes, so that only a hang ends here.
const WALK_MAX: Duration = Duration::from_secs(240);

/// Has a browser walk by a script of this folder; `more` is what the script wants to know. Gives what the script says.
async fn walk(world: &World, served: &Served, name: &str, more: Value) -> String {
    let mut command = Command::new(node());
    command.arg(script_path("page").join(name)).stdin(Stdio::null());
    command.env("ADDRESS", &served.address).env("NODE_MODULES", package(""));
    command.env("MORE", more.to_string()).env("FILES", world.files()).env("HOME", world.files());
    command.env("SCREENSHOTS", pictures()).stdout(Stdio::piped()).stderr(Stdio::piped());
    std::fs::create_dir_all(world.files()).unwrap();
    let output = tokio::time::timeout(WALK_MAX, command.kill_on_drop(true).output()).await;
    let output = output.expect("the walk comes to an end").unwrap();
    assert!(output.status.success(), "{name}: {}", shown(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Where pictures go: beside what is built, or into the docs where somebody wants them anew.
fn pictures() -> PathBuf {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/screenshots");
    let built = Path::new(env!("CARGO_BIN_EXE_saem")).with_file_name("screenshots");
    if std::env::var_os("NEW_SCREENSHOTS").is_some() { docs } else { built }
}

/// A model that judges and remembers, and answers with what this says to a request.
async fn model(answer: impl Fn(&Value) -> Answer + Send + Sync + 'static) -> ModelServer {
    ModelServer::answering(Duration::ZERO, move |request| {
        let name = request["response_format"]["json_schema"]["name"].as_str();
        match researched(request) {
            Some(answer) => answer,
            None if name.is_some() => played(request),
            None => answer(request),
        }
    })
    .await
}

#[tokio::test]
async fn a_first_visit_ends_with_an_answer_whose_sources_can_be_read() {
    let world = World::new();
    let served = world.serve().await;
    walk(&world, &served, "chat.mjs", json!({})).await;
}

#[tokio::test]
async fn a_memory_is_read_corrected_compared_and_brought_back() {
    let world = small();
    let served = world.serve().await;
    for number in 1..=6 {
        let question = format!("My budget is ${number},000. When is a budget alert sent?");
        served.turn(&question, "talk").await;
    }
    crate::chat::wait_for_memory(&served, 1).await;
    walk(&world, &served, "memory.mjs", json!({"session": "talk"})).await;
}

#[tokio::test]
async fn documents_are_put_in_read_searched_and_deleted() {
    let world = World::new();
    let served = world.serve().await;
    walk(&world, &served, "documents.mjs", json!({})).await;
}

#[tokio::test]
async fn a_tool_runs_after_a_yes_and_not_after_a_no() {
    let world = tools::world();
    let served = world.serve().await;
    walk(&world, &served, "tools.mjs", json!({})).await;
}

#[tokio::test]
async fn a_tool_that_has_changed_is_off_until_somebody_accepts_it_on_the_page() {
    let world = tools::world();
    world.ok(&["mcp", "tools"]);
    let path = world.data().join("mcp.json");
    let changed = std::fs::read_to_string(&path).unwrap().replace("Looks.", "Looks closer.");
    std::fs::write(&path, changed).unwrap();
    let served = world.serve().await;
    walk(&world, &served, "drift.mjs", json!({})).await;
}

#[tokio::test]
async fn a_server_of_tools_is_as_it_was_left_after_a_restart() {
    let world = tools::world();
    for is_on in [true, false, true] {
        let mut served = world.serve().await;
        walk(&world, &served, "switch.mjs", json!({"is_on": is_on})).await;
        served.child.kill().await.unwrap();
    }
}

#[tokio::test]
async fn somebody_logs_in_at_a_server_of_tools_on_its_own_page() {
    let guarded = Guarded::asking().await;
    let world = logins::world(&guarded);
    let served = world.serve().await;
    let more = json!({"guarded": guarded.address, "secret": logins::SECRET});
    walk(&world, &served, "login.mjs", more).await;
    logins::check_nothing_is_readable(&world.data());
}

/// Lets the guard's strangers be at this address of this machine.
fn open_to(url: &str) -> Vec<(&'static str, String)> {
    let port = url.rsplit(':').next().unwrap().to_owned();
    vec![("SAEM_EGRESS_ALLOW_PRIVATE", "127.0.0.0/8".to_owned()), ("SAEM_EGRESS_PORTS", port)]
}

#[tokio::test]
async fn agents_are_registered_found_in_korean_written_to_and_watched() {
    let (_agent, url) = agents::start(agent("a2a-agent", "a2a_server.py", "JSONRPC")).await;
    let world = World::new();
    let settings = format!("[agents.neighbour]\nurl = \"{url}\"\n");
    let open = open_to(&url);
    let served = world.serve_configured(&settings, &borrowed(&open)).await;
    walk(&world, &served, "agents.mjs", json!({"url": url})).await;
}

#[tokio::test]
async fn an_answer_is_stopped_and_a_lost_network_is_told_and_survived() {
    let world = small();
    // Longer than the walk: only a stop ends it.
    let model = ModelServer::answering(WALK_MAX * 2, played).await;
    let settings = model_settings(&model.base_url);
    let served = world.serve_with(&borrowed(&settings)).await;
    walk(&world, &served, "stop.mjs", json!({})).await;
}

#[tokio::test]
async fn a_model_that_wants_a_tool_waits_for_a_person_on_the_page() {
    let world = tools::world();
    let page = world.file("budget.md", "# Budget alerts\n\nAn alert is sent at the threshold.");
    world.ok(&["ingest", page.to_str().unwrap()]);
    let model = model(|request| {
        let messages = request["messages"].as_array().unwrap();
        let has_result = messages.iter().any(|message| message["role"] == "tool");
        if has_result || request["tools"].is_null() {
            return Answer::text("It is sent at the threshold [1].");
        }
        Answer::call("sh__write", "{\"path\": \"notes.txt\"}")
    })
    .await;
    let settings = model_settings(&model.base_url);
    let served = world.serve_with(&borrowed(&settings)).await;
    walk(&world, &served, "approval.mjs", json!({})).await;
}

#[tokio::test]
async fn a_resource_of_a_server_is_attached_to_a_question() {
    let world = tools::world();
    let page = world.file("budget.md", "# Budget alerts\n\nAn alert is sent at the threshold.");
    world.ok(&["ingest", page.to_str().unwrap()]);
    let model = model(|_| Answer::text("It is sent at the threshold [1].")).await;
    let settings = model_settings(&model.base_url);
    let served = world.serve_with(&borrowed(&settings)).await;
    walk(&world, &served, "attach.mjs", json!({})).await;
    assert!(model.requests().iter().any(|request| request.to_string().contains("the document")));
}

#[tokio::test]
async fn a_key_is_made_shown_once_and_asked_for_by_the_page() {
    let world = small();
    let served = world.serve().await;
    walk(&world, &served, "keys.mjs", json!({})).await;
}

#[tokio::test]
async fn a_reader_sees_no_more_on_the_page_than_the_key_allows() {
    let world = small();
    let reader = key(&world, "local", "read");
    let served = world.serve().await;
    walk(&world, &served, "reader.mjs", json!({"key": reader})).await;
}

#[tokio::test]
async fn costs_and_calls_are_shown_with_plots() {
    let world = tools::world();
    let page = world.file("budget.md", "# Budget alerts\n\nAn alert is sent at the threshold.");
    world.ok(&["ingest", page.to_str().unwrap()]);
    let model = model(|_| Answer::text("It is sent at the threshold [1].")).await;
    let settings = model_settings(&model.base_url);
    let served = world.serve_with(&borrowed(&settings)).await;
    served.turn("When is a budget alert sent?", "talk").await;
    world.ok(&["mcp", "call", "sh__write", "--yes"]);
    walk(&world, &served, "activity.mjs", json!({})).await;
}

#[tokio::test]
async fn a_run_is_planned_with_a_person_watched_over_a_cut_network_and_read() {
    let world = research::library();
    // Slow enough for a person to see it at work.
    let model = ModelServer::answering(Duration::from_secs(1), research::played).await;
    let settings = model_settings(&model.base_url);
    let served = world.serve_with(&borrowed(&settings)).await;
    walk(&world, &served, "research.mjs", json!({"question": research::QUESTION})).await;
}

#[tokio::test]
async fn a_run_is_finished_early_and_its_report_says_so() {
    let world = research::library();
    // Slow enough for a person to come in between, and never content.
    let model = ModelServer::answering(Duration::from_secs(2), |request| {
        let name = request["response_format"]["json_schema"]["name"].as_str();
        let more = json!({
            "relevance": 0.9, "coverage": 0.2, "needs_more_search": true, "feedback": "more",
            "more_keywords": ["budget mail"], "structure": ["Alerts", "Costs"],
        });
        match name {
            Some("assessment") => Answer::text(more.to_string()),
            _ => research::played(request),
        }
    })
    .await;
    let settings = model_settings(&model.base_url);
    let served = world.serve_with(&borrowed(&settings)).await;
    walk(&world, &served, "finish.mjs", json!({"question": research::QUESTION})).await;
}

/// What a hostile answer tries: scripts, handlers, addresses that run or fetch, styles, letters that hide.
const HOSTILE: &str = "<script>window.pwned=1</script><img src=x onerror=\"window.pwned=1\"> \
    ![x](http://attacker.invalid/leak.png) [click](javascript:window.pwned=1) \
    <a href=\"javascript:window.pwned=1\">a</a> <style>@import url(http://attacker.invalid/x.css)</style> \
    <iframe src=\"http://attacker.invalid\"></iframe> <svg onload=\"window.pwned=1\"></svg> \
    <base href=\"http://attacker.invalid/\"> \u{202e}txet desrever\u{202c} in\u{200b}visible [1]\n\nIt is sent at the threshold [1].\n\n\
    | a | b |\n|---|---|\n| <img src=http://attacker.invalid/t.png> | `<b onmouseover=x>` |\n\n\
    ```html\n<script>window.pwned=1</script>\n```\n\n[data](data:text/html,<script>window.pwned=1</script>)";

#[tokio::test]
async fn nothing_hostile_runs_or_reaches_out_from_the_page() {
    let world = tools::hostile_world();
    let page = world.file(
        "<img src=x onerror=window.pwned=1>.md",
        format!("# <img src=x onerror=window.pwned=1> Budget\n\n{HOSTILE}\n\nA budget alert is sent at the threshold."),
    );
    world.ok(&["ingest", page.to_str().unwrap()]);
    let model = model(|_| Answer::text(HOSTILE)).await;
    let settings = model_settings(&model.base_url);
    let file = world.file("card.json", hostile_card(true).to_string());
    let configured = format!("[agents.liar]\ncard = {:?}\n", file.to_str().unwrap());
    let served = world.serve_configured(&configured, &borrowed(&settings)).await;
    let body = json!({"card": hostile_card(false), "disclosure": {"agent": "public"}});
    let (status, told) = served.post("/registry/agents", &body).await;
    assert_eq!(status, 201, "{told}");
    walk(&world, &served, "hostile.mjs", json!({})).await;
}

/// A card whose every word wants to be more than a word; the catalogue takes none whose addresses run.
fn hostile_card(has_links: bool) -> Value {
    let link = if has_links { "javascript:window.pwned=1" } else { "https://painter.example.com" };
    json!({
        "name": "Painter <img src=x onerror=window.pwned=1>",
        "description": HOSTILE,
        "version": "<script>window.pwned=1</script>",
        "provider": {"organization": "\u{202e}live\u{202c} <b onmouseover=window.pwned=1>", "url": link},
        "documentationUrl": link,
        "iconUrl": "http://attacker.invalid/icon.png",
        "supportedInterfaces": [{
            "url": "https://painter.example.com/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"
        }],
        "capabilities": {"streaming": true},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{
            "id": "paint", "name": "in\u{200b}visible <iframe src=http://attacker.invalid></iframe>", "description": HOSTILE,
            "tags": ["<svg onload=window.pwned=1>", "javascript:window.pwned=1"], "examples": [HOSTILE]
        }]
    })
}

#[tokio::test]
async fn long_lists_scroll_and_the_first_load_is_small_and_quick() {
    const TURNS: u64 = 2_500;
    let world = World::new();
    long::fill(&world, "long", TURNS, 10_000).await;
    let served = world.serve().await;
    walk(&world, &served, "sizes.mjs", json!({"session": "long", "turns": TURNS})).await;
}

#[tokio::test]
async fn a_chat_can_be_used_by_somebody_who_was_never_here() {
    let world = World::new();
    let served = world.serve().await;
    println!("{}", walk(&world, &served, "ready.mjs", json!({})).await);
}

/// What the demo's documents say of a budget that is left over.
const CARRIED_OVER: (&str, &str) = (
    "**Team** 요금제부터 월 예산과 분기 예산에 이월을 켤 수 있습니다 [1].\n\n\
     - 남은 금액이 다음 기간의 예산에 더해집니다.\n- 이월 한도는 원래 금액의 **50%**이고, 넘는 금액은 사라집니다 [1].\n\n\
     | 기간 | 이월 |\n|---|---|\n| 월, 분기 | 가능 |\n| 연, 고정 기간 | 불가 |",
    "From the **Team** plan up, monthly and quarterly budgets can be carried over [1].\n\n\
     - What is left is added to the amount of the next period.\n- The limit is **50%** of the original amount; what is above it is lost [1].\n\n\
     | Period | Carried over |\n|---|---|\n| Monthly, quarterly | yes |\n| Yearly, fixed dates | no |",
);

/// A research model that quotes the first sentence of each source that it is shown; none for other questions.
fn researched(request: &Value) -> Option<Answer> {
    let name = request["response_format"]["json_schema"]["name"].as_str()?;
    let step = |description: &str, keywords: &str| json!({"description": description, "sources": ["local"], "keywords": [keywords]});
    let answer = match name {
        "plan" => json!({
            "strategy": "How budgets are carried over first, then what happens to the rest.", "estimated_seconds": 20,
            "steps": [step("how unused budgets are carried over", "carry over budget"), step("which limits there are", "budget limit")],
        }),
        "assessment" => json!({
            "relevance": 0.9, "coverage": 0.8, "needs_more_search": false, "feedback": "Both parts of the question are covered.",
            "more_keywords": [], "structure": ["Carrying over", "Limits"],
        }),
        "section" => {
            let shown = request["messages"][1]["content"].as_str()?;
            let claims = shown.split("<<<source [").skip(1).take(3).filter_map(|source| {
                let number: u32 = source.split(']').next()?.parse().ok()?;
                let long = |line: &&str| line.len() > 60 && !line.starts_with('|');
                let line = source.lines().skip(1).find(long)?.trim_start_matches(['-', '*', ' ']);
                let quote = line.split_inclusive(". ").next()?.trim();
                Some(json!({"text": quote, "citations": [{"source": number, "quote": quote}]}))
            });
            json!({"claims": claims.collect::<Vec<_>>(), "not_found": []})
        }
        _ => return None,
    };
    Some(Answer::text(answer.to_string()).using(900, 150))
}

#[tokio::test]
async fn every_room_is_accessible_in_both_themes_and_looks_as_pictured() {
    let world = tools::world();
    let model = model(|request| {
        let messages = request["messages"].as_array().unwrap();
        let asked = messages.last().unwrap()["content"].to_string();
        let (korean, english) = CARRIED_OVER;
        Answer::text(if asked.contains("이월할") { korean } else { english }).using(1_600, 120)
    })
    .await;
    let settings = model_settings(&model.base_url);
    let served = world.serve_with(&borrowed(&settings)).await;
    world.ok(&["mcp", "call", "sh__look", "--yes"]);
    walk(&world, &served, "looks.mjs", json!({})).await;
}
