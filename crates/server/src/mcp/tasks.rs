//! Work that a call begins and a client asks about later (the tasks extension). A task is its caller's alone.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent::identity::Principal;
use rmcp::model::CallToolResult;
use rmcp::model::{
    CancelTaskParams, CreateTaskResult, ErrorData, GetTaskParams, GetTaskResult, UpdateTaskParams,
};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};

/// Tasks whose owners are remembered; the oldest are forgotten first, and so are gone for everybody.
const TASKS_MAX: usize = 10_000;

/// Tasks that are running or done, each with its owner.
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

    pub(crate) fn get(
        &self,
        principal: &Principal,
        get: &GetTaskParams,
    ) -> Result<GetTaskResult, ErrorData> {
        self.check(principal, &get.task_id)?;
        Ok(GetTaskResult::new(self.running.get_task(&get.task_id)?))
    }

    pub(crate) fn update(
        &self,
        principal: &Principal,
        update: UpdateTaskParams,
    ) -> Result<(), ErrorData> {
        self.check(principal, &update.task_id)?;
        self.running.update_task(&update.task_id, update.input_responses)
    }

    pub(crate) fn cancel(
        &self,
        principal: &Principal,
        cancel: &CancelTaskParams,
    ) -> Result<(), ErrorData> {
        self.check(principal, &cancel.task_id)?;
        self.running.cancel_task(&cancel.task_id)
    }

    /// Another's task and none at all look the same.
    fn check(&self, principal: &Principal, id: &str) -> Result<(), ErrorData> {
        let is_own = self.owners().of.get(id).is_some_and(|owner| *owner == who(principal));
        let unknown = || ErrorData::invalid_params("there is no task of this id", None);
        is_own.then_some(()).ok_or_else(unknown)
    }

    fn owners(&self) -> MutexGuard<'_, Owners> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn who(principal: &Principal) -> (String, String) {
    (principal.tenant.to_string(), principal.name.clone())
}
