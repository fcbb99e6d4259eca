//! The promise of `ToolRecords`.

use agent::identity::Timestamp;
use agent::ports::{ActivityList, ToolRecords};
use agent::tools::activity::{Activity, ActivityFilter, Ending};
use agent::tools::naming::ServerId;
use agent::tools::policy::{Approval, Grant, Pins};
use serde_json::json;

use crate::samples::{audit, tenant};

/// Runs every part on a fresh store.
pub async fn keeps_its_promise(records: &dyn ToolRecords) {
    pins_are_kept_for_each_tenant_and_server(records).await;
    yeses_are_kept_taken_back_and_forgotten(records).await;
    activity_is_listed_newest_first_and_page_by_page(records).await;
}

async fn pins_are_kept_for_each_tenant_and_server(records: &dyn ToolRecords) {
    let (mine, other) = (tenant("mine"), tenant("other"));
    let (files, mail) = (ServerId::for_name("files"), ServerId::for_name("mail"));
    let pins = |pin: &str| Pins([("read".to_owned(), pin.to_owned())].into());
    assert_eq!(records.pins(&mine, &files).await.unwrap(), None);
    records.pin(&mine, &files, pins("a"), audit("tools.meet")).await.unwrap();
    records.pin(&mine, &mail, Pins::default(), audit("tools.meet")).await.unwrap();
    assert_eq!(records.pins(&mine, &files).await.unwrap(), Some(pins("a")));
    // A server that was met and has no tools is known all the same.
    assert_eq!(records.pins(&mine, &mail).await.unwrap(), Some(Pins::default()));
    assert_eq!(records.pins(&other, &files).await.unwrap(), None);
    records.pin(&mine, &files, pins("b"), audit("tools.accept")).await.unwrap();
    assert_eq!(records.pins(&mine, &files).await.unwrap(), Some(pins("b")));
    for is_on in [true, false] {
        let audit = audit("tools.switch");
        records.switch(&mine, &files, is_on, audit).await.unwrap();
        assert_eq!(records.switches(&mine).await.unwrap(), [(files.clone(), is_on)]);
    }
    assert_eq!(records.switches(&other).await.unwrap(), []);
}

fn yes(tool: &str, session: Option<&str>, by: &str, expires_at: u64) -> Approval {
    Approval {
        tool: tool.parse().unwrap(),
        pin: "pin".to_owned(),
        session: session.map(str::to_owned),
        by: by.to_owned(),
        at: Timestamp(1),
        expires_at: Timestamp(expires_at),
    }
}

async fn yeses_are_kept_taken_back_and_forgotten(records: &dyn ToolRecords) {
    let (mine, other) = (tenant("mine"), tenant("other"));
    let all = [
        yes("a__x", None, "owner", 100),
        yes("a__x", Some("s1"), "key:1", 5),
        yes("a__x", Some("s1"), "owner", 100),
        yes("b__y", None, "owner", 100),
    ];
    for approval in &all {
        records.approve(&mine, approval.clone(), audit("tools.approve")).await.unwrap();
    }
    records.approve(&other, all[0].clone(), audit("tools.approve")).await.unwrap();
    let mut kept = records.approvals(&mine).await.unwrap();
    kept.sort_by_key(|yes| (yes.tool.clone(), yes.session.clone(), yes.by.clone()));
    assert_eq!(kept, all);
    let again = Approval { pin: "new".to_owned(), ..all[3].clone() };
    records.approve(&mine, again.clone(), audit("tools.approve")).await.unwrap();
    assert_eq!(records.approvals(&mine).await.unwrap().len(), 4);
    assert_eq!(records.forget_tool_records(Timestamp(0), Timestamp(5)).await.unwrap(), 1);
    let tool = all[0].tool.clone();
    assert_eq!(records.disapprove(&mine, tool, audit("tools.disapprove")).await.unwrap(), 2);
    assert_eq!(records.approvals(&mine).await.unwrap(), [again]);
    assert_eq!(records.approvals(&other).await.unwrap().len(), 1);
}

fn line(at: u64, server: &str) -> Activity {
    Activity {
        at: Timestamp(at),
        principal: "owner".to_owned(),
        session: None,
        turn: Some("t1".to_owned()),
        server: Some(server.to_owned()),
        tool: format!("{server}__use").parse().unwrap(),
        arguments: json!({"at": at}),
        grant: Some(Grant::Once),
        milliseconds: 3,
        ending: Ending::ToolError("no".to_owned()),
        tokens: 1,
    }
}

async fn activity_is_listed_newest_first_and_page_by_page(records: &dyn ToolRecords) {
    let (mine, other) = (tenant("mine"), tenant("other"));
    records.note_activity(&mine, vec![line(1, "a"), line(2, "b")]).await.unwrap();
    records.note_activity(&mine, vec![line(3, "a")]).await.unwrap();
    records.note_activity(&other, vec![line(9, "a")]).await.unwrap();
    let list = |filter: ActivityFilter, after: Option<String>, limit| ActivityList {
        filter,
        after,
        limit,
    };
    let all = ActivityFilter::default();
    let page = records.activity(&mine, list(all.clone(), None, 2)).await.unwrap();
    assert_eq!(page.items, [line(3, "a"), line(2, "b")]);
    let page = records.activity(&mine, list(all.clone(), page.next, 2)).await.unwrap();
    assert_eq!((page.items, page.next), (vec![line(1, "a")], None));
    let of_a = ActivityFilter { server: Some("a".to_owned()), ..all.clone() };
    let page = records.activity(&mine, list(of_a, None, 10)).await.unwrap();
    assert_eq!(page.items, [line(3, "a"), line(1, "a")]);
    let late = ActivityFilter { since: Some(Timestamp(3)), ..all.clone() };
    assert_eq!(records.activity(&mine, list(late, None, 10)).await.unwrap().items.len(), 1);
    assert_eq!(records.forget_tool_records(Timestamp(3), Timestamp(0)).await.unwrap(), 2);
    let page = records.activity(&mine, list(all, None, 10)).await.unwrap();
    assert_eq!(page.items, [line(3, "a")]);
}
