//! Programs in Python that are not ours, for Saem to talk with; `cargo xtask test` fetches them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

/// One of the scripts beside this file, to be started with what `cargo xtask test` has fetched.
pub(crate) fn script(name: &str) -> Command {
    let named = std::env::var_os("TEST_PEERS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| {
        let binary = Path::new(env!("CARGO_BIN_EXE_saem"));
        binary.ancestors().nth(2).unwrap().join("test-peers")
    });
    let python = folder.join("bin/python");
    // The last thing that is written: before, the environment is not whole.
    let is_there = folder.join("peers.txt").exists() && python.exists();
    assert!(is_there, "{} is not there: run `cargo xtask test` once", folder.display());
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(name));
    // Nothing here is further away than this machine.
    command.env("NO_PROXY", "*").env("PYTHONDONTWRITEBYTECODE", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}
