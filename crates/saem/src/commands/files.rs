//! Which files a folder holds for us, and the names that their documents get.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A file and the name that its document gets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) source: String,
    pub(crate) path: PathBuf,
}

/// The files and folders that were named, by their true paths.
#[derive(Debug, Clone)]
pub(crate) struct Roots(Vec<PathBuf>);

impl Roots {
    /// All of them must be there, now.
    pub(crate) fn of(paths: &[&str]) -> Result<Self> {
        let root = |path: &&str| {
            let true_path = Path::new(path).canonicalize();
            true_path.with_context(|| format!("{path} cannot be read: is the path right?"))
        };
        Ok(Self(paths.iter().map(root).collect::<Result<_>>()?))
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    /// All files below, in the order of their names: each is its path below its root's parent. A root that is gone has
    /// none.
    pub(crate) fn files(&self) -> Result<Vec<Found>> {
        let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
        for root in self.0.iter().filter(|root| root.exists()) {
            let base = root.parent().unwrap_or(root);
            for path in files_below(root)? {
                let source = source_name(base, &path);
                if let Some(other) = found.insert(source.clone(), path.clone())
                    && other != path
                {
                    bail!(
                        "{} and {} would both be the document {source}: load them into two collections",
                        other.display(),
                        path.display(),
                    );
                }
            }
        }
        Ok(found.into_iter().map(|(source, path)| Found { source, path }).collect())
    }

    /// What the names of all documents from the folders among them start with.
    pub(crate) fn folder_names(&self) -> Vec<String> {
        let folders = self.0.iter().filter(|root| root.is_dir());
        let name = |path: &PathBuf| Some(format!("{}/", path.file_name()?.to_string_lossy()));
        folders.filter_map(name).collect()
    }
}

/// A file itself, or what a folder holds but for hidden files and what .gitignore and .saemignore leave out.
fn files_below(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let walk = ignore::WalkBuilder::new(root)
        .add_custom_ignore_filename(".saemignore")
        .require_git(false)
        .follow_links(false)
        .build();
    for entry in walk {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                files.push(entry.into_path());
            }
            Ok(_) => {}
            // It went while we looked: it is not there.
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error).context("a folder cannot be read"),
        }
    }
    Ok(files)
}

fn is_gone(error: &ignore::Error) -> bool {
    error.io_error().is_some_and(|error| error.kind() == ErrorKind::NotFound)
}

fn source_name(base: &Path, path: &Path) -> String {
    let below = path.strip_prefix(base).unwrap_or(path);
    let names = below.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    names.collect::<Vec<_>>().join("/")
}
