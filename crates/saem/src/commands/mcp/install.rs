//! `saem mcp install`: the entry that an MCP client needs in its configuration, printed, or put there.

mod entry;

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use directories::BaseDirs;
use serde_json::json;

use self::entry::{Entry, Form, Merged};
use crate::args::Common;
use crate::config::Config;
use crate::output::Output;

/// Longest configuration that is read, in bytes: what people write themselves is far shorter.
const FILE_BYTES_MAX: u64 = 4 << 20;

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// Which client
    #[arg(long, value_enum)]
    client: ClientName,
    /// Put the entry into the client's configuration, beside whatever is there
    #[arg(long)]
    write: bool,
    /// The client's configuration, if it is not where the client usually has it
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClientName {
    ClaudeDesktop,
    Cursor,
    Vscode,
    Codex,
}

impl ClientName {
    fn form(self) -> Form {
        match self {
            Self::ClaudeDesktop | Self::Cursor => Form::McpServers,
            Self::Vscode => Form::Servers,
            Self::Codex => Form::Toml,
        }
    }

    /// Where the client looks, on this platform.
    fn file(self) -> Result<PathBuf> {
        let places = BaseDirs::new().context("this user has no home folder: say --file")?;
        let (home, settings) = (places.home_dir(), places.config_dir());
        Ok(match self {
            Self::ClaudeDesktop => settings.join("Claude/claude_desktop_config.json"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::Vscode => settings.join("Code/User/mcp.json"),
            Self::Codex => home.join(".codex/config.toml"),
        })
    }
}

pub(super) fn run(
    config: &Config,
    install: &Install,
    common: &Common,
    output: &Output,
) -> Result<ExitCode> {
    let entry = entry(config, common)?;
    let form = install.client.form();
    let path = match &install.file {
        Some(file) => file.clone(),
        None => install.client.file()?,
    };
    if !install.write {
        output.line(&format!("Put this into {}, or say --write:\n", path.display()))?;
        output.line(&form.alone(&entry)?)?;
        output.json(&json!({ "file": path, "entry": entry }))?;
        return Ok(ExitCode::SUCCESS);
    }
    // A link stays one: what it points to is written.
    let path = path.canonicalize().unwrap_or(path);
    let before = read(&path)?;
    let merged = form.merged(before.as_deref(), &entry);
    let said = match merged.with_context(|| format!("{} was left alone", path.display()))? {
        Merged::Same => "has it already",
        Merged::Changed(text) => {
            write(&path, &text)?;
            "has it now; restart the client"
        }
    };
    output.line(&format!("{} {said}.", path.display()))?;
    output.json(&json!({ "file": path, "entry": entry }))?;
    Ok(ExitCode::SUCCESS)
}

/// This program on this folder, or on the server that was named. Keys are never written: the client's environment has them.
fn entry(config: &Config, common: &Common) -> Result<Entry> {
    let program = std::env::current_exe().context("this program's own path")?;
    let mut arguments = vec!["mcp".to_owned(), "serve".to_owned(), "--stdio".to_owned()];
    match &config.remote {
        Some(remote) => arguments.extend(["--server".to_owned(), remote.address.to_string()]),
        None => {
            let folder = std::path::absolute(config.data_folder()?)?;
            arguments.extend(["--data".to_owned(), text(&folder)?]);
        }
    }
    if let Some(file) = &common.config {
        arguments.extend(["--config".to_owned(), text(&std::path::absolute(file)?)?]);
    }
    Ok(Entry { command: text(&program)?, args: arguments })
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.with_context(|| format!("{} cannot be written as text", path.display()))
}

fn read(path: &Path) -> Result<Option<String>> {
    let unread = || format!("{} cannot be read", path.display());
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(unread),
        Ok(found) if found.len() > FILE_BYTES_MAX => bail!("{} is too long", path.display()),
        Ok(_) => {}
    }
    fs::read_to_string(path).map(Some).with_context(unread)
}

/// Writes the file as a whole or not at all, with the rights that it had.
fn write(path: &Path, text: &str) -> Result<()> {
    let unwritten = || format!("{} cannot be written", path.display());
    let folder = path.parent().with_context(unwritten)?;
    fs::create_dir_all(folder).with_context(unwritten)?;
    let mut name = path.file_name().with_context(unwritten)?.to_owned();
    name.push(format!(".saem-{}", std::process::id()));
    let draft = folder.join(name);
    let drafted = draft_file(&draft, path, text).and_then(|()| fs::rename(&draft, path));
    if drafted.is_err() {
        // The error is told; what is left of the draft is of no use.
        _ = fs::remove_file(&draft);
    }
    drafted.with_context(unwritten)
}

fn draft_file(draft: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).open(draft)?;
    if let Ok(before) = fs::metadata(path) {
        file.set_permissions(before.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
