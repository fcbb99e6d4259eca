//! Why an address was not reached, in words that give no secret of the address away.

use std::error::Error;

use agent::ports::PortError;
use agent::text::clip;
use url::Url;

/// Longest part of an address or of a cause that goes into a message, in bytes: one line on a screen.
const SHOWN_BYTES_MAX: usize = 200;

/// Variants by who can do something about it.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The caller, by another address; or the operator, by another rule.
    #[error("{address} may not be opened: {why}")]
    Refused { address: String, why: Refusal },
    /// The caller: by something smaller.
    #[error(
        "{address} is larger than {bytes_max} bytes: give something smaller, or raise the limit"
    )]
    TooLarge { address: String, bytes_max: usize },
    /// Time.
    #[error("{address} took too long to answer: try again later")]
    Slow { address: String },
    /// Time, or whoever runs that server.
    #[error("{address} cannot be reached: {why}")]
    Unreachable { address: String, why: String, sent: Sent },
    /// The operator: this machine's TLS set-up is broken.
    #[error("no connection can be made from this machine: check its TLS set-up")]
    Setup(#[source] reqwest::Error),
}

/// Whether anything of a request has got out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    Nothing,
    Perhaps,
}

/// What is wrong with an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("it is not a web address; write it like https://example.org/page")]
    NotAnAddress,
    #[error("it is too long; give a shorter one")]
    TooLong,
    #[error("only http and https addresses are opened")]
    Scheme,
    #[error("plain http is off; use https")]
    PlainHttp,
    #[error("it holds a user name or password; remove the part before the @")]
    Credentials,
    #[error("its port is closed; use 80 or 443, or have the port added to the egress rules")]
    Port,
    #[error(
        "it leads into a private or reserved network; if that is meant, have the network added to the egress rules"
    )]
    Inside,
    #[error("it redirects to something that is not an address; give the final address")]
    Location,
    #[error("it redirects from https to plain http; give the final address")]
    Downgrade,
    #[error("it redirects more than {redirects_max} times; give the final address")]
    Redirects { redirects_max: usize },
}

impl EgressError {
    /// What went wrong between us and the server; the request's address is shortened, the cause kept.
    pub(super) fn of_request(url: &Url, error: reqwest::Error) -> Self {
        let address = shown(url);
        let error = error.without_url();
        if let Some(why) = refusal_behind(&error) {
            return Self::Refused { address, why };
        }
        if error.is_timeout() {
            return Self::Slow { address };
        }
        let cause = root_cause(&error);
        let (sent, why) = if error.is_dns() {
            (Sent::Nothing, format!("its name is not known ({cause}); check the spelling"))
        } else if error.is_connect() {
            (Sent::Nothing, format!("no connection ({cause}); check that it is up"))
        } else {
            (Sent::Perhaps, format!("the answer broke off ({cause}); try again later"))
        };
        Self::Unreachable { address, why, sent }
    }
}

impl From<EgressError> for PortError {
    fn from(error: EgressError) -> Self {
        match error {
            EgressError::Refused { .. } | EgressError::TooLarge { .. } => {
                Self::Refused(error.to_string())
            }
            EgressError::Slow { address } => Self::Unavailable {
                what: address,
                why: "it took too long; try again later".to_owned(),
            },
            EgressError::Unreachable { address, why, .. } => {
                Self::Unavailable { what: address, why }
            }
            EgressError::Setup(source) => {
                Self::Broken { what: "the way out", source: Box::new(source) }
            }
        }
    }
}

/// An address as it may stand in a message: no user, password, query or fragment, where secrets are carried.
pub(crate) fn shown(url: &Url) -> String {
    // What follows the colon of data: or javascript: is content.
    let Some(host) = url.host_str() else { return format!("a {}: address", url.scheme()) };
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let whole = format!("{}://{host}{port}{}", url.scheme(), url.path());
    match clip(&whole, SHOWN_BYTES_MAX) {
        clipped if clipped.len() < whole.len() => format!("{clipped}…"),
        _ => whole,
    }
}

/// The resolver's refusal comes back wrapped by each layer of the HTTP library.
fn refusal_behind(error: &reqwest::Error) -> Option<Refusal> {
    causes(error).find_map(|cause| cause.downcast_ref::<Refusal>()).copied()
}

fn root_cause(error: &reqwest::Error) -> String {
    let text = causes(error).last().map_or_else(|| error.to_string(), ToString::to_string);
    let line: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    clip(&line, SHOWN_BYTES_MAX).to_owned()
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| (*cause).source())
}
