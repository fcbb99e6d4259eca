//! Checks that a segment of ours is the one that tantivy makes of the same chunks.

use agent::filter::TagValue;
use agent::knowledge::{DocumentChunks, NewChunk};
use proptest::prelude::*;
use tantivy::TantivyDocument;
use tantivy::index::{Segment, SegmentComponent};
use tantivy::merge_policy::NoMergePolicy;

use super::*;
use crate::schema::{MergedTags, entry, schema};
use crate::tokens::Analyzer;
use crate::{filters, plain};

const COMPONENTS: [SegmentComponent; 6] = [
    SegmentComponent::FieldNorms,
    SegmentComponent::Terms,
    SegmentComponent::Postings,
    SegmentComponent::Positions,
    SegmentComponent::FastFields,
    SegmentComponent::Store,
];

fn bytes(segment: &Segment, component: &SegmentComponent) -> Vec<u8> {
    segment.open_read(component.clone()).unwrap().read_bytes().unwrap().to_vec()
}

/// The segment that tantivy makes.
fn theirs(documents: &[DocumentChunks]) -> Segment {
    let (schema, fields) = schema();
    let index = Index::create_in_ram(schema);
    plain::register_tokenizer(&index);
    let mut writer = index.writer_with_num_threads(1, 20_000_000).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    let mut analyzer = Analyzer::default();
    let mut key = 0;
    for of in documents {
        for chunk in &of.chunks {
            let entry = entry(&mut analyzer, of, chunk).unwrap();
            let mut to = TantivyDocument::default();
            to.add_u64(fields.key, key);
            to.add_bytes(fields.document, &of.document.to_bytes());
            plain::add(fields.keyword, &mut to, &chunk.heading_path.join("\n"), &chunk.text);
            to.add_u64(fields.language, entry.language);
            let mut tags = Vec::new();
            let merged = MergedTags { document: &of.tags, chunk: &chunk.tags };
            filters::terms(merged.iter(), |term| tags.push(term.to_owned()));
            to.add_text(fields.tags, plain::joined(tags.iter().map(String::as_str)));
            to.add_bytes(fields.stored, &entry.stored);
            writer.add_document(to).unwrap();
            key += 1;
        }
    }
    writer.commit().unwrap();
    index.searchable_segments().unwrap().remove(0)
}

/// The segment that we make.
fn ours(documents: &[DocumentChunks]) -> Segment {
    let (schema, fields) = schema();
    let index = Index::create_in_ram(schema);
    let mut analyzer = Analyzer::default();
    let vocabularies = analyzer.vocabularies();
    let mut pending = Pending::new(Arc::clone(&vocabularies), 0);
    let mut keys = 0..;
    for of in documents {
        let entries: Vec<Entry> =
            of.chunks.iter().map(|chunk| entry(&mut analyzer, of, chunk).unwrap()).collect();
        let arriving = keys.by_ref().zip(&entries).zip(&of.chunks);
        let chunks = arriving.map(|((key, entry), chunk)| Chunk { key, entry, tags: &chunk.tags });
        let chunks = chunks.take(of.chunks.len()).collect();
        assert!(pending.takes(&vocabularies, &of.document));
        pending.add(&index, fields, (&of.document, &of.tags), chunks).unwrap();
    }
    let meta = pending.finish().unwrap().unwrap();
    index.segment(meta)
}

fn tags() -> impl Strategy<Value = Tags> {
    let value = prop_oneof![
        any::<bool>().prop_map(TagValue::Flag),
        (-3..3).prop_map(|number| TagValue::Number(f64::from(number))),
        "[a-c가\u{1f}]{0,3}".prop_map(TagValue::Text),
    ];
    let name = prop::sample::select(&["language", "has_code", "team", "updated_at"][..]);
    prop::collection::btree_map(
        name.prop_map(str::to_owned),
        prop::collection::vec(value, 0..4),
        0..4,
    )
}

fn text() -> impl Strategy<Value = String> {
    let words = [
        "예산을",
        "예산",
        "(알림",
        "비용이",
        "서버는",
        "NB-4031",
        "budget,",
        "alerts",
        "서버server",
        "the",
        "is",
        "이",
        "costCenter",
        "v1.2.3",
        "…",
        "\n",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..40)
        .prop_map(|words| words.join(" "))
}

fn documents() -> impl Strategy<Value = Vec<DocumentChunks>> {
    let chunk = (text(), text(), tags()).prop_map(|(heading, text, tags)| NewChunk {
        ordinal: 3,
        section: 2,
        text,
        heading_path: vec!["샘".to_owned(), heading],
        range: 1..9,
        tags,
        vectors: Vec::new(),
    });
    let document = (tags(), prop::collection::vec(chunk, 0..6));
    prop::collection::vec(document, 1..8).prop_map(|documents| {
        let document = |(number, (tags, chunks))| DocumentChunks {
            // Their order is not that of their numbers.
            document: format!("{:032x}", 0x9e37_79b9_u128.wrapping_mul(number + 1) % 251)
                .parse()
                .unwrap(),
            title: "title".to_owned(),
            source: "a.md".to_owned(),
            tags,
            chunks,
        };
        (0_u128..).zip(documents).map(document).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn our_files_are_those_that_tantivy_writes(documents in documents()) {
        prop_assume!(documents.iter().any(|of| !of.chunks.is_empty()));
        let (ours, theirs) = (ours(&documents), theirs(&documents));
        prop_assert_eq!(ours.meta().max_doc(), theirs.meta().max_doc());
        for component in &COMPONENTS {
            prop_assert_eq!(bytes(&ours, component), bytes(&theirs, component), "{}", component);
        }
    }
}

/// Lists longer than one of tantivy's blocks, and texts that fill more than one.
#[test]
fn our_files_are_those_that_tantivy_writes_when_there_are_many_chunks() {
    let chunk = |number: u32| NewChunk {
        ordinal: number,
        section: number,
        text: format!("예산 budget cost{} {}", number % 7, "서버 ".repeat(number as usize % 5)),
        heading_path: vec![format!("part {}", number / 10)],
        range: 0..9,
        tags: Tags::from([("has_code".to_owned(), vec![TagValue::Flag(number.is_multiple_of(3))])]),
        vectors: Vec::new(),
    };
    let document = |number: u32| DocumentChunks {
        document: format!("{:032x}", number.wrapping_mul(0x9e37_79b9)).parse().unwrap(),
        title: format!("title {number}"),
        source: format!("{number}.md"),
        tags: Tags::from([("team".to_owned(), vec![TagValue::Text(format!("t{}", number % 4))])]),
        chunks: (0..40).map(chunk).collect(),
    };
    let documents: Vec<DocumentChunks> = (0..20).map(document).collect();
    let (ours, theirs) = (ours(&documents), theirs(&documents));
    for component in &COMPONENTS {
        assert!(bytes(&ours, component) == bytes(&theirs, component), "{component}");
    }
}
