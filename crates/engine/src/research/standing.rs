//! Runs that stand on a finished one: a question that follows its report, and one of its steps done anew.

use agent::identity::Principal;
use agent::ports::{KeptRun, RunLine, RunList};
use agent::research::message::{ProviderId, Uuid};
use agent::research::order::{Approval, Basis};
use agent::research::report::EndReason;

use super::service::{Asked, Research, RunView};
use super::{Calling, Wanted, replayed};
use crate::error::EngineError;

/// Runs of a caller, the latest first, among which the last one of a conversation is looked for.
const LOOKED_AT_MAX: usize = 200;

impl Research {
    /// Begins a run that keeps all that a finished one has found, but for one step, which is searched anew.
    pub async fn again(
        &self,
        principal: &Principal,
        id: Uuid,
        step: u32,
    ) -> Result<RunView, EngineError> {
        let kept = self.reported(principal, id).await?;
        let order = kept.order.clone();
        let run = replayed(kept)?;
        if !run.steps().iter().any(|it| it.step_number == step) {
            return Err(EngineError::Absent { what: "step" });
        }
        let wanted = Wanted {
            question: order.question,
            sources: self
                .still_there(principal, order.providers.into_iter().map(|it| it.id))
                .await?,
            principal: principal.name.clone(),
            calling: Calling::of(principal),
            // Its plan was followed before.
            approval: Approval::Given,
            chooser: order.chooser,
            limits: order.limits,
            budget: order.budget,
            answer_seconds: order.answer_seconds,
            hops: order.hops,
            basis: Some(Basis::Again { run: id, step }),
            conversation: order.conversation,
        };
        self.begin(principal, wanted).await
    }

    /// The run that a question follows.
    pub(super) async fn followed(
        &self,
        principal: &Principal,
        asked: &Asked,
    ) -> Result<Option<Basis>, EngineError> {
        let run = match (asked.follows, &asked.conversation) {
            (Some(run), _) => {
                self.reported(principal, run).await?;
                Some(run)
            }
            (None, Some(conversation)) => self.last_of(principal, conversation).await?,
            (None, None) => None,
        };
        Ok(run.map(|run| Basis::Follows { run }))
    }

    /// The caller's last run of a conversation that has a report.
    async fn last_of(
        &self,
        principal: &Principal,
        conversation: &str,
    ) -> Result<Option<Uuid>, EngineError> {
        let mine = Some(principal.name.clone());
        let list = RunList { principal: mine, after: None, limit: LOOKED_AT_MAX };
        let journals = &self.inner.researcher.parts.journals;
        let lines = journals.runs(&principal.tenant, list).await?;
        let is_it = |line: &&RunLine| {
            let is_reported = line.ended.is_some_and(EndReason::has_report);
            is_reported && line.conversation.as_deref() == Some(conversation)
        };
        Ok(lines.iter().find(is_it).map(|line| line.id))
    }

    /// The caller's run, if it has come to a report.
    async fn reported(&self, principal: &Principal, id: Uuid) -> Result<KeptRun, EngineError> {
        let kept = self.kept(principal, id).await?;
        match kept.ended {
            Some(reason) if reason.has_report() => Ok(kept),
            Some(_) => Err(EngineError::Conflict("the run has no report to stand on".to_owned())),
            None => {
                Err(EngineError::Conflict("the run has not ended: wait for its report".to_owned()))
            }
        }
    }

    /// Those of a run's providers that can be searched today.
    async fn still_there(
        &self,
        principal: &Principal,
        ids: impl Iterator<Item = ProviderId>,
    ) -> Result<Vec<ProviderId>, EngineError> {
        let mut there = Vec::new();
        for id in ids {
            if self.inner.researcher.has(&principal.tenant, &id, Calling::of(principal)).await {
                there.push(id);
            }
        }
        if there.is_empty() {
            let why = "none of the places that the run has searched is set up any more";
            return Err(EngineError::Refused(why.to_owned()));
        }
        Ok(there)
    }
}
