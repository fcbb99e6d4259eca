//! The promise of `Audit`: each change leaves one entry, in order, in its own tenant's log.

use agent::ports::{Audit, Documents};

use crate::samples::{audit as entry, id, kept, tenant};

/// Runs on a fresh store.
pub async fn keeps_its_promise(audit: &dyn Audit, documents: &dyn Documents) {
    let mine = tenant("audited");
    documents.put(&mine, kept(&id('a'), "x", "y")).await.unwrap();
    documents.delete(&mine, vec![id('a')], entry("document.delete")).await.unwrap();
    documents.delete(&mine, vec![id('a')], entry("document.delete")).await.unwrap();
    let entries = audit.entries(&mine, 10).await.unwrap();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(
        actions,
        ["document.delete", "document.put"],
        "what changed nothing leaves no entry"
    );
    assert_eq!(audit.entries(&mine, 1).await.unwrap().len(), 1);
    assert!(audit.entries(&tenant("audited2"), 10).await.unwrap().is_empty());
    assert_eq!(audit.first_forged(&mine).await.unwrap(), None);
}
