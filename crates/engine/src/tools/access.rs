//! Gets into a server that wants to know who comes: tokens are got, kept, renewed, and bound to where they are from.
//!
//! What is done in which order is rmcp's for the protocol's messages and `agent::tools::login`'s for our choices. Every
//! attempt looks the login's addresses up anew, so a server that has changed its login never gets what was for the old.

mod grants;
mod kept;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use agent::names::TenantId;
use agent::ports::Clock;
use agent::tools::login::{Identity, Offers, identity, is_same_issuer, united};
use agent::tools::naming::ServerId;
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationMetadata,
    ClientCredentialsConfig, CredentialStore, InMemoryCredentialStore, OAuthClientConfig,
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest, StoredCredentials,
};
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::connection::shortened;
use super::handler::host_of;
use grants::Errand;
use kept::Kept;
pub use settings::{Browser, Enterprise, Grant, LoginParts, LoginSettings, Outside};

/// Our name where clients are registered.
const CLIENT_NAME: &str = "Saem";

/// Why there is no token. It never holds one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LoginError {
    #[error("it wants to know who you are: log in with `saem mcp login {server}`")]
    Wanted { server: String },
    #[error(
        "it wants more than you have logged in for: `saem mcp login {server} --scope {scope:?}`"
    )]
    MoreWanted { server: String, scope: String },
    #[error("the login did not succeed: {0}")]
    Failed(String),
}

impl LoginError {
    fn new(why: &str) -> Self {
        let clean = agent::tools::suspicion::clean(why);
        Self::Failed(agent::text::clip(&clean, 300).to_owned())
    }
}

fn failed(error: &dyn std::error::Error) -> LoginError {
    LoginError::Failed(shortened(error))
}

/// The door of one server, for one tenant.
pub(super) struct Access {
    pub(super) tenant: TenantId,
    pub(super) server: ServerId,
    pub(super) url: String,
    pub(super) settings: LoginSettings,
    pub(super) parts: LoginParts,
    pub(super) clock: Arc<dyn Clock>,
    /// What was read or got last.
    known: Mutex<Known>,
    /// One at a time gets a new one: the others find it.
    turn: Semaphore,
}

#[derive(Default)]
enum Known {
    #[default]
    NotRead,
    Read(Option<Box<Kept>>),
}

/// Sends rmcp's requests out by our own way.
pub(super) struct Way {
    url: String,
    outside: Arc<dyn Outside>,
}

impl OAuthHttpClient for Way {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            self.outside.send(&self.url, request.request).await.map_err(|why| {
                // What comes of it does not always say why.
                let why = agent::tools::suspicion::clean(&why);
                tracing::warn!(why, "an address of a login does not answer, or may not be asked");
                why.into()
            })
        })
    }
}

impl Access {
    pub(super) fn new(
        tenant: TenantId,
        server: ServerId,
        url: String,
        settings: LoginSettings,
        parts: LoginParts,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            tenant,
            server,
            url,
            settings,
            parts,
            clock,
            known: Mutex::default(),
            turn: Semaphore::new(1),
        }
    }

    /// Begins as if nobody had logged in yet; what is kept stays until there is something new.
    pub(super) fn anew(mut self) -> Self {
        self.known = Mutex::new(Known::Read(None));
        self
    }

    /// A token that is good, if there is one.
    pub(super) async fn token(&self) -> Result<Option<String>, LoginError> {
        let _turn = self.turn().await?;
        let Some(kept) = self.read().await? else { return Ok(None) };
        match kept.token_at(self.clock.now()) {
            Some(token) => Ok(Some(token)),
            None => self.renew(kept).await,
        }
    }

    /// A token in place of one that the server has refused, if there is one without a new login.
    pub(super) async fn instead_of(&self, refused: &str) -> Result<Option<String>, LoginError> {
        let _turn = self.turn().await?;
        // Another process may have logged in since.
        self.learn(Known::NotRead);
        let Some(kept) = self.read().await? else { return Ok(None) };
        match kept.token_at(self.clock.now()).filter(|token| token != refused) {
            Some(token) => Ok(Some(token)),
            None => self.renew(kept).await,
        }
    }

    /// A token by a new login; `demanded` is a scope that the last one was too narrow for.
    pub(super) async fn log_in(
        &self,
        challenge: &str,
        demanded: Option<&str>,
    ) -> Result<String, LoginError> {
        let _turn = self.turn().await?;
        let before = self.read().await?;
        if self.settings.grant == Grant::Browser && self.parts.browser.is_none() {
            if before.is_none() {
                // Another process may have logged in since.
                self.learn(Known::NotRead);
                let since = self.read().await?;
                if let Some(token) = since.and_then(|kept| kept.token_at(self.clock.now())) {
                    return Ok(token);
                }
            }
            let server = self.server.to_string();
            return Err(match demanded {
                None => LoginError::Wanted { server },
                Some(scope) => {
                    let granted = before.as_ref().map_or(&[][..], |kept| kept.granted());
                    LoginError::MoreWanted { server, scope: united(granted, scope).join(" ") }
                }
            });
        }
        let (manager, metadata) = self.found(Some(challenge)).await?;
        let issuer = metadata.issuer.as_deref();
        if let Some(expected) = self.bound_issuer(before.as_deref())
            && !is_same_issuer(Some(expected), issuer)
        {
            return Err(LoginError::new(&format!(
                "the client of the configuration is for {expected}, and the server now sends to {}",
                issuer.unwrap_or("an issuer without a name")
            )));
        }
        let scopes = match (demanded, self.settings.scopes.as_slice()) {
            (Some(scope), _) => {
                united(before.as_ref().map_or(&[][..], |kept| kept.granted()), scope)
            }
            (None, []) => manager.select_initial_scopes(&[]).await,
            (None, wanted) => wanted.to_vec(),
        };
        let mut kept = self.granted(manager, &metadata, &scopes, before).await?;
        kept.challenge = Some(challenge.to_owned());
        let token = kept.token().ok_or_else(|| LoginError::new("the login gave no token"))?;
        self.keep(kept).await?;
        Ok(token)
    }

    /// A secret of the configuration is for one issuer: the one that is named, or the first that it was shown to.
    fn bound_issuer<'a>(&'a self, before: Option<&'a Kept>) -> Option<&'a str> {
        let is_configured = self.settings.client_id.is_some();
        let first = before.filter(|_| is_configured).and_then(|kept| kept.issuer.as_deref());
        self.settings.issuer.as_deref().or(first)
    }

    async fn granted(
        &self,
        mut manager: AuthorizationManager,
        metadata: &AuthorizationMetadata,
        scopes: &[String],
        before: Option<Box<Kept>>,
    ) -> Result<Kept, LoginError> {
        if let (Grant::Browser, Some(browser)) = (&self.settings.grant, &self.parts.browser) {
            return self.by_browser(browser.as_ref(), manager, metadata, scopes, before).await;
        }
        let client_id = self.settings.client_id.as_deref();
        let client_id = client_id.ok_or_else(|| LoginError::new("oauth.client_id is not set"))?;
        let now = self.clock.now();
        let errand = Errand { url: &self.url, metadata, client_id, scopes, now };
        let outside = self.parts.outside.as_ref();
        let secret = self.settings.client_secret.as_deref();
        let credentials = match &self.settings.grant {
            Grant::Browser | Grant::ClientSecret => {
                self.by_secret(&mut manager, client_id, scopes).await?
            }
            Grant::PrivateKey { pem } => grants::by_key(&errand, pem, outside).await?,
            Grant::Workload { token } => grants::by_workload(&errand, token, outside).await?,
            Grant::Enterprise(company) => {
                grants::by_enterprise(&errand, company, secret, &self.way()).await?
            }
        };
        Ok(self.kept(metadata, client_id.to_owned(), None, String::new(), credentials))
    }

    async fn by_secret(
        &self,
        manager: &mut AuthorizationManager,
        client_id: &str,
        scopes: &[String],
    ) -> Result<StoredCredentials, LoginError> {
        let secret = self.settings.client_secret.clone();
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: client_id.to_owned(),
            client_secret: secret
                .ok_or_else(|| LoginError::new("oauth.client_secret is not set"))?,
            scopes: scopes.to_vec(),
            resource: Some(self.url.clone()),
        };
        let store = InMemoryCredentialStore::new();
        manager.set_credential_store(store.clone());
        manager.validate_client_credentials_metadata(&config).map_err(|e| failed(&e))?;
        manager.configure_client_credentials(&config).map_err(|e| failed(&e))?;
        manager.exchange_client_credentials(&config).await.map_err(|e| failed(&e))?;
        taken(&store).await
    }

    async fn by_browser(
        &self,
        browser: &dyn Browser,
        mut manager: AuthorizationManager,
        metadata: &AuthorizationMetadata,
        scopes: &[String],
        before: Option<Box<Kept>>,
    ) -> Result<Kept, LoginError> {
        let redirect = browser.redirect().to_owned();
        let before = before.filter(|kept| {
            is_same_issuer(kept.issuer.as_deref(), metadata.issuer.as_deref())
                && kept.redirect == redirect
        });
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let client = self.client(&mut manager, metadata, &redirect, &scopes, before).await?;
        let store = InMemoryCredentialStore::new();
        manager.set_credential_store(store.clone());
        manager.configure_client(client.clone()).map_err(|e| failed(&e))?;
        let address = manager.get_authorization_url(&scopes).await.map_err(|e| failed(&e))?;
        if host_of(&address).is_none() {
            return Err(LoginError::new("the login's page is no address that can be shown"));
        }
        let back = browser.visit(&address).await.map_err(|why| LoginError::new(&why))?;
        let callback = returned(&back)?;
        let issuer = callback.issuer.as_deref();
        manager
            .exchange_code_for_token_with_issuer(&callback.code, &callback.csrf_token, issuer)
            .await
            .map_err(|e| failed(&e))?;
        let credentials = taken(&store).await?;
        let OAuthClientConfig { client_id, client_secret, .. } = client;
        Ok(self.kept(metadata, client_id, client_secret, redirect, credentials))
    }

    /// As whom we come; a client that is not known yet is registered.
    async fn client(
        &self,
        manager: &mut AuthorizationManager,
        metadata: &AuthorizationMetadata,
        redirect: &str,
        scopes: &[&str],
        before: Option<Box<Kept>>,
    ) -> Result<OAuthClientConfig, LoginError> {
        let settings = &self.settings;
        let flag = metadata.additional_fields.get("client_id_metadata_document_supported");
        let offers = Offers {
            documents: flag.and_then(Value::as_bool).unwrap_or(false),
            registration: metadata.registration_endpoint.is_some(),
        };
        let document = settings.client_metadata_url.as_deref();
        let configured = settings.client_id.as_deref();
        let own = |id: &str, secret: Option<String>| {
            let config = OAuthClientConfig::new(id, redirect);
            match secret {
                Some(secret) => config.with_client_secret(secret),
                None => config,
            }
        };
        let is_kept = before.is_some();
        let chosen = identity(configured.is_some(), is_kept, document.is_some(), offers);
        match (chosen, configured, before, document) {
            (Identity::Configured, Some(id), _, _) => Ok(own(id, settings.client_secret.clone())),
            (Identity::Kept, _, Some(kept), _) => Ok(own(&kept.client_id, kept.client_secret)),
            (Identity::Document, _, _, Some(address)) => Ok(own(address, None)),
            (Identity::Registered, ..) => {
                let registered = manager.register_client(CLIENT_NAME, redirect, scopes).await;
                registered.map_err(|e| failed(&e))
            }
            _ => Err(LoginError::new(&format!(
                "its login registers nobody by itself: register Saem there, with the redirect address {redirect}, and \
                 write the id that you get into oauth.client_id"
            ))),
        }
    }

    /// The login's addresses, looked up as the server says.
    async fn found(
        &self,
        challenge: Option<&str>,
    ) -> Result<(AuthorizationManager, AuthorizationMetadata), LoginError> {
        let way = Arc::new(self.way());
        let manager =
            AuthorizationManager::new_with_oauth_http_client(self.url.as_str(), way).await;
        let mut manager = manager.map_err(|e| failed(&e))?;
        let found = manager.resolve_metadata_from_challenge(challenge).await;
        let metadata = found.map_err(|e| failed(&e))?.metadata;
        let endpoints = [&metadata.authorization_endpoint, &metadata.token_endpoint];
        if self.url.starts_with("https:")
            && endpoints.into_iter().any(|address| !address.starts_with("https:"))
        {
            return Err(LoginError::new("its login is not on https, while the server is"));
        }
        manager.set_metadata(metadata.clone());
        Ok((manager, metadata))
    }

    /// Renews a token; none, if only a new login helps.
    async fn renew(&self, mut kept: Box<Kept>) -> Result<Option<String>, LoginError> {
        let Some(credentials) = kept.credentials.clone() else { return Ok(None) };
        if self.settings.grant != Grant::Browser {
            return Ok(None);
        }
        let (mut manager, metadata) = self.found(kept.challenge.as_deref()).await?;
        if !is_same_issuer(kept.issuer.as_deref(), metadata.issuer.as_deref()) {
            tracing::warn!(server = %self.server, "its login has moved: what was got from the old one is not shown to the new");
            return Ok(None);
        }
        let store = InMemoryCredentialStore::new();
        store.save(credentials).await.map_err(|e| failed(&e))?;
        manager.set_credential_store(store.clone());
        let mut client = OAuthClientConfig::new(kept.client_id.as_str(), kept.redirect.as_str());
        client.client_secret.clone_from(&kept.client_secret);
        manager.configure_client(client).map_err(|e| failed(&e))?;
        match manager.refresh_token().await {
            Ok(_) => {}
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => {
                return Ok(None);
            }
            Err(error) => return Err(failed(&error)),
        }
        kept.credentials = Some(taken(&store).await?);
        let token = kept.token();
        self.keep(*kept).await?;
        Ok(token)
    }

    /// What is kept for this server at this address.
    async fn read(&self) -> Result<Option<Box<Kept>>, LoginError> {
        if let Known::Read(kept) = &*self.known.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(kept.clone());
        }
        let sealed = self.parts.vault.load(&self.tenant, &self.server).await;
        let sealed = sealed.map_err(|error| failed(&error))?;
        let kept = sealed.and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
        // A token for another address would be shown to a stranger.
        let kept = kept.filter(|kept| kept.url == self.url).map(Box::new);
        self.learn(Known::Read(kept.clone()));
        Ok(kept)
    }

    async fn keep(&self, kept: Kept) -> Result<(), LoginError> {
        let bytes = serde_json::to_vec(&kept).map_err(|error| failed(&error))?;
        let saved = self.parts.vault.save(&self.tenant, &self.server, bytes).await;
        saved.map_err(|error| failed(&error))?;
        self.learn(Known::Read(Some(Box::new(kept))));
        Ok(())
    }

    fn learn(&self, known: Known) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    async fn turn(&self) -> Result<SemaphorePermit<'_>, LoginError> {
        self.turn.acquire().await.map_err(|error| failed(&error))
    }

    fn kept(
        &self,
        metadata: &AuthorizationMetadata,
        client_id: String,
        client_secret: Option<String>,
        redirect: String,
        credentials: StoredCredentials,
    ) -> Kept {
        Kept {
            url: self.url.clone(),
            issuer: metadata.issuer.clone(),
            client_id,
            client_secret,
            redirect,
            challenge: None,
            credentials: Some(credentials),
        }
    }

    fn way(&self) -> Way {
        Way { url: self.url.clone(), outside: Arc::clone(&self.parts.outside) }
    }
}

async fn taken(store: &InMemoryCredentialStore) -> Result<StoredCredentials, LoginError> {
    let stored = store.load().await.map_err(|error| failed(&error))?;
    stored.ok_or_else(|| LoginError::new("the login gave no token"))
}

/// What the browser was sent back with.
fn returned(address: &str) -> Result<AuthorizationCallback, LoginError> {
    let url = reqwest::Url::parse(address).map_err(|error| failed(&error))?;
    if let Some((_, why)) = url.query_pairs().find(|(name, _)| name == "error") {
        return Err(LoginError::new(&format!("it was refused: {why}")));
    }
    AuthorizationCallback::from_redirect_url(address).map_err(|error| failed(&error))
}
