//! What is known of a server before it is connected to: plain values of the owner's configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use agent::tools::naming::ServerId;
use agent::tools::policy::ServerRules;

use super::access::LoginSettings;
use super::limits::ProgramLimits;

/// Bytes of a command that a list shows: a line.
const SHOWN_BYTES_MAX: usize = 120;

/// One server of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSettings {
    pub id: ServerId,
    /// As it is called in the configuration.
    pub name: String,
    pub enabled: bool,
    pub launch: Launch,
    pub rules: ServerRules,
    pub waits: Waits,
    /// Folders that the server is told it may work in.
    pub roots: Vec<PathBuf>,
    pub login: LoginSettings,
    /// What it may take of the machine, if it is a program.
    pub limits: ProgramLimits,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Launch {
    /// A program of this machine. It gets these variables and a few harmless ones, nothing else of our environment.
    Program {
        command: String,
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
        folder: Option<PathBuf>,
    },
    /// An address that speaks Streamable HTTP.
    Address { url: String, headers: BTreeMap<String, String> },
    /// An agent, whose skills are its tools; what is known of it the client of agents knows.
    Agent { shown: String },
}

/// Values of variables and headers are keys more often than not, so they are not printed.
impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program { command, arguments, environment, folder } => f
                .debug_struct("Program")
                .field("command", command)
                .field("arguments", &arguments.len())
                .field("environment", &environment.keys())
                .field("folder", folder)
                .finish(),
            Self::Address { url, headers } => f
                .debug_struct("Address")
                .field("url", &url.split('?').next().unwrap_or_default())
                .field("headers", &headers.keys())
                .finish(),
            Self::Agent { shown } => f.debug_struct("Agent").field("shown", shown).finish(),
        }
    }
}

impl Launch {
    #[must_use]
    pub fn is_agent(&self) -> bool {
        matches!(self, Self::Agent { .. })
    }

    /// The address of a server that may want a login: not one for which the owner has written down what to show.
    #[must_use]
    pub fn door(&self) -> Option<&str> {
        match self {
            Self::Address { url, headers }
                if !headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) =>
            {
                Some(url)
            }
            Self::Address { .. } | Self::Program { .. } | Self::Agent { .. } => None,
        }
    }

    /// What people see of it in a list.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Program { command, arguments, .. } => {
                let all = std::iter::once(command).chain(arguments);
                let words: Vec<&str> = all.flat_map(|word| word.split_whitespace()).collect();
                agent::text::clip(&words.join(" "), SHOWN_BYTES_MAX).to_owned()
            }
            Self::Address { url, .. } => url.split('?').next().unwrap_or_default().to_owned(),
            Self::Agent { shown } => agent::text::clip(shown, SHOWN_BYTES_MAX).to_owned(),
        }
    }
}

/// How long a server is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// From starting it to its greeting.
    pub connect: Duration,
    /// For one list with all its pages.
    pub list: Duration,
    /// For a call without a sign of life; progress begins it anew.
    pub call: Duration,
    /// For a call whatever happens.
    pub call_total: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            list: Duration::from_secs(15),
            call: Duration::from_secs(60),
            call_total: Duration::from_secs(600),
        }
    }
}
