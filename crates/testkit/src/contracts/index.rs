//! The promise of `Index`.

use agent::filter::{Filter, TagValue};
use agent::names::TenantId;
use agent::ports::{Find, Index, Lane};

use crate::samples::{chunks, id, tenant};

/// Vectors of the contract have this many numbers.
pub const DIMENSIONS: usize = 8;

/// Runs every part on a fresh index.
pub async fn keeps_its_promise(index: &dyn Index) {
    nothing_is_found_before_anything_is_there(index).await;
    both_sides_find_and_a_change_replaces(index).await;
    what_is_readied_beside_a_commit_is_neither_lost_nor_doubled(index).await;
    filters_hold_on_both_sides(index).await;
    a_new_index_takes_over_only_when_promoted(index).await;
    tenants_never_meet(index).await;
    compaction_changes_nothing_that_can_be_seen(index).await;
}

/// A unit vector along one axis.
fn axis(number: usize) -> Vec<f32> {
    (0..DIMENSIONS).map(|place| f32::from(u8::from(place == number % DIMENSIONS))).collect()
}

async fn found(
    index: &dyn Index,
    tenant: &TenantId,
    find: Find,
) -> (Vec<String>, Vec<String>, Vec<String>) {
    let finding = index.find(tenant, &find).await.unwrap();
    let mut texts = Vec::new();
    for hits in [finding.keyword(), finding.vector(), finding.listed()] {
        let keys: Vec<_> = hits.iter().map(|hit| hit.key).collect();
        let passages = finding.load(&keys).await.unwrap();
        assert_eq!(passages.len(), keys.len(), "every hit can be loaded");
        texts.push(passages.into_iter().map(|passage| passage.text.clone()).collect::<Vec<_>>());
    }
    let mut texts = texts.into_iter();
    let mut next = || texts.next().unwrap_or_default();
    (next(), next(), next())
}

fn words(text: &str) -> Find {
    Find { text: Some(text.to_owned()), count: 10, ..Find::default() }
}

fn near(number: usize) -> Find {
    Find { vector: Some(axis(number)), count: 1, ..Find::default() }
}

async fn begin(index: &dyn Index, tenant: &TenantId) {
    index.begin(tenant, "test", DIMENSIONS, "recipe").await.unwrap();
}

async fn nothing_is_found_before_anything_is_there(index: &dyn Index) {
    let mine = tenant("empty");
    assert_eq!(index.state(&mine, Lane::Serving).await.unwrap(), None);
    assert_eq!(found(index, &mine, words("anything")).await, Default::default());
    begin(index, &mine).await;
    assert_eq!(found(index, &mine, words("anything")).await, Default::default());
    assert_eq!(found(index, &mine, near(1)).await, Default::default());
    let state = index.state(&mine, Lane::Serving).await.unwrap().unwrap();
    assert_eq!((state.applied, state.chunks, state.embedder.as_str()), (0, 0, "test"));
}

async fn what_is_readied_beside_a_commit_is_neither_lost_nor_doubled(index: &dyn Index) {
    let mine = tenant("beside");
    begin(index, &mine).await;
    for round in 1..=8_u32 {
        let of = |document, word: &str| {
            chunks(&id(document), "guide", &[(format!("{word}{round}").as_str(), axis(1))])
        };
        let applied = u64::from(round) * 2;
        let commit = index.apply(&mine, Lane::Serving, vec![of('a', "spring")], applied);
        let ready = index.stage(&mine, Lane::Serving, vec![of('b', "river")]);
        let (committed, readied) = futures_util::future::join(commit, ready).await;
        committed.unwrap();
        readied.unwrap();
        index.apply(&mine, Lane::Serving, Vec::new(), applied + 1).await.unwrap();
        for word in ["spring", "river"] {
            let now = format!("{word}{round}");
            assert_eq!(found(index, &mine, words(&now)).await.0, [now]);
            let before = format!("{word}{}", round - 1);
            assert!(found(index, &mine, words(&before)).await.0.is_empty(), "{before} is gone");
        }
        let state = index.state(&mine, Lane::Serving).await.unwrap().unwrap();
        assert_eq!((state.applied, state.chunks), (applied + 1, 2));
    }
}

async fn both_sides_find_and_a_change_replaces(index: &dyn Index) {
    let mine = tenant("change");
    begin(index, &mine).await;
    let first = [("예산 알림을 켭니다", axis(1)), ("rightsizing recommendations", axis(2))];
    index.apply(&mine, Lane::Serving, vec![chunks(&id('a'), "guide", &first)], 5).await.unwrap();
    assert_eq!(found(index, &mine, words("예산은?")).await.0, ["예산 알림을 켭니다"]);
    assert_eq!(
        found(index, &mine, words("recommendation")).await.0,
        ["rightsizing recommendations"]
    );
    assert_eq!(found(index, &mine, near(2)).await.1, ["rightsizing recommendations"]);
    let second = [("예산을 나눕니다", axis(3))];
    index.apply(&mine, Lane::Serving, vec![chunks(&id('a'), "guide", &second)], 6).await.unwrap();
    assert_eq!(found(index, &mine, words("예산")).await.0, ["예산을 나눕니다"]);
    assert!(found(index, &mine, words("recommendation")).await.0.is_empty());
    assert_eq!(found(index, &mine, near(2)).await.1, ["예산을 나눕니다"]);
    let state = index.state(&mine, Lane::Serving).await.unwrap().unwrap();
    assert_eq!((state.applied, state.chunks), (6, 1));
    index.apply(&mine, Lane::Serving, vec![chunks(&id('a'), "guide", &[])], 7).await.unwrap();
    assert!(found(index, &mine, words("예산")).await.0.is_empty());
    assert!(found(index, &mine, near(3)).await.1.is_empty());
}

async fn filters_hold_on_both_sides(index: &dyn Index) {
    let mine = tenant("filters");
    begin(index, &mine).await;
    let texts: Vec<(&str, Vec<f32>)> = (0..8).map(|number| ("same words", axis(number))).collect();
    let documents = vec![
        chunks(&id('a'), "guide", &texts),
        chunks(&id('b'), "faq", &[("same words", axis(0))]),
    ];
    index.apply(&mine, Lane::Serving, documents, 1).await.unwrap();
    for (conditions, expected) in [
        (&["doc_type=faq"][..], 1),
        (&["doc_type=guide"], 8),
        (&["doc_type=faq|guide"], 9),
        (&["doc_type!=faq"], 8),
        (&["order>=3"], 5),
        (&["order<=3", "order>=2"], 2),
        (&["has_steps=true", "doc_type=guide"], 1),
        (&["doc_type=nothing"], 0),
    ] {
        let filter = Filter::read(conditions.iter().copied()).unwrap();
        let find = |text: Option<&str>, vector| Find {
            text: text.map(str::to_owned),
            vector,
            filter: filter.clone(),
            count: 100,
        };
        let (keyword, _, _) = found(index, &mine, find(Some("words"), None)).await;
        let (_, vector, _) = found(index, &mine, find(None, Some(axis(0)))).await;
        let (_, _, listed) = found(index, &mine, find(None, None)).await;
        assert_eq!(
            (keyword.len(), vector.len(), listed.len()),
            (expected, expected, expected),
            "{conditions:?}"
        );
    }
    let tags = index.known_tags(&mine).await.unwrap();
    assert!(["doc_type", "order", "has_steps"].iter().all(|tag| tags.contains(*tag)));
    assert_eq!(TagValue::read("true"), TagValue::Flag(true));
}

async fn a_new_index_takes_over_only_when_promoted(index: &dyn Index) {
    let mine = tenant("promote");
    begin(index, &mine).await;
    index
        .apply(&mine, Lane::Serving, vec![chunks(&id('a'), "guide", &[("old", axis(0))])], 1)
        .await
        .unwrap();
    assert_eq!(index.begin(&mine, "test2", DIMENSIONS, "recipe").await.unwrap(), Lane::Building);
    index
        .apply(&mine, Lane::Building, vec![chunks(&id('a'), "guide", &[("new", axis(0))])], 1)
        .await
        .unwrap();
    assert_eq!(found(index, &mine, near(0)).await.1, ["old"]);
    index.promote(&mine).await.unwrap();
    assert_eq!(found(index, &mine, near(0)).await.1, ["new"]);
    assert_eq!(index.state(&mine, Lane::Building).await.unwrap(), None);
    let state = index.state(&mine, Lane::Serving).await.unwrap().unwrap();
    assert_eq!(state.embedder, "test2");
}

async fn tenants_never_meet(index: &dyn Index) {
    let (one, two) = (tenant("one"), tenant("one2"));
    for (mine, text) in [(&one, "secret of one"), (&two, "secret of two")] {
        begin(index, mine).await;
        index
            .apply(mine, Lane::Serving, vec![chunks(&id('a'), "guide", &[(text, axis(0))])], 1)
            .await
            .unwrap();
    }
    let everything = Find { count: 100, ..Find::default() };
    for (mine, text) in [(&one, "secret of one"), (&two, "secret of two")] {
        assert_eq!(found(index, mine, words("secret one two")).await.0, [text]);
        assert_eq!(found(index, mine, near(0)).await.1, [text]);
        assert_eq!(found(index, mine, everything.clone()).await.2, [text]);
    }
}

async fn compaction_changes_nothing_that_can_be_seen(index: &dyn Index) {
    let mine = tenant("compact");
    begin(index, &mine).await;
    for (sequence, digit) in (1..).zip("abcabcabcd".chars()) {
        let text = format!("round {sequence} of {digit}");
        let of = chunks(&id(digit), "guide", &[(text.as_str(), axis(sequence))]);
        index.apply(&mine, Lane::Serving, vec![of], sequence as u64).await.unwrap();
    }
    let before = found(index, &mine, words("round")).await;
    assert_eq!(before.0.len(), 4);
    index.compact(&mine).await.unwrap();
    let mut after = found(index, &mine, words("round")).await.0;
    let mut before = before.0;
    after.sort();
    before.sort();
    assert_eq!(before, after);
    assert_eq!(found(index, &mine, near(9)).await.1, ["round 9 of c"]);
}
