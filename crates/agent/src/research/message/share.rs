//! A part of the whole, as scores and progress are given.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A number from 0 to 1, in hundredths where Saem makes it: what is finer says nothing to a reader.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share(f64);

impl Share {
    pub const NONE: Self = Self(0.0);
    pub const WHOLE: Self = Self(1.0);

    /// So much of 1, to the hundredth; what is more or less is the nearest.
    #[must_use]
    pub fn about(share: f64) -> Self {
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        Self((share * 100.0).round() / 100.0)
    }

    /// So many of so many; of none, none.
    #[must_use]
    pub fn of(part: usize, whole: usize) -> Self {
        if whole == 0 { Self::NONE } else { Self::about(part as f64 / whole as f64) }
    }

    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(share: f64) -> Result<Self, String> {
        if (0.0..=1.0).contains(&share) {
            Ok(Self(share))
        } else {
            Err(format!("{share} is not between 0.0 and 1.0"))
        }
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.0
    }
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0, "maximum": 1})
    }
}
