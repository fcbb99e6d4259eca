//! `bench mcp`: tools listed and called over HTTP, beside bare rmcp, FastMCP and the TypeScript SDK.

pub(crate) mod bare;
mod hop;
mod load;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Value, json};

use crate::Places;
use crate::peer::{Peer, text};
use crate::report::{judged, median, result, rounded, say};
use crate::saem::{Saem, Server, fresh_folder};
use crate::usage::{self, Usage};
use load::{Caller, Played, Request};

/// Callers at the same time in the runs that processor time is taken from.
const AT_ONCE: usize = 16;

/// Requests of Saem and of bare rmcp for one of a slow peer: else theirs would last a moment, or the peers' an hour.
const SLOW_FACTOR: usize = 10;

/// The tool that is called. It reads a section of a document, which the peers have ready in memory.
const TOOL: &str = "get_section";

pub(crate) struct Size {
    pub(crate) requests: usize,
    pub(crate) rounds: usize,
}

/// Where the packages of npm are, and the Node to run them with.
pub(crate) struct Packages {
    pub(crate) node: PathBuf,
    pub(crate) folder: PathBuf,
}

#[derive(Serialize)]
struct Figures {
    bench: &'static str,
    requests: usize,
    rounds: usize,
    at_once: usize,
    tools_bytes: usize,
    servers: Vec<ServerFigures>,
    hop: hop::Figures,
}

#[derive(Serialize)]
struct ServerFigures {
    server: String,
    list_cpu_us: f64,
    call_cpu_us: f64,
    /// Its processor time by Saem's, in the same round.
    list_ratio: f64,
    call_ratio: f64,
    list_p50_ms: f64,
    call_p50_ms: f64,
    call_p99_ms_at_16: f64,
    calls_per_second_at_16: f64,
    resident_mebibytes: f64,
}

/// A server and what was measured of it, round by round.
struct Contestant {
    name: String,
    caller: Caller,
    process: Process,
    requests: usize,
    rounds: Vec<Round>,
}

/// The process that serves.
enum Process {
    Saem(Server),
    Peer(Peer),
}

impl Process {
    fn usage(&self) -> Result<Usage> {
        match self {
            Self::Saem(server) => server.usage(),
            Self::Peer(peer) => usage::of_process(peer.id()),
        }
    }
}

/// What one round of one server took.
#[derive(Default)]
struct Round {
    list_cpu_us: f64,
    call_cpu_us: f64,
    list: Played,
    call: Played,
    call_at_once: Played,
}

pub(crate) fn run(places: &Places, packages: &Packages, size: &Size) -> Result<()> {
    let work = fresh_folder(&std::env::temp_dir())?;
    let (saem, call) = saem(places, work.path(), size.requests)?;
    let list = Request::list();
    let tools = saem.caller.answer(&list)?;
    let tools = tools.get("tools").context("tools in Saem's answer")?.clone();
    let tools_bytes = tools.to_string().len();
    let answer = saem.caller.answer(&call)?;
    let part =
        |name: &str| answer.get(name).cloned().with_context(|| format!("{name} in {answer}"));
    let answer =
        json!({ "content": part("content")?, "structuredContent": part("structuredContent")? });
    let material = work.path().join("material.json");
    std::fs::write(&material, json!({ "tools": tools, "answer": answer }).to_string())?;

    let mut contestants = vec![saem];
    contestants.extend(peers(places, packages, &material, size.requests)?);
    for contestant in &contestants {
        contestant.caller.play(&list, AT_ONCE * 4, AT_ONCE)?;
        contestant.caller.play(&call, AT_ONCE * 4, AT_ONCE)?;
    }
    for round in 1..=size.rounds {
        let mut line = format!("round {round}: CPU of a list and a call, µs:");
        for contestant in &mut contestants {
            let round = contestant.round(&list, &call)?;
            let (list, call) = (round.list_cpu_us, round.call_cpu_us);
            line.push_str(&format!(" {} {list:.0} {call:.0};", contestant.name));
            contestant.rounds.push(round);
        }
        say(&line);
    }
    let hop = hop::run(places, work.path(), &material, &call, size)?;
    let servers = contestants.iter().map(|contestant| contestant.figures(&contestants));
    let figures = Figures {
        bench: "mcp",
        requests: size.requests,
        rounds: size.rounds,
        at_once: AT_ONCE,
        tools_bytes,
        servers: servers.collect::<Result<_>>()?,
        hop,
    };
    figures.compare();
    result(&figures)
}

impl Contestant {
    fn round(&self, list: &Request, call: &Request) -> Result<Round> {
        let alone = (self.requests / AT_ONCE).max(1);
        let list_alone = self.caller.play(list, alone, 1)?;
        let call_alone = self.caller.play(call, alone, 1)?;
        let (list_cpu_us, _) = self.spent(list, AT_ONCE)?;
        let (call_cpu_us, call_at_once) = self.spent(call, AT_ONCE)?;
        Ok(Round { list_cpu_us, call_cpu_us, list: list_alone, call: call_alone, call_at_once })
    }

    /// Processor time for each request, in microseconds, and what the callers saw.
    fn spent(&self, request: &Request, at_once: usize) -> Result<(f64, Played)> {
        let before = self.process.usage()?.processor;
        let played = self.caller.play(request, self.requests, at_once)?;
        let processor = self.process.usage()?.processor.saturating_sub(before);
        Ok((processor.as_secs_f64() * 1e6 / self.requests.max(1) as f64, played))
    }

    fn figures(&self, all: &[Self]) -> Result<ServerFigures> {
        let middle = |figure: &dyn Fn(&Round) -> f64| {
            rounded(median(self.rounds.iter().map(figure).collect()))
        };
        let saem = all.first().context("Saem")?;
        let ratio = |figure: &dyn Fn(&Round) -> f64| {
            let pairs = self.rounds.iter().zip(&saem.rounds);
            rounded(median(pairs.map(|(theirs, ours)| figure(theirs) / figure(ours)).collect()))
        };
        Ok(ServerFigures {
            server: self.name.clone(),
            list_cpu_us: middle(&|round| round.list_cpu_us),
            call_cpu_us: middle(&|round| round.call_cpu_us),
            list_ratio: ratio(&|round| round.list_cpu_us),
            call_ratio: ratio(&|round| round.call_cpu_us),
            list_p50_ms: middle(&|round| round.list.p50_ms),
            call_p50_ms: middle(&|round| round.call.p50_ms),
            call_p99_ms_at_16: middle(&|round| round.call_at_once.p99_ms),
            calls_per_second_at_16: middle(&|round| round.call_at_once.per_second),
            resident_mebibytes: rounded(self.process.usage()?.resident_mebibytes),
        })
    }
}

impl Figures {
    /// Says how the figures stand to what is wanted of them.
    fn compare(&self) {
        for server in &self.servers {
            for (what, ratio) in [("list", server.list_ratio), ("call", server.call_ratio)] {
                let name = &server.server;
                if name.starts_with("rmcp") {
                    let times = 1.0 / ratio.max(f64::MIN_POSITIVE);
                    let words = format!("CPU of a {what} by that of {name}");
                    judged(&words, times, times <= 1.5, "at most 1.5");
                } else if name.starts_with("FastMCP") {
                    let words = format!("CPU of a {what} of {name} by Saem's");
                    judged(&words, ratio, ratio >= 15.0, "at least 15");
                }
            }
        }
        let hop = self.hop.saem_hop_ms;
        judged("one more call on the way, ms", hop, hop <= 0.5, "at most 0.5");
    }
}

/// Saem with one document, and the call that reads its first section.
fn saem(places: &Places, work: &Path, requests: usize) -> Result<(Contestant, Request)> {
    let data = work.join("data");
    let saem = Saem { program: places.program.clone(), data, embedder: "none", model: None };
    let guide = places.repository.join("examples/cloudcost/guides/en/budgets.md");
    saem.run(&["ingest".as_ref(), guide.as_os_str()])?;
    let found = saem.output(&["search".as_ref(), "budget".as_ref(), "--json".as_ref()])?;
    let found: Value = serde_json::from_slice(&found)?;
    let section = found.pointer("/passages/0/section").cloned().context("a section")?;
    let contestant = served(&saem, requests)?;
    Ok((contestant, Request::call(TOOL, &json!({ "section": section }))))
}

/// Saem's server, and a caller with a key of its own.
fn served(saem: &Saem, requests: usize) -> Result<Contestant> {
    let made = ["key", "create", "--scopes", "read,write", "--json"].map(OsStr::new);
    let made: Value = serde_json::from_slice(&saem.output(&made)?)?;
    let key = made.get("key").and_then(Value::as_str).context("a key")?.to_owned();
    let server = saem.serve()?;
    let caller = Caller { address: server.listen.clone(), key: Some(key) };
    let (name, process) = ("Saem".to_owned(), Process::Saem(server));
    Ok(Contestant { name, caller, process, requests, rounds: Vec::new() })
}

/// Bare rmcp, in a process of its own.
fn bare(material: &Path, requests: usize) -> Result<Contestant> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("bare-mcp").arg(material);
    contestant(Peer::of(command)?, requests)
}

fn peers(
    places: &Places,
    packages: &Packages,
    material: &Path,
    requests: usize,
) -> Result<Vec<Contestant>> {
    let slow = (requests / SLOW_FACTOR).max(1);
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let mut typescript = Command::new(&packages.node);
    typescript.arg(scripts.join("typescript_server.mjs")).arg(material).arg(&packages.folder);
    Ok(vec![
        bare(material, requests)?,
        contestant(Peer::start(&places.python, "fastmcp_server.py", &[material])?, slow)?,
        contestant(Peer::of(typescript)?, slow)?,
    ])
}

/// A peer that says where it listens.
fn contestant(mut peer: Peer, requests: usize) -> Result<Contestant> {
    let said = peer.ask("where")?;
    let text = |name: &str| text(&said, name);
    let caller = Caller { address: text("address")?, key: None };
    let process = Process::Peer(peer);
    Ok(Contestant { name: text("version")?, caller, process, requests, rounds: Vec::new() })
}
