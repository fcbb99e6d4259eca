//! What a client keeps for us between two rounds of one call: sealed, soon stale, and good for that caller and call alone.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agent::identity::Principal;
use agent::ports::{Entropy, PortError};
use rmcp::model::{ErrorData, JsonObject, RequestStateCodec, SealOptions};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// How long somebody may think about a question that a call asks.
const THINKING_MAX: Duration = Duration::from_secs(15 * 60);

/// States whose use is remembered: each is forgotten when it would be stale anyway.
const OPENED_MAX: usize = 100_000;

/// Seals states. A new key with every start: no call outlives the process.
pub(crate) struct Seal {
    codec: RequestStateCodec,
    next: AtomicU64,
    /// The numbers of states that were opened, oldest first.
    opened: Mutex<Opened>,
}

#[derive(Default)]
struct Opened {
    numbers: HashSet<u64>,
    order: VecDeque<(Instant, u64)>,
}

impl Opened {
    /// Takes a number; false if it was taken before.
    fn take(&mut self, number: u64, now: Instant) -> bool {
        while let Some((at, old)) = self.order.front().copied()
            && (self.order.len() >= OPENED_MAX || now.duration_since(at) > THINKING_MAX)
        {
            self.order.pop_front();
            self.numbers.remove(&old);
        }
        let is_new = self.numbers.insert(number);
        if is_new {
            self.order.push_back((now, number));
        }
        is_new
    }
}

/// What a state belongs to.
pub(crate) struct Belongs<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) method: &'static str,
    /// The tool's or prompt's name.
    pub(crate) name: &'a str,
    pub(crate) arguments: Option<&'a JsonObject>,
}

impl Seal {
    pub(crate) fn new(entropy: &dyn Entropy) -> Result<Self, PortError> {
        let mut key = [0; 32];
        entropy.fill(&mut key)?;
        let codec = RequestStateCodec::try_new(key);
        let broken =
            |error| PortError::Broken { what: "a key to seal with", source: Box::new(error) };
        let codec = codec.map_err(broken)?;
        Ok(Self { codec, next: AtomicU64::new(0), opened: Mutex::default() })
    }

    pub(crate) fn seal(&self, state: &str, belongs: &Belongs<'_>) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let state = format!("{number} {state}");
        let bound = belongs.digest();
        let options = SealOptions::new().associated_data(&bound).ttl(THINKING_MAX);
        self.codec.seal_with(state.as_bytes(), &options)
    }

    /// The state, if it is ours, fresh, of this call, and opened for the first time.
    pub(crate) fn open(&self, sealed: &str, belongs: &Belongs<'_>) -> Result<String, ErrorData> {
        // Why it cannot be opened is of use only to somebody who tries to make one.
        let refused =
            || ErrorData::invalid_params("requestState does not belong to this call", None);
        let opened = self.codec.open_with(sealed, &belongs.digest()).map_err(|_| refused())?;
        let opened = String::from_utf8(opened).map_err(|_| refused())?;
        let (number, state) = opened.split_once(' ').ok_or_else(refused)?;
        let number = number.parse().map_err(|_| refused())?;
        let mut known = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if known.take(number, Instant::now()) { Ok(state.to_owned()) } else { Err(refused()) }
    }
}

impl Belongs<'_> {
    fn digest(&self) -> Vec<u8> {
        let arguments = serde_json::to_vec(&self.arguments).unwrap_or_default();
        let parts: [&[u8]; 5] = [
            self.principal.tenant.as_str().as_bytes(),
            self.principal.name.as_bytes(),
            self.method.as_bytes(),
            self.name.as_bytes(),
            &arguments,
        ];
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        digest.finalize().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use agent::names::TenantId;
    use serde_json::json;

    use super::*;

    struct Fixed;

    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), PortError> {
            bytes.fill(7);
            Ok(())
        }
    }

    fn principal(tenant: &str, name: &str) -> Principal {
        let tenant: TenantId = tenant.parse().unwrap();
        Principal { tenant, name: name.to_owned(), scopes: Vec::new() }
    }

    #[test]
    fn a_state_opens_for_the_same_caller_and_call_alone() {
        let seal = Seal::new(&Fixed).unwrap();
        let (mina, joon) = (principal("a", "mina"), principal("a", "joon"));
        let other = principal("b", "mina");
        let arguments = json!({ "file": "x" }).as_object().cloned().unwrap();
        let wrong = json!({ "file": "y" }).as_object().cloned().unwrap();
        let of =
            |principal, method, name, arguments| Belongs { principal, method, name, arguments };
        let right = || of(&mina, "tools/call", "delete", Some(&arguments));
        let sealed = seal.seal("step 2", &right());
        for belongs in [
            of(&joon, "tools/call", "delete", Some(&arguments)),
            of(&other, "tools/call", "delete", Some(&arguments)),
            of(&mina, "prompts/get", "delete", Some(&arguments)),
            of(&mina, "tools/call", "read", Some(&arguments)),
            of(&mina, "tools/call", "delete", Some(&wrong)),
            of(&mina, "tools/call", "delete", None),
        ] {
            assert!(seal.open(&sealed, &belongs).is_err());
        }
        assert_eq!(seal.open(&sealed, &right()).unwrap(), "step 2");
    }

    #[test]
    fn a_state_opens_once() {
        let seal = Seal::new(&Fixed).unwrap();
        let mina = principal("a", "mina");
        let belongs =
            || Belongs { principal: &mina, method: "tools/call", name: "x", arguments: None };
        let (one, other) = (seal.seal("state", &belongs()), seal.seal("state", &belongs()));
        assert_eq!(seal.open(&one, &belongs()).unwrap(), "state");
        assert!(seal.open(&one, &belongs()).is_err());
        assert_eq!(seal.open(&other, &belongs()).unwrap(), "state");
    }

    #[test]
    fn no_letter_of_a_state_can_be_changed() {
        let seal = Seal::new(&Fixed).unwrap();
        let mina = principal("a", "mina");
        let belongs =
            || Belongs { principal: &mina, method: "tools/call", name: "x", arguments: None };
        let sealed = seal.seal("state", &belongs());
        for place in 0..sealed.len() {
            let mut bytes = sealed.clone().into_bytes();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(changed == sealed || seal.open(&changed, &belongs()).is_err(), "{changed}");
        }
    }
}
