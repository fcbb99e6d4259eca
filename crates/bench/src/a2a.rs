//! `bench a2a`: messages answered whole and as events, beside the official servers in Rust, Python and JavaScript.

mod load;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::Places;
use crate::peer::{Peer, text};
use crate::report::{judged, median, result, rounded, say};
use crate::saem::fresh_folder;
use crate::usage::{self, Usage};
use load::{Caller, Played, Way};

/// Callers at the same time in the runs that processor time is taken from.
const AT_ONCE: usize = 16;

/// Requests of Saem and of the official Rust server for one of a slow peer.
const SLOW_FACTOR: usize = 10;

/// What the figures of Saem are called, with tasks in memory and on disk.
const IN_MEMORY: &str = "Saem, in memory";
const DURABLE: &str = "Saem, durable";

/// How the name of the agent in Python ends when it keeps its tasks on disk.
const ON_DISK: &str = " with SQLite";

pub(crate) struct Size {
    pub(crate) requests: usize,
    pub(crate) rounds: usize,
}

/// Where the peers are.
pub(crate) struct Peers {
    pub(crate) node: PathBuf,
    /// The folder `node_modules`.
    pub(crate) packages: PathBuf,
    /// The agent that is made with the official Rust server.
    pub(crate) official: PathBuf,
}

#[derive(Serialize)]
struct Figures {
    bench: &'static str,
    requests: usize,
    rounds: usize,
    at_once: usize,
    servers: Vec<ServerFigures>,
}

#[derive(Serialize)]
struct ServerFigures {
    server: String,
    send_cpu_us: f64,
    stream_cpu_us: f64,
    /// Its processor time by that of the official Rust server, in the same round.
    send_ratio: f64,
    stream_ratio: f64,
    send_p50_ms: f64,
    stream_p50_ms: f64,
    first_event_p50_ms: f64,
    first_event_p99_ms: f64,
    send_p99_ms_at_16: f64,
    sends_per_second_at_16: f64,
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
    Saem(Kit),
    Peer(Peer),
}

impl Process {
    fn usage(&self) -> Result<Usage> {
        match self {
            Self::Saem(kit) => usage::of_process(kit.0.id()),
            Self::Peer(peer) => usage::of_process(peer.id()),
        }
    }
}

/// Saem's server with the agent for kits, which does what the peers do; it is killed with this value.
struct Kit(Child);

impl Drop for Kit {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// What one round of one server took.
struct Round {
    send_cpu_us: f64,
    stream_cpu_us: f64,
    send: Played,
    stream: Played,
    send_at_once: Played,
}

pub(crate) fn run(places: &Places, peers: &Peers, size: &Size) -> Result<()> {
    let work = fresh_folder(&std::env::temp_dir())?;
    let slow = (size.requests / SLOW_FACTOR).max(1);
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let mut javascript = Command::new(&peers.node);
    javascript.arg(scripts.join("a2a_server.mjs")).arg(peers.packages.join(".."));
    let mut contestants = vec![
        contestant(Peer::of(Command::new(&peers.official))?, size.requests)?,
        saem(places, work.path(), IN_MEMORY, size.requests)?,
        saem(places, work.path(), DURABLE, size.requests)?,
        contestant(Peer::start(&places.python, "a2a_server.py", &[])?, slow)?,
        contestant(
            Peer::start(&places.python, "a2a_server.py", &[&work.path().join("tasks.db")])?,
            slow,
        )?,
        contestant(Peer::of(javascript)?, slow)?,
    ];
    for contestant in &contestants {
        contestant.caller.play(Way::Send, AT_ONCE * 4, AT_ONCE)?;
        contestant.caller.play(Way::Stream, AT_ONCE * 4, AT_ONCE)?;
    }
    for round in 1..=size.rounds {
        let mut line = format!("round {round}: CPU of a send and a stream, µs:");
        for contestant in &mut contestants {
            let round = contestant.round()?;
            let (send, stream) = (round.send_cpu_us, round.stream_cpu_us);
            line.push_str(&format!(" {} {send:.0} {stream:.0};", contestant.name));
            contestant.rounds.push(round);
        }
        say(&line);
    }
    let servers = contestants.iter().map(|contestant| contestant.figures(&contestants));
    let figures = Figures {
        bench: "a2a",
        requests: size.requests,
        rounds: size.rounds,
        at_once: AT_ONCE,
        servers: servers.collect::<Result<_>>()?,
    };
    figures.compare()?;
    result(&figures)
}

impl Contestant {
    fn round(&self) -> Result<Round> {
        let alone = (self.requests / AT_ONCE).max(1);
        let send = self.caller.play(Way::Send, alone, 1)?;
        let stream = self.caller.play(Way::Stream, alone, 1)?;
        let (send_cpu_us, send_at_once) = self.spent(Way::Send)?;
        let (stream_cpu_us, _) = self.spent(Way::Stream)?;
        Ok(Round { send_cpu_us, stream_cpu_us, send, stream, send_at_once })
    }

    /// Processor time for each message, in microseconds, and what the callers saw.
    fn spent(&self, way: Way) -> Result<(f64, Played)> {
        let before = self.process.usage()?.processor;
        let played = self.caller.play(way, self.requests, AT_ONCE)?;
        let processor = self.process.usage()?.processor.saturating_sub(before);
        Ok((processor.as_secs_f64() * 1e6 / self.requests.max(1) as f64, played))
    }

    fn figures(&self, all: &[Self]) -> Result<ServerFigures> {
        let middle = |figure: &dyn Fn(&Round) -> f64| {
            rounded(median(self.rounds.iter().map(figure).collect()))
        };
        let official = all.first().context("the official server")?;
        let ratio = |figure: &dyn Fn(&Round) -> f64| {
            let pairs = self.rounds.iter().zip(&official.rounds);
            rounded(median(pairs.map(|(own, official)| figure(own) / figure(official)).collect()))
        };
        Ok(ServerFigures {
            server: self.name.clone(),
            send_cpu_us: middle(&|round| round.send_cpu_us),
            stream_cpu_us: middle(&|round| round.stream_cpu_us),
            send_ratio: ratio(&|round| round.send_cpu_us),
            stream_ratio: ratio(&|round| round.stream_cpu_us),
            send_p50_ms: middle(&|round| round.send.p50_ms),
            stream_p50_ms: middle(&|round| round.stream.p50_ms),
            first_event_p50_ms: middle(&|round| round.stream.first_p50_ms),
            first_event_p99_ms: middle(&|round| round.stream.first_p99_ms),
            send_p99_ms_at_16: middle(&|round| round.send_at_once.p99_ms),
            sends_per_second_at_16: middle(&|round| round.send_at_once.per_second),
            resident_mebibytes: rounded(self.process.usage()?.resident_mebibytes),
        })
    }
}

impl Figures {
    /// Says how the figures stand to what is wanted of them.
    fn compare(&self) -> Result<()> {
        let found = |what: &str, is_it: &dyn Fn(&str) -> bool| {
            let found = self.servers.iter().find(|server| is_it(&server.server));
            found.with_context(|| format!("the figures of {what}"))
        };
        for (name, times_max) in [(IN_MEMORY, 1.2), (DURABLE, 2.5)] {
            let own = found(name, &|server| server == name)?;
            // What is kept is compared with what is kept.
            let is_like = |server: &str| {
                server.starts_with("a2a-sdk") && server.ends_with(ON_DISK) == (name == DURABLE)
            };
            let python = found("Python", &is_like)?;
            for (what, ratio, python) in [
                ("send", own.send_ratio, python.send_cpu_us / own.send_cpu_us),
                ("stream", own.stream_ratio, python.stream_cpu_us / own.stream_cpu_us),
            ] {
                let words = format!("{name}: CPU of a {what} by that of the official Rust server");
                judged(&words, ratio, ratio <= times_max, &format!("at most {times_max}"));
                let words = format!("{name}: CPU of a {what} in Python by Saem's");
                judged(&words, python, python >= 40.0, "at least 40");
            }
            let first = own.first_event_p50_ms;
            judged(&format!("{name}: first event, ms"), first, first <= 1.0, "at most 1");
        }
        Ok(())
    }
}

/// Saem with the agent for kits, on a data folder below `work`.
fn saem(places: &Places, work: &Path, name: &str, requests: usize) -> Result<Contestant> {
    let folder = work.join(name.replace([',', ' '], ""));
    std::fs::create_dir(&folder)?;
    let store = if name == IN_MEMORY { "memory" } else { "same" };
    let mut child = Command::new(&places.program)
        .args(["conformance", "a2a"])
        .env("TMPDIR", &folder)
        .env("SAEM_A2A_STORE", store)
        .env("SAEM_EMBEDDER_KIND", "none")
        .env("SAEM_MODELS_DISCOVER", "false")
        .env("SAEM_LOG_LEVEL", "error")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| places.program.display().to_string())?;
    let output = child.stdout.take().context("its output")?;
    let kit = Kit(child);
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let address = line.trim().strip_prefix("http://").and_then(|rest| rest.split_once('/'));
    let (address, path) = address.with_context(|| format!("its address in {line}"))?;
    let caller = Caller { address: address.to_owned(), path: format!("/{path}") };
    let process = Process::Saem(kit);
    Ok(Contestant { name: name.to_owned(), caller, process, requests, rounds: Vec::new() })
}

/// A peer that says where it listens.
fn contestant(mut peer: Peer, requests: usize) -> Result<Contestant> {
    let said = peer.ask("where")?;
    let text = |name: &str| text(&said, name);
    let caller = Caller { address: text("address")?, path: text("path")? };
    let process = Process::Peer(peer);
    Ok(Contestant { name: text("version")?, caller, process, requests, rounds: Vec::new() })
}
