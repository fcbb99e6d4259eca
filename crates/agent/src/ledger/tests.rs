//! Checks sums and the projection against the seed's own table.

use super::*;

fn booking(
    day: u32,
    session: &str,
    component: Component,
    calls: u64,
    microdollars: u64,
) -> Booking {
    let account =
        Account { day: Day(day), session: session.to_owned(), component, model: "nano".to_owned() };
    let cost = Cost { picodollars: microdollars * 1_000_000 };
    Booking { account, spent: Spent { calls, cost, ..Spent::default() } }
}

#[test]
fn the_projection_gives_the_table_of_the_seed() {
    // Per five turns: a rewrite of $0.0003 and, per turn, $0.0003 for judging twice and $0.00055 for the answer.
    let bookings = [
        booking(1, "a", Component::Memory, 1, 300),
        booking(1, "a", Component::Judge, 10, 5 * 600),
        booking(1, "a", Component::Answer, 5, 5 * 550),
    ];
    for (turns, memory, answers) in
        [(20.0, 36.0, 690.0), (50.0, 90.0, 1725.0), (100.0, 180.0, 3450.0)]
    {
        let projection = project(&bookings, Some(1000.0), Some(turns)).unwrap();
        assert!((projection.memory - memory).abs() < 1e-6, "{projection:?}");
        assert!((projection.answers - answers).abs() < 1e-6, "{projection:?}");
        assert!((projection.total() - memory - answers).abs() < 1e-6);
    }
}

#[test]
fn the_own_averages_stand_in_for_an_open_load() {
    let bookings = [
        booking(1, "a", Component::Answer, 3, 300),
        booking(1, "b", Component::Answer, 5, 500),
        booking(2, "a", Component::Answer, 4, 400),
    ];
    let projection = project(&bookings, None, None).unwrap();
    assert_eq!(projection.turns_seen, 12);
    assert_eq!(projection.load, Load { sessions_per_day: 1.5, turns_per_session: 4.0 });
    assert!((projection.answers - 0.0001 * 1.5 * 4.0 * 30.0).abs() < 1e-9, "{projection:?}");
    assert_eq!(project(&[], Some(1.0), Some(1.0)), None);
}

#[test]
fn sums_are_by_what_is_asked_for_and_lose_nothing() {
    let bookings = [
        booking(19_999, "a", Component::Answer, 3, 300),
        booking(20_000, "a", Component::Judge, 3, 30),
        booking(20_000, "b", Component::Answer, 1, 100),
    ];
    let keys = |by| sum(&bookings, by).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys(By::Component), ["answer", "judge"]);
    assert_eq!(keys(By::Session), ["a", "b"]);
    assert_eq!(keys(By::Day), ["2024-10-03", "2024-10-04"]);
    for by in [By::Component, By::Session, By::Day, By::Model] {
        let total: Cost = sum(&bookings, by).iter().map(|(_, spent)| spent.cost).sum();
        assert_eq!(total.microdollars(), 430, "{by:?}");
    }
}

#[test]
fn a_call_without_a_price_is_counted_as_such() {
    let mut spent = Spent::call(Usage::default(), None);
    spent.add(&Spent::call(Usage::default(), Some(Cost { picodollars: 7 })));
    assert_eq!((spent.calls, spent.calls_without_price, spent.cost.picodollars), (2, 1, 7));
}

#[test]
fn days_are_those_of_the_calendar() {
    for (day, expected) in [
        (0, "1970-01-01"),
        (59, "1970-03-01"),
        (11_016, "2000-02-29"),
        (20_772, "2026-11-15"),
        (47_540, "2100-02-28"),
        (47_541, "2100-03-01"),
    ] {
        assert_eq!(Day(day).to_string(), expected);
    }
    assert_eq!(Day::of(Timestamp(86_400_000 * 3 - 1)), Day(2));
}
