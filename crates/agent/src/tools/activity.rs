//! What is noted of every call: who, what, on whose word, how long and how it ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::naming::ToolName;
use super::policy::Grant;
use crate::identity::Timestamp;

/// Bytes of a reason that are kept.
pub const REASON_BYTES_MAX: usize = 500;

/// One line of the activity log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    pub at: Timestamp,
    pub principal: String,
    #[serde(default)]
    pub session: Option<String>,
    /// The turn in which a model wanted it; none for a call of a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// Our name of the server; none for a tool that is built in.
    pub server: Option<String>,
    pub tool: ToolName,
    /// Redacted.
    pub arguments: Value,
    /// On whose word it ran; none if it did not.
    pub grant: Option<Grant>,
    pub milliseconds: u64,
    pub ending: Ending,
    /// Tokens of the result, about.
    pub tokens: u64,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "why")]
pub enum Ending {
    Done,
    /// The tool says that it failed.
    ToolError(String),
    /// The server or the way to it failed; whether the call happened is not known.
    Failed(String),
    TimedOut,
    Cancelled,
    /// It did not run: policy or a person said no.
    Denied(String),
}

impl Ending {
    /// The word by which lists are filtered.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::ToolError(_) => "tool_error",
            Self::Failed(_) => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Denied(_) => "denied",
        }
    }
}

/// Which lines a list shows; all that is given has to fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActivityFilter {
    pub server: Option<String>,
    pub tool: Option<String>,
    pub session: Option<String>,
    pub principal: Option<String>,
    pub ending: Option<String>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

impl ActivityFilter {
    #[must_use]
    pub fn fits(&self, activity: &Activity) -> bool {
        let same = |wanted: &Option<String>, value: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| value == Some(wanted))
        };
        same(&self.server, activity.server.as_deref())
            && same(&self.tool, Some(activity.tool.as_str()))
            && same(&self.session, activity.session.as_deref())
            && same(&self.principal, Some(&activity.principal))
            && same(&self.ending, Some(activity.ending.as_str()))
            && self.since.is_none_or(|since| since <= activity.at)
            && self.until.is_none_or(|until| activity.at <= until)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_filter_shows_what_fits_all_of_it() {
        let line = Activity {
            at: Timestamp(5),
            principal: "owner".to_owned(),
            session: Some("s".to_owned()),
            turn: None,
            server: Some("files".to_owned()),
            tool: "files__read".parse().unwrap(),
            arguments: json!({}),
            grant: Some(Grant::Once),
            milliseconds: 1,
            ending: Ending::TimedOut,
            tokens: 0,
        };
        let text = |text: &str| Some(text.to_owned());
        let all = ActivityFilter {
            server: text("files"),
            tool: text("files__read"),
            session: text("s"),
            principal: text("owner"),
            ending: text("timed_out"),
            since: Some(Timestamp(5)),
            until: Some(Timestamp(5)),
        };
        assert!(all.fits(&line) && ActivityFilter::default().fits(&line));
        let wrong = [
            ActivityFilter { server: text("x"), ..all.clone() },
            ActivityFilter { tool: text("x"), ..all.clone() },
            ActivityFilter { session: text("x"), ..all.clone() },
            ActivityFilter { principal: text("x"), ..all.clone() },
            ActivityFilter { ending: text("done"), ..all.clone() },
            ActivityFilter { since: Some(Timestamp(6)), ..all.clone() },
            ActivityFilter { until: Some(Timestamp(4)), ..all },
        ];
        assert!(!wrong.iter().any(|filter| filter.fits(&line)));
    }
}
