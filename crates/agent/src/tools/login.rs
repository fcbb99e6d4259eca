//! Decides how Saem makes itself known to a server of tools: as which client, for which scopes, and how often it tries.

/// Times that one request may ask for a wider grant: a server that is never content would send us round for ever.
pub const STEP_UPS_MAX: u8 = 2;

/// Times that one request may be refused for its token: once for one that was revoked, once for its successor.
pub const REFUSALS_MAX: u8 = 2;

/// Scopes of one grant: more than any server asks for.
pub const SCOPES_MAX: usize = 64;

/// What an authorization server offers to clients that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offers {
    /// It reads a document that describes the client at the address that is the client's id.
    pub documents: bool,
    /// It registers whoever asks.
    pub registration: bool,
}

/// As which client we come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// The one of the configuration.
    Configured,
    /// The one that this authorization server has registered before.
    Kept,
    /// The address of our own document.
    Document,
    /// A new one.
    Registered,
    /// None: the owner has to register Saem by hand and write the id down.
    Unknown,
}

/// The order of the specification, but for a client that is registered already: it is not registered again.
#[must_use]
pub fn identity(
    is_configured: bool,
    is_kept: bool,
    has_document: bool,
    offers: Offers,
) -> Identity {
    match (is_configured, is_kept) {
        (true, _) => Identity::Configured,
        (false, true) => Identity::Kept,
        (false, false) if has_document && offers.documents => Identity::Document,
        (false, false) if offers.registration => Identity::Registered,
        (false, false) => Identity::Unknown,
    }
}

/// What a token was granted for, and what is demanded now; each once, in the order of their coming.
#[must_use]
pub fn united(granted: &[String], demanded: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for scope in granted.iter().map(String::as_str).chain(demanded.split_whitespace()) {
        if all.len() < SCOPES_MAX && !all.iter().any(|known| known == scope) {
            all.push(scope.to_owned());
        }
    }
    all
}

/// What happens to a request that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// The token is too old or revoked.
    Refresh,
    LogIn,
    /// The token is good, but for less than this.
    StepUp,
    /// It has been tried often enough.
    GiveUp,
}

/// How often one request has been refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Refusals {
    unauthorized: u8,
    insufficient: u8,
}

impl Refusals {
    /// After a 401; a token that was sent along may be one that has a successor.
    #[must_use]
    pub fn unauthorized(&mut self, had_token: bool) -> Remedy {
        self.unauthorized += 1;
        match self.unauthorized {
            1 if had_token => Remedy::Refresh,
            ..=REFUSALS_MAX => Remedy::LogIn,
            _ => Remedy::GiveUp,
        }
    }

    /// After a 403 that names a scope.
    #[must_use]
    pub fn insufficient(&mut self) -> Remedy {
        self.insufficient += 1;
        if self.insufficient <= STEP_UPS_MAX { Remedy::StepUp } else { Remedy::GiveUp }
    }
}

/// Whether an issuer is the one that a token was got from. Bytes are compared: an address that merely means the same
/// is another's.
#[must_use]
pub fn is_same_issuer(kept: Option<&str>, current: Option<&str>) -> bool {
    kept == current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_configured_kept_described_or_registered_in_this_order() {
        let all = Offers { documents: true, registration: true };
        assert_eq!(identity(true, true, true, all), Identity::Configured);
        assert_eq!(identity(false, true, true, all), Identity::Kept);
        assert_eq!(identity(false, false, true, all), Identity::Document);
        assert_eq!(identity(false, false, false, all), Identity::Registered);
        let registers = Offers { documents: false, registration: true };
        assert_eq!(identity(false, false, true, registers), Identity::Registered);
        assert_eq!(identity(false, false, true, Offers::default()), Identity::Unknown);
    }

    #[test]
    fn a_step_up_keeps_what_was_granted() {
        let granted = ["read".to_owned(), "offline_access".to_owned()];
        assert_eq!(united(&granted, "write read"), ["read", "offline_access", "write"]);
        let many: Vec<String> = (0..200).map(|scope| scope.to_string()).collect();
        assert_eq!(united(&many, "").len(), SCOPES_MAX);
    }

    #[test]
    fn a_request_is_not_sent_round_for_ever() {
        let mut refusals = Refusals::default();
        assert_eq!(refusals.unauthorized(true), Remedy::Refresh);
        assert_eq!(refusals.unauthorized(true), Remedy::LogIn);
        assert_eq!(refusals.unauthorized(true), Remedy::GiveUp);
        assert_eq!(refusals.insufficient(), Remedy::StepUp);
        assert_eq!(refusals.insufficient(), Remedy::StepUp);
        assert_eq!(refusals.insufficient(), Remedy::GiveUp);
        assert_eq!(Refusals::default().unauthorized(false), Remedy::LogIn);
    }

    #[test]
    fn an_issuer_is_compared_byte_by_byte() {
        let kept = Some("https://id.example.com");
        assert!(is_same_issuer(kept, Some("https://id.example.com")));
        for other in [Some("https://id.example.com/"), Some("https://ID.example.com"), None] {
            assert!(!is_same_issuer(kept, other), "{other:?}");
        }
    }
}
