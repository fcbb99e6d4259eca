//! Identifiers of messages, runs, results and answers: UUIDs of version 4.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A UUID of version 4. It is made from bytes that somebody else drew, or from another one and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Uuid(u128);

/// Why a text is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is a UUID of version 4, such as 550e8400-e29b-41d4-a716-446655440001")]
pub struct UuidError;

/// Where version and variant stand, and what they are.
const FIXED: u128 = 0x0000_0000_0000_f000_c000_0000_0000_0000;
const VERSION_4: u128 = 0x0000_0000_0000_4000_8000_0000_0000_0000;

/// Where the four hyphens stand.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl Uuid {
    /// From random bytes, of which six bits are given up for the version.
    #[must_use]
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes) & !FIXED | VERSION_4)
    }

    /// The one of this number that belongs to this one: the same each time, so that a run that is taken up again names
    /// its messages as before.
    #[must_use]
    pub fn derived(self, kind: &str, number: u64) -> Self {
        let mut state = self.0;
        for byte in kind.bytes().chain([0]).chain(number.to_be_bytes()) {
            state = mixed(state ^ u128::from(byte));
        }
        Self::from_random(mixed(state).to_be_bytes())
    }
}

/// Spreads every bit over all of them: the finish of `SplitMix`, at twice its width.
fn mixed(state: u128) -> u128 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let state = (state ^ (state >> 60)).wrapping_mul(0xbf58_476d_1ce4_e5b9_94d0_49bb_1331_11eb);
    let state = (state ^ (state >> 54)).wrapping_mul(0x94d0_49bb_1331_11eb_bf58_476d_1ce4_e5b9);
    state ^ (state >> 62)
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", self.0);
        for (place, digit) in digits.chars().enumerate() {
            if matches!(place, 8 | 12 | 16 | 20) {
                f.write_str("-")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

impl FromStr for Uuid {
    type Err = UuidError;

    fn from_str(text: &str) -> Result<Self, UuidError> {
        let has_hyphens = text.len() == 36
            && text.bytes().enumerate().all(|(place, byte)| {
                if HYPHENS.contains(&place) { byte == b'-' } else { byte.is_ascii_hexdigit() }
            });
        let digits: String = text.chars().filter(|digit| *digit != '-').collect();
        let number = u128::from_str_radix(&digits, 16).map_err(|_| UuidError)?;
        let is_good = has_hyphens && number & FIXED == VERSION_4;
        is_good.then_some(Self(number)).ok_or(UuidError)
    }
}

impl TryFrom<String> for Uuid {
    type Error = UuidError;
    fn try_from(text: String) -> Result<Self, UuidError> {
        text.parse()
    }
}

impl From<Uuid> for String {
    fn from(id: Uuid) -> Self {
        id.to_string()
    }
}

impl JsonSchema for Uuid {
    fn schema_name() -> Cow<'static, str> {
        "Uuid".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "uuid",
            "pattern": "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_version_4_is_read() {
        let id = "550e8400-e29b-41d4-a716-446655440001";
        assert_eq!(id.parse::<Uuid>().unwrap().to_string(), id);
        for bad in [
            "",
            "550e8400",
            "550e8400-e29b-11d4-a716-446655440001",
            "550e8400-e29b-41d4-c716-446655440001",
            "550e8400e29b41d4a716446655440001",
            "550e8400-e29b-41d4-a716-44665544000g",
            "550e8400-e29b-41d4-a716-4466554400011",
        ] {
            assert_eq!(bad.parse::<Uuid>(), Err(UuidError), "{bad}");
        }
    }

    #[test]
    fn those_of_one_run_differ_and_are_the_same_each_time() {
        let run = Uuid::from_random([7; 16]);
        let mut ids: Vec<Uuid> = (0..1000).map(|number| run.derived("message", number)).collect();
        assert_eq!(ids[3], run.derived("message", 3));
        assert_ne!(ids[3], run.derived("source", 3));
        assert!(ids.iter().all(|id| id.to_string().parse() == Ok(*id)));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 1000);
    }
}
