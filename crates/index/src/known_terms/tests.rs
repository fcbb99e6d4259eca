//! Checks that adding up finds what tantivy's own search finds.

use proptest::prelude::*;
use tantivy::schema::{STORED, Schema};
use tantivy::{Index, TantivyDocument};

use super::*;
use crate::bits::Bits;
use crate::plain;

const WORDS: [&str; 12] = [
    "예산을",
    "예산",
    "알림",
    "비용이",
    "서버",
    "NB-4031",
    "budget",
    "alerts",
    "server",
    "cost",
    "costs",
    "the",
];

struct World {
    searcher: Searcher,
    fields: KeywordFields,
}

/// An index with a segment for each list of texts; every fifth text of each is deleted again.
fn world(segments: &[Vec<String>]) -> World {
    let mut schema = Schema::builder();
    let fields = KeywordFields::declare(&mut schema);
    let name = schema.add_text_field("name", tantivy::schema::STRING | STORED);
    let index = Index::create_in_ram(schema.build());
    plain::register_tokenizer(&index);
    let mut writer = index.writer_with_num_threads(1, 20_000_000).unwrap();
    writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
    let mut deleted = Vec::new();
    for (segment, texts) in segments.iter().enumerate() {
        for (number, text) in texts.iter().enumerate() {
            let mut document = TantivyDocument::default();
            let heading = text.split(' ').next().unwrap_or_default();
            plain::add(fields, &mut document, heading, text);
            let own = format!("{segment}-{number}");
            document.add_text(name, &own);
            writer.add_document(document).unwrap();
            if number % 5 == 3 {
                deleted.push(own);
            }
        }
        writer.commit().unwrap();
    }
    for own in deleted {
        writer.delete_term(Term::from_field_text(name, &own));
    }
    writer.commit().unwrap();
    World { searcher: index.reader().unwrap().searcher(), fields }
}

fn texts() -> impl Strategy<Value = Vec<Vec<String>>> {
    let text = prop::collection::vec(prop::sample::select(&WORDS), 1..12)
        .prop_map(|words| words.join(" "));
    prop::collection::vec(prop::collection::vec(text, 1..30), 1..4)
}

/// Every second passage of each segment.
fn every_second(searcher: &Searcher) -> Vec<Bits> {
    let segment = |reader: &tantivy::SegmentReader| {
        let mut bits = Bits::new(reader.max_doc());
        (0..reader.max_doc()).step_by(2).for_each(|doc| bits.insert(doc));
        bits
    };
    searcher.segment_readers().iter().map(segment).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn adding_up_finds_what_tantivy_finds(
        texts in texts(),
        question in prop::collection::vec(prop::sample::select(&WORDS), 1..8),
        is_filtered in any::<bool>(),
        count in 1_usize..20,
    ) {
        let World { searcher, fields } = world(&texts);
        let known = KnownTerms::new(&searcher, fields).unwrap();
        let allowed = is_filtered.then(|| Arc::new(every_second(&searcher)));
        let (question, everything) = (question.join(" "), Top { count: 1000, allowed: allowed.clone() });
        let theirs = query::find(&searcher, fields, &question, &everything).unwrap().unwrap();
        // Read from the index the first time, and from memory the second.
        for _ in 0..2 {
            let ours = known.find(&searcher, fields, &question, &everything).unwrap().unwrap();
            prop_assert_eq!(ours.full_score, theirs.full_score);
            let by_address = |found: &WordsFound| {
                let mut hits = found.hits.clone();
                hits.sort_by_key(|(_, address)| *address);
                hits
            };
            let (ours_by, theirs_by) = (by_address(&ours), by_address(&theirs));
            prop_assert_eq!(ours_by.len(), theirs_by.len());
            for (ours, theirs) in ours_by.iter().zip(&theirs_by) {
                prop_assert_eq!(ours.1, theirs.1);
                prop_assert!((ours.0 - theirs.0).abs() <= 1e-4 * theirs.0.abs(), "{} {}", ours.0, theirs.0);
            }
            // Fewer are the first of all.
            let top = Top { count, allowed: allowed.clone() };
            let first = known.find(&searcher, fields, &question, &top).unwrap().unwrap();
            prop_assert!(first.hits.iter().eq(ours.hits.iter().take(count)));
        }
    }
}

#[test]
fn what_is_remembered_is_bounded() {
    let words = |from: usize| (from..from + 200).map(|n| format!("word{n}x ")).collect::<String>();
    let World { searcher, fields } = world(&[(0..40).map(|_| words(0)).collect()]);
    let known = KnownTerms::new(&searcher, fields).unwrap();
    let top = Top { count: 10, allowed: None };
    let bytes = || known.known.read().unwrap().bytes;
    let mut forgot = false;
    for from in 0..400 {
        let before = bytes();
        known.find(&searcher, fields, &words(from * 200), &top).unwrap();
        assert!(bytes() <= BYTES_MAX);
        forgot |= bytes() < before;
    }
    assert!(forgot, "the bound was never met: this test tests nothing");
    let found = known.find(&searcher, fields, "word7x", &top).unwrap().unwrap();
    assert_eq!(found.hits.len(), 10);
}
