//! What a call costs: prices per million tokens, as providers publish them, times what was used.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::model::Usage;

/// Picodollars in a dollar: a token of the cheapest models costs some thousand of them, so nothing is rounded.
const PICO: u64 = 1_000_000_000_000;

/// Largest price that is believed, in dollars per million tokens: the dearest models are below 1,000.
const DOLLARS_PER_MILLION_MAX: f64 = 1_000_000.0;

/// An amount of money in whole picodollars. Sums are exact; 18 million dollars is the most it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cost {
    pub picodollars: u64,
}

impl Cost {
    /// From dollars, for limits; below 0 is 0.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of a number that is out of range gives the nearest"
    )]
    pub fn from_dollars(dollars: f64) -> Self {
        Self { picodollars: (dollars * PICO as f64).round() as u64 }
    }

    /// For reckoning with averages.
    #[must_use]
    pub fn dollars(self) -> f64 {
        self.picodollars as f64 / PICO as f64
    }

    /// For tables that keep micro-dollars; rounded to the nearest.
    #[must_use]
    pub fn microdollars(self) -> u64 {
        self.picodollars.saturating_add(500_000) / 1_000_000
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.picodollars = self.picodollars.saturating_add(other.picodollars);
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        let mut sum = Self::default();
        costs.for_each(|cost| sum += cost);
        sum
    }
}

/// In dollars, to the micro-dollar: `$0.000385`.
impl fmt::Display for Cost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let microdollars = self.microdollars();
        write!(formatter, "${}.{:06}", microdollars / 1_000_000, microdollars % 1_000_000)
    }
}

/// What a model's tokens cost, in picodollars each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    input: u64,
    cached: u64,
    output: u64,
}

impl Price {
    /// From dollars per million tokens, as published. Without a price for cached tokens they cost what others do.
    /// None for what is no price: negative, not a number, or absurd.
    #[must_use]
    pub fn per_million(input: f64, cached: Option<f64>, output: f64) -> Option<Self> {
        Some(Self {
            input: per_token(input)?,
            cached: per_token(cached.unwrap_or(input))?,
            output: per_token(output)?,
        })
    }

    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Cost {
        let cached = usage.cached.min(usage.input);
        let parts = [
            (usage.input - cached, self.input),
            (cached, self.cached),
            // Reasoning is billed as output, and is a part of it.
            (usage.output, self.output),
        ];
        let picodollars = parts
            .iter()
            .map(|(tokens, price)| tokens.saturating_mul(*price))
            .fold(0, u64::saturating_add);
        Cost { picodollars }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 10^12, and rounded"
)]
fn per_token(dollars_per_million: f64) -> Option<u64> {
    let is_price = (0.0..=DOLLARS_PER_MILLION_MAX).contains(&dollars_per_million);
    is_price.then(|| (dollars_per_million * (PICO / 1_000_000) as f64).round() as u64)
}

/// Prices by model. A model that is not listed has no price, which is not the price 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceList {
    prices: BTreeMap<String, Price>,
}

impl PriceList {
    #[must_use]
    pub fn new(prices: impl IntoIterator<Item = (String, Price)>) -> Self {
        Self { prices: prices.into_iter().collect() }
    }

    /// The price of a model; of `gpt-5-nano` for `gpt-5-nano-2025-08-07` too.
    #[must_use]
    pub fn price(&self, model: &str) -> Option<Price> {
        let dated = || self.prices.get(without_date(model)?);
        self.prices.get(model).or_else(dated).copied()
    }

    /// None where the price is unknown.
    #[must_use]
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<Cost> {
        self.price(model).map(|price| price.cost(usage))
    }
}

/// The name of a model before a date such as `-2025-08-07`.
fn without_date(model: &str) -> Option<&str> {
    let (name, date) = model.split_at_checked(model.len().checked_sub("-0000-00-00".len())?)?;
    let is_date = date.bytes().enumerate().all(|(place, byte)| match place {
        0 | 5 | 8 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    (is_date && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nano() -> Price {
        Price::per_million(0.05, Some(0.005), 0.40).unwrap()
    }

    #[track_caller]
    fn check(input: u64, cached: u64, output: u64, expected: &str) {
        let usage = Usage { input, cached, output, reasoning: output, is_estimated: false };
        assert_eq!(nano().cost(&usage).to_string(), expected);
    }

    #[test]
    fn a_call_costs_what_the_published_prices_say() {
        check(5_300, 0, 300, "$0.000385");
        check(2_600, 0, 750, "$0.000430");
        check(1_000_000, 0, 0, "$0.050000");
        check(1_000_000, 1_000_000, 0, "$0.005000");
        check(1_000_000, 400_000, 1_000_000, "$0.432000");
        check(0, 0, 0, "$0.000000");
    }

    #[test]
    fn a_single_token_is_not_rounded_away() {
        let usage = Usage { input: 1, ..Usage::default() };
        let token = nano().cost(&usage);
        assert_eq!(token.picodollars, 50_000);
        let million: Cost = std::iter::repeat_n(token, 1_000_000).sum();
        assert_eq!(million.to_string(), "$0.050000");
    }

    #[test]
    fn more_cached_than_read_is_not_cheaper_than_all_cached() {
        let usage = Usage { input: 10, cached: 99, ..Usage::default() };
        assert_eq!(nano().cost(&usage).picodollars, 10 * 5_000);
        let most = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
        assert_eq!(nano().cost(&most).picodollars, u64::MAX);
    }

    #[test]
    fn an_unknown_price_is_not_zero_and_zero_is_a_price() {
        let free = Price::per_million(0.0, None, 0.0).unwrap();
        let list = PriceList::new([("gpt-5-nano".to_owned(), nano()), ("local".to_owned(), free)]);
        let usage = Usage { input: 5, output: 5, ..Usage::default() };
        assert_eq!(list.cost("gpt-6", &usage), None);
        assert_eq!(list.cost("gpt-5-nano-mini", &usage), None);
        assert_eq!(list.cost("local", &usage), Some(Cost::default()));
        assert_eq!(list.price("gpt-5-nano-2025-08-07"), Some(nano()));
        assert_eq!(list.price("-2025-08-07"), None);
        assert_eq!(list.price("샘-2025-08-07"), None);
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for wrong in [-0.01, f64::NAN, f64::INFINITY, 1e12] {
            assert_eq!(Price::per_million(wrong, None, 1.0), None, "{wrong}");
            assert_eq!(Price::per_million(1.0, Some(wrong), 1.0), None, "{wrong}");
            assert_eq!(Price::per_million(1.0, None, wrong), None, "{wrong}");
        }
        let without = Price::per_million(2.0, None, 1.0).unwrap();
        assert_eq!(without, Price::per_million(2.0, Some(2.0), 1.0).unwrap());
    }
}
