//! Writes a data folder for the tests: what the Saem of today leaves on disk must open in every later one.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use zip::write::{SimpleFileOptions, ZipWriter};

/// Where the tests look for the folders, and for the documents that are in them.
const FIXTURES: &str = "crates/saem/tests/fixtures";

/// Documents, a failed one and a deleted one, jobs, keys and their audit log, as `saem` at `program` writes them.
pub(crate) fn run(program: &str) -> Result<()> {
    let fixtures = crate::gate::root().join(FIXTURES);
    let folder = std::env::temp_dir().join(format!("saem-golden-{}", std::process::id()));
    let saem = Saem { program: PathBuf::from(program).canonicalize()?, data: folder.join("data") };
    let secret = fill(&saem, &fixtures.join("files"))?;
    let version = saem.version()?;
    let path = fixtures.join(format!("data-{version}.zip"));
    let mut archive = ZipWriter::new(File::create(&path)?);
    let options = SimpleFileOptions::default();
    archive.start_file("key.txt", options)?;
    archive.write_all(secret.as_bytes())?;
    for file in files(&saem.data)? {
        let name = file.strip_prefix(&folder)?.to_string_lossy().into_owned();
        archive.start_file(name, options)?;
        archive.write_all(&fs::read(&file)?)?;
    }
    archive.finish()?;
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Gives the secret of the key that is still good.
fn fill(saem: &Saem, files: &Path) -> Result<String> {
    let file = |name: &str| files.join(name).display().to_string();
    let of = |collection, kind| ["--collection", collection, "--type", kind];
    let guides = [file("budget-ko.md"), file("kubernetes-en.md")];
    for guide in &guides {
        saem.run(&[&["ingest", guide][..], &of("guides", "guide")].concat())?;
    }
    saem.run(&[&["ingest", &file("gone.txt")][..], &of("guides", "guide")].concat())?;
    let listed = saem.run(&["search", "--where", "source=gone.txt", "--json"])?;
    let id = listed.split("\"document\":\"").nth(1).and_then(|rest| rest.split('"').next());
    saem.run(&["documents", "delete", id.context("the document that is to go")?])?;
    let secret = saem.run(&["key", "create", "--tenant", "local", "--scopes", "read"])?;
    let secret = secret.lines().next().context("a key")?.to_owned();
    let dead = saem.run(&["key", "create", "--tenant", "acme", "--scopes", "admin"])?;
    let prefix = dead.split('_').nth(1).context("a prefix")?.to_owned();
    saem.run(&["key", "revoke", &prefix])?;
    // What comes in over HTTP leaves a job behind.
    let server = saem.serve()?;
    saem.run(&[&["ingest", &file("faq.csv")][..], &of("faq", "faq")].concat())?;
    let broken = saem.output(&["ingest", &file("broken.json")])?;
    if broken.status.code() != Some(2) {
        bail!("the broken document went in");
    }
    end(server)?;
    Ok(secret)
}

/// A program and the data folder it works on.
struct Saem {
    program: PathBuf,
    data: PathBuf,
}

impl Saem {
    fn output(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(&self.program);
        Ok(command.args(arguments).arg("--data").arg(&self.data).output()?)
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = self.output(arguments)?;
        if !output.status.success() {
            bail!("saem {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn version(&self) -> Result<String> {
        let output = Command::new(&self.program).arg("--version").output()?;
        let text = String::from_utf8(output.stdout)?;
        Ok(text.split_whitespace().nth(1).context("a version")?.to_owned())
    }

    /// A server, once it says where it listens.
    fn serve(&self) -> Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&self.data);
        let mut server = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(server.stdout.take().context("its output")?).read_line(&mut line)?;
        Ok(server)
    }
}

fn end(mut server: Child) -> Result<()> {
    Command::new("kill").arg(server.id().to_string()).status()?;
    let ended = server.wait()?;
    if ended.success() { Ok(()) } else { bail!("the server ended with {ended}") }
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}
