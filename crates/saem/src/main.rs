//! The `saem` binary: configuration, wiring and commands.

mod args;
mod backend;
mod commands;
mod config;
mod output;
mod presence;
mod system;
mod terminal;
mod wiring;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Command};
use crate::config::{Config, Overrides};
use crate::output::Output;

/// Loading documents is mostly small allocations on many threads, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Threads for what takes a moment: searching, embedding, indexing, reading the disk. More would only wait for each other
/// and for the disk, and each keeps some megabytes of its own; some are to spare for tenants whose index is being made.
const WORKING_THREADS_MAX: usize = 16;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Command::Worker = cli.command {
        return ended(engine::worker::serve().map_err(Into::into).map(|()| ExitCode::SUCCESS));
    }
    ended(start(cli))
}

/// An error is told in one line, its causes after it.
fn ended(outcome: Result<ExitCode>) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) => {
            let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
            let _closed = writeln!(std::io::stderr(), "error: {}", causes.join(": "));
            ExitCode::FAILURE
        }
    }
}

fn start(cli: Cli) -> Result<ExitCode> {
    let overrides = Overrides {
        file: cli.common.config.clone(),
        data: cli.common.data.clone(),
        listen: cli.common.listen.clone(),
        server: cli.common.server.clone(),
    };
    let works_here = matches!(
        cli.command,
        Command::Demo | Command::Serve | Command::Eval(_) | Command::Doctor | Command::Worker
    );
    if works_here && overrides.server.is_some() {
        bail!("this command works on this machine: leave --server out");
    }
    let config = config::load(&overrides)?;
    start_log(&config, cli.common.verbose, &cli.command);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(WORKING_THREADS_MAX)
        .enable_all()
        .build()?;
    runtime.block_on(run(cli, config))
}

async fn run(cli: Cli, config: Config) -> Result<ExitCode> {
    let output = Output::new(cli.common.json);
    match cli.command {
        Command::Demo => commands::serve::demo(config, &output).await,
        Command::Serve => commands::serve::serve(config, &output).await,
        Command::Ingest(ingest) => commands::ingest::run(config, &ingest, &output).await,
        Command::Search(search) => commands::search::run(config, search, &output).await,
        Command::Ask(ask) => commands::ask::ask(config, ask, &output).await,
        Command::Chat(chat) => commands::ask::chat(config, chat, &output).await,
        Command::Sessions(sessions) => commands::sessions::run(config, sessions, &output).await,
        Command::Cost(cost) => commands::cost::run(config, &cost, &output).await,
        Command::Documents(documents) => commands::documents::run(config, documents, &output).await,
        Command::Key(key) => commands::key::run(config, key, &output).await,
        Command::Cleanup => commands::cleanup::run(config, &output).await,
        Command::Eval(eval) => commands::eval::run(config, eval, &output).await,
        Command::Doctor => commands::doctor::run(config, &output).await,
        Command::Worker => Ok(ExitCode::SUCCESS),
    }
}

/// Commands for people are quiet about what goes well; a server says what it does.
fn start_log(config: &Config, verbose: u8, command: &Command) {
    let serves = matches!(command, Command::Serve | Command::Demo);
    let level = match (verbose, serves) {
        (0, true) => config.log.level.as_str(),
        (0, false) => "error",
        (1, _) => "saem=debug,engine=debug,server=debug,index=debug,store=debug,info",
        (_, _) => "trace",
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(level))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    if config.log.format == "json" { log.json().init() } else { log.init() }
}
