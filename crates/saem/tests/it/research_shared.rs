//! Research that several servers share over one Redis: whoever dies or freezes loses its runs to another, which ends them with the same
//! report; and a run is watched and steered from each of them.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::model_server::ModelServer;
use testkit::redis_server::RedisServer;

use crate::research::{QUESTION, lasting, library, played};
use crate::research_served::{
    Stream, begin, control, decide, is_gapless, read_in_pieces, said, slow_model,
};
use crate::socket::Socket;
use crate::world::{PATIENCE, Served, World};

/// As the servers here are told: short, so that the tests end soon.
const LEASE: Duration = Duration::from_secs(2);

/// Writes to a journal after which every run here has ended.
const WRITES_MAX: u32 = 100;

/// A Redis and what servers need to share it.
struct Shared {
    redis: RedisServer,
    model: ModelServer,
    settings: Vec<(&'static str, String)>,
}

impl Shared {
    async fn new(model: ModelServer) -> Self {
        let redis = RedisServer::start().await;
        let settings = vec![
            ("SAEM_MEMORY_STORE", "redis".to_owned()),
            ("SAEM_MEMORY_REDIS_URLS", redis.url()),
            ("SAEM_MODELS_BASE_URL", model.base_url.clone()),
            ("SAEM_MODELS_MODEL", "gpt-5-nano".to_owned()),
            ("SAEM_RESEARCH_LEASE_SECONDS", LEASE.as_secs().to_string()),
            ("SAEM_SERVER_REQUESTS_PER_MINUTE_MAX", "1000000".to_owned()),
        ];
        Self { redis, model, settings }
    }

    async fn serve(&self, world: &World, more: &[(&str, &str)]) -> Served {
        let settings = self.settings.iter().map(|(name, value)| (*name, value.as_str()));
        world.serve_with(&settings.chain(more.iter().copied()).collect::<Vec<_>>()).await
    }

    async fn of_run(&self, id: &str, command: &str, part: &str, more: &[&str]) -> String {
        let key = format!("research:{{local:{id}}}:{part}");
        self.redis.ask(&[&[command, &key], more].concat()).await
    }

    async fn epoch(&self, id: &str) -> u64 {
        self.of_run(id, "HGET", "run", &["epoch"]).await.trim().parse().unwrap()
    }

    async fn is_taken_over(&self, id: &str) -> Instant {
        let taken = async {
            while self.epoch(id).await == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, taken).await.expect("somebody takes the run over");
        Instant::now()
    }
}

async fn newest(served: &Served) -> String {
    let (status, list) = served.get("/api/research?limit=1").await;
    assert_eq!(status, 200, "{list}");
    list["runs"][0]["id"].as_str().unwrap().to_owned()
}

/// Waits for the end of a run, at a server that does not work on it by itself; gives the report.
async fn ended(served: &Served, id: &str) -> Value {
    let ending = async {
        while served.get(&format!("/api/research/{id}")).await.1["state"] != "ended" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, ending).await.expect("the run ends");
    served.get(&format!("/api/research/{id}/report?format=json")).await.1
}

fn signal(served: &Served, signal: Signal) {
    let id = i32::try_from(served.child.id().unwrap()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_server_dies_at_any_place_of_its_journal_is_ended_by_another_and_asks_nothing_twice()
 {
    let shared = Shared::new(slow_model(Duration::ZERO).await).await;
    let (here, there) = (library(), library());
    let heir = shared.serve(&there, &[]).await;
    let expected = lasting(&ended(&heir, &begin(&heir, "given").await).await);
    let asked = shared.model.requests().len();
    for count in 1..WRITES_MAX {
        let before = shared.model.requests().len();
        let point = format!("journal.after_append:{count}");
        let mut mortal = shared.serve(&here, &[("SAEM_FAILPOINT", &point)]).await;
        let order = json!({ "question": QUESTION, "approval": "given" });
        // It may die before it has answered.
        let begun = mortal.client.post(mortal.url("/api/research")).json(&order).send().await;
        let id = newest(&heir).await;
        let died = tokio::select! {
            died = mortal.child.wait() => { died.unwrap(); Some(Instant::now()) }
            _report = ended(&heir, &id) => None,
        };
        if let Some(died) = died
            && heir.get(&format!("/api/research/{id}")).await.1["state"] != "ended"
        {
            let took = shared.is_taken_over(&id).await - died;
            assert!(took <= LEASE + Duration::from_secs(1), "killed at write {count}: {took:?}");
        }
        let report = ended(&heir, &id).await;
        assert_eq!(lasting(&report), expected, "killed at write {count}");
        let made = shared.model.requests().len() - before;
        assert_eq!(made, asked, "killed at write {count}");
        if mortal.child.try_wait().unwrap().is_none() {
            assert!(count > 3, "{count}");
            assert_eq!(begun.unwrap().status(), 201);
            return;
        }
    }
    panic!("the run does not end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_frozen_writes_nothing_more_to_a_run_that_another_has_taken() {
    let shared = Shared::new(slow_model(Duration::from_millis(400)).await).await;
    let (here, there) = (library(), library());
    let (frozen, heir) = (shared.serve(&here, &[]).await, shared.serve(&there, &[]).await);
    let expected = lasting(&ended(&heir, &begin(&heir, "given").await).await);
    let asked = shared.model.requests().len();
    let id = begin(&frozen, "given").await;
    let mut seen_there = Stream::open(&frozen, &id, 0).await;
    while shared.model.requests().len() == asked {
        tokio::task::yield_now().await;
    }
    signal(&frozen, Signal::STOP);
    shared.is_taken_over(&id).await;
    // It wakes up while the other is at work, with the answer to its call at hand.
    signal(&frozen, Signal::CONT);
    // It has tried to write that down, and has left the run: its watchers are sent away without an end.
    while let Some((name, event)) = seen_there.next().await {
        assert_eq!(name, "agent_message", "{event}");
    }
    assert_eq!(lasting(&ended(&heir, &id).await), expected);
    // Only the call that was under way was made again: nobody knew whether it had been.
    assert_eq!(shared.model.requests().len(), 2 * asked + 1);
    assert_eq!(shared.epoch(&id).await, 1);
    let messages = said(&heir, &id).await;
    assert!(is_gapless(&messages), "{messages:#?}");
    assert_eq!(messages, said(&frozen, &id).await);
    let length = shared.of_run(&id, "XLEN", "journal", &[]).await;
    // What is left of the frozen one does nothing more until it ends.
    signal(&frozen, Signal::TERM);
    let mut frozen = frozen;
    tokio::time::timeout(PATIENCE, frozen.child.wait()).await.unwrap().unwrap();
    assert_eq!(shared.of_run(&id, "XLEN", "journal", &[]).await, length);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_watched_and_steered_at_a_server_that_does_not_work_on_it() {
    let shared = Shared::new(slow_model(Duration::from_millis(20)).await).await;
    let (here, there) = (library(), library());
    let (worker, other) = (shared.serve(&here, &[]).await, shared.serve(&there, &[]).await);
    let id = begin(&worker, "asked").await;
    let mut stream = Stream::open(&other, &id, 0).await;
    let mut live = Vec::new();
    loop {
        let (name, message) = stream.next().await.unwrap();
        assert_eq!(name, "agent_message", "{message}");
        let is_request = message["content"]["request"].is_object();
        live.push(message);
        if is_request {
            break;
        }
    }
    let refused = control(&other, &id, "resume").await;
    assert_eq!(refused.0, 409, "{}", refused.1);
    assert_eq!(control(&other, &id, "pause").await.1["state"], "paused");
    assert_eq!(worker.get(&format!("/api/research/{id}")).await.1["state"], "paused");
    assert_eq!(control(&worker, &id, "resume").await.0, 200);
    let approved = decide(&other, &id, &json!({ "decision": "approve" })).await;
    assert_eq!(approved.0, 200, "{}", approved.1);
    loop {
        match stream.next().await.unwrap() {
            (name, message) if name == "agent_message" => live.push(message),
            (name, end) => {
                assert_eq!((name.as_str(), &end["ended"]), ("end", &json!("enough")));
                break;
            }
        }
    }
    assert!(is_gapless(&live), "{live:#?}");
    assert_eq!(live, said(&worker, &id).await);
    assert_eq!(shared.epoch(&id).await, 0, "nobody has taken it over");

    let id = begin(&worker, "asked").await;
    let mut socket = Socket::open(&other, &format!("/api/research/{id}/socket")).await;
    assert_eq!(socket.next().await.unwrap()["type"], "agent_message");
    socket.send(&json!({ "type": "control", "data": { "control": "stop" } })).await;
    while socket.next().await.is_some_and(|frame| frame["type"] != "end") {}
    let (_, run) = worker.get(&format!("/api/research/{id}")).await;
    assert_eq!((&run["state"], &run["ended"]), (&json!("ended"), &json!("stopped")));
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_of_a_run_go_on_where_it_goes_on() {
    let shared = Shared::new(slow_model(Duration::from_millis(100)).await).await;
    let (here, there) = (library(), library());
    let (mut worker, other) = (shared.serve(&here, &[]).await, shared.serve(&there, &[]).await);
    let id = begin(&worker, "given").await;
    let mut stream = Stream::open(&other, &id, 0).await;
    let mut seen = Vec::new();
    while seen.len() < 3 {
        seen.push(stream.next().await.unwrap().1);
    }
    worker.child.kill().await.unwrap();
    while let Some((name, message)) = stream.next().await {
        assert_eq!(name, "agent_message", "the stream is cut at the take-over: {message}");
        seen.push(message);
    }
    seen.extend(read_in_pieces(&other, &id, seen.len() as u64).await);
    assert!(is_gapless(&seen), "{seen:#?}");
    assert_eq!(seen, said(&other, &id).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_be_replayed_is_ended_once_and_says_why() {
    let shared = Shared::new(ModelServer::answering(Duration::ZERO, played).await).await;
    let (here, there) = (library(), library());
    let mut worker = shared.serve(&here, &[]).await;
    let id = begin(&worker, "asked").await;
    while worker.get(&format!("/api/research/{id}")).await.1["state"] != "approving" {
        tokio::task::yield_now().await;
    }
    worker.child.kill().await.unwrap();
    // As of another version, which makes other calls.
    let next = shared.of_run(&id, "HINCRBY", "run", &["length", "1"]).await;
    let place = format!("{}-0", next.trim());
    let entry = json!({ "at": 1, "event": "begun", "key": "of-another-version" }).to_string();
    shared.of_run(&id, "XADD", "journal", &[&place, "entry", &entry]).await;
    let heir = shared.serve(&there, &[]).await;
    let end = ended(&heir, &id).await;
    assert_eq!(end["status"], 404, "there is no report: {end}");
    let (_, run) = heir.get(&format!("/api/research/{id}")).await;
    assert_eq!(run["ended"], "failed", "{run}");
    let messages = said(&heir, &id).await;
    assert!(is_gapless(&messages), "{messages:#?}");
    let told = messages.iter().rev().take(3).map(Value::to_string).collect::<String>();
    assert!(told.contains("of-another-version") && told.contains("failed"), "{told}");
    assert_eq!(shared.epoch(&id).await, 1, "it is taken up once");
    assert_eq!(shared.redis.ask(&["ZCARD", "research:unfinished"]).await.trim(), "0");
    assert_eq!(read_in_pieces(&heir, &id, 0).await, messages);
}
