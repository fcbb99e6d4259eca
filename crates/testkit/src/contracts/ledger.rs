//! The promise of `Ledger`.

use agent::ledger::{Account, Booking, Component, Day, Spent};
use agent::model::Usage;
use agent::ports::Ledger;
use agent::price::Cost;

use crate::samples::tenant;

/// Runs every part on a fresh store.
pub async fn keeps_its_promise(ledger: &dyn Ledger) {
    let (mine, other) = (tenant("mine"), tenant("other"));
    let two = vec![
        booking(3, "s1", Component::Answer, 10, Some(7)),
        booking(3, "s1", Component::Judge, 5, None),
    ];
    ledger.book(&mine, two).await.unwrap();
    ledger.book(&mine, vec![booking(3, "s1", Component::Answer, 1, Some(1))]).await.unwrap();
    ledger.book(&mine, vec![booking(4, "s2", Component::Memory, 2, Some(2))]).await.unwrap();
    ledger.book(&other, vec![booking(3, "s1", Component::Answer, 99, Some(99))]).await.unwrap();

    let booked = ledger.booked(&mine, Day(3), Day(3)).await.unwrap();
    let answer = booked.iter().find(|booking| booking.account.component == Component::Answer);
    let spent = answer.unwrap().spent;
    assert_eq!((booked.len(), spent.calls, spent.usage.input), (2, 2, 11));
    assert_eq!(spent.cost, Cost { picodollars: 8 });
    let judge = booked.iter().find(|booking| booking.account.component == Component::Judge);
    assert_eq!(judge.unwrap().spent.calls_without_price, 1);
    assert_eq!(ledger.booked(&mine, Day(0), Day(9)).await.unwrap().len(), 3);

    assert_eq!(ledger.forget_booked(Day(4)).await.unwrap(), 3);
    let left = ledger.booked(&mine, Day(0), Day(9)).await.unwrap();
    assert_eq!(left, [booking(4, "s2", Component::Memory, 2, Some(2))]);
}

pub(super) fn booking(
    day: u32,
    session: &str,
    component: Component,
    input: u64,
    cost: Option<u64>,
) -> Booking {
    let account =
        Account { day: Day(day), session: session.to_owned(), component, model: "m".to_owned() };
    let usage = Usage { input, ..Usage::default() };
    let cost = cost.map(|picodollars| Cost { picodollars });
    Booking { account, spent: Spent::call(usage, cost) }
}
