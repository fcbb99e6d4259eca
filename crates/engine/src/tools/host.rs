//! The registry: every server of the configuration, and every tool of every server, for each tenant.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::identity::AuditEntry;
use agent::names::TenantId;
use agent::ports::{ActivityList, Clock, Page, ToolRecords};
use agent::tools::activity::Activity;
use agent::tools::definition::Definition;
use agent::tools::listing::{self, Listing};
use agent::tools::naming::{ServerId, ToolName};
use agent::tools::offer::FIND_TOOLS;
use agent::tools::outcome::ToolOutput;
use agent::tools::policy::{Pins, Standing, Trust};
use agent::tools::suspicion::Finding;
use futures_util::future::join_all;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::access::{Access, LoginParts};
use super::agents::only_skills;
use super::calls::{CallError, Caller, absent, broken, down, failed};
use super::child::Start;
use super::connection::{Link, PromptLine, ResourceLine};
use super::greeting::Ground;
use super::handler::{Lending, Lent};
use super::journal::Journal;
use super::keeper::{Keeper, State};
use super::limits::Launcher;
use super::relay::Relays;
use super::settings::ServerSettings;
use super::switches::Switches;
use crate::error::EngineError;
use crate::peers::Peers;
use crate::tasks::Tasks;

/// Names that are ours: no server's tool may look like one of them.
const BUILT_IN: [&str; 5] =
    [FIND_TOOLS, "search_all", "search_by_metadata", "get_section", "list_documents"];

/// The hexadecimal SHA-256 of a text.
pub(crate) fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a host is made of.
#[derive(Clone)]
pub struct HostParts {
    pub records: Arc<dyn ToolRecords>,
    pub clock: Arc<dyn Clock>,
    pub tasks: Tasks,
    /// What servers may ask, after a yes; none, and no server is told that it could.
    pub lending: Option<Lending>,
    /// How to get into servers that want to know who comes; none, and nobody gets in.
    pub logins: Option<LoginParts>,
}

/// Plain values of the configuration.
#[derive(Debug, Clone, Default)]
pub struct HostRules {
    pub servers: Vec<ServerSettings>,
    /// Who may use them at all.
    pub tenants: Vec<TenantId>,
    /// Variables of our environment that every program gets.
    pub environment: BTreeMap<String, String>,
    /// Starts programs with their limits; none, and they have none.
    pub launcher: Option<Launcher>,
    /// Where programs' standard error is kept; none for nowhere.
    pub logs: Option<PathBuf>,
    /// Tokens that servers may have of our model, all together.
    pub sampling_tokens_max: u64,
}

/// A tool as the registry has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub tool: Definition,
    pub standing: Standing,
}

/// A server as the registry has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerLine {
    pub id: ServerId,
    pub name: String,
    /// The program or address.
    pub launch: String,
    pub is_trusted: bool,
    pub state: ServerState,
    /// Whether it can be switched on and off: what the configuration has off stays off.
    pub is_switchable: bool,
    /// Whether it may want to know who comes.
    pub takes_login: bool,
    pub tools: usize,
    /// Tools that were left out, and why.
    pub refused: Vec<(String, String)>,
}

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    Off,
    Idle,
    Up { version: String },
    Down { why: String },
}

/// All tools of a tenant, and the servers that they come from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalogue {
    pub tools: Vec<Entry>,
    pub servers: Vec<ServerLine>,
}

/// The MCP host. Cheap to clone.
#[derive(Clone)]
pub struct Host {
    pub(super) parts: HostParts,
    pub(super) rules: Arc<HostRules>,
    pub(super) journal: Journal,
    /// Tokens that servers may still use, those of all tenants together.
    sampling_tokens_left: Arc<AtomicU64>,
    keepers: Arc<Mutex<Keepers>>,
    pub(super) relays: Relays,
    known: Arc<Mutex<HashMap<TenantId, Known>>>,
    pub(super) switches: Switches,
    pub(super) agents: Option<Peers>,
}

type Keepers = HashMap<(TenantId, ServerId), Arc<Keeper>>;

/// The lists of a tenant's servers, and their tools once compared with each other.
#[derive(Default)]
struct Known {
    listings: BTreeMap<ServerId, Arc<Listing>>,
    compared: BTreeMap<ServerId, Vec<Definition>>,
}

impl Known {
    /// Takes a list in. A list that is the same as before costs nothing.
    fn learn(&mut self, server: &ServerId, listing: &Arc<Listing>) {
        if self.listings.get(server).is_some_and(|known| Arc::ptr_eq(known, listing)) {
            return;
        }
        self.listings.insert(server.clone(), Arc::clone(listing));
        let mut all: Vec<Definition> =
            self.listings.values().flat_map(|listing| listing.tools.clone()).collect();
        listing::compare(&mut all, &BUILT_IN);
        self.compared.clear();
        for tool in all {
            self.compared.entry(tool.server.clone()).or_default().push(tool);
        }
    }
}

impl Host {
    #[must_use]
    pub fn new(parts: HostParts, rules: HostRules) -> Self {
        let journal = Journal::start(Arc::clone(&parts.records), &parts.tasks);
        let sampling_tokens_left = Arc::new(AtomicU64::new(rules.sampling_tokens_max));
        Self {
            parts,
            rules: Arc::new(rules),
            journal,
            sampling_tokens_left,
            keepers: Arc::default(),
            relays: Relays::default(),
            known: Arc::default(),
            switches: Switches::default(),
            agents: None,
        }
    }

    /// Whether a tenant has any server to ask.
    #[must_use]
    pub fn serves(&self, tenant: &TenantId) -> bool {
        self.servers(tenant).any(|server| self.is_on(tenant, server))
    }

    /// The servers as they are, without starting any.
    #[must_use]
    pub fn known_servers(&self, tenant: &TenantId) -> Vec<ServerLine> {
        let lines = self.servers(tenant).map(|server| ServerLine {
            id: server.id.clone(),
            name: server.name.clone(),
            launch: server.launch.shown(),
            is_trusted: server.rules.trust == Trust::Trusted,
            state: self.state(tenant, server),
            is_switchable: server.enabled,
            takes_login: server.launch.door().is_some(),
            tools: 0,
            refused: Vec::new(),
        });
        lines.collect()
    }

    /// Every tool of every server, or of one; servers are started, all at once, and those that do not answer are left
    /// out with their reason.
    pub async fn catalogue(&self, tenant: &TenantId, only: Option<&ServerId>) -> Catalogue {
        let wanted = |line: &ServerLine| only.is_none_or(|only| line.id == *only);
        let lines: Vec<ServerLine> =
            self.known_servers(tenant).into_iter().filter(wanted).collect();
        let asked = lines.into_iter().map(|line| self.line_with_pins(tenant, line));
        let mut listed = join_all(asked).await;
        let mut catalogue = Catalogue::default();
        // Only now are all lists there to be compared.
        for (line, pins) in &mut listed {
            let (Some(pins), Some(server)) = (pins, self.server(tenant, &line.id)) else {
                continue;
            };
            let tools = self.definitions(tenant, &line.id);
            let admitted = tools.into_iter().filter(|tool| server.rules.admit(&tool.original));
            let entries = admitted.map(|tool| Entry { standing: pins.standing(&tool), tool });
            let before = catalogue.tools.len();
            catalogue.tools.extend(entries);
            line.tools = catalogue.tools.len() - before;
        }
        catalogue.servers = listed.into_iter().map(|(line, _)| line).collect();
        catalogue
    }

    /// The tools that a model may be shown: of servers that answer within `wait_max`, those that are as somebody has seen
    /// them and that nothing speaks against.
    pub async fn offered(&self, tenant: &TenantId, wait_max: Duration) -> Vec<Definition> {
        let enabled = self.servers(tenant).filter(|server| self.is_on(tenant, server));
        let asked = enabled
            .map(|server| tokio::time::timeout(wait_max, self.catalogue(tenant, Some(&server.id))));
        let listed = join_all(asked).await.into_iter().filter_map(Result::ok);
        let may_be_shown = |entry: &Entry| {
            let is_refused = entry.tool.findings.iter().any(Finding::is_fatal);
            entry.standing == Standing::Known && !is_refused
        };
        let entries = listed.flat_map(|catalogue| catalogue.tools).filter(may_be_shown);
        entries.map(|entry| entry.tool).collect()
    }

    /// The line of a server that was asked for its tools, and its pins if it answered.
    async fn line_with_pins(
        &self,
        tenant: &TenantId,
        mut line: ServerLine,
    ) -> (ServerLine, Option<Pins>) {
        let server = self.server(tenant, &line.id).filter(|server| self.is_on(tenant, server));
        let Some(server) = server else { return (line, None) };
        let listed = self.listed(tenant, server).await;
        line.state = self.state(tenant, server);
        let pinned = match listed {
            Ok(listing) => {
                line.refused.clone_from(&listing.refused);
                self.pins(tenant, &line.id, &listing.tools).await.map_err(|error| {
                    format!(
                        "what was accepted of its tools cannot be read, so none is used: {error}"
                    )
                })
            }
            Err(why) => Err(why),
        };
        match pinned {
            Ok(pins) => (line, Some(pins)),
            Err(why) => {
                line.state = ServerState::Down { why };
                (line, None)
            }
        }
    }

    /// One tool of one server, which is started if it has to be.
    pub(super) async fn entry(
        &self,
        tenant: &TenantId,
        name: &ToolName,
    ) -> Result<Entry, CallError> {
        let id = name.server().ok_or_else(|| absent(name))?;
        let server = self.server(tenant, &id).filter(|server| self.is_on(tenant, server));
        let server = server.ok_or_else(|| absent(name))?;
        let listing = self.listed(tenant, server).await.map_err(|why| down(&id, &why))?;
        let pins = self.pins(tenant, &id, &listing.tools).await.map_err(|e| broken(&e))?;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let own = known.get(tenant).and_then(|known| known.compared.get(&id));
        let tool = own.into_iter().flatten().find(|tool| tool.name == *name).cloned();
        let tool = tool.ok_or_else(|| absent(name))?;
        Ok(Entry { standing: pins.standing(&tool), tool })
    }

    /// The list of a server, compared with those of all others that have been asked.
    async fn listed(
        &self,
        tenant: &TenantId,
        server: &ServerSettings,
    ) -> Result<Arc<Listing>, String> {
        let listing = if server.launch.is_agent() {
            self.skills(&server.id).await?
        } else {
            let link = self.keeper(tenant, server).link().await?;
            link.tools().await.map_err(|error| error.to_string())?
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(tenant.clone()).or_default().learn(&server.id, &listing);
        Ok(listing)
    }

    fn definitions(&self, tenant: &TenantId, server: &ServerId) -> Vec<Definition> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let own = known.get(tenant).and_then(|known| known.compared.get(server));
        own.cloned().unwrap_or_default()
    }

    pub async fn activity(
        &self,
        tenant: &TenantId,
        list: ActivityList,
    ) -> Result<Page<Activity>, EngineError> {
        self.journal.settle().await;
        Ok(self.parts.records.activity(tenant, list).await?)
    }

    pub async fn resources(
        &self,
        tenant: &TenantId,
        server: &ServerId,
    ) -> Result<Vec<ResourceLine>, CallError> {
        let link = self.link(tenant, server).await?;
        link.resources().await.map_err(|error| failed(server, error))
    }

    pub async fn prompts(
        &self,
        tenant: &TenantId,
        server: &ServerId,
    ) -> Result<Vec<PromptLine>, CallError> {
        let link = self.link(tenant, server).await?;
        link.prompts().await.map_err(|error| failed(server, error))
    }

    /// What a resource of a server holds. Reading is what a person asks for by its address, so nobody is asked again.
    pub async fn read(
        &self,
        caller: &Caller,
        server: &ServerId,
        address: &str,
    ) -> Result<ToolOutput, CallError> {
        let link = self.link(&caller.principal.tenant, server).await?;
        let behalf = caller.behalf(None);
        link.read(address, &behalf).await.map_err(|error| failed(server, error))
    }

    /// The messages of a prompt, each with who says it.
    pub async fn prompt(
        &self,
        caller: &Caller,
        server: &ServerId,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Vec<(String, String)>, CallError> {
        let link = self.link(&caller.principal.tenant, server).await?;
        let behalf = caller.behalf(None);
        let messages = link.prompt(name, arguments, &behalf).await;
        messages.map_err(|error| failed(server, error))
    }

    pub(super) async fn link(
        &self,
        tenant: &TenantId,
        id: &ServerId,
    ) -> Result<Arc<Link>, CallError> {
        let unknown =
            || CallError::Absent(format!("there is no server {id}; `saem mcp list` shows them"));
        let server = self.server(tenant, id).filter(|server| self.is_on(tenant, server));
        let server = server.ok_or_else(unknown)?;
        if server.launch.is_agent() {
            return Err(only_skills(id));
        }
        self.keeper(tenant, server).link().await.map_err(|why| down(id, &why))
    }

    /// Whether a tenant may use what the configuration names.
    #[must_use]
    pub fn may_use(&self, tenant: &TenantId) -> bool {
        self.rules.tenants.contains(tenant)
    }

    fn servers(&self, tenant: &TenantId) -> impl Iterator<Item = &ServerSettings> {
        let may = self.may_use(tenant);
        self.rules.servers.iter().filter(move |_| may)
    }

    pub(super) fn server(&self, tenant: &TenantId, id: &ServerId) -> Option<&ServerSettings> {
        self.servers(tenant).find(|server| server.id == *id)
    }

    pub(super) fn keeper(&self, tenant: &TenantId, server: &ServerSettings) -> Arc<Keeper> {
        let key = (tenant.clone(), server.id.clone());
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        let keeper = keepers.entry(key).or_insert_with(|| {
            let ground = self.ground(server, self.access(tenant, server));
            Arc::new(Keeper::start(server.clone(), &ground, self.lent(tenant)))
        });
        Arc::clone(keeper)
    }

    fn lent(&self, tenant: &TenantId) -> Option<Lent> {
        let lending = self.parts.lending.clone()?;
        let (clock, tokens_left) =
            (Arc::clone(&self.parts.clock), Arc::clone(&self.sampling_tokens_left));
        Some(Lent { lending, tenant: tenant.clone(), clock, tokens_left })
    }

    pub(super) fn ground(&self, server: &ServerSettings, access: Option<Access>) -> Ground {
        let log = self.rules.logs.as_ref().map(|logs| logs.join(format!("{}.log", server.id)));
        let start = Start {
            environment: self.rules.environment.clone(),
            launcher: self.rules.launcher.clone(),
            log,
        };
        Ground { start, tasks: self.parts.tasks.clone(), access: access.map(Arc::new) }
    }

    fn access(&self, tenant: &TenantId, server: &ServerSettings) -> Option<Access> {
        let (parts, url) = (self.parts.logins.clone()?, server.launch.door()?);
        let (id, settings) = (server.id.clone(), server.login.clone());
        let clock = Arc::clone(&self.parts.clock);
        Some(Access::new(tenant.clone(), id, url.to_owned(), settings, parts, clock))
    }

    /// Forgets a connection: the next caller gets a new one.
    pub(super) fn forget(&self, tenant: &TenantId, server: &ServerId) {
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.remove(&(tenant.clone(), server.clone()));
    }

    fn state(&self, tenant: &TenantId, server: &ServerSettings) -> ServerState {
        if !self.is_on(tenant, server) {
            return ServerState::Off;
        }
        if server.launch.is_agent() {
            return self.agent_state(&server.id);
        }
        let keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        match keepers.get(&(tenant.clone(), server.id.clone())).map(|keeper| keeper.state()) {
            None | Some(State::Idle) => ServerState::Idle,
            Some(State::Up { version }) => ServerState::Up { version },
            Some(State::Down { why }) => ServerState::Down { why },
        }
    }

    pub(super) fn audit(&self, principal: &str, action: &str, object: &str) -> AuditEntry {
        AuditEntry {
            at: self.parts.clock.now(),
            principal: principal.to_owned(),
            action: action.to_owned(),
            object: agent::text::clip(object, 1_000).to_owned(),
        }
    }
}
