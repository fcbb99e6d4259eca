//! Webhooks: what goes with them, and when one is tried again.

use std::time::Duration;

use crate::model::PushConfig;

/// The token's header in the texts of 0.2 and 0.3, and in the SDKs for Python and JavaScript.
pub const TOKEN_HEADER: &str = "X-A2A-Notification-Token";

/// The token's header in the official Rust SDK. A receiver takes either; a sender sends both.
pub const NEW_TOKEN_HEADER: &str = "A2A-Notification-Token";

/// Longest that the receiver of a webhook may take.
pub const TIMEOUT: Duration = Duration::from_secs(15);

/// The headers of a webhook besides its content type: the token in both spellings, and the credentials under the first of
/// the schemes. They are secrets of the receiver's.
#[must_use]
pub fn headers(config: &PushConfig) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    if let Some(token) = &config.token {
        headers.push((TOKEN_HEADER, token.clone()));
        headers.push((NEW_TOKEN_HEADER, token.clone()));
    }
    let authentication = config.authentication.as_ref();
    let scheme =
        authentication.and_then(|one| Some((one.schemes.first()?, one.credentials.as_ref()?)));
    if let Some((scheme, credentials)) = scheme {
        headers.push(("Authorization", format!("{scheme} {credentials}")));
    }
    headers
}

/// How patient we are with a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    pub first_wait: Duration,
    pub wait_max: Duration,
    /// So many failures in a row, and the webhook is given up.
    pub failures_max: u32,
}

impl Default for RetryPolicy {
    /// Half a day in all: a receiver may be mended overnight.
    fn default() -> Self {
        let hour = Duration::from_secs(3600);
        Self { first_wait: Duration::from_secs(1), wait_max: hour, failures_max: 24 }
    }
}

/// What becomes of a webhook that was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    After(Duration),
    GiveUp,
}

impl RetryPolicy {
    /// Says when to try again after so many failures in a row. Events behind the failed one wait with it, so that they
    /// arrive in order.
    #[must_use]
    pub fn after(&self, failures: u32) -> Retry {
        if failures >= self.failures_max {
            return Retry::GiveUp;
        }
        let doublings = failures.saturating_sub(1).min(20);
        Retry::After(self.first_wait.saturating_mul(1 << doublings).min(self.wait_max))
    }

    /// Whether an answer's status means that the event arrived. A redirect is not followed, so it does not.
    #[must_use]
    pub fn is_taken(status: u16) -> bool {
        (200..300).contains(&status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PushAuthentication;

    fn config() -> PushConfig {
        PushConfig {
            id: None,
            task: None,
            tenant: None,
            url: "https://x.example/?key=hidden-1".to_owned(),
            token: Some("hidden-2".to_owned()),
            authentication: Some(PushAuthentication {
                schemes: vec!["Bearer".to_owned(), "Basic".to_owned()],
                credentials: Some("hidden-3".to_owned()),
            }),
        }
    }

    #[test]
    fn the_token_goes_in_both_spellings_and_credentials_under_the_first_scheme() {
        let found = headers(&config());
        let names: Vec<_> = found.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(
            names,
            [
                (TOKEN_HEADER, "hidden-2"),
                (NEW_TOKEN_HEADER, "hidden-2"),
                ("Authorization", "Bearer hidden-3")
            ]
        );
        assert!(headers(&PushConfig { token: None, authentication: None, ..config() }).is_empty());
    }

    #[test]
    fn secrets_of_receivers_do_not_reach_a_log() {
        let shown = format!("{:?} {:?}", config(), config().authentication);
        assert!(!shown.contains("hidden"), "{shown}");
    }

    #[test]
    fn a_webhook_is_tried_again_less_and_less_often_and_then_given_up() {
        let seconds = Duration::from_secs;
        let policy = RetryPolicy { first_wait: seconds(1), wait_max: seconds(10), failures_max: 6 };
        let waits: Vec<_> = (1..=6).map(|failures| policy.after(failures)).collect();
        let after = |wait| Retry::After(seconds(wait));
        assert_eq!(waits, [after(1), after(2), after(4), after(8), after(10), Retry::GiveUp]);
        assert_eq!(policy.after(u32::MAX), Retry::GiveUp);
        assert!(
            RetryPolicy::is_taken(204)
                && !RetryPolicy::is_taken(302)
                && !RetryPolicy::is_taken(500)
        );
    }
}
