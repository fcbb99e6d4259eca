//! Names that peers give to things: each is checked once, when it is made, and is then a type of its own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::ID_BYTES_MAX;

/// Why an id was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("has 1 to {ID_BYTES_MAX} bytes and no control characters")]
pub struct IdError;

fn checked(text: &str) -> Result<String, IdError> {
    let fits = (1..=ID_BYTES_MAX).contains(&text.len());
    if fits && !text.chars().any(char::is_control) { Ok(text.to_owned()) } else { Err(IdError) }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The id as it was given.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                checked(text).map(Self)
            }
        }
        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
        impl From<&$name> for serde_json::Value {
            fn from(id: &$name) -> Self {
                Self::from(id.as_str())
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// A task. The server makes it, but for 0.1, whose clients do.
    TaskId,
    /// A conversation that tasks and messages belong to; 0.1 calls it a session.
    ContextId,
    /// A message, named by who wrote it.
    MessageId,
    /// An artifact, unique within its task.
    ArtifactId,
    /// A webhook of a task.
    PushConfigId,
}

impl ArtifactId {
    /// The id of an artifact of 0.1, which only has a number.
    #[must_use]
    pub fn numbered(index: u32) -> Self {
        Self(format!("artifact-{index}"))
    }
}

impl MessageId {
    /// The id of a message in an answer of 0.1, where messages have none: the same each time it is read.
    #[must_use]
    pub fn within(task: &TaskId, place: &str) -> Self {
        let room = ID_BYTES_MAX.saturating_sub(place.len() + 1);
        let task = task.as_str();
        let task = task.get(..task.floor_char_boundary(room)).unwrap_or_default();
        Self(format!("{task}/{place}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_neither_empty_nor_endless_nor_able_to_break_a_line() {
        let endless = "x".repeat(ID_BYTES_MAX + 1);
        for id in ["", "a\nb", "a\0b", "\u{85}", &endless] {
            assert!(id.parse::<TaskId>().is_err(), "{id:?}");
        }
        for id in ["1", "작업-1", "urn:x:y", "a b/c:d", &"x".repeat(ID_BYTES_MAX)] {
            assert_eq!(id.parse::<TaskId>().unwrap().as_str(), id);
        }
    }

    #[test]
    fn the_id_of_a_message_without_one_fits_however_long_its_task_is_named() {
        let task = "작".repeat(ID_BYTES_MAX / 3).parse().unwrap();
        let id = MessageId::within(&task, "history/17");
        assert!(id.as_str().parse::<MessageId>().is_ok());
        assert!(id.as_str().ends_with("/history/17"));
    }
}
