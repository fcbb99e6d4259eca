//! Settings of the agents that Saem speaks to: `[agents.NAME]`, and what holds for all of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent::tools::naming::ServerId;
use agent::tools::policy::{ServerRules, Trust};
use anyhow::{Context, Result, bail};
use engine::peers::{AgentSettings, Source};
use engine::tools::{Launch, LoginSettings, ProgramLimits, ServerSettings, Waits};
use serde::Deserialize;
use serde_json::Value;
use sources::guard::Certificates;

use super::mcp::entry::checked;
use super::mcp::text::expand;

/// Bytes of a file with a card or with keys: what is taken from the net, too.
const FILE_BYTES_MAX: u64 = 2 << 20;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Agents {
    pub(crate) registries: Vec<String>,
    pub(crate) hops_max: u32,
    connect_seconds_max: u64,
    list_seconds_max: u64,
    call_seconds_max: u64,
    call_total_seconds_max: u64,
    /// By their names.
    #[serde(flatten)]
    named: toml::Table,
}

/// An agent of the configuration: as one to speak to, and as a server of tools.
#[derive(Debug, Clone)]
pub(crate) struct NamedAgent {
    pub(crate) agent: AgentSettings,
    pub(crate) server: ServerSettings,
    /// What the agent is shown, and who may vouch for it.
    pub(crate) certificates: Option<Certificates>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    url: Option<String>,
    card: Option<Value>,
    registry: Option<String>,
    identifier: Option<String>,
    headers: BTreeMap<String, String>,
    origins: Vec<String>,
    keys_file: Option<PathBuf>,
    signed: bool,
    certificate: Option<PathBuf>,
    certificate_key: Option<PathBuf>,
    ca: Option<PathBuf>,
    tools: Option<bool>,
    enabled: Option<bool>,
    allow: Vec<String>,
    deny: Vec<String>,
    trust: Trust,
    connect_seconds_max: Option<u64>,
    list_seconds_max: Option<u64>,
    call_seconds_max: Option<u64>,
    call_total_seconds_max: Option<u64>,
}

impl Agents {
    /// The agents that have names.
    pub(crate) fn named(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<NamedAgent>> {
        let read = |(name, value): (&String, &toml::Value)| {
            let value = serde_json::to_value(value).context("no table")?;
            let mut entry: Entry = serde_json::from_value(value)?;
            for text in entry.url.iter_mut().chain(entry.headers.values_mut()) {
                *text = expand(text, variable)?;
            }
            entry.settings(name, self.waits())
        };
        let named = self.named.iter();
        named.map(|each| read(each).with_context(|| format!("agents.{}", each.0))).collect()
    }

    /// How long an agent is waited for of which nothing else is said.
    pub(crate) fn waits(&self) -> Waits {
        Waits {
            connect: Duration::from_secs(self.connect_seconds_max.max(1)),
            list: Duration::from_secs(self.list_seconds_max.max(1)),
            call: Duration::from_secs(self.call_seconds_max.max(1)),
            call_total: Duration::from_secs(self.call_total_seconds_max.max(1)),
        }
    }
}

impl Entry {
    fn settings(self, name: &str, waits: Waits) -> Result<NamedAgent> {
        let seconds = |own: Option<u64>, general: Duration| {
            own.map_or(general, |seconds| Duration::from_secs(seconds.max(1)))
        };
        let waits = Waits {
            connect: seconds(self.connect_seconds_max, waits.connect),
            list: seconds(self.list_seconds_max, waits.list),
            call: seconds(self.call_seconds_max, waits.call),
            call_total: seconds(self.call_total_seconds_max, waits.call_total),
        };
        let source = match (self.url, self.card, self.registry, self.identifier) {
            (Some(url), None, None, None) => Source::Address(checked(&url)?),
            (None, Some(Value::String(file)), None, None) => {
                Source::Card(json_file(Path::new(&file)).context("card")?)
            }
            (None, Some(card @ Value::Object(_)), None, None) => Source::Card(card),
            (None, None, Some(registry), Some(identifier)) => {
                Source::Catalogue { registry: checked(&registry)?, identifier }
            }
            _ => bail!(
                "it needs either url, or card (a file or a table), or registry and identifier"
            ),
        };
        let certificates = certificates(
            self.certificate.as_deref(),
            self.certificate_key.as_deref(),
            self.ca.as_deref(),
        )?;
        let origins = self.origins.iter().map(|origin| checked(origin).context("origins"));
        let id = ServerId::for_name(name);
        let server = ServerSettings {
            id: id.clone(),
            name: name.to_owned(),
            enabled: self.enabled.unwrap_or(true) && self.tools.unwrap_or(true),
            launch: Launch::Agent { shown: source.shown() },
            rules: ServerRules { trust: self.trust, allow: self.allow, deny: self.deny },
            waits,
            roots: Vec::new(),
            limits: ProgramLimits::default(),
            login: LoginSettings::default(),
        };
        let agent = AgentSettings {
            id,
            name: name.to_owned(),
            source,
            headers: self.headers,
            origins: origins.collect::<Result<_>>()?,
            keys: self.keys_file.as_deref().map(json_file).transpose().context("keys_file")?,
            must_be_signed: self.signed,
            waits,
        };
        Ok(NamedAgent { agent, server, certificates })
    }
}

/// What stands in the files of a certificate, its key, and the CAs that are believed.
fn certificates(
    certificate: Option<&Path>,
    key: Option<&Path>,
    ca: Option<&Path>,
) -> Result<Option<Certificates>> {
    let own = match (certificate, key) {
        (None, None) if ca.is_none() => return Ok(None),
        (None, None) => Vec::new(),
        (Some(certificate), Some(key)) => {
            let mut own = file(certificate).context("certificate")?.into_bytes();
            own.push(b'\n');
            own.extend(file(key).context("certificate_key")?.into_bytes());
            own
        }
        _ => bail!("certificate and certificate_key go together: give both or neither"),
    };
    let authorities = ca.map(file).transpose().context("ca")?.unwrap_or_default();
    Ok(Some(Certificates { own, authorities: authorities.into_bytes() }))
}

fn file(path: &Path) -> Result<String> {
    let unreadable = || format!("{} cannot be read", path.display());
    if std::fs::metadata(path).with_context(unreadable)?.len() > FILE_BYTES_MAX {
        bail!("{} is larger than {} MiB", path.display(), FILE_BYTES_MAX >> 20);
    }
    std::fs::read_to_string(path).with_context(unreadable)
}

fn json_file(path: &Path) -> Result<Value> {
    let text = file(path)?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Result<Vec<NamedAgent>> {
        let general = "registries = []\nhops_max = 4\nconnect_seconds_max = 1\nlist_seconds_max = 2\ncall_seconds_max = 3\ncall_total_seconds_max = 4\n";
        let agents: Agents = toml::from_str(&format!("{general}{text}"))?;
        agents.named(&|name| (name == "TOKEN").then(|| "hush".to_owned()))
    }

    #[test]
    fn an_agent_is_an_address_a_card_or_an_entry_of_a_catalogue() {
        let agents = named(
            "[a]\nurl = \"http://127.0.0.1:9/a\"\nheaders = { Authorization = \"Bearer ${TOKEN}\" }\ncall_seconds_max = 30\n\
             [b.card]\nname = \"B\"\n\
             [c]\nregistry = \"https://r.example\"\nidentifier = \"urn:air:r.example:c\"\ntools = false\n",
        )
        .unwrap();
        let shown: Vec<String> = agents.iter().map(|one| one.agent.source.shown()).collect();
        assert_eq!(shown, ["http://127.0.0.1:9/a", "the card of B", "urn:air:r.example:c"]);
        let first = &agents[0].agent;
        assert_eq!(first.headers["Authorization"], "Bearer hush");
        assert!(!format!("{first:?}").contains("hush"));
        assert_eq!((first.waits.call.as_secs(), first.waits.call_total.as_secs()), (30, 4));
        let for_the_copilot: Vec<bool> = agents.iter().map(|one| one.server.enabled).collect();
        assert_eq!(for_the_copilot, [true, true, false]);
    }

    #[test]
    fn what_is_no_agent_is_an_error_that_says_which() {
        for text in [
            "[a]\n",
            "[a]\nurl = \"http://x\"\ncard = \"y.json\"\n",
            "[a]\nurl = \"ftp://x\"\n",
            "[a]\nurl = \"http://x\"\nurll = 1\n",
            "[a]\ncard = \"/nowhere/card.json\"\n",
            "[a]\nregistry = \"https://r.example\"\n",
            "[a]\nurl = \"http://x\"\norigins = [\"nothing\"]\n",
            "[a]\nurl = \"http://x\"\ncertificate = \"alone.pem\"\n",
            "[a]\nurl = \"http://x\"\nca = \"/nowhere/ca.pem\"\n",
            "a = 1\n",
        ] {
            let error = format!("{:#}", named(text).unwrap_err());
            assert!(error.contains("agents.a"), "{text}: {error}");
        }
    }
}
