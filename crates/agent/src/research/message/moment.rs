//! Moments as messages write them: ISO 8601, in UTC.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::identity::Timestamp;
use crate::ledger::Day;

/// A moment, to the millisecond, written without milliseconds where it has none.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Moment(pub Timestamp);

/// Why a text is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is a moment of ISO 8601 in UTC, such as 2025-11-14T10:30:05Z")]
pub struct MomentError;

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = self.0.0;
        let seconds = milliseconds / 1_000;
        let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        write!(f, "{}T{hour:02}:{minute:02}:{second:02}", Day::of(self.0))?;
        match milliseconds % 1_000 {
            0 => f.write_str("Z"),
            part => write!(f, ".{part:03}Z"),
        }
    }
}

impl FromStr for Moment {
    type Err = MomentError;

    fn from_str(text: &str) -> Result<Self, MomentError> {
        read(text).map(|milliseconds| Self(Timestamp(milliseconds))).ok_or(MomentError)
    }
}

fn read(text: &str) -> Option<u64> {
    let (day, time) = text.split_once('T')?;
    // Any other offset is not UTC.
    let time = time.strip_suffix('Z').or_else(|| time.strip_suffix("+00:00"))?;
    let (time, part) = match time.split_once('.') {
        Some((time, part)) => (time, milliseconds(part)?),
        None => (time, 0),
    };
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let [year, month, day] = numbers(day, '-', [4, 2, 2])?;
    let is_time = hour < 24 && minute < 60 && second < 60;
    let days = days(year, month, day).filter(|_| is_time)?;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + part)
}

/// Digits after the second; what is finer than a millisecond goes.
fn milliseconds(part: &str) -> Option<u64> {
    let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let digits: String = part.chars().chain(['0', '0']).take(3).collect();
    is_number.then(|| digits.parse().ok()).flatten()
}

/// Three numbers of so many digits each.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut next = |digits: usize| {
        let part = parts.next()?;
        let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten()
    };
    let [first, second, third] = digits;
    let numbers = [next(first)?, next(second)?, next(third)?];
    parts.next().is_none().then_some(numbers)
}

/// Days since 1970 of a day that there was.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year < 1970 || day == 0 || day > length {
        return None;
    }
    // Years begin in March here, so that a leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    days.checked_sub(719_468)
}

impl TryFrom<String> for Moment {
    type Error = MomentError;
    fn try_from(text: String) -> Result<Self, MomentError> {
        text.parse()
    }
}

impl From<Moment> for String {
    fn from(moment: Moment) -> Self {
        moment.to_string()
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time", "pattern": "(Z|\\+00:00)$"})
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_moment_in_utc_is_refused() {
        for bad in [
            "",
            "2025-11-14",
            "2025-11-14 10:30:05Z",
            "2025-11-14T10:30:05",
            "2025-11-14T10:30:05+09:00",
            "2025-13-14T10:30:05Z",
            "2025-02-29T10:30:05Z",
            "2025-11-14T24:30:05Z",
            "2025-11-14T10:30:05.Z",
            "25-11-14T10:30:05Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(bad.parse::<Moment>(), Err(MomentError), "{bad}");
        }
        assert_eq!("2024-02-29T00:00:00+00:00".parse::<Moment>().unwrap().0.0, 1_709_164_800_000);
    }

    proptest! {
        #[test]
        fn a_moment_reads_back_as_it_was_written(milliseconds in 0u64..253_402_300_800_000) {
            let moment = Moment(Timestamp(milliseconds));
            prop_assert_eq!(moment.to_string().parse::<Moment>(), Ok(moment));
        }
    }
}
