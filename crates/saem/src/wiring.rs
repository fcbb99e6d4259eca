//! Where the adapters and the engine meet: builds a running Saem from its configuration.

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
use models::BuiltInEmbedder;
use models::remote_embedder::{RemoteEmbedder, RemoteSettings, SecretKey};
use sources::guard::{EgressGuard, EgressRules};
use sources::pages::WebPages;
use store::Store;

use crate::config::{self, Config, EmbedderKind};
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
    pages: Arc<dyn Pages>,
    tasks: Tasks,
}

impl Installation {
    /// Opens the data folder, or makes it; nothing runs yet but what the caller asks for.
    pub(crate) async fn open(config: &Config) -> Result<Self> {
        let folder = config.data_folder()?;
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("the data folder {} cannot be made", folder.display()))?;
        let failpoints = system::failpoints(config::variable("SAEM_FAILPOINT").as_deref());
        let store = open_store_patiently(&folder, config, &failpoints).await?;
        let index = LocalIndex::new(index::Settings { folder: folder.join("index"), failpoints });
        let built_in: Arc<dyn Embedder> =
            Arc::new(BuiltInEmbedder::new().context("the built-in embedder")?);
        let embedder = embedder(config, &built_in).await?;
        let guard = Arc::new(EgressGuard::new(egress(config)?)?);
        let pages: Arc<dyn Pages> = Arc::new(WebPages::new(guard));
        let tasks = Tasks::new();
        let parts = Parts {
            documents: Arc::new(store.clone()),
            jobs: Arc::new(store.clone()),
            audit: Arc::new(store.clone()),
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
        Ok(Self { folder, store, knowledge, embedder, pages, tasks })
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

/// Opens only the store, for commands that need nothing else.
pub(crate) fn open_store_of(config: &Config) -> Result<Store> {
    let folder = config.data_folder()?;
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("the data folder {} cannot be made", folder.display()))?;
    open_store(&folder, config, &system::failpoints(None))
}

/// The keys in a store.
pub(crate) fn keyring(store: &Store) -> Keyring {
    let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
    Keyring { keys: Arc::new(store.clone()), clock, entropy }
}

/// A process that was killed may hold the file for a moment longer.
async fn open_store_patiently(
    folder: &Path,
    config: &Config,
    failpoints: &Arc<dyn Failpoints>,
) -> Result<Store> {
    for _ in 0..OPEN_WAITS_MAX {
        match open_store(folder, config, failpoints) {
            Err(error) if matches!(error.downcast_ref(), Some(store::OpenError::InUse { .. })) => {
                tokio::time::sleep(OPEN_WAIT).await;
            }
            outcome => return outcome,
        }
    }
    open_store(folder, config, failpoints)
}

fn open_store(folder: &Path, config: &Config, failpoints: &Arc<dyn Failpoints>) -> Result<Store> {
    let options = store::Options {
        disk_reserve_bytes: config.data.reserve_mebibytes << 20,
        failpoints: Arc::clone(failpoints),
        ..store::Options::default()
    };
    Ok(Store::open(&folder.join("saem.redb"), options)?)
}

async fn embedder(config: &Config, built_in: &Arc<dyn Embedder>) -> Result<Arc<dyn Embedder>> {
    let settings = &config.embedder;
    match settings.kind {
        EmbedderKind::BuiltIn => Ok(Arc::clone(built_in)),
        EmbedderKind::Openai => {
            if settings.model.is_empty() {
                bail!("embedder.kind is openai, but embedder.model is empty: name the model");
            }
            let mut remote = RemoteSettings::new(&settings.base_url, &settings.model);
            let key = settings.api_key.reveal();
            remote.api_key = (!key.is_empty()).then(|| SecretKey::new(key));
            remote.query_prefix.clone_from(&settings.query_prefix);
            remote.passage_prefix.clone_from(&settings.passage_prefix);
            Ok(Arc::new(RemoteEmbedder::connect(remote).await?))
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

fn egress(config: &Config) -> Result<EgressRules> {
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
    })
}
