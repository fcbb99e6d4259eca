//! The embedded index: a folder for each tenant, in it the generation that serves and perhaps one being built.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use agent::knowledge::DocumentChunks;
use agent::names::TenantId;
use agent::ports::{
    Failpoints, Find, Finding, Index, IndexState, Lane, Later, NoFailpoints, PortError,
};

use tokio::sync::Semaphore;

use crate::finding::{LocalFinding, Nothing};
use crate::generation::{Generation, Payload};
use crate::snapshot::Snapshot;

/// Where an index lives and what may interrupt it.
pub struct Settings {
    pub folder: PathBuf,
    pub failpoints: Arc<dyn Failpoints>,
    /// Indexes that are written at the same time: fewer than there are threads that may wait, so that searches find one.
    pub writers_max: usize,
}

/// Where nobody says how many threads there are.
const WRITERS_USUAL: usize = 2;

impl Settings {
    /// An index in `folder`.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self { folder, failpoints: Arc::new(NoFailpoints), writers_max: WRITERS_USUAL }
    }
}

/// Hybrid search on this machine's disk. Cheap to clone.
#[derive(Clone)]
pub struct LocalIndex {
    settings: Arc<Settings>,
    shelves: Arc<Mutex<HashMap<TenantId, Arc<Shelf>>>>,
    writers: Arc<Semaphore>,
}

/// A tenant's indexes.
struct Shelf {
    folder: PathBuf,
    serving: RwLock<Option<Arc<Generation>>>,
    building: RwLock<Option<Arc<Generation>>>,
}

impl LocalIndex {
    /// Indexes are opened when they are first needed.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let writers = Arc::new(Semaphore::new(settings.writers_max.max(1)));
        Self { settings: Arc::new(settings), shelves: Arc::default(), writers }
    }

    fn shelf(&self, tenant: &TenantId) -> Result<Arc<Shelf>, PortError> {
        let mut shelves = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shelf) = shelves.get(tenant) {
            return Ok(Arc::clone(shelf));
        }
        let folder = self.settings.folder.join(tenant.as_str());
        let shelf = Arc::new(Shelf::open(folder, &self.settings.failpoints)?);
        shelves.insert(tenant.clone(), Arc::clone(&shelf));
        Ok(shelf)
    }

    /// The tenant's shelf if it is there without waiting: what is in memory needs no thread that may wait.
    fn open_shelf(&self, tenant: &TenantId) -> Option<Arc<Shelf>> {
        self.shelves.try_lock().ok()?.get(tenant).cloned()
    }

    /// Does `work` with the tenant's shelf on a thread that may wait for the disk.
    fn on_shelf<'a, T: Send + 'static>(
        &'a self,
        tenant: &TenantId,
        work: impl FnOnce(&Shelf, &Settings) -> Result<T, PortError> + Send + 'static,
    ) -> Later<'a, T> {
        let (this, tenant) = (self.clone(), tenant.clone());
        blocking(move || work(&*this.shelf(&tenant)?, &this.settings))
    }

    /// The same for work that writes, when its turn has come.
    fn writing<'a, T: Send + 'static>(
        &'a self,
        tenant: &'a TenantId,
        work: impl FnOnce(&Shelf, &Settings) -> Result<T, PortError> + Send + 'static,
    ) -> Later<'a, T> {
        Box::pin(async move {
            // It is never closed. The turn ends with the work, even if nobody waits for that any more.
            let turn = Arc::clone(&self.writers).acquire_owned().await.ok();
            let work = move |shelf: &Shelf, settings: &Settings| {
                let _turn = turn;
                work(shelf, settings)
            };
            self.on_shelf(tenant, work).await
        })
    }
}

impl Index for LocalIndex {
    fn state<'a>(&'a self, tenant: &'a TenantId, lane: Lane) -> Later<'a, Option<IndexState>> {
        if let Some(shelf) = self.open_shelf(tenant) {
            let generation = shelf.lane(lane);
            let state = generation.map(|generation| generation.snapshot().state.clone());
            return Box::pin(std::future::ready(Ok(state)));
        }
        self.on_shelf(tenant, move |shelf, _| {
            Ok(shelf.lane(lane).map(|generation| generation.snapshot().state.clone()))
        })
    }

    fn stage<'a>(
        &'a self,
        tenant: &'a TenantId,
        lane: Lane,
        documents: Vec<DocumentChunks>,
    ) -> Later<'a, ()> {
        self.writing(tenant, move |shelf, _| {
            shelf.begun(lane)?.stage(documents).map_err(broken("indexing"))
        })
    }

    fn apply<'a>(
        &'a self,
        tenant: &'a TenantId,
        lane: Lane,
        documents: Vec<DocumentChunks>,
        applied: u64,
    ) -> Later<'a, ()> {
        self.writing(tenant, move |shelf, _| {
            shelf.begun(lane)?.apply(documents, applied).map_err(broken("indexing"))
        })
    }

    fn begin<'a>(
        &'a self,
        tenant: &'a TenantId,
        embedder: &'a str,
        dimensions: usize,
        recipe: &'a str,
    ) -> Later<'a, Lane> {
        let state = IndexState {
            embedder: embedder.to_owned(),
            recipe: recipe.to_owned(),
            ..IndexState::default()
        };
        let payload = Payload { state, dimensions, ..Payload::default() };
        self.writing(tenant, move |shelf, settings| {
            shelf.begin(payload, Arc::clone(&settings.failpoints))
        })
    }

    fn promote<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, ()> {
        self.writing(tenant, |shelf, _| shelf.promote())
    }

    fn find<'a>(&'a self, tenant: &'a TenantId, find: &'a Find) -> Later<'a, Box<dyn Finding>> {
        let shelf = self.open_shelf(tenant);
        let serving = shelf.and_then(|shelf| shelf.lane(Lane::Serving));
        if let Some(snapshot) = serving.map(|serving| serving.snapshot())
            && snapshot.is_small()
        {
            return Box::pin(async move { found(snapshot, find) });
        }
        let find = find.clone();
        self.on_shelf(tenant, move |shelf, _| match shelf.lane(Lane::Serving) {
            Some(generation) => found(generation.snapshot(), &find),
            None => Ok(Box::new(Nothing) as Box<dyn Finding>),
        })
    }

    fn known_tags<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, BTreeSet<String>> {
        self.on_shelf(tenant, |shelf, _| match shelf.lane(Lane::Serving) {
            Some(generation) => generation.snapshot().known_tags().map_err(broken("searching")),
            None => Ok(BTreeSet::new()),
        })
    }

    fn compact<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, u64> {
        self.writing(tenant, |shelf, _| match shelf.lane(Lane::Serving) {
            Some(generation) => generation.compact().map_err(broken("compacting the index")),
            None => Ok(0),
        })
    }
}

impl Shelf {
    /// Opens what is there. An index that cannot be read is set aside: it is built anew from the store.
    fn open(folder: PathBuf, failpoints: &Arc<dyn Failpoints>) -> Result<Self, PortError> {
        fs::create_dir_all(&folder).map_err(disk)?;
        let open = |lane| {
            let number = read_number(&folder, lane)?;
            let opened = Generation::open(&folder.join(number.to_string()), Arc::clone(failpoints));
            opened
                .inspect_err(|error| tracing::warn!(%error, ?lane, "an index has to be built anew"))
                .ok()
                .map(Arc::new)
        };
        let (serving, building) = (open(Lane::Serving), open(Lane::Building));
        let shelf = Self { folder, serving: RwLock::new(serving), building: RwLock::new(building) };
        shelf.remove_strays().map_err(disk)?;
        Ok(shelf)
    }

    fn lane(&self, lane: Lane) -> Option<Arc<Generation>> {
        let lane = match lane {
            Lane::Serving => &self.serving,
            Lane::Building => &self.building,
        };
        lane.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn begun(&self, lane: Lane) -> Result<Arc<Generation>, PortError> {
        let none =
            || PortError::Broken { what: "indexing", source: "no index has been begun".into() };
        self.lane(lane).ok_or_else(none)
    }

    fn begin(&self, payload: Payload, failpoints: Arc<dyn Failpoints>) -> Result<Lane, PortError> {
        let lane = match self.lane(Lane::Serving) {
            Some(_) => Lane::Building,
            None => Lane::Serving,
        };
        let number = self.largest_number().map_err(disk)? + 1;
        let folder = self.folder.join(number.to_string());
        let generation = Generation::create(&folder, payload, failpoints)
            .map_err(broken("beginning an index"))?;
        write_number(&self.folder, lane, number).map_err(disk)?;
        let slot = match lane {
            Lane::Serving => &self.serving,
            Lane::Building => &self.building,
        };
        *slot.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(generation));
        self.remove_strays().map_err(disk)?;
        Ok(lane)
    }

    fn promote(&self) -> Result<(), PortError> {
        let Some(built) = self.lane(Lane::Building) else { return Ok(()) };
        if let Some(number) = read_number(&self.folder, Lane::Building) {
            write_number(&self.folder, Lane::Serving, number).map_err(disk)?;
            fs::remove_file(lane_file(&self.folder, Lane::Building)).map_err(disk)?;
        }
        *self.serving.write().unwrap_or_else(PoisonError::into_inner) = Some(built);
        *self.building.write().unwrap_or_else(PoisonError::into_inner) = None;
        self.remove_strays().map_err(disk)
    }

    /// Removes generations that no lane names.
    fn remove_strays(&self) -> io::Result<()> {
        let named = [Lane::Serving, Lane::Building].map(|lane| read_number(&self.folder, lane));
        for number in self.numbers()? {
            if !named.contains(&Some(number)) {
                fs::remove_dir_all(self.folder.join(number.to_string()))?;
            }
        }
        Ok(())
    }

    fn largest_number(&self) -> io::Result<u64> {
        Ok(self.numbers()?.into_iter().max().unwrap_or(0))
    }

    fn numbers(&self) -> io::Result<Vec<u64>> {
        let entries = fs::read_dir(&self.folder)?.collect::<io::Result<Vec<_>>>()?;
        Ok(entries.iter().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
    }
}

fn found(snapshot: Arc<Snapshot>, find: &Find) -> Result<Box<dyn Finding>, PortError> {
    let lists = snapshot.find(find).map_err(broken("searching"))?;
    Ok(Box::new(LocalFinding { snapshot, lists }))
}

fn lane_file(folder: &Path, lane: Lane) -> PathBuf {
    folder.join(match lane {
        Lane::Serving => "serving",
        Lane::Building => "building",
    })
}

fn read_number(folder: &Path, lane: Lane) -> Option<u64> {
    fs::read_to_string(lane_file(folder, lane)).ok()?.trim().parse().ok()
}

/// Written beside and renamed, so that the file holds the old number or the new one.
fn write_number(folder: &Path, lane: Lane, number: u64) -> io::Result<()> {
    let target = lane_file(folder, lane);
    let draft = target.with_extension("new");
    let mut file = File::create(&draft)?;
    writeln!(file, "{number}")?;
    file.sync_all()?;
    fs::rename(&draft, &target)?;
    File::open(folder)?.sync_all()
}

/// Runs `work` on a thread that may wait.
pub(crate) fn blocking<'a, T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PortError> + Send + 'static,
) -> Later<'a, T> {
    Box::pin(async move {
        match tokio::task::spawn_blocking(work).await {
            Ok(outcome) => outcome,
            Err(error) => Err(PortError::Broken { what: "the index", source: Box::new(error) }),
        }
    })
}

/// Tells a full disk from everything else that can go wrong.
pub(crate) fn broken(what: &'static str) -> impl Fn(tantivy::TantivyError) -> PortError {
    move |error| {
        if is_full(&error) {
            PortError::Full
        } else {
            PortError::Broken { what, source: Box::new(error) }
        }
    }
}

fn disk(error: io::Error) -> PortError {
    match error.kind() {
        io::ErrorKind::StorageFull => PortError::Full,
        _ => PortError::Broken { what: "the index's folder", source: Box::new(error) },
    }
}

fn is_full(error: &tantivy::TantivyError) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::StorageFull) {
            return true;
        }
        cause = error.source();
    }
    // tantivy keeps some causes only as text.
    error.to_string().contains("No space left on device")
}
