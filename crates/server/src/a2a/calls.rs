//! Does what is asked, whatever carried it.

use ::a2a::admission;
use ::a2a::error::Error;
use ::a2a::hops;
use ::a2a::model::{Answer, Call, Operation, Send};
use ::a2a::version::Version;
use engine::agents::serving::Watching;

use super::{Agent, Asked};

/// What comes of a call.
pub(super) enum Outcome {
    Answer(Answer),
    Stream(Watching),
}

impl Agent {
    pub(super) async fn perform(
        &self,
        asked: &Asked,
        version: Version,
        call: Call,
    ) -> Result<Outcome, Error> {
        let Call { tenant, operation } = call;
        admission::check(&operation, version, &self.capabilities, &asked.extensions)?;
        // Where a call is routed to says nothing of who may see what: there is one tenant here for each caller.
        if tenant.is_some_and(|tenant| tenant != asked.principal.tenant.as_str()) {
            return Err(Error::task_not_found());
        }
        let (service, principal) = (&self.service, &asked.principal);
        let answer = match operation {
            Operation::Send(send) => {
                let send = come_through(send, asked.hops.as_deref());
                Answer::Sent(service.send(principal, version, send).await?)
            }
            Operation::Stream(send) => {
                let send = come_through(send, asked.hops.as_deref());
                return service.stream(principal, version, send).await.map(Outcome::Stream);
            }
            Operation::Get { task, history_length, .. } => {
                let history_length = version.history_length(history_length);
                Answer::Task(service.get(principal, &task, history_length).await?)
            }
            Operation::List(query) => Answer::Tasks(service.list(principal, query).await?),
            Operation::Cancel { task, .. } => Answer::Task(service.cancel(principal, &task).await?),
            Operation::Subscribe { task, .. } => {
                return service.subscribe(principal, version, &task).await.map(Outcome::Stream);
            }
            Operation::CreatePush(config) => {
                Answer::Push(service.create_push(principal, version, config).await?)
            }
            Operation::GetPush { task, config, .. } => {
                Answer::Push(service.get_push(principal, &task, config.as_ref()).await?)
            }
            Operation::ListPush { task, page_size, page_token, .. } => {
                let token = page_token.as_deref();
                Answer::Pushes(service.list_push(principal, &task, page_size, token).await?)
            }
            Operation::DeletePush { task, config, .. } => {
                service.delete_push(principal, &task, &config).await?;
                Answer::Deleted
            }
            Operation::ExtendedCard => Answer::Card(Box::new(self.extended_card(asked).await?)),
        };
        Ok(Outcome::Answer(answer))
    }

    /// The extensions that a call uses: those that both sides know.
    pub(super) fn active(&self, asked: &Asked) -> Vec<String> {
        let active = admission::active(&self.capabilities, &asked.extensions);
        active.into_iter().map(str::to_owned).collect()
    }
}

/// What a header says of the agents that a message has come through counts as if the message said it.
fn come_through(mut send: Send, header: Option<&str>) -> Send {
    if header.is_some() {
        let count = hops::read(header, &send.message, send.metadata.as_ref());
        hops::write(&mut send.message, count);
    }
    send
}
