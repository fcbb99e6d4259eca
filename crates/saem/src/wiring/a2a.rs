//! Puts the A2A agent together: its tasks, who works on them, and its card.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use a2a::card::BareCard;
use a2a::push::RetryPolicy;
use a2a::version::Bare;
use agent::ports::{AgentTasks, Entropy as _, Outbox};
use anyhow::{Context, Result, bail};
use engine::agents::serving::{
    Executor, Saem, SaemParts, ServingParts, ServingRules, Signer, TaskService,
};
use engine::chat::Copilot;
use engine::research::Research;
use server::a2a::{A2a, A2aParts, A2aSettings, CardAccess, Encryption, Kit, SigningKey};
use sources::guard::{EgressGuard, EgressRules};
use sources::posts::WebPosts;
use store::MemoryTasks;

use super::{Installation, copilot};
use crate::config::{BareCardKind, CardKind, Config, SessionStore, TaskStore};
use crate::system::{SystemClock, SystemEntropy};

/// The file in the data folder with the name of its server.
const SERVER_NAME_FILE: &str = "server-name";

/// For whom the agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Callers,
    /// A kit for the protocol, on this machine: its webhooks are here too.
    Kit,
}

/// An agent, and what it does when the server starts.
pub(crate) struct Wired {
    pub(crate) agent: A2a,
    pub(crate) service: TaskService,
}

/// Where tasks are kept, and what their webhooks are to be told.
struct Keeping {
    tasks: Arc<dyn AgentTasks>,
    outbox: Arc<dyn Outbox>,
}

impl Keeping {
    fn of<T: AgentTasks + Outbox + 'static>(place: T) -> Self {
        let place = Arc::new(place);
        Self { tasks: Arc::clone(&place) as Arc<dyn AgentTasks>, outbox: place }
    }

    async fn open(config: &Config, installation: &Installation) -> Result<Self> {
        Ok(match (config.a2a.store, config.memory.store) {
            (TaskStore::Memory, _) => Self::of(MemoryTasks::default()),
            (TaskStore::Same, SessionStore::File) => Self::of(installation.store.clone()),
            (TaskStore::Same, SessionStore::Redis) => {
                let name = server_name(&installation.folder)?;
                Self::of(copilot::redis_tasks(&config.memory, &name).await?)
            }
        })
    }
}

/// The name by which this data folder's server is known among those that share a Redis; made when it is first needed.
fn server_name(folder: &Path) -> Result<String> {
    let file = folder.join(SERVER_NAME_FILE);
    if let Ok(name) = std::fs::read_to_string(&file)
        && !name.trim().is_empty()
    {
        return Ok(name.trim().to_owned());
    }
    let mut bytes = [0; 16];
    SystemEntropy.fill(&mut bytes).context("a name for this server")?;
    let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::write(&file, &name)
        .with_context(|| format!("{} cannot be written", file.display()))?;
    Ok(name)
}

/// The agent on this installation.
pub(crate) async fn agent(
    config: &Config,
    installation: &Installation,
    (copilot, research): (Copilot, Research),
    audience: Audience,
) -> Result<Wired> {
    let mut egress = super::egress(config)?;
    let executor: Arc<dyn Executor> = match audience {
        Audience::Callers => Arc::new(Saem::new(SaemParts {
            knowledge: installation.knowledge.clone(),
            copilot,
            pages: installation.pages(),
            research,
        })),
        Audience::Kit => {
            open_to_this_machine(&mut egress)?;
            Arc::new(Kit)
        }
    };
    let guard = Arc::new(EgressGuard::new(egress));
    let key = signing_key(config)?;
    let Keeping { tasks, outbox } = Keeping::open(config, installation).await?;
    let parts = ServingParts {
        tasks,
        outbox,
        posts: Arc::new(WebPosts::new(guard)),
        executor,
        signer: key.clone().map(|key| key as Arc<dyn Signer>),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        spawner: installation.tasks().clone(),
    };
    let service = TaskService::new(parts, rules(config)?);
    let parts = A2aParts {
        service: service.clone(),
        knowledge: installation.knowledge.clone(),
        entropy: Arc::new(SystemEntropy),
        key,
    };
    Ok(Wired { agent: A2a::new(parts, settings(config)?), service })
}

/// Lets webhooks come back to this machine, on whatever port.
fn open_to_this_machine(egress: &mut EgressRules) -> Result<()> {
    for network in ["127.0.0.0/8", "::1/128"] {
        egress.allow_private.push(network.parse().context("a loopback network")?);
    }
    egress.ports = (1..=u16::MAX).collect();
    Ok(())
}

/// The key that signs the card, if there is one.
fn signing_key(config: &Config) -> Result<Option<Arc<SigningKey>>> {
    let path = &config.a2a.signing_key;
    if path.is_empty() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("a2a.signing_key: {path} cannot be read"))?;
    let key = SigningKey::read(&text).with_context(|| format!("a2a.signing_key: {path}"))?;
    Ok(Some(Arc::new(key)))
}

fn rules(config: &Config) -> Result<ServingRules> {
    let settings = &config.a2a;
    if settings.tasks_kept_days == 0 || settings.webhook_failures_max == 0 {
        bail!("a2a.tasks_kept_days and a2a.webhook_failures_max must be at least 1");
    }
    Ok(ServingRules {
        kept: Duration::from_secs(settings.tasks_kept_days.saturating_mul(24 * 3600)),
        retries: RetryPolicy {
            failures_max: settings.webhook_failures_max,
            ..RetryPolicy::default()
        },
        issuer: match settings.url.is_empty() {
            true => settings.name.clone(),
            false => settings.url.clone(),
        },
    })
}

fn settings(config: &Config) -> Result<A2aSettings> {
    let settings = &config.a2a;
    let is_web = |url: &str| ["https://", "http://"].iter().any(|start| url.starts_with(start));
    for (name, url) in [
        ("url", &settings.url),
        ("organization_url", &settings.organization_url),
        ("documentation_url", &settings.documentation_url),
    ] {
        if !url.is_empty() && (!is_web(url) || url.contains([' ', '"'])) {
            bail!("a2a.{name} is no address such as https://saem.example.com");
        }
    }
    if settings.organization.is_empty() != settings.organization_url.is_empty() {
        bail!("a2a.organization and a2a.organization_url go together: give both or neither");
    }
    Ok(A2aSettings {
        url: Some(settings.url.clone()).filter(|url| !url.is_empty()),
        name: settings.name.clone(),
        description: settings.description.clone(),
        organization: settings.organization.clone(),
        organization_url: settings.organization_url.clone(),
        documentation_url: settings.documentation_url.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        card_access: match settings.card {
            CardKind::Public => CardAccess::Public,
            CardKind::Authenticated => CardAccess::Authenticated,
        },
        bare_card: match settings.bare_card {
            BareCardKind::Merged => BareCard::Merged,
            BareCardKind::Strict => BareCard::Strict,
        },
        bare_calls: if settings.bare_calls { Bare::Serve } else { Bare::Refuse },
        card_seconds_max: settings.card_seconds_max,
        encryption: match (
            config.server.tls_certificate.as_str(),
            config.server.tls_client_ca.as_str(),
        ) {
            ("", _) => Encryption::None,
            (_, "") => Encryption::Server,
            (_, _) => Encryption::Mutual,
        },
    })
}
