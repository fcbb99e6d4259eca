//! The names of Redis keys: all of one session lie on one slot of a cluster, whatever the session is called.

use agent::memory::SessionId;
use agent::names::TenantId;
use agent::research::message::Uuid;

/// The parts of a session, in the order in which the scripts expect their keys.
pub(super) const PARTS: [&str; 5] = ["short", "memory", "entities", "said", "records"];

/// Sessions of all tenants whose memory is to be rewritten, by the revision that asked for it.
pub(super) const DUE: &str = "chat:due";

/// Sessions of all tenants, by the moment at which they expire.
pub(super) const EXPIRING: &str = "chat:expiring";

/// What has a meaning in a key, and how it is written in a name.
const MEANINGFUL: [(char, &str); 4] = [('{', "%7B"), ('}', "%7D"), (':', "%3A"), ('%', "%25")];

/// The keys of a session's parts.
pub(super) fn session_keys(tenant: &str, session: &str) -> [String; 5] {
    let pair = pair(tenant, session);
    // The braces are literal: what stands between the first two decides the slot.
    PARTS.map(|part| format!("chat:{{{pair}}}:{part}"))
}

/// The sessions of a tenant, by their last use.
pub(super) fn index_key(tenant: &str) -> String {
    format!("chat:{{{}}}:sessions", written(tenant))
}

/// The keys of a research run: what is known of it, its journal, and the long entries of that.
pub(super) fn run_keys(tenant: &str, run: &str) -> [String; 3] {
    let pair = pair(tenant, run);
    ["run", "journal", "texts"].map(|part| format!("research:{{{pair}}}:{part}"))
}

/// What other processes have left for the one that works on a run.
pub(super) fn run_wishes_key(tenant: &str, run: &str) -> String {
    format!("research:{{{}}}:wishes", pair(tenant, run))
}

/// The research runs of a tenant, by their beginning.
pub(super) fn run_index_key(tenant: &str) -> String {
    format!("research:{{{}}}:runs", written(tenant))
}

/// The names of a run in a pair; none if nobody can have them.
pub(super) fn run_names(pair: &str) -> Option<(TenantId, Uuid)> {
    let (tenant, run) = pair.split_once(':')?;
    Some((read(tenant).parse().ok()?, read(run).parse().ok()?))
}

/// A session or a run as a member of a set that is everybody's.
pub(super) fn pair(tenant: &str, session: &str) -> String {
    format!("{}:{}", written(tenant), written(session))
}

/// The names in a pair; none if nobody can have them.
pub(super) fn names(pair: &str) -> Option<(TenantId, SessionId)> {
    let (tenant, session) = pair.split_once(':')?;
    Some((read(tenant).parse().ok()?, read(session).parse().ok()?))
}

pub(super) fn written(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for character in name.chars() {
        match MEANINGFUL.iter().find(|(meaningful, _)| *meaningful == character) {
            Some((_, code)) => text.push_str(code),
            None => text.push(character),
        }
    }
    text
}

pub(super) fn read(text: &str) -> String {
    // The percent sign last: it would make new codes otherwise.
    MEANINGFUL.iter().fold(text.to_owned(), |text, (meaningful, code)| {
        text.replace(code, meaningful.encode_utf8(&mut [0; 4]))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What decides the slot, as Redis reads a key: between the first brace and the next closing one, if anything.
    fn tag(key: &str) -> &str {
        let (_, rest) = key.split_once('{').unwrap();
        let (tag, _) = rest.split_once('}').unwrap();
        assert!(!tag.is_empty(), "{key}: an empty tag counts as none");
        tag
    }

    #[test]
    fn the_keys_of_a_session_are_those_of_the_specification() {
        let [short, memory, entities, ..] = session_keys("acme", "s1");
        assert_eq!(short, "chat:{acme:s1}:short");
        assert_eq!(memory, "chat:{acme:s1}:memory");
        assert_eq!(entities, "chat:{acme:s1}:entities");
    }

    #[test]
    fn no_name_chooses_the_slot_or_the_keys_of_another() {
        let hostile = [
            "", "a", "a:b", "{a}", "}", "{", "}{", "{}", "a}:short", ":", "%", "%3A", "%7B", "샘{",
        ];
        let mut tags = BTreeSet::new();
        let mut keys = BTreeSet::new();
        for tenant in hostile {
            for session in hostile {
                let own = session_keys(tenant, session);
                let pair = pair(tenant, session);
                assert!(own.iter().all(|key| tag(key) == pair), "{own:?}");
                assert!(tags.insert(pair), "{tenant:?} {session:?}");
                assert!(own.into_iter().all(|key| keys.insert(key)));
            }
            assert!(keys.insert(index_key(tenant)), "{tenant:?}");
        }
        assert!(!keys.contains(DUE) && !keys.contains(EXPIRING));
    }

    #[test]
    fn a_name_reads_back_as_it_was_written() {
        for name in ["a", "a:b", "{a}", "%", "%3A", "%253A", "%7B%", "샘", ""] {
            assert_eq!(read(&written(name)), name);
        }
        let (tenant, session) = names(&pair("acme", "s.1@x-y")).unwrap();
        assert_eq!((tenant.as_str(), session.as_str()), ("acme", "s.1@x-y"));
        assert_eq!(names("nobody"), None);
        assert_eq!(names("a%3Ab:c"), None);
    }
}
