//! Does the steps of one turn, tells its reader, and keeps what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent::context::{self, Conversation, Part};
use agent::enclosure::{self, Enclosure};
use agent::identity::Timestamp;
use agent::language::Language;
use agent::ledger::Component;
use agent::memory::{RECALLED_FROM_MAX, SaidTurn, Session, recall};
use agent::menu::MenuLink;
use agent::model::structured::{self, StructuredError, StructuredSettings};
use agent::model::{ModelError, ModelRequest, Usage};
use agent::names::TenantId;
use agent::ports::KeptSession;
use agent::price::Cost;
use agent::reply;
use agent::tools::attachment::Attachment;
use agent::turn::{Call, Citation, Fallback, ModelCall, Outcome, Step, Turn, TurnId, Verdict};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::tooling::{ToolUser, Tooling};
use super::{Copilot, Doing, TurnEvent};
use crate::error::EngineError;
use crate::telemetry;
use crate::tools::Caller;

/// Tokens of a verdict, thinking included: what is longer has lost its way.
const VERDICT_TOKENS_MAX: u32 = 4_000;

/// Why a model was not waited for any longer.
pub(super) const TIME_OVER: &str = "the turn's time was over";

/// Who answers when no model does.
pub(super) const OFFLINE: &str = "offline";

/// Why a turn ends without an answer.
pub(super) enum Stopped {
    /// The reader has gone: nobody waits for an answer any more.
    Gone,
    Failed(EngineError),
}

/// A question that was taken.
pub(super) struct Asked {
    pub(super) tenant: TenantId,
    pub(super) turn: TurnId,
    pub(super) at: Timestamp,
    pub(super) text: String,
    pub(super) is_kept: bool,
    pub(super) user: Option<ToolUser>,
    pub(super) enclosed: Vec<Enclosure>,
    pub(super) attach: Vec<Attachment>,
    pub(super) hops: u32,
}

/// One turn on its way.
pub(super) struct Run {
    pub(super) copilot: Copilot,
    pub(super) tenant: TenantId,
    pub(super) turn: TurnId,
    pub(super) at: Timestamp,
    pub(super) is_kept: bool,
    told: Vec<SaidTurn>,
    /// What came along; read with the first search.
    enclosed: Vec<Enclosure>,
    pub(super) question: String,
    pub(super) language: Language,
    pub(super) query: String,
    pub(super) session: Session,
    /// Turns that are in no memory and not among the last, or that the question brings back; oldest first.
    pub(super) recalled: Vec<SaidTurn>,
    /// Those, and the last turns.
    talk: Vec<SaidTurn>,
    /// The revision of the session as it was loaded; none if it could not be.
    pub(super) revision: Option<u64>,
    pub(super) notes: Vec<String>,
    pub(super) calls: Vec<ModelCall>,
    requests: u32,
    pub(super) context: Vec<Part>,
    /// For whom servers are used; none, and none are.
    pub(super) caller: Option<Caller>,
    /// What is still to be read with the question, and what was read.
    pub(super) attach: Vec<Attachment>,
    pub(super) attached: Vec<(String, Part)>,
    /// None where no tool of a server can be used.
    pub(super) tools: Option<Tooling>,
    /// What the model said before the calls that it wants made now.
    pub(super) said_in_round: String,
    pub(super) deadline: Instant,
    pub(super) tell: mpsc::Sender<TurnEvent>,
    /// Set when the reader waits for the end alone.
    is_end_alone: Arc<AtomicBool>,
}

/// What is shown in the end.
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) outcome: Outcome,
    pub(super) citations: Vec<Citation>,
    pub(super) menu: Vec<MenuLink>,
}

impl Answer {
    pub(super) fn plain(text: String, outcome: Outcome) -> Self {
        Self { text, outcome, citations: Vec::new(), menu: Vec::new() }
    }
}

impl Run {
    pub(super) fn new(
        copilot: Copilot,
        asked: Asked,
        told: Vec<SaidTurn>,
        tell: mpsc::Sender<TurnEvent>,
        is_end_alone: Arc<AtomicBool>,
    ) -> Self {
        let Asked { tenant, turn, at, text, is_kept, user, enclosed, attach, hops } = asked;
        let caller = user.map(|user| Caller { hops, ..user.caller(&turn, &tell) });
        let tools = Tooling::of(&copilot, caller.clone());
        let deadline = Instant::now() + copilot.rules.turn_time_max;
        let mut run = Self {
            session: Session::new(turn.session.clone(), at),
            language: Language::of(&text),
            query: text.clone(),
            copilot,
            tenant,
            turn,
            at,
            is_kept,
            told,
            enclosed,
            question: text,
            recalled: Vec::new(),
            talk: Vec::new(),
            revision: None,
            notes: Vec::new(),
            calls: Vec::new(),
            requests: 0,
            context: Vec::new(),
            caller,
            attach,
            attached: Vec::new(),
            tools,
            said_in_round: String::new(),
            deadline,
            tell,
            is_end_alone,
        };
        run.session = run.begun();
        run
    }

    /// A session as it begins: with what the caller tells of it.
    pub(super) fn begun(&self) -> Session {
        let mut session = Session::new(self.turn.session.clone(), self.at);
        for turn in &self.told {
            session.add(turn.clone(), &self.copilot.rules.memory);
        }
        session
    }

    /// Does all of it; the last event says how it ended.
    pub(super) async fn run(mut self) {
        let started = Instant::now();
        self.load().await;
        let mut turn = None;
        let is_bare = self.attach.is_empty();
        let answer = match reply::small_talk(&self.question) {
            Some(kind) if is_bare => {
                let text = reply::to_small_talk(kind, self.language).to_owned();
                self.say(text.clone()).await.map(|()| Answer::plain(text, Outcome::SmallTalk))
            }
            _ => match self.attach().await {
                Ok(()) => self.look_up(&mut turn).await,
                Err(stopped) => Err(stopped),
            },
        };
        match answer {
            Ok(answer) => {
                let record = self.record(turn.as_ref(), answer, started.elapsed());
                self.keep(record).await;
            }
            // Whoever left before the first word has not been answered.
            Err(Stopped::Gone) => self.book(None).await,
            Err(Stopped::Failed(error)) => {
                tracing::warn!(%error, turn = %self.turn, "a turn failed");
                self.book(None).await;
                let _gone = self.tell.send(TurnEvent::Failed(error)).await;
            }
        }
    }

    async fn load(&mut self) {
        let sessions = &self.copilot.parts.sessions;
        let kept = match self.is_kept {
            true => sessions.session(&self.tenant, &self.turn.session, self.at).await,
            false => Ok(None),
        };
        match kept {
            Ok(Some(KeptSession { session, revision })) => {
                (self.session, self.revision) = (session, Some(revision));
            }
            Ok(None) => self.revision = Some(0),
            Err(error) => {
                tracing::warn!(%error, "a session could not be loaded");
                self.notes.push(format!("what was said before is not at hand: {error}"));
            }
        }
        let limits = self.copilot.rules.memory;
        let short_term = self.session.short_term(&limits).to_vec();
        self.query = agent::offline::contextual(&self.question, &short_term);
        self.recalled = self.session.left_over(&limits).to_vec();
        if let Some(tokens) = self.copilot.rules.recall_tokens {
            self.bring_back(tokens, short_term.first().map_or(0, |first| first.number)).await;
        }
        self.talk = self.recalled.iter().chain(&short_term).cloned().collect();
    }

    /// Adds the turns before `shown_from` that the question brings back, word for word.
    async fn bring_back(&mut self, tokens: usize, shown_from: u64) {
        let parts = &self.copilot.parts;
        let said =
            parts.sessions.said(&self.tenant, &self.turn.session, RECALLED_FROM_MAX, self.at);
        let mut older = match said.await {
            Ok(said) => said,
            Err(error) => {
                tracing::warn!(%error, "older turns could not be loaded");
                return;
            }
        };
        let known = |turn: &SaidTurn| self.recalled.iter().any(|known| known.number == turn.number);
        older.retain(|turn| turn.number < shown_from && !known(turn));
        self.recalled.extend(recall(&self.query, &older, tokens, &*parts.tokenizer));
        self.recalled.sort_by_key(|turn| turn.number);
    }

    pub(super) fn conversation(&self) -> Conversation<'_> {
        Conversation {
            memory: &self.session.memory.text,
            entities: &self.session.entities,
            short_term: &self.talk,
        }
    }

    /// Searches, judges and reads on until there is an answer.
    async fn look_up(&mut self, kept: &mut Option<Turn>) -> Result<Answer, Stopped> {
        let has_conversation = !self.conversation().is_empty();
        let limits = self.copilot.rules.turn;
        let rounds = if self.tools.is_some() { self.copilot.rules.tool_rounds } else { 0 };
        let turn = Turn::new(self.query.clone(), has_conversation, limits)
            .with_tools(rounds)
            .with_attachments(!self.attached.is_empty());
        let turn = kept.insert(turn);
        loop {
            match turn.next().clone() {
                Step::Call(call) => self.call(turn, call).await?,
                Step::Judge => self.judge(turn).await?,
                Step::Answer { ranked, is_partial } => {
                    let passages = ranked.iter().filter_map(|place| turn.passages().get(*place));
                    let passages = passages.cloned().collect();
                    if let Some(answer) = self.answer(turn, passages, is_partial).await? {
                        return Ok(answer);
                    }
                }
                Step::SeekTool(_) => self.seek_tool(turn).await?,
                Step::CallTools { calls } => {
                    if !self.call_tools(turn, calls).await? {
                        return Ok(self.left_alone());
                    }
                }
                Step::FallBack(fallback) => return self.fall_back(fallback).await,
            }
        }
    }

    async fn call(&mut self, turn: &mut Turn, call: Call) -> Result<(), Stopped> {
        let library = Arc::clone(&self.copilot.parts.library);
        match &call {
            Call::SearchAll { query } | Call::SearchByMetadata { query, .. } => {
                self.doing(Doing::Searching { query: query.clone() }).await?;
                let search = library.search(&self.tenant, query, call.filter());
                let found = search.instrument(telemetry::tool_call(call.name())).await;
                let is_first = turn.done().is_empty();
                let passages = match found {
                    Ok(answer) => {
                        self.notes.extend(answer.warnings);
                        let enclosed = std::mem::take(&mut self.enclosed);
                        let mut passages = enclosure::passages(&self.question, &enclosed);
                        passages.extend(answer.passages);
                        Ok(passages)
                    }
                    // Without a first search there is nothing to say.
                    Err(error) if is_first => return Err(Stopped::Failed(error)),
                    Err(error) => Err(error.to_string()),
                };
                turn.found(passages);
            }
            Call::GetSection { section } => {
                let known = turn.passages().iter().find(|passage| passage.section == *section);
                let title = known.map(|passage| passage.title.clone()).unwrap_or_default();
                self.doing(Doing::Reading { title }).await?;
                let reading = library.section(&self.tenant, section);
                let read = reading.instrument(telemetry::tool_call(call.name())).await;
                turn.read(read.map_err(|error| error.to_string()));
            }
        }
        Ok(())
    }

    async fn judge(&mut self, turn: &mut Turn) -> Result<(), Stopped> {
        self.doing(Doing::Judging { passages: turn.passages().len() }).await?;
        let by_evidence = |run: &Self, turn: &Turn| {
            let (question, query) = (&run.question, &run.query);
            agent::offline::judge(question, query, turn.passages(), &run.conversation())
        };
        let verdict = match self.copilot.parts.models.judge.clone() {
            None => Ok(by_evidence(self, turn)),
            Some(model) => {
                let messages = context::judge(
                    &self.question,
                    &self.query,
                    &self.conversation(),
                    turn.passages(),
                    &*self.copilot.parts.tokenizer,
                );
                let request = ModelRequest {
                    temperature: Some(0.0),
                    tokens_max: Some(VERDICT_TOKENS_MAX),
                    ..ModelRequest::new(messages)
                };
                self.ask_judge(&*model, request).await?
            }
        };
        // Made only where there is no other.
        let stand_in = match &verdict {
            Err(_) => by_evidence(self, turn),
            Ok(_) => Verdict::default(),
        };
        turn.judged(verdict, stand_in);
        Ok(())
    }

    async fn ask_judge(
        &mut self,
        model: &dyn agent::model::LanguageModel,
        request: ModelRequest,
    ) -> Result<Result<Verdict, String>, Stopped> {
        if let Err(why) = self.may_ask() {
            return Ok(Err(why));
        }
        let started = Instant::now();
        let settings = StructuredSettings::default();
        let span = telemetry::model_call(Component::Judge, model.name());
        let bytes = request.text_bytes();
        let asking = structured::ask::<Verdict>(model, request, &settings).instrument(span.clone());
        let asked = tokio::select! {
            answer = asking => Ok(answer),
            () = self.tell.closed() => Err(Stopped::Gone),
            () = tokio::time::sleep_until(self.deadline) => Ok(Err(late(model, bytes))),
        };
        let Ok(answer) = asked else {
            // What was read has to be paid for.
            self.called(Component::Judge, model.name(), Usage::about(bytes, 0), started, None);
            return Err(Stopped::Gone);
        };
        Ok(match answer {
            Ok(answer) => {
                self.requests += answer.attempts;
                telemetry::model_called(&span, &answer.model, &answer.usage, None);
                self.called(Component::Judge, &answer.model, answer.usage, started, None);
                Ok(answer.value)
            }
            Err(error) => {
                tracing::warn!(%error, "the judge gave no verdict");
                let (usage, why) = (error.usage(), error.to_string());
                self.requests += error.attempts();
                telemetry::model_called(&span, model.name(), &usage, Some(&why));
                self.called(Component::Judge, model.name(), usage, started, Some(why.clone()));
                Err(why)
            }
        })
    }

    pub(super) async fn fall_back(&mut self, fallback: Fallback) -> Result<Answer, Stopped> {
        let menu = self.copilot.parts.menu.find(&self.query, self.language);
        let text = reply::fallback(fallback, self.language, &menu);
        self.say(text.clone()).await?;
        Ok(Answer { menu, ..Answer::plain(text, fallback.into()) })
    }

    /// Whether the turn may ask a model once more.
    pub(super) fn may_ask(&self) -> Result<(), String> {
        let allowance = self.copilot.rules.allowance;
        let tokens: u64 = self.calls.iter().map(|call| call.usage.input + call.usage.output).sum();
        let spent: Cost = self.calls.iter().filter_map(|call| call.cost).sum();
        if self.requests >= allowance.requests_max {
            return Err(format!("a turn may ask models {} times", allowance.requests_max));
        }
        if tokens >= allowance.tokens_max {
            return Err(format!("a turn may use {} tokens", allowance.tokens_max));
        }
        match allowance.cost_max.filter(|most| spent >= *most) {
            Some(most) => Err(format!("a turn may cost {most}")),
            None => Ok(()),
        }
    }

    /// Notes a call of a model.
    pub(super) fn called(
        &mut self,
        component: Component,
        model: &str,
        usage: Usage,
        started: Instant,
        failed: Option<String>,
    ) {
        if component == Component::Answer {
            self.requests += 1;
        }
        self.calls.push(ModelCall {
            component,
            model: model.to_owned(),
            usage,
            cost: self.copilot.parts.prices.cost(model, &usage),
            took_milliseconds: milliseconds(started.elapsed()),
            failed,
        });
    }

    pub(super) async fn doing(&self, doing: Doing) -> Result<(), Stopped> {
        self.pass_on(TurnEvent::Doing(doing)).await
    }

    /// Shows the next piece of the answer.
    pub(super) async fn say(&self, text: String) -> Result<(), Stopped> {
        self.pass_on(TurnEvent::Text(text)).await
    }

    /// Tells the reader what happens on the way; one who waits for the end is not woken for it.
    async fn pass_on(&self, event: TurnEvent) -> Result<(), Stopped> {
        if self.is_end_alone.load(Ordering::Relaxed) {
            return if self.tell.is_closed() { Err(Stopped::Gone) } else { Ok(()) };
        }
        self.tell.send(event).await.map_err(|_| Stopped::Gone)
    }
}

/// A model that was not waited for any longer.
fn late(model: &dyn agent::model::LanguageModel, bytes: usize) -> StructuredError {
    let (model, why) = (model.name().to_owned(), TIME_OVER.to_owned());
    let error = ModelError::BrokenStream { model, why };
    StructuredError::Model { error, usage: Usage::about(bytes, 0), attempts: 1 }
}

pub(super) fn milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
