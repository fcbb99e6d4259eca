//! `server.json` in the data folder: how commands find the server that has the folder open, and act as its owner.
//!
//! Whoever can read the file owns the folder: it is readable by nobody else. A server keeps its file locked while it
//! runs, and the system lets the lock go however the server ends, so a file without a lock is a dead server's.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use engine::keys::Secret;
use serde::{Deserialize, Serialize};

const NAME: &str = "server.json";

/// What a file is called until it is whole.
const DRAFT_NAME: &str = "server.json.new";

/// Longest file that is read: an address, a number and a token are far shorter.
const BYTES_MAX: u64 = 4096;

/// The file's form.
#[derive(Serialize, Deserialize)]
struct Written {
    address: SocketAddr,
    pid: u32,
    token: String,
}

/// A server that has said where it is. The file goes with the value.
pub(crate) struct Announced {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

/// A server that runs on the data folder.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) pid: u32,
    pub(crate) token: Secret,
}

impl Announced {
    /// Says that a server listens on `address`, which is a loopback one, and takes `token` for the owner's.
    pub(crate) fn write(folder: &Path, address: SocketAddr, token: &Secret) -> Result<Self> {
        let (path, draft) = (folder.join(NAME), folder.join(DRAFT_NAME));
        let write = || {
            // Only the one who has the folder open gets here, so a draft is a dead server's.
            match fs::remove_file(&draft) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
            file.lock()?;
            let token = token.expose().to_owned();
            let written = Written { address, pid: std::process::id(), token };
            file.write_all(&serde_json::to_vec(&written)?)?;
            fs::rename(&draft, &path)?;
            Ok(file)
        };
        let file = write().with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Self { path, _file: file })
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        // A file that stays is without a lock and counts as a dead server's.
        let _gone = fs::remove_file(&self.path);
    }
}

/// The server that runs on the folder, if one does and this user may speak for the folder's owner.
pub(crate) fn find(folder: &Path) -> Option<Running> {
    let file = File::open(folder.join(NAME)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {}
        Ok(()) | Err(TryLockError::Error(_)) => return None,
    }
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    let Written { address, pid, token } = serde_json::from_str(&text).ok()?;
    // The token is for this machine: it is not sent anywhere else, whatever the file says.
    address.ip().is_loopback().then(|| Running { address, pid, token: Secret::new(token) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn token() -> Secret {
        Secret::new("saem-owner_0123".to_owned())
    }

    #[test]
    fn a_server_is_found_while_it_runs_and_its_file_is_for_its_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let address = "127.0.0.1:7777".parse().unwrap();
        let announced = Announced::write(folder.path(), address, &token()).unwrap();
        let path = folder.path().join(NAME);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let running = find(folder.path()).unwrap();
        assert_eq!((running.address, running.token), (address, token()));
        drop(announced);
        assert!(!path.exists());
        assert!(find(folder.path()).is_none());
    }

    #[test]
    fn a_file_that_a_dead_server_left_is_ignored_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let written = r#"{"address":"127.0.0.1:1","pid":1,"token":"saem-owner_old"}"#;
        for name in [NAME, DRAFT_NAME] {
            fs::write(folder.path().join(name), written).unwrap();
        }
        assert!(find(folder.path()).is_none());
        let address = "[::1]:7777".parse().unwrap();
        let _announced = Announced::write(folder.path(), address, &token()).unwrap();
        assert_eq!(find(folder.path()).unwrap().address, address);
    }

    #[test]
    fn a_file_that_names_another_machine_or_nothing_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let address = "10.0.0.7:7777".parse().unwrap();
        let announced = Announced::write(folder.path(), address, &token()).unwrap();
        assert!(find(folder.path()).is_none());
        drop(announced);
        let path = folder.path().join(NAME);
        for text in ["", "{}", "no json", &"x".repeat(9999)] {
            fs::write(&path, text).unwrap();
            let file = File::open(&path).unwrap();
            file.lock().unwrap();
            assert!(find(folder.path()).is_none(), "{text:.9}");
        }
    }
}
