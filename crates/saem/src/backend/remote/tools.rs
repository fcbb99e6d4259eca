//! Tools over the API: calls wait for approvals, which are asked for here meanwhile.

use std::time::Duration;

use agent::tools::question::Person;
use anyhow::{Result, anyhow};
use engine::tools::Browser;
use reqwest::{Method, Request};
use serde_json::{Map, Value};
use server::api::wire::logins::{
    LoggedInBody, LoggedOutBody, LoginBegunBody, LoginReturnBody, ToolLoginBody,
};
use server::api::wire::tools::{
    AcceptBody, AcceptedBody, ActivitiesBody, AnswerBody, ApprovalsBody, FollowBody, FollowedBody,
    OffersBody, PromptBody, PromptMessagesBody, ReadBody, TakenBackBody, ToolCallBody,
    ToolOutputBody, ToolServersBody, ToolsBody,
};

use super::Client;
use crate::backend::tools::WantedActivity;

/// How often a server is asked whether it has a question.
const ASK_AGAIN: Duration = Duration::from_millis(300);

impl Client {
    pub(crate) async fn tool_servers(&self) -> Result<ToolServersBody> {
        self.read(Request::new(Method::GET, self.url(&["tool-servers"])?)).await
    }

    pub(crate) async fn tools(&self, server: Option<&str>) -> Result<ToolsBody> {
        let mut url = self.url(&["tools"])?;
        if let Some(server) = server {
            url.query_pairs_mut().append_pair("server", server);
        }
        self.read(Request::new(Method::GET, url)).await
    }

    pub(crate) async fn call_tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        person: &dyn Person,
    ) -> Result<ToolOutputBody> {
        let body = ToolCallBody { arguments, session: None };
        let request = self.post(&["tools", name, "call"], &body)?;
        self.while_asking(self.read(request), person).await
    }

    pub(crate) async fn offers(&self, server: &str) -> Result<OffersBody> {
        let url = self.url(&["tool-servers", server, "offers"])?;
        self.read(Request::new(Method::GET, url)).await
    }

    pub(crate) async fn read_resource(
        &self,
        server: &str,
        uri: &str,
        person: &dyn Person,
    ) -> Result<ToolOutputBody> {
        let body = ReadBody { uri: uri.to_owned() };
        let request = self.post(&["tool-servers", server, "read"], &body)?;
        self.while_asking(self.read(request), person).await
    }

    pub(crate) async fn follow_resource(
        &self,
        server: &str,
        uri: &str,
        seen: Option<u64>,
        person: &dyn Person,
    ) -> Result<FollowedBody> {
        let body = FollowBody { uri: uri.to_owned(), seen };
        let request = self.post(&["tool-servers", server, "follow"], &body)?;
        self.while_asking(self.read(request), person).await
    }

    pub(crate) async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Map<String, Value>,
        person: &dyn Person,
    ) -> Result<PromptMessagesBody> {
        let body = PromptBody { name: name.to_owned(), arguments };
        let request = self.post(&["tool-servers", server, "prompt"], &body)?;
        self.while_asking(self.read(request), person).await
    }

    /// Logs in at a server of the other Saem, with the browser here.
    pub(crate) async fn log_in(
        &self,
        server: &str,
        browser: &dyn Browser,
        scopes: Vec<String>,
    ) -> Result<bool> {
        let body = ToolLoginBody { redirect: browser.redirect().to_owned(), scopes };
        let begun: LoginBegunBody =
            self.read(self.post(&["tool-servers", server, "login"], &body)?).await?;
        let Some(page) = begun.page else { return Ok(begun.logged_in) };
        let returned = browser.visit(&page).await.map_err(|why| anyhow!(why))?;
        let finish = ["tool-servers", server, "login", "finish"];
        let body = LoginReturnBody { returned };
        let done: LoggedInBody = self.read(self.post(&finish, &body)?).await?;
        Ok(done.logged_in)
    }

    pub(crate) async fn log_out(&self, server: &str) -> Result<bool> {
        let url = self.url(&["tool-servers", server, "login"])?;
        let done: LoggedOutBody = self.read(Request::new(Method::DELETE, url)).await?;
        Ok(done.logged_out)
    }

    pub(crate) async fn accept_tools(
        &self,
        server: &str,
        tool: Option<&str>,
    ) -> Result<AcceptedBody> {
        let body = AcceptBody { tool: tool.map(str::to_owned) };
        self.read(self.post(&["tool-servers", server, "accept"], &body)?).await
    }

    pub(crate) async fn take_back(&self, tool: &str) -> Result<TakenBackBody> {
        self.read(Request::new(Method::DELETE, self.url(&["approvals", tool])?)).await
    }

    pub(crate) async fn activity(&self, wanted: &WantedActivity) -> Result<ActivitiesBody> {
        let mut url = self.url(&["activity"])?;
        let mut query = url.query_pairs_mut();
        for (name, value) in wanted.pairs() {
            query.append_pair(name, &value);
        }
        drop(query);
        self.read(Request::new(Method::GET, url)).await
    }

    /// Asks the person here what waits in a session.
    pub(crate) async fn settle_questions(&self, session: &str, person: &dyn Person) -> Result<()> {
        let url = self.url(&["approvals"])?;
        let waiting: ApprovalsBody = self.read(Request::new(Method::GET, url)).await?;
        for open in waiting.open {
            if open.session.as_deref() != Some(session) {
                continue;
            }
            let Some(question) = open.read() else { continue };
            let reply = AnswerBody::from(person.ask(&question).await);
            // Somebody else may have answered it meanwhile.
            let answer = self.post(&["approvals", &open.id.to_string()], &reply)?;
            super::found(self.ask(answer).await)?;
        }
        Ok(())
    }

    /// Does `work`, and asks the person here whatever the server wants to know of us meanwhile.
    async fn while_asking<T>(
        &self,
        work: impl Future<Output = Result<T>>,
        person: &dyn Person,
    ) -> Result<T> {
        let asking = async {
            loop {
                tokio::time::sleep(ASK_AGAIN).await;
                let url = self.url(&["approvals"])?;
                let waiting: ApprovalsBody = self.read(Request::new(Method::GET, url)).await?;
                for open in waiting.open {
                    let Some(question) = open.read() else { continue };
                    let reply = AnswerBody::from(person.ask(&question).await);
                    // Somebody else may have answered it meanwhile.
                    let answer = self.post(&["approvals", &open.id.to_string()], &reply)?;
                    super::found(self.ask(answer).await)?;
                }
            }
        };
        tokio::select! {
            done = work => done,
            failed = asking => failed,
        }
    }
}
