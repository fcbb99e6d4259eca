//! What a person puts beside a question: resources and prompts of servers, read before anything else is done.

use agent::context;
use agent::identity::Scope;
use agent::language::Language;
use agent::tools::attachment::Attachment;
use agent::tools::outcome::ToolOutput;
use agent::tools::policy::Influence;

use super::Doing;
use super::running::{Run, Stopped};
use crate::error::EngineError;
use crate::tools::{CallError, Caller, Host};

/// Bytes of a prompt that documents are searched with, where it is the whole question.
const QUERY_BYTES_MAX: usize = 1_000;

impl Run {
    /// Reads what is attached; whoever names what cannot be read is told.
    pub(super) async fn attach(&mut self) -> Result<(), Stopped> {
        let attachments = std::mem::take(&mut self.attach);
        if attachments.is_empty() {
            return Ok(());
        }
        let (host, caller) = self.reader().map_err(Stopped::Failed)?;
        let share = self.copilot.rules.tool_budget.results / attachments.len();
        for attachment in attachments {
            let name = attachment.shown();
            self.doing(Doing::Reading { title: name.clone() }).await?;
            let reading = tokio::time::timeout_at(self.deadline, read(&host, &caller, &attachment));
            let text = tokio::select! {
                read = reading => read.map_err(|_| refused("it takes too long")),
                () = self.tell.closed() => return Err(Stopped::Gone),
            };
            let text = text.and_then(|read| read.map_err(|error| refused(&error.to_string())));
            let text = text.map_err(Stopped::Failed)?;
            // Nothing but the prompt was written.
            if matches!(attachment, Attachment::Prompt { .. }) && self.question.starts_with(&name) {
                agent::text::clip(&text, QUERY_BYTES_MAX).clone_into(&mut self.query);
                self.language = Language::of(&text);
            }
            let tokenizer = &*self.copilot.parts.tokenizer;
            self.attached.push(context::attachment(&name, &text, share, tokenizer));
        }
        Ok(())
    }

    /// Who reads, and where.
    fn reader(&self) -> Result<(Host, Caller), EngineError> {
        if self.copilot.parts.models.answer.is_none() {
            return Err(refused("what is attached is read by a model, and there is none"));
        }
        let host = self.copilot.parts.host.clone();
        let caller = self.caller.clone().filter(|caller| caller.principal.may(Scope::Write));
        match (host, caller) {
            // The person has named it.
            (Some(host), Some(caller)) => {
                Ok((host, Caller { influence: Influence::Person, ..caller }))
            }
            _ => Err(refused("nothing of a server can be attached here")),
        }
    }

    /// All that is attached, as the model reads it.
    pub(super) fn attached_text(&self) -> String {
        let texts = self.attached.iter().map(|(text, _)| format!("{text}\n"));
        texts.collect()
    }
}

async fn read(host: &Host, caller: &Caller, attachment: &Attachment) -> Result<String, CallError> {
    match attachment {
        Attachment::Resource { server, address } => {
            let ToolOutput { text, .. } = host.read(caller, server, address).await?;
            Ok(text)
        }
        Attachment::Prompt { server, name, arguments } => {
            let said = host.prompt(caller, server, name, arguments.clone()).await?;
            let lines: Vec<String> = match said.as_slice() {
                [(_, text)] => vec![text.clone()],
                all => all.iter().map(|(role, text)| format!("[{role}] {text}")).collect(),
            };
            Ok(lines.join("\n"))
        }
    }
}

fn refused(why: &str) -> EngineError {
    EngineError::Refused(why.to_owned())
}
