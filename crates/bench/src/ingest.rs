//! `bench ingest`: a folder of Markdown and HTML into a searchable index, beside LlamaIndex doing the same.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use agent::ports::{EmbedFor, Embedder};
use anyhow::{Context, Result, ensure};
use models::BuiltInEmbedder;
use serde::Serialize;

use crate::Places;
use crate::corpus::Corpus;
use crate::peer::{Peer, number};
use crate::report::{median, result, rounded, say};
use crate::saem::{Saem, fresh_folder};
use crate::usage;

pub(crate) struct Size {
    pub(crate) documents: usize,
    /// Documents for the part with vectors.
    pub(crate) embedded: usize,
    pub(crate) rounds: usize,
}

#[derive(Serialize)]
struct Figures {
    bench: &'static str,
    documents: usize,
    mebibytes: f64,
    rounds: usize,
    saem_documents_per_second: f64,
    peer: String,
    peer_documents_per_second: f64,
    ratio: f64,
    saem_cpu_ms_per_document: f64,
    peer_cpu_ms_per_document: f64,
    peer_resident_mebibytes: f64,
    embedded_documents: usize,
    pieces: usize,
    embedder_pieces_per_second: f64,
    ingest_pieces_per_second: f64,
    share_of_embedder: f64,
}

/// Loads of Saem before and after one of the peer, which takes as long as twenty: the machine's speed changes from
/// moment to moment, and one short load meets only one of them.
const LOADS_EACH_SIDE: usize = 2;

pub(crate) fn run(places: &Places, size: &Size) -> Result<()> {
    let work = fresh_folder(&std::env::temp_dir())?;
    let corpus = Corpus::of_demo(&places.repository)?;
    let folder = work.path().join("corpus");
    let bytes = write(&corpus, &folder, size.documents)?;
    say(&format!("{} documents, {} MiB", size.documents, bytes >> 20));

    let mut peer = Peer::start(&places.python, "llama_index_ingest.py", &[])?;
    // It answers once it has loaded its libraries, which takes a processor for seconds.
    let version = peer.ask("version")?;
    let (mut ours, mut ours_cpu) = (Vec::new(), Vec::new());
    let (mut theirs, mut theirs_cpu, mut theirs_memory) = (Vec::new(), Vec::new(), 0.0_f64);
    let documents = size.documents as f64;
    let load = || -> Result<(f64, f64)> {
        let data = fresh_folder(work.path())?;
        let saem = Saem {
            program: places.program.clone(),
            data: data.path().to_owned(),
            embedder: "none",
            model: None,
        };
        usage::settle()?;
        let ran = saem.run(&["ingest".as_ref(), folder.as_os_str()])?;
        Ok((documents / ran.wall.as_secs_f64(), ran.processor.as_secs_f64() * 1000.0 / documents))
    };
    for round in 1..=size.rounds {
        let mut loads = (0..LOADS_EACH_SIDE).map(|_| load()).collect::<Result<Vec<_>>>()?;
        usage::settle()?;
        let answer = peer.ask(&folder.display().to_string())?;
        ensure!(number(&answer, "documents")? == documents, "the peer read less: {answer}");
        theirs.push(documents / number(&answer, "seconds")?);
        theirs_cpu.push(number(&answer, "cpu_seconds")? * 1000.0 / documents);
        theirs_memory = theirs_memory.max(number(&answer, "resident_mebibytes")?);
        for _ in 0..LOADS_EACH_SIDE {
            loads.push(load()?);
        }
        ours.push(median(loads.iter().map(|load| load.0).collect()));
        ours_cpu.push(median(loads.iter().map(|load| load.1).collect()));
        say(&format!(
            "round {round}: Saem {:.0} documents/s, LlamaIndex {:.0}",
            ours.last().unwrap_or(&0.0),
            theirs.last().unwrap_or(&0.0)
        ));
    }
    drop(peer);
    let vectors = with_vectors(places, &corpus, size, work.path())?;
    let ratio = median(ratios(&ours, &theirs));
    let (saem_rate, peer_rate) = (median(ours), median(theirs));
    result(&Figures {
        bench: "ingest",
        documents: size.documents,
        mebibytes: rounded(bytes as f64 / f64::from(1 << 20)),
        rounds: size.rounds,
        saem_documents_per_second: rounded(saem_rate),
        peer: version.as_str().unwrap_or("LlamaIndex").to_owned(),
        peer_documents_per_second: rounded(peer_rate),
        ratio: rounded(ratio),
        saem_cpu_ms_per_document: rounded(median(ours_cpu)),
        peer_cpu_ms_per_document: rounded(median(theirs_cpu)),
        peer_resident_mebibytes: rounded(theirs_memory),
        embedded_documents: size.embedded,
        pieces: vectors.pieces,
        embedder_pieces_per_second: rounded(vectors.embedder),
        ingest_pieces_per_second: rounded(vectors.ingest),
        share_of_embedder: rounded(vectors.share),
    })
}

/// Writes the first documents of the corpus; gives their bytes.
fn write(corpus: &Corpus, folder: &Path, documents: usize) -> Result<u64> {
    std::fs::create_dir_all(folder)?;
    let mut bytes = 0;
    for number in 0..documents {
        let document = corpus.document(number as u64);
        bytes += document.text.len() as u64;
        std::fs::write(folder.join(&document.name), document.text)?;
    }
    Ok(bytes)
}

/// Ours by theirs in each round: the machine's speed drifts, but little within one.
fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect()
}

struct Vectors {
    pieces: usize,
    /// The ingest's speed as a share of the embedder's.
    share: f64,
    embedder: f64,
    ingest: f64,
}

/// The embedder alone against a whole ingest, in pieces of text a second.
fn with_vectors(places: &Places, corpus: &Corpus, size: &Size, work: &Path) -> Result<Vectors> {
    let folder = work.join("embedded");
    write(corpus, &folder, size.embedded)?;
    let pieces = pieces(corpus, size.embedded)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let (mut alone, mut ingest) = (Vec::new(), Vec::new());
    let embed = || -> Result<f64> {
        usage::settle()?;
        // A new one each time: what it remembers of texts must not help.
        let embedder: Arc<dyn Embedder> = Arc::new(BuiltInEmbedder::new()?);
        let start = Instant::now();
        for batch in pieces.chunks(4096) {
            runtime.block_on(embedder.embed(batch, EmbedFor::Passage))?;
        }
        Ok(pieces.len() as f64 / start.elapsed().as_secs_f64())
    };
    for round in 1..=size.rounds {
        let before = embed()?;
        let data = fresh_folder(work)?;
        let saem = Saem {
            program: places.program.clone(),
            data: data.path().to_owned(),
            embedder: "built-in",
            model: None,
        };
        let ran = saem.run(&["ingest".as_ref(), folder.as_os_str()])?;
        ingest.push(pieces.len() as f64 / ran.wall.as_secs_f64());
        alone.push(f64::midpoint(before, embed()?));
        say(&format!(
            "round {round}: the embedder alone {:.0} pieces/s, the whole ingest {:.0}",
            alone.last().unwrap_or(&0.0),
            ingest.last().unwrap_or(&0.0)
        ));
    }
    let share = median(ratios(&ingest, &alone));
    Ok(Vectors { pieces: pieces.len(), share, embedder: median(alone), ingest: median(ingest) })
}

/// What the ingest embeds of these documents: each piece under its heading, and each path of headings.
fn pieces(corpus: &Corpus, documents: usize) -> Result<Vec<String>> {
    let mut pieces = Vec::new();
    for number in 0..documents {
        let document = corpus.document(number as u64);
        let hint = extract::Hint { file_name: Some(&document.name), ..extract::Hint::default() };
        let extracted =
            extract::extract(document.text.as_bytes(), &hint, &extract::Limits::default())
                .context("a generated document")?;
        let split = extract::split(&extracted, &extract::SplitLimits::default());
        for chunk in &split.chunks {
            let mut path = extract::heading_path(&split.sections, chunk.section);
            path.retain(|heading| !heading.is_empty());
            let heading = path.last().copied().unwrap_or_default();
            for range in chunk.pieces() {
                let text = chunk.text.get(range.clone()).unwrap_or_default();
                pieces.push(format!("{heading}. {text}"));
            }
            if !path.is_empty() {
                pieces.push(path.join(". "));
            }
        }
    }
    Ok(pieces)
}
