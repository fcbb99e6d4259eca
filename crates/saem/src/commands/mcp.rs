//! `saem mcp`: what has to do with the Model Context Protocol, a file for each command.

mod accept;
mod bridge;
mod call;
mod install;
mod list;
mod login;
mod logs;
mod prompt;
mod read;
mod serve;
mod tools;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::{Map, Value};

use crate::args::Common;
use crate::config::Config;
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// Serve the documents and the copilot to MCP clients
    Serve(serve::Serve),
    /// Print what an MCP client needs to know of this Saem, or write it into the client's configuration
    Install(install::Install),
    /// List the servers of the configuration, and whether they work
    List {
        /// Start every server and say whether it works
        #[arg(long)]
        check: bool,
    },
    /// List tools, or show one with its schema
    Tools {
        /// A tool (server__tool) or a server; everything, if left out
        name: Option<String>,
    },
    /// Call a tool, after asking you if that is needed
    Call(Call),
    /// Accept the definitions of tools that are new or have changed
    Accept {
        /// A tool (server__tool), or a server for all of its tools
        name: String,
    },
    /// Take back every approval of a tool
    Revoke {
        /// server__tool
        tool: String,
    },
    /// Read a resource, or list those of a server
    Read {
        /// The server's name
        from: String,
        /// The resource's address; lists them, if left out
        uri: Option<String>,
        /// Show it again whenever the server says that it has changed, until Ctrl-C
        #[arg(long, requires = "uri")]
        follow: bool,
    },
    /// Run a prompt, or list those of a server
    Prompt(Prompt),
    /// Log in at a server, in your browser
    Login(login::Login),
    /// Forget the login at a server
    Logout {
        /// The server's name
        from: String,
    },
    /// Show what a server's program has said on standard error
    Logs {
        /// The server's name
        of: String,
        /// This many lines
        #[arg(long, default_value_t = 100, value_name = "N")]
        count: usize,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    /// server__tool
    tool: String,
    /// The arguments as JSON
    arguments: Option<String>,
    /// One argument: path=README.md, count=3
    #[arg(long = "arg", value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// Make the call without asking
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Prompt {
    /// The server's name
    from: String,
    /// The prompt's name; lists them, if left out
    name: Option<String>,
    /// One argument: language=Rust
    #[arg(long = "arg", value_name = "KEY=VALUE")]
    pairs: Vec<String>,
}

impl Mcp {
    /// Whether it runs as a server that says in the log what it does.
    pub(crate) fn serves(&self) -> bool {
        match self {
            Self::Serve(serve) => !serve.stdio,
            Self::Install(_)
            | Self::List { .. }
            | Self::Tools { .. }
            | Self::Call(_)
            | Self::Accept { .. }
            | Self::Revoke { .. }
            | Self::Read { .. }
            | Self::Prompt(_)
            | Self::Login(_)
            | Self::Logout { .. }
            | Self::Logs { .. } => false,
        }
    }
}

pub(crate) async fn run(
    config: Config,
    mcp: Mcp,
    common: &Common,
    output: &Output,
) -> Result<ExitCode> {
    match mcp {
        Mcp::Serve(serve) => Box::pin(serve::run(config, &serve, output)).await,
        Mcp::Install(install) => install::run(&config, &install, common, output),
        Mcp::List { check } => list::run(&config, check, output).await,
        Mcp::Tools { name } => tools::run(&config, name.as_deref(), output).await,
        Mcp::Call(order) => call::run(&config, order, output).await,
        Mcp::Accept { name } => accept::run(&config, &name, output).await,
        Mcp::Revoke { tool } => accept::revoke(&config, &tool, output).await,
        Mcp::Read { from, uri: Some(uri), follow: true } => {
            read::follow(&config, &from, &uri, output).await
        }
        Mcp::Read { from, uri, .. } => read::run(&config, &from, uri.as_deref(), output).await,
        Mcp::Prompt(order) => prompt::run(&config, order, output).await,
        Mcp::Login(order) => Box::pin(login::run(&config, &order, output)).await,
        Mcp::Logout { from } => login::log_out(&config, &from, output).await,
        Mcp::Logs { of, count } => logs::run(&config, &of, count, output),
    }
}

/// Arguments from JSON and from pairs, which win. A value that is JSON is one; any other is a text.
fn arguments(json: Option<&str>, pairs: &[String]) -> Result<Map<String, Value>> {
    let mut all = match json.map(serde_json::from_str).transpose() {
        Ok(Some(Value::Object(map))) => map,
        Ok(None) => Map::new(),
        Ok(Some(_)) => {
            bail!("the arguments are no JSON object, such as '{{\"path\": \"README.md\"}}'")
        }
        Err(error) => bail!("the arguments are no JSON: {error}"),
    };
    for pair in pairs {
        let (key, value) = pair
            .split_once('=')
            .with_context(|| format!("--arg {pair} is not of the form key=value"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        all.insert(key.to_owned(), value);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_json_or_pairs_or_both() {
        let read = |json: Option<&str>, pairs: &[&str]| {
            let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
            arguments(json, &pairs).map(Value::Object)
        };
        assert_eq!(read(None, &[]).unwrap(), json!({}));
        assert_eq!(
            read(Some(r#"{"a": 1}"#), &["b=x=y", "c=3", "d=true", "a=\"2\""]).unwrap(),
            json!({"a": "2", "b": "x=y", "c": 3, "d": true})
        );
        for (json, pairs) in [(Some("[]"), &[][..]), (Some("{"), &[]), (None, &["a"])] {
            assert!(read(json, pairs).is_err());
        }
    }
}
