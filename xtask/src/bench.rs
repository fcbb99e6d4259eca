//! `cargo xtask bench`: makes the release build and the peers ready, and runs a bench.
#![expect(
    clippy::disallowed_methods,
    reason = "a chore is told by cargo's environment where things are"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::python::{Others, Packages, peers, target_folder};

/// The peers, pinned: a figure says which version it was measured against.
const PEERS: Packages<'_> = Packages {
    names: &[
        "faiss-cpu==1.15.1",
        "numpy==2.4.6",
        "llama-index-core==0.14.25",
        "llama-index-retrievers-bm25==0.8.0",
        "llama-index-readers-file==0.7.0",
        "beautifulsoup4==4.15.0",
        "pydantic-ai-slim[openai]==2.66.0",
        "langgraph==1.2.20",
        "openai==3.49.0",
        "agent-framework-core==1.23.0",
        "agent-framework-orchestrations==1.4.0",
        "trafilatura==2.0.0",
        "lxml_html_clean==0.4.6",
    ],
    others: Others::AsNeeded,
};

/// Runs the bench of this name with these arguments.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Result<()> {
    let repository = crate::gate::root();
    let target = target_folder(&repository)?;
    cargo(&repository, &["build", "--release", "--package", "saem", "--package", "bench"])?;
    // What speaks MCP is there for the tests already.
    let (python, node) = if name == "mcp" {
        let folder = crate::python::test_peers()?;
        (folder.join("bin/python"), Some(crate::node::peers(&folder.join("node"))?))
    } else {
        (peers(&target.join("bench-peers"), PEERS)?, None)
    };
    let data = std::env::var_os("BENCH_DATA").map(PathBuf::from);
    let mut bench = Command::new(target.join("release/bench"));
    if let Some(node) = node {
        bench.env("BENCH_PACKAGES", node.file("")).env("BENCH_NODE", node.node);
    }
    let status = bench
        .arg(name)
        .args(arguments)
        .env("BENCH_SAEM", target.join("release/saem"))
        .env("BENCH_PYTHON", python)
        .env("BENCH_DATA", data.unwrap_or_else(|| repository.join("../shared/data")))
        .status()?;
    ensure!(status.success(), "bench {name} failed");
    Ok(())
}

/// Runs cargo, which must succeed.
pub(crate) fn cargo(repository: &Path, arguments: &[&str]) -> Result<()> {
    let status = crate::gate::cargo().current_dir(repository).args(arguments).status()?;
    ensure!(status.success(), "cargo {} failed", arguments.join(" "));
    Ok(())
}
