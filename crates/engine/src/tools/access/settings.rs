//! What the owner has written down about getting into a server, and the way out that it is done by.

use std::fmt;
use std::sync::Arc;

use agent::ports::LoginVault;
use futures_util::future::BoxFuture;

/// How Saem gets into a server that wants to know who comes.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct LoginSettings {
    /// The client that was registered by hand.
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// Where a document about us lies, whose address is then our name.
    pub client_metadata_url: Option<String>,
    /// What to ask for; what the server says, if empty.
    pub scopes: Vec<String>,
    /// The only issuer that the client's secret is for.
    pub issuer: Option<String>,
    pub grant: Grant,
}

/// What a token is got for.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Grant {
    /// A person says yes in a browser.
    #[default]
    Browser,
    /// The client's own secret.
    ClientSecret,
    /// A signature of the client: a P-256 key as PEM (PKCS #8).
    PrivateKey { pem: String },
    /// A token that the machine's surroundings have given it.
    Workload { token: String },
    /// An employee's token of the company's own login.
    Enterprise(Enterprise),
}

/// The company's login.
#[derive(Clone, PartialEq, Eq)]
pub struct Enterprise {
    pub issuer: String,
    pub token_endpoint: String,
    pub client_id: String,
    pub id_token: String,
}

/// Nothing of it is printed but whether it is there: most of it is secret.
impl fmt::Debug for LoginSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginSettings")
            .field("client_id", &self.client_id)
            .field("has_secret", &self.client_secret.is_some())
            .field("scopes", &self.scopes)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// The way out to addresses that a server has named. What may be reached is decided at the moment of use; `server` is
/// the address that the owner has written down, on whose behalf it is.
pub trait Outside: Send + Sync {
    fn send<'a>(
        &'a self,
        server: &'a str,
        request: http::Request<Vec<u8>>,
    ) -> BoxFuture<'a, Result<http::Response<Vec<u8>>, String>>;
}

/// Somebody with a browser.
pub trait Browser: Send + Sync {
    /// The address that the browser is sent back to.
    fn redirect(&self) -> &str;
    /// Shows a page, and gives the whole address that the browser was sent back to.
    fn visit<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<String, String>>;
}

/// What logins are made of.
#[derive(Clone)]
pub struct LoginParts {
    pub vault: Arc<dyn LoginVault>,
    pub outside: Arc<dyn Outside>,
    /// None, and whoever has to say yes is told to log in.
    pub browser: Option<Arc<dyn Browser>>,
}
