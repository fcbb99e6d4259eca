//! A login whose browser is with the caller: the page is handed out, and what the browser came back with is handed in.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent::identity::Principal;
use agent::names::TenantId;
use agent::tools::naming::ServerId;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::access::Browser;
use super::host::Host;
use super::login::PERSON_WAIT_MAX;
use crate::error::EngineError;

/// Logins that may be under way at once: people have one browser.
const UNDER_WAY_MAX: usize = 16;

/// What a login begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginBegun {
    /// The server lets everybody in, or knew us already.
    Done { is_logged_in: bool },
    /// A page for the person to open.
    Page { address: String },
}

/// Where a browser comes back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Return {
    /// A program of the caller, which listens on the browser's own machine.
    ToProgram(String),
    /// Our own page, under the address that the browser has it from: whoever says so has checked that it is ours.
    ToPage(String),
}

impl Return {
    fn address(&self) -> &str {
        match self {
            Self::ToProgram(address) | Self::ToPage(address) => address,
        }
    }

    /// A code that is sent anywhere else, or that others can read on its way, is somebody else's.
    fn is_safe(&self) -> bool {
        let Ok(url) = reqwest::Url::parse(self.address()) else { return false };
        let is_plain =
            url.username().is_empty() && url.query().is_none() && url.fragment().is_none();
        let is_near = matches!(url.host_str(), Some("127.0.0.1" | "[::1]"));
        is_plain
            && match self {
                Self::ToProgram(_) => url.scheme() == "http" && is_near,
                Self::ToPage(_) => match url.scheme() {
                    "https" => true,
                    "http" => is_near || url.host_str() == Some("localhost"),
                    _ => false,
                },
            }
    }
}

type Outcome = Result<bool, EngineError>;
/// Tenant, caller and server.
type Key = (TenantId, String, ServerId);

/// A login that waits for its browser.
struct UnderWay {
    back: oneshot::Sender<String>,
    outcome: oneshot::Receiver<Outcome>,
    until: Instant,
}

/// The logins that wait for a browser, one for each caller and server.
#[derive(Clone, Default)]
pub(super) struct Relays(Arc<Mutex<HashMap<Key, UnderWay>>>);

impl Relays {
    /// Takes the place of an earlier one of the same caller, which has lost its browser.
    fn put(&self, key: Key, under_way: UnderWay) -> Result<(), EngineError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        all.retain(|_, login| login.until > now);
        if all.len() >= UNDER_WAY_MAX && !all.contains_key(&key) {
            let why = "too many logins are under way: try again in a few minutes";
            return Err(EngineError::Refused(why.to_owned()));
        }
        all.insert(key, under_way);
        Ok(())
    }

    fn take(&self, key: &Key) -> Option<UnderWay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }
}

impl Host {
    /// Begins a login at a server for somebody whose browser comes back to a program of theirs, or to our page.
    pub async fn begin_login(
        &self,
        principal: &Principal,
        server: &ServerId,
        comes_back: &Return,
        scopes: Vec<String>,
    ) -> Result<LoginBegun, EngineError> {
        if !comes_back.is_safe() {
            let why = "a browser is sent back to its own machine (http://127.0.0.1:PORT/…) or to this server's page, \
                which has to come over https, alone";
            return Err(EngineError::Refused(why.to_owned()));
        }
        let ((show, page), (back, came)) = (oneshot::channel(), oneshot::channel());
        let ends = Mutex::new(Some((show, came)));
        let browser = Arc::new(Relay { redirect: comes_back.address().to_owned(), ends });
        let (tell, mut outcome) = oneshot::channel();
        let (host, who, id) = (self.clone(), principal.clone(), server.clone());
        let stopping = self.parts.tasks.stopping();
        self.parts.tasks.spawn(async move {
            tokio::select! {
                done = host.log_in(&who, &id, browser, scopes) => {
                    let _gone = tell.send(done);
                }
                () = stopping.cancelled() => {}
            }
        });
        let ended = || EngineError::Refused("the login has ended: begin again".to_owned());
        tokio::select! {
            biased;
            done = &mut outcome => {
                let is_logged_in = done.unwrap_or_else(|_| Err(ended()))?;
                Ok(LoginBegun::Done { is_logged_in })
            }
            Ok(address) = page => {
                let until = Instant::now() + PERSON_WAIT_MAX;
                self.relays.put(key(principal, server), UnderWay { back, outcome, until })?;
                Ok(LoginBegun::Page { address })
            }
        }
    }

    /// Ends a login with the address that the browser came back to. Says whether it succeeded.
    pub async fn finish_login(
        &self,
        principal: &Principal,
        server: &ServerId,
        returned: String,
    ) -> Result<bool, EngineError> {
        let found = self.relays.take(&key(principal, server));
        let found = found.ok_or(EngineError::Absent { what: "login under way" })?;
        let ended = || EngineError::Refused("the login has ended: begin again".to_owned());
        found.back.send(returned).map_err(|_| ended())?;
        found.outcome.await.unwrap_or_else(|_| Err(ended()))
    }
}

fn key(principal: &Principal, server: &ServerId) -> Key {
    (principal.tenant.clone(), principal.name.clone(), server.clone())
}

type Ends = (oneshot::Sender<String>, oneshot::Receiver<String>);

/// A browser that is somewhere else; it goes to one page.
struct Relay {
    redirect: String,
    ends: Mutex<Option<Ends>>,
}

impl Browser for Relay {
    fn redirect(&self) -> &str {
        &self.redirect
    }

    fn visit<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (show, came) = ends.ok_or("the browser was needed twice")?;
            show.send(address.to_owned()).map_err(|_| "nobody waits for the page any more")?;
            let back = tokio::time::timeout(PERSON_WAIT_MAX, came).await;
            let nobody = || "nobody came back from the browser".to_owned();
            back.map_err(|_| nobody())?.map_err(|_| nobody())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_comes_back_to_its_own_machine_or_to_our_page_alone() {
        let to_program = |address: &str| Return::ToProgram(address.to_owned()).is_safe();
        let to_page = |address: &str| Return::ToPage(address.to_owned()).is_safe();
        for good in ["http://127.0.0.1:8734/callback", "http://[::1]:9/x"] {
            assert!(to_program(good) && to_page(good), "{good}");
        }
        for good in ["https://saem.example.com/", "http://localhost:7777/"] {
            assert!(to_page(good) && !to_program(good), "{good}");
        }
        for bad in [
            "http://saem.example.com/",
            "http://127.0.0.1.evil.net/callback",
            "http://localhost.evil.net/",
            "http://127.0.0.1@evil.net/",
            "http://evil.net#127.0.0.1",
            "https://saem.example.com/?to=evil.net",
            "javascript:alert(1)",
            "",
        ] {
            assert!(!to_program(bad) && !to_page(bad), "{bad}");
        }
    }
}
