//! What was spent: booked by day, session, component and model, added up, and projected to a month.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::identity::Timestamp;
use crate::model::Usage;
use crate::price::Cost;

/// Days that a projection takes for a month, as the seed's table does.
const DAYS_OF_MONTH: u64 = 30;

const MILLISECONDS_OF_DAY: u64 = 86_400_000;

/// What a model was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Component {
    Judge,
    Answer,
    Memory,
    Research,
    /// Servers of tools that were lent a model.
    Tools,
}

impl Component {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Answer => "answer",
            Self::Memory => "memory",
            Self::Research => "research",
            Self::Tools => "tools",
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Days since 1970, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Day(pub u32);

impl Day {
    #[must_use]
    pub fn of(at: Timestamp) -> Self {
        Self(u32::try_from(at.0 / MILLISECONDS_OF_DAY).unwrap_or(u32::MAX))
    }
}

/// The day as `2026-11-15`.
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The calendar in eras of 400 years that begin in March, so that a leap day is the last of its year.
        let days = u64::from(self.0) + 719_468;
        let era = days / 146_097;
        let of_era = days % 146_097;
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// Under what spending is booked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Account {
    pub day: Day,
    /// A session, or a run.
    pub session: String,
    pub component: Component,
    pub model: String,
}

/// What was spent under an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Answers, verdicts or rewrites, however many requests each took.
    pub calls: u64,
    /// Of those, the ones whose price nobody knows: their cost is not in `cost`.
    pub calls_without_price: u64,
    pub usage: Usage,
    pub cost: Cost,
}

impl Spent {
    /// One call.
    #[must_use]
    pub fn call(usage: Usage, cost: Option<Cost>) -> Self {
        let calls_without_price = u64::from(cost.is_none());
        Self { calls: 1, calls_without_price, usage, cost: cost.unwrap_or_default() }
    }

    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.calls_without_price =
            self.calls_without_price.saturating_add(other.calls_without_price);
        self.usage += other.usage;
        self.cost += other.cost;
    }
}

/// What was spent, and under which account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    pub account: Account,
    pub spent: Spent,
}

/// What spending is added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Component,
    Session,
    Day,
    Model,
}

/// Adds bookings up; the keys are in their order, days oldest first.
#[must_use]
pub fn sum(bookings: &[Booking], by: By) -> Vec<(String, Spent)> {
    let mut sums: BTreeMap<String, Spent> = BTreeMap::new();
    for Booking { account, spent } in bookings {
        let key = match by {
            By::Component => account.component.to_string(),
            By::Session => account.session.clone(),
            By::Day => account.day.to_string(),
            By::Model => account.model.clone(),
        };
        sums.entry(key).or_default().add(spent);
    }
    sums.into_iter().collect()
}

/// How much an installation is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    pub sessions_per_day: f64,
    pub turns_per_session: f64,
}

/// What a month would cost, from what turns have cost so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Projection {
    pub load: Load,
    /// Turns that the averages are of.
    pub turns_seen: u64,
    /// Dollars of a month for rewriting memories, and for judging and answering.
    pub memory: f64,
    pub answers: f64,
}

impl Projection {
    #[must_use]
    pub fn total(&self) -> f64 {
        self.memory + self.answers
    }
}

/// What `bookings` say a month under `load` would cost; what the load leaves open is taken from them too. None when
/// nothing has been answered yet.
#[must_use]
pub fn project(
    bookings: &[Booking],
    sessions_per_day: Option<f64>,
    turns_per_session: Option<f64>,
) -> Option<Projection> {
    let of = |component| {
        let own = bookings.iter().filter(move |booking| booking.account.component == component);
        let mut spent = Spent::default();
        own.for_each(|booking| spent.add(&booking.spent));
        spent
    };
    let (judge, answer, memory) =
        (of(Component::Judge), of(Component::Answer), of(Component::Memory));
    if answer.calls == 0 {
        return None;
    }
    let answers = bookings.iter().filter(|booking| booking.account.component == Component::Answer);
    let sessions: BTreeSet<(Day, &str)> =
        answers.map(|booking| (booking.account.day, booking.account.session.as_str())).collect();
    let days: BTreeSet<Day> = sessions.iter().map(|(day, _)| *day).collect();
    let (turns, sessions) = (answer.calls as f64, sessions.len() as f64);
    let load = Load {
        sessions_per_day: sessions_per_day.unwrap_or(sessions / days.len() as f64),
        turns_per_session: turns_per_session.unwrap_or(turns / sessions),
    };
    let turns_of_month = load.sessions_per_day * load.turns_per_session * DAYS_OF_MONTH as f64;
    let month = |cost: Cost| cost.dollars() / turns * turns_of_month;
    Some(Projection {
        load,
        turns_seen: answer.calls,
        memory: month(memory.cost),
        answers: month(judge.cost) + month(answer.cost),
    })
}
