//! Documents made to do harm: each gets its reason, and the server stays as it was.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::join_all;
use serde_json::{Value, json};
use testkit::hostile::{self, Fate, Hostile, SECRET};

use crate::world::{PATIENCE, Served, World, answer, cloudcost, shown};

/// What the server's own memory may have grown by when all of it is over.
const GROWTH_KIBIBYTES_MAX: u64 = 20 << 10;

/// Documents on their way at the same time.
const AT_ONCE: usize = 4;

/// Rows of a large document that is as it should be: a quarter of a megabyte.
const LARGE_ROWS: usize = 10_000;

/// How often a job is asked for: to ask without pause would take the processor from the work that is waited for.
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// Longer than a thread without work lives (10 seconds), with what it keeps for its next work.
const REST: Duration = Duration::from_secs(15);

/// Memory of a command that is to read four gigabytes, in KiB: far less than that.
const COMMAND_KIBIBYTES_MAX: u64 = 2 << 20;

/// What no reason says to a person.
const INNER_WORDS: [&str; 8] =
    ["::", "Some(", "Err(", "Error {", "panick", "unwrap", ".rs", "\\u{"];

/// What became of one request.
struct Outcome {
    status: u16,
    /// The finished job, or the problem.
    body: Value,
}

#[tokio::test]
async fn hostile_documents_get_their_reason_and_leave_the_server_as_it_was() {
    let world = World::new();
    let settings = [
        // Many questions are asked of it in a short time.
        ("SAEM_SERVER_REQUESTS_PER_MINUTE_MAX", "600000"),
        // What is free goes back at once, so that only what is held is counted.
        ("MIMALLOC_PURGE_DELAY", "0"),
    ];
    let mut served = world.serve_with(&settings).await;
    let process = served.child.id().unwrap();
    warm_up(&served).await;
    let before = kibibytes_at_rest(&served, process, 0).await;
    let corpus = hostile::all();
    let sending = corpus.iter().map(|hostile| send(&served, hostile));
    let outcomes: Vec<Outcome> =
        futures_util::stream::iter(sending).buffered(AT_ONCE).collect().await;
    let records = records(&served).await;
    for (hostile, outcome) in corpus.iter().zip(&outcomes) {
        check(hostile, outcome, &records);
    }
    check_found(&served, &corpus).await;
    let after = kibibytes_at_rest(&served, process, before + GROWTH_KIBIBYTES_MAX).await;
    eprintln!("{} documents: the server had {before} KiB and has {after} KiB", corpus.len());
    assert!(after <= before + GROWTH_KIBIBYTES_MAX, "{before} KiB have become {after}");
    assert_eq!(served.get("/health/ready").await.0, 200);
    assert!(served.child.try_wait().unwrap().is_none(), "it is the process that was started");
    for path in ["/tmp/saem-climbed", "saem-was-here", "/saem-was-here"] {
        assert!(!Path::new(path).exists(), "{path}");
    }
}

#[tokio::test]
async fn one_name_sent_many_times_at_once_is_one_document_in_its_last_version() {
    let world = World::new();
    let served = world.serve().await;
    let mut jobs = Vec::new();
    for version in 0..8 {
        let text = format!("# Same\n\nversion v{version} of it");
        let body = json!({ "name": "same.md", "text": text });
        let (status, job) = served.post("/api/documents", &body).await;
        assert_eq!(status, 202, "{job}");
        jobs.push(job);
    }
    for job in join_all(jobs.iter().map(|job| finished(&served, job))).await {
        assert_eq!(job["state"], "done", "{job}");
    }
    let (_, listed) = served.get("/api/documents").await;
    assert_eq!(listed["documents"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(served.search("version").await, ["version v7 of it"]);
}

#[test]
fn four_gigabytes_are_refused_before_they_are_read() {
    let world = World::new();
    let sparse = world.file("docs/sparse.txt", "");
    std::fs::File::options().write(true).open(&sparse).unwrap().set_len(4 << 30).unwrap();
    world.file("docs/good.md", "# Good\n\nThis one is fine.");
    let docs = world.files().join("docs");
    let output = ingest(&world, &[docs.to_str().unwrap()], Stdio::null());
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    let says = shown(&output);
    assert!(says.contains("1 loaded") && says.contains("64 MiB are allowed: split it"), "{says}");
    let input = std::fs::File::open(&sparse).unwrap();
    let output = ingest(&world, &["-", "--name", "sparse.txt"], input.into());
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("64 MiB are allowed: split it"), "{}", shown(&output));
}

/// `saem ingest` with a bound on its memory.
fn ingest(world: &World, arguments: &[&str], input: Stdio) -> Output {
    let bounded = format!("ulimit -v {COMMAND_KIBIBYTES_MAX} && exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &bounded, env!("CARGO_BIN_EXE_saem"), "ingest"])
        .args(arguments)
        .arg("--data")
        .arg(world.data())
        .env_remove("SAEM_DATA")
        .stdin(input)
        .output()
        .unwrap()
}

/// Loads documents as they should be, as many at once as later, so that what grows only once has grown.
async fn warm_up(served: &Served) {
    let mut bodies = Vec::new();
    for folder in ["guides/ko", "guides/en"] {
        for entry in std::fs::read_dir(cloudcost().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            let text = std::fs::read_to_string(&path).unwrap();
            bodies.push(json!({ "name": name, "text": text, "collection": "guides" }));
        }
    }
    // Large ones too, of words that differ, as a table of measured things has them.
    for number in 0..AT_ONCE {
        let name = format!("large/{number}.md");
        let row = |row: usize| format!("entry {} costs {}\n\n", row * AT_ONCE + number, row * 7);
        let text: String = (0..LARGE_ROWS).map(row).collect();
        bodies.push(json!({ "name": name, "text": text, "collection": "guides" }));
    }
    let adding = bodies.iter().map(|body| async move {
        let (status, job) = served.post("/api/documents", body).await;
        assert_eq!(status, 202, "{job}");
        let job = finished(served, &job).await;
        assert_eq!(job["state"], "done", "{job}");
    });
    futures_util::stream::iter(adding).buffered(AT_ONCE).collect::<()>().await;
    check_good(served).await;
}

/// What was loaded before anything else is found.
async fn check_good(served: &Served) {
    for (question, expected) in [
        ("남은 예산을 다음 달로 이월할 수 있나요?", "이월"),
        ("How is idle cost shared in Kubernetes?", "idle"),
    ] {
        let found = served.search(question).await;
        assert!(found.iter().any(|text| text.contains(expected)), "{question}: {found:?}");
    }
}

/// Sends a document and waits for what becomes of it.
async fn send(served: &Served, hostile: &Hostile) -> Outcome {
    let request = served.client.post(served.url("/api/documents"));
    // What cannot stand in the header of a form can stand in JSON.
    let fits_header = hostile.name.len() < 200 && !hostile.name.contains(char::is_control);
    let request = if fits_header {
        let (kind, body) = form(hostile);
        request.header("content-type", kind).body(body)
    } else {
        let text = std::str::from_utf8(&hostile.bytes).unwrap();
        request.json(&json!({ "name": hostile.name, "text": text }))
    };
    let response = request.send().await;
    let response = response.unwrap_or_else(|error| panic!("{:?}: {error:?}", hostile.name));
    let (status, body) = answer(response).await;
    let body = if status == 202 { finished(served, &body).await } else { body };
    Outcome { status, body }
}

fn form(hostile: &Hostile) -> (String, Vec<u8>) {
    let edge = "5f2b9c1e8d47";
    // As browsers write it: a backslash is a backslash.
    let name = hostile.name.replace('"', "%22");
    let head = format!(
        "--{edge}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    );
    let body = [head.as_bytes(), &hostile.bytes, format!("\r\n--{edge}--\r\n").as_bytes()].concat();
    (format!("multipart/form-data; boundary={edge}"), body)
}

/// The job when it has come to its end.
async fn finished(served: &Served, job: &Value) -> Value {
    let path = format!("/api/jobs/{}", job["id"].as_str().unwrap());
    let mut pace = tokio::time::interval(ASKED_EVERY);
    let waiting = async {
        loop {
            pace.tick().await;
            let (status, job) = served.get(&path).await;
            assert_eq!(status, 200, "{job}");
            if job["state"] != "waiting" {
                return job;
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the job comes to an end")
}

/// Status and reason of every document, by its name.
async fn records(served: &Served) -> BTreeMap<String, (String, String)> {
    let (status, listed) = served.get("/api/documents?collection=documents&limit=1000").await;
    assert_eq!(status, 200, "{listed}");
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let documents = listed["documents"].as_array().unwrap().iter();
    documents.map(|of| (word(&of["source"]), (word(&of["status"]), word(&of["reason"])))).collect()
}

fn check(hostile: &Hostile, outcome: &Outcome, records: &BTreeMap<String, (String, String)>) {
    let Hostile { name, fate, .. } = hostile;
    let Outcome { status, body } = outcome;
    let record = records.get(name).map(|(status, reason)| (status.as_str(), reason.as_str()));
    match fate {
        Fate::Read { .. } => {
            assert_eq!((status, &body["state"]), (&202, &json!("done")), "{name:?}: {body}");
            assert_eq!(record, Some(("ready", "")), "{name:?}");
        }
        Fate::Refused { because } => {
            assert_eq!((status, &body["state"]), (&202, &json!("failed")), "{name:?}: {body}");
            let reason = body["failures"][0]["reason"].as_str().unwrap();
            assert!(reason.contains(because), "{name:?}: {reason}");
            check_reason(name, reason);
            // A name that cannot be used has no record.
            if !because.contains("name cannot be used") {
                assert_eq!(record, Some(("failed", reason)), "{name:?}");
            }
        }
        Fate::TooLarge => {
            assert_eq!((status, &body["code"]), (&413, &json!("body_too_large")), "{name:?}");
            assert_eq!(record, None, "{name:?}");
        }
    }
}

/// A reason is one line for a person: what is wrong, and after a colon what to do.
fn check_reason(name: &str, reason: &str) {
    let is_line = reason.len() < 300 && !reason.contains(char::is_control);
    let is_plain = !INNER_WORDS.iter().any(|word| reason.contains(word));
    let says_what_to_do = reason.rsplit_once(": ").is_some_and(|(_, remedy)| remedy.len() > 10);
    assert!(is_line && is_plain && says_what_to_do, "{name:?}: {reason}");
}

/// What can be read is found, what was there before too, and nothing that no document may bring out.
async fn check_found(served: &Served, corpus: &[Hostile]) {
    for hostile in corpus {
        if let Fate::Read { finds } = hostile.fate {
            let found = served.search(finds).await;
            assert!(found.iter().any(|text| text.contains(finds)), "{:?}: {found:?}", hostile.name);
        }
    }
    for words in [SECRET, "billionlaughs", "lol lol"] {
        let found = served.search(words).await;
        let has_leaked = |text: &String| text.contains(SECRET) || text.contains("lollol");
        assert!(!found.iter().any(has_leaked), "{words}: {found:?}");
    }
    check_good(served).await;
}

/// The least memory that the process is seen to hold until its idle threads have ended, or the first that is `enough`.
/// It is asked something all the while: an allocator gives back when it is used.
async fn kibibytes_at_rest(served: &Served, process: u32, enough: u64) -> u64 {
    let end = Instant::now() + REST;
    let mut pace = tokio::time::interval(ASKED_EVERY);
    let mut least = u64::MAX;
    while Instant::now() < end && least > enough {
        pace.tick().await;
        check_good(served).await;
        least = least.min(resident_kibibytes(process));
    }
    least
}

fn resident_kibibytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
