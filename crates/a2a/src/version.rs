//! Which version of the protocol somebody speaks.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::wire;

/// A version of the protocol, as its messages name it. Patch numbers never appear on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Version {
    #[serde(rename = "0.1")]
    V0_1,
    #[serde(rename = "0.2")]
    V0_2,
    #[serde(rename = "0.3")]
    V0_3,
    #[serde(rename = "1.0")]
    V1_0,
}

/// The header, query parameter or gRPC metadata key that names the version.
pub const VERSION_HEADER: &str = "A2A-Version";

impl Version {
    pub const ALL: [Self; 4] = [Self::V0_1, Self::V0_2, Self::V0_3, Self::V1_0];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1",
            Self::V0_2 => "0.2",
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
        }
    }

    /// Reads a version of a header or a card: `1.0`, `1`, `0.2.6`. Every 1.x is 1.0 to us.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let numbers: Option<Vec<u16>> = text.trim().splitn(4, '.').map(number).collect();
        match *numbers?.as_slice() {
            [0, 1] | [0, 1, _] => Some(Self::V0_1),
            [0, 2] | [0, 2, _] => Some(Self::V0_2),
            [0, 3] | [0, 3, _] => Some(Self::V0_3),
            [1] | [1, _] | [1, _, _] => Some(Self::V1_0),
            _ => None,
        }
    }

    /// The header in which extensions are named; 0.1 has none.
    #[must_use]
    pub fn extensions_header(self) -> Option<&'static str> {
        match self {
            Self::V0_1 => None,
            Self::V0_2 | Self::V0_3 => Some("X-A2A-Extensions"),
            Self::V1_0 => Some("A2A-Extensions"),
        }
    }

    /// Clients of 0.1 name their tasks; a name that is there already continues that task.
    #[must_use]
    pub fn client_names_tasks(self) -> bool {
        self == Self::V0_1
    }
}

impl Version {
    /// How many messages of a task's history an answer has, when a caller asked for so many or did not say. Without being
    /// asked, 0.1 shows none and later versions all.
    #[must_use]
    pub fn history_length(self, asked: Option<u32>) -> Option<u32> {
        if self == Self::V0_1 { asked.or(Some(0)) } else { asked }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn number(text: &str) -> Option<u16> {
    let legal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    legal.then(|| text.parse().ok())?
}

/// What a method of 1.0 without a version header gets. To the letter of the specification no header means 0.3, which
/// has no such method; a lenient server serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bare {
    Serve,
    Refuse,
}

/// The version that a JSON-RPC request is read and answered in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    Version(Version),
    /// 0.1 if the task was made by `tasks/send`, else 0.3: these methods are spelt alike in both.
    OfTask,
}

/// A request that cannot be served, and the version in which to say so.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    pub version: Version,
    pub error: Error,
}

/// Says which version a JSON-RPC request is in.
///
/// # Errors
/// If the header names a version that nobody speaks, or one that does not have the method.
pub fn select(method: &str, header: Option<&str>, bare: Bare) -> Result<Selected, Refused> {
    let header = header.map(str::trim).filter(|header| !header.is_empty());
    let asked = match header.map(|header| (header, Version::read(header))) {
        None => None,
        Some((_, Some(version))) => Some(version),
        Some((header, None)) => return Err(unsupported(header)),
    };
    let is_new = wire::kind_of(Version::V1_0, method).is_some();
    let is_middle = wire::kind_of(Version::V0_3, method).is_some();
    let is_old = wire::kind_of(Version::V0_1, method).is_some();
    let missing = |version| {
        Err(Refused { version, error: Error::new(ErrorKind::MethodNotFound, "Method not found") })
    };
    match (asked, is_new, is_middle || is_old) {
        (Some(Version::V1_0), true, _) => Ok(Selected::Version(Version::V1_0)),
        (Some(Version::V1_0), false, true) => Err(unsupported("1.0 with a method of 0.x")),
        (Some(Version::V1_0), false, false) => missing(Version::V1_0),
        (None, true, _) => match bare {
            Bare::Serve => Ok(Selected::Version(Version::V1_0)),
            Bare::Refuse => {
                let error = Error::new(
                    ErrorKind::VersionNotSupported,
                    "A request without the header A2A-Version is one of 0.3, which does not have this method",
                );
                Err(Refused { version: Version::V0_3, error })
            }
        },
        (_, false, true) => Ok(match (is_middle, is_old) {
            (true, true) => Selected::OfTask,
            (_, false) => Selected::Version(Version::V0_3),
            (false, true) => Selected::Version(Version::V0_1),
        }),
        (_, _, _) => missing(Version::V0_3),
    }
}

fn unsupported(asked: &str) -> Refused {
    let end = asked.floor_char_boundary(crate::limits::ID_BYTES_MAX);
    let asked = asked.get(..end).unwrap_or_default();
    let message = format!("A2A version is not supported: {asked}; this agent speaks 0.1 to 1.0");
    Refused { version: Version::V1_0, error: Error::new(ErrorKind::VersionNotSupported, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_headers_and_cards_write_them() {
        for (text, version) in [
            ("1.0", Some(Version::V1_0)),
            ("1", Some(Version::V1_0)),
            (" 1.7 ", Some(Version::V1_0)),
            ("0.3.0", Some(Version::V0_3)),
            ("0.2.6", Some(Version::V0_2)),
            ("0.1", Some(Version::V0_1)),
            ("0.4", None),
            ("2.0", None),
            ("", None),
            ("1.x", None),
            ("1.0.", None),
            ("1.0.0.0", None),
            ("-1.0", None),
            ("99999999999.0", None),
        ] {
            assert_eq!(Version::read(text), version, "{text:?}");
        }
    }

    #[track_caller]
    fn check(method: &str, header: Option<&str>, expected: Result<Selected, (Version, ErrorKind)>) {
        let found = select(method, header, Bare::Refuse);
        let found = found.map_err(|refused| (refused.version, refused.error.kind));
        assert_eq!(found, expected, "{method} {header:?}");
    }

    #[test]
    fn the_method_and_the_header_choose_the_version() {
        use ErrorKind::{MethodNotFound, VersionNotSupported};
        let new = Ok(Selected::Version(Version::V1_0));
        let middle = Ok(Selected::Version(Version::V0_3));
        let old = Ok(Selected::Version(Version::V0_1));
        check("SendMessage", Some("1.0"), new);
        check("SendMessage", Some("1.3"), new);
        check("SendMessage", None, Err((Version::V0_3, VersionNotSupported)));
        check("SendMessage", Some("0.3"), Err((Version::V0_3, MethodNotFound)));
        for header in [None, Some(""), Some("0.2"), Some("0.3"), Some("0.1")] {
            check("message/send", header, middle);
            check("tasks/pushNotificationConfig/delete", header, middle);
            check("agent/getAuthenticatedExtendedCard", header, middle);
            check("tasks/send", header, old);
            check("tasks/sendSubscribe", header, old);
            check("tasks/pushNotification/get", header, old);
            check("tasks/get", header, Ok(Selected::OfTask));
            check("tasks/cancel", header, Ok(Selected::OfTask));
            check("tasks/resubscribe", header, Ok(Selected::OfTask));
            check("tasks/list", header, Err((Version::V0_3, MethodNotFound)));
            check("", header, Err((Version::V0_3, MethodNotFound)));
        }
        check("message/send", Some("1.0"), Err((Version::V1_0, VersionNotSupported)));
        check("Bogus", Some("1.0"), Err((Version::V1_0, MethodNotFound)));
        check("SendMessage", Some("2.0"), Err((Version::V1_0, VersionNotSupported)));
        check("message/send", Some("나"), Err((Version::V1_0, VersionNotSupported)));
        assert_eq!(select("SendMessage", None, Bare::Serve), Ok(Selected::Version(Version::V1_0)));
    }
}
