//! A chain of models: the next is asked when the one before gives nothing.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use agent::model::{
    LanguageModel, ModelError, ModelEvent, ModelRequest, ModelStream, Phase, Usage,
};
use futures_util::stream::{self, StreamExt as _};

/// Asks several models in order, until one begins to answer.
///
/// The next is asked when a model fails before its first piece of an answer for a reason of its own: it is down,
/// overloaded, not paid for, not allowed, unreadable, or its window is too small. It is not asked
/// - after the first piece: two half answers are no answer;
/// - when the request was refused as wrong: ours is the fault, and the next would refuse it too;
/// - when a model declines to answer: another must not be tried until one gives in;
/// - when the time for the whole answer is over: nobody is waiting any more.
///
/// When all fail, the first one's error is given: it is the model that the operator wants, the others are in the log.
/// What a model used that gave nothing is not told: whoever books costs does so around each model, not around the
/// chain. The models should not try often themselves, or the chain is slow to move on.
#[derive(Clone)]
pub struct FallbackModel {
    name: String,
    models: Vec<Arc<dyn LanguageModel>>,
}

impl FallbackModel {
    #[must_use]
    pub fn new(first: Arc<dyn LanguageModel>, others: Vec<Arc<dyn LanguageModel>>) -> Self {
        let models: Vec<_> = std::iter::once(first).chain(others).collect();
        let names: Vec<&str> = models.iter().map(|model| model.name()).collect();
        Self { name: names.join(", then "), models }
    }
}

impl LanguageModel for FallbackModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let chain = Chain {
            request,
            waiting: self.models.clone().into_iter(),
            current: None,
            first_error: None,
            held: None,
            next: None,
            has_given: false,
        };
        Box::pin(stream::unfold(chain, |mut chain| async move {
            let event = chain.next().await?;
            Some((event, chain))
        }))
    }
}

/// One question on its way through the chain.
struct Chain {
    request: ModelRequest,
    waiting: std::vec::IntoIter<Arc<dyn LanguageModel>>,
    current: Option<ModelStream>,
    first_error: Option<ModelError>,
    /// Usage that came before anything else: of an empty answer, or of a failure.
    held: Option<Usage>,
    /// Comes after `held`.
    next: Option<ModelEvent>,
    has_given: bool,
}

impl Chain {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        if let Some(event) = self.next.take() {
            return Some(Ok(event));
        }
        loop {
            let Some(current) = &mut self.current else {
                let Some(model) = self.waiting.next() else {
                    return self.first_error.take().map(Err);
                };
                self.current = Some(model.stream(self.request.clone()));
                continue;
            };
            match current.next().await? {
                Ok(ModelEvent::Usage(usage)) if !self.has_given => self.held = Some(usage),
                Ok(event) => return Some(Ok(self.give(event))),
                Err(error) if self.has_given => return Some(Err(error)),
                Err(error) => self.move_on(error),
            }
        }
    }

    fn give(&mut self, event: ModelEvent) -> ModelEvent {
        self.has_given = true;
        match self.held.take() {
            Some(usage) => {
                self.next = Some(event);
                ModelEvent::Usage(usage)
            }
            None => event,
        }
    }

    /// A model gave nothing: the next is asked, or none where that would be wrong.
    fn move_on(&mut self, error: ModelError) {
        (self.current, self.held) = (None, None);
        if goes_on(&error) {
            tracing::warn!(%error, "this model gave no answer");
            self.first_error.get_or_insert(error);
        } else {
            self.waiting = Vec::new().into_iter();
            self.first_error = Some(error);
        }
    }
}

/// Whether another model may succeed where this one failed.
fn goes_on(error: &ModelError) -> bool {
    match error {
        ModelError::Transient { .. }
        | ModelError::ContextOverflow { .. }
        | ModelError::Unauthorized { .. }
        | ModelError::QuotaSpent { .. }
        | ModelError::Unreachable { .. }
        | ModelError::BrokenStream { .. }
        | ModelError::Malformed { .. }
        | ModelError::BrokenCall { .. }
        | ModelError::LimitReached { .. } => true,
        ModelError::TimedOut { phase, .. } => *phase != Phase::Total,
        ModelError::BadRequest { .. } | ModelError::Refused { .. } => false,
    }
}
