//! `saem mcp login` and `logout`: says to a server of tools who you are, in your own browser, and forgets it again.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use engine::tools::Browser;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::backend::Backend;
use crate::backend::tools::server_named;
use crate::config::Config;
use crate::output::Output;

/// How long the browser is waited for: as long as the login itself.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// How long one visitor may take to say what it wants.
const VISITOR_WAIT_MAX: Duration = Duration::from_secs(5);

/// Bytes of a request that are read: a code and a state have a few hundred.
const REQUEST_BYTES_MAX: usize = 16 << 10;

/// Visitors that are listened to: browsers ask for an icon, and whoever else comes by accident.
const VISITORS_MAX: usize = 32;

const PATH: &str = "/callback";

#[derive(Debug, Args)]
pub(crate) struct Login {
    /// The server's name
    to: String,
    /// What to ask for; what the server says, if left out
    #[arg(long = "scope", value_name = "SCOPES")]
    scopes: Vec<String>,
    /// The port that the browser is sent back to; 0 for any
    #[arg(long, default_value_t = 8734, value_name = "PORT")]
    port: u16,
}

pub(super) async fn run(config: &Config, order: &Login, output: &Output) -> Result<ExitCode> {
    let server = server_named(&order.to);
    let scopes = order.scopes.iter().flat_map(|scope| scope.split_whitespace());
    let scopes = scopes.map(str::to_owned).collect();
    let listener = TcpListener::bind(("127.0.0.1", order.port))
        .await
        .with_context(|| format!("port {} is taken: give another with --port", order.port))?;
    let port = listener.local_addr()?.port();
    let browser = Listening { listener, redirect: format!("http://127.0.0.1:{port}{PATH}") };
    let backend = Backend::tools_of(config).await?;
    let done = backend.log_in(&server, Arc::new(browser), scopes).await;
    backend.close().await;
    let is_logged_in = done?;
    output.json(&json!({"server": server.as_str(), "logged_in": is_logged_in}))?;
    output.line(&if is_logged_in {
        format!("logged in at {server}")
    } else {
        format!("{server} wants no login")
    })?;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn log_out(config: &Config, from: &str, output: &Output) -> Result<ExitCode> {
    let server = server_named(from);
    let backend = Backend::tools_of(config).await?;
    let done = backend.log_out(&server).await;
    backend.close().await;
    let was_there = done?;
    output.json(&json!({"server": server.as_str(), "logged_out": was_there}))?;
    output.line(&if was_there {
        format!("the login at {server} is forgotten here; the server may remember it")
    } else {
        format!("there was no login at {server}")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A browser that comes back to a port of this machine.
struct Listening {
    listener: TcpListener,
    redirect: String,
}

impl Browser for Listening {
    fn redirect(&self) -> &str {
        &self.redirect
    }

    fn visit<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            show(address).map_err(|error| error.to_string())?;
            let back = tokio::time::timeout(WAIT_MAX, self.wait()).await;
            back.unwrap_or_else(|_| Err("nobody came back from the browser".to_owned()))
        })
    }
}

/// On standard error: standard output may be read by a program.
fn show(address: &str) -> std::io::Result<()> {
    use std::io::Write;
    let address = agent::tools::suspicion::clean(address);
    writeln!(std::io::stderr(), "Open this page in your browser:\n\n  {address}\n")
}

impl Listening {
    async fn wait(&self) -> Result<String, String> {
        for _ in 0..VISITORS_MAX {
            let (stream, _) = self.listener.accept().await.map_err(|error| error.to_string())?;
            let visitor = tokio::time::timeout(VISITOR_WAIT_MAX, answer(stream)).await;
            if let Ok(Ok(Some(query))) = visitor {
                return Ok(format!("{}?{query}", self.redirect));
            }
        }
        Err("too many visitors, and none of them was the browser".to_owned())
    }
}

/// What the browser was sent back with, if it is the browser.
async fn answer(mut stream: TcpStream) -> std::io::Result<Option<String>> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_BYTES_MAX {
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    let query = query_of(&String::from_utf8_lossy(&request));
    let (status, text) = match query {
        Some(_) => ("200 OK", "Saem has what it needs. You can close this page."),
        None => ("404 Not Found", "There is nothing here."),
    };
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    stream.write_all(reply.as_bytes()).await?;
    Ok(query)
}

fn query_of(request: &str) -> Option<String> {
    let target = request.lines().next()?.strip_prefix("GET ")?.split(' ').next()?;
    let query = target.strip_prefix(PATH)?.strip_prefix('?')?;
    let has = |name: &str| query.split('&').any(|pair| pair.starts_with(name));
    (has("state=") && (has("code=") || has("error="))).then(|| query.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_browser_that_was_sent_back_is_listened_to() {
        let back = "GET /callback?code=c&state=s&iss=https%3A%2F%2Fid HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(query_of(back).unwrap(), "code=c&state=s&iss=https%3A%2F%2Fid");
        assert!(query_of("GET /callback?error=access_denied&state=s HTTP/1.1\r\n").is_some());
        for other in [
            "",
            "GET /favicon.ico HTTP/1.1\r\n",
            "GET /callback HTTP/1.1\r\n",
            "GET /callback?code=c HTTP/1.1\r\n",
            "POST /callback?code=c&state=s HTTP/1.1\r\n",
        ] {
            assert_eq!(query_of(other), None, "{other}");
        }
    }
}
