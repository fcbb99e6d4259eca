//! The promise of `Journals`.

use agent::identity::Timestamp;
use agent::ports::{Journals, NewEntries, PortError, RunList};
use agent::research::journal::{Entry, Event, Steering};
use agent::research::message::{ProviderId, Uuid};
use agent::research::order::{
    Approval, Basis, Chooser, Class, Order, Provider, RunBudget, RunLimits, Thinking,
};
use agent::research::report::EndReason;

use crate::samples::tenant;

/// An order for a run over one's own documents, without a model.
#[must_use]
pub fn order(number: u8) -> Order {
    Order {
        id: Uuid::from_random([number; 16]),
        question: format!("What is in document {number}?"),
        providers: vec![Provider {
            id: ProviderId::local(),
            class: Class::Own,
            is_repeatable: true,
        }],
        approval: Approval::Given,
        thinking: Thinking::Offline,
        chooser: Chooser::Rules,
        limits: RunLimits::default(),
        budget: RunBudget::default(),
        answer_seconds: None,
        hops: 0,
        basis: None,
        conversation: None,
    }
}

fn listed(limit: usize) -> RunList {
    RunList { limit, ..RunList::default() }
}

fn entry(at: u64) -> Entry {
    Entry { at: Timestamp(at), event: Event::Steered { steering: Steering::Pause } }
}

/// Runs every part on a fresh store.
pub async fn keeps_its_promise(journals: &dyn Journals) {
    let (mine, other) = (tenant("mine"), tenant("other"));
    let first = order(1);
    let basis = Some(Basis::Follows { run: first.id });
    let second = Order { basis, conversation: Some("a2a:1".to_owned()), ..order(2) };
    let by = || "owner".to_owned();
    journals.begin(&mine, first.clone(), by(), Timestamp(10)).await.unwrap();
    let again = journals.begin(&mine, first.clone(), by(), Timestamp(11)).await;
    assert!(matches!(again, Err(PortError::Refused(_))), "{again:?}");
    journals.begin(&other, first.clone(), by(), Timestamp(10)).await.unwrap();
    journals.begin(&mine, second.clone(), by(), Timestamp(20)).await.unwrap();

    let new = |epoch, after, entries: Vec<Entry>, ended| NewEntries {
        run: first.id,
        epoch,
        after,
        entries,
        ended,
    };
    assert!(journals.append(&mine, new(0, 0, vec![entry(1), entry(2)], None)).await.unwrap());
    // What somebody else has written since, or under another epoch, is not written over.
    assert!(!journals.append(&mine, new(0, 1, vec![entry(9)], None)).await.unwrap());
    assert!(!journals.append(&mine, new(1, 2, vec![entry(9)], None)).await.unwrap());
    let kept = journals.run(&mine, first.id).await.unwrap().unwrap();
    assert_eq!((kept.entries.len(), kept.epoch, kept.ended), (2, 0, None));
    assert_eq!((kept.order, kept.principal.as_str()), (first.clone(), "owner"));
    assert!(journals.run(&other, first.id).await.unwrap().unwrap().entries.is_empty());

    let taken = journals.take_over(&mine, first.id).await.unwrap().unwrap();
    assert_eq!((taken.epoch, taken.entries), (1, vec![entry(1), entry(2)]));
    assert!(!journals.append(&mine, new(0, 2, vec![entry(9)], None)).await.unwrap());
    let end = Some(EndReason::Enough);
    assert!(journals.append(&mine, new(1, 2, vec![entry(3)], end)).await.unwrap());
    assert!(!journals.append(&mine, new(1, 3, vec![entry(9)], None)).await.unwrap());
    assert!(journals.take_over(&mine, first.id).await.unwrap().is_none());
    assert!(journals.take_over(&mine, order(9).id).await.unwrap().is_none());

    let lines = journals.runs(&mine, listed(9)).await.unwrap();
    let shown: Vec<(Uuid, Option<EndReason>)> =
        lines.iter().map(|line| (line.id, line.ended)).collect();
    assert_eq!(shown, [(second.id, None), (first.id, end)]);
    assert_eq!((lines[0].basis, &lines[0].conversation), (basis, &second.conversation));
    assert_eq!((lines[1].basis, &lines[1].conversation), (None, &None));
    assert_eq!(journals.runs(&mine, listed(1)).await.unwrap(), lines[..1]);
    let after = Some((lines[0].begun_at, lines[0].id));
    let rest = journals.runs(&mine, RunList { after, ..listed(9) }).await.unwrap();
    assert_eq!(rest, lines[1..]);
    let of = |name: &str| RunList { principal: Some(name.to_owned()), ..listed(9) };
    assert_eq!(journals.runs(&mine, of("owner")).await.unwrap(), lines);
    assert!(journals.runs(&mine, of("somebody")).await.unwrap().is_empty());
    let mut unfinished = journals.unfinished().await.unwrap();
    unfinished.sort();
    let mut expected = vec![(mine.clone(), second.id), (other.clone(), first.id)];
    expected.sort();
    assert_eq!(unfinished, expected);

    assert!(journals.forget_run(&mine, first.id).await.unwrap());
    assert!(!journals.forget_run(&mine, first.id).await.unwrap());
    assert!(journals.run(&mine, first.id).await.unwrap().is_none());
    assert!(journals.run(&other, first.id).await.unwrap().is_some());
    // A run of the same id starts without what was there.
    journals.begin(&mine, first.clone(), by(), Timestamp(30)).await.unwrap();
    assert!(journals.run(&mine, first.id).await.unwrap().unwrap().entries.is_empty());
}
