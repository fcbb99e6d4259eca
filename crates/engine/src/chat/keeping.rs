//! Keeps what came of a turn: the turn in its session, and what it cost.

use std::sync::Arc;
use std::time::Duration;

use agent::ledger::{Account, Booking, Component, Day, Spent};
use agent::memory::Session;
use agent::model::Usage;
use agent::ports::{KeepSession, PortError};
use agent::price::Cost;
use agent::turn::{Considered, Turn, TurnRecord};
use tracing::Span;

use super::TurnEvent;
use super::running::{Answer, OFFLINE, Run, milliseconds};
use crate::error::EngineError;
use crate::telemetry;

/// How often a turn is written again after others have written its session: each time one of them has got through.
const KEEP_TRIES_MAX: usize = 16;

impl Run {
    pub(super) fn record(
        &mut self,
        turn: Option<&Turn>,
        answer: Answer,
        took: Duration,
    ) -> TurnRecord {
        TurnRecord {
            id: self.turn.clone(),
            number: 0,
            at: self.at,
            question: self.question.clone(),
            answer: answer.text,
            outcome: answer.outcome,
            query: self.query.clone(),
            citations: answer.citations,
            menu: answer.menu,
            done: turn.map(|turn| turn.done().to_vec()).unwrap_or_default(),
            passages: turn.map_or_else(Vec::new, |turn| {
                turn.passages().iter().map(Considered::from).collect()
            }),
            context: std::mem::take(&mut self.context),
            calls: self.calls.clone(),
            took_milliseconds: milliseconds(took),
            notes: std::mem::take(&mut self.notes),
            persisted: false,
        }
    }

    /// Keeps the turn and its bookings, tells the reader, and has the memory rewritten if that is due.
    pub(super) async fn keep(mut self, mut record: TurnRecord) {
        let bookings = self.bookings(Some(&record));
        let session =
            std::mem::replace(&mut self.session, Session::new(self.turn.session.clone(), self.at));
        record.persisted = self.is_kept;
        // Shared with the store, which lets go of it once it is written down.
        let mut shared = Arc::new(record);
        let kept = if self.is_kept && self.copilot.parts.sessions.books() {
            let kept = self.add_to_session(session, &mut shared, bookings.clone()).await;
            if kept.is_err() {
                self.book_all(bookings).await;
            }
            kept
        } else {
            let adding = self.add_to_session(session, &mut shared, Vec::new());
            let (kept, ()) = futures_util::join!(adding, self.book_all(bookings));
            kept
        };
        let mut record = Arc::unwrap_or_clone(shared);
        let is_due = match kept {
            Ok(None) => false,
            Ok(Some(is_due)) => is_due,
            Err(error) => {
                (record.number, record.persisted) = (0, false);
                tracing::warn!(%error, turn = %self.turn, "a turn could not be kept");
                record.notes.push(format!("this turn could not be kept: {error}"));
                false
            }
        };
        let (span, content) = (Span::current(), self.copilot.rules.traced);
        telemetry::turn_ended(&span, &record, content);
        self.copilot.parts.watcher.turn_ended(&self.tenant, &record);
        let _gone = self.tell.send(TurnEvent::Done(Box::new(record))).await;
        if is_due {
            self.copilot.rewrite_memory(self.tenant, self.turn.session);
        }
    }

    /// Gives the turn its number in the session and says whether the memory is due; none for a turn that is not to be kept.
    async fn add_to_session(
        &self,
        session: Session,
        record: &mut Arc<TurnRecord>,
        bookings: Vec<Booking>,
    ) -> Result<Option<bool>, EngineError> {
        if !self.is_kept {
            return Ok(None);
        }
        let limits = &self.copilot.rules.memory;
        // As it was loaded, at first: mostly nobody else has written since.
        let mut loaded = self.revision.map(|revision| (session, revision));
        for _ in 0..KEEP_TRIES_MAX {
            let now = self.copilot.parts.clock.now();
            let sessions = &self.copilot.parts.sessions;
            let (mut session, revision) = match loaded.take() {
                Some(loaded) => loaded,
                None => match sessions.session(&self.tenant, &self.turn.session, now).await? {
                    Some(kept) => (kept.session, kept.revision),
                    None => (self.begun(), 0),
                },
            };
            Arc::make_mut(record).number = session.next_number();
            session.add(record.said(), limits);
            let is_due = session.is_due(limits);
            let expires_at = self.copilot.expiry(now);
            let (turn, bookings) = (Some(Arc::clone(record)), bookings.clone());
            let keep = KeepSession { session, revision, turn, bookings, is_due, now, expires_at };
            // Whoever does not answer may have kept it all the same: the very same write can be sent again. What is in
            // this process answers.
            let again = (!sessions.books()).then(|| keep.clone());
            let is_kept = match (sessions.keep(&self.tenant, keep).await, again) {
                (Err(PortError::Unavailable { .. }), Some(again)) => {
                    sessions.keep(&self.tenant, again).await?
                }
                (other, _) => other?,
            };
            if is_kept {
                return Ok(Some(is_due));
            }
        }
        Err(EngineError::Conflict("others write to this session all the time".to_owned()))
    }

    /// Books what the calls cost; a turn without a model counts as one that cost nothing.
    pub(super) async fn book(&self, record: Option<&TurnRecord>) {
        self.book_all(self.bookings(record)).await;
    }

    fn bookings(&self, record: Option<&TurnRecord>) -> Vec<Booking> {
        let account = |component, model: &str| Account {
            day: Day::of(self.at),
            session: self.turn.session.to_string(),
            component,
            model: model.to_owned(),
        };
        let mut bookings: Vec<Booking> = self
            .calls
            .iter()
            .map(|call| Booking {
                account: account(call.component, &call.model),
                spent: Spent::call(call.usage, call.cost),
            })
            .collect();
        let was_answered = self.calls.iter().any(|call| call.component == Component::Answer);
        if record.is_some() && !was_answered {
            let spent = Spent::call(Usage::default(), Some(Cost::default()));
            bookings.push(Booking { account: account(Component::Answer, OFFLINE), spent });
        }
        bookings
    }

    async fn book_all(&self, bookings: Vec<Booking>) {
        if let Err(error) = self.copilot.parts.ledger.book(&self.tenant, bookings).await {
            tracing::error!(%error, turn = %self.turn, "what a turn cost could not be booked");
        }
    }
}
