//! A real model behind a real server of models. It is small: what it says is nonsense, how it comes is not.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::fault_server::nobody;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use crate::chat::{QUESTION, borrowed, small};
use crate::peers::script;
use crate::world::{Served, events};

/// For a turn: many times what it takes, as others may want the processor too.
const TURN_PATIENCE: Duration = Duration::from_secs(300);

/// Tokens that the model may say at a time: a verdict takes 80.
const SAID_TOKENS_MAX: u64 = 160;

const OUTCOMES: [&str; 6] =
    ["answered", "partial", "from_conversation", "not_found", "in_preparation", "long"];

struct Model {
    address: String,
    /// Ends when this goes: its standard input is closed.
    _process: Child,
}

impl Model {
    async fn start() -> Self {
        let mut process = script("model_server.py").stderr(Stdio::inherit()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(TURN_PATIENCE, lines.next_line()).await.unwrap().unwrap();
        Self { address: line.expect("the model says where it listens"), _process: process }
    }

    /// Short prompts and answers, the same ones each time.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let extra = json!({
            "max_tokens": SAID_TOKENS_MAX,
            "temperature": 0,
            "seed": 1,
            // So small a model finds no end to a list or a sentence by itself.
            "frequency_penalty": 1.5,
        });
        vec![
            ("SAEM_MODELS_BASE_URL", format!("{}/v1", self.address)),
            ("SAEM_MODELS_MODEL", "local".to_owned()),
            ("SAEM_MODELS_PRICES", "local=0/0".to_owned()),
            ("SAEM_MODELS_EXTRA_BODY", extra.to_string()),
            ("SAEM_COPILOT_CALLS_MAX", "1".to_owned()),
            ("SAEM_COPILOT_CONFIDENCE_MIN", "0.0".to_owned()),
            ("SAEM_COPILOT_SYSTEM_TOKENS", "500".to_owned()),
            ("SAEM_COPILOT_PASSAGES_TOKENS", "200".to_owned()),
            ("SAEM_COPILOT_SHORT_TERM_TOKENS", "100".to_owned()),
            ("SAEM_COPILOT_MEMORY_TOKENS", "100".to_owned()),
            ("SAEM_COPILOT_ENTITIES_TOKENS", "50".to_owned()),
        ]
    }

    /// Asks for one word; gives the tokens that were read and said for it.
    async fn wait_for_a_place(&self, client: &reqwest::Client) -> (u64, u64) {
        let body = json!({ "messages": [{ "role": "user", "content": "?" }], "max_tokens": 1 });
        let request = client.post(format!("{}/v1/chat/completions", self.address)).json(&body);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        let usage = &answer["usage"];
        let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
        let read = usage["prompt_tokens"].as_u64().unwrap() - cached;
        (read, usage["completion_tokens"].as_u64().unwrap())
    }

    /// The tokens that it has read and said, as it counts them itself.
    async fn counted(&self, client: &reqwest::Client) -> (u64, u64) {
        let metrics = client.get(format!("{}/metrics", self.address)).send().await.unwrap();
        let metrics = metrics.text().await.unwrap();
        let count = |name: &str| {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name} in {metrics}")).trim().parse().unwrap()
        };
        (count("llamacpp:prompt_tokens_total "), count("llamacpp:tokens_predicted_total "))
    }
}

/// Asks, and gives the pieces of the answer and the turn.
async fn ask(served: &Served, question: &str) -> (Vec<String>, Value) {
    let body = json!({ "question": question, "session": "talk" });
    let asking = async {
        let request = served.client.post(served.url("/api/chat")).json(&body);
        request.send().await.unwrap().text().await.unwrap()
    };
    let told = tokio::time::timeout(TURN_PATIENCE, asking).await.expect("a turn ends");
    let told = events(&told);
    let texts = told.iter().filter(|(name, _)| name == "text");
    let pieces = texts.map(|(_, body)| body["text"].as_str().unwrap().to_owned()).collect();
    let (name, turn) = told.last().unwrap();
    assert_eq!(name, "done", "{turn}");
    (pieces, turn.clone())
}

/// The calls of this component in a turn, each as it has to be.
fn calls<'a>(turn: &'a Value, component: &str) -> Vec<&'a Value> {
    let all = turn["calls"].as_array().unwrap();
    let calls: Vec<&Value> = all.iter().filter(|call| call["component"] == component).collect();
    for call in &calls {
        assert_eq!((&call["model"], &call["cost"]), (&json!("local"), &json!(0.0)), "{call}");
    }
    calls
}

/// Counted by the server, within the limit.
#[track_caller]
fn check_counted(call: &Value, attempts_max: u64) {
    let count = |name: &str| call[name].as_u64().unwrap();
    assert_eq!(call["is_estimated"], false, "{call}");
    assert!(count("tokens_in") > 100 && count("tokens_cached") <= count("tokens_in"), "{call}");
    assert!((1..=SAID_TOKENS_MAX * attempts_max).contains(&count("tokens_out")), "{call}");
}

/// Whatever the verdict was, it was JSON of the right form, or cut off; and the turn ended as turns do.
#[track_caller]
fn check_judged(turn: &Value) {
    let outcome = turn["outcome"].as_str().unwrap();
    assert!(OUTCOMES.contains(&outcome), "{turn}");
    assert!(!turn["answer"].as_str().unwrap().is_empty(), "{turn}");
    let judged = calls(turn, "judge");
    assert_eq!(judged.len(), 1, "{turn}");
    check_counted(judged[0], 2);
    let failed = judged[0]["failed"].as_str();
    assert!(failed.is_none_or(|why| why.contains("cut off at the largest length")), "{turn}");
    for call in calls(turn, "answer") {
        check_counted(call, 1);
    }
}

#[tokio::test]
async fn a_real_model_judges_answers_and_keeps_the_memory_and_its_own_counts_are_booked() {
    let world = small();
    let model = Model::start().await;
    let settings = model.settings();

    // Without a judge the turn comes to an answer for certain.
    let mut unjudged = settings.clone();
    unjudged.push(("SAEM_MODELS_JUDGE", format!("local@{}", nobody().await)));
    unjudged.push(("SAEM_MODELS_TRIES_MAX", "1".to_owned()));
    let mut served = world.serve_with(&borrowed(&unjudged)).await;
    let (pieces, turn) = ask(&served, QUESTION).await;
    let answered = calls(&turn, "answer");
    assert_eq!(answered.len(), 1, "{turn}");
    check_counted(answered[0], 1);
    assert!(pieces.len() > 1, "it comes in pieces: {pieces:?}");
    assert_eq!(Some(pieces.concat().trim_end()), turn["answer"].as_str());
    served.child.kill().await.unwrap();

    let served = world.serve_with(&borrowed(&settings)).await;
    for question in ["Who gets a budget alert?", "When does it come?"] {
        check_judged(&ask(&served, question).await.1);
    }
    for thanks in ["Thanks!", "Thank you!"] {
        let (_, turn) = ask(&served, thanks).await;
        assert_eq!(
            (&turn["outcome"], &turn["calls"]),
            (&json!("small_talk"), &json!([])),
            "{turn}"
        );
    }
    check_judged(&ask(&served, QUESTION).await.1);
    let (memory, ours) = tried_memory(&model, &served).await;
    let counted = model.counted(&served.client).await;
    let booked = (counted.0 - ours.0, counted.1 - ours.1);
    check_memory_and_bookings(&served, &memory, booked).await;
}

/// The memory once the model has tried it, and the tokens that were read and said for waiting. The model has one
/// place, so whoever asks it waits for others to be done.
async fn tried_memory(model: &Model, served: &Served) -> (Value, (u64, u64)) {
    let trying = async {
        let mut ours = (0, 0);
        loop {
            let (_, memory) = served.get("/api/sessions/talk/memory").await;
            if memory["version"] != 0 || memory["refused"].is_string() {
                return (memory, ours);
            }
            let (read, said) = model.wait_for_a_place(&served.client).await;
            ours = (ours.0 + read, ours.1 + said);
        }
    };
    tokio::time::timeout(TURN_PATIENCE, trying).await.expect("the memory is tried")
}

/// The memory is rewritten or refused with the reason, and all that the model counted is booked.
async fn check_memory_and_bookings(served: &Served, memory: &Value, (read, said): (u64, u64)) {
    let is_rewritten = memory["version"] == 1 && memory["written_by"] == "local";
    let is_refused = memory["version"] == 0 && memory["refused"].is_string();
    assert!(is_rewritten != is_refused, "{memory}");
    let (_, cost) = served.get("/api/cost").await;
    let spent = |component: &str, name: &str| cost["spent"][component][name].as_u64().unwrap();
    assert_eq!((spent("judge", "calls"), spent("memory", "calls")), (4, 1), "{cost}");
    let total = |name: &str| cost["total"][name].as_u64().unwrap();
    assert_eq!(
        (total("tokens_in") - total("tokens_cached"), total("tokens_out")),
        (read, said),
        "{cost}"
    );
    assert_eq!(
        (total("calls_without_price"), cost["total"]["dollars"].as_f64()),
        (0, Some(0.0)),
        "{cost}"
    );
}
