//! The one gate: what must hold before a change lands, in the order of what fails fastest.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// The folder that holds the workspace.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// Runs everything, installing what is needed first.
pub(crate) fn test() -> Result<()> {
    crate::needs::install()?;
    let peers = crate::python::test_peers()?;
    let peers = peers.to_str().context("the path of the target folder is no text")?;
    step("format", &["fmt", "--all", "--check"], &[])?;
    step(
        "lints",
        &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
        &[],
    )?;
    step(
        "docs",
        &["doc", "--workspace", "--no-deps", "--locked", "--document-private-items"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    // What a test says of its failure is one line; the way there through a runtime is a hundred, and a log keeps only so many.
    let environment = [("TEST_PEERS", peers), ("RUST_BACKTRACE", "0")];
    if has_nextest() {
        step(
            "tests",
            &["nextest", "run", "--workspace", "--locked", "--no-fail-fast"],
            &environment,
        )?;
        step("examples in docs", &["test", "--workspace", "--locked", "--doc"], &[])?;
    } else {
        step("tests", &["test", "--workspace", "--locked", "--no-fail-fast"], &environment)?;
    }
    crate::conformance::run(&[])
}

/// Cargo, as a person would start it. What `cargo xtask` was told of itself makes build scripts run again that ask for such
/// things, and all that stands on them is built anew.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new("cargo");
    for (name, _) in std::env::vars_os() {
        let is_of_us = ["CARGO_PKG_", "CARGO_MANIFEST_"]
            .iter()
            .any(|start| name.to_str().is_some_and(|name| name.starts_with(start)));
        if is_of_us {
            command.env_remove(name);
        }
    }
    command
}

fn has_nextest() -> bool {
    let version = Command::new("cargo").args(["nextest", "--version"]).output();
    version.is_ok_and(|output| output.status.success())
}

#[expect(clippy::print_stderr, reason = "a chore talks to the person who started it")]
#[expect(clippy::disallowed_methods, reason = "how long a step takes is for the person who waits")]
fn step(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    eprintln!("── {name}: cargo {}", arguments.join(" "));
    let start = Instant::now();
    let status = cargo()
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root())
        .status()
        .with_context(|| format!("cargo could not be started for {name}"))?;
    eprintln!("── {name}: {} s", start.elapsed().as_secs());
    if !status.success() {
        bail!("{name} failed");
    }
    Ok(())
}
