//! `saem a2a`: other agents, spoken to from the command line.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use a2a::ids::{ContextId, TaskId};
use a2a::model::{
    Answer, Event, ListQuery, Message, Part, PushConfig, Returns, Sent, Task, TaskState,
};
use a2a::wire::{self, Form};
use agent::ports::Entropy as _;
use agent::tools::suspicion::clean;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use engine::peers::{Agent, Order, Peers, Signature};
use engine::tasks::Tasks;
use serde_json::json;
use server::a2a::Receiver;

use crate::config::{self, Config};
use crate::output::Output;
use crate::system::SystemEntropy;
use crate::terminal::Terminal;
use crate::wiring;

/// Waited for agents that are told to stop.
const STOP_WAIT_MAX: Duration = Duration::from_secs(5);

#[derive(Debug, Subcommand)]
pub(crate) enum A2a {
    /// Show what an agent says of itself, and whether that is signed
    Card {
        /// A name of the configuration, an address, or an identifier of a catalogue
        agent: String,
    },
    /// Send a message to an agent and wait for what comes of it
    Send(SendOrder),
    /// List your tasks at an agent, or show one
    Tasks {
        /// A name of the configuration, or an address
        agent: String,
        /// The task; lists them, if left out
        task: Option<String>,
        /// This many
        #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
        count: u32,
    },
    /// Cancel a task
    Cancel {
        /// A name of the configuration, or an address
        agent: String,
        /// The task's id
        task: String,
    },
    /// Find agents in catalogues, for something in plain words
    Find {
        /// What the agent should be able to do
        #[arg(required = true)]
        words: Vec<String>,
        /// This catalogue instead of those of the configuration
        #[arg(long, value_name = "URL")]
        registry: Option<String>,
        /// This many
        #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
        count: u32,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SendOrder {
    /// A name of the configuration, or an address
    agent: String,
    /// The message
    #[arg(required = true)]
    words: Vec<String>,
    /// Show what the agent tells while it is at work
    #[arg(long)]
    stream: bool,
    /// Which of its skills, by its id in the card
    #[arg(long, value_name = "ID")]
    skill: Option<String>,
    /// Answer what this task asks
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Go on with this conversation
    #[arg(long, value_name = "ID")]
    context: Option<String>,
    /// Come back as soon as the agent has the task
    #[arg(long, conflicts_with = "stream")]
    no_wait: bool,
    /// Have the agent call back here with what happens: where to listen, on a free port unless one is said
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0", require_equals = true, conflicts_with = "no_wait")]
    push: Option<SocketAddr>,
    /// With --push: the address by which the agent reaches that, such as `https://laptop.example.com/hook`
    #[arg(long, value_name = "URL", requires = "push")]
    push_url: Option<String>,
}

pub(crate) async fn run(config: &Config, order: A2a, output: &Output) -> Result<ExitCode> {
    let tasks = Tasks::new();
    let agents = config.agents.named(&config::variable)?;
    let peers = wiring::agents::peers(config, &agents, tasks.clone())?;
    let outcome = match order {
        A2a::Card { agent } => card(&peers, &agent, output).await,
        A2a::Send(order) => send(&peers, order, &tasks, output).await,
        A2a::Tasks { agent, task, count } => list(&peers, &agent, task, count, output).await,
        A2a::Cancel { agent, task } => cancel(&peers, &agent, &task, output).await,
        A2a::Find { words, registry, count } => {
            find(&peers, &words.join(" "), registry.as_deref(), count, output).await
        }
    };
    tasks.stop(STOP_WAIT_MAX).await;
    outcome
}

async fn reached(peers: &Peers, named: &str, output: &Output) -> Result<Agent> {
    let bar = output.waiting("asking the agent for its card");
    let agent = peers.agent(named).await;
    bar.finish_and_clear();
    Ok(agent?)
}

async fn card(peers: &Peers, named: &str, output: &Output) -> Result<ExitCode> {
    let agent = reached(peers, named, output).await?;
    let known = agent.card();
    let signature = match &known.signature {
        Signature::None => "not signed".to_owned(),
        Signature::Unchecked => "signed, but with a key that is not known here".to_owned(),
        Signature::Holds { key_id } => format!("signed with the key {}", clean(key_id)),
    };
    output.json(&json!({
        "card": known.received,
        "found_at": known.address,
        "signature": signature,
        "spoken": agent.spoken(),
        "url": agent.url().as_str(),
        "digest": known.digest,
    }))?;
    let card = &known.card;
    output.line(&clean(&format!("{} {}: {}", card.name, card.version, card.description)))?;
    output.line(&clean(&format!("  A2A {} at {} ({signature})", agent.spoken(), agent.url())))?;
    for skill in &card.skills {
        output.line(&clean(&format!("  {}: {}: {}", skill.id, skill.name, skill.description)))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn send(peers: &Peers, order: SendOrder, tasks: &Tasks, output: &Output) -> Result<ExitCode> {
    let agent = reached(peers, &order.agent, output).await?;
    let task: Option<TaskId> = order.task.map(|id| id.parse()).transpose().context("--task")?;
    let context: Option<ContextId> =
        order.context.map(|id| id.parse()).transpose().context("--context")?;
    let mut receiver = match order.push {
        Some(at) => Some(receiver(at, tasks).await?),
        None => None,
    };
    let wanted = Order {
        parts: vec![Part::text(order.words.join(" "))],
        skill: order.skill,
        task,
        context,
        hops: 0,
        returns: if order.no_wait { Returns::Immediately } else { Returns::AtRest },
        push: receiver.as_ref().map(|(receiver, token)| PushConfig {
            id: None,
            task: None,
            tenant: None,
            url: order.push_url.unwrap_or_else(|| format!("http://{}/", receiver.address)),
            token: Some(token.clone()),
            authentication: None,
        }),
    };
    let bar = output.waiting("the agent is at work");
    let mut shown = Shown { output, terminal: Terminal::new(), streams: order.stream, any: false };
    let mut told = |event: &Event| shown.event(event);
    let asked = match &mut receiver {
        Some((receiver, _)) => agent.ask_pushed(wanted, &mut receiver.events, &mut told).await,
        None => agent.ask(wanted, &mut told).await,
    };
    bar.finish_and_clear();
    let sent = asked?;
    let has_shown = shown.end()?;
    output.json(&wire::write_answer(Form::V1_0, &Answer::Sent(sent.clone())))?;
    match &sent {
        Sent::Message(message) if !has_shown => {
            output.line(&clean(&Part::words(&message.parts)))?
        }
        Sent::Message(_) => {}
        Sent::Task(task) => show(task, &order.agent, has_shown, output)?,
    }
    Ok(ended(&sent))
}

/// Listens for what an agent pushes, under a token that nobody can guess.
async fn receiver(at: SocketAddr, tasks: &Tasks) -> Result<(Receiver, String)> {
    let mut bytes = [0; 16];
    SystemEntropy.fill(&mut bytes).context("a token for the webhook")?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let receiver = Receiver::listen(at, token.clone(), tasks).await;
    Ok((receiver.with_context(|| format!("--push: nothing can listen at {at}"))?, token))
}

/// What is shown while an agent is at work.
struct Shown<'a> {
    output: &'a Output,
    terminal: Terminal,
    streams: bool,
    /// Whether something of the answer was shown.
    any: bool,
}

impl Shown<'_> {
    fn event(&mut self, event: &Event) {
        if !self.streams {
            return;
        }
        // Whoever reads no more is noticed at the end.
        if self.output.is_json() {
            _ = self.output.json(&wire::write_event(Form::V1_0, event));
            return;
        }
        match event {
            Event::Artifact(update) => {
                self.any = true;
                let text = clean(&Part::words(&update.artifact.parts));
                _ = self.output.piece(&mut self.terminal, &text);
            }
            Event::Message(message) => {
                self.any = true;
                _ = self.output.piece(&mut self.terminal, &clean(&Part::words(&message.parts)));
            }
            Event::Status(update) => self.aside(update.status.message.as_ref()),
            Event::Task(task) => self.aside(task.status.message.as_ref()),
        }
    }

    fn aside(&self, message: Option<&Message>) {
        let text = message.map(|message| clean(&Part::words(&message.parts))).unwrap_or_default();
        if !text.is_empty() {
            _ = self.output.aside(&self.terminal, &text);
        }
    }

    /// Whether the answer has been shown.
    fn end(mut self) -> Result<bool> {
        if self.any {
            self.output.end(&mut self.terminal)?;
        }
        Ok(self.any)
    }
}

async fn list(
    peers: &Peers,
    named: &str,
    task: Option<String>,
    count: u32,
    output: &Output,
) -> Result<ExitCode> {
    let agent = reached(peers, named, output).await?;
    if let Some(id) = task {
        let task = agent.task(&id.parse().context("the task's id")?).await?;
        output.json(&wire::write_answer(Form::V1_0, &Answer::Task(task.clone())))?;
        show(&task, named, false, output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let query = ListQuery { page_size: Some(count), ..ListQuery::default() };
    let page = agent.tasks(query).await?;
    output.json(&wire::write_answer(Form::V1_0, &Answer::Tasks(page.clone())))?;
    for task in &page.tasks {
        let context = task.context.as_ref().map(ContextId::as_str).unwrap_or_default();
        output.line(&clean(&format!("{}  {}  {context}", task.id, task.status.state.name())))?;
    }
    if page.tasks.is_empty() {
        output.line("no tasks")?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn cancel(peers: &Peers, named: &str, id: &str, output: &Output) -> Result<ExitCode> {
    let agent = reached(peers, named, output).await?;
    let task = agent.cancel(&id.parse().context("the task's id")?).await?;
    output.json(&wire::write_answer(Form::V1_0, &Answer::Task(task.clone())))?;
    output.line(&clean(&format!("{}: {}", task.id, task.status.state.name())))?;
    Ok(ExitCode::SUCCESS)
}

async fn find(
    peers: &Peers,
    words: &str,
    registry: Option<&str>,
    count: u32,
    output: &Output,
) -> Result<ExitCode> {
    let found = peers.search(words, registry, count).await?;
    for found in &found {
        let entry = &found.entry;
        output.json(&json!({ "entry": entry, "score": found.score, "source": found.source }))?;
        let at = entry.url.as_deref().unwrap_or(&entry.identifier);
        let about = entry.description.as_deref().unwrap_or_default();
        output.line(&clean(&format!(
            "{:>3}  {}  {at}\n     {about}",
            found.score, entry.display_name
        )))?;
    }
    if found.is_empty() {
        output.line("no agent was found: try other words")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A task for people: what it has made, or what it says, and how to go on.
fn show(task: &Task, agent: &str, has_shown: bool, output: &Output) -> Result<()> {
    let made: Vec<String> = task.artifacts.iter().map(|made| Part::words(&made.parts)).collect();
    if !has_shown && !made.is_empty() {
        output.line(&clean(&made.join("\n")))?;
    }
    let said = task.status.message.as_ref().map(|message| Part::words(&message.parts));
    let is_done = task.status.state == TaskState::Completed;
    if let Some(said) = said.filter(|_| made.is_empty() || !is_done) {
        output.line(&clean(&said))?;
    }
    let id = clean(task.id.as_str());
    match task.status.state {
        TaskState::Completed => Ok(()),
        TaskState::InputRequired => {
            output.line(&format!("[it asks; answer with: saem a2a send {agent} --task {id} \"…\"]"))
        }
        TaskState::AuthRequired => output.line(&format!(
            "[it waits for a login that is given elsewhere; look again with: saem a2a tasks {agent} {id}]"
        )),
        TaskState::Submitted | TaskState::Working => {
            output.line(&format!("[it is at work; look again with: saem a2a tasks {agent} {id}]"))
        }
        other => output.line(&format!("[{}: task {id}]", other.name())),
    }
}

fn ended(sent: &Sent) -> ExitCode {
    let state = match sent {
        Sent::Message(_) => TaskState::Completed,
        Sent::Task(task) => task.status.state,
    };
    match state {
        TaskState::Failed | TaskState::Rejected | TaskState::Canceled => ExitCode::FAILURE,
        TaskState::Completed
        | TaskState::InputRequired
        | TaskState::AuthRequired
        | TaskState::Submitted
        | TaskState::Working
        | TaskState::Unspecified => ExitCode::SUCCESS,
    }
}
