//! Configuration: defaults compiled in, overridden by a file, the environment and flags, in this order.

mod a2a;
mod agents;
mod copilot;
mod mcp;
mod registry;
mod research;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use toml::{Table, Value};
use url::Url;

pub(crate) use self::a2a::{A2a, BareCardKind, CardKind, TaskStore};
pub(crate) use self::agents::{Agents, NamedAgent};
pub(crate) use self::copilot::{Copilot, Memory, Models, SchemaKind, SessionStore};
pub(crate) use self::mcp::Mcp;
pub(crate) use self::registry::Registry;
pub(crate) use self::research::Research;

/// The file that users read is the one that holds.
const DEFAULTS: &str = include_str!("../../../config/default.toml");

/// All settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) data: Data,
    pub(crate) log: Log,
    pub(crate) server: Server,
    pub(crate) auth: Auth,
    pub(crate) ingest: Ingest,
    pub(crate) split: Split,
    pub(crate) search: Search,
    pub(crate) embedder: Embedder,
    pub(crate) models: Models,
    pub(crate) copilot: Copilot,
    pub(crate) memory: Memory,
    pub(crate) mcp: Mcp,
    pub(crate) a2a: A2a,
    pub(crate) registry: Registry,
    pub(crate) agents: Agents,
    pub(crate) research: Research,
    pub(crate) telemetry: Telemetry,
    pub(crate) egress: Egress,
    pub(crate) cleanup: Cleanup,
    /// The server that does the work instead of this process; only a flag names one.
    #[serde(skip)]
    pub(crate) remote: Option<RemoteServer>,
}

/// A server somewhere, and the key that it is called with.
#[derive(Debug, Clone)]
pub(crate) struct RemoteServer {
    pub(crate) address: Url,
    pub(crate) key: Option<Secret>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    pub(crate) folder: String,
    pub(crate) reserve_mebibytes: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) level: String,
    pub(crate) format: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    pub(crate) listen: String,
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) networks: Vec<String>,
    pub(crate) tls_certificate: String,
    pub(crate) tls_key: String,
    pub(crate) tls_client_ca: String,
    pub(crate) connections_max: usize,
    pub(crate) connections_per_address_max: usize,
    pub(crate) header_seconds_max: u64,
    pub(crate) idle_seconds_max: u64,
    pub(crate) body_mebibytes_max: usize,
    pub(crate) drain_seconds_max: u64,
    pub(crate) requests_per_minute_max: u32,
    pub(crate) requests_at_once_max: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Auth {
    pub(crate) jwt_issuer: String,
    pub(crate) jwt_audience: String,
    pub(crate) jwks_url: String,
    pub(crate) resource: String,
    pub(crate) tenant_claim: String,
    pub(crate) scope_claim: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ingest {
    pub(crate) document_mebibytes_max: usize,
    pub(crate) readers: usize,
    pub(crate) read_seconds_max: u64,
    pub(crate) path_types: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Split {
    pub(crate) tokens_target: usize,
    pub(crate) tokens_max: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    pub(crate) faq: usize,
    pub(crate) guide: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Embedder {
    pub(crate) kind: EmbedderKind,
    pub(crate) base_url: String,
    pub(crate) model: String,
    pub(crate) api_key: Secret,
    pub(crate) query_prefix: String,
    pub(crate) passage_prefix: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EmbedderKind {
    BuiltIn,
    Openai,
    None,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Telemetry {
    pub(crate) otlp_endpoint: String,
    pub(crate) otlp_headers: Vec<Secret>,
    pub(crate) content: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Egress {
    pub(crate) allow_private: Vec<String>,
    pub(crate) ports: Vec<u16>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cleanup {
    pub(crate) hour: u8,
    pub(crate) jobs_kept_hours: u64,
    pub(crate) costs_kept_days: u32,
    pub(crate) activity_kept_days: u32,
}

/// A value that is never printed.
#[derive(Clone, Deserialize)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "\"\"" } else { "\"(set)\"" })
    }
}

/// What the command line overrides.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrides {
    pub(crate) file: Option<PathBuf>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) listen: Option<String>,
    pub(crate) server: Option<String>,
}

/// Reads the configuration of this process.
pub(crate) fn load(overrides: &Overrides) -> Result<Config> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    let environment = std::env::vars().filter(|(name, _)| name.starts_with("SAEM_")).collect();
    let file = match &overrides.file {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("the configuration {} cannot be read", path.display()))?;
            Some((path.as_path(), text))
        }
        None => None,
    };
    let mut config =
        merge(file.as_ref().map(|(path, text)| (*path, text.as_str())), environment, overrides)?;
    let key = || variable(KEY_VARIABLE).map(Secret);
    config.remote = overrides.server.as_deref().map(|text| remote(text, key())).transpose()?;
    Ok(config)
}

fn remote(text: &str, key: Option<Secret>) -> Result<RemoteServer> {
    let is_plain = |address: &Url| {
        matches!(address.scheme(), "http" | "https")
            && address.username().is_empty()
            && address.password().is_none()
            && address.query().is_none()
            && address.fragment().is_none()
    };
    // The text is not repeated: it may hold what should not be seen.
    let address = text.parse().ok().filter(is_plain).with_context(|| {
        format!("--server takes an address such as https://saem.example.com; the key goes into {KEY_VARIABLE}")
    })?;
    Ok(RemoteServer { address, key })
}

/// Reads one variable of the environment that is no setting.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn merge(
    file: Option<(&Path, &str)>,
    environment: Vec<(String, String)>,
    overrides: &Overrides,
) -> Result<Config> {
    let mut settings: Table = DEFAULTS.parse().context("config/default.toml")?;
    if let Some((path, text)) = file {
        let own: Table = text
            .parse()
            .with_context(|| format!("the configuration {} is not TOML", path.display()))?;
        overlay(&mut settings, own, path)?;
    }
    for (name, value) in environment {
        set_from_environment(&mut settings, &name, &value)?;
    }
    if let Some(data) = &overrides.data {
        set(&mut settings, "data", "folder", Value::String(data.display().to_string()));
    }
    if let Some(listen) = &overrides.listen {
        set(&mut settings, "server", "listen", Value::String(listen.clone()));
    }
    Value::Table(settings).try_into().context("the configuration holds a value of the wrong kind")
}

/// Sections whose tables are things with names of their own, such as `[agents.NAME]`.
const OPEN_SECTIONS: &[&str] = &["agents"];

/// Puts a file's settings over the defaults; a key that is no setting is an error, since it is a typo.
fn overlay(settings: &mut Table, own: Table, path: &Path) -> Result<()> {
    for (section, value) in own {
        let known = settings.get_mut(&section).and_then(Value::as_table_mut);
        let (Some(known), Value::Table(values)) = (known, value) else {
            bail!("{}: there is no section [{section}]; see config/default.toml", path.display());
        };
        for (key, value) in values {
            let is_name = OPEN_SECTIONS.contains(&section.as_str()) && value.is_table();
            if !known.contains_key(&key) && !is_name {
                bail!(
                    "{}: there is no setting {section}.{key}; see config/default.toml",
                    path.display()
                );
            }
            known.insert(key, value);
        }
    }
    Ok(())
}

/// `SAEM_SERVER_LISTEN` is `server.listen`: the name is looked up among all settings.
fn set_from_environment(settings: &mut Table, name: &str, text: &str) -> Result<()> {
    for (section, values) in settings.iter_mut() {
        let Some(values) = values.as_table_mut() else { continue };
        for (key, value) in values.iter_mut() {
            if format!("SAEM_{section}_{key}").to_uppercase() == name {
                *value = read_like(value, text)
                    .with_context(|| format!("{name}={text} does not fit {section}.{key}"))?;
                return Ok(());
            }
        }
    }
    if NOT_SETTINGS.contains(&name) {
        return Ok(());
    }
    bail!("{name} is no setting: SAEM_ and the names of section and key, as in SAEM_SERVER_LISTEN")
}

/// Variables that mean something else.
const NOT_SETTINGS: &[&str] = &["SAEM_DATA", "SAEM_FAILPOINT", KEY_VARIABLE];

/// Holds the key for the server of `--server`: a flag would stand in every list of processes.
const KEY_VARIABLE: &str = "SAEM_API_KEY";

/// A text from the environment as a value of the same kind as the default.
fn read_like(default: &Value, text: &str) -> Result<Value> {
    Ok(match default {
        Value::String(_) => Value::String(text.to_owned()),
        Value::Array(_) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            let read = |part: &str| match part.parse() {
                Ok(number) => Value::Integer(number),
                Err(_) => Value::String(part.to_owned()),
            };
            Value::Array(parts.map(read).collect())
        }
        Value::Integer(_) => Value::Integer(text.parse()?),
        Value::Float(_) => Value::Float(text.parse()?),
        Value::Boolean(_) => Value::Boolean(text.parse()?),
        Value::Datetime(_) | Value::Table(_) => bail!("it cannot be set by the environment"),
    })
}

fn set(settings: &mut Table, section: &str, key: &str, value: Value) {
    if let Some(section) = settings.get_mut(section).and_then(Value::as_table_mut) {
        section.insert(key.to_owned(), value);
    }
}

impl Config {
    /// Where everything is kept: as set, else the platform's folder for a program's data.
    pub(crate) fn data_folder(&self) -> Result<PathBuf> {
        if !self.data.folder.is_empty() {
            return Ok(PathBuf::from(&self.data.folder));
        }
        Ok(platform_folder()?.join("saem"))
    }
}

/// The platform's folder for the data of programs.
pub(crate) fn platform_folder() -> Result<PathBuf> {
    if let Some(folder) = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|f| f.is_absolute()) {
        return Ok(folder);
    }
    let home =
        variable("HOME").context("HOME is not set: say where to keep data with --data DIR")?;
    let home = PathBuf::from(home);
    Ok(if cfg!(target_os = "macos") {
        home.join("Library/Application Support")
    } else {
        home.join(".local/share")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        file: Option<&str>,
        environment: &[(&str, &str)],
        listen: Option<&str>,
    ) -> Result<Config> {
        let environment =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let overrides = Overrides { listen: listen.map(str::to_owned), ..Overrides::default() };
        merge(file.map(|text| (Path::new("x.toml"), text)), environment.collect(), &overrides)
    }

    #[test]
    fn each_layer_wins_over_the_one_below() {
        let listen = |config: Result<Config>| config.unwrap().server.listen;
        let file = Some("[server]\nlisten = \"f\"");
        let environment = [("SAEM_SERVER_LISTEN", "e")];
        assert_eq!(listen(check(None, &[], None)), "127.0.0.1:7777");
        assert_eq!(listen(check(file, &[], None)), "f");
        assert_eq!(listen(check(file, &environment, None)), "e");
        assert_eq!(listen(check(file, &environment, Some("x"))), "x");
    }

    #[test]
    fn a_setting_that_does_not_exist_is_an_error() {
        for (file, environment) in [
            (Some("[server]\nlistne = \"f\""), &[][..]),
            (Some("[sever]\nlisten = \"f\""), &[]),
            (Some("server = 1"), &[]),
            (None, &[("SAEM_SERVER_LISTNE", "x")]),
            (None, &[("SAEM_SEARCH_FAQ", "many")]),
        ] {
            assert!(check(file, environment, None).is_err(), "{file:?} {environment:?}");
        }
    }

    #[test]
    fn lists_and_numbers_come_from_the_environment_too() {
        let environment =
            [("SAEM_SERVER_HOSTS", "a.example, b.example"), ("SAEM_EGRESS_PORTS", "8080")];
        let config = check(None, &environment, None).unwrap();
        assert_eq!(config.server.hosts, ["a.example", "b.example"]);
        assert_eq!(config.egress.ports, [8080]);
    }

    #[test]
    fn every_setting_is_explained() {
        let mut explained = false;
        for line in DEFAULTS.lines() {
            let is_setting = line.contains(" = ") && !line.starts_with('#');
            // Two settings may share a comment when they stand together.
            assert!(!is_setting || explained, "{line}");
            explained = line.starts_with('#') || (is_setting && explained);
        }
    }

    #[test]
    fn a_server_is_an_address_without_credentials() {
        for text in ["http://127.0.0.1:7777", "https://saem.example.com/below"] {
            assert_eq!(remote(text, None).unwrap().address, text.parse().unwrap());
        }
        for text in [
            "",
            "localhost:7777",
            "saem.example.com",
            "ftp://a",
            "http://user:hush@a",
            "http://a?api_key=hush",
        ] {
            let error = format!("{:#}", remote(text, None).unwrap_err());
            assert!(error.contains("--server"), "{error}");
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        let config = check(None, &[("SAEM_EMBEDDER_API_KEY", "hush")], None).unwrap();
        assert_eq!(config.embedder.api_key.reveal(), "hush");
        assert!(!format!("{config:?}").contains("hush"));
    }
}
