//! What is kept of a login, and for how long its token is good.

use agent::identity::Timestamp;
use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A token that is about to end is renewed: it would end on its way.
const MARGIN_SECONDS: u64 = 30;

/// A login, bound to the server and to the issuer that it was got from. It is never printed.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The server's address at the time.
    pub(super) url: String,
    pub(super) issuer: Option<String>,
    pub(super) client_id: String,
    pub(super) client_secret: Option<String>,
    pub(super) redirect: String,
    /// Where the server said that its login is.
    pub(super) challenge: Option<String>,
    pub(super) credentials: Option<StoredCredentials>,
}

impl Kept {
    /// The token, if it is good at that time.
    pub(super) fn token_at(&self, now: Timestamp) -> Option<String> {
        let credentials = self.credentials.as_ref()?;
        let response = self.response()?;
        let lasts = response.get("expires_in").and_then(Value::as_u64);
        if let (Some(lasts), Some(since)) = (lasts, credentials.token_received_at)
            && now.0 / 1_000 + MARGIN_SECONDS >= since.saturating_add(lasts)
        {
            return None;
        }
        Self::access_token(&response)
    }

    /// The token, however old it is.
    pub(super) fn token(&self) -> Option<String> {
        Self::access_token(&self.response()?)
    }

    pub(super) fn granted(&self) -> &[String] {
        self.credentials.as_ref().map_or(&[], |credentials| &credentials.granted_scopes)
    }

    fn response(&self) -> Option<Value> {
        let response = self.credentials.as_ref()?.token_response.as_ref()?;
        serde_json::to_value(response).ok()
    }

    fn access_token(response: &Value) -> Option<String> {
        response.get("access_token").and_then(Value::as_str).map(str::to_owned)
    }
}
