//! `cargo xtask bench`: makes the release build and the peers ready, and runs a bench.
#![expect(
    clippy::disallowed_methods,
    reason = "a chore is told by cargo's environment where things are"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The peers, pinned: a figure says which version it was measured against.
const PEERS: [&str; 9] = [
    "faiss-cpu==1.15.1",
    "numpy==2.4.6",
    "llama-index-core==0.14.25",
    "llama-index-retrievers-bm25==0.8.0",
    "llama-index-readers-file==0.7.0",
    "beautifulsoup4==4.15.0",
    "pydantic-ai-slim[openai]==2.66.0",
    "langgraph==1.2.20",
    "openai==3.49.0",
];

/// Runs the bench of this name with these arguments.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Result<()> {
    let repository = crate::gate::root();
    let target = target_folder(&repository)?;
    cargo(&repository, &["build", "--release", "--package", "saem", "--package", "bench"])?;
    let python = peers(&target.join("bench-peers"))?;
    let data = std::env::var_os("BENCH_DATA").map(PathBuf::from);
    let status = Command::new(target.join("release/bench"))
        .arg(name)
        .args(arguments)
        .env("BENCH_SAEM", target.join("release/saem"))
        .env("BENCH_PYTHON", python)
        .env("BENCH_DATA", data.unwrap_or_else(|| repository.join("../shared/data")))
        .status()?;
    ensure!(status.success(), "bench {name} failed");
    Ok(())
}

/// A Python environment that has the peers; made once, and again when they change.
fn peers(folder: &Path) -> Result<PathBuf> {
    let python = folder.join("bin/python");
    let (wanted, mark) = (PEERS.join("\n"), folder.join("peers.txt"));
    if std::fs::read_to_string(&mark).is_ok_and(|made| made == wanted) {
        return Ok(python);
    }
    let made = Command::new("python3").args(["-m", "venv"]).arg(folder).status();
    let missing = "python3 with its venv module is needed: install the package python3-venv";
    ensure!(made.context(missing)?.success(), missing);
    let installed =
        Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PEERS).status()?;
    ensure!(installed.success(), "the peers cannot be installed: see above");
    std::fs::write(mark, wanted)?;
    Ok(python)
}

fn target_folder(repository: &Path) -> Result<PathBuf> {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| repository.join("target"));
    std::fs::create_dir_all(&folder)?;
    Ok(folder.canonicalize()?)
}

fn cargo(repository: &Path, arguments: &[&str]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).current_dir(repository).args(arguments).status()?;
    ensure!(status.success(), "cargo {} failed", arguments.join(" "));
    Ok(())
}
