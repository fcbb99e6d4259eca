//! Tools where they are: on the data folder itself, or at the server that has it.

use std::sync::Arc;

use agent::identity::{Principal, Timestamp};
use agent::names::TenantId;
use agent::ports::ActivityList;
use agent::tools::activity::ActivityFilter;
use agent::tools::naming::{ServerId, ToolName};
use agent::tools::policy::{Attendance, Influence};
use agent::tools::question::Person;
use anyhow::Result;
use engine::tools::{Browser, Caller, Host, Progress};
use serde_json::{Map, Value};
use server::api::tools::FOLLOW_WAIT_MAX;
use server::api::wire::tools::{
    AcceptedBody, ActivitiesBody, FollowedBody, OffersBody, PromptMessagesBody, TakenBackBody,
    ToolOutputBody, ToolServersBody, ToolsBody,
};
use tokio::sync::mpsc;

use super::Backend;
use crate::config::Config;
use crate::wiring::Installation;

/// A host on our own data folder.
pub(crate) struct LocalTools {
    installation: Installation,
    host: Host,
    /// What was wrong with servers that are left out.
    warnings: Vec<String>,
}

/// Who is there to be asked.
pub(crate) struct Asked {
    pub(crate) person: Arc<dyn Person>,
    pub(crate) attendance: Attendance,
}

/// Which calls are wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct WantedActivity {
    pub(crate) server: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) outcome: Option<String>,
    pub(crate) since: Option<u64>,
    pub(crate) count: usize,
    pub(crate) after: Option<String>,
}

impl WantedActivity {
    /// As the API takes it.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
        let given = [
            ("server", self.server.clone()),
            ("tool", self.tool.clone()),
            ("session", self.session.clone()),
            ("outcome", self.outcome.clone()),
            ("since", self.since.map(|since| since.to_string())),
            ("limit", Some(self.count.to_string())),
            ("after", self.after.clone()),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn list(&self) -> ActivityList {
        let filter = ActivityFilter {
            server: self.server.clone(),
            tool: self.tool.clone(),
            session: self.session.clone(),
            ending: self.outcome.clone(),
            since: self.since.map(Timestamp),
            ..ActivityFilter::default()
        };
        ActivityList { filter, after: self.after.clone(), limit: self.count }
    }
}

impl Backend<LocalTools> {
    pub(crate) async fn tools_of(config: &Config) -> Result<Self> {
        Self::find(config, async |store| {
            let installation = Installation::on(config, store).await?;
            let (host, warnings) = crate::wiring::tools::host(config, &installation).await?;
            Ok(LocalTools { installation, host, warnings })
        })
        .await
    }

    /// Ends every server that was started.
    pub(crate) async fn close(self) {
        match self {
            Self::Local(local) => local.installation.close().await,
            Self::Remote(_) => {}
        }
    }

    /// What was wrong with servers that are left out; a server says it in its log.
    pub(crate) fn warnings(&self) -> &[String] {
        match self {
            Self::Local(local) => &local.warnings,
            Self::Remote(_) => &[],
        }
    }

    pub(crate) async fn servers(&self) -> Result<ToolServersBody> {
        match self {
            Self::Local(local) => {
                let servers = local.host.known_servers(&TenantId::local());
                Ok(ToolServersBody { servers: servers.into_iter().map(Into::into).collect() })
            }
            Self::Remote(client) => client.tool_servers().await,
        }
    }

    /// Logs in at a server with a browser; says whether it wanted that.
    pub(crate) async fn log_in(
        &self,
        server: &ServerId,
        browser: Arc<dyn Browser>,
        scopes: Vec<String>,
    ) -> Result<bool> {
        match self {
            Self::Local(local) => {
                let owner = Principal::local_owner();
                Ok(Box::pin(local.host.log_in(&owner, server, browser, scopes)).await?)
            }
            Self::Remote(client) => client.log_in(server.as_str(), browser.as_ref(), scopes).await,
        }
    }

    /// Forgets a login; says whether there was one.
    pub(crate) async fn log_out(&self, server: &ServerId) -> Result<bool> {
        match self {
            Self::Local(local) => Ok(local.host.log_out(&Principal::local_owner(), server).await?),
            Self::Remote(client) => client.log_out(server.as_str()).await,
        }
    }

    pub(crate) async fn catalogue(&self, server: Option<&str>) -> Result<ToolsBody> {
        match self {
            Self::Local(local) => {
                let server = server.map(str::parse::<ServerId>).transpose()?;
                Ok(local.host.catalogue(&TenantId::local(), server.as_ref()).await.into())
            }
            Self::Remote(client) => client.tools(server).await,
        }
    }

    pub(crate) async fn call(
        &self,
        name: &ToolName,
        arguments: Map<String, Value>,
        asked: &Asked,
        progress: mpsc::Sender<Progress>,
    ) -> Result<ToolOutputBody> {
        match self {
            Self::Local(local) => {
                let arguments = Value::Object(arguments);
                let caller = caller(asked);
                let called = local.host.call(&caller, name, arguments, Some(progress));
                Ok(called.await?.into())
            }
            Self::Remote(client) => {
                client.call_tool(name.as_str(), arguments, asked.person.as_ref()).await
            }
        }
    }

    pub(crate) async fn offers(&self, server: &ServerId) -> Result<OffersBody> {
        match self {
            Self::Local(local) => {
                let tenant = TenantId::local();
                let resources = local.host.resources(&tenant, server).await;
                let prompts = local.host.prompts(&tenant, server).await;
                // A server need not have both.
                let (resources, prompts) = match (resources, prompts) {
                    (Err(error), Err(_)) => return Err(error.into()),
                    (one, other) => (one.unwrap_or_default(), other.unwrap_or_default()),
                };
                Ok(OffersBody {
                    resources: resources.into_iter().map(Into::into).collect(),
                    prompts: prompts.into_iter().map(Into::into).collect(),
                })
            }
            Self::Remote(client) => client.offers(server.as_str()).await,
        }
    }

    pub(crate) async fn read(
        &self,
        server: &ServerId,
        uri: &str,
        asked: &Asked,
    ) -> Result<ToolOutputBody> {
        match self {
            Self::Local(local) => Ok(local.host.read(&caller(asked), server, uri).await?.into()),
            Self::Remote(client) => {
                client.read_resource(server.as_str(), uri, asked.person.as_ref()).await
            }
        }
    }

    /// A resource when it is in another state than the one that was seen; nothing of it if that takes too long.
    pub(crate) async fn follow(
        &self,
        server: &ServerId,
        uri: &str,
        seen: Option<u64>,
        asked: &Asked,
    ) -> Result<FollowedBody> {
        match self {
            Self::Local(local) => {
                let caller = caller(asked);
                let followed = local.host.follow(&caller, server, uri, seen, FOLLOW_WAIT_MAX);
                Ok(followed.await?.into())
            }
            Self::Remote(client) => {
                let person = asked.person.as_ref();
                client.follow_resource(server.as_str(), uri, seen, person).await
            }
        }
    }

    pub(crate) async fn prompt(
        &self,
        server: &ServerId,
        name: &str,
        arguments: Map<String, Value>,
        asked: &Asked,
    ) -> Result<PromptMessagesBody> {
        match self {
            Self::Local(local) => {
                Ok(local.host.prompt(&caller(asked), server, name, arguments).await?.into())
            }
            Self::Remote(client) => {
                client.prompt(server.as_str(), name, arguments, asked.person.as_ref()).await
            }
        }
    }

    /// Accepts definitions as they are now, of one tool or of a whole server.
    pub(crate) async fn accept(
        &self,
        server: &ServerId,
        tool: Option<&ToolName>,
    ) -> Result<AcceptedBody> {
        match self {
            Self::Local(local) => {
                let accepted = local.host.accept(&Principal::local_owner(), server, tool).await?;
                Ok(AcceptedBody { accepted: accepted.into_iter().map(Into::into).collect() })
            }
            Self::Remote(client) => {
                client.accept_tools(server.as_str(), tool.map(ToolName::as_str)).await
            }
        }
    }

    pub(crate) async fn take_back(&self, tool: &ToolName) -> Result<TakenBackBody> {
        match self {
            Self::Local(local) => {
                let owner = Principal::local_owner();
                let taken_back = local.host.disapprove(&owner, tool.clone()).await?;
                Ok(TakenBackBody { taken_back })
            }
            Self::Remote(client) => client.take_back(tool.as_str()).await,
        }
    }

    pub(crate) async fn activity(&self, wanted: &WantedActivity) -> Result<ActivitiesBody> {
        match self {
            Self::Local(local) => {
                let page = local.host.activity(&TenantId::local(), wanted.list()).await?;
                let activity = page.items.into_iter().map(Into::into).collect();
                Ok(ActivitiesBody { activity, next: page.next })
            }
            Self::Remote(client) => client.activity(wanted).await,
        }
    }
}

fn caller(asked: &Asked) -> Caller {
    Caller {
        principal: Principal::local_owner(),
        session: None,
        turn: None,
        person: Arc::clone(&asked.person),
        attendance: asked.attendance,
        influence: Influence::Person,
        hops: 0,
    }
}

/// A server by the name in the configuration or by its id.
pub(crate) fn server_named(name: &str) -> ServerId {
    name.parse().unwrap_or_else(|_| ServerId::for_name(name))
}
