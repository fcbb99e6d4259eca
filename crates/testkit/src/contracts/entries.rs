//! The promise of `AgentEntries`.

use agent::ports::{AgentEntries, Audit, EntryList, KeepEntry};

use crate::samples::{audit, tenant};

/// Runs every part on a fresh store; `log` is where changes are told.
pub async fn keeps_its_promise(entries: &dyn AgentEntries, log: &dyn Audit) {
    an_entry_is_written_only_by_who_has_seen_its_last_state(entries).await;
    health_stays_with_its_entry_and_goes_with_it(entries).await;
    entries_are_listed_page_by_page(entries).await;
    each_change_is_told_and_what_changed_nothing_is_not(entries, log).await;
}

fn keep(identifier: &str, revision: u64, body: &str) -> KeepEntry {
    KeepEntry {
        identifier: identifier.to_owned(),
        revision,
        body: body.as_bytes().to_vec(),
        tenant: tenant("keepers"),
        audit: audit("agents.register"),
    }
}

async fn an_entry_is_written_only_by_who_has_seen_its_last_state(entries: &dyn AgentEntries) {
    assert_eq!(entries.entry("a").await.unwrap(), None);
    assert!(!entries.keep_entry(keep("a", 1, "from nowhere")).await.unwrap());
    assert!(entries.keep_entry(keep("a", 0, "first")).await.unwrap());
    let first = entries.entry("a").await.unwrap().unwrap();
    assert_eq!((first.body.as_slice(), first.revision), (&b"first"[..], 1));
    assert!(entries.keep_entry(keep("a", 1, "second")).await.unwrap());
    assert!(!entries.keep_entry(keep("a", 1, "too late")).await.unwrap());
    assert!(!entries.keep_entry(keep("a", 0, "as if new")).await.unwrap());
    assert_eq!(entries.entry("a").await.unwrap().unwrap().body, b"second");
    let mine = tenant("keepers");
    assert!(!entries.remove_entry("a", 1, &mine, audit("agents.remove")).await.unwrap());
    assert!(entries.remove_entry("a", 2, &mine, audit("agents.remove")).await.unwrap());
    assert!(!entries.remove_entry("a", 2, &mine, audit("agents.remove")).await.unwrap());
    assert_eq!(entries.entry("a").await.unwrap(), None);
}

async fn health_stays_with_its_entry_and_goes_with_it(entries: &dyn AgentEntries) {
    entries.keep_entry(keep("h", 0, "one")).await.unwrap();
    let found = |health: &str| vec![("h".to_owned(), health.as_bytes().to_vec())];
    entries.note_health(found("up")).await.unwrap();
    entries.keep_entry(keep("h", 1, "two")).await.unwrap();
    let kept = entries.entry("h").await.unwrap().unwrap();
    // Health is no change of the entry: it does not come between two who write.
    assert_eq!((kept.health.as_slice(), kept.revision), (&b"up"[..], 2));
    entries.remove_entry("h", 2, &tenant("keepers"), audit("agents.remove")).await.unwrap();
    entries.note_health(found("late")).await.unwrap();
    entries.keep_entry(keep("h", 0, "again")).await.unwrap();
    assert!(entries.entry("h").await.unwrap().unwrap().health.is_empty());
    entries.remove_entry("h", 1, &tenant("keepers"), audit("agents.remove")).await.unwrap();
}

async fn entries_are_listed_page_by_page(entries: &dyn AgentEntries) {
    for name in ["l3", "l1", "l2"] {
        entries.keep_entry(keep(name, 0, name)).await.unwrap();
    }
    let list = |after: Option<&str>, limit| EntryList { after: after.map(str::to_owned), limit };
    let names = |page: Vec<agent::ports::KeptEntry>| -> Vec<String> {
        page.into_iter().map(|entry| entry.identifier).collect()
    };
    assert_eq!(names(entries.entries(list(None, 2)).await.unwrap()), ["l1", "l2"]);
    assert_eq!(names(entries.entries(list(Some("l2"), 2)).await.unwrap()), ["l3"]);
    assert!(entries.entries(list(Some("l3"), 2)).await.unwrap().is_empty());
}

async fn each_change_is_told_and_what_changed_nothing_is_not(
    entries: &dyn AgentEntries,
    log: &dyn Audit,
) {
    let told = |entries: Vec<agent::identity::AuditEntry>| entries.len();
    let keepers = tenant("keepers");
    let before = told(log.entries(&keepers, 1000).await.unwrap());
    assert!(entries.keep_entry(keep("t", 0, "one")).await.unwrap());
    assert!(!entries.keep_entry(keep("t", 0, "one")).await.unwrap());
    entries.note_health(vec![("t".to_owned(), b"up".to_vec())]).await.unwrap();
    assert!(entries.remove_entry("t", 1, &keepers, audit("agents.remove")).await.unwrap());
    assert!(!entries.remove_entry("t", 1, &keepers, audit("agents.remove")).await.unwrap());
    assert_eq!(told(log.entries(&keepers, 1000).await.unwrap()), before + 2);
}
