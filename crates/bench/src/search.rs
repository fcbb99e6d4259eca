//! `bench search`: vectors beside FAISS's HNSW at the same recall, and the whole hybrid search over HTTP.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agent::knowledge::{DocumentChunks, NewChunk};
use agent::names::TenantId;
use agent::ports::{EmbedFor, Embedder, Index, IndexState, Lane};
use anyhow::{Context, Result, ensure};
use index::vectors::{Effort, Everything, Scratch, Segment};
use index::{LocalIndex, Settings};
use models::BuiltInEmbedder;
use serde::Serialize;
use tokio::runtime::Runtime;

use crate::Places;
use crate::corpus::Random;
use crate::http::{Connection, encoded};
use crate::peer::{Peer, number};
use crate::report::{median, percentile, result, rounded, say};
use crate::saem::{Saem, fresh_folder};
use crate::texts::{self, Texts};
use crate::usage;

/// Neighbours that are looked for.
const NEIGHBOURS: usize = 10;

/// Chunks of one commit while the index is filled: what the product commits.
const COMMIT_CHUNKS: usize = 4096;

pub(crate) struct Size {
    pub(crate) vectors: usize,
    pub(crate) questions: usize,
    pub(crate) rounds: usize,
}

#[derive(Serialize)]
struct Figures {
    bench: &'static str,
    vectors: usize,
    real_texts: usize,
    dimensions: usize,
    rounds: usize,
    saem_build_seconds: f64,
    saem_build_cpu_seconds: f64,
    faiss_build_seconds: f64,
    saem_disk_mebibytes: f64,
    saem_vector_disk_mebibytes: f64,
    faiss_disk_mebibytes: f64,
    saem_recall: f64,
    faiss_recall: f64,
    faiss_ef_search: f64,
    saem_queries_per_second: f64,
    faiss_queries_per_second: f64,
    ratio: f64,
    saem_p50_ms: f64,
    saem_p99_ms: f64,
    faiss_p50_ms: f64,
    faiss_p99_ms: f64,
    hybrid_p50_ms: f64,
    hybrid_p99_ms: f64,
    hybrid_cpu_ms: f64,
    keyword_p99_ms: f64,
    server_resident_mebibytes: f64,
    cold_open_ms: f64,
    restart_ms: f64,
}

/// The vectors of a run: rows of one length, one after another.
struct Rows {
    dimensions: usize,
    numbers: Vec<f32>,
}

impl Rows {
    fn row(&self, place: usize) -> &[f32] {
        let start = place * self.dimensions;
        self.numbers.get(start..start + self.dimensions).unwrap_or_default()
    }

    fn count(&self) -> usize {
        self.numbers.len() / self.dimensions
    }

    fn write(&self, file: &Path) -> Result<()> {
        let mut out = BufWriter::new(File::create(file)?);
        for number in &self.numbers {
            out.write_all(&number.to_le_bytes())?;
        }
        Ok(out.flush()?)
    }
}

pub(crate) fn run(places: &Places, size: &Size) -> Result<()> {
    let work = fresh_folder(&std::env::temp_dir())?;
    let runtime = Runtime::new()?;
    let embedder = BuiltInEmbedder::new()?;
    say("reading texts and making vectors of them …");
    let texts = texts::read(&places.data, size.vectors, size.questions)?;
    let mut rows = embedded(&runtime, &embedder, &texts.passages, EmbedFor::Passage)?;
    let questions = embedded(&runtime, &embedder, &texts.questions, EmbedFor::Query)?;
    mix(&mut rows, size.vectors);
    let (all, asked) = (work.path().join("vectors.f32"), work.path().join("questions.f32"));
    rows.write(&all)?;
    questions.write(&asked)?;
    say(&format!("{} vectors, {} of them of real texts", rows.count(), texts.passages.len()));

    let data = fresh_folder(work.path())?;
    let saem = Saem {
        program: places.program.clone(),
        data: data.path().into(),
        embedder: "built-in",
        model: None,
    };
    let built = build(&runtime, &saem, &rows, &texts, work.path())?;
    say(&format!("Saem's index: {:.1} s", built.wall.as_secs_f64()));

    let mut peer = Peer::start(&places.python, "faiss_hnsw.py", &[&all, &asked])?;
    say("FAISS builds its index and the exact answers …");
    let theirs = peer.ask(&format!("build {}", rows.dimensions))?;
    let truth: Vec<Vec<u64>> =
        serde_json::from_value(theirs.get("truth").cloned().context("the exact answers")?)?;

    let segments = segments(&built.vector_folder)?;
    let found = nearest(&segments, &questions)?;
    let saem_recall = recall(&found.keys, &truth);
    say(&format!("Saem's recall@10 is {saem_recall:.4}"));
    let tuned = peer.ask(&format!("tune {saem_recall}"))?;

    let raced = race(&segments, &questions, &mut peer, size.rounds)?;
    drop(peer);
    drop(segments);
    let over_http = hybrid(&saem, &texts.questions, size.rounds)?;
    let (saem_rate, faiss_rate) = (median(raced.ours), median(raced.theirs));
    let mebibytes = |bytes: u64| rounded(bytes as f64 / f64::from(1 << 20));
    result(&Figures {
        bench: "search",
        vectors: rows.count(),
        real_texts: texts.passages.len(),
        dimensions: rows.dimensions,
        rounds: size.rounds,
        saem_build_seconds: rounded(built.wall.as_secs_f64()),
        saem_build_cpu_seconds: rounded(built.processor.as_secs_f64()),
        faiss_build_seconds: rounded(number(&theirs, "seconds")?),
        saem_disk_mebibytes: mebibytes(usage::folder_bytes(&saem.data)?),
        saem_vector_disk_mebibytes: mebibytes(usage::folder_bytes(&built.vector_folder)?),
        faiss_disk_mebibytes: rounded(number(&theirs, "disk_mebibytes")?),
        saem_recall: rounded(saem_recall),
        faiss_recall: rounded(number(&tuned, "recall")?),
        faiss_ef_search: number(&tuned, "ef")?,
        saem_queries_per_second: rounded(saem_rate),
        faiss_queries_per_second: rounded(faiss_rate),
        ratio: rounded(saem_rate / faiss_rate),
        saem_p50_ms: rounded(percentile(&raced.our_times, 0.5)),
        saem_p99_ms: rounded(percentile(&raced.our_times, 0.99)),
        faiss_p50_ms: rounded(median(raced.their_p50)),
        faiss_p99_ms: rounded(median(raced.their_p99)),
        hybrid_p50_ms: rounded(over_http.p50),
        hybrid_p99_ms: rounded(over_http.p99),
        hybrid_cpu_ms: rounded(over_http.processor),
        keyword_p99_ms: rounded(over_http.keyword_p99),
        server_resident_mebibytes: rounded(over_http.resident),
        cold_open_ms: rounded(over_http.first_answer),
        restart_ms: rounded(over_http.ready),
    })
}

/// Both, round after round in turn: queries per second and times.
#[derive(Default)]
struct Raced {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    our_times: Vec<Duration>,
    their_p50: Vec<f64>,
    their_p99: Vec<f64>,
}

fn race(
    segments: &[Segment<Vec<u8>>],
    questions: &Rows,
    peer: &mut Peer,
    rounds: usize,
) -> Result<Raced> {
    let mut raced = Raced::default();
    for round in 1..=rounds {
        let found = nearest(segments, questions)?;
        let seconds = found.times.iter().sum::<Duration>().as_secs_f64();
        let ours = found.keys.len() as f64 / seconds;
        let answer = peer.ask("round")?;
        let theirs = number(&answer, "queries_per_second")?;
        say(&format!("round {round}: Saem {ours:.0} queries/s, FAISS {theirs:.0}"));
        raced.ours.push(ours);
        raced.theirs.push(theirs);
        raced.our_times.extend(found.times);
        raced.their_p50.push(number(&answer, "p50_ms")?);
        raced.their_p99.push(number(&answer, "p99_ms")?);
    }
    Ok(raced)
}

/// Unit vectors of these texts.
fn embedded(
    runtime: &Runtime,
    embedder: &BuiltInEmbedder,
    texts: &[String],
    purpose: EmbedFor,
) -> Result<Rows> {
    let mut rows = Rows { dimensions: embedder.dimensions(), numbers: Vec::new() };
    for batch in texts.chunks(COMMIT_CHUNKS) {
        for vector in runtime.block_on(embedder.embed(batch, purpose))? {
            rows.numbers.extend(vector);
        }
    }
    Ok(rows)
}

/// Fills up to `wanted` with mixtures of two real vectors and a little noise, when the texts do not reach.
fn mix(rows: &mut Rows, wanted: usize) {
    let real = rows.count();
    let mut random = Random(3);
    let mut share = move || (random.next() >> 40) as f32 / (1_u32 << 24) as f32;
    while rows.count() < wanted {
        let (one, other) = ((share() * real as f32) as usize, (share() * real as f32) as usize);
        let weight = 0.5 + 0.45 * share();
        let noise = 0.35 / (rows.dimensions as f32).sqrt();
        let mixed: Vec<f32> = rows
            .row(one)
            .iter()
            .zip(rows.row(other))
            .map(|(a, b)| weight * a + (1.0 - weight) * b + noise * (2.0 * share() - 1.0))
            .collect();
        let length = mixed.iter().map(|number| number * number).sum::<f32>().sqrt();
        rows.numbers.extend(mixed.iter().map(|number| number / length));
    }
}

struct Built {
    wall: Duration,
    processor: Duration,
    vector_folder: PathBuf,
}

/// Makes a data folder as the product would: one document goes in by the program itself, and says how an index of
/// it is named; the chunks of this bench, which have their vectors already, join it through the index's own port.
fn build(runtime: &Runtime, saem: &Saem, rows: &Rows, texts: &Texts, work: &Path) -> Result<Built> {
    let note = work.join("note.md");
    std::fs::write(&note, "# A note\n\nSo that there is an index.\n")?;
    saem.run(&["ingest".as_ref(), note.as_os_str()])?;
    let folder = saem.data.join("index");
    let tenant: TenantId = only_name(&folder)?.parse()?;
    let index = LocalIndex::new(Settings::at(folder.clone()));
    let state: IndexState = runtime
        .block_on(index.state(&tenant, Lane::Serving))?
        .context("the program has made no index")?;
    let before = usage::of_process(std::process::id())?.processor;
    let start = Instant::now();
    let mut batch = Vec::new();
    for place in 0..rows.count() {
        batch.push(document(place, rows, texts)?);
        if batch.len() == COMMIT_CHUNKS || place + 1 == rows.count() {
            let documents = std::mem::take(&mut batch);
            runtime.block_on(index.apply(&tenant, Lane::Serving, documents, state.applied))?;
        }
    }
    // What the nightly clean-up does.
    runtime.block_on(index.compact(&tenant))?;
    let wall = start.elapsed();
    let processor = usage::of_process(std::process::id())?.processor.saturating_sub(before);
    drop(index);
    let generation = std::fs::read_to_string(folder.join(tenant.as_str()).join("serving"))?;
    let vector_folder = folder.join(tenant.as_str()).join(generation.trim()).join("vectors");
    Ok(Built { wall, processor, vector_folder })
}

/// A document of one chunk. The chunks beyond the real texts repeat those, each with words of its own.
fn document(place: usize, rows: &Rows, texts: &Texts) -> Result<DocumentChunks> {
    let text = texts.passages.get(place % texts.passages.len()).context("no texts")?;
    let text = match place / texts.passages.len() {
        0 => text.clone(),
        copy => format!("{text} {copy} {place}"),
    };
    let title = format!("text {place}");
    let chunk = NewChunk {
        ordinal: 0,
        section: 0,
        text,
        heading_path: vec![title.clone()],
        range: 0..0,
        tags: agent::filter::Tags::new(),
        vectors: vec![rows.row(place).to_vec()],
    };
    let source = format!("{title}.md");
    Ok(DocumentChunks {
        document: format!("{place:032x}").parse()?,
        title,
        source,
        tags: agent::filter::Tags::new(),
        chunks: vec![chunk],
    })
}

fn only_name(folder: &Path) -> Result<String> {
    let mut names = std::fs::read_dir(folder)?;
    let name = names.next().context("no index was made")??.file_name();
    Ok(name.to_string_lossy().into_owned())
}

fn segments(folder: &Path) -> Result<Vec<Segment<Vec<u8>>>> {
    let mut segments = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        segments.push(Segment::open(std::fs::read(entry?.path())?)?);
    }
    Ok(segments)
}

struct Nearest {
    keys: Vec<Vec<u64>>,
    times: Vec<Duration>,
}

/// Asks every question on one thread, as the peer does.
fn nearest(segments: &[Segment<Vec<u8>>], questions: &Rows) -> Result<Nearest> {
    let mut scratch = Scratch::default();
    let (mut keys, mut times) = (Vec::new(), Vec::new());
    for place in 0..questions.count() {
        let start = Instant::now();
        let mut hits = Vec::new();
        for segment in segments {
            let question = questions.row(place);
            let effort = Effort::default();
            hits.extend(segment.search(question, NEIGHBOURS, effort, &Everything, &mut scratch)?);
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        times.push(start.elapsed());
        keys.push(hits.iter().take(NEIGHBOURS).map(|hit| hit.key).collect());
    }
    Ok(Nearest { keys, times })
}

/// The share of the exact neighbours that was found. The note that made the index has the first key.
fn recall(found: &[Vec<u64>], truth: &[Vec<u64>]) -> f64 {
    let offset = 1;
    let hits: usize = found
        .iter()
        .zip(truth)
        .map(|(found, truth)| truth.iter().filter(|key| found.contains(&(*key + offset))).count())
        .sum();
    hits as f64 / (truth.len() * NEIGHBOURS) as f64
}

struct OverHttp {
    p50: f64,
    p99: f64,
    processor: f64,
    keyword_p99: f64,
    resident: f64,
    ready: f64,
    first_answer: f64,
}

/// The whole search as a client sees it, one question after another on one connection.
fn hybrid(saem: &Saem, questions: &[String], rounds: usize) -> Result<OverHttp> {
    let server = saem.serve()?;
    let mut connection = Connection::open(&server.listen)?;
    let ask = |connection: &mut Connection, question: &str, mode: &str| -> Result<Duration> {
        let path = format!("/api/search?q={}&mode={mode}", encoded(question));
        let start = Instant::now();
        let answer = connection.get(&path)?;
        let time = start.elapsed();
        // Words alone may find nothing; the nearest vectors are always found.
        ensure!(mode == "keyword" || answer.len() > 100, "nothing found for {question}");
        Ok(time)
    };
    let first = questions.first().context("no questions")?;
    let first_answer = ask(&mut connection, first, "hybrid")? + server.opened;
    for question in questions {
        ask(&mut connection, question, "hybrid")?;
    }
    let before = server.usage()?.processor;
    let mut times = Vec::new();
    for _ in 0..rounds {
        for question in questions {
            times.push(ask(&mut connection, question, "hybrid")?);
        }
    }
    let spent = server.usage()?.processor.saturating_sub(before);
    let mut keyword = Vec::new();
    for question in questions {
        keyword.push(ask(&mut connection, question, "keyword")?);
    }
    Ok(OverHttp {
        p50: percentile(&times, 0.5),
        p99: percentile(&times, 0.99),
        processor: spent.as_secs_f64() * 1000.0 / times.len() as f64,
        keyword_p99: percentile(&keyword, 0.99),
        resident: server.usage()?.resident_mebibytes,
        ready: server.opened.as_secs_f64() * 1000.0,
        first_answer: first_answer.as_secs_f64() * 1000.0,
    })
}
