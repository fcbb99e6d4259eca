//! `bench turn`: whole turns of the copilot over HTTP, beside pydantic-ai and LangGraph with the same model.

pub(crate) mod bare;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::{Value, json};

use crate::Places;
use crate::peer::{Peer, number, text};
use crate::report::{judged, median, result, rounded, say};
use crate::saem::{Saem, fresh_folder};
use crate::talk::{Played, SESSIONS, Talk};
use crate::usage;

/// Turns that each session has had before anything is measured: the short-term is full and a memory is written.
const TURNS_BEFORE: usize = 6;

/// Sessions that ask at the same time in the second part.
const AT_ONCE: usize = 64;

/// What the model takes for each of the two calls there, in milliseconds: 50 for a turn, so that 64 sessions could have
/// 1,280 turns a second from it.
const WAIT_MS: u64 = 25;

/// Turns of Saem for one of a peer in the second part: else it would last a moment.
const CROWD_FACTOR: usize = 4;

/// Time for what goes on after an answer, such as a memory that is rewritten; it belongs to the turn.
const AFTER: Duration = Duration::from_millis(300);

/// Words of the corpus that the peers' models are given for judging and for answering, as many as Saem's.
const JUDGED_CHARACTERS: usize = 8_000;
const PASSAGES_CHARACTERS: usize = 3_000;

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    WithPeers,
    /// Saem alone, which says nothing of how it compares: for finding out where its time goes.
    Alone,
}

pub(crate) struct Size {
    pub(crate) turns: usize,
    pub(crate) rounds: usize,
    pub(crate) company: Company,
}

#[derive(Serialize)]
struct Figures {
    bench: &'static str,
    turns: usize,
    rounds: usize,
    model_calls_per_turn: f64,
    exchange_cpu_ms: f64,
    small_talk_cpu_ms: f64,
    search_cpu_ms: f64,
    saem_cpu_ms: f64,
    saem_cpu_ms_beyond_exchange: f64,
    saem_cpu_ms_per_model_call: f64,
    saem_p50_ms: f64,
    saem_p99_ms: f64,
    model_ms_at_64: u64,
    saem_cpu_ms_at_64: f64,
    saem_turns_per_second: f64,
    saem_turns_per_second_at_64: f64,
    saem_p50_ms_at_64: f64,
    saem_p99_ms_at_64: f64,
    saem_resident_mebibytes: f64,
    /// The same exchanges and a commit, and nothing else.
    least_cpu_ms: f64,
    least_cpu_ms_at_64: f64,
    least_turns_per_second_at_64: f64,
    least_resident_mebibytes: f64,
    peers: Vec<PeerFigures>,
}

#[derive(Serialize)]
struct PeerFigures {
    peer: String,
    cpu_ms: f64,
    /// Its processor time by Saem's beyond a bare exchange, in the same round: no peer is asked over HTTP.
    ratio: f64,
    p50_ms: f64,
    p99_ms: f64,
    turns_per_second: f64,
    cpu_ms_at_64: f64,
    turns_per_second_at_64: f64,
    p50_ms_at_64: f64,
    p99_ms_at_64: f64,
    resident_mebibytes: f64,
}

/// What was measured of somebody, round by round.
#[derive(Default)]
struct Series {
    alone: Vec<Played>,
    crowd: Vec<Played>,
    resident_mebibytes: f64,
}

pub(crate) fn run(places: &Places, size: &Size) -> Result<()> {
    let work = fresh_folder(&std::env::temp_dir())?;
    let corpus = places.repository.join("examples/cloudcost");
    let questions = questions(&corpus)?;
    let mut stub = Stub::start()?;
    let material = work.path().join("material.json");
    std::fs::write(&material, material_of(places, &stub, &questions)?.to_string())?;

    let data = fresh_folder(work.path())?;
    let saem = Saem {
        program: places.program.clone(),
        data: data.path().to_owned(),
        embedder: "built-in",
        model: Some(stub.base_url.clone()),
    };
    load(&saem, &corpus)?;
    let key = key(&saem)?;
    let server = saem.serve()?;
    let (listen, process) = (server.listen.clone(), server.id());
    let talk = Talk { listen, process, key, questions };
    talk.turns(SESSIONS * TURNS_BEFORE, SESSIONS)?;
    std::thread::sleep(AFTER);

    let (_bare, least) = bare_talk(&material, work.path(), &talk)?;
    least.turns(SESSIONS, SESSIONS)?;

    let mut peers = peers(places, size.company, &material)?;

    let (mut ours, mut parts, mut calls) = (Series::default(), Vec::new(), Vec::new());
    let mut bare = Series::default();
    for round in 1..=size.rounds {
        stub.wait(0)?;
        parts.push(Parts::measure(&talk, size.turns)?);
        stub.wait(0)?;
        let played = spent(&talk, size.turns, || talk.turns(size.turns, 1))?;
        calls.push(stub.wait(0)? / size.turns as f64);
        let mut line = format!("round {round}: CPU a turn: Saem {:.3} ms", played.cpu_ms);
        ours.alone.push(played);
        let played = spent(&least, size.turns, || least.turns(size.turns, 1))?;
        line.push_str(&format!(", the least {:.3}", played.cpu_ms));
        bare.alone.push(played);
        for (name, peer, series) in &mut peers {
            let played = ask(peer, size.turns, 1)?;
            line.push_str(&format!(", {name} {:.2}", played.cpu_ms));
            series.alone.push(played);
        }
        stub.wait(WAIT_MS)?;
        let turns = size.turns * CROWD_FACTOR;
        let played = spent(&talk, turns, || talk.turns(turns, AT_ONCE))?;
        line.push_str(&format!("; turns/s: Saem {:.0}", played.turns_per_second));
        ours.crowd.push(played);
        let played = spent(&least, turns, || least.turns(turns, AT_ONCE))?;
        line.push_str(&format!(", the least {:.0}", played.turns_per_second));
        bare.crowd.push(played);
        for (name, peer, series) in &mut peers {
            let played = ask(peer, size.turns, AT_ONCE)?;
            line.push_str(&format!(", {name} {:.0}", played.turns_per_second));
            series.resident_mebibytes = played.resident_mebibytes;
            series.crowd.push(played);
        }
        say(&line);
    }
    ours.resident_mebibytes = server.usage()?.resident_mebibytes_max;
    bare.resident_mebibytes = usage::of_process(least.process)?.resident_mebibytes_max;
    let beyond: Vec<f64> = beyond_exchange(&ours, &parts).collect();
    let peers = peers.into_iter().map(|(name, _, series)| PeerFigures::of(name, &series, &beyond));
    let peers = peers.collect();
    let figures = Figures::of(size, [&ours, &bare], &parts, median(calls), peers);
    figures.compare();
    result(&figures)
}

/// Puts the demo's documents in.
fn load(saem: &Saem, corpus: &Path) -> Result<()> {
    for (folder, kind) in [("guides", "guide"), ("faq", "faq")] {
        let path = corpus.join(folder);
        let arguments = ["--collection", folder, "--type", kind].map(OsStr::new);
        saem.run(&[&[OsStr::new("ingest"), path.as_os_str()], &arguments[..]].concat())?;
    }
    Ok(())
}

/// The peers by their versions, each with a turn in every session behind it.
fn peers(
    places: &Places,
    company: Company,
    material: &Path,
) -> Result<Vec<(String, Peer, Series)>> {
    // Saem reads an answer as it is written; that one of them does too shows what it costs.
    let scripts: &[(&str, Option<&str>)] = match company {
        Company::WithPeers => &[
            ("pydantic_ai_turn.py", None),
            ("pydantic_ai_turn.py", Some("streamed")),
            ("langgraph_turn.py", None),
        ],
        Company::Alone => &[],
    };
    let start = |(name, manner): &(&str, Option<&str>)| {
        let arguments: Vec<&Path> = [material].into_iter().chain(manner.map(Path::new)).collect();
        let mut peer = Peer::start(&places.python, name, &arguments)?;
        let version = peer.ask("version")?.as_str().unwrap_or(*name).to_owned();
        ask(&mut peer, SESSIONS, SESSIONS)?;
        Ok((version, peer, Series::default()))
    };
    scripts.iter().map(start).collect()
}

impl Figures {
    fn of(
        size: &Size,
        [ours, bare]: [&Series; 2],
        parts: &[Parts],
        calls: f64,
        peers: Vec<PeerFigures>,
    ) -> Self {
        let part = |part: fn(&Parts) -> f64| median(parts.iter().map(part).collect());
        let beyond = beyond_exchange(ours, parts);
        let cpu_ms = middle(&ours.alone, |played| played.cpu_ms);
        Self {
            bench: "turn",
            turns: size.turns,
            rounds: size.rounds,
            model_calls_per_turn: rounded(calls),
            exchange_cpu_ms: rounded(part(|parts| parts.exchange)),
            small_talk_cpu_ms: rounded(part(|parts| parts.small_talk)),
            search_cpu_ms: rounded(part(|parts| parts.search)),
            saem_cpu_ms: cpu_ms,
            saem_cpu_ms_beyond_exchange: rounded(median(beyond.collect())),
            saem_cpu_ms_per_model_call: rounded(cpu_ms / calls.max(1.0)),
            saem_p50_ms: middle(&ours.alone, |played| played.p50_ms),
            saem_p99_ms: middle(&ours.alone, |played| played.p99_ms),
            model_ms_at_64: 2 * WAIT_MS,
            saem_cpu_ms_at_64: middle(&ours.crowd, |played| played.cpu_ms),
            saem_turns_per_second: middle(&ours.alone, |played| played.turns_per_second),
            saem_turns_per_second_at_64: middle(&ours.crowd, |played| played.turns_per_second),
            saem_p50_ms_at_64: middle(&ours.crowd, |played| played.p50_ms),
            saem_p99_ms_at_64: middle(&ours.crowd, |played| played.p99_ms),
            saem_resident_mebibytes: rounded(ours.resident_mebibytes),
            least_cpu_ms: middle(&bare.alone, |played| played.cpu_ms),
            least_cpu_ms_at_64: middle(&bare.crowd, |played| played.cpu_ms),
            least_turns_per_second_at_64: middle(&bare.crowd, |played| played.turns_per_second),
            least_resident_mebibytes: rounded(bare.resident_mebibytes),
            peers,
        }
    }

    /// Says how the figures stand to what is wanted of them.
    fn compare(&self) {
        let beyond = self.saem_cpu_ms_beyond_exchange;
        judged("CPU of a turn beyond a bare exchange, ms", beyond, beyond <= 0.8, "at most 0.8");
        for peer in self.peers.iter().filter(|peer| peer.peer.starts_with("pydantic-ai")) {
            let name = format!("CPU of {} by Saem's beyond an exchange", peer.peer);
            judged(&name, peer.ratio, peer.ratio >= 15.0, "at least 15");
        }
        let rate = self.saem_turns_per_second_at_64;
        judged("turns/s of 64 sessions", rate, rate >= 800.0, "at least 800");
        let resident = self.saem_resident_mebibytes;
        judged("resident, MiB", resident, resident < 100.0, "less than 100");
    }
}

impl PeerFigures {
    fn of(peer: String, theirs: &Series, ours_beyond_exchange: &[f64]) -> Self {
        let pairs = theirs.alone.iter().zip(ours_beyond_exchange);
        let ratios = pairs.map(|(theirs, ours)| theirs.cpu_ms / ours).collect();
        Self {
            peer,
            cpu_ms: middle(&theirs.alone, |played| played.cpu_ms),
            ratio: rounded(median(ratios)),
            p50_ms: middle(&theirs.alone, |played| played.p50_ms),
            p99_ms: middle(&theirs.alone, |played| played.p99_ms),
            turns_per_second: middle(&theirs.alone, |played| played.turns_per_second),
            cpu_ms_at_64: middle(&theirs.crowd, |played| played.cpu_ms),
            turns_per_second_at_64: middle(&theirs.crowd, |played| played.turns_per_second),
            p50_ms_at_64: middle(&theirs.crowd, |played| played.p50_ms),
            p99_ms_at_64: middle(&theirs.crowd, |played| played.p99_ms),
            resident_mebibytes: rounded(theirs.resident_mebibytes),
        }
    }
}

/// What Saem took of each round's turns beyond requests that do nothing.
fn beyond_exchange(ours: &Series, parts: &[Parts]) -> impl Iterator<Item = f64> {
    ours.alone.iter().zip(parts).map(|(turn, parts)| turn.cpu_ms - parts.exchange)
}

fn middle(played: &[Played], figure: fn(&Played) -> f64) -> f64 {
    rounded(median(played.iter().map(figure).collect()))
}

/// Processor time of what a turn is made of, in milliseconds each: what is left are the calls of models.
struct Parts {
    /// A request that does nothing.
    exchange: f64,
    /// A turn that neither searches nor asks a model: the session is read, and the turn is on disk.
    small_talk: f64,
    /// A search over HTTP.
    search: f64,
}

impl Parts {
    fn measure(talk: &Talk, turns: usize) -> Result<Self> {
        let exchanges = turns * CROWD_FACTOR;
        Ok(Self {
            exchange: spent(talk, exchanges, || talk.exchanges(exchanges))?.cpu_ms,
            small_talk: spent(talk, turns, || talk.small_talk(turns))?.cpu_ms,
            search: spent(talk, turns, || talk.searches(turns))?.cpu_ms,
        })
    }
}

/// What a run took, with the processor time of the server until it has come to rest.
fn spent(talk: &Talk, times: usize, run: impl FnOnce() -> Result<Played>) -> Result<Played> {
    usage::settle()?;
    let before = usage::of_process(talk.process)?.processor;
    let played = run()?;
    std::thread::sleep(AFTER);
    let processor = usage::of_process(talk.process)?.processor.saturating_sub(before);
    Ok(Played { cpu_ms: processor.as_secs_f64() * 1000.0 / times.max(1) as f64, ..played })
}

/// Starts the least that a turn can be; it ends with the first value, and is asked as Saem is.
fn bare_talk(material: &Path, folder: &Path, as_to: &Talk) -> Result<(Peer, Talk)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("bare-turn").args([material, folder]);
    let mut peer = Peer::of(command)?;
    let answer = peer.ask("where")?;
    let listen = text(&answer, "address")?;
    let (key, questions) = (as_to.key.clone(), as_to.questions.clone());
    let talk = Talk { listen, process: peer.id(), key, questions };
    Ok((peer, talk))
}

/// Has a peer take some turns.
fn ask(peer: &mut Peer, turns: usize, at_once: usize) -> Result<Played> {
    let answer = peer.ask(&format!("{turns} {at_once}"))?;
    Ok(Played {
        cpu_ms: number(&answer, "cpu_ms")?,
        p50_ms: number(&answer, "p50_ms")?,
        p99_ms: number(&answer, "p99_ms")?,
        turns_per_second: number(&answer, "turns_per_second")?,
        resident_mebibytes: number(&answer, "resident_mebibytes")?,
    })
}

/// The model, in a process of its own.
struct Stub {
    peer: Peer,
    base_url: String,
}

impl Stub {
    fn start() -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("stub");
        let mut peer = Peer::of(command)?;
        let answer = peer.ask("0")?;
        let address = text(&answer, "address")?;
        let base_url = format!("http://{address}/v1");
        Ok(Self { peer, base_url })
    }

    /// Has it wait so long from now on; gives the answers since the last time.
    fn wait(&mut self, milliseconds: u64) -> Result<f64> {
        let given = self.peer.ask(&milliseconds.to_string())?;
        Ok(number(&given, "answers")? + number(&given, "verdicts")? + number(&given, "memories")?)
    }
}

fn questions(corpus: &Path) -> Result<Vec<String>> {
    let file = corpus.join("questions.jsonl");
    let lines = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let question = |line: &str| -> Result<String> {
        let line: Value = serde_json::from_str(line)?;
        Ok(line.get("question").and_then(Value::as_str).context("a question")?.to_owned())
    };
    lines.lines().map(question).collect()
}

/// What the peers work with: Saem's instructions, and texts of the corpus as long as what Saem finds.
fn material_of(places: &Places, stub: &Stub, questions: &[String]) -> Result<Value> {
    let prompt = |name: &str| {
        std::fs::read_to_string(places.repository.join("crates/agent/prompts").join(name))
    };
    let guide = places.repository.join("examples/cloudcost/guides/ko/connect-aws.md");
    let text = std::fs::read_to_string(guide)?;
    let found = |characters: usize| -> String { text.chars().cycle().take(characters).collect() };
    let said: Vec<(&String, &str)> =
        questions.iter().take(5).map(|question| (question, crate::stub::TEXT)).collect();
    ensure!(said.len() == 5, "too few questions");
    Ok(json!({
        "base_url": stub.base_url,
        "questions": questions,
        "judge": prompt("judge.md")?,
        "answer": prompt("answer.md")?,
        "judged": found(JUDGED_CHARACTERS),
        "passages": found(PASSAGES_CHARACTERS),
        "said": said,
    }))
}

fn key(saem: &Saem) -> Result<String> {
    let made = saem.output(&["key".as_ref(), "create".as_ref(), "--json".as_ref()])?;
    let made: Value = serde_json::from_slice(&made)?;
    Ok(made.get("key").and_then(Value::as_str).context("a key")?.to_owned())
}
