//! Where the adapters and the engine meet: builds a running Saem from its configuration.

pub(crate) mod a2a;
pub(crate) mod agents;
pub(crate) mod catalogue;
pub(crate) mod copilot;
pub(crate) mod logins;
pub(crate) mod mcp;
pub(crate) mod research;
pub(crate) mod tools;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent::ports::{Embedder, Failpoints, Pages};
use agent::retrieval::Shares;
use anyhow::{Context, Result, bail};
use engine::keys::Keyring;
use engine::tasks::Tasks;
use engine::worker::{Pool, PoolSettings};
use engine::{Knowledge, Parts, Rules};
use extract::SplitLimits;
use index::LocalIndex;
use models::remote_embedder::{RemoteEmbedder, RemoteSettings, SecretKey};
use models::{BuiltInEmbedder, NoEmbedder, Remembered, Remembering};
use sources::guard::{EgressGuard, EgressRules};
use sources::pages::WebPages;
use store::{OpenError, Store};

use crate::config::{self, Config, EmbedderKind};
use crate::presence::{self, Running};
use crate::system::{self, SystemClock, SystemEntropy};

/// Waited for background work to end before the process goes.
const STOP_WAIT_MAX: Duration = Duration::from_secs(20);

/// How often, and how long each time, a file in use is waited for.
const OPEN_WAITS_MAX: u32 = 20;
const OPEN_WAIT: Duration = Duration::from_millis(50);

/// A Saem with its parts, open on one data folder.
pub(crate) struct Installation {
    pub(crate) folder: PathBuf,
    pub(crate) store: Store,
    pub(crate) knowledge: Knowledge,
    pub(crate) embedder: Arc<dyn Embedder>,
    guard: Arc<EgressGuard>,
    pages: Arc<dyn Pages>,
    tasks: Tasks,
}

impl Installation {
    /// Opens the data folder, or makes it, for this process alone.
    pub(crate) async fn open(config: &Config) -> Result<Self> {
        match claim_unless(config, |_| None::<Infallible>).await? {
            Ok(store) => Self::on(config, store).await,
            Err(never) => match never {},
        }
    }

    /// Puts the parts together around an open store; nothing runs yet but what the caller asks for.
    pub(crate) async fn on(config: &Config, store: Store) -> Result<Self> {
        let folder = config.data_folder()?;
        let failpoints = failpoints();
        // With the names that are looked up, some threads are left for searches.
        let writers_max = crate::working_threads() / 3;
        let settings = index::Settings { folder: folder.join("index"), failpoints, writers_max };
        let index = LocalIndex::new(settings);
        let built_in: Arc<dyn Embedder> =
            Arc::new(BuiltInEmbedder::new().context("the built-in embedder")?);
        let embedder = embedder(config, &built_in).await?;
        let guard = Arc::new(EgressGuard::new(egress(config)?));
        let pages: Arc<dyn Pages> = Arc::new(WebPages::new(Arc::clone(&guard)));
        let tasks = Tasks::new();
        let parts = Parts {
            documents: Arc::new(store.clone()),
            jobs: Arc::new(store.clone()),
            audit: Arc::new(store.clone()),
            sessions: Arc::new(store.clone()),
            ledger: Arc::new(store.clone()),
            tool_records: Arc::new(store.clone()),
            agent_tasks: Arc::new(store.clone()),
            index: Arc::new(index),
            embedder: Arc::clone(&embedder),
            other_embedders: vec![built_in],
            pages: Arc::clone(&pages),
            readers: readers(config)?,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            tasks: tasks.clone(),
        };
        let knowledge = Knowledge::new(parts, rules(config)?);
        Ok(Self { folder, store, knowledge, embedder, guard, pages, tasks })
    }

    /// The way out to strangers.
    pub(crate) fn guard(&self) -> Arc<EgressGuard> {
        Arc::clone(&self.guard)
    }

    pub(crate) fn pages(&self) -> Arc<dyn Pages> {
        Arc::clone(&self.pages)
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Ends background work in good order.
    pub(crate) async fn close(self) {
        if !self.tasks.stop(STOP_WAIT_MAX).await {
            tracing::warn!("some work did not end in time; it goes on at the next start");
        }
    }
}

/// The keys in a store.
pub(crate) fn keyring(store: &Store) -> Keyring {
    let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
    Keyring { keys: Arc::new(store.clone()), clock, entropy }
}

/// Who has the data folder.
pub(crate) enum Claim {
    /// This process, which holds it as long as it holds the store.
    Ours(Store),
    /// A server that can be asked.
    Served(Running),
}

/// Takes the data folder, unless a server has it that can be asked.
pub(crate) async fn claim(config: &Config) -> Result<Claim> {
    let claimed = claim_unless(config, presence::find).await?;
    Ok(claimed.map_or_else(Claim::Served, Claim::Ours))
}

/// Takes the data folder, and waits a moment if somebody has it: a process that was killed may hold it for a moment
/// longer. Somebody whom `find` finds is not waited for.
async fn claim_unless<T>(
    config: &Config,
    find: impl Fn(&Path) -> Option<T>,
) -> Result<Result<Store, T>> {
    let folder = config.data_folder()?;
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("the data folder {} cannot be made", folder.display()))?;
    let mut waits = 0;
    loop {
        match open_store(&folder, config) {
            Ok(store) => return Ok(Ok(store)),
            Err(error @ OpenError::InUse { .. }) => {
                if let Some(found) = find(&folder) {
                    return Ok(Err(found));
                }
                if waits == OPEN_WAITS_MAX {
                    return Err(error.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
        waits += 1;
        tokio::time::sleep(OPEN_WAIT).await;
    }
}

fn open_store(folder: &Path, config: &Config) -> Result<Store, OpenError> {
    let options = store::Options {
        disk_reserve_bytes: config.data.reserve_mebibytes << 20,
        failpoints: failpoints(),
        ..store::Options::default()
    };
    Store::open(&folder.join("saem.redb"), options)
}

fn failpoints() -> Arc<dyn Failpoints> {
    system::failpoints(config::variable("SAEM_FAILPOINT").as_deref())
}

/// Memory for vectors that a server gave: some two thousand pieces of text, which is several long documents.
const VECTORS_BYTES_MAX: usize = 16 << 20;

/// Memory for vectors of questions that the built-in embedder was asked: about a thousand, which many ask again.
const QUESTIONS_BYTES_MAX: usize = 2 << 20;

async fn embedder(config: &Config, built_in: &Arc<dyn Embedder>) -> Result<Arc<dyn Embedder>> {
    let settings = &config.embedder;
    match settings.kind {
        EmbedderKind::BuiltIn => {
            let built_in = Arc::clone(built_in);
            let what = Remembered::Questions;
            Ok(Arc::new(Remembering::new(built_in, what, QUESTIONS_BYTES_MAX)))
        }
        EmbedderKind::None => Ok(Arc::new(NoEmbedder)),
        EmbedderKind::Openai => {
            if settings.model.is_empty() {
                bail!("embedder.kind is openai, but embedder.model is empty: name the model");
            }
            let mut remote = RemoteSettings::new(&settings.base_url, &settings.model);
            let key = settings.api_key.reveal();
            remote.api_key = (!key.is_empty()).then(|| SecretKey::new(key));
            remote.query_prefix.clone_from(&settings.query_prefix);
            remote.passage_prefix.clone_from(&settings.passage_prefix);
            let remote = Arc::new(RemoteEmbedder::connect(remote).await?);
            Ok(Arc::new(Remembering::new(remote, Remembered::Everything, VECTORS_BYTES_MAX)))
        }
    }
}

fn readers(config: &Config) -> Result<Pool> {
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let children_max = match config.ingest.readers {
        0 => processors,
        readers => readers,
    };
    Ok(Pool::new(PoolSettings {
        program: std::env::current_exe().context("this program's own path")?,
        argument: "worker".to_owned(),
        children_max,
        read_wait_max: Duration::from_secs(config.ingest.read_seconds_max),
    }))
}

pub(crate) fn egress(config: &Config) -> Result<EgressRules> {
    let mut rules = EgressRules::default();
    for network in &config.egress.allow_private {
        rules.allow_private.push(network.parse().with_context(|| {
            format!("egress.allow_private: {network} is no network such as 10.1.0.0/16")
        })?);
    }
    rules.ports.extend(&config.egress.ports);
    Ok(rules)
}

fn rules(config: &Config) -> Result<Rules> {
    let split = SplitLimits {
        tokens_target: config.split.tokens_target,
        tokens_max: config.split.tokens_max,
        ..SplitLimits::default()
    };
    let path_type = |rule: &String| match rule.split_once('=') {
        Some((pattern, kind)) => Ok((pattern.to_owned(), kind.to_owned())),
        None => bail!("ingest.path_types: {rule:?} is not of the form pattern=type"),
    };
    Ok(Rules {
        shares: Shares { faq: config.search.faq, guide: config.search.guide },
        index_recipe: format!("{} {} {split:?}", index::RECIPE, engine::RECIPE),
        split,
        path_types: config.ingest.path_types.iter().map(path_type).collect::<Result<_>>()?,
        document_bytes_max: config.ingest.document_mebibytes_max << 20,
        jobs_kept_hours: config.cleanup.jobs_kept_hours,
        costs_kept_days: config.cleanup.costs_kept_days,
        activity_kept_days: config.cleanup.activity_kept_days,
    })
}
