//! Why the engine did not do what it was asked.

use agent::filter::FilterError;
use agent::names::NameError;
use agent::ports::PortError;

/// Variants by who can do something about it.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The caller: what was named is not there, or is not the caller's to see.
    #[error("there is no {what}")]
    Absent { what: &'static str },
    /// The caller: the request cannot be used as it is.
    #[error("{0}")]
    Refused(String),
    /// The caller: something of that name is in the way.
    #[error("{0}")]
    Conflict(String),
    /// Whoever the port says.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl From<FilterError> for EngineError {
    fn from(error: FilterError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<NameError> for EngineError {
    fn from(error: NameError) -> Self {
        Self::Refused(error.to_string())
    }
}
