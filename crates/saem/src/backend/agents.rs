//! The catalogue of agents, on the data folder itself or at a server.

use agent::identity::Principal;
use anyhow::{Context, Result, anyhow, bail};
use engine::catalogue::{Catalogue, CatalogueError};
use server::registry::{
    AgentBody, AgentChangeBody, AgentsFoundBody, CrawlBody, FindAgentsQuery, ImportedBody,
    NewAgentBody, RegisteredBody,
};

use super::Backend;
use crate::config::Config;
use crate::wiring::{self, Installation};

/// What `saem agents` needs of the data folder.
pub(crate) struct LocalAgents {
    installation: Installation,
    catalogue: Catalogue,
}

impl Backend<LocalAgents> {
    pub(crate) async fn agents_of(config: &Config) -> Result<Self> {
        Self::find(config, async |store| {
            let installation = Installation::on(config, store).await?;
            let catalogue = wiring::catalogue::catalogue(config, &installation).await?;
            Ok(LocalAgents { installation, catalogue })
        })
        .await
    }

    pub(crate) async fn close(self) {
        match self {
            Self::Local(local) => local.installation.close().await,
            Self::Remote(_) => {}
        }
    }

    pub(crate) async fn register(&self, new: NewAgentBody) -> Result<RegisteredBody> {
        match self {
            Self::Local(local) => {
                let new = new.read().map_err(|why| anyhow!(why))?;
                Ok(local.catalogue.register(&Principal::local_owner(), new).await?.into())
            }
            Self::Remote(client) => client.register_agent(&new).await,
        }
    }

    pub(crate) async fn find_agents(&self, query: FindAgentsQuery) -> Result<AgentsFoundBody> {
        match self {
            Self::Local(local) => {
                let find = query.read().map_err(|why| anyhow!(why))?;
                let caller = local.catalogue.caller(Some(&Principal::local_owner()));
                Ok(local.catalogue.find(&caller, &find).await?.into())
            }
            Self::Remote(client) => client.find_agents(&query).await,
        }
    }

    pub(crate) async fn agent(&self, identifier: &str) -> Result<AgentBody> {
        let agent = match self {
            Self::Local(local) => {
                let caller = local.catalogue.caller(Some(&Principal::local_owner()));
                match local.catalogue.show_one(&caller, identifier).await {
                    Ok((found, own)) => Some(AgentBody::whole(found, own)),
                    Err(CatalogueError::Absent) => None,
                    Err(error) => return Err(error.into()),
                }
            }
            Self::Remote(client) => client.agent(identifier).await?,
        };
        agent.with_context(|| absent(identifier))
    }

    pub(crate) async fn change_agent(
        &self,
        identifier: &str,
        change: AgentChangeBody,
    ) -> Result<AgentBody> {
        match self {
            Self::Local(local) => {
                let change = change.read().map_err(|why| anyhow!(why))?;
                let changed =
                    local.catalogue.change(&Principal::local_owner(), identifier, change).await;
                match changed {
                    Ok(_) => self.agent(identifier).await,
                    Err(CatalogueError::Absent) => bail!(absent(identifier)),
                    Err(error) => Err(error.into()),
                }
            }
            Self::Remote(client) => {
                client.change_agent(identifier, &change).await?.with_context(|| absent(identifier))
            }
        }
    }

    pub(crate) async fn remove_agent(&self, identifier: &str) -> Result<()> {
        match self {
            Self::Local(local) => {
                match local.catalogue.remove(&Principal::local_owner(), identifier).await {
                    Err(CatalogueError::Absent) => bail!(absent(identifier)),
                    outcome => Ok(outcome?),
                }
            }
            Self::Remote(client) => {
                client.remove_agent(identifier).await?.with_context(|| absent(identifier))
            }
        }
    }

    /// A line for each agent.
    pub(crate) async fn export_agents(&self) -> Result<String> {
        match self {
            Self::Local(local) => {
                let mut lines = String::new();
                for written in local.catalogue.export(&Principal::local_owner()) {
                    lines.push_str(&serde_json::to_string(&written)?);
                    lines.push('\n');
                }
                Ok(lines)
            }
            Self::Remote(client) => client.export_agents().await,
        }
    }

    pub(crate) async fn crawl_agents(&self, body: &CrawlBody) -> Result<ImportedBody> {
        match self {
            Self::Local(local) => {
                let disclosure = body.disclosure().map_err(|why| anyhow!(why))?;
                let owner = Principal::local_owner();
                Ok(local.catalogue.crawl(&owner, &body.url, disclosure).await?.into())
            }
            Self::Remote(client) => client.crawl_agents(body).await,
        }
    }

    pub(crate) async fn import_agents(&self, lines: String) -> Result<ImportedBody> {
        match self {
            Self::Local(local) => {
                let owner = Principal::local_owner();
                Ok(server::registry::import_lines(&local.catalogue, &owner, &lines).await?)
            }
            Self::Remote(client) => client.import_agents(lines).await,
        }
    }
}

fn absent(identifier: &str) -> String {
    format!("there is no agent {identifier}; `saem agents list` shows them")
}
