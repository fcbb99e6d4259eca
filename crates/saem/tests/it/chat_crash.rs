//! What was answered and kept survives `kill -9`, and a memory is rewritten once.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::model_server::{Answer, ModelServer};
use tokio::sync::watch;

use crate::world::{PATIENCE, Served, World, events};

/// Kills in one run.
const KILLS: u64 = 50;

/// How long the model takes for everything: long enough to be killed in the middle of it.
const LATENCY: Duration = Duration::from_millis(4);

/// A model that writes into the memory which question was the last that it was given.
fn played(request: &Value) -> Answer {
    let name = request["response_format"]["json_schema"]["name"].as_str().unwrap_or_default();
    match name {
        "verdict" => Answer::text(
            r#"{"ranked_indices":[1],"is_sufficient":true,"missing":[],"next_action":null,"refined_query":null,"confidence":0.9}"#,
        ),
        "memory_update" => {
            let messages = request["messages"].to_string();
            let last = messages.rsplit("question-").next().unwrap();
            let number: String = last.chars().take_while(char::is_ascii_digit).collect();
            let memory = format!("The last was question-{number}.");
            let fact = json!({ "key": "last", "value": format!("question-{number}") });
            Answer::text(json!({ "memory": memory, "entities": [fact] }).to_string())
        }
        _ => Answer::text("It is sent at the threshold [1]."),
    }
}

/// Asks until the server dies; notes each question whose answer was said to be kept.
async fn talk(
    served: &Served,
    asked: &mut u64,
    kept: &mut BTreeSet<u64>,
    answers: &watch::Sender<u64>,
) {
    loop {
        *asked += 1;
        let question = format!("question-{asked}: when is a budget alert sent?");
        let body = json!({ "question": question, "session": "talk" });
        let Ok(response) = served.client.post(served.url("/api/chat")).json(&body).send().await
        else {
            return;
        };
        let Ok(text) = response.text().await else { return };
        let is_kept = |(name, turn): &(String, Value)| name == "done" && turn["persisted"] == true;
        if events(&text).last().is_some_and(is_kept) {
            kept.insert(*asked);
            answers.send_modify(|count| *count += 1);
        }
    }
}

fn number_in(text: &str) -> u64 {
    let after = text.split("question-").nth(1).unwrap();
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Holds what is there against what was acknowledged.
async fn check(served: &Served, kept: &BTreeSet<u64>) {
    let settled = async {
        loop {
            let (status, memory) = served.get("/api/sessions/talk/memory").await;
            if status == 404 || memory["unfolded"].as_u64().unwrap() <= 5 {
                return memory;
            }
            tokio::task::yield_now().await;
        }
    };
    let memory = tokio::time::timeout(PATIENCE, settled).await.expect("what was due is taken up");
    let (_, session) = served.get("/api/sessions/talk").await;
    let Some(turns) = session["turns"].as_array() else {
        assert!(kept.is_empty(), "the session is lost");
        return;
    };
    // The newest 200 turns are shown; nothing here has more in the time that there is.
    let said: Vec<u64> =
        turns.iter().map(|turn| number_in(turn["question"].as_str().unwrap())).collect();
    let distinct: BTreeSet<u64> = said.iter().copied().collect();
    assert_eq!(distinct.len(), said.len(), "a turn is there twice: {said:?}");
    let oldest = said.iter().min().copied().unwrap_or(0);
    let lost: Vec<u64> = kept
        .iter()
        .filter(|number| **number >= oldest && !distinct.contains(number))
        .copied()
        .collect();
    assert!(lost.is_empty(), "{lost:?} were acknowledged and are lost; there are {said:?}");
    // Each rewrite takes five turns, and the last of them is what the model wrote down.
    let (version, folded_to) =
        (memory["version"].as_u64().unwrap(), memory["folded_to"].as_u64().unwrap());
    assert_eq!(folded_to, version * 5, "a rewrite was applied twice or half: {memory}");
    if version > 0 {
        let folded = turns.iter().find(|turn| turn["number"] == folded_to);
        let folded = number_in(folded.expect("it is shown")["question"].as_str().unwrap());
        assert_eq!(number_in(memory["memory"].as_str().unwrap()), folded, "{memory}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_turn_is_lost_and_no_memory_rewritten_twice_over_50_kills() {
    let world = World::new();
    let page = world.file("a.md", "# Budget alerts\n\nA budget alert is sent at the threshold.");
    world.ok(&["ingest", page.to_str().unwrap()]);
    let model = ModelServer::answering(LATENCY, played).await;
    let settings = [("SAEM_MODELS_BASE_URL", model.base_url.as_str()), ("SAEM_MODELS_MODEL", "m")];
    let (mut asked, mut kept) = (0, BTreeSet::new());
    for kill in 1..=KILLS {
        let mut served = world.serve_with(&settings).await;
        if kill % 10 == 0 {
            check(&served, &kept).await;
        }
        let (answers, mut answered) = watch::channel(0);
        let death = async {
            // After some answers, somewhere in the middle of the next, or of a memory.
            answered.wait_for(|count| *count > kill % 4).await.unwrap();
            tokio::time::sleep(Duration::from_millis((kill * 7) % 20)).await;
        };
        tokio::select! {
            () = death => {}
            () = talk(&served, &mut asked, &mut kept, &answers) => {}
        }
        served.child.start_kill().unwrap();
        served.child.wait().await.unwrap();
    }
    let served = world.serve_with(&settings).await;
    check(&served, &kept).await;
    let (_, memory) = served.get("/api/sessions/talk/memory").await;
    assert!(
        kept.len() > 20 && memory["version"].as_u64() > Some(2),
        "the work was real: {kept:?} {memory}"
    );
}

/// Points at which keeping a turn can be interrupted,
/// and how often each is tried: the tables are only written when the log has many turns for them.
const POINTS: &[(&str, u64)] = &[
    ("store.before_log", 3),
    ("store.after_log", 3),
    ("store.before_commit", 1),
    ("store.after_commit", 1),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_at_every_step_of_keeping_a_turn_loses_no_answer() {
    let model = ModelServer::answering(Duration::ZERO, played).await;
    for (point, times) in POINTS {
        let world = World::new();
        let page =
            world.file("a.md", "# Budget alerts\n\nA budget alert is sent at the threshold.");
        world.ok(&["ingest", page.to_str().unwrap()]);
        let (mut asked, mut kept) = (0, BTreeSet::new());
        for nth in 1..=*times {
            let failpoint = format!("{point}:{nth}");
            let settings = [
                ("SAEM_MODELS_BASE_URL", model.base_url.as_str()),
                ("SAEM_MODELS_MODEL", "m"),
                ("SAEM_FAILPOINT", failpoint.as_str()),
            ];
            let mut served = world.serve_with(&settings).await;
            let (answers, _) = watch::channel(0);
            let died = talk(&served, &mut asked, &mut kept, &answers);
            let died = tokio::time::timeout(PATIENCE, died).await;
            died.unwrap_or_else(|_| panic!("{failpoint} was never reached"));
            served.child.wait().await.unwrap();
            let settings = settings.get(..2).unwrap();
            let mut served = world.serve_with(settings).await;
            check(&served, &kept).await;
            served.child.start_kill().unwrap();
            served.child.wait().await.unwrap();
        }
        assert!(kept.len() > 1, "{point}: the work was real: {kept:?}");
    }
}
