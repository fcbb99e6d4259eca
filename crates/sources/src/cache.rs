//! Remembers what strangers answered, in files that expire; and when each may be asked again.
//!
//! An installation has one folder for it. Losing a file loses nothing but time: whatever cannot be read is asked for again, and
//! whatever cannot be written is not remembered.

use std::path::{Path, PathBuf};

use agent::identity::Timestamp;
use sha2::{Digest, Sha256};

/// Files that are kept: with some kilobytes each, a hundred megabytes or so.
const FILES_MAX: usize = 10_000;

/// Longest answer that is remembered, in bytes.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// How the files of paces end.
const PACE: &str = "pace";

/// A folder of answers.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Opens the folder or makes it, and throws away what has expired. None if it cannot be had.
    pub fn open(folder: &Path, now: Timestamp) -> Option<Self> {
        std::fs::create_dir_all(folder).ok()?;
        sweep(folder, now);
        Some(Self { folder: folder.to_owned() })
    }

    /// What is remembered under a key, unless it has expired.
    pub async fn get(&self, key: &str, now: Timestamp) -> Option<Vec<u8>> {
        let kept = tokio::fs::read(self.file(key)).await.ok()?;
        let (head, answer) = kept.split_at_checked(HEAD_BYTES)?;
        let expires_at = u64::from_le_bytes(head.try_into().ok()?);
        (now.0 < expires_at).then(|| answer.to_vec())
    }

    /// Remembers an answer for so many seconds.
    pub async fn put(&self, key: &str, now: Timestamp, seconds: u64, answer: &[u8]) {
        if answer.len() > ANSWER_BYTES_MAX {
            return;
        }
        let expires_at = now.0.saturating_add(seconds.saturating_mul(1_000));
        let kept = [&expires_at.to_le_bytes()[..], answer].concat();
        self.write(&self.file(key), &kept).await;
    }

    /// When somebody may be asked next.
    pub(crate) async fn free_at(&self, name: &str) -> Timestamp {
        let kept = tokio::fs::read_to_string(self.pace(name)).await.unwrap_or_default();
        Timestamp(kept.trim().parse().unwrap_or(0))
    }

    pub(crate) async fn set_free_at(&self, name: &str, at: Timestamp) {
        self.write(&self.pace(name), at.0.to_string().as_bytes()).await;
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{:x}", Sha256::digest(key.as_bytes())))
    }

    fn pace(&self, name: &str) -> PathBuf {
        self.folder.join(name).with_extension(PACE)
    }

    /// Whole or not at all.
    async fn write(&self, file: &Path, bytes: &[u8]) {
        let new = file.with_extension("new");
        let written = match tokio::fs::write(&new, bytes).await {
            Ok(()) => tokio::fs::rename(&new, file).await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::debug!(%error, "what was found could not be remembered");
        }
    }
}

/// Bytes before an answer: when it expires.
const HEAD_BYTES: usize = 8;

fn sweep(folder: &Path, now: Timestamp) {
    use std::io::Read as _;
    let Ok(files) = std::fs::read_dir(folder) else { return };
    let mut kept = 0;
    for file in files.flatten() {
        let path = file.path();
        if path.extension().is_some_and(|end| end == PACE) {
            continue;
        }
        let mut head = [0; HEAD_BYTES];
        let read = std::fs::File::open(&path).and_then(|mut file| file.read_exact(&mut head));
        let is_alive = read.is_ok() && now.0 < u64::from_le_bytes(head) && kept < FILES_MAX;
        if is_alive {
            kept += 1;
        } else {
            // Somebody else may have thrown it away.
            let _gone = std::fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("saem-cache-{}-{name}", std::process::id()));
        let _new = std::fs::remove_dir_all(&folder);
        folder
    }

    #[tokio::test]
    async fn an_answer_is_remembered_until_it_expires() {
        let folder = folder("expiry");
        let cache = Cache::open(&folder, Timestamp(0)).unwrap();
        assert_eq!(cache.get("a", Timestamp(0)).await, None);
        cache.put("a", Timestamp(1_000), 10, b"found").await;
        assert_eq!(cache.get("a", Timestamp(10_999)).await.unwrap(), b"found");
        assert_eq!(cache.get("b", Timestamp(10_999)).await, None);
        assert_eq!(cache.get("a", Timestamp(11_000)).await, None);
        Cache::open(&folder, Timestamp(11_000)).unwrap();
        assert_eq!(cache.get("a", Timestamp(1_000)).await, None, "swept");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn a_pace_is_kept_by_the_next_process() {
        let folder = folder("pace");
        let cache = Cache::open(&folder, Timestamp(0)).unwrap();
        assert_eq!(cache.free_at("arxiv").await, Timestamp(0));
        cache.set_free_at("arxiv", Timestamp(5_000)).await;
        let next = Cache::open(&folder, Timestamp(9_000)).unwrap();
        assert_eq!(next.free_at("arxiv").await, Timestamp(5_000));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
