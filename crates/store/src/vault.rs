//! Logins at servers of tools, each a sealed file of its own; the key lies beside them, for its owner's eyes alone.
//!
//! The seal keeps tokens out of copies, search indexes and screens, and one tenant's or server's file from being taken for
//! another's. It does not keep out whoever may read all of the data folder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agent::names::TenantId;
use agent::ports::{Later, LoginVault, PortError};
use agent::tools::naming::ServerId;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

const KEY_BYTES: usize = 32;
const KEY_FILE: &str = "key";

/// Bytes of one file: a login has a few thousand.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// The folder of logins. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FileVault {
    folder: Arc<PathBuf>,
    /// One writer at a time within this process; between processes a rename decides.
    writing: Arc<Mutex<()>>,
}

impl FileVault {
    /// Nothing is made before there is something to keep.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder: Arc::new(folder), writing: Arc::default() }
    }

    fn path(&self, tenant: &TenantId, server: &ServerId) -> PathBuf {
        self.folder.join(tenant.as_str()).join(format!("{server}.sealed"))
    }

    fn open(&self, tenant: &TenantId, server: &ServerId) -> io::Result<Option<Vec<u8>>> {
        let Some(mut sealed) = read(&self.path(tenant, server))? else { return Ok(None) };
        let Some(key) = read(&self.folder.join(KEY_FILE))? else { return Ok(None) };
        if sealed.len() < NONCE_LEN {
            return Err(broken());
        }
        let mut rest = sealed.split_off(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&sealed).map_err(|_| broken())?;
        let owner = Aad::from(owner(tenant, server));
        let plain = cipher(&key)?.open_in_place(nonce, owner, &mut rest).map_err(|_| broken())?;
        Ok(Some(plain.to_vec()))
    }

    fn seal(&self, tenant: &TenantId, server: &ServerId, mut secret: Vec<u8>) -> io::Result<()> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path(tenant, server);
        for folder in [Some(self.folder.as_path()), path.parent()].into_iter().flatten() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let key = self.key()?;
        let random = SystemRandom::new();
        let mut nonce = [0_u8; NONCE_LEN];
        random.fill(&mut nonce).map_err(|_| io::Error::other("there is no randomness"))?;
        let owner = Aad::from(owner(tenant, server));
        let once = Nonce::assume_unique_for_key(nonce);
        cipher(&key)?.seal_in_place_append_tag(once, owner, &mut secret).map_err(|_| broken())?;
        let mut sealed = nonce.to_vec();
        sealed.append(&mut secret);
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let mut file = own_file(&beside)?;
        file.write_all(&sealed)?;
        file.sync_all()?;
        fs::rename(&beside, &path)
    }

    /// The key, made at the first need. Whoever comes first makes it.
    fn key(&self) -> io::Result<Vec<u8>> {
        let path = self.folder.join(KEY_FILE);
        if let Some(key) = read(&path)? {
            if fs::metadata(&path)?.permissions().mode() & 0o077 != 0 {
                return Err(io::Error::other("others may read the key: `chmod 600` it"));
            }
            return Ok(key);
        }
        let mut key = vec![0_u8; KEY_BYTES];
        let random = SystemRandom::new();
        random.fill(&mut key).map_err(|_| io::Error::other("there is no randomness"))?;
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let mut file = own_file(&beside)?;
        file.write_all(&key)?;
        file.sync_all()?;
        // A link does not replace: of two processes one wins, and both use its key.
        let linked = fs::hard_link(&beside, &path);
        fs::remove_file(&beside)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => read(&path)?.ok_or_else(broken),
        }
    }
}

fn cipher(key: &[u8]) -> io::Result<LessSafeKey> {
    let key = UnboundKey::new(&AES_256_GCM, key).map_err(|_| broken())?;
    Ok(LessSafeKey::new(key))
}

/// What a file is sealed for. Neither name may hold a line's end.
fn owner(tenant: &TenantId, server: &ServerId) -> Vec<u8> {
    format!("{}\n{server}", tenant.as_str()).into_bytes()
}

fn own_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn broken() -> io::Error {
    io::Error::other("a login cannot be opened: log in again")
}

fn port(error: io::Error) -> PortError {
    PortError::Broken { what: "the folder of logins", source: Box::new(error) }
}

async fn away<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, PortError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| port(io::Error::other(error)))?.map_err(port)
}

impl LoginVault for FileVault {
    fn load<'a>(
        &'a self,
        tenant: &'a TenantId,
        server: &'a ServerId,
    ) -> Later<'a, Option<Vec<u8>>> {
        let (vault, tenant, server) = (self.clone(), tenant.clone(), server.clone());
        Box::pin(away(move || vault.open(&tenant, &server)))
    }

    fn save<'a>(
        &'a self,
        tenant: &'a TenantId,
        server: &'a ServerId,
        secret: Vec<u8>,
    ) -> Later<'a, ()> {
        let (vault, tenant, server) = (self.clone(), tenant.clone(), server.clone());
        Box::pin(away(move || vault.seal(&tenant, &server, secret)))
    }

    fn clear<'a>(&'a self, tenant: &'a TenantId, server: &'a ServerId) -> Later<'a, bool> {
        let path = self.path(tenant, server);
        Box::pin(away(move || match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"a token that nobody sees";

    fn names() -> (TenantId, ServerId) {
        (TenantId::local(), ServerId::for_name("files"))
    }

    #[tokio::test]
    async fn a_login_comes_back_and_is_nowhere_in_the_clear() {
        let folder = tempfile::tempdir().unwrap();
        let (tenant, server) = names();
        let vault = FileVault::new(folder.path().join("logins"));
        assert_eq!(vault.load(&tenant, &server).await.unwrap(), None);
        vault.save(&tenant, &server, SECRET.to_vec()).await.unwrap();
        let again = FileVault::new(folder.path().join("logins"));
        assert_eq!(again.load(&tenant, &server).await.unwrap().unwrap(), SECRET);
        for path in [vault.path(&tenant, &server), folder.path().join("logins/key")] {
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET));
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert!(vault.clear(&tenant, &server).await.unwrap());
        assert!(!vault.clear(&tenant, &server).await.unwrap());
        assert_eq!(vault.load(&tenant, &server).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_file_opens_for_its_own_tenant_and_server_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (tenant, server) = names();
        let vault = FileVault::new(folder.path().to_owned());
        vault.save(&tenant, &server, SECRET.to_vec()).await.unwrap();
        let other = ServerId::for_name("other");
        fs::copy(vault.path(&tenant, &server), vault.path(&tenant, &other)).unwrap();
        assert!(vault.load(&tenant, &other).await.is_err());
        let mut bytes = fs::read(vault.path(&tenant, &server)).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(vault.path(&tenant, &server), &bytes).unwrap();
        let error = vault.load(&tenant, &server).await.unwrap_err();
        assert!(!format!("{error:?}").contains("token that nobody"));
    }

    #[tokio::test]
    async fn a_key_that_others_may_read_seals_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (tenant, server) = names();
        let vault = FileVault::new(folder.path().to_owned());
        vault.save(&tenant, &server, SECRET.to_vec()).await.unwrap();
        let key = folder.path().join(KEY_FILE);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(vault.save(&tenant, &server, SECRET.to_vec()).await.is_err());
    }
}
