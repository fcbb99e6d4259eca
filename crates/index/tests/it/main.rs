//! The embedded index keeps the promise of its port, also over a restart.

use agent::ports::{Find, Index, Lane};
use index::{LocalIndex, Settings};
use testkit::contracts;
use testkit::samples::{chunks, id, tenant};

#[tokio::test]
async fn the_embedded_index_keeps_its_contract() {
    let folder = tempfile::tempdir().unwrap();
    let index = LocalIndex::new(Settings::at(folder.path().to_owned()));
    contracts::index::keeps_its_promise(&index).await;
}

#[tokio::test]
async fn what_was_applied_is_there_after_a_new_start() {
    let folder = tempfile::tempdir().unwrap();
    let mine = tenant("mine");
    let index = LocalIndex::new(Settings::at(folder.path().to_owned()));
    index.begin(&mine, "test", 4, "recipe").await.unwrap();
    let of = chunks(&id('a'), "guide", &[("샘은 솟는다", vec![1.0, 0.0, 0.0, 0.0])]);
    index.apply(&mine, Lane::Serving, vec![of], 3).await.unwrap();
    drop(index);
    let index = LocalIndex::new(Settings::at(folder.path().to_owned()));
    assert_eq!(index.state(&mine, Lane::Serving).await.unwrap().unwrap().applied, 3);
    let find = Find {
        text: Some("샘".to_owned()),
        vector: Some(vec![1.0, 0.0, 0.0, 0.0]),
        count: 5,
        ..Find::default()
    };
    let finding = index.find(&mine, &find).await.unwrap();
    assert_eq!((finding.keyword().len(), finding.vector().len()), (1, 1));
}

#[tokio::test]
async fn a_damaged_index_counts_as_none_so_that_it_is_built_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mine = tenant("mine");
    let index = LocalIndex::new(Settings::at(folder.path().to_owned()));
    index.begin(&mine, "test", 4, "recipe").await.unwrap();
    drop(index);
    std::fs::write(folder.path().join("mine/1/meta.json"), b"{").unwrap();
    let index = LocalIndex::new(Settings::at(folder.path().to_owned()));
    assert_eq!(index.state(&mine, Lane::Serving).await.unwrap(), None);
    index.begin(&mine, "test", 4, "recipe").await.unwrap();
    assert!(index.state(&mine, Lane::Serving).await.unwrap().is_some());
}
