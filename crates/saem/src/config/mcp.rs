//! Settings of MCP. Servers of tools are read from our own file, and from the JSON that other programs use, as it is.

pub(super) mod entry;
mod oauth;
pub(super) mod text;

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use engine::tools::{ProgramLimits, ServerSettings, Waits};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Bytes of a file of servers: hundreds of them.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The file in the data folder that is read without being named.
const OWN_FILE: &str = "mcp.json";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mcp {
    pub(crate) prompts: String,
    pub(crate) sse: bool,
    pub(crate) config: Vec<String>,
    pub(crate) tenants: Vec<String>,
    pub(crate) environment: Vec<String>,
    pub(crate) connect_seconds_max: u64,
    pub(crate) list_seconds_max: u64,
    pub(crate) call_seconds_max: u64,
    pub(crate) call_total_seconds_max: u64,
    pub(crate) memory_mib_max: u64,
    pub(crate) files_max: u64,
    pub(crate) processes_max: u64,
    pub(crate) approval_seconds_max: u64,
    pub(crate) sampling_tokens_max: u64,
    pub(crate) servers: toml::Table,
}

/// The servers of all files, and what was wrong with those that are left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Servers {
    pub(crate) servers: Vec<ServerSettings>,
    pub(crate) warnings: Vec<String>,
}

impl Mcp {
    /// Reads every file. Our own file has to be right; a server in somebody else's that cannot be used is left out.
    pub(crate) fn servers(
        &self,
        data_folder: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Servers> {
        let mut found = Servers::default();
        for (name, value) in &self.servers {
            let value = serde_json::to_value(value).context("mcp.servers")?;
            let server = entry::read(name, &value, entry::Strictness::Strict, variable)
                .and_then(|entry| entry.settings(name, self.waits(), self.limits()))
                .with_context(|| format!("mcp.servers.{name}"))?;
            found.add(server, "the configuration");
        }
        let own = data_folder.join(OWN_FILE);
        let named = self.config.iter().map(PathBuf::from);
        let own = own.exists().then_some(own);
        for path in named.chain(own) {
            self.read_file(&path, variable, &mut found)
                .with_context(|| format!("the servers of tools in {}", path.display()))?;
        }
        Ok(found)
    }

    fn read_file(
        &self,
        path: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
        found: &mut Servers,
    ) -> Result<()> {
        check_owner(path)?;
        let text = std::fs::read_to_string(path).context("the file cannot be read")?;
        let file = path.display().to_string();
        for (name, value) in servers_in(&text)? {
            let server = entry::read(&name, &value, entry::Strictness::Lenient, variable)
                .and_then(|entry| entry.settings(&name, self.waits(), self.limits()));
            match server {
                Ok(server) => found.add(server, &file),
                Err(error) => found.warnings.push(format!("{name} in {file}: {error:#}")),
            }
        }
        Ok(())
    }

    fn waits(&self) -> Waits {
        Waits {
            connect: Duration::from_secs(self.connect_seconds_max.max(1)),
            list: Duration::from_secs(self.list_seconds_max.max(1)),
            call: Duration::from_secs(self.call_seconds_max.max(1)),
            call_total: Duration::from_secs(self.call_total_seconds_max.max(1)),
        }
    }

    fn limits(&self) -> ProgramLimits {
        ProgramLimits {
            memory_mebibytes_max: self.memory_mib_max,
            files_max: self.files_max,
            processes_max: self.processes_max,
        }
    }
}

impl Servers {
    /// The first of a name stays; names that differ only in case would be taken for each other.
    pub(crate) fn add(&mut self, server: ServerSettings, file: &str) {
        let known: BTreeSet<String> =
            self.servers.iter().map(|server| server.id.as_str().to_lowercase()).collect();
        if known.contains(&server.id.as_str().to_lowercase()) {
            let name = server.name;
            self.warnings.push(format!("{name} in {file}: a server of this name is there already"));
        } else {
            self.servers.push(server);
        }
    }
}

/// A file that others may write would let them start programs as us.
fn check_owner(path: &Path) -> Result<()> {
    let about = std::fs::metadata(path).context("the file cannot be read")?;
    if about.len() > FILE_BYTES_MAX {
        bail!("the file is larger than {} MiB", FILE_BYTES_MAX >> 20);
    }
    let is_ours = about.uid() == rustix::process::geteuid().as_raw() || about.uid() == 0;
    if !is_ours || about.mode() & 0o022 != 0 {
        bail!(
            "others may write the file, and it names programs to be started: make it yours alone with `chmod go-w`"
        );
    }
    Ok(())
}

/// `mcpServers` of Claude Desktop and Cursor, `servers` of VS Code's mcp.json, `mcp.servers` of its settings.
fn servers_in(text: &str) -> Result<Map<String, Value>> {
    let file: Value =
        serde_json::from_str(&text::without_comments(text)).context("the file is not JSON")?;
    let places = ["/mcpServers", "/servers", "/mcp/servers"];
    let found = places.into_iter().find_map(|place| file.pointer(place));
    let servers = found.and_then(Value::as_object).cloned();
    servers.context("the file has neither mcpServers nor servers")
}

#[cfg(test)]
mod tests;
