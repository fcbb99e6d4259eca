//! Research runs: on the data folder itself, or at the server that has it.

use agent::identity::Principal;
use agent::names::TenantId;
use agent::research::message::{AgentMessage, Uuid};
use agent::research::report::Report;
use anyhow::Result;
use engine::research::{Over, Research, Seen, Watching};
use server::api::wire::research::{ControlBody, PlanBody, ResearchBody, RunBody, RunsBody};

use super::Backend;
use super::remote::RemoteWatching;
use crate::config::Config;
use crate::wiring::{Installation, catalogue, research, tools};

/// Research over the data folder.
pub(crate) struct LocalResearch {
    installation: Installation,
    research: Research,
}

/// What happens in a run.
#[derive(Debug)]
pub(crate) enum RunEvent {
    Said(Box<AgentMessage>),
    Ended {
        reason: String,
        has_report: bool,
    },
    /// Nobody tells more of it here; it may go on somewhere else.
    Cut,
    Failed(String),
}

/// A run that is watched. Dropping it leaves the run alone.
pub(crate) enum Watched {
    Local(Watching),
    Remote(RemoteWatching),
}

impl Watched {
    pub(crate) async fn next(&mut self) -> Result<RunEvent> {
        match self {
            Self::Local(watching) => Ok(match watching.next().await {
                Some(Seen::Said(line)) => {
                    let value = serde_json::from_str(&line.json)?;
                    RunEvent::Said(Box::new(AgentMessage::read(&value)?))
                }
                Some(Seen::Over(Over::Ended { reason, report })) => RunEvent::Ended {
                    reason: reason.as_str().to_owned(),
                    has_report: report.is_some(),
                },
                Some(Seen::Over(Over::Failed(error))) => RunEvent::Failed(error.to_string()),
                Some(Seen::Over(Over::Left) | Seen::Gap(_)) | None => RunEvent::Cut,
            }),
            Self::Remote(watching) => watching.next().await,
        }
    }
}

/// What somebody wants of a run.
pub(crate) enum Word {
    Plan(PlanBody),
    Control(ControlBody),
}

impl Backend<LocalResearch> {
    pub(crate) async fn research(config: &Config) -> Result<Self> {
        let found = Self::find(config, async |store| {
            let installation = Installation::on(config, store).await?;
            let (host, _) = tools::host(config, &installation).await?;
            let catalogue = catalogue::catalogue(config, &installation).await?;
            let research = research::service(config, &installation, (host, catalogue)).await?;
            Ok(LocalResearch { installation, research })
        });
        found.await
    }

    /// Waits until all documents can be found.
    pub(crate) async fn settle(&self) -> Result<()> {
        match self {
            Self::Local(LocalResearch { installation, .. }) => {
                Ok(installation.knowledge.indexed(&TenantId::local(), None).await?)
            }
            Self::Remote(_) => Ok(()),
        }
    }

    pub(crate) async fn close(self) {
        match self {
            Self::Local(LocalResearch { installation, .. }) => installation.close().await,
            Self::Remote(_) => {}
        }
    }

    /// Whether the run goes on without this process.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self, Self::Remote(_))
    }

    pub(crate) async fn begin(&self, body: ResearchBody) -> Result<RunBody> {
        match self {
            Self::Local(LocalResearch { research, .. }) => {
                let asked = body.read().map_err(|problem| refused(&problem.detail))?;
                Ok(research.create(&Principal::local_owner(), asked).await?.into())
            }
            Self::Remote(client) => client.begin_run(&body).await,
        }
    }

    /// Begins a run that does one step of a finished one anew.
    pub(crate) async fn again(&self, id: Uuid, step: u32) -> Result<RunBody> {
        match self {
            Self::Local(LocalResearch { research, .. }) => {
                Ok(research.again(&Principal::local_owner(), id, step).await?.into())
            }
            Self::Remote(client) => client.do_step_again(id, step).await,
        }
    }

    pub(crate) async fn runs(&self, limit: usize) -> Result<RunsBody> {
        match self {
            Self::Local(LocalResearch { research, .. }) => {
                let page = research.list(&Principal::local_owner(), None, limit).await?;
                let runs = page.items.into_iter().map(Into::into).collect();
                Ok(RunsBody { runs, next: page.next })
            }
            Self::Remote(client) => client.runs(limit).await,
        }
    }

    pub(crate) async fn run(&self, id: Uuid) -> Result<RunBody> {
        match self {
            Self::Local(LocalResearch { research, .. }) => {
                Ok(research.view(&Principal::local_owner(), id).await?.into())
            }
            Self::Remote(client) => client.run(id).await,
        }
    }

    /// Watches a run from the message after this one. On the data folder it goes on from now.
    pub(crate) async fn watch(&self, id: Uuid, after: u64) -> Result<Watched> {
        match self {
            Self::Local(LocalResearch { research, .. }) => {
                Ok(Watched::Local(research.watch(&Principal::local_owner(), id, after).await?))
            }
            Self::Remote(client) => Ok(Watched::Remote(client.watch_run(id, after).await?)),
        }
    }

    pub(crate) async fn steer(&self, id: Uuid, word: Word) -> Result<RunBody> {
        match self {
            Self::Local(LocalResearch { research, .. }) => {
                let steering = match word {
                    Word::Plan(body) => body.read(),
                    Word::Control(body) => {
                        body.read().map_err(|problem| refused(&problem.detail))?
                    }
                };
                Ok(research.steer(&Principal::local_owner(), id, steering).await?.into())
            }
            Self::Remote(client) => client.steer_run(id, &word).await,
        }
    }

    pub(crate) async fn report(&self, id: Uuid) -> Result<Report> {
        match self {
            Self::Local(LocalResearch { research, .. }) => {
                Ok(research.report(&Principal::local_owner(), id).await?)
            }
            Self::Remote(client) => client.run_report(id).await,
        }
    }
}

fn refused(why: &str) -> anyhow::Error {
    anyhow::anyhow!("{why}")
}
