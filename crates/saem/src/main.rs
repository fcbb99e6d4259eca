//! The `saem` binary: configuration, wiring and commands.

mod allocator;
mod args;
mod backend;
mod commands;
mod config;
mod input;
mod output;
mod person;
mod presence;
mod system;
mod terminal;
mod traces;
mod wiring;

use std::io::Write;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use engine::tools::ProgramLimits;

use crate::args::{Cli, Command};
use crate::config::{Config, Overrides};
use crate::output::Output;

/// Threads for what takes a moment, for each processor: searching, embedding, indexing, reading the disk. More would only
/// wait for each other and for the disk, and each keeps some megabytes of its own.
const WORKING_THREADS_PER_PROCESSOR: usize = 3;
const WORKING_THREADS: RangeInclusive<usize> = 6..=16;

/// How long threads may take to come to their end.
const ENDING_MAX: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Command::Worker = cli.command {
        return ended(engine::worker::serve().map_err(Into::into).map(|()| ExitCode::SUCCESS));
    }
    if let Command::Program(program) = &cli.command {
        return ended(become_program(program));
    }
    allocator::fit_to(&cli.command);
    ended(start(cli))
}

/// Comes back only if there is no such program.
fn become_program(order: &args::Program) -> Result<ExitCode> {
    let limits = ProgramLimits {
        memory_mebibytes_max: order.memory_mib_max,
        files_max: order.files_max,
        processes_max: order.processes_max,
    };
    let Some((program, arguments)) = order.command.split_first() else { bail!("no program") };
    let why = engine::tools::become_program(&limits, program, arguments);
    bail!("{} cannot be started: {why}", program.display())
}

/// How many there are for this process.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

fn working_threads() -> usize {
    let threads = processors().saturating_mul(WORKING_THREADS_PER_PROCESSOR);
    threads.clamp(*WORKING_THREADS.start(), *WORKING_THREADS.end())
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
        Command::Demo
            | Command::Serve
            | Command::Eval(_)
            | Command::Doctor
            | Command::A2a(_)
            | Command::Conformance(_)
            | Command::Worker
            | Command::Program(_)
    );
    if works_here && overrides.server.is_some() {
        bail!("this command works on this machine: leave --server out");
    }
    let config = config::load(&overrides)?;
    let sender = start_log(&config, cli.common.verbose, &cli.command)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(working_threads())
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        let done = CancellationToken::new();
        let work = async {
            let outcome = Box::pin(run(cli, config)).await;
            done.cancel();
            outcome
        };
        match sender {
            // What the last turn told is sent before the process goes.
            Some(sender) => tokio::join!(work, sender.run(done.clone())).0,
            None => work.await,
        }
    });
    // Whoever still waits for a line on standard input would wait for good; all else has ended by now.
    runtime.shutdown_timeout(ENDING_MAX);
    outcome
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
        Command::Research(research) => commands::research::run(config, research, &output).await,
        Command::Sessions(sessions) => commands::sessions::run(config, sessions, &output).await,
        Command::Cost(cost) => commands::cost::run(config, &cost, &output).await,
        Command::Documents(documents) => commands::documents::run(config, documents, &output).await,
        Command::Mcp(mcp) => commands::mcp::run(config, mcp, &cli.common, &output).await,
        Command::A2a(order) => Box::pin(commands::a2a::run(&config, order, &output)).await,
        Command::Conformance(suite) => commands::conformance::run(config, suite, &output).await,
        Command::Agents(agents) => commands::agents::run(config, agents, &output).await,
        Command::Key(key) => commands::key::run(config, key, &output).await,
        Command::Activity(activity) => commands::activity::run(config, activity, &output).await,
        Command::Cleanup => commands::cleanup::run(config, &output).await,
        Command::Eval(eval) => commands::eval::run(config, eval, &output).await,
        Command::Doctor => commands::doctor::run(config, &output).await,
        Command::Worker | Command::Program(_) => Ok(ExitCode::SUCCESS),
    }
}

/// Commands for people are quiet about what goes well; a server says what it does. Traces go elsewhere.
fn start_log(config: &Config, verbose: u8, command: &Command) -> Result<Option<traces::Sender>> {
    let serves = match command {
        Command::Serve | Command::Demo => true,
        Command::Mcp(mcp) => mcp.serves(),
        _ => false,
    };
    let level = match (verbose, serves) {
        (0, true) => config.log.level.as_str(),
        (0, false) => "error",
        (1, _) => "saem=debug,engine=debug,server=debug,index=debug,store=debug,info",
        (_, _) => "trace",
    };
    let traced = engine::telemetry::TARGET;
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    let filter = if verbose > 1 {
        format!("{level},{traced}=off")
    } else {
        format!("{level},{},{traced}=off", server::mcp::LOGGED)
    };
    let filter = EnvFilter::new(format!("{filter},{}", engine::tools::LOGGED));
    let log = if config.log.format == "json" { log.json().boxed() } else { log.boxed() };
    let (layer, sender) = traces::traces(&config.telemetry)?.unzip();
    // A layer that is not there must not be one that is empty: that one wants every span of every library.
    let mut layers = vec![log.with_filter(filter).boxed()];
    layers.extend(
        layer.map(|layer| layer.with_filter(filter_fn(move |of| of.target() == traced)).boxed()),
    );
    tracing_subscriber::registry().with(layers).init();
    Ok(sender)
}
