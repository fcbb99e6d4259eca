//! Measures Saem beside its peers on the same work in one run: `cargo xtask bench search`, `… ingest`, `… turn`, `… mcp`, `… a2a`,
//! `… research`, `… extract` and `… page`.
#![expect(
    clippy::disallowed_methods,
    reason = "a bench takes the time, and the environment tells it where things are"
)]

mod a2a;
mod corpus;
mod crowd;
mod extraction;
mod http;
mod ingest;
mod mcp;
mod page;
mod peer;
mod report;
mod research;
mod saem;
mod search;
mod stub;
mod talk;
mod texts;
mod turn;
mod usage;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

/// Where things are; the caller of this program (`cargo xtask bench`) has made them ready.
pub(crate) struct Places {
    pub(crate) repository: PathBuf,
    /// The product as it is packaged.
    pub(crate) program: PathBuf,
    /// A Python that has the peers.
    pub(crate) python: PathBuf,
    /// Data sets that real texts are taken from.
    pub(crate) data: PathBuf,
}

const HELP: &str = "\
usage: bench search [--vectors N] [--rounds N]   |   bench ingest [--documents N] [--rounds N]
   |   bench turn [--turns N] [--rounds N] [--alone]  |   bench mcp [--requests N] [--rounds N]
   |   bench research [--runs N] [--rounds N]
   |   bench extract [--rounds N]
   |   bench a2a [--requests N] [--rounds N]
   |   bench page [--visits N]

The environment names what is needed: BENCH_SAEM, BENCH_PYTHON, BENCH_DATA, for mcp, a2a and page BENCH_NODE and BENCH_PACKAGES, and for
a2a BENCH_OFFICIAL.";

#[expect(clippy::print_stderr, reason = "a bench talks to the person who started it")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A path that the environment names.
fn named(name: &str) -> Result<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).with_context(|| format!("{name} is not set"))
}

fn places() -> Result<Places> {
    let repository = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let (program, python) = (named("BENCH_SAEM")?, named("BENCH_PYTHON")?);
    Ok(Places { repository, program, python, data: named("BENCH_DATA")? })
}

fn packages() -> Result<mcp::Packages> {
    Ok(mcp::Packages { node: named("BENCH_NODE")?, folder: named("BENCH_PACKAGES")? })
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, usual: usize| -> Result<usize> {
        let place = arguments.iter().position(|argument| argument == name);
        match place.and_then(|place| arguments.get(place + 1)) {
            Some(text) => text.parse().with_context(|| format!("{name} {text}")),
            None => Ok(usual),
        }
    };
    match arguments.first().map(String::as_str) {
        Some("search") => search::run(
            &places()?,
            &search::Size {
                vectors: number("--vectors", 100_000)?,
                questions: 1000,
                rounds: number("--rounds", 7)?,
            },
        ),
        Some("ingest") => ingest::run(
            &places()?,
            &ingest::Size {
                documents: number("--documents", 10_000)?,
                embedded: number("--embedded", 2500)?,
                rounds: number("--rounds", 3)?,
            },
        ),
        Some("turn") => turn::run(
            &places()?,
            &turn::Size {
                turns: number("--turns", 1000)?,
                rounds: number("--rounds", 5)?,
                company: match arguments.iter().any(|argument| argument == "--alone") {
                    true => turn::Company::Alone,
                    false => turn::Company::WithPeers,
                },
            },
        ),
        Some("mcp") => mcp::run(
            &places()?,
            &packages()?,
            &mcp::Size { requests: number("--requests", 5000)?, rounds: number("--rounds", 5)? },
        ),
        Some("research") => research::run(
            &places()?,
            &research::Size { runs: number("--runs", 300)?, rounds: number("--rounds", 5)? },
        ),
        Some("extract") => {
            extraction::run(&places()?, &extraction::Size { rounds: number("--rounds", 5)? })
        }
        Some("a2a") => a2a::run(
            &places()?,
            &a2a::Peers {
                node: named("BENCH_NODE")?,
                packages: named("BENCH_PACKAGES")?,
                official: named("BENCH_OFFICIAL")?,
            },
            &a2a::Size { requests: number("--requests", 5000)?, rounds: number("--rounds", 5)? },
        ),
        Some("page") => {
            page::run(&places()?, &packages()?, &page::Size { visits: number("--visits", 40)? })
        }
        // One of the peers of `bench mcp`, which starts it.
        Some("bare-mcp") => {
            mcp::bare::run(arguments.get(1).context("the file with the tools")?.as_ref())
        }
        // One of the peers of `bench turn`, which starts it.
        Some("bare-turn") => {
            let path = |place: usize| arguments.get(place).context("the material and a folder");
            turn::bare::run(path(1)?.as_ref(), path(2)?.as_ref())
        }
        // The model of `bench turn`, which starts it.
        Some("stub") => stub::run(),
        _ => bail!(HELP),
    }
}
