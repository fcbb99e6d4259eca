//! Checks when what was written shows, and what a write that broke off leaves behind.

use agent::filter::Tags;
use agent::knowledge::NewChunk;
use agent::ports::{Find, NoFailpoints};

use super::*;
use crate::pending;

fn document(number: u32, texts: &[&str]) -> DocumentChunks {
    let chunk = |text: &&str| NewChunk {
        ordinal: 0,
        section: 0,
        text: (*text).to_owned(),
        heading_path: Vec::new(),
        range: 0..0,
        tags: Tags::new(),
        vectors: Vec::new(),
    };
    DocumentChunks {
        document: format!("{number:032x}").parse().unwrap(),
        title: String::new(),
        source: String::new(),
        tags: Tags::new(),
        chunks: texts.iter().map(chunk).collect(),
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("vectors")).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        // The writer's lock is the living process's own.
        if entry.metadata().unwrap().is_file() && entry.file_name() != ".tantivy-writer.lock" {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Killed after it has written which chunks are gone, and before the commit that says so.
#[test]
fn a_list_of_deleted_chunks_that_no_commit_names_does_not_block_the_next() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (folder, aside) = (here.path().join("1"), there.path().join("1"));
    let generation = create(here.path());
    let two = vec![document(1, &["one"]), document(2, &["two"])];
    generation.apply(two, 1).unwrap();
    drop(generation);
    copy(&folder, &aside);

    let killed = Generation::open(&aside, Arc::new(NoFailpoints)).unwrap();
    killed.apply(vec![document(1, &[])], 2).unwrap();
    drop(killed);
    let is_left = |name: &str| name.ends_with(".del") || name == ".managed.json";
    let mut lists = 0;
    for entry in fs::read_dir(&aside).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if is_left(&name) {
            lists += usize::from(name.ends_with(".del"));
            fs::copy(aside.join(&name), folder.join(&name)).unwrap();
        }
    }
    assert!(lists > 0, "the deletion has left no list: this test tests nothing");

    let again = Generation::open(&folder, Arc::new(NoFailpoints)).unwrap();
    again.apply(vec![document(1, &[])], 2).unwrap();
    assert_eq!(again.snapshot().state.chunks, 1);
}

fn create(folder: &Path) -> Generation {
    let payload = Payload { dimensions: 2, ..Payload::default() };
    Generation::create(&folder.join("1"), payload, Arc::new(NoFailpoints)).unwrap()
}

/// A document with a vector for each text.
fn with_vectors(number: u32, texts: &[&str]) -> DocumentChunks {
    let mut document = document(number, texts);
    document.chunks.iter_mut().for_each(|chunk| chunk.vectors = vec![vec![1.0, 0.0]]);
    document
}

/// Chunks and vectors that can be found.
fn shown(generation: &Generation) -> (u64, usize) {
    let snapshot = generation.snapshot();
    (snapshot.state.chunks, snapshot.vectors.iter().map(|file| file.segment.len()).sum())
}

#[test]
fn what_is_readied_shows_with_the_next_commit_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let generation = create(folder.path());
    generation.stage(vec![with_vectors(1, &["one", "two"])]).unwrap();
    generation.stage(vec![with_vectors(2, &["three"])]).unwrap();
    assert_eq!(shown(&generation), (0, 0));
    generation.apply(vec![with_vectors(3, &["four"])], 3).unwrap();
    assert_eq!(shown(&generation), (4, 4));
    assert_eq!(generation.snapshot().state.applied, 3);
}

#[test]
fn what_is_readied_twice_is_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let generation = create(folder.path());
    generation.stage(vec![with_vectors(1, &["one", "two"])]).unwrap();
    // Compacting commits what waits, and the change that brought it is applied again later.
    generation.compact().unwrap();
    assert_eq!((shown(&generation), generation.snapshot().state.applied), ((2, 2), 0));
    generation.apply(vec![with_vectors(1, &["one", "two"])], 1).unwrap();
    assert_eq!(shown(&generation).0, 2);
}

#[test]
fn an_index_is_compacted_while_its_segments_are_being_merged() {
    let folder = tempfile::tempdir().unwrap();
    let generation = create(folder.path());
    // As many as are merged by themselves, and enough in each that this takes a moment.
    let words: Vec<String> = (0..2_000).map(|word| format!("word{word}")).collect();
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    for number in 1..=8 {
        generation.apply(vec![document(number, &texts)], u64::from(number)).unwrap();
    }
    generation.compact().unwrap();
    assert_eq!(generation.index.searchable_segment_ids().unwrap().len(), 1);
    assert_eq!(shown(&generation).0, 16_000);
}

#[test]
fn what_was_readied_and_is_lost_with_a_compaction_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let generation = create(folder.path());
    generation.apply(vec![with_vectors(1, &["one"])], 1).unwrap();
    generation.stage(vec![with_vectors(2, &["two"])]).unwrap();
    let next = generation.writing().payload.next_file;
    let taken = vector_folder(&folder.path().join("1")).join(format!("{next:010}.vec"));
    fs::create_dir(&taken).unwrap();
    assert!(generation.compact().is_err());
    fs::remove_dir(&taken).unwrap();
    // Who has readied it would say that it is there.
    assert!(generation.apply(Vec::new(), 2).is_err());
    assert_eq!((shown(&generation), generation.snapshot().state.applied), ((1, 1), 1));
    generation.apply(vec![with_vectors(2, &["two"])], 2).unwrap();
    assert_eq!(shown(&generation), (2, 2));
}

#[test]
fn an_index_of_words_alone_is_compacted_after_a_deletion() {
    let folder = tempfile::tempdir().unwrap();
    let generation =
        Generation::create(&folder.path().join("1"), Payload::default(), Arc::new(NoFailpoints))
            .unwrap();
    generation.apply(vec![document(1, &["spring", "well"]), document(2, &["river"])], 1).unwrap();
    generation.apply(vec![document(1, &["lake"])], 2).unwrap();
    generation.compact().unwrap();
    assert_eq!(generation.index.searchable_segment_ids().unwrap().len(), 1);
    assert_eq!(shown(&generation), (2, 0));
}

#[test]
fn what_was_readied_is_lost_with_the_process_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let generation = create(folder.path());
    generation.apply(vec![with_vectors(1, &["one"])], 1).unwrap();
    generation.stage(vec![with_vectors(2, &["two"])]).unwrap();
    drop(generation);
    let again = Generation::open(&folder.path().join("1"), Arc::new(NoFailpoints)).unwrap();
    assert_eq!(shown(&again), (1, 1));
    again.apply(vec![with_vectors(2, &["two"])], 2).unwrap();
    assert_eq!(shown(&again), (2, 2));
}

#[test]
fn a_vector_that_does_not_fit_takes_what_was_readied_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let generation = create(folder.path());
    generation.stage(vec![with_vectors(1, &["one"])]).unwrap();
    let mut wrong = with_vectors(2, &["two"]);
    wrong.chunks.iter_mut().for_each(|chunk| chunk.vectors = vec![vec![1.0, 0.0, 0.0]]);
    assert!(generation.stage(vec![wrong]).is_err());
    generation.apply(vec![with_vectors(3, &["three"])], 3).unwrap();
    assert_eq!(shown(&generation), (1, 1));
}

/// The keys of the chunks that say this.
fn found(generation: &Generation, word: &str) -> Vec<u64> {
    let find = Find { text: Some(word.to_owned()), count: 10, ..Find::default() };
    let lists = generation.snapshot().find(&find).unwrap();
    let mut keys: Vec<u64> = lists.keyword.iter().map(|hit| hit.key.0).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn of_a_document_that_is_readied_twice_the_later_one_counts() {
    let folder = tempfile::tempdir().unwrap();
    let generation = create(folder.path());
    generation.stage(vec![document(1, &["spring", "well"]), document(2, &["river"])]).unwrap();
    generation.stage(vec![document(1, &["spring"])]).unwrap();
    generation.stage(vec![document(2, &[])]).unwrap();
    generation.apply(Vec::new(), 4).unwrap();
    assert_eq!(found(&generation, "spring"), [3]);
    assert_eq!(found(&generation, "well"), [0_u64; 0]);
    assert_eq!(found(&generation, "river"), [0_u64; 0]);
    assert_eq!(generation.snapshot().state.chunks, 1);
}

#[test]
fn chunks_whose_terms_are_numbered_differently_wait_for_the_same_commit() {
    let folder = tempfile::tempdir().unwrap();
    let generation = create(folder.path());
    generation.stage(vec![document(1, &["spring well", "well"])]).unwrap();
    // As when there were too many terms.
    *generation.analyzer.lock().unwrap() = Analyzer::default();
    generation.apply(vec![document(2, &["river spring"])], 2).unwrap();
    assert_eq!(found(&generation, "spring"), [0, 2]);
    assert_eq!(found(&generation, "well"), [0, 1]);
    assert_eq!(found(&generation, "river"), [2]);
}

#[test]
fn more_terms_than_may_wait_are_found_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let generation = create(folder.path());
    // Each is a word and a syllable by itself.
    let long = "물 ".repeat(pending::TERMS_MAX / 16);
    for number in 1..=10 {
        generation.stage(vec![document(number, &[long.as_str(), "spring"])]).unwrap();
    }
    generation.apply(Vec::new(), 10).unwrap();
    assert_eq!(generation.index.searchable_segment_ids().unwrap().len(), 2);
    assert_eq!(found(&generation, "spring").len(), 10);
    assert_eq!(found(&generation, "물").len(), 10);
}
