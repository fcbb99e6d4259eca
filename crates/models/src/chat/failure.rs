//! What went wrong with one request, who can do something about it, and whether another request may succeed.

use std::time::Duration;

use agent::model::{Limit, ModelError, Phase};
use reqwest::header::HeaderMap;

use super::assembly::Fault;
use super::breaker::Verdict;
use super::complaint::Complaint;
use super::endpoint::Endpoint;
use crate::line::LineError;
use crate::patience::{Again, advice, retry_after};

/// Longest wait that is passed on as the server's wish: whoever asks for more means "not today".
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

/// One request that gave nothing.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: ModelError,
    pub(super) again: Again,
    pub(super) verdict: Verdict,
    /// What the server does not take, if that is what is wrong.
    pub(super) complaint: Option<Complaint>,
}

/// Makes errors that name the model and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Teller<'a> {
    pub(super) name: &'a str,
    pub(super) endpoint: &'a Endpoint,
}

impl Teller<'_> {
    fn model(&self) -> String {
        format!("{} at {}", self.name, self.endpoint.settings.base_url)
    }

    pub(super) fn timed_out(&self, phase: Phase, after: Duration) -> Failure {
        let error = ModelError::TimedOut { model: self.model(), phase, after };
        Failure { error, again: Again::Never, verdict: Verdict::Failing, complaint: None }
    }

    pub(super) fn limit(&self, which: Limit) -> Failure {
        self.last(ModelError::LimitReached { model: self.model(), which })
    }

    /// The server is left in peace for this long.
    pub(super) fn resting(&self, rest: Duration) -> ModelError {
        let why = format!("it failed again and again and is left alone for {rest:.0?}");
        ModelError::Unreachable { model: self.model(), why }
    }

    /// No answer, or the rest of it did not come.
    pub(super) fn unanswered(&self, error: &LineError) -> Failure {
        let why = self.endpoint.clean(&error.to_string());
        let model = self.model();
        let error = match error {
            LineError::ConnectTimedOut => {
                return self.timed_out(Phase::Connect, self.endpoint.settings.connect_time_max);
            }
            LineError::Unreachable(_) => ModelError::Unreachable { model, why },
            LineError::Closed | LineError::Broken(_) => ModelError::BrokenStream { model, why },
        };
        Failure { error, again: Again::Soon, verdict: Verdict::Failing, complaint: None }
    }

    /// Something is wrong with what came after a good beginning.
    pub(super) fn faulty(&self, fault: Fault) -> Failure {
        let model = self.model();
        match fault {
            Fault::Broken(why) => Failure {
                error: ModelError::BrokenStream { model, why: self.endpoint.clean(&why) },
                again: Again::Soon,
                verdict: Verdict::Failing,
                complaint: None,
            },
            Fault::Malformed(why) => {
                self.last(ModelError::Malformed { model, why: self.endpoint.clean(&why) })
            }
            Fault::Call(why) => {
                self.last(ModelError::BrokenCall { model, why: self.endpoint.clean(&why) })
            }
            Fault::Refused(why) => {
                self.last(ModelError::Refused { model, why: self.endpoint.clean(&why) })
            }
            Fault::Limit(which) => self.limit(which),
            Fault::Complaint(value) => {
                let complaint = Complaint::from_value(&value);
                let is_overload = complaint.is_overload();
                let status = complaint.status.filter(|status| (400..600).contains(status));
                let status = status.unwrap_or(if is_overload { 503 } else { 500 });
                self.refusal(status, &HeaderMap::new(), complaint)
            }
        }
    }

    /// The server said no.
    pub(super) fn refusal(
        &self,
        status: u16,
        headers: &HeaderMap,
        complaint: Complaint,
    ) -> Failure {
        let said = self.endpoint.clean(&complaint.message);
        let why = if said.is_empty() { status.to_string() } else { format!("{status}: {said}") };
        let model = self.model();
        let number = status.to_string();
        let is_content = matches!(status, 400 | 403 | 413 | 422 | 451 | 500);
        let error = match status {
            402 => ModelError::QuotaSpent { model, why },
            429 if complaint.is_money() => ModelError::QuotaSpent { model, why },
            413 => self.overflow(&complaint),
            _ if is_content && complaint.is_overflow() => self.overflow(&complaint),
            _ if is_content && complaint.is_filter() => ModelError::Refused { model, why },
            // Not the server's words: some repeat the key, or a part of it.
            401 | 403 => ModelError::Unauthorized { model, why: number },
            404 | 405 | 300..=399 => ModelError::Unreachable { model, why },
            408 | 409 | 425 | 429 | 500..=599 => {
                let retry_after = retry_after(headers).map(|wait| wait.min(RETRY_AFTER_MAX));
                ModelError::Transient { model, why, retry_after }
            }
            _ => ModelError::BadRequest { model, why },
        };
        let own = match &error {
            ModelError::Transient { .. } if status != 501 => Again::Soon,
            _ => Again::Never,
        };
        let is_down = matches!(error, ModelError::Transient { .. }) && status >= 500;
        let is_bad = matches!(error, ModelError::BadRequest { .. });
        let again = match (&error, advice(headers)) {
            // Waiting does not make a conversation shorter or fill an account.
            (ModelError::Transient { .. } | ModelError::BadRequest { .. }, Some(advice)) => advice,
            _ => own,
        };
        Failure {
            error,
            again,
            verdict: if is_down { Verdict::Failing } else { Verdict::Alive },
            complaint: is_bad.then_some(complaint),
        }
    }

    fn overflow(&self, complaint: &Complaint) -> ModelError {
        let Complaint { tokens, tokens_max, .. } = *complaint;
        ModelError::ContextOverflow { model: self.model(), tokens, tokens_max }
    }

    /// A failure that asking again does not mend, of a server that is there.
    fn last(&self, error: ModelError) -> Failure {
        Failure { error, again: Again::Never, verdict: Verdict::Alive, complaint: None }
    }
}
