//! Puts the MCP server together: the copilot, the knowledge, and prompts from the files of the installation.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use engine::catalogue::Catalogue;
use engine::chat::Copilot;
use engine::research::Research;
use server::mcp::{McpParts, PromptFile};

use super::Installation;
use crate::config::Config;
use crate::system::SystemEntropy;

/// Prompts of one folder: a list that somebody can still read.
const PROMPTS_MAX: usize = 500;

/// Longest file that is read; what is too long for a prompt is said by whoever knows prompts.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What an MCP server on this installation is made of.
pub(crate) fn parts(
    config: &Config,
    installation: &Installation,
    (copilot, research, catalogue): (Copilot, Research, Catalogue),
) -> Result<McpParts> {
    let mut prompts = prompts_in(&installation.folder.join("prompts"))?;
    if !config.mcp.prompts.is_empty() {
        let folder = Path::new(&config.mcp.prompts);
        if !folder.is_dir() {
            bail!("mcp.prompts: {} is no folder", folder.display());
        }
        prompts.extend(prompts_in(folder)?);
    }
    Ok(McpParts {
        knowledge: installation.knowledge.clone(),
        copilot,
        research,
        catalogue,
        tasks: installation.tasks().clone(),
        entropy: Arc::new(SystemEntropy),
        prompts,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// The `*.md` files of a folder, by name; none if it is not there.
fn prompts_in(folder: &Path) -> Result<Vec<PromptFile>> {
    let unread = || format!("the prompts in {} cannot be read", folder.display());
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(unread),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.with_context(unread)?.path();
        if path.extension().is_some_and(|ending| ending == "md") {
            paths.push(path);
        }
        if paths.len() > PROMPTS_MAX {
            bail!("{} holds more than {PROMPTS_MAX} prompts", folder.display());
        }
    }
    paths.sort();
    paths.iter().map(read).collect()
}

fn read(path: &PathBuf) -> Result<PromptFile> {
    let unread = || format!("the prompt {} cannot be read", path.display());
    let mut text = String::new();
    let file = File::open(path).with_context(unread)?;
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).with_context(unread)?;
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    Ok(PromptFile { name, text })
}
