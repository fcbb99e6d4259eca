//! An agent that can be spoken to: asked, followed until it is done or asks back, listed and cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use a2a::card::{Choice, choose};
use a2a::error::ErrorKind;
use a2a::follow::{Delivery, Followed, Follower};
use a2a::ids::{ContextId, TaskId};
use a2a::model::{
    Answer, Event, ListQuery, Message, Operation, Part, PushConfig, Returns, Role, Send,
    SendConfiguration, Sent, Task, TaskPage,
};
use a2a::version::Version;
use reqwest::Url;
use tokio::sync::mpsc;

use super::calls::{BINDINGS, LAST_BINDING, Streamed};
use super::cards::Card;
use super::directory::Peers;
use super::error::{PeerError, shown};
use super::grpc;
use super::settings::AgentSettings;

/// The wait between two looks at a task that is under way, doubled each time, and its end.
const POLL_FIRST: Duration = Duration::from_millis(250);
const POLL_MAX: Duration = Duration::from_secs(5);

/// How many events may be about something that was missed before nobody believes the stream any more.
const GAPS_MAX: u32 = 16;

/// What is asked of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    pub parts: Vec<Part>,
    /// Which of its skills, by the card's id.
    pub skill: Option<String>,
    /// The task that waits for this.
    pub task: Option<TaskId>,
    /// The conversation that this belongs to.
    pub context: Option<ContextId>,
    /// Agents that what leads to it has come through.
    pub hops: u32,
    /// When to come back with an answer.
    pub returns: Returns,
    /// Where the agent is to tell what happens, instead of on the way back.
    pub push: Option<PushConfig>,
}

impl Order {
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Part::text(text)],
            skill: None,
            task: None,
            context: None,
            hops: 0,
            returns: Returns::AtRest,
            push: None,
        }
    }
}

/// An agent, and how it is spoken to.
pub struct Agent {
    peers: Peers,
    settings: AgentSettings,
    card: Arc<Card>,
    choice: Choice,
    url: Url,
    /// The card does not say which version, and it turned out to be the oldest.
    is_oldest: AtomicBool,
}

impl Agent {
    pub(super) fn new(
        peers: Peers,
        settings: AgentSettings,
        card: Arc<Card>,
    ) -> Result<Self, PeerError> {
        let wanted = card.card.capabilities.extensions.iter();
        if let Some(extension) = wanted.clone().find(|extension| extension.required == Some(true)) {
            let uri = shown(&extension.uri);
            return Err(PeerError::Card(format!(
                "the agent wants the extension {uri}, which is not spoken here"
            )));
        }
        let chosen = choose(&card.card, &BINDINGS);
        let chosen = chosen.or_else(|| choose(&card.card, &[LAST_BINDING]));
        let choice = chosen.ok_or_else(|| {
            let offered = card.card.interfaces.iter().map(|interface| {
                format!(
                    "{} {}",
                    interface.binding,
                    interface.version.as_deref().unwrap_or_default()
                )
            });
            let offered = shown(&offered.collect::<Vec<_>>().join(", "));
            PeerError::Card(format!(
                "the agent offers no way of speaking to it that is known here: {offered}"
            ))
        })?;
        let wrong = || PeerError::Card("the card's address is no web address".to_owned());
        let address = match choice.interface.binding == LAST_BINDING {
            true => grpc::address(&choice.interface.url, card.address.as_deref()),
            false => choice.interface.url.clone(),
        };
        let url: Url = address.parse().map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong());
        }
        Ok(Self { peers, settings, card, choice, url, is_oldest: AtomicBool::new(false) })
    }

    #[must_use]
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// The version and binding, such as `1.0 JSONRPC`.
    #[must_use]
    pub fn spoken(&self) -> String {
        format!("{} {}", self.version(), self.choice.interface.binding)
    }

    /// Where it is spoken to.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn peers(&self) -> &Peers {
        &self.peers
    }

    pub(super) fn settings(&self) -> &AgentSettings {
        &self.settings
    }

    pub(super) fn choice(&self) -> &Choice {
        &self.choice
    }

    pub(super) fn version(&self) -> Version {
        if self.is_oldest.load(Ordering::Relaxed) { Version::V0_1 } else { self.choice.version }
    }

    /// Asks, and follows what comes of it until the agent is done or asks back; `told` hears of every event. Whoever stops
    /// waiting has the task cancelled.
    pub async fn ask(
        &self,
        order: Order,
        told: &mut (dyn FnMut(&Event) + core::marker::Send),
    ) -> Result<Sent, PeerError> {
        self.ask_and_hear(order, None, told).await
    }

    /// The same, of an agent that tells what happens by webhook; `pushed` is what the webhook gets.
    pub async fn ask_pushed(
        &self,
        order: Order,
        pushed: &mut mpsc::Receiver<Event>,
        told: &mut (dyn FnMut(&Event) + core::marker::Send),
    ) -> Result<Sent, PeerError> {
        if self.card.card.capabilities.push_notifications != Some(true) {
            let words = "the agent calls no webhooks: ask it without --push".to_owned();
            return Err(PeerError::Card(words));
        }
        self.ask_and_hear(order, Some(pushed), told).await
    }

    async fn ask_and_hear(
        &self,
        order: Order,
        pushed: Option<&mut mpsc::Receiver<Event>>,
        told: &mut (dyn FnMut(&Event) + core::marker::Send),
    ) -> Result<Sent, PeerError> {
        let hops_max = self.peers.rules.hops_max;
        if order.hops >= hops_max {
            return Err(PeerError::Circle { hops: order.hops, hops_max });
        }
        let mut watch = Watch { agent: self, follower: Follower::default(), is_over: false };
        let limit = self.settings.waits.call_total;
        let asked =
            tokio::time::timeout(limit, self.asked(&order, pushed, &mut watch.follower, told))
                .await;
        let outcome = asked.unwrap_or(Err(PeerError::TimedOut));
        // What was refused or lost may still run; what has come back does not concern us.
        watch.is_over = outcome.is_ok();
        outcome?;
        let nothing = || PeerError::Refused {
            kind: ErrorKind::InvalidAgentResponse,
            words: "nothing at all".to_owned(),
        };
        let follower = &watch.follower;
        let task = follower.task().cloned().map(Sent::Task);
        task.or_else(|| follower.message().cloned().map(Sent::Message)).ok_or_else(nothing)
    }

    async fn asked(
        &self,
        order: &Order,
        pushed: Option<&mut mpsc::Receiver<Event>>,
        follower: &mut Follower,
        told: &mut (dyn FnMut(&Event) + core::marker::Send),
    ) -> Result<(), PeerError> {
        let streams = self.card.card.capabilities.streaming == Some(true)
            && order.returns.waits()
            && pushed.is_none();
        let started = match self.started(order, streams, follower, told).await {
            // Nobody said which version it is: it may be the oldest, which has another word for it.
            Err(PeerError::Refused { kind: ErrorKind::MethodNotFound, .. })
                if self.choice.may_be_oldest && !self.is_oldest.swap(true, Ordering::Relaxed) =>
            {
                self.started(order, streams, follower, told).await
            }
            outcome => outcome,
        };
        match started {
            Ok(()) => {}
            // The task goes on without the stream: it can be asked for.
            Err(PeerError::Lost(_)) if follower.task().is_some() => {}
            Err(error) => return Err(error),
        }
        match pushed {
            _ if !order.returns.waits() => Ok(()),
            Some(pushed) => self.heard(pushed, follower, told).await,
            None => self.waited(follower, told).await,
        }
    }

    /// Hears of a task by webhook until it is at rest; where nothing comes for long, the task is looked at.
    async fn heard(
        &self,
        pushed: &mut mpsc::Receiver<Event>,
        follower: &mut Follower,
        told: &mut (dyn FnMut(&Event) + core::marker::Send),
    ) -> Result<(), PeerError> {
        while !follower.is_at_rest() {
            let Some(task) = follower.task().map(|task| task.id.clone()) else {
                return Err(PeerError::Lost("it has answered without a task".to_owned()));
            };
            let event = tokio::time::timeout(self.settings.waits.call, pushed.recv()).await;
            let (event, delivery) = match event {
                Ok(Some(event)) => (event, Delivery::Push),
                Ok(None) => return self.waited(follower, told).await,
                Err(_) => (Event::Task(self.task(&task).await?), Delivery::Stream),
            };
            match follower.observe(event.clone(), delivery) {
                Followed::Changed => told(&event),
                Followed::Gap => {
                    let event = Event::Task(self.task(&task).await?);
                    told(&event);
                    follower.observe(event, Delivery::Stream);
                }
                // Told twice, too late, or not about this.
                Followed::Repeated | Followed::Late | Followed::Foreign => {}
            }
        }
        Ok(())
    }

    async fn started(
        &self,
        order: &Order,
        streams: bool,
        follower: &mut Follower,
        told: &mut (dyn FnMut(&Event) + core::marker::Send),
    ) -> Result<(), PeerError> {
        let hops = order.hops.saturating_add(1);
        let send = self.send(order, hops)?;
        let waits = &self.settings.waits;
        if !streams {
            let answer = self.call(Operation::Send(send), Some(hops), waits.call_total).await?;
            let event = match answer {
                Answer::Sent(Sent::Task(task)) | Answer::Task(task) => Event::Task(task),
                Answer::Sent(Sent::Message(message)) => Event::Message(message),
                _ => return Err(of_another_kind()),
            };
            told(&event);
            follower.observe(event, Delivery::Stream);
            return Ok(());
        }
        match self.stream(Operation::Stream(send), Some(hops), waits.call).await? {
            Streamed::Whole(event) => {
                told(&event);
                follower.observe(event, Delivery::Stream);
                Ok(())
            }
            Streamed::Events(mut events) => {
                let mut gaps = 0;
                while let Some(event) = events.next(waits.call).await? {
                    told(&event);
                    let followed = follower.observe(event, Delivery::Stream);
                    if let (Followed::Gap, Some(task)) = (followed, follower.task()) {
                        gaps += 1;
                        if gaps > GAPS_MAX {
                            return Err(PeerError::Lost("its stream makes no sense".to_owned()));
                        }
                        let task = self.task(&task.id.clone()).await?;
                        follower.observe(Event::Task(task), Delivery::Stream);
                    }
                    if follower.is_at_rest() {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Looks at a task until it is at rest.
    async fn waited(
        &self,
        follower: &mut Follower,
        told: &mut (dyn FnMut(&Event) + core::marker::Send),
    ) -> Result<(), PeerError> {
        let mut wait = POLL_FIRST;
        while !follower.is_at_rest() {
            let Some(task) = follower.task().map(|task| task.id.clone()) else {
                return Err(PeerError::Lost("its stream ended without an answer".to_owned()));
            };
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(POLL_MAX);
            let event = Event::Task(self.task(&task).await?);
            told(&event);
            follower.observe(event, Delivery::Stream);
        }
        Ok(())
    }

    fn send(&self, order: &Order, hops: u32) -> Result<Send, PeerError> {
        let broken = |_| PeerError::Broken("an id cannot be made".to_owned());
        let named = |fresh: String| fresh.parse::<TaskId>().map_err(broken);
        let task = match &order.task {
            None if self.version().client_names_tasks() => Some(named(self.peers.fresh()?)?),
            known => known.clone(),
        };
        let mut message = Message {
            id: self.peers.fresh()?.parse().map_err(broken)?,
            role: Role::User,
            parts: order.parts.clone(),
            context: order.context.clone(),
            task,
            references: Vec::new(),
            extensions: Vec::new(),
            metadata: None,
        };
        a2a::hops::write(&mut message, hops);
        if let Some(skill) = &order.skill {
            let metadata = message.metadata.get_or_insert_default();
            metadata.insert("skill".to_owned(), skill.as_str().into());
        }
        let configuration = SendConfiguration {
            accepted_output_modes: ["text/plain", "text/markdown", "application/json"]
                .map(str::to_owned)
                .to_vec(),
            returns: if order.push.is_some() { Returns::Immediately } else { order.returns },
            push: order.push.clone(),
            ..SendConfiguration::default()
        };
        Ok(Send { message, configuration, metadata: None })
    }

    /// A task as it is now.
    pub async fn task(&self, id: &TaskId) -> Result<Task, PeerError> {
        let operation = Operation::Get { task: id.clone(), history_length: None, metadata: None };
        match self.call(operation, None, self.settings.waits.call).await? {
            Answer::Task(task) => Ok(task),
            _ => Err(of_another_kind()),
        }
    }

    /// Our tasks at the agent, the latest first. Only 1.0 has it.
    pub async fn tasks(&self, query: ListQuery) -> Result<TaskPage, PeerError> {
        match self.call(Operation::List(query), None, self.settings.waits.call).await? {
            Answer::Tasks(page) => Ok(page),
            _ => Err(of_another_kind()),
        }
    }

    /// Cancels a task; says how it is then.
    pub async fn cancel(&self, id: &TaskId) -> Result<Task, PeerError> {
        let operation = Operation::Cancel { task: id.clone(), metadata: None };
        match self.call(operation, None, self.settings.waits.call).await? {
            Answer::Task(task) => Ok(task),
            _ => Err(of_another_kind()),
        }
    }

    fn again(&self) -> Self {
        Self {
            peers: self.peers.clone(),
            settings: self.settings.clone(),
            card: Arc::clone(&self.card),
            choice: self.choice.clone(),
            url: self.url.clone(),
            is_oldest: AtomicBool::new(self.is_oldest.load(Ordering::Relaxed)),
        }
    }
}

fn of_another_kind() -> PeerError {
    let words = "something of another kind than was asked for".to_owned();
    PeerError::Refused { kind: ErrorKind::InvalidAgentResponse, words }
}

/// Has a task cancelled when nobody waits for it any more.
struct Watch<'a> {
    agent: &'a Agent,
    follower: Follower,
    is_over: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let Some(task) = self.follower.task().map(|task| task.id.clone()) else { return };
        if self.is_over || self.follower.is_at_rest() {
            return;
        }
        let agent = self.agent.again();
        self.agent.peers.parts.tasks.spawn(async move {
            // An agent that cannot be told ends by itself.
            let _told = agent.cancel(&task).await;
        });
    }
}
