//! One index of one tenant: a folder with a keyword index and vector files, committed together.
//!
//! The commit point of both halves is the keyword index's own: its payload names the vector files, which are on
//! disk before it. A vector counts only while its chunk is in the keyword index, so a document changes at once.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use agent::filter::Tags;
use agent::knowledge::{DocumentChunks, NewChunk};
use agent::names::DocumentId;
use agent::ports::{Failpoints, IndexState};
use serde::{Deserialize, Serialize};
use tantivy::directory::{Directory, MmapDirectory};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, SegmentReader, TantivyError};

use crate::excerpts::Excerpts;
use crate::pending::{Chunk, Pending};
use crate::schema::{self, Entry, Fields};
use crate::snapshot::{Snapshot, VectorFile};
use crate::tokens::{Analyzer, Vocabularies};
use crate::vectors::{self, Segment, SegmentBuilder};

/// Memory for chunks that tantivy itself would index: the least that it takes, as it is given whole segments.
const WRITER_BYTES: usize = 15_000_000;

/// How often, and how long each time, the lock of a process that has just ended is waited for.
const LOCK_WAITS_MAX: u32 = 40;
const LOCK_WAIT: Duration = Duration::from_millis(50);

/// Vector files of one size class before they are merged: few files to search, each vector rewritten seldom.
const FILES_PER_CLASS: usize = 6;

/// Vectors in the first size class; each further class is this many times larger.
const CLASS_VECTORS: usize = 4096;
const CLASS_GROWTH: usize = 8;

/// The seed of everything random in a vector file: the same vectors give the same file.
const SEED: u64 = 7;

/// What a commit says besides the keyword index itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Payload {
    pub(crate) state: IndexState,
    pub(crate) dimensions: usize,
    pub(crate) next_key: u64,
    pub(crate) next_file: u64,
    pub(crate) files: Vec<String>,
}

pub(crate) struct Generation {
    folder: PathBuf,
    index: Index,
    reader: IndexReader,
    fields: Fields,
    failpoints: Arc<dyn Failpoints>,
    analyzer: Mutex<Analyzer>,
    writing: Mutex<Writing>,
    snapshot: RwLock<Arc<Snapshot>>,
}

/// What only the one who writes needs.
struct Writing {
    /// Opened by the first write and dropped after a failed one.
    writer: Option<IndexWriter>,
    payload: Payload,
    /// What a failed write falls back to.
    committed: Payload,
    /// Chunks that wait for the commit.
    pending: Option<Pending>,
    /// Their vectors.
    vectors: Option<SegmentBuilder>,
    /// What somebody has readied is gone, and they have not been told.
    lost: bool,
}

/// Documents whose chunks have been taken apart.
struct Analyzed {
    /// What their terms are numbered by.
    vocabularies: Arc<Vocabularies>,
    documents: Vec<AnalyzedDocument>,
}

struct AnalyzedDocument {
    document: DocumentId,
    tags: Tags,
    chunks: Vec<(Entry, NewChunk)>,
}

impl Generation {
    /// Makes an empty index in a folder that does not exist.
    pub(crate) fn create(
        folder: &Path,
        payload: Payload,
        failpoints: Arc<dyn Failpoints>,
    ) -> tantivy::Result<Self> {
        fs::create_dir_all(vector_folder(folder))?;
        Index::create_in_dir(folder, schema::schema().0)?;
        let generation = Self::open(folder, failpoints)?;
        let mut writing = generation.writing();
        writing.payload = payload;
        generation.commit(&mut writing)?;
        drop(writing);
        Ok(generation)
    }

    /// Opens what was committed last and removes what a broken-off write has left.
    pub(crate) fn open(folder: &Path, failpoints: Arc<dyn Failpoints>) -> tantivy::Result<Self> {
        let index = Index::open_in_dir(folder)?;
        let (schema, fields) = schema::schema();
        if index.schema() != schema {
            return Err(TantivyError::SchemaError("it was made by another version".to_owned()));
        }
        let payload = match index.load_metas()?.payload {
            Some(text) => serde_json::from_str(&text).map_err(damaged)?,
            None => Payload::default(),
        };
        remove_strays(&vector_folder(folder), &payload.files)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let vectors = open_segments(folder, &payload.files, &[])?;
        let snapshot = moment(&reader, fields, vectors, &payload, Arc::default())?;
        Ok(Self {
            folder: folder.to_owned(),
            index,
            reader,
            fields,
            failpoints,
            analyzer: Mutex::default(),
            writing: Mutex::new(Writing {
                writer: None,
                committed: payload.clone(),
                payload,
                pending: None,
                vectors: None,
                lost: false,
            }),
            snapshot: RwLock::new(Arc::new(snapshot)),
        })
    }

    /// The latest moment.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Readies the chunks of these documents; they show with a later commit, or with one that is under way. They are taken
    /// apart beside whoever writes.
    pub(crate) fn stage(&self, documents: Vec<DocumentChunks>) -> tantivy::Result<()> {
        let analyzed = self.analyze(documents)?;
        let mut writing = self.writing();
        let outcome = self.add(&mut writing, analyzed);
        outcome.inspect_err(|_| writing.fall_back())
    }

    /// Replaces the chunks of these documents and of those that were readied, all at once.
    pub(crate) fn apply(
        &self,
        documents: Vec<DocumentChunks>,
        applied: u64,
    ) -> tantivy::Result<()> {
        let analyzed = self.analyze(documents)?;
        let mut writing = self.writing();
        let mut outcome = self.add(&mut writing, analyzed);
        if outcome.is_ok() {
            writing.payload.state.applied = applied;
            outcome = self.commit(&mut writing);
        }
        outcome.inspect_err(|_| writing.fall_back())
    }

    fn analyze(&self, documents: Vec<DocumentChunks>) -> tantivy::Result<Analyzed> {
        let mut analyzer = self.analyzer.lock().unwrap_or_else(PoisonError::into_inner);
        let vocabularies = analyzer.vocabularies();
        let mut analyze = |of: DocumentChunks| {
            let entries = of.chunks.iter().map(|chunk| schema::entry(&mut analyzer, &of, chunk));
            let entries = entries.collect::<Result<Vec<_>, _>>().map_err(damaged)?;
            let chunks = entries.into_iter().zip(of.chunks).collect();
            Ok(AnalyzedDocument { document: of.document, tags: of.tags, chunks })
        };
        let documents = documents.into_iter().map(&mut analyze).collect::<tantivy::Result<_>>()?;
        analyzer.renew_if_full();
        Ok(Analyzed { vocabularies, documents })
    }

    fn add(&self, writing: &mut Writing, analyzed: Analyzed) -> tantivy::Result<()> {
        let Analyzed { vocabularies, documents } = analyzed;
        if std::mem::take(&mut writing.lost) {
            return Err(damaged("what was readied is gone with a compaction that failed"));
        }
        // It holds the lock of the folder, and sweeps out what a write that broke off has left there.
        self.writer(writing)?;
        for AnalyzedDocument { document, tags, chunks } in documents {
            let waiting = writing.pending.as_ref();
            if waiting.is_some_and(|pending| !pending.takes(&vocabularies, &document))
                && let Some(pending) = writing.pending.take()
            {
                self.hand_over(self.writer(writing)?, pending)?;
            }
            let first_key = writing.payload.next_key;
            let mut arriving = Vec::with_capacity(chunks.len());
            for (entry, NewChunk { tags, vectors, .. }) in &chunks {
                let key = writing.payload.next_key;
                writing.payload.next_key += 1;
                for vector in vectors {
                    writing.vectors()?.push(key, vector).map_err(damaged)?;
                }
                arriving.push(Chunk { key, entry, tags });
            }
            let pending = writing
                .pending
                .get_or_insert_with(|| Pending::new(Arc::clone(&vocabularies), first_key));
            pending.add(&self.index, self.fields, (&document, &tags), arriving)?;
        }
        Ok(())
    }

    /// Makes a segment of the chunks that wait; it counts from the next commit on, and what they replace until then.
    fn hand_over(&self, writer: &IndexWriter, pending: Pending) -> tantivy::Result<()> {
        writer.delete_query(pending.superseded(self.fields))?;
        match pending.finish()? {
            Some(segment) => writer.add_segment(segment),
            None => Ok(()),
        }
    }

    /// Merges everything: one keyword segment, one vector file, nothing deleted in either.
    pub(crate) fn compact(&self) -> tantivy::Result<u64> {
        let before = folder_bytes(&self.folder)?;
        let mut writing = self.writing();
        let is_waited_for = writing.has_readied();
        let outcome = self.merge_all(&mut writing);
        outcome.inspect_err(|_| {
            writing.fall_back();
            writing.lost |= is_waited_for;
        })?;
        drop(writing);
        Ok(before.saturating_sub(folder_bytes(&self.folder)?))
    }

    fn merge_all(&self, writing: &mut Writing) -> tantivy::Result<()> {
        if writing.writer.is_some() {
            self.commit(writing)?;
        }
        if let Some(writer) = writing.writer.take() {
            // A segment that is being merged cannot be merged with others too.
            writer.wait_merging_threads()?;
        }
        let segments = self.index.searchable_segment_ids()?;
        let searcher = self.reader.searcher();
        let has_deletes = searcher.segment_readers().iter().any(SegmentReader::has_deletes);
        if segments.len() > 1 || has_deletes {
            self.writer(writing)?.merge(&segments).wait()?;
        }
        let files = writing.payload.files.len();
        // Where nothing is embedded there are none.
        if files > 1 || (files == 1 && has_deletes) {
            self.merge_files(&mut writing.payload, 0..files)?;
        }
        self.commit(writing)?;
        if let Some(writer) = &writing.writer {
            writer.garbage_collect_files().wait()?;
        }
        Ok(())
    }

    fn commit(&self, writing: &mut Writing) -> tantivy::Result<()> {
        self.writer(writing)?;
        let Writing { writer, payload, pending, vectors, .. } = writing;
        let writer = writer.as_mut().ok_or(TantivyError::Poisoned)?;
        self.failpoints.reached("index.before_vectors");
        // Both halves are written beside each other: the last commit of a load has both processors to itself.
        let mut prepared = std::thread::scope(|scope| {
            let mut keeping = None;
            if let Some(vectors) = vectors.take() {
                let thread = std::thread::Builder::new().name("vector-writer".to_owned());
                keeping = Some(thread.spawn_scoped(scope, || self.keep(payload, vectors))?);
            }
            let handed_over = pending.take().map_or(Ok(()), |it| self.hand_over(writer, it));
            if let Some(keeping) = keeping {
                keeping.join().map_err(|_| damaged("writing vectors panicked"))??;
            }
            handed_over?;
            writer.prepare_commit()
        })?;
        self.failpoints.reached("index.after_vectors");
        prepared.set_payload(&serde_json::to_string(payload).map_err(damaged)?);
        self.failpoints.reached("index.before_commit");
        prepared.commit()?;
        self.failpoints.reached("index.after_commit");
        writing.committed.clone_from(&writing.payload);
        self.reader.reload()?;
        let files = &writing.payload.files;
        let vectors = open_segments(&self.folder, files, &self.snapshot().vectors)?;
        let excerpts = self.snapshot().excerpts();
        let snapshot = moment(&self.reader, self.fields, vectors, &writing.payload, excerpts)?;
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
        // Searches that began earlier hold their files open; on disk they may go.
        remove_strays(&vector_folder(&self.folder), files)?;
        Ok(())
    }

    fn writing(&self) -> std::sync::MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer<'a>(&self, writing: &'a mut Writing) -> tantivy::Result<&'a mut IndexWriter> {
        if writing.writer.is_none() {
            let writer = open_writer(&self.index)?;
            // A commit that broke off has left files under the names that the next one will use.
            writer.garbage_collect_files().wait()?;
            writing.writer = Some(writer);
        }
        writing.writer.as_mut().ok_or(TantivyError::Poisoned)
    }

    /// Puts vectors on disk under a name that no commit knows yet.
    fn write_vectors(&self, payload: &mut Payload, vectors: SegmentBuilder) -> io::Result<String> {
        let name = format!("{:010}.vec", payload.next_file);
        payload.next_file += 1;
        let folder = vector_folder(&self.folder);
        let mut file = BufWriter::new(File::create(folder.join(&name))?);
        vectors.finish(SEED, &mut file)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        File::open(folder)?.sync_all()?;
        Ok(name)
    }

    /// Puts vectors on disk, and merges the newest files while too many of them are of one size class.
    fn keep(&self, payload: &mut Payload, vectors: SegmentBuilder) -> tantivy::Result<()> {
        let name = self.write_vectors(payload, vectors)?;
        payload.files.push(name);
        loop {
            let sizes = self.file_classes(&payload.files)?;
            let Some(last) = sizes.last().copied() else { return Ok(()) };
            let same = sizes.iter().rev().take_while(|class| **class <= last).count();
            if same < FILES_PER_CLASS {
                return Ok(());
            }
            let from = sizes.len() - same;
            self.merge_files(payload, from..sizes.len())?;
        }
    }

    fn merge_files(
        &self,
        payload: &mut Payload,
        range: std::ops::Range<usize>,
    ) -> tantivy::Result<()> {
        let names: Vec<String> = payload.files.drain(range.clone()).collect();
        let segments = open_segments(&self.folder, &names, &[])?;
        let living = self.snapshot();
        // A key from this very write is not in the snapshot yet, and it lives.
        let live =
            |_: usize, _: u32, key: u64| key >= living.next_key || living.places.get(key).is_some();
        let segments: Vec<_> = segments.into_iter().map(|file| file.segment).collect();
        let merged = vectors::merge(&segments, payload.dimensions, live).map_err(damaged)?;
        if !merged.is_empty() {
            let name = self.write_vectors(payload, merged)?;
            payload.files.insert(range.start, name);
        }
        Ok(())
    }

    fn file_classes(&self, files: &[String]) -> tantivy::Result<Vec<u32>> {
        let vectors = open_segments(&self.folder, files, &self.snapshot().vectors)?;
        Ok(vectors.iter().map(|file| class(file.segment.len())).collect())
    }
}

impl Writing {
    fn vectors(&mut self) -> tantivy::Result<&mut SegmentBuilder> {
        match &mut self.vectors {
            Some(vectors) => Ok(vectors),
            none => {
                let dimensions = self.payload.dimensions.max(1);
                Ok(none.insert(SegmentBuilder::new(dimensions).map_err(damaged)?))
            }
        }
    }

    /// Whether anything waits for a commit.
    fn has_readied(&self) -> bool {
        self.pending.is_some() || self.payload.next_key != self.committed.next_key
    }

    /// What waits in the writer must not slip into the next commit.
    fn fall_back(&mut self) {
        self.payload.clone_from(&self.committed);
        self.writer = None;
        self.pending = None;
        self.vectors = None;
    }
}

/// Opens the writer; a process that was killed may hold its lock for a moment longer.
#[expect(clippy::disallowed_methods, reason = "this runs on a thread that may wait")]
fn open_writer(index: &Index) -> tantivy::Result<IndexWriter> {
    let mut waits = LOCK_WAITS_MAX;
    loop {
        match index.writer_with_num_threads(1, WRITER_BYTES) {
            Err(TantivyError::LockFailure(..)) if waits > 0 => {
                waits -= 1;
                std::thread::sleep(LOCK_WAIT);
            }
            outcome => return outcome,
        }
    }
}

fn class(vectors: usize) -> u32 {
    let mut class = 0;
    let mut end = CLASS_VECTORS;
    while vectors > end {
        end = end.saturating_mul(CLASS_GROWTH);
        class += 1;
    }
    class
}

fn vector_folder(folder: &Path) -> PathBuf {
    folder.join("vectors")
}

fn damaged(error: impl std::fmt::Display) -> TantivyError {
    TantivyError::InternalError(error.to_string())
}

fn moment(
    reader: &IndexReader,
    fields: Fields,
    vectors: Vec<VectorFile>,
    payload: &Payload,
    excerpts: Arc<Excerpts>,
) -> tantivy::Result<Snapshot> {
    let searcher = reader.searcher();
    Snapshot::new(searcher, fields, vectors, payload.state.clone(), payload.next_key, excerpts)
}

/// Opens vector files, taking those that are open already from `known`.
fn open_segments(
    folder: &Path,
    names: &[String],
    known: &[VectorFile],
) -> tantivy::Result<Vec<VectorFile>> {
    let directory = MmapDirectory::open(vector_folder(folder))?;
    let open = |name: &String| {
        if let Some(file) = known.iter().find(|file| file.name == *name) {
            return Ok(file.clone());
        }
        let bytes = directory.open_read(Path::new(name))?.read_bytes()?;
        let segment = Arc::new(Segment::open(bytes).map_err(damaged)?);
        Ok(VectorFile { name: name.clone(), segment })
    };
    names.iter().map(open).collect()
}

/// Removes vector files that no commit names: a write that broke off left them.
fn remove_strays(folder: &Path, names: &[String]) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !names.iter().any(|known| name == known.as_str()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn folder_bytes(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        bytes += if meta.is_dir() { folder_bytes(&entry.path())? } else { meta.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
