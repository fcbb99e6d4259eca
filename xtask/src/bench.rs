//! `cargo xtask bench`: builds Saem as it is packaged, makes the peers ready, and runs a bench.
#![expect(
    clippy::disallowed_methods,
    reason = "a chore is told by cargo's environment where things are"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::python::{Others, Packages, peers, target_folder};

/// What is packaged is measured; peers in Rust are built in the same way.
const PROFILE: &str = "dist";

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

/// What `bench a2a` makes an agent in Python with, in memory and on disk.
const A2A_PEERS: Packages<'_> = Packages {
    names: &["a2a-sdk[http-server,sqlite]==1.3.0", "uvicorn==0.54.0", "starlette==1.10.0"],
    others: Others::AsNeeded,
};

/// The agent that `bench a2a` makes with the official Rust server. It is built in a folder of its own: nothing of it comes into Saem.
const OFFICIAL: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("../../crates/bench/peers/a2a_official/Cargo.toml")),
    ("Cargo.lock", include_str!("../../crates/bench/peers/a2a_official/Cargo.lock")),
    ("src/main.rs", include_str!("../../crates/bench/peers/a2a_official/main.rs")),
];

/// Runs the bench of this name with these arguments.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Result<()> {
    let repository = crate::gate::root();
    let target = target_folder(&repository)?;
    cargo(
        &repository,
        &["build", "--profile", PROFILE, "--package", "saem", "--package", "bench"],
    )?;
    // What speaks MCP or A2A, or drives a browser, is there for the tests already.
    let (python, node) = match name {
        "mcp" | "a2a" | "page" => {
            let folder = crate::python::test_peers()?;
            let python = match name {
                "a2a" => peers(&target.join("bench-a2a-python"), A2A_PEERS)?,
                _ => folder.join("bin/python"),
            };
            (python, Some(crate::node::peers(&folder.join("node"))?))
        }
        _ => (peers(&target.join("bench-peers"), PEERS)?, None),
    };
    let data = std::env::var_os("BENCH_DATA").map(PathBuf::from);
    let mut bench = Command::new(target.join(PROFILE).join("bench"));
    if let Some(node) = node {
        bench.env("BENCH_PACKAGES", node.file("")).env("BENCH_NODE", node.node);
    }
    if name == "a2a" {
        bench.env("BENCH_OFFICIAL", official(&target.join("bench-a2a-official"))?);
    }
    let status = bench
        .arg(name)
        .args(arguments)
        .env("BENCH_SAEM", target.join(PROFILE).join("saem"))
        .env("BENCH_PYTHON", python)
        .env("BENCH_DATA", data.unwrap_or_else(|| repository.join("../shared/data")))
        .status()?;
    ensure!(status.success(), "bench {name} failed");
    Ok(())
}

/// Builds the agent with the official Rust server; says where it is.
fn official(folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder.join("src"))?;
    for (name, text) in OFFICIAL {
        // Not touched without need: cargo would build it anew.
        if !std::fs::read_to_string(folder.join(name)).is_ok_and(|known| known == text) {
            std::fs::write(folder.join(name), text)?;
        }
    }
    let built = folder.join("target");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", &built)
        .args(["build", "--release", "--locked"])
        .status()?;
    ensure!(status.success(), "the official Rust server of A2A cannot be built: see above");
    Ok(built.join("release/a2a-official"))
}

/// Runs cargo, which must succeed.
pub(crate) fn cargo(repository: &Path, arguments: &[&str]) -> Result<()> {
    let status = crate::gate::cargo().current_dir(repository).args(arguments).status()?;
    ensure!(status.success(), "cargo {} failed", arguments.join(" "));
    Ok(())
}
