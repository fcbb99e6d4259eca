//! Logins at servers of tools as they go over the wire: the browser is with the caller.

use engine::tools::LoginBegun;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A login that is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolLoginBody {
    /// Where the browser is sent back to: an address of its own machine, such as `http://127.0.0.1:8734/callback`, or, if our page
    /// asks, that page.
    pub redirect: String,
    /// What to ask for; what the server says, if left out.
    #[serde(default)]
    pub scopes: Vec<String>,
}

/// How a login has begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoginBegunBody {
    /// The page that the person has to open; left out if there is nothing to open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// Whether there is a login already.
    pub logged_in: bool,
}

impl From<LoginBegun> for LoginBegunBody {
    fn from(begun: LoginBegun) -> Self {
        match begun {
            LoginBegun::Done { is_logged_in } => Self { page: None, logged_in: is_logged_in },
            LoginBegun::Page { address } => Self { page: Some(address), logged_in: false },
        }
    }
}

/// What the browser came back with.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginReturnBody {
    /// The whole address, with its code and state.
    pub returned: String,
}

/// Whether a login has succeeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedInBody {
    pub logged_in: bool,
}

/// Whether there was a login to forget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedOutBody {
    pub logged_out: bool,
}
