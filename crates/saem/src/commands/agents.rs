//! `saem agents`: the catalogue of agents.

use std::io::Read as _;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use server::registry::{
    AgentBody, AgentChangeBody, CrawlBody, DisclosureBody, FindAgentsQuery, ImportedBody,
    NewAgentBody, RegisteredBody,
};

use crate::backend::Backend;
use crate::backend::agents::LocalAgents;
use crate::config::Config;
use crate::output::Output;

/// Agents asked for at a time.
const PAGE: usize = 100;

/// Largest file that is read in, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// Take an agent into the catalogue, or its card anew
    Register(Register),
    /// Find agents by what they do, in Korean or English
    Find(FindAgents),
    /// Show an agent, its health and its card
    Show {
        /// urn:air:DOMAIN:NAME
        identifier: String,
    },
    /// List agents
    List,
    /// Let others see an agent that waits for it
    Approve {
        /// urn:air:DOMAIN:NAME
        identifier: String,
    },
    /// Advise against an agent that is still there
    Deprecate {
        /// urn:air:DOMAIN:NAME
        identifier: String,
    },
    /// Remove agents with all their versions
    Remove {
        /// urn:air:DOMAIN:NAME
        #[arg(required = true)]
        identifiers: Vec<String>,
    },
    /// Take in the agents that a host publishes in its manifest, with those of the manifests in it
    Crawl {
        /// The host's address, or that of a manifest
        url: String,
        /// Who sees them: public, authenticated, partner:TENANT or private
        #[arg(long, value_name = "TIER")]
        tier: Option<String>,
    },
    /// Read agents in that were written down, a line of JSON for each
    Import {
        /// The file; - for standard input
        file: String,
    },
    /// Write agents down, a line of JSON for each
    Export,
}

#[derive(Debug, Args)]
pub(crate) struct Register {
    /// The agent's address, or a file with its card
    #[arg(value_name = "URL|FILE")]
    place: String,
    /// urn:air:DOMAIN:NAME; made of the agent's host and name if left out
    #[arg(long, value_name = "URN")]
    identifier: Option<String>,
    /// Who sees it: public, authenticated, partner:TENANT or private
    #[arg(long, value_name = "TIER")]
    tier: Option<String>,
    /// Who sees where it is reached
    #[arg(long, value_name = "TIER", requires = "tier")]
    url_tier: Option<String>,
    /// Who sees its skills
    #[arg(long, value_name = "TIER", requires = "tier")]
    skills_tier: Option<String>,
    /// Who sees how callers prove who they are
    #[arg(long, value_name = "TIER", requires = "tier")]
    security_tier: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct FindAgents {
    /// What the agent should do
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// The id or the name of a skill
    #[arg(long)]
    skill: Option<String>,
    /// A tag; more than one if all have to be there
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Who offers it
    #[arg(long)]
    provider: Option<String>,
    /// streaming, push or extendedAgentCard
    #[arg(long = "capability", value_name = "NAME")]
    capabilities: Vec<String>,
    /// A media type that it takes, or a range such as image/*
    #[arg(long, value_name = "TYPE")]
    input: Option<String>,
    /// A media type that it gives
    #[arg(long, value_name = "TYPE")]
    output: Option<String>,
    /// A version of the protocol, such as 1.0
    #[arg(long, value_name = "VERSION")]
    protocol: Option<String>,
    /// A version of the agent
    #[arg(long, value_name = "VERSION")]
    agent_version: Option<String>,
    /// This many
    #[arg(long, default_value_t = 10, value_name = "N")]
    count: usize,
}

pub(crate) async fn run(config: Config, agents: Agents, output: &Output) -> Result<ExitCode> {
    let backend = Backend::agents_of(&config).await?;
    let done = Box::pin(act(&backend, agents, output)).await;
    backend.close().await;
    done
}

async fn act(backend: &Backend<LocalAgents>, agents: Agents, output: &Output) -> Result<ExitCode> {
    match agents {
        Agents::Register(register) => {
            tell_registered(&backend.register(register.read()?).await?, output)?;
        }
        Agents::Find(find) => {
            let found = backend.find_agents(find.query()).await?;
            for agent in &found.agents {
                tell(agent, output)?;
            }
            if found.agents.is_empty() {
                output.line("no agent was found: try other words, or fewer conditions")?;
            }
        }
        Agents::Show { identifier } => show(&backend.agent(&identifier).await?, output)?,
        Agents::List => list(backend, output).await?,
        Agents::Approve { identifier } => stand(backend, &identifier, "approved", output).await?,
        Agents::Deprecate { identifier } => {
            stand(backend, &identifier, "deprecated", output).await?;
        }
        Agents::Remove { identifiers } => {
            for identifier in identifiers {
                backend.remove_agent(&identifier).await?;
                output.json(&json!({ "removed": identifier }))?;
                output.line(&format!("removed {identifier}"))?;
            }
        }
        Agents::Crawl { url, tier } => {
            let (url_tier, skills, security) = (None, None, None);
            let disclosure =
                tier.map(|agent| DisclosureBody { agent, url: url_tier, skills, security });
            let crawled = backend.crawl_agents(&CrawlBody { url, disclosure }).await?;
            return tell_imported(&crawled, output);
        }
        Agents::Import { file } => {
            return tell_imported(&backend.import_agents(read_file(&file)?).await?, output);
        }
        Agents::Export => {
            for line in backend.export_agents().await?.lines() {
                output.json(&serde_json::from_str::<Value>(line)?)?;
                output.line(line)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(backend: &Backend<LocalAgents>, output: &Output) -> Result<()> {
    let mut query = FindAgentsQuery { limit: Some(PAGE), ..FindAgentsQuery::default() };
    loop {
        let page = backend.find_agents(query.clone()).await?;
        for agent in &page.agents {
            tell(agent, output)?;
        }
        query.after = page.next;
        if query.after.is_none() {
            return Ok(());
        }
    }
}

async fn stand(
    backend: &Backend<LocalAgents>,
    identifier: &str,
    standing: &str,
    output: &Output,
) -> Result<()> {
    let change = AgentChangeBody { standing: Some(standing.to_owned()), disclosure: None };
    tell(&backend.change_agent(identifier, change).await?, output)
}

fn tell_imported(imported: &ImportedBody, output: &Output) -> Result<ExitCode> {
    for agent in &imported.agents {
        tell_registered(agent, output)?;
    }
    for failure in &imported.failures {
        output.json(&json!({ "failed": failure }))?;
        output.line(failure)?;
    }
    Ok(if imported.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Register {
    fn read(self) -> Result<NewAgentBody> {
        let is_address = ["http://", "https://"].iter().any(|start| self.place.starts_with(start));
        let (url, card) = if is_address {
            (Some(self.place), None)
        } else {
            let card = serde_json::from_str(&read_file(&self.place)?)
                .with_context(|| format!("{} is no card", self.place))?;
            (None, Some(card))
        };
        let disclosure = self.tier.map(|agent| DisclosureBody {
            agent,
            url: self.url_tier,
            skills: self.skills_tier,
            security: self.security_tier,
        });
        Ok(NewAgentBody { url, card, identifier: self.identifier, disclosure })
    }
}

impl FindAgents {
    fn query(self) -> FindAgentsQuery {
        let joined = |all: &[String], by: &str| Some(all.join(by)).filter(|all| !all.is_empty());
        FindAgentsQuery {
            q: joined(&self.words, " "),
            skill: self.skill,
            tags: joined(&self.tags, ","),
            provider: self.provider,
            capabilities: joined(&self.capabilities, ","),
            input_mode: self.input,
            output_mode: self.output,
            protocol: self.protocol,
            version: self.agent_version,
            limit: Some(self.count),
            after: None,
        }
    }
}

fn read_file(path: &str) -> Result<String> {
    let unread = || format!("{path} cannot be read");
    let mut text = String::new();
    let read = if path == "-" {
        std::io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_string(&mut text)
    } else {
        let file = std::fs::File::open(path).with_context(unread)?;
        file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)
    };
    if read.with_context(unread)? as u64 > FILE_BYTES_MAX {
        bail!("{path} has more than {} MiB", FILE_BYTES_MAX >> 20);
    }
    Ok(text)
}

fn tell_registered(registered: &RegisteredBody, output: &Output) -> Result<()> {
    output.json(registered)?;
    let verb = if registered.is_new { "registered" } else { "updated" };
    output.line(&format!("{verb} {} ({})", registered.identifier, registered.standing))?;
    for change in &registered.changes {
        let mark = if change.is_breaking { "breaking: " } else { "" };
        output.line(&format!("  {mark}{} {}", change.field, change.description))?;
    }
    for advice in &registered.advice {
        output.line(&format!("  better: {advice}"))?;
    }
    Ok(())
}

fn tell(agent: &AgentBody, output: &Output) -> Result<()> {
    output.json(agent)?;
    let relevance = agent.relevance.map(|it| format!("  {it}%")).unwrap_or_default();
    let (standing, health) = (&agent.standing, &agent.health.condition);
    let (identifier, name) = (&agent.identifier, &agent.name);
    output.line(&format!("{identifier}  {name} {}  {standing}  {health}{relevance}", agent.version))
}

fn show(agent: &AgentBody, output: &Output) -> Result<()> {
    output.json(agent)?;
    output.line(&format!("{} {} ({})", agent.name, agent.version, agent.identifier))?;
    output.line(&agent.description)?;
    let uptime = agent.health.uptime_percent;
    let uptime = uptime.map(|percent| format!(", {percent:.1}% of checks")).unwrap_or_default();
    output.line(&format!("{}, {}{uptime}", agent.standing, agent.health.condition))?;
    if let (Some(owner), Some(disclosure)) = (&agent.owner, &agent.disclosure) {
        output.line(&format!("owner {owner}, seen by {}", disclosure.agent))?;
    }
    for version in &agent.versions {
        let mark = if version.is_breaking { ", breaking" } else { "" };
        let (number, name) = (version.number, &version.version);
        output.line(&format!("version {number} ({name}) since {}{mark}", version.since))?;
    }
    output.line(&serde_json::to_string_pretty(&agent.card)?)
}
