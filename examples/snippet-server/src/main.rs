//! An MCP server over standard input and output that keeps the snippets of VS Code and Cursor.

mod folder;
mod jsonc;
mod names;
mod server;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use rmcp::ServiceExt as _;

use folder::Folder;
use server::SnippetServer;

/// Keeps the snippets of VS Code and Cursor for any MCP client; speaks on standard input and output.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The folder of snippets; without it, the editor's own
    #[arg(long)]
    dir: Option<PathBuf>,
    /// The editor whose folder is used
    #[arg(long, value_enum, default_value_t = Editor::Vscode, conflicts_with = "dir")]
    editor: Editor,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Editor {
    Vscode,
    Cursor,
}

impl Editor {
    /// Where the editor keeps the snippets of its user.
    fn folder(self) -> anyhow::Result<PathBuf> {
        let folders = directories::BaseDirs::new();
        let folders = folders.context("there is no home folder: say --dir")?;
        let name = match self {
            Self::Vscode => "Code",
            Self::Cursor => "Cursor",
        };
        Ok(folders.config_dir().join(name).join("User/snippets"))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let path = match arguments.dir {
        Some(path) => path,
        None => arguments.editor.folder()?,
    };
    let server = SnippetServer::new(Folder::new(path));
    let (input, output) = rmcp::transport::stdio();
    let input = server.input(input);
    let service = server.serve((input, output)).await?;
    // The client closes our standard input when it has done with us.
    service.waiting().await?;
    Ok(())
}
