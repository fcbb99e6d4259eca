//! Asking, remembering and paying, through every way in.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::fault_server::{Fault, FaultServer, nobody};
use testkit::model_server::{Answer, ModelServer};
use testkit::redis_server::RedisServer;

use crate::world::{PATIENCE, Served, World, cloudcost, shown};

/// A world that knows the demo's documents.
fn demo() -> World {
    let world = World::new();
    let path = cloudcost();
    let path = |name: &str| path.join(name).to_str().unwrap().to_owned();
    world.ok(&["ingest", &path("faq"), "--collection", "faq", "--type", "faq"]);
    world.ok(&["ingest", &path("guides"), "--collection", "guides", "--type", "guide"]);
    world
}

/// A world that knows one thing.
pub(crate) fn small() -> World {
    let world = World::new();
    let page = world.file(
        "budget.md",
        "# Budget alerts\n\nA budget alert is sent when the threshold is crossed.",
    );
    world.ok(&["ingest", page.to_str().unwrap()]);
    world
}

pub(crate) const QUESTION: &str = "When is a budget alert sent?";

#[tokio::test]
async fn without_a_model_both_languages_are_answered_from_the_documents_with_citations() {
    let world = demo();
    let served = world.serve().await;
    for (question, document, words) in [
        ("남은 예산을 다음 달로 이월할 수 있나요?", "guides/ko/budgets.md", "이월"),
        ("How is idle cost shared in Kubernetes?", "guides/en/kubernetes-cost.md", "idle"),
    ] {
        let told = served.ask(&json!({ "question": question })).await;
        let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names.first(), names.last()), (Some(&"doing"), Some(&"done")));
        let text: String = told
            .iter()
            .filter(|(name, _)| name == "text")
            .map(|(_, body)| body["text"].as_str().unwrap())
            .collect();
        let turn = &told.last().unwrap().1;
        assert_eq!(
            (turn["answer"].as_str(), &turn["outcome"]),
            (Some(text.as_str()), &json!("answered"))
        );
        assert!(text.contains(words) && text.contains("[1]"), "{text}");
        let source = turn["citations"][0]["source"].as_str().unwrap();
        assert!(source.ends_with(document), "{source}");
        let section = turn["citations"][0]["section"].as_str().unwrap();
        assert_eq!(served.get(&format!("/api/sections/{section}")).await.0, 200);
        let note = turn["notes"][0].as_str().unwrap();
        assert!(note.contains("models.base_url"), "{note}");
        let id = turn["id"].as_str().unwrap();
        assert_eq!(served.get(&format!("/api/turns/{id}")).await, (200, turn.clone()));
    }
    let told = served.ask(&json!({ "question": "회사 주차장은 어디인가요?" })).await;
    assert_eq!(told.last().unwrap().1["outcome"], "not_found");
}

#[tokio::test]
async fn a_conversation_is_remembered_corrected_and_forgotten() {
    let world = small();
    let served = world.serve().await;
    for number in 1..=6 {
        let turn = served.turn(&format!("My budget is ${number},000. {QUESTION}"), "talk").await;
        assert_eq!((&turn["number"], &turn["persisted"]), (&json!(number), &json!(true)));
    }
    let memory = wait_for_memory(&served, 1).await;
    assert_eq!((&memory["folded_to"], &memory["written_by"]), (&json!(5), &json!("offline")));
    let fact = memory["entities"].as_array().unwrap().iter().find(|fact| fact["key"] == "budget");
    assert_eq!(fact.unwrap()["value"], "$5,000");
    let turn = served.turn("What was my budget again?", "talk").await;
    assert_eq!(turn["outcome"], "from_conversation", "{turn}");
    assert!(turn["answer"].as_str().unwrap().contains("$6,000"), "{turn}");

    let edit =
        json!({ "memory": "Nothing matters.", "entities": [{ "key": "team", "value": "샘" }] });
    let put = served.client.put(served.url("/api/sessions/talk/memory")).json(&edit);
    let edited: Value = put.send().await.unwrap().json().await.unwrap();
    assert_eq!((&edited["memory"], &edited["version"]), (&json!("Nothing matters."), &json!(2)));
    let long = json!({ "memory": "word ".repeat(2_000) });
    let put = served.client.put(served.url("/api/sessions/talk/memory")).json(&long);
    assert_eq!(put.send().await.unwrap().status(), 400);
    let (status, back) =
        served.post("/api/sessions/talk/memory/roll-back", &json!({ "version": 1 })).await;
    assert_eq!((status, &back["version"]), (200, &json!(3)));
    assert_eq!(back["memory"], memory["memory"]);
    let (status, missing) =
        served.post("/api/sessions/talk/memory/roll-back", &json!({ "version": 99 })).await;
    assert_eq!(status, 400, "{missing}");

    let patch = served.client.patch(served.url("/api/sessions/talk"));
    let renamed = patch.json(&json!({ "title": "money" })).send().await.unwrap();
    assert_eq!(renamed.status(), 200);
    let (_, list) = served.get("/api/sessions").await;
    assert_eq!(
        (&list["sessions"][0]["id"], &list["sessions"][0]["title"]),
        (&json!("talk"), &json!("money"))
    );
    let (_, session) = served.get("/api/sessions/talk").await;
    assert_eq!(
        (&session["turns_said"], session["turns"].as_array().unwrap().len()),
        (&json!(7), 7)
    );
    assert_eq!(served.delete("/api/sessions/talk").await.0, 204);
    assert_eq!(served.get("/api/sessions/talk").await.0, 404);
    assert_eq!(served.delete("/api/sessions/talk").await.0, 404);
    let (_, audit) = served.get("/api/audit").await;
    assert!(audit.to_string().contains("session.forget"), "{audit}");
}

/// What is remembered of `talk` once it has this version.
pub(crate) async fn wait_for_memory(served: &Served, version: u64) -> Value {
    let waiting = async {
        loop {
            let (_, memory) = served.get("/api/sessions/talk/memory").await;
            if memory["version"] == version {
                return memory;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the memory is rewritten")
}

const VERDICT: &str = r#"{"ranked_indices":[1],"is_sufficient":true,"missing":[],"next_action":null,"refined_query":null,"confidence":0.9}"#;

/// A model that judges, answers and remembers as it is asked.
pub(crate) fn played(request: &Value) -> Answer {
    let name = request["response_format"]["json_schema"]["name"].as_str().unwrap_or_default();
    match name {
        "verdict" => Answer::text(VERDICT).using(1_000, 50),
        "memory_update" => {
            let memory = json!({ "memory": "The user asks about budget alerts.", "entities": [] });
            Answer::text(memory.to_string()).using(2_000, 400)
        }
        _ => Answer::text("It is sent at the threshold [1], not before [9].").using(1_500, 100),
    }
}

pub(crate) fn model_settings(base_url: &str) -> Vec<(&'static str, String)> {
    vec![
        ("SAEM_MODELS_BASE_URL", base_url.to_owned()),
        ("SAEM_MODELS_MODEL", "gpt-5-nano".to_owned()),
        ("SAEM_MODELS_TRIES_MAX", "1".to_owned()),
    ]
}

pub(crate) fn borrowed<'a>(settings: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    settings.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>()
}

#[tokio::test]
async fn a_model_judges_answers_and_remembers_and_every_cent_is_booked() {
    let world = small();
    let model = ModelServer::answering(Duration::ZERO, played).await;
    let settings = model_settings(&model.base_url);
    let served = world.serve_with(&borrowed(&settings)).await;
    for _ in 1..=6 {
        let turn = served.turn(QUESTION, "talk").await;
        assert_eq!(turn["answer"], "It is sent at the threshold [1], not before.");
        assert_eq!(turn["citations"].as_array().unwrap().len(), 1);
    }
    let memory = wait_for_memory(&served, 1).await;
    assert_eq!(memory["memory"], "The user asks about budget alerts.");
    let turn = served.turn(QUESTION, "talk").await;
    let parts = turn["context"].as_array().unwrap();
    let kinds: Vec<&str> = parts.iter().map(|part| part["kind"].as_str().unwrap()).collect();
    for kind in ["system", "memory", "short_term", "passage", "question"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    // 1,000 in and 50 out, 1,500 in and 100 out, 2,000 in and 400 out, at $0.05 and $0.40 the million.
    let (judge, answer, memory) = (7.0 * 70e-6, 7.0 * 115e-6, 260e-6);
    let (status, cost) = served.get("/api/cost?sessions=1000&turns=20").await;
    assert_eq!(status, 200);
    let near = |found: &Value, expected: f64| {
        assert!((found.as_f64().unwrap() - expected).abs() < 1e-9, "{found} {expected}");
    };
    near(&cost["spent"]["judge"]["dollars"], judge);
    near(&cost["spent"]["answer"]["dollars"], answer);
    near(&cost["spent"]["memory"]["dollars"], memory);
    near(&cost["total"]["dollars"], judge + answer + memory);
    near(&cost["projection"]["total_dollars"], (judge + answer + memory) / 7.0 * 600_000.0);
    let (_, by_session) = served.get("/api/cost?by=session").await;
    near(&by_session["spent"]["talk"]["dollars"], judge + answer + memory);
    let metrics = served.client.get(served.url("/metrics")).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    for line in [
        "saem_turns_total{outcome=\"answered\"} 7",
        "saem_memory_updates_total{outcome=\"rewritten\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}

#[tokio::test]
async fn an_openai_client_gets_what_it_knows() {
    let world = small();
    let served = world.serve().await;
    let (status, models) = served.get("/v1/models").await;
    assert_eq!((status, &models["data"][0]["id"]), (200, &json!("saem")));
    assert_eq!(served.get("/v1/models/saem").await, (200, models["data"][0].clone()));
    assert_eq!(served.get("/v1/models/other").await.0, 404);
    let body = json!({ "model": "saem", "messages": [{ "role": "user", "content": QUESTION }] });
    let (status, whole) = served.post("/v1/chat/completions", &body).await;
    assert_eq!((status, &whole["choices"][0]["finish_reason"]), (200, &json!("stop")));
    let message = &whole["choices"][0]["message"];
    assert!(
        message["content"].as_str().unwrap().starts_with("A budget alert is sent"),
        "{message}"
    );
    let url = message["annotations"][0]["url_citation"]["url"].as_str().unwrap();
    assert!(url.starts_with(&served.address), "{url}");
    assert_eq!(
        served.get("/api/sessions").await.1["sessions"],
        json!([]),
        "nothing was to be kept"
    );
    let mut body = body;
    body["user"] = json!("mina");
    let (_, kept) = served.post("/v1/chat/completions", &body).await;
    assert_eq!(
        (&kept["saem"]["session"], &kept["saem"]["persisted"]),
        (&json!("mina"), &json!(true))
    );
    assert_eq!(served.get("/api/sessions/mina").await.0, 200);
    for (wrong, status) in [(json!({ "messages": [] }), 400), (json!([]), 400)] {
        let (got, error) = served.post("/v1/chat/completions", &wrong).await;
        assert_eq!((got, &error["error"]["code"]), (status, &error["code"]), "{error}");
        assert!(error["error"]["message"].is_string(), "{error}");
    }
}

#[tokio::test]
async fn whatever_a_model_server_does_the_reader_gets_an_answer_or_knows_that_it_is_none() {
    let world = small();
    let quota = r#"{"error":{"code":"insufficient_quota","message":"no credit"}}"#;
    for fault in [
        Fault::status("401 Unauthorized", "{}"),
        Fault::status("429 Too Many Requests", quota),
        Fault::too_many("1"),
        Fault::status("500 Internal Server Error", ""),
        Fault::Html,
        Fault::Hangup,
        Fault::ErrorFirst,
        Fault::LongLine,
        Fault::GzipBomb,
        // The judge uses up what a turn may use.
        Fault::Endless,
    ] {
        let server = FaultServer::start([fault.clone()]).await;
        let turn = asked_at(&world, &server.base_url).await;
        assert_eq!(turn["outcome"], "answered", "{fault:?}: {turn}");
        assert!(turn["answer"].as_str().unwrap().contains("threshold"), "{fault:?}: {turn}");
        let notes = turn["notes"].to_string();
        assert!(notes.contains("The model gave no answer"), "{fault:?}: {notes}");
    }
    let turn = asked_at(&world, &nobody().await).await;
    assert_eq!(turn["outcome"], "answered", "{turn}");
    for fault in [
        Fault::CutInCharacter,
        Fault::CutInJson,
        Fault::CutWithoutFinish,
        Fault::CutInTransfer,
        Fault::ErrorInStream,
    ] {
        let server = FaultServer::start([fault.clone()]).await;
        let turn = asked_at(&world, &server.base_url).await;
        assert_eq!(turn["outcome"], "incomplete", "{fault:?}: {turn}");
        assert!(!turn["answer"].as_str().unwrap().is_empty(), "{fault:?}: {turn}");
    }
}

/// One turn of a command whose model is at this address; what it judges is not to be judged here.
async fn asked_at(world: &World, base_url: &str) -> Value {
    let settings = model_settings(base_url);
    // A process for itself, so that what an earlier one learnt of its server does not matter.
    let asking = world.start(&["ask", QUESTION, "--json"], &borrowed(&settings));
    let output = tokio::time::timeout(PATIENCE, asking.wait_with_output()).await;
    let output = output.expect("a turn ends").unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)))
}

#[tokio::test]
async fn a_command_that_is_stopped_keeps_what_there_is() {
    let world = small();
    let server = FaultServer::start([Fault::WrongSchema, Fault::WrongSchema, Fault::Stall]).await;
    let settings = model_settings(&server.base_url);
    let mut asking = world.start(&["ask", QUESTION, "--session", "mine"], &borrowed(&settings));
    let mut first = [0; 1];
    let out = asking.stdout.as_mut().unwrap();
    tokio::io::AsyncReadExt::read_exact(out, &mut first).await.unwrap();
    let pid = asking.id().unwrap().to_string();
    let kill = std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(kill.success());
    let ended = tokio::time::timeout(PATIENCE, asking.wait()).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(130));
    server.saw_closed(1).await;
    let session = world.json(&["sessions", "show", "mine"]);
    assert_eq!(session[0]["turns"][0]["outcome"], "incomplete", "{session:?}");
}

#[tokio::test]
async fn commands_ask_show_correct_and_forget_with_and_without_a_server() {
    let world = small();
    let check = |world: &World, id: &str| {
        let turn = world.json(&["ask", QUESTION, "--session", id]).remove(0);
        assert_eq!((&turn["outcome"], &turn["number"]), (&json!("answered"), &json!(1)));
        let text = world.ok(&["ask", "--session", id, "--explain", QUESTION]);
        assert!(text.contains("crossed. [1]") && text.contains("[1] Budget alerts"), "{text}");
        assert!(text.contains("judged"), "{text}");
        let said =
            world.run_with_input(&["chat", "--session", id], b"hello\n\n/memory\n/quit\nnever\n");
        let said = shown(&said);
        assert!(said.contains("Ask me anything") && said.contains("memory, version 0"), "{said}");
        let edited = world.json(&[
            "sessions",
            "edit",
            id,
            "--fact",
            "budget=$7",
            "--memory",
            "So it is.",
            "--title",
            "t",
        ]);
        assert_eq!(
            (&edited[0]["memory"], &edited[0]["entities"][0]["value"]),
            (&json!("So it is."), &json!("$7"))
        );
        let edited = world.json(&["sessions", "edit", id, "--no-fact", "budget"]);
        assert_eq!(edited[0]["entities"], json!([]));
        let back = world.json(&["sessions", "edit", id, "--back-to", "1"]);
        assert_eq!(
            (&back[0]["version"], &back[0]["entities"][0]["key"]),
            (&json!(3), &json!("budget"))
        );
        let shown = world.ok(&["sessions", "show", id]);
        assert!(
            shown.contains("3 turns") && shown.contains("earlier versions: 0, 1, 2"),
            "{shown}"
        );
        let list = world.json(&["sessions", "list"]);
        assert_eq!(
            (&list[0]["sessions"][0]["id"], &list[0]["sessions"][0]["title"]),
            (&json!(id), &json!("t"))
        );
        let cost = world.json(&["cost", "--by", "session", "--project", "1000", "20"]);
        assert_eq!(
            (&cost[0]["spent"][id]["calls"], &cost[0]["total"]["dollars"]),
            (&json!(3), &json!(0.0))
        );
        assert!(world.ok(&["cost"]).contains("a month of"));
        world.ok(&["sessions", "forget", id]);
        let gone = world.error(&["sessions", "show", id]);
        assert!(
            gone.contains("there is no conversation") && gone.contains("sessions list"),
            "{gone}"
        );
    };
    check(&world, "alone");
    let served = world.serve().await;
    check(&world, "served");
    served.kill().await;
}

#[tokio::test]
async fn questions_that_are_none_get_a_clear_error_everywhere() {
    let world = small();
    let long = "x".repeat(40 << 10);
    for (question, why) in
        [(" ", "empty"), (long.as_str(), "ask a shorter one"), ("\u{1}\u{2}", "control characters")]
    {
        let error = world.error(&["ask", question]);
        assert!(error.contains(why) && error.lines().count() == 1, "{error}");
    }
    let error = shown(&world.run_with_input(&["ask"], b"\xff\xfe"));
    assert!(error.contains("not UTF-8"), "{error}");
    let error = world.error(&["ask", "x", "--session", "a b"]);
    assert!(error.contains("a session cannot be called so"), "{error}");
    let served = world.serve().await;
    for body in [
        json!({ "question": "" }),
        json!({ "question": long }),
        json!({ "question": "x", "session": "{" }),
    ] {
        let (status, problem) = served.post("/api/chat", &body).await;
        assert_eq!((status, &problem["code"]), (400, &json!("invalid_request")), "{problem}");
    }
    let huge = json!({ "question": "x".repeat(1 << 20) });
    assert_eq!(served.post("/api/chat", &huge).await.0, 413);
}

#[tokio::test]
async fn settings_that_cannot_be_are_refused_by_name() {
    let world = small();
    for (name, value, why) in [
        ("SAEM_MODELS_BASE_URL", "http://127.0.0.1:9/v1", "models.model is empty"),
        ("SAEM_MODELS_PRICES", "x", "models.prices"),
        ("SAEM_COPILOT_MENU", "/no/menu.toml", "the menu /no/menu.toml"),
        ("SAEM_COPILOT_CONFIDENCE_MIN", "1.5", "copilot.confidence_min"),
        ("SAEM_COPILOT_SYSTEM_TOKENS", "10", "copilot.system_tokens"),
        ("SAEM_MEMORY_TURNS", "0", "memory.turns"),
    ] {
        let error = shown(&world.run_with(&["ask", "x"], &[(name, value)]));
        assert!(error.starts_with("error: ") && error.contains(why), "{name}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_can_be_kept_in_redis_and_survive_its_absence() {
    let world = small();
    let mut redis = RedisServer::start_with(&["--appendfsync", "always"]).await;
    let url = redis.url();
    let settings = [("SAEM_MEMORY_STORE", "redis"), ("SAEM_MEMORY_REDIS_URLS", url.as_str())];
    let served = world.serve_with(&settings).await;
    for number in 1..=6 {
        let turn = served.turn(&format!("My budget is ${number},000. {QUESTION}"), "talk").await;
        assert_eq!((&turn["number"], &turn["persisted"]), (&json!(number), &json!(true)));
    }
    let memory = wait_for_memory(&served, 1).await;
    assert!(memory["memory"].as_str().unwrap().contains("$5,000"), "{memory}");
    let keys = redis.ask(&["KEYS", "chat:{local:talk}:*"]).await;
    for part in ["short", "memory", "entities"] {
        assert!(keys.contains(&format!("chat:{{local:talk}}:{part}")), "{keys}");
    }
    let doctor = shown(&world.run_with(&["doctor"], &settings));
    assert!(doctor.contains("server"), "{doctor}");
    redis.kill();
    let turn = served.turn(QUESTION, "talk").await;
    assert_eq!(
        (&turn["outcome"], &turn["persisted"]),
        (&json!("answered"), &json!(false)),
        "{turn}"
    );
    redis.revive().await;
    let turn = served.turn(QUESTION, "talk").await;
    assert_eq!((&turn["persisted"], &turn["number"]), (&json!(true), &json!(7)), "{turn}");
}
