//! Work that a call begins and a client asks about later (the tasks extension). A task is its caller's alone.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent::identity::Principal;
use rmcp::model::{CallToolResult, CreateTaskResult, DetailedTask, ErrorData, InputResponses};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};

use crate::mcp::offer::Answer;

/// Tasks of an offer. What it gives is none for a task that is not here, or not this caller's.
pub(crate) trait Deferred: Send + Sync {
    /// Where it stands, what it wants to know, or what it came to.
    fn get<'a>(&'a self, principal: &'a Principal, id: &'a str)
    -> Answer<'a, Option<DetailedTask>>;
    /// Takes answers to what it wants to know.
    fn update<'a>(
        &'a self,
        principal: &'a Principal,
        id: &'a str,
        answers: &'a InputResponses,
    ) -> Answer<'a, Option<()>>;
    /// Stops it; one that has ended stays as it is.
    fn cancel<'a>(&'a self, principal: &'a Principal, id: &'a str) -> Answer<'a, Option<()>>;
}

/// Tasks whose owners are remembered; the oldest are forgotten first, and so are gone for everybody.
const TASKS_MAX: usize = 10_000;

/// Tasks in memory, running or done, each with its owner.
#[derive(Default)]
pub(crate) struct TaskOffer {
    running: TaskManager,
    owners: Mutex<Owners>,
}

#[derive(Default)]
struct Owners {
    of: HashMap<String, (String, String)>,
    in_order: std::collections::VecDeque<String>,
}

impl TaskOffer {
    /// Begins a task of this caller.
    pub(crate) fn begin<F, W>(
        &self,
        principal: &Principal,
        options: TaskOptions,
        work: W,
    ) -> CreateTaskResult
    where
        W: FnOnce(TaskContext) -> F,
        F: Future<Output = Result<CallToolResult, TaskExit>> + Send + 'static,
    {
        let task = self.running.spawn(options, |context| Box::pin(work(context)));
        let mut owners = self.owners();
        owners.of.insert(task.task_id.clone(), who(principal));
        owners.in_order.push_back(task.task_id.clone());
        if owners.in_order.len() > TASKS_MAX
            && let Some(oldest) = owners.in_order.pop_front()
        {
            owners.of.remove(&oldest);
        }
        CreateTaskResult::new(task)
    }

    fn is_own(&self, principal: &Principal, id: &str) -> bool {
        self.owners().of.get(id).is_some_and(|owner| *owner == who(principal))
    }

    fn owners(&self) -> MutexGuard<'_, Owners> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deferred for TaskOffer {
    fn get<'a>(
        &'a self,
        principal: &'a Principal,
        id: &'a str,
    ) -> Answer<'a, Option<DetailedTask>> {
        let own = self.is_own(principal, id).then(|| self.running.get_task(id));
        Box::pin(std::future::ready(own.transpose()))
    }

    fn update<'a>(
        &'a self,
        principal: &'a Principal,
        id: &'a str,
        answers: &'a InputResponses,
    ) -> Answer<'a, Option<()>> {
        let own = self.is_own(principal, id).then(|| self.running.update_task(id, answers.clone()));
        Box::pin(std::future::ready(own.transpose()))
    }

    fn cancel<'a>(&'a self, principal: &'a Principal, id: &'a str) -> Answer<'a, Option<()>> {
        let own = self.is_own(principal, id).then(|| self.running.cancel_task(id));
        Box::pin(std::future::ready(own.transpose()))
    }
}

/// The task that nobody has.
pub(super) fn no_task() -> ErrorData {
    ErrorData::invalid_params("there is no task of this id", None)
}

fn who(principal: &Principal) -> (String, String) {
    (principal.tenant.to_string(), principal.name.clone())
}
