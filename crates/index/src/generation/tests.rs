//! Checks what a write that broke off leaves behind.

use agent::filter::Tags;
use agent::knowledge::NewChunk;
use agent::ports::NoFailpoints;

use super::*;

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
    let payload = Payload { dimensions: 1, ..Payload::default() };
    let generation = Generation::create(&folder, payload, Arc::new(NoFailpoints)).unwrap();
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
