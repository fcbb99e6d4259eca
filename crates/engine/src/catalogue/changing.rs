//! Registering agents, changing what is said of them, and removing them. Every change is in the audit log.

use a2a::model::AgentCard;
use a2a::registry::ard::publisher;
use a2a::registry::changes::{Change as CardChange, is_breaking};
use a2a::registry::disclosure::{Caller, Disclosure, Tier, view};
use a2a::registry::health::{Health, Outcome};
use a2a::registry::registration::{
    Proof, Registration, RegistrationError, decide, identifier_for, may_change,
};
use a2a::registry::validation::Fault;
use a2a::registry::{Entry, Standing};
use a2a::version::Version;
use a2a::wire::write_card;
use agent::identity::{AuditEntry, Principal};
use agent::names::TenantId;
use agent::ports::{KeepEntry, KeptEntry, PortError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cards::{checked, read_value};
use super::{Catalogue, CatalogueError, ENTRIES_MAX, ENTRIES_PER_OWNER_MAX, Listed, read};

/// An agent to be registered, or registered anew.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAgent {
    pub placed: Placed,
    /// `urn:air:<domain>:<name>`; made of the agent's host and name if left out.
    pub identifier: Option<String>,
    /// Who sees it; as before if left out, and whoever proves who they are for a new one.
    pub disclosure: Option<Disclosure>,
}

/// How its card is given.
#[derive(Debug, Clone, PartialEq)]
pub enum Placed {
    /// At the agent's address, or at the card's own.
    Url(String),
    Card(Value),
}

/// What became of a registration.
#[derive(Debug, Clone, PartialEq)]
pub struct Registered {
    pub identifier: String,
    pub registration: Registration,
    pub standing: Standing,
    /// What is different from the card of before.
    pub changes: Vec<CardChange>,
    /// What could be better about the card.
    pub advice: Vec<Fault>,
}

/// What is to be different about an agent, its card aside.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Change {
    pub standing: Option<Standing>,
    pub disclosure: Option<Disclosure>,
}

/// An agent as it is written down to be read in elsewhere: one line of an export.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Written {
    pub identifier: String,
    pub owner: String,
    pub standing: Standing,
    pub disclosure: Disclosure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// In the form of 1.0.
    pub card: Value,
}

impl Catalogue {
    /// Takes an agent in, or its card anew. Who says so has to show that the agent is of the domain in its identifier.
    ///
    /// # Errors
    /// If the card cannot be had or used, nothing shows whose it is, or the identifier is another's.
    pub async fn register(
        &self,
        who: &Principal,
        new: NewAgent,
    ) -> Result<Registered, CatalogueError> {
        let caller = self.caller(Some(who));
        let (card, place, source) = match &new.placed {
            Placed::Url(url) => {
                let fetched = self.fetch_card(url).await?;
                (fetched.card, Some(fetched.address.clone()), Some(fetched.address))
            }
            Placed::Card(value) => {
                let card = read_value(value)?;
                let place = card.interfaces.first().map(|interface| interface.url.clone());
                (card, place, None)
            }
        };
        let advice = checked(&card)?;
        let made = || identifier_for(place.as_deref()?, &card.name);
        let identifier = new.identifier.clone().or_else(made).ok_or_else(|| {
            let why = "no identifier can be made of the agent's address: give one, urn:air:<domain>:<name>";
            CatalogueError::Refused(why.to_owned())
        })?;
        let proof = match (&new.placed, &source) {
            _ if caller == Caller::Keeper => Proof::Vouched,
            (Placed::Url(_), Some(address)) => Proof::Fetched(address.clone()),
            (Placed::Url(_), None) => Proof::Vouched,
            (Placed::Card(value), _) => self.signature(value, &identifier).await,
        };
        self.place(who, &caller, &identifier, &proof, card, source, new.disclosure, advice).await
    }

    async fn signature(&self, card: &Value, identifier: &str) -> Proof {
        let Some(domain) = publisher(identifier) else { return Proof::Vouched };
        let signed = self.signed_by(card, domain).await;
        // Only a keeper may vouch, so that for others this is no proof.
        signed.map_or(Proof::Vouched, |host| Proof::Signed { host })
    }

    #[expect(clippy::too_many_arguments, reason = "a registration, taken apart by its caller")]
    async fn place(
        &self,
        who: &Principal,
        caller: &Caller,
        identifier: &str,
        proof: &Proof,
        card: AgentCard,
        source: Option<String>,
        disclosure: Option<Disclosure>,
        advice: Vec<Fault>,
    ) -> Result<Registered, CatalogueError> {
        let _turn = self.shared.changing.acquire().await.map_err(|_| ending())?;
        let kept = self.shared.parts.entries.entry(identifier).await?;
        let existing = kept.as_ref().map(read).transpose()?;
        let registration = decide(identifier, existing.as_ref(), caller, proof).map_err(refusal)?;
        let now = self.now();
        let is_new = existing.is_none();
        let mut entry = match existing {
            Some(entry) => entry,
            None => {
                self.check_room(who.tenant.as_str())?;
                let waits = self.shared.rules.needs_approval && *caller != Caller::Keeper;
                Entry {
                    identifier: identifier.to_owned(),
                    owner: who.tenant.as_str().to_owned(),
                    standing: if waits { Standing::Pending } else { Standing::Approved },
                    disclosure: Disclosure::of(Tier::Authenticated),
                    versions: Vec::new(),
                    registered_at: now,
                    health: Health::default(),
                    source: None,
                }
            }
        };
        let changes = entry.update(card, now);
        if let Some(disclosure) = disclosure {
            entry.disclosure = disclosure;
        }
        entry.source = source.or(entry.source);
        let action = match (registration, is_breaking(&changes)) {
            (Registration::New, _) => "agents.register",
            (Registration::Update, false) => "agents.update",
            (Registration::Update, true) => "agents.update-breaking",
        };
        let revision = kept.as_ref().map_or(0, |kept| kept.revision);
        self.keep(&entry, revision, &who.tenant, &who.name, action).await?;
        if is_new && entry.source.is_some() {
            self.note(vec![(identifier.to_owned(), Outcome::Answered)]).await?;
        }
        let (identifier, standing) = (identifier.to_owned(), entry.standing);
        Ok(Registered { identifier, registration, standing, changes, advice })
    }

    fn check_room(&self, owner: &str) -> Result<(), CatalogueError> {
        let listed = self.listed();
        let own = listed.iter().filter(|listed| listed.entry.owner == owner).count();
        if own >= ENTRIES_PER_OWNER_MAX || listed.len() >= ENTRIES_MAX {
            let why = format!(
                "there is no room for another agent: at most {ENTRIES_PER_OWNER_MAX} of one owner"
            );
            return Err(CatalogueError::Refused(why));
        }
        Ok(())
    }

    /// Approves or deprecates an agent, or changes who sees it. Only keepers approve.
    ///
    /// # Errors
    /// If the caller does not see the agent, or may not do this.
    pub async fn change(
        &self,
        who: &Principal,
        identifier: &str,
        change: Change,
    ) -> Result<Standing, CatalogueError> {
        let caller = self.caller(Some(who));
        let _turn = self.shared.changing.acquire().await.map_err(|_| ending())?;
        let (mut entry, revision) = self.own(&caller, identifier).await?;
        let was_pending = entry.standing == Standing::Pending;
        let mut action = "agents.disclose";
        if let Some(standing) = change.standing {
            let to_keepers = was_pending || standing == Standing::Pending;
            if to_keepers && standing != entry.standing && caller != Caller::Keeper {
                let why = "a new agent waits for somebody who keeps the catalogue";
                return Err(CatalogueError::Forbidden(why));
            }
            entry.standing = standing;
            action = match standing {
                Standing::Pending => "agents.withhold",
                Standing::Approved => "agents.approve",
                Standing::Deprecated => "agents.deprecate",
            };
        }
        if let Some(disclosure) = change.disclosure {
            entry.disclosure = disclosure;
        }
        self.keep(&entry, revision, &who.tenant, &who.name, action).await?;
        Ok(entry.standing)
    }

    /// Removes an agent with all its versions.
    ///
    /// # Errors
    /// If the caller does not see the agent, or it is another's.
    pub async fn remove(&self, who: &Principal, identifier: &str) -> Result<(), CatalogueError> {
        let caller = self.caller(Some(who));
        let _turn = self.shared.changing.acquire().await.map_err(|_| ending())?;
        let (_, revision) = self.own(&caller, identifier).await?;
        self.forget(identifier, revision, &who.tenant, &who.name, "agents.remove").await
    }

    /// All agents that the caller may change, as they are written down.
    #[must_use]
    pub fn export(&self, who: &Principal) -> Vec<Written> {
        let caller = self.caller(Some(who));
        let listed = self.listed();
        let own = listed.iter().filter(|listed| may_change(&listed.entry, &caller));
        own.filter_map(|listed| Written::of(&listed.entry)).collect()
    }

    /// Takes an agent in as it was written down. A keeper vouches for it; nobody else may.
    ///
    /// # Errors
    /// If the caller does not keep the catalogue, or the agent cannot be used.
    pub async fn import(
        &self,
        who: &Principal,
        written: Written,
    ) -> Result<Registered, CatalogueError> {
        if self.caller(Some(who)) != Caller::Keeper {
            let why = "only who keeps the catalogue may read agents in";
            return Err(CatalogueError::Forbidden(why));
        }
        let owner: TenantId = written.owner.parse().map_err(|error: agent::names::NameError| {
            CatalogueError::Refused(format!("owner: {error}"))
        })?;
        let card = read_value(&written.card)?;
        let advice = checked(&card)?;
        let _turn = self.shared.changing.acquire().await.map_err(|_| ending())?;
        let kept = self.shared.parts.entries.entry(&written.identifier).await?;
        let existing = kept.as_ref().map(read).transpose()?;
        let decided =
            decide(&written.identifier, existing.as_ref(), &Caller::Keeper, &Proof::Vouched);
        let registration = decided.map_err(refusal)?;
        let now = self.now();
        let mut entry = match existing {
            Some(entry) => entry,
            None => {
                self.check_room(owner.as_str())?;
                Entry {
                    identifier: written.identifier.clone(),
                    owner: String::new(),
                    standing: written.standing,
                    disclosure: written.disclosure.clone(),
                    versions: Vec::new(),
                    registered_at: now,
                    health: Health::default(),
                    source: None,
                }
            }
        };
        let changes = entry.update(card, now);
        entry.owner = owner.as_str().to_owned();
        (entry.standing, entry.disclosure) = (written.standing, written.disclosure);
        entry.source = written.source;
        let revision = kept.as_ref().map_or(0, |kept| kept.revision);
        self.keep(&entry, revision, &who.tenant, &who.name, "agents.import").await?;
        let (identifier, standing) = (written.identifier, written.standing);
        Ok(Registered { identifier, registration, standing, changes, advice })
    }

    /// An entry with all its versions, if the caller may change it.
    async fn own(&self, caller: &Caller, identifier: &str) -> Result<(Entry, u64), CatalogueError> {
        let kept = self.shared.parts.entries.entry(identifier).await?;
        let kept = kept.ok_or(CatalogueError::Absent)?;
        let entry = read(&kept)?;
        if may_change(&entry, caller) {
            return Ok((entry, kept.revision));
        }
        Err(match view(&entry, caller) {
            None => CatalogueError::Absent,
            Some(_) => CatalogueError::Forbidden("the agent belongs to another owner"),
        })
    }

    /// Writes an entry, and shows it then. Whoever calls has the turn.
    pub(super) async fn keep(
        &self,
        entry: &Entry,
        revision: u64,
        tenant: &TenantId,
        by: &str,
        action: &str,
    ) -> Result<(), CatalogueError> {
        let body = serde_json::to_vec(entry).map_err(|error| PortError::Broken {
            what: "writing the catalogue",
            source: Box::new(error),
        })?;
        let keep = KeepEntry {
            identifier: entry.identifier.clone(),
            revision,
            body: body.clone(),
            tenant: tenant.clone(),
            audit: self.line(by, action, &entry.identifier),
        };
        if !self.shared.parts.entries.keep_entry(keep).await? {
            return Err(changed());
        }
        let health = serde_json::to_vec(&entry.health).unwrap_or_default();
        let identifier = entry.identifier.clone();
        let kept = KeptEntry { identifier, body, health, revision: revision + 1 };
        self.show(&entry.identifier, Some(Listed::of(&kept)?));
        Ok(())
    }

    pub(super) async fn forget(
        &self,
        identifier: &str,
        revision: u64,
        tenant: &TenantId,
        by: &str,
        action: &str,
    ) -> Result<(), CatalogueError> {
        let line = self.line(by, action, identifier);
        if !self.shared.parts.entries.remove_entry(identifier, revision, tenant, line).await? {
            return Err(changed());
        }
        self.show(identifier, None);
        Ok(())
    }

    fn line(&self, by: &str, action: &str, identifier: &str) -> AuditEntry {
        AuditEntry {
            at: self.shared.parts.clock.now(),
            principal: by.to_owned(),
            action: action.to_owned(),
            object: identifier.to_owned(),
        }
    }
}

impl Written {
    fn of(entry: &Entry) -> Option<Self> {
        Some(Self {
            identifier: entry.identifier.clone(),
            owner: entry.owner.clone(),
            standing: entry.standing,
            disclosure: entry.disclosure.clone(),
            source: entry.source.clone(),
            card: write_card(Version::V1_0, entry.card()?),
        })
    }
}

pub(super) fn ending() -> CatalogueError {
    CatalogueError::Port(PortError::Busy { what: "the catalogue" })
}

fn changed() -> CatalogueError {
    CatalogueError::Conflict("somebody else has changed the agent meanwhile".to_owned())
}

fn refusal(error: RegistrationError) -> CatalogueError {
    match error {
        RegistrationError::Identifier | RegistrationError::Unproven => {
            CatalogueError::Refused(error.to_string())
        }
        RegistrationError::Taken | RegistrationError::Unavailable => {
            CatalogueError::Conflict(error.to_string())
        }
    }
}
