//! Moments as the protocol writes them: UTC, to the millisecond.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970, between the years 1 and 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Timestamp(i64);

/// The year 1 and the end of the year 9999: what four digits can say.
const RANGE: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

const DAY: i64 = 86_400_000;

/// Why a text is no moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is a moment such as 2026-11-15T09:30:00.000Z, in the years 1 to 9999")]
pub struct TimestampError;

impl Timestamp {
    /// The beginning of 1970.
    pub const EPOCH: Self = Self(0);

    /// The moment this many milliseconds after 1970 began.
    ///
    /// # Errors
    /// If it is before the year 1 or after the year 9999.
    pub fn from_milliseconds(milliseconds: i64) -> Result<Self, TimestampError> {
        if RANGE.contains(&milliseconds) { Ok(Self(milliseconds)) } else { Err(TimestampError) }
    }

    /// The moment this many milliseconds after 1970 began, or the nearest one that can be written.
    #[must_use]
    pub fn clamped(milliseconds: i64) -> Self {
        Self(milliseconds.clamp(*RANGE.start(), *RANGE.end()))
    }

    /// How many milliseconds after 1970 began.
    #[must_use]
    pub fn milliseconds(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for Timestamp {
    type Error = TimestampError;
    fn try_from(milliseconds: i64) -> Result<Self, TimestampError> {
        Self::from_milliseconds(milliseconds)
    }
}

impl From<Timestamp> for i64 {
    fn from(moment: Timestamp) -> Self {
        moment.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.0.div_euclid(DAY));
        let time = self.0.rem_euclid(DAY);
        let (hour, minute) = (time / 3_600_000, time / 60_000 % 60);
        let (second, milli) = (time / 1000 % 60, time % 1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    /// Reads RFC 3339, with any offset and any number of digits after the second; what is finer than a millisecond
    /// goes. A text without offset is taken for UTC, as Python peers of 0.2 write them.
    fn from_str(text: &str) -> Result<Self, TimestampError> {
        read(text)
            .and_then(|milliseconds| Self::from_milliseconds(milliseconds).ok())
            .ok_or(TimestampError)
    }
}

fn read(text: &str) -> Option<i64> {
    let (day, rest) = text.split_once(['T', 't', ' '])?;
    let mut numbers = day.splitn(3, '-');
    let year = digits(numbers.next()?, 4)?;
    let month = digits(numbers.next()?, 2).filter(|month| (1..=12).contains(month))?;
    let day = digits(numbers.next()?, 2).filter(|day| *day >= 1)?;
    let days = days(year, month, day);
    // The 30th of February is another date once it has been a number of days.
    if date(days) != (year, month, day) {
        return None;
    }
    let end = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (time, offset) = rest.split_at_checked(end)?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut numbers = time.splitn(3, ':');
    let hour = digits(numbers.next()?, 2).filter(|hour| *hour < 24)?;
    let minute = digits(numbers.next()?, 2).filter(|minute| *minute < 60)?;
    // A leap second is the second after it.
    let second = digits(numbers.next()?, 2).filter(|second| *second <= 60)?;
    let milli = milliseconds(fraction)?;
    let clock = ((hour * 60 + minute) * 60 + second) * 1000 + milli;
    Some(days * DAY + clock - minutes_east(offset)? * 60_000)
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let legal = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    legal.then(|| text.parse().ok())?
}

fn milliseconds(fraction: &str) -> Option<i64> {
    let legal = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let first = fraction.get(..fraction.len().min(3))?;
    legal.then(|| format!("{first:0<3}").parse().ok())?
}

fn minutes_east(offset: &str) -> Option<i64> {
    let sign = match offset.chars().next() {
        None | Some('Z' | 'z') if offset.len() <= 1 => return Some(0),
        Some('+') => 1,
        Some('-') => -1,
        _ => return None,
    };
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let minutes = digits(minutes, 2).filter(|minutes| *minutes < 60)?;
    let hours = digits(hours, 2).filter(|hours| *hours < 24)?;
    Some(sign * (hours * 60 + minutes))
}

/// Days since 1970-01-01 of a date. The year is counted from March, so that a leap day is the last of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date that is so many days after 1970-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_peers_write_is_read() {
        for (given, expected) in [
            ("2023-10-27T10:00:00Z", "2023-10-27T10:00:00.000Z"),
            ("2023-10-27T10:00:00.123456789Z", "2023-10-27T10:00:00.123Z"),
            ("2024-02-29T23:59:59.9+09:00", "2024-02-29T14:59:59.900Z"),
            ("2026-01-01T00:00:00-00:30", "2026-01-01T00:30:00.000Z"),
            ("2025-07-30T12:00:00.5", "2025-07-30T12:00:00.500Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(given.parse::<Timestamp>().unwrap().to_string(), expected, "{given}");
        }
        assert_eq!("1970-01-01T00:00:01Z".parse::<Timestamp>().unwrap().milliseconds(), 1000);
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for given in [
            "",
            "T",
            "2023-10-27",
            "2023-02-30T00:00:00Z",
            "2023-13-01T00:00:00Z",
            "2023-10-27T24:00:00Z",
            "2023-10-27T10:00:00Zx",
            "2023-10-27T10:00:00+0900",
            "2023-10-27T10:00:00.Z",
            "+023-10-27T10:00:00Z",
            "0000-01-01T00:00:00Z",
            "2023-10-27T10:00:00+가:00",
            "9999-12-31T23:59:59-00:01",
        ] {
            assert!(given.parse::<Timestamp>().is_err(), "{given}");
        }
    }

    proptest! {
        #[test]
        fn a_moment_reads_back_as_it_was_written(milliseconds in RANGE) {
            let moment = Timestamp::from_milliseconds(milliseconds).unwrap();
            prop_assert_eq!(moment.to_string().parse(), Ok(moment));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}|[0-9TZ:.+-]{0,40}") {
            let _ = text.parse::<Timestamp>();
        }
    }
}
