//! The promise of `Documents`.

use agent::knowledge::Status;
use agent::names::TenantId;
use agent::ports::{DocumentList, Documents, Kept, Put};

use crate::samples::{audit, id, kept, tenant};

/// Puts a document that must be kept and gives the change's number.
async fn put(documents: &dyn Documents, tenant: &TenantId, kept: Kept) -> u64 {
    match documents.put(tenant, kept).await.unwrap() {
        Put::Kept { sequence } => sequence,
        Put::Superseded => panic!("a document was superseded by nothing"),
    }
}

/// Runs every part on a fresh store.
pub async fn keeps_its_promise(documents: &dyn Documents) {
    gives_back_what_was_put(documents).await;
    a_failed_reading_keeps_the_content_of_before(documents).await;
    changes_come_in_order_and_once(documents).await;
    what_was_accepted_earlier_does_not_replace_what_came_later(documents).await;
    lists_in_pages(documents).await;
    tenants_never_meet(documents).await;
    collections_come_and_go(documents).await;
}

async fn gives_back_what_was_put(documents: &dyn Documents) {
    let (mine, a) = (tenant("put"), id('a'));
    assert_eq!(documents.get(&mine, &a).await.unwrap(), None);
    let sequence = put(documents, &mine, kept(&a, "one", "text")).await;
    let found = documents.get(&mine, &a).await.unwrap().unwrap();
    assert_eq!((found.title.as_str(), found.sequence), ("one", sequence));
    assert_eq!(documents.content(&mine, &a).await.unwrap(), Some(b"text".to_vec()));
    let gone = documents.delete(&mine, vec![a.clone(), id('b')], audit("x")).await.unwrap();
    assert_eq!(gone, vec![a.clone()]);
    assert_eq!(documents.get(&mine, &a).await.unwrap(), None);
    assert_eq!(documents.content(&mine, &a).await.unwrap(), None);
}

async fn a_failed_reading_keeps_the_content_of_before(documents: &dyn Documents) {
    let (mine, a) = (tenant("failed"), id('a'));
    documents.put(&mine, kept(&a, "one", "text")).await.unwrap();
    let mut failed = kept(&a, "one", "");
    failed.content = None;
    failed.document.status = Status::Failed { reason: "no".to_owned() };
    documents.put(&mine, failed).await.unwrap();
    assert_eq!(documents.content(&mine, &a).await.unwrap(), Some(b"text".to_vec()));
}

async fn changes_come_in_order_and_once(documents: &dyn Documents) {
    let mine = tenant("changes");
    for digit in ['a', 'b', 'a', 'c'] {
        documents.put(&mine, kept(&id(digit), "x", "y")).await.unwrap();
    }
    documents.delete(&mine, vec![id('b')], audit("x")).await.unwrap();
    let all = documents.changes(&mine, 0, 10).await.unwrap();
    let order: Vec<_> = all.iter().map(|change| change.document.clone()).collect();
    assert_eq!(order, [id('a'), id('c'), id('b')]);
    assert!(all.is_sorted_by_key(|change| change.sequence));
    let after = documents.changes(&mine, all[0].sequence, 1).await.unwrap();
    assert_eq!(after, [all[1].clone()]);
    let last = all[2].sequence;
    assert_eq!(documents.forget_deleted(&mine, last - 1).await.unwrap(), 0);
    assert_eq!(documents.forget_deleted(&mine, last).await.unwrap(), 1);
    assert_eq!(documents.changes(&mine, 0, 10).await.unwrap().len(), 2);
    let again = put(documents, &mine, kept(&id('b'), "x", "y")).await;
    assert!(again > last, "a sequence is never given twice");
}

async fn what_was_accepted_earlier_does_not_replace_what_came_later(documents: &dyn Documents) {
    let (mine, a) = (tenant("late"), id('a'));
    let at = |accepted, title| Kept { accepted: Some(accepted), ..kept(&a, title, title) };
    put(documents, &mine, at(10, "ten")).await;
    assert_eq!(documents.put(&mine, at(9, "nine")).await.unwrap(), Put::Superseded);
    assert_eq!(documents.content(&mine, &a).await.unwrap(), Some(b"ten".to_vec()));
    put(documents, &mine, at(11, "eleven")).await;
    documents.delete(&mine, vec![a.clone()], audit("x")).await.unwrap();
    assert_eq!(documents.put(&mine, at(2, "two")).await.unwrap(), Put::Superseded);
    assert_eq!(documents.get(&mine, &a).await.unwrap(), None);
    put(documents, &mine, kept(&a, "now", "now")).await;
    assert_eq!(documents.content(&mine, &a).await.unwrap(), Some(b"now".to_vec()));
}

async fn lists_in_pages(documents: &dyn Documents) {
    let mine = tenant("pages");
    for digit in "0123456789".chars() {
        documents.put(&mine, kept(&id(digit), "x", "y")).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let list = DocumentList { collection: None, after, limit: 3 };
        let page = documents.list(&mine, list).await.unwrap();
        assert!(page.items.len() <= 3);
        seen.extend(page.items.into_iter().map(|document| document.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, "0123456789".chars().map(id).collect::<Vec<_>>());
    let other = DocumentList { collection: Some("other".parse().unwrap()), after: None, limit: 3 };
    assert!(documents.list(&mine, other).await.unwrap().items.is_empty());
}

async fn tenants_never_meet(documents: &dyn Documents) {
    // Names that sort next to each other, and one that begins like another.
    let names = ["meet", "meet-", "meet2", "mee"];
    for name in names {
        documents.put(&tenant(name), kept(&id('a'), name, name)).await.unwrap();
    }
    for name in names {
        let mine = tenant(name);
        let found =
            documents.list(&mine, DocumentList { limit: 9, ..Default::default() }).await.unwrap();
        assert_eq!(found.items.len(), 1);
        assert_eq!(found.items[0].title, name);
        assert_eq!(documents.changes(&mine, 0, 9).await.unwrap().len(), 1);
        assert_eq!(documents.collections(&mine).await.unwrap().len(), 1);
    }
    documents.delete(&tenant("meet"), vec![id('a')], audit("x")).await.unwrap();
    assert!(documents.get(&tenant("meet2"), &id('a')).await.unwrap().is_some());
    let tenants = documents.tenants().await.unwrap();
    assert!(names.iter().all(|name| tenants.contains(&tenant(name))));
}

async fn collections_come_and_go(documents: &dyn Documents) {
    let mine = tenant("collections");
    documents.put(&mine, kept(&id('a'), "x", "y")).await.unwrap();
    let made = documents.collections(&mine).await.unwrap();
    assert_eq!(made.len(), 1);
    assert_eq!((made[0].name.as_str(), made[0].doc_type.as_str()), ("things", "guide"));
    let name = made[0].name.clone();
    assert!(documents.delete_collection(&mine, name.clone(), audit("x")).await.unwrap());
    assert!(!documents.delete_collection(&mine, name, audit("x")).await.unwrap());
}
