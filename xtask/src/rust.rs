//! Programs of others that are written in Rust: the official client of A2A, of a known version, in a folder of its own.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The official client. Its lock file says which versions of all others it is built with.
const A2A_CLIENT: (&str, &str) = ("a2a-cli", "0.4.5");

/// The file in the folder that says what is in it: the last thing that is written.
const MARK: &str = "peers.txt";

/// The official client of A2A in `folder`; built once, and again when its version changes.
pub(crate) fn a2a_client(folder: &Path) -> Result<()> {
    let (name, version) = A2A_CLIENT;
    let (wanted, mark) = (format!("{name} {version}"), folder.join(MARK));
    if std::fs::read_to_string(&mark).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    let building = folder.join("building");
    let built = Command::new("cargo")
        .args(["install", "--locked", "--debug", "--quiet", "--force", "--version", version, name])
        // It speaks to this machine alone: without TLS a third of it need not be built.
        .arg("--no-default-features")
        .arg("--root")
        .arg(folder)
        .env("CARGO_TARGET_DIR", &building)
        .status()
        .context("cargo could not be started")?;
    ensure!(built.success(), "the official client of A2A cannot be built: see above");
    // Only the program is needed of it.
    std::fs::remove_dir_all(&building).ok();
    std::fs::write(mark, wanted)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_has_the_client_is_left_as_it_is() {
        let folder = std::env::temp_dir().join(format!("saem-a2a-client-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(MARK), "a2a-cli 0.4.5").unwrap();
        let made = a2a_client(&folder);
        let untouched = !folder.join("bin").exists();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(made.is_ok() && untouched);
    }
}
