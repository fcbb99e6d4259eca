//! One server as it is written down.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use agent::tools::naming::ServerId;
use agent::tools::policy::{ServerRules, Trust};
use anyhow::{Context, Result, bail};
use engine::tools::{Launch, ProgramLimits, ServerSettings, Waits};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::oauth::OAuth;
use super::text::expand;

/// What becomes of a key that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// An error: in our own file it is a typo.
    Strict,
    /// Nothing: it means something to the program that the file is for.
    Lenient,
}

/// Keys that mean something here, in our own file.
const KEYS: [&str; 19] = [
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "oauth",
    "enabled",
    "allow",
    "deny",
    "trust",
    "roots",
    "connect_seconds_max",
    "list_seconds_max",
    "call_seconds_max",
    "call_total_seconds_max",
    "memory_mib_max",
    "files_max",
    "processes_max",
];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    #[serde(alias = "serverUrl", alias = "httpUrl")]
    url: Option<String>,
    headers: BTreeMap<String, String>,
    oauth: OAuth,
    #[serde(rename = "type", alias = "transport")]
    kind: Option<String>,
    enabled: Option<bool>,
    disabled: bool,
    allow: Vec<String>,
    deny: Vec<String>,
    trust: Trust,
    roots: Vec<PathBuf>,
    connect_seconds_max: Option<u64>,
    list_seconds_max: Option<u64>,
    call_seconds_max: Option<u64>,
    call_total_seconds_max: Option<u64>,
    memory_mib_max: Option<u64>,
    files_max: Option<u64>,
    processes_max: Option<u64>,
}

/// Reads a server, its variables filled in.
pub(super) fn read(
    name: &str,
    value: &Value,
    strictness: Strictness,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Entry> {
    let keys = value.as_object().with_context(|| format!("{name} is no table"))?.keys();
    let unknown = keys.into_iter().find(|key| !KEYS.contains(&key.as_str()));
    if let (Some(key), Strictness::Strict) = (unknown, strictness) {
        bail!("there is no setting {key}; there are: {}", KEYS.join(", "));
    }
    let mut entry: Entry = serde_json::from_value(value.clone())?;
    let fill = |text: &mut String| -> Result<()> {
        *text = expand(text, variable)?;
        Ok(())
    };
    entry.command.iter_mut().chain(&mut entry.url).try_for_each(fill)?;
    entry.args.iter_mut().try_for_each(fill)?;
    entry.env.values_mut().chain(entry.headers.values_mut()).try_for_each(fill)?;
    entry.oauth.texts().try_for_each(fill)?;
    Ok(entry)
}

impl Entry {
    pub(super) fn settings(
        self,
        name: &str,
        waits: Waits,
        limits: ProgramLimits,
    ) -> Result<ServerSettings> {
        let seconds = |own: Option<u64>, general: Duration| {
            own.map_or(general, |seconds| Duration::from_secs(seconds.max(1)))
        };
        let waits = Waits {
            connect: seconds(self.connect_seconds_max, waits.connect),
            list: seconds(self.list_seconds_max, waits.list),
            call: seconds(self.call_seconds_max, waits.call),
            call_total: seconds(self.call_total_seconds_max, waits.call_total),
        };
        let limits = ProgramLimits {
            memory_mebibytes_max: self.memory_mib_max.unwrap_or(limits.memory_mebibytes_max),
            files_max: self.files_max.unwrap_or(limits.files_max),
            processes_max: self.processes_max.unwrap_or(limits.processes_max),
        };
        let kind = self.kind.as_deref().unwrap_or_default();
        if kind.eq_ignore_ascii_case("sse") {
            bail!(
                "it speaks the transport of 2024 (sse), which was replaced: use its Streamable HTTP address"
            );
        }
        let launch = match (self.command, self.url) {
            (Some(command), None) if !command.is_empty() => Launch::Program {
                command,
                arguments: self.args,
                environment: self.env,
                folder: self.cwd,
            },
            (None, Some(url)) => Launch::Address { url: checked(&url)?, headers: self.headers },
            _ => bail!("it needs either a command or a url"),
        };
        Ok(ServerSettings {
            id: ServerId::for_name(name),
            name: name.to_owned(),
            enabled: self.enabled.unwrap_or(!self.disabled),
            launch,
            rules: ServerRules { trust: self.trust, allow: self.allow, deny: self.deny },
            waits,
            roots: self.roots,
            login: self.oauth.settings()?,
            limits,
        })
    }
}

/// An address of the web. Private ones are fine: the owner of the machine has written it.
pub(in crate::config) fn checked(text: &str) -> Result<String> {
    // The text is not repeated: it may hold a key.
    let url: Url = text.parse().ok().context("the url is no address")?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        bail!("the url has to begin with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        bail!("the url holds a password: put it into headers");
    }
    Ok(url.into())
}
