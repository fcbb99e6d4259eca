//! What a search may be narrowed to: conditions on the tags of a chunk.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize};

/// Most conditions in one filter: more is a mistake or an attack.
pub const CONDITIONS_MAX: usize = 32;

/// Most values of one `any of` condition.
pub const VALUES_MAX: usize = 256;

/// Longest tag name or text value, in bytes.
pub const TAG_BYTES_MAX: usize = 256;

/// Tags that every chunk has, whatever its document says.
pub const BUILT_IN_TAGS: &[&str] = &[
    "collection",
    "doc_type",
    "document",
    "format",
    "has_code",
    "has_conditions",
    "has_steps",
    "has_table",
    "language",
    "source",
    "updated_at",
];

/// The tags of a chunk: the built-in ones and every front-matter field or column.
pub type Tags = BTreeMap<String, Vec<TagValue>>;

/// One value of a tag. Dates are text in ISO form, so that their order is the text's order.
#[derive(Debug, Clone, PartialEq, PartialOrd, Serialize)]
#[serde(untagged)]
pub enum TagValue {
    Flag(bool),
    Number(f64),
    Text(String),
}

/// By hand: every passage that is loaded has a dozen of them, and trying one kind after the other builds an error for
/// each that it is not.
impl<'de> Deserialize<'de> for TagValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TagVisitor)
    }
}

struct TagVisitor;

impl Visitor<'_> for TagVisitor {
    type Value = TagValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false, a number or a text")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<TagValue, E> {
        Ok(TagValue::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<TagValue, E> {
        Ok(TagValue::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<TagValue, E> {
        Ok(TagValue::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<TagValue, E> {
        Ok(TagValue::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<TagValue, E> {
        Ok(TagValue::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<TagValue, E> {
        Ok(TagValue::Text(text))
    }
}

/// Every condition must hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Filter {
    pub conditions: Vec<Condition>,
}

/// A test of one tag; a tag with several values passes if one of them does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    pub tag: String,
    pub test: Test,
}

/// What a tag's value is held against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    AnyOf(Vec<TagValue>),
    Not(TagValue),
    /// Both ends included; a missing end is open.
    Between {
        from: Option<TagValue>,
        to: Option<TagValue>,
    },
}

/// Why a filter was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error(
        "the condition {0:?} cannot be read: write tag=value, tag=a|b, tag!=value, tag>=value or tag<=value"
    )]
    Unreadable(String),
    #[error(
        "too many conditions or values: at most {CONDITIONS_MAX} conditions of {VALUES_MAX} values"
    )]
    TooMany,
    #[error("no document has a tag {tag:?}: known are {known}")]
    UnknownTag { tag: String, known: String },
}

impl Filter {
    /// Everything passes.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// The filter with one more condition.
    #[must_use]
    pub fn and(mut self, tag: &str, value: TagValue) -> Self {
        let test = Test::AnyOf(vec![value]);
        self.conditions.push(Condition { tag: tag.to_owned(), test });
        self
    }

    /// Reads conditions in the written form, one in each text.
    pub fn read<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, FilterError> {
        let conditions =
            texts.into_iter().map(str::parse).collect::<Result<Vec<Condition>, _>>()?;
        if conditions.len() > CONDITIONS_MAX {
            return Err(FilterError::TooMany);
        }
        Ok(Self { conditions })
    }

    /// Refuses a tag that is neither built in nor among `known`.
    pub fn check<'a>(
        &self,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), FilterError> {
        for Condition { tag, .. } in &self.conditions {
            let built_in = BUILT_IN_TAGS.contains(&tag.as_str());
            if !built_in && !known.clone().any(|name| name == tag) {
                let mut names: Vec<&str> = BUILT_IN_TAGS.iter().copied().chain(known).collect();
                names.sort_unstable();
                names.dedup();
                names.truncate(40);
                return Err(FilterError::UnknownTag { tag: tag.clone(), known: names.join(", ") });
            }
        }
        Ok(())
    }

    /// Whether a chunk with these tags passes: the meaning that every index has to keep.
    #[must_use]
    pub fn passes(&self, tags: &Tags) -> bool {
        self.conditions.iter().all(|condition| {
            let values = tags.get(&condition.tag).map_or(&[][..], Vec::as_slice);
            condition.test.passes(values)
        })
    }
}

impl Test {
    fn passes(&self, values: &[TagValue]) -> bool {
        match self {
            Self::AnyOf(wanted) => values.iter().any(|value| wanted.contains(value)),
            Self::Not(unwanted) => !values.contains(unwanted),
            Self::Between { from, to } => values.iter().any(|value| within(value, from, to)),
        }
    }
}

fn within(value: &TagValue, from: &Option<TagValue>, to: &Option<TagValue>) -> bool {
    let same_kind = |end: &TagValue| std::mem::discriminant(end) == std::mem::discriminant(value);
    from.as_ref().is_none_or(|from| same_kind(from) && value >= from)
        && to.as_ref().is_none_or(|to| same_kind(to) && value <= to)
}

impl TagValue {
    /// Reads a value as people write it: `true`, `12.5`, anything else is text.
    #[must_use]
    pub fn read(text: &str) -> Self {
        match text {
            "true" => Self::Flag(true),
            "false" => Self::Flag(false),
            _ => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Self::Number(number),
                _ => Self::Text(text.to_owned()),
            },
        }
    }
}

impl fmt::Display for TagValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl FromStr for Condition {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let unreadable = || FilterError::Unreadable(text.chars().take(80).collect());
        let at = text.find(['=', '!', '<', '>']).ok_or_else(unreadable)?;
        let (tag, rest) = text.split_at_checked(at).ok_or_else(unreadable)?;
        let tag = tag.trim();
        if tag.is_empty() || text.len() > VALUES_MAX * TAG_BYTES_MAX || tag.len() > TAG_BYTES_MAX {
            return Err(unreadable());
        }
        let value = |text: &str| TagValue::read(text.trim());
        let test = if let Some(rest) = rest.strip_prefix("!=") {
            Test::Not(value(rest))
        } else if let Some(rest) = rest.strip_prefix(">=") {
            Test::Between { from: Some(value(rest)), to: None }
        } else if let Some(rest) = rest.strip_prefix("<=") {
            Test::Between { from: None, to: Some(value(rest)) }
        } else if let Some(rest) = rest.strip_prefix('=') {
            let values: Vec<TagValue> = rest.split('|').map(value).collect();
            if values.len() > VALUES_MAX {
                return Err(FilterError::TooMany);
            }
            Test::AnyOf(values)
        } else {
            return Err(unreadable());
        };
        Ok(Self { tag: tag.to_owned(), test })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(conditions: &[&str], expected: bool) {
        let tags = Tags::from([
            ("doc_type".to_owned(), vec![TagValue::Text("guide".to_owned())]),
            ("has_steps".to_owned(), vec![TagValue::Flag(true)]),
            ("order".to_owned(), vec![TagValue::Number(3.0)]),
            ("updated_at".to_owned(), vec![TagValue::Text("2026-03-01".to_owned())]),
            (
                "plan".to_owned(),
                vec![TagValue::Text("pro".to_owned()), TagValue::Text("enterprise".to_owned())],
            ),
        ]);
        let filter = Filter::read(conditions.iter().copied()).unwrap();
        assert_eq!(filter.passes(&tags), expected, "{conditions:?}");
    }

    #[test]
    fn every_condition_must_hold_and_one_value_of_a_tag_is_enough() {
        check(&[], true);
        check(&["doc_type=guide"], true);
        check(&["doc_type=faq"], false);
        check(&["doc_type=faq|guide", "has_steps=true"], true);
        check(&["doc_type=guide", "has_steps=false"], false);
        check(&["plan=pro"], true);
        check(&["plan!=pro"], false);
        check(&["plan!=free"], true);
        check(&["missing=1"], false);
        check(&["missing!=1"], true);
    }

    #[test]
    fn ranges_compare_numbers_as_numbers_and_dates_as_text() {
        check(&["updated_at>=2026-01-01", "updated_at<=2026-12-31"], true);
        check(&["updated_at>=2026-03-02"], false);
        check(&["order>=3"], true);
        check(&["order>=20"], false);
        check(&["order>=abc"], false);
    }

    #[test]
    fn what_cannot_be_read_says_how_to_write_it() {
        for text in ["", "tag", "=x", "tag>5", "tag!5", "tag<5"] {
            assert!(text.parse::<Condition>().is_err(), "{text:?}");
        }
        assert!(Filter::read(std::iter::repeat_n("a=1", CONDITIONS_MAX + 1)).is_err());
    }

    #[test]
    fn an_unknown_tag_is_named_together_with_the_known_ones() {
        let filter = Filter::read(["plna=pro"]).unwrap();
        let error = filter.check(["plan"].into_iter()).unwrap_err().to_string();
        assert!(error.contains("plna") && error.contains("plan,"), "{error}");
        assert!(Filter::read(["plan=pro"]).unwrap().check(["plan"].into_iter()).is_ok());
    }
}
