//! Names of servers and tools: `server__tool`, legal for every model, and the same whatever else is configured.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest name of a tool, in characters: what the strictest model server takes.
pub const TOOL_NAME_CHARS_MAX: usize = 64;

/// Longest id of a server, in characters: leaves 42 for the tool.
pub const SERVER_ID_CHARS_MAX: usize = 20;

/// Stands between server and tool; no id of a server has it inside.
pub const SEPARATOR: &str = "__";

/// Hexadecimal digits that tell names apart which would otherwise become the same.
const MARK_DIGITS: usize = 8;

/// Our name of a server: made from the one in the configuration, never from what the server calls itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerId(String);

/// The name under which a model sees a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(String);

/// Why a text is no name of a server or tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is no {kind}: {rule}")]
pub struct ToolNameError {
    kind: &'static str,
    given: String,
    rule: &'static str,
}

impl ServerId {
    /// The id for a name as people write it. A legal name is its own id; any other gets a mark of what was written.
    #[must_use]
    pub fn for_name(name: &str) -> Self {
        if let Ok(id) = name.parse::<Self>()
            && !ends_in_mark(name)
        {
            return id;
        }
        let mut plain = String::new();
        for letter in name.chars() {
            let letter = if is_legal(letter) { letter } else { '-' };
            let repeats = !letter.is_ascii_alphanumeric() && plain.ends_with(letter);
            if !repeats {
                plain.push(letter);
            }
        }
        let plain = plain.trim_matches(['-', '_']);
        let room = SERVER_ID_CHARS_MAX - MARK_DIGITS - 1;
        let plain: String = plain.chars().take(room).collect();
        let plain = if plain.is_empty() { "server".to_owned() } else { plain };
        Self(format!("{}_{}", plain.trim_end_matches('_'), mark(name)))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServerId {
    type Err = ToolNameError;

    fn from_str(text: &str) -> Result<Self, ToolNameError> {
        let fits = (1..=SERVER_ID_CHARS_MAX).contains(&text.len());
        let edges = text.starts_with('_') || text.ends_with('_');
        if !fits || edges || text.contains(SEPARATOR) || !text.chars().all(is_legal) {
            let rule = "use 1 to 20 of a-z, A-Z, 0-9, - and single _ inside";
            return Err(ToolNameError { kind: "id of a server", given: shown(text), rule });
        }
        Ok(Self(text.to_owned()))
    }
}

impl ToolName {
    /// The name of a server's tool. It depends on these two alone, so no other tool or server can change it.
    #[must_use]
    pub fn of(server: &ServerId, original: &str) -> Self {
        let room = TOOL_NAME_CHARS_MAX - server.0.len() - SEPARATOR.len();
        let is_plain = !original.is_empty() && original.chars().all(is_legal);
        if is_plain && original.len() <= room && !ends_in_mark(original) {
            return Self(format!("{server}{SEPARATOR}{original}"));
        }
        let legal = original.chars().map(|letter| if is_legal(letter) { letter } else { '_' });
        let cut: String = legal.take(room - MARK_DIGITS - 1).collect();
        Self(format!("{server}{SEPARATOR}{cut}_{}", mark(original)))
    }

    /// The server whose tool it is; none for a tool that is built in.
    #[must_use]
    pub fn server(&self) -> Option<ServerId> {
        self.0.split_once(SEPARATOR).and_then(|(server, _)| server.parse().ok())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ToolName {
    type Err = ToolNameError;

    fn from_str(text: &str) -> Result<Self, ToolNameError> {
        let fits = (1..=TOOL_NAME_CHARS_MAX).contains(&text.len());
        if !fits || !text.chars().all(is_legal) {
            let rule = "it is server__tool, as `saem mcp tools` lists them";
            return Err(ToolNameError { kind: "name of a tool", given: shown(text), rule });
        }
        Ok(Self(text.to_owned()))
    }
}

macro_rules! as_text {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl TryFrom<String> for $name {
            type Error = ToolNameError;
            fn try_from(text: String) -> Result<Self, ToolNameError> {
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

as_text!(ServerId, ToolName);

fn is_legal(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

fn shown(text: &str) -> String {
    text.chars().take(TOOL_NAME_CHARS_MAX).collect()
}

/// Whether a name looks as if it had got a mark: then it gets one too, so that nobody can take another's name.
fn ends_in_mark(name: &str) -> bool {
    let Some((_, end)) = name.rsplit_once('_') else { return false };
    let is_digit = |letter: char| letter.is_ascii_digit() || ('a'..='f').contains(&letter);
    end.len() == MARK_DIGITS && end.chars().all(is_digit)
}

/// A short sum of a text (FNV-1a, folded). It tells honest names apart; pins, which guard, use a real digest.
fn mark(text: &str) -> String {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let sum = text
        .bytes()
        .fold(start, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{:08x}", (sum >> 32) ^ (sum & 0xffff_ffff))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(server: &str, tool: &str) -> String {
        ToolName::of(&ServerId::for_name(server), tool).to_string()
    }

    #[test]
    fn a_plain_tool_keeps_its_name_behind_its_servers() {
        assert_eq!(name("files", "read_file"), "files__read_file");
        assert_eq!(name("git-hub", "search-code"), "git-hub__search-code");
    }

    #[test]
    fn names_that_would_become_the_same_stay_apart() {
        let dotted = name("s", "a.b");
        assert!(dotted.starts_with("s__a_b_"), "{dotted}");
        assert_ne!(dotted, name("s", "a/b"));
        assert_ne!(dotted, name("s", "a_b"));
        // Whoever calls a tool by the name that another has got does not get it.
        let taken = dotted.strip_prefix("s__").unwrap();
        assert_ne!(dotted, name("s", taken));
    }

    #[test]
    fn a_long_name_is_cut_and_marked() {
        let (one, other) = ("x".repeat(100), format!("{}y", "x".repeat(99)));
        assert_eq!(name("server", &one).len(), TOOL_NAME_CHARS_MAX);
        assert_ne!(name("server", &one), name("server", &other));
    }

    #[test]
    fn a_server_is_called_as_in_the_configuration_or_by_a_mark_of_it() {
        assert_eq!(ServerId::for_name("filesystem").as_str(), "filesystem");
        for odd in ["GitHub Copilot", "내 서버", "a__b", "", "_x", &"n".repeat(50), "a/../b"] {
            let id = ServerId::for_name(odd);
            assert!(id.as_str().parse::<ServerId>().is_ok(), "{odd} {id}");
            assert_eq!(id, ServerId::for_name(odd));
        }
        assert_ne!(ServerId::for_name("내 서버"), ServerId::for_name("네 서버"));
    }

    #[test]
    fn a_name_knows_its_server_and_a_built_in_one_has_none() {
        let server = ServerId::for_name("a_b");
        assert_eq!(ToolName::of(&server, "c__d").server(), Some(server));
        assert_eq!("search_all".parse::<ToolName>().unwrap().server(), None);
    }

    proptest! {
        #[test]
        fn every_name_is_legal_and_no_two_tools_share_one(server in ".{0,30}", one in ".{0,80}", other in ".{0,80}") {
            let id = ServerId::for_name(&server);
            prop_assert!(id.as_str().parse::<ServerId>().is_ok());
            let first = ToolName::of(&id, &one);
            prop_assert!(first.as_str().parse::<ToolName>().is_ok(), "{}", first);
            prop_assert_eq!(first.server(), Some(id.clone()));
            prop_assert_eq!(first == ToolName::of(&id, &other), one == other);
        }
    }
}
