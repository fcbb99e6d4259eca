//! Asking, conversations and costs: on the data folder itself, or at the server that has it.

use std::sync::Arc;

use agent::identity::Principal;
use agent::memory::{MemoryEdit, SessionId};
use agent::names::TenantId;
use agent::tools::attachment::Attachment;
use agent::tools::policy::Attendance;
use agent::turn::TurnRecord;
use anyhow::{Context, Result, bail};
use engine::chat::{
    Asking, Copilot, MemoryOutcome, Question, Talk, ToolUser, TurnEvent, Watcher, Whom,
};
use server::api::chat::{CostWanted, costs};
use server::api::wire::chat::{
    DoingBody, MemoryBody, MemoryEditBody, SessionBody, SessionsBody, TurnBody,
};
use server::api::wire::cost::CostBody;

use super::Backend;
use super::remote::RemoteAsking;
use super::tools::Asked;
use crate::config::Config;
use crate::wiring::{Installation, copilot};

/// A copilot over the data folder.
pub(crate) struct LocalChat {
    installation: Installation,
    copilot: Copilot,
}

/// Commands count nothing.
pub(crate) struct Unwatched;

impl Watcher for Unwatched {
    fn turn_ended(&self, _tenant: &TenantId, _record: &TurnRecord) {}
    fn memory_updated(&self, _tenant: &TenantId, _outcome: MemoryOutcome) {}
}

/// What happens in a turn.
#[derive(Debug)]
pub(crate) enum Told {
    Doing(DoingBody),
    Text(String),
    Done(Box<TurnBody>),
}

/// A turn on its way. Dropping it stops the turn.
pub(crate) enum Answering {
    Local(Asking),
    Remote(RemoteAsking),
}

impl Answering {
    /// The next event; none after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Told>> {
        match self {
            Self::Local(asking) => Ok(match asking.next().await {
                None => None,
                Some(TurnEvent::Doing(doing)) => Some(Told::Doing(doing.into())),
                Some(TurnEvent::Text(text)) => Some(Told::Text(text)),
                Some(TurnEvent::Done(record)) => Some(Told::Done(Box::new((*record).into()))),
                Some(TurnEvent::Failed(error)) => return Err(error.into()),
            }),
            Self::Remote(asking) => asking.next().await,
        }
    }
}

impl Backend<LocalChat> {
    pub(crate) async fn chat(config: &Config) -> Result<Self> {
        let found = Self::find(config, async |store| {
            let installation = Installation::on(config, store).await?;
            let menu = copilot::menu(config)?;
            let (host, _) = crate::wiring::tools::host(config, &installation).await?;
            let (tools, watcher) = (Some(host), Arc::new(Unwatched));
            let copilot = copilot::copilot(config, &installation, tools, menu, watcher).await?;
            Ok(LocalChat { installation, copilot })
        });
        found.await
    }

    /// Takes up what an earlier process has left, and waits until all documents can be found.
    pub(crate) async fn settle(&self) -> Result<()> {
        match self {
            Self::Local(LocalChat { installation, copilot }) => {
                copilot.resume().await?;
                Ok(installation.knowledge.indexed(&TenantId::local(), None).await?)
            }
            Self::Remote(_) => Ok(()),
        }
    }

    /// Waits until what was said is remembered.
    pub(crate) async fn remembered(&self) {
        match self {
            Self::Local(LocalChat { copilot, .. }) => copilot.settled().await,
            Self::Remote(_) => {}
        }
    }

    pub(crate) async fn close(self) {
        match self {
            Self::Local(LocalChat { installation, .. }) => installation.close().await,
            Self::Remote(_) => {}
        }
    }

    pub(crate) async fn ask(
        &self,
        question: String,
        attach: Vec<Attachment>,
        session: Option<&SessionId>,
        asked: &Asked,
    ) -> Result<Answering> {
        match self {
            Self::Local(LocalChat { copilot, .. }) => {
                let talk = session.cloned().map_or(Talk::New, Talk::Known);
                let whom = match asked.attendance {
                    Attendance::Attended => Whom::Person(Arc::clone(&asked.person)),
                    Attendance::Unattended => Whom::Nobody,
                };
                let user = ToolUser { principal: Principal::local_owner(), asked: whom };
                let question =
                    Question::new(question, talk).with_tools(user).with_attachments(attach);
                Ok(Answering::Local(copilot.ask(&TenantId::local(), question)?))
            }
            Self::Remote(client) => {
                Ok(Answering::Remote(client.ask_question(question, attach, session).await?))
            }
        }
    }

    /// Asks the person here what a turn of this session waits for at a server; on our own folder it was asked already.
    pub(crate) async fn settle_questions(&self, session: &str, asked: &Asked) -> Result<()> {
        match self {
            Self::Local(_) => Ok(()),
            Self::Remote(client) => client.settle_questions(session, asked.person.as_ref()).await,
        }
    }

    pub(crate) async fn sessions(&self, count: usize) -> Result<SessionsBody> {
        match self {
            Self::Local(LocalChat { copilot, .. }) => {
                let page = copilot.sessions(&TenantId::local(), None, count).await?;
                let sessions = page.items.into_iter().map(Into::into).collect();
                Ok(SessionsBody { sessions, next: page.next })
            }
            Self::Remote(client) => client.sessions(count).await,
        }
    }

    pub(crate) async fn session(&self, id: &SessionId) -> Result<SessionBody> {
        let found = match self {
            Self::Local(LocalChat { copilot, .. }) => {
                let found = super::found(copilot.session(&TenantId::local(), id).await)?;
                found.map(|view| SessionBody::of(view, false))
            }
            Self::Remote(client) => client.session(id).await?,
        };
        found.with_context(|| absent(id))
    }

    pub(crate) async fn memory(&self, id: &SessionId) -> Result<MemoryBody> {
        let found = match self {
            Self::Local(LocalChat { copilot, .. }) => {
                super::found(copilot.memory(&TenantId::local(), id).await)?.map(Into::into)
            }
            Self::Remote(client) => client.memory(id).await?,
        };
        found.with_context(|| absent(id))
    }

    pub(crate) async fn edit_memory(
        &self,
        id: &SessionId,
        edit: MemoryEditBody,
    ) -> Result<MemoryBody> {
        let found = match self {
            Self::Local(LocalChat { copilot, .. }) => {
                let entities =
                    edit.entities.map(|facts| facts.into_iter().map(Into::into).collect());
                let edit = MemoryEdit { text: edit.memory, entities };
                let owner = Principal::local_owner();
                super::found(copilot.edit_memory(&owner, id, edit).await)?.map(Into::into)
            }
            Self::Remote(client) => client.edit_memory(id, &edit).await?,
        };
        found.with_context(|| absent(id))
    }

    pub(crate) async fn roll_back(&self, id: &SessionId, version: u64) -> Result<MemoryBody> {
        let found = match self {
            Self::Local(LocalChat { copilot, .. }) => {
                let owner = Principal::local_owner();
                super::found(copilot.roll_back(&owner, id, version).await)?.map(Into::into)
            }
            Self::Remote(client) => client.roll_back(id, version).await?,
        };
        found.with_context(|| absent(id))
    }

    pub(crate) async fn rename(&self, id: &SessionId, title: &str) -> Result<()> {
        let found = match self {
            Self::Local(LocalChat { copilot, .. }) => {
                super::found(copilot.rename(&Principal::local_owner(), id, title).await)?
                    .map(|_| ())
            }
            Self::Remote(client) => client.rename(id, title).await?.map(|_| ()),
        };
        found.with_context(|| absent(id))
    }

    pub(crate) async fn forget(&self, id: &SessionId) -> Result<()> {
        let found = match self {
            Self::Local(LocalChat { copilot, .. }) => {
                super::found(copilot.forget(&Principal::local_owner(), id).await)?
            }
            Self::Remote(client) => client.forget(id).await?,
        };
        found.with_context(|| absent(id))
    }

    pub(crate) async fn cost(&self, wanted: &CostWanted) -> Result<CostBody> {
        if [wanted.sessions, wanted.turns].iter().flatten().any(|n| !n.is_finite() || *n < 0.0) {
            bail!("--project takes two numbers of at least 0");
        }
        match self {
            Self::Local(LocalChat { copilot, .. }) => {
                Ok(costs(copilot, &TenantId::local(), wanted).await?)
            }
            Self::Remote(client) => client.cost(wanted).await,
        }
    }
}

fn absent(id: &SessionId) -> String {
    format!("there is no conversation {id}; `saem sessions list` shows them")
}
