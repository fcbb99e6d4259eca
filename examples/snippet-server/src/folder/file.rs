//! Reads and replaces one file without ever following a link out of the folder or leaving half of it behind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Fault;

/// Longest file of snippets that is read: a hundred times what a person keeps.
pub(super) const BYTES_MAX: u64 = 1024 * 1024;

/// Keeps other servers on the same folder from writing until the value goes; editors do not ask.
pub(super) fn lock(folder: &Path) -> io::Result<File> {
    let folder = File::open(folder)?;
    folder.lock()?;
    Ok(folder)
}

/// The text of a file; none if there is no file.
pub(super) fn read(path: &Path) -> Result<String, Fault> {
    let name = || path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // A link is refused by the system itself, so there is no moment between looking and opening; and opening a pipe
    // must not wait for whoever may write to it.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
    let flags = i32::try_from(flags).map_err(io::Error::other)?;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(Fault::NotPlain(name()));
        }
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(Fault::NotPlain(name()));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > BYTES_MAX) {
        return Err(Fault::TooLong { file: name() });
    }
    String::from_utf8(bytes).map_err(|_| Fault::NotPlain(name()))
}

/// Puts a new text in the place of a file, all at once. What was read as a plain file before is replaced by name, so a
/// link that somebody puts there meanwhile is replaced itself and not what it points to.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), Fault> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (folder, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let new = format!(".{}.{}-{number}.new", name.to_string_lossy(), std::process::id());
    let new = folder.join(new);
    let written = write(&new, path, text).and_then(|()| fs::rename(&new, path));
    if let Err(error) = written {
        // Whatever there is of it is nobody's.
        _ = fs::remove_file(&new);
        return Err(error.into());
    }
    // The new name is on disk when the folder is.
    File::open(folder)?.sync_all()?;
    Ok(())
}

fn write(new: &Path, old: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(new)?;
    if let Ok(metadata) = fs::symlink_metadata(old)
        && metadata.is_file()
    {
        file.set_permissions(metadata.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
