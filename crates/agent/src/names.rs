//! The names of things: each is checked once, when it is made, and is then a type of its own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest name, in characters: it must stay readable in a table and legal in a path.
pub const NAME_CHARS_MAX: usize = 64;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {given:?} is not a legal name: {rule}")]
pub struct NameError {
    kind: &'static str,
    given: String,
    rule: &'static str,
}

/// The unit of isolation. It comes from the caller's identity, never from a request field.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TenantId(String);

/// A named set of documents of one `doc_type`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CollectionName(String);

/// One document of a tenant: 32 hexadecimal digits derived from its collection and source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DocumentId(String);

impl TenantId {
    /// The only tenant of an installation without keys.
    #[must_use]
    pub fn local() -> Self {
        Self("local".to_owned())
    }
}

impl FromStr for TenantId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if text.is_empty() || text.len() > NAME_CHARS_MAX || !text.chars().all(legal) {
            let rule = "use 1 to 64 of a-z, 0-9, - and _";
            return Err(NameError { kind: "tenant", given: shown(text), rule });
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for CollectionName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let legal = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let fits = (1..=NAME_CHARS_MAX).contains(&text.chars().count());
        if !fits || !text.chars().all(legal) {
            let rule = "use 1 to 64 letters (Hangul too), digits, - and _";
            return Err(NameError { kind: "collection", given: shown(text), rule });
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for DocumentId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let legal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if text.len() != 32 || !text.chars().all(legal) {
            let rule = "it has 32 digits of 0-9 and a-f; `saem documents list` shows them";
            return Err(NameError { kind: "document id", given: shown(text), rule });
        }
        Ok(Self(text.to_owned()))
    }
}

impl DocumentId {
    /// The number that its digits write, which takes half the room.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 16] {
        u128::from_str_radix(&self.0, 16).unwrap_or_default().to_be_bytes()
    }
}

/// As much of a refused name as an error message can bear.
fn shown(text: &str) -> String {
    text.chars().take(NAME_CHARS_MAX).collect()
}

macro_rules! as_text {
    ($($name:ident),*) => {$(
        impl $name {
            /// The name as it was given.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    )*};
}

as_text!(TenantId, CollectionName, DocumentId);

/// A node of a document's heading tree; 0 is the whole document.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SectionId {
    pub document: DocumentId,
    pub ordinal: u32,
}

impl fmt::Display for SectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.document, self.ordinal)
    }
}

impl FromStr for SectionId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let refused = || NameError {
            kind: "section id",
            given: shown(text),
            rule: "it is a document id, a dot and a number, as passages show it",
        };
        let (document, ordinal) = text.split_once('.').ok_or_else(refused)?;
        let document = document.parse().map_err(|_| refused())?;
        Ok(Self { document, ordinal: ordinal.parse().map_err(|_| refused())? })
    }
}

impl TryFrom<String> for SectionId {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<SectionId> for String {
    fn from(id: SectionId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_paths_or_headers_are_refused() {
        for name in ["", ".", "..", "../x", "a/b", "a\\b", "a\0b", "a b", "A", "가", "a\nb", "%2e"]
        {
            assert!(name.parse::<TenantId>().is_err(), "{name:?}");
        }
        for name in
            ["", ".", "..", "../x", "a/b", "a\\b", "a\0b", "a b", "a\nb", "\u{202e}a", "%2e"]
        {
            assert!(name.parse::<CollectionName>().is_err(), "{name:?}");
        }
        assert!("x".repeat(65).parse::<TenantId>().is_err());
        assert!("가이드-2".parse::<CollectionName>().is_ok());
    }

    #[test]
    fn a_document_id_is_a_number_of_its_own() {
        let document: DocumentId = "0123456789abcdef00000000000000ff".parse().unwrap();
        let expected = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0, 0, 0, 0, 0, 0, 0, 0xff];
        assert_eq!(document.to_bytes(), expected);
    }

    #[test]
    fn a_section_id_reads_back_as_it_was_written() {
        let document: DocumentId = "0123456789abcdef0123456789abcdef".parse().unwrap();
        let id = SectionId { document, ordinal: 7 };
        assert_eq!(id.to_string().parse::<SectionId>(), Ok(id));
        assert!("0123456789abcdef0123456789abcdef".parse::<SectionId>().is_err());
        assert!("..7".parse::<SectionId>().is_err());
    }
}
