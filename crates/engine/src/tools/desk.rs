//! Questions for people who are not at this terminal: they lie here until somebody answers, or their time is up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::identity::Timestamp;
use agent::names::TenantId;
use agent::ports::Clock;
use agent::tools::question::{Person, Question, Reply, form_fault};
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::error::EngineError;

/// Questions of one tenant that may lie open: nobody reads more.
const OPEN_MAX: usize = 100;

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenQuestion {
    pub id: u64,
    pub asked_at: Timestamp,
    /// Whose call it is about; only that person answers.
    pub principal: String,
    pub session: Option<String>,
    pub question: Question,
}

struct Open {
    question: OpenQuestion,
    answer: oneshot::Sender<Reply>,
}

/// Where questions lie. Cheap to clone.
#[derive(Clone)]
pub struct Desk {
    open: Arc<Mutex<BTreeMap<(TenantId, u64), Open>>>,
    next: Arc<AtomicU64>,
    clock: Arc<dyn Clock>,
    wait_max: Duration,
}

impl Desk {
    /// Questions that nobody answers within `wait_max` are answered with no.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, wait_max: Duration) -> Self {
        Self { open: Arc::default(), next: Arc::new(AtomicU64::new(1)), clock, wait_max }
    }

    /// What waits for this person, oldest first.
    #[must_use]
    pub fn open(&self, tenant: &TenantId, principal: &str) -> Vec<OpenQuestion> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let own = open.iter().filter(|((of, _), _)| of == tenant).map(|(_, open)| &open.question);
        own.filter(|question| question.principal == principal).cloned().collect()
    }

    /// Answers a question; it is gone afterwards.
    pub fn answer(
        &self,
        tenant: &TenantId,
        principal: &str,
        id: u64,
        reply: Reply,
    ) -> Result<(), EngineError> {
        let absent = EngineError::Absent { what: "open question of this id" };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (tenant.clone(), id);
        let found = open.get(&key).filter(|open| open.question.principal == principal);
        let Some(found) = found else { return Err(absent) };
        if let (Question::Form { schema, .. }, Reply::Filled(values)) =
            (&found.question.question, &reply)
            && let Some(fault) = form_fault(schema, values)
        {
            return Err(EngineError::Refused(format!("the form cannot be sent: {fault}")));
        }
        let Some(found) = open.remove(&key) else { return Err(absent) };
        let _gone = found.answer.send(reply);
        Ok(())
    }

    /// Somebody who is asked here.
    #[must_use]
    pub fn person(
        &self,
        tenant: TenantId,
        principal: String,
        session: Option<String>,
    ) -> Arc<dyn Person> {
        Arc::new(Reader { desk: self.clone(), tenant, principal, session })
    }
}

struct Reader {
    desk: Desk,
    tenant: TenantId,
    principal: String,
    session: Option<String>,
}

impl Person for Reader {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let desk = &self.desk;
            let id = desk.next.fetch_add(1, Ordering::Relaxed);
            let key = (self.tenant.clone(), id);
            let (answer, answered) = oneshot::channel();
            let open = OpenQuestion {
                id,
                asked_at: desk.clock.now(),
                principal: self.principal.clone(),
                session: self.session.clone(),
                question: question.clone(),
            };
            let lies = {
                let mut all = desk.open.lock().unwrap_or_else(PoisonError::into_inner);
                let count = all.keys().filter(|(of, _)| *of == self.tenant).count();
                if count >= OPEN_MAX {
                    return Reply::No;
                }
                all.insert(key.clone(), Open { question: open, answer });
                Lies { desk, key }
            };
            let reply = tokio::time::timeout(desk.wait_max, answered).await;
            drop(lies);
            reply.ok().and_then(Result::ok).unwrap_or(Reply::No)
        })
    }
}

/// Takes a question away when nobody waits for its answer any more.
struct Lies<'a> {
    desk: &'a Desk,
    key: (TenantId, u64),
}

impl Drop for Lies<'_> {
    fn drop(&mut self) {
        self.desk.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}
