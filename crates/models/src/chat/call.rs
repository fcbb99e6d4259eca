//! One question to a model, from waiting for a turn to the last token; asked again only while nothing was given.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agent::model::{Finish, Limit, ModelError, ModelEvent, ModelRequest, Phase, Usage};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::assembly::{Assembly, Fault, Progress};
use super::breaker::Verdict;
use super::capabilities::Manner;
use super::complaint::Complaint;
use super::failure::{Failure, Teller};
use super::reader::Reader;
use super::response::Response;
use super::{Shared, request};
use crate::http::COMPLAINT_BYTES_MAX;
use crate::patience::{Again, Patience, moment_after};

/// Changes of manner in one call: each thing that can be given up, once.
const CONCESSIONS_MAX: u32 = 8;

/// How long usage may come after the answer is over: servers send both at once.
const TAIL_TIME_MAX: Duration = Duration::from_secs(1);

/// Time for the end of the body after the server's last word, so that the connection can be used again.
const DRAIN_TIME_MAX: Duration = Duration::from_millis(50);

/// Largest answer that comes whole, in bytes over the wire: JSON may write one byte of text as six.
const WHOLE_BYTES_PER_OUTPUT_BYTE: usize = 8;

/// For how long something is waited for, and what is said when it did not come.
#[derive(Debug, Clone, Copy)]
struct Wait {
    phase: Phase,
    until: Instant,
    after: Duration,
}

/// A question on its way. Dropping it closes the connection and frees its place.
pub(super) struct Call {
    shared: Arc<Shared>,
    request: ModelRequest,
    manner: Manner,
    /// The end of all patience; counted from when the first event is asked for.
    deadline: Option<Instant>,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
    reader: Option<Reader>,
    permit: Option<OwnedSemaphorePermit>,
    /// What requests have used that gave nothing.
    spent: Usage,
    is_over: bool,
}

impl Call {
    pub(super) fn new(shared: Arc<Shared>, request: ModelRequest) -> Self {
        let manner = shared.manner(&request);
        Self {
            shared,
            request,
            manner,
            deadline: None,
            ready: VecDeque::new(),
            reader: None,
            permit: None,
            spent: Usage::default(),
            is_over: false,
        }
    }

    pub(super) async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            if let Err(error) = self.advance().await {
                self.fail(error);
            }
        }
    }

    fn teller(&self) -> Teller<'_> {
        Teller { name: &self.shared.settings.model, endpoint: &self.shared.endpoint }
    }

    /// Gets at least one event, the end or an error.
    async fn advance(&mut self) -> Result<(), ModelError> {
        let total = self.shared.settings.total_time_max;
        let deadline = *self.deadline.get_or_insert_with(|| moment_after(total));
        if self.reader.is_some() {
            let wait =
                self.wait(Phase::BetweenTokens, self.shared.settings.between_tokens_time_max);
            while self.ready.is_empty() && !self.is_over {
                self.read(wait).await.map_err(|failure| failure.error)?;
            }
            return Ok(());
        }
        if self.permit.is_none() {
            let Ok(permit) = timeout_at(deadline, self.shared.endpoint.enter()).await else {
                return Err(self.teller().timed_out(Phase::Total, total).error);
            };
            self.permit = Some(permit.map_err(|which| self.teller().limit(which).error)?);
        }
        self.open().await
    }

    /// So long from now, or until all patience is over if that is sooner.
    fn wait(&self, phase: Phase, after: Duration) -> Wait {
        let until = moment_after(after);
        match self.deadline {
            Some(deadline) if deadline <= until => {
                let after = self.shared.settings.total_time_max;
                Wait { phase: Phase::Total, until: deadline, after }
            }
            _ => Wait { phase, until, after },
        }
    }

    fn late(&self, wait: Wait) -> Failure {
        self.teller().timed_out(wait.phase, wait.after)
    }

    /// Asks until the first event is there or the tries are used up.
    async fn open(&mut self) -> Result<(), ModelError> {
        let settings = &self.shared.settings;
        let mut patience =
            Patience::new(settings.tries_max, settings.retry_wait_first, settings.retry_wait_max);
        let mut concessions = 0;
        loop {
            let Err(failure) = self.attempt().await else {
                self.shared.learn(&self.request, &self.manner);
                return Ok(());
            };
            self.give_up_reading();
            if let Some(complaint) = &failure.complaint
                && concessions < CONCESSIONS_MAX
                && self.manner.concede(complaint, request::used(&self.request))
            {
                concessions += 1;
                tracing::debug!(error = %failure.error, "asking the model in another manner");
                continue;
            }
            let wait = patience.wait_before_next(&failure.again);
            // A wait that outlasts the call is not begun: the error is worth more now.
            let fits = |wait: &Duration| self.deadline.is_none_or(|end| moment_after(*wait) < end);
            let Some(wait) = wait.filter(fits) else {
                return Err(failure.error);
            };
            tracing::debug!(error = %failure.error, ?wait, "asking the model again");
            sleep(wait).await;
        }
    }

    async fn attempt(&mut self) -> Result<(), Failure> {
        let mut trial = self.shared.endpoint.ask().map_err(|rest| Failure {
            error: self.teller().resting(rest),
            again: Again::Never,
            verdict: Verdict::Unknown,
            complaint: None,
        })?;
        let outcome = self.ask().await;
        trial.verdict =
            outcome.as_ref().map_or_else(|failure| failure.verdict, |()| Verdict::Alive);
        outcome
    }

    /// One request, up to its first event.
    async fn ask(&mut self) -> Result<(), Failure> {
        let settings = &self.shared.settings;
        let wait = self.wait(
            Phase::FirstToken,
            if self.manner.capabilities.streams {
                settings.first_token_time_max
            } else {
                settings.total_time_max
            },
        );
        let (asked, manner) = (&self.request, &self.manner);
        let body = || request::body(&settings.model, asked, manner, &settings.extra_body);
        let sending = self.shared.endpoint.way.post(body);
        let Ok(response) = timeout_at(wait.until, sending).await else {
            return Err(self.late(wait));
        };
        let response = response.map_err(|error| self.teller().unanswered(&error))?;
        if !(200..300).contains(&response.status()) {
            let refused = timeout_at(wait.until, self.refused(response)).await;
            return Err(refused.unwrap_or_else(|_| self.late(wait)));
        }
        match Form::of(&response) {
            Form::Wrong(what) => Err(self.teller().faulty(Fault::Malformed(what))),
            Form::Whole => match timeout_at(wait.until, self.take_whole(response)).await {
                Ok(outcome) => outcome,
                Err(_) => Err(self.late(wait)),
            },
            Form::Stream => {
                self.reader = Some(Reader::new(response, self.assembly()));
                while self.ready.is_empty() && !self.is_over {
                    self.read(wait).await?;
                }
                Ok(())
            }
        }
    }

    fn assembly(&self) -> Assembly {
        Assembly::new(
            self.manner.capabilities.thinks_in_tags,
            request::output_tool(&self.request, &self.manner),
            self.shared.settings.output_bytes_max,
        )
    }

    async fn refused(&self, response: Response) -> Failure {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.whole(COMPLAINT_BYTES_MAX).await.ok().flatten().unwrap_or_default();
        self.teller().refusal(status, &headers, Complaint::read(&body))
    }

    /// An answer that does not come in pieces.
    async fn take_whole(&mut self, response: Response) -> Result<(), Failure> {
        let bytes_max =
            self.shared.settings.output_bytes_max.saturating_mul(WHOLE_BYTES_PER_OUTPUT_BYTE);
        let bytes = response.whole(bytes_max).await;
        let bytes = bytes.map_err(|error| self.teller().unanswered(&error))?;
        let Some(bytes) = bytes else {
            return Err(self.teller().limit(Limit::BodyBytes(bytes_max)));
        };
        let mut assembly = self.assembly();
        let mut events = Vec::new();
        let outcome = assembly
            .take(&String::from_utf8_lossy(&bytes), &mut events)
            .and_then(|_| assembly.finish(self.request.text_bytes(), &mut events));
        match outcome {
            Ok(finish) => {
                self.give(events);
                self.finish(finish);
                Ok(())
            }
            Err(fault) => {
                self.pay(&assembly);
                Err(self.teller().faulty(fault))
            }
        }
    }

    /// Reads what comes next; what it says is ready then. An error is given after the events before it.
    async fn read(&mut self, wait: Wait) -> Result<(), Failure> {
        let Some(reader) = &mut self.reader else {
            return Ok(());
        };
        let mut events = Vec::new();
        let tail = moment_after(TAIL_TIME_MAX);
        let until = if reader.assembly.is_finished() { tail.min(wait.until) } else { wait.until };
        let outcome = match timeout_at(until, reader.read(&mut events)).await {
            Ok(outcome) => outcome,
            Err(_) if reader.assembly.is_finished() => Ok(Progress::Done),
            Err(_) => return Err(self.late(wait)),
        };
        let outcome = match outcome {
            Ok(Progress::More) => Ok(None),
            Ok(Progress::Done) => {
                let _ = timeout(DRAIN_TIME_MAX, reader.drain()).await;
                reader.assembly.finish(self.request.text_bytes(), &mut events).map(Some)
            }
            Err(fault) => Err(fault),
        };
        self.give(events);
        match outcome {
            Ok(None) => Ok(()),
            Ok(Some(finish)) => {
                self.finish(finish);
                Ok(())
            }
            Err(fault) if self.ready.is_empty() => Err(self.teller().faulty(fault)),
            Err(fault) => {
                let error = self.teller().faulty(fault).error;
                self.fail(error);
                Ok(())
            }
        }
    }

    /// Events to be given next; usage includes what was spent before.
    fn give(&mut self, events: Vec<ModelEvent>) {
        for mut event in events {
            if let ModelEvent::Usage(usage) = &mut event {
                *usage += self.spent;
            }
            self.ready.push_back(Ok(event));
        }
    }

    fn finish(&mut self, finish: Finish) {
        let model = self.shared.settings.model.clone();
        self.ready.push_back(Ok(ModelEvent::Done { finish, model }));
        self.end();
    }

    /// The last word is an error. What came before it has to be paid all the same.
    fn fail(&mut self, error: ModelError) {
        self.give_up_reading();
        if self.spent != Usage::default() {
            self.ready.push_back(Ok(ModelEvent::Usage(self.spent)));
        }
        self.ready.push_back(Err(error));
        self.end();
    }

    fn give_up_reading(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.pay(&reader.assembly);
        }
    }

    fn pay(&mut self, assembly: &Assembly) {
        if assembly.has_output() {
            self.spent += assembly.usage(self.request.text_bytes());
        }
    }

    fn end(&mut self) {
        self.is_over = true;
        self.reader = None;
        self.permit = None;
    }
}

/// What the answer is, by its headers.
enum Form {
    Stream,
    Whole,
    Wrong(String),
}

impl Form {
    fn of(response: &Response) -> Self {
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        if let Some(encoding) = header(CONTENT_ENCODING).filter(|encoding| *encoding != "identity")
        {
            return Self::Wrong(format!("it is packed as {encoding}, which was not asked for"));
        }
        let media_type = header(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
        match media_type.split(';').next().unwrap_or_default().trim() {
            "application/json" => Self::Whole,
            "text/html" => Self::Wrong("it is a web page".to_owned()),
            // Some servers stream without saying so, or as plain text.
            _ => Self::Stream,
        }
    }
}
