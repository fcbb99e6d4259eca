//! What was acknowledged survives `kill -9`, and nothing is ever half there.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{PATIENCE, Served, World};

/// Kills in one run.
const KILLS: u32 = 200;

/// Documents that come, change and go.
const DOCUMENTS: u64 = 12;

/// What is known for certain about a document.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Known {
    /// This version, or one that was sent later and not acknowledged.
    At(u64),
    Gone,
}

/// Small, repeatable chance.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// A version of a document: every chunk names it, so that a mixture would show.
fn text(number: u64, version: u64) -> String {
    let parts: Vec<String> = (0..3)
        .map(|part| {
            format!("## Part {part}\n\ndocument d{number} version v{version} part {part}\n")
        })
        .collect();
    format!("# Document {number}\n\n{}", parts.join("\n"))
}

fn name(number: u64) -> String {
    format!("d{number}.md")
}

/// One client's changes until the server dies: each outcome is noted only when it was fully read.
async fn work(
    served: &Served,
    dice: &mut Dice,
    known: &mut BTreeMap<u64, Known>,
    sent: &mut BTreeMap<u64, u64>,
) {
    loop {
        let number = dice.roll(DOCUMENTS);
        if dice.roll(5) == 0 && matches!(known.get(&number), Some(Known::At(_))) {
            let before = known.remove(&number);
            let id = match id_of(served, number).await {
                Ok(Some(id)) => id,
                // Accepted, and not read yet.
                Ok(None) => {
                    known.extend(before.map(|before| (number, before)));
                    continue;
                }
                Err(_) => {
                    known.extend(before.map(|before| (number, before)));
                    return;
                }
            };
            match served.client.delete(served.url(&format!("/api/documents/{id}"))).send().await {
                Ok(answer) if answer.status() == 204 => known.insert(number, Known::Gone),
                _ => return,
            };
            continue;
        }
        let version = sent.get(&number).copied().unwrap_or(0) + 1;
        let body = json!({ "name": name(number), "text": text(number, version) });
        let before = known.remove(&number);
        sent.insert(number, version);
        let Ok(answer) = served.client.post(served.url("/api/documents")).json(&body).send().await
        else {
            known.extend(
                before
                    .filter(|before| matches!(before, Known::At(_)))
                    .map(|before| (number, before)),
            );
            return;
        };
        if answer.status() != 202 || answer.json::<Value>().await.is_err() {
            return;
        }
        known.insert(number, Known::At(version));
    }
}

async fn id_of(served: &Served, number: u64) -> reqwest::Result<Option<String>> {
    let list: Value = served.client.get(served.url("/api/documents")).send().await?.json().await?;
    let all = list["documents"].as_array().unwrap();
    let found = all.iter().find(|document| document["source"] == name(number));
    Ok(found.map(|document| document["id"].as_str().unwrap().to_owned()))
}

/// Waits until everything that was accepted is done, then holds what is there against what is known; says how many documents had to be there.
async fn check(served: &Served, known: &BTreeMap<u64, Known>, sent: &BTreeMap<u64, u64>) -> usize {
    let settled = async {
        loop {
            let (_, jobs) = served.get("/api/jobs").await;
            let waiting = |job: &Value| job["state"] == "waiting";
            if !jobs["jobs"].as_array().unwrap().iter().any(waiting) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.expect("accepted work comes to an end");
    for number in 0..DOCUMENTS {
        let (_, found) =
            served.get(&format!("/api/search?q=d{number}&mode=keyword&count=100")).await;
        let mut versions: Vec<u64> = Vec::new();
        for passage in found["passages"].as_array().unwrap() {
            if passage["source"] != name(number) {
                continue;
            }
            let text = passage["text"].as_str().unwrap();
            let version = text.split(" version v").nth(1).unwrap().split(' ').next().unwrap();
            versions.push(version.parse().unwrap());
        }
        let whole = versions.is_empty()
            || (versions.len() == 3 && versions.windows(2).all(|w| w[0] == w[1]));
        assert!(whole, "document {number} is half there: {versions:?}");
        match known.get(&number) {
            Some(Known::At(version)) => {
                let there = versions.first().copied().unwrap_or(0);
                let latest = sent.get(&number).copied().unwrap_or(0);
                let (_, jobs) = served.get("/api/jobs").await;
                assert!(
                    (*version..=latest).contains(&there),
                    "document {number}: {version} was acknowledged, {there} is there; {jobs:#}"
                );
            }
            Some(Known::Gone) => {
                let latest = sent.get(&number).copied().unwrap_or(0);
                assert!(
                    versions.is_empty() || versions[0] == latest,
                    "document {number} came back: {versions:?}"
                );
            }
            None => {}
        }
    }
    known.values().filter(|known| matches!(known, Known::At(_))).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_over_200_kills() {
    let world = World::new();
    let seed = 0x5ae3;
    let mut dice = Dice(seed);
    let mut known = BTreeMap::new();
    let mut sent = BTreeMap::new();
    let (mut slowest, mut checks, mut held) = (Duration::ZERO, 0, 0);
    for kill in 1..=KILLS {
        let started = std::time::Instant::now();
        let mut served = world.serve().await;
        slowest = slowest.max(started.elapsed());
        if kill % 20 == 0 {
            held += check(&served, &known, &sent).await;
            checks += 1;
        }
        let life = Duration::from_millis(20 + dice.roll(180));
        let mut kill_time = Box::pin(tokio::time::sleep(life));
        tokio::select! {
            () = &mut kill_time => {}
            () = work(&served, &mut dice, &mut known, &mut sent) => {}
        }
        served.child.start_kill().unwrap();
        served.child.wait().await.unwrap();
    }
    let served = world.serve().await;
    held += check(&served, &known, &sent).await;
    checks += 1;
    // What the last lives have left may be little, on a machine that is slow just then.
    assert!(held > 2 * checks, "seed {seed}: {held} documents in {checks} checks are no real work");
    assert!(slowest < Duration::from_secs(20), "a start took {slowest:?}");
}

/// Points at which keeping a document can be interrupted.
const POINTS: &[&str] = &[
    "store.before_commit",
    "store.after_commit",
    "index.before_vectors",
    "index.after_vectors",
    "index.before_commit",
    "index.after_commit",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_at_every_step_of_keeping_leaves_all_or_nothing() {
    for point in POINTS {
        for nth in 1..=4 {
            let world = World::new();
            let mut served = world.serve().await;
            served.add(&json!({ "name": name(1), "text": text(1, 1) })).await;
            served.child.start_kill().unwrap();
            served.child.wait().await.unwrap();
            let failpoint = format!("{point}:{nth}");
            let mut served = world.serve_with(&[("SAEM_FAILPOINT", &failpoint)]).await;
            let mut known = BTreeMap::from([(1, Known::At(1))]);
            let mut sent = BTreeMap::from([(1, 1)]);
            let mut dice = Dice(u64::from(nth as u32) * 7919 + point.len() as u64);
            let died =
                tokio::time::timeout(PATIENCE, work(&served, &mut dice, &mut known, &mut sent));
            died.await.unwrap_or_else(|_| panic!("{failpoint} was never reached"));
            served.child.wait().await.unwrap();
            let served = world.serve().await;
            check(&served, &known, &sent).await;
        }
    }
}
