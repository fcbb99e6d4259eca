//! What a segment promises: it finds what brute force finds, obeys filters, and survives bad bytes.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::clusters::Vectors;
use super::rotation::{Random, Rotation};
use super::*;

/// Enough for a segment with clusters, and no more: tests build it unoptimised.
const CLUSTERED: usize = 1_000;
const CLUSTERS: usize = 10;

/// Enough clusters for more cells than a vector looks into, and for some to stay unranked.
const MANY: usize = 250;

/// Vectors around a few centres, as real ones are.
fn vectors(count: usize, dimensions: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut random = Random::new(seed);
    let mut number = move || (random.next() >> 40) as f32 / (1 << 23) as f32 - 1.0;
    let mut around = |centre: &[f32], spread: f32| -> Vec<f32> {
        centre.iter().map(|c| c + spread * number()).collect()
    };
    let centres: Vec<_> = (0..8).map(|_| around(&vec![0.0; dimensions], 1.0)).collect();
    (0..count).map(|place| around(&centres[place % 8], 0.8)).collect()
}

fn segment(vectors: &[Vec<f32>], key: impl Fn(usize) -> u64) -> Segment<Vec<u8>> {
    Segment::open(bytes(vectors, key, 0)).unwrap()
}

fn clustered(vectors: &[Vec<f32>], key: impl Fn(usize) -> u64) -> Segment<Vec<u8>> {
    Segment::open(bytes(vectors, key, CLUSTERS)).unwrap()
}

fn builder(vectors: &[Vec<f32>], key: impl Fn(usize) -> u64) -> SegmentBuilder {
    let mut builder = SegmentBuilder::new(vectors[0].len()).unwrap();
    for (place, vector) in vectors.iter().enumerate() {
        builder.push(key(place), vector).unwrap();
    }
    builder
}

fn bytes(vectors: &[Vec<f32>], key: impl Fn(usize) -> u64, clusters: usize) -> Vec<u8> {
    let builder = builder(vectors, key);
    let mut bytes = Vec::new();
    builder.finish_with(clusters, 1, &mut bytes).unwrap();
    bytes
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

/// The best cosine of each allowed key, best first.
fn brute_force(
    vectors: &[Vec<f32>],
    key: impl Fn(usize) -> u64,
    allowed: &dyn Allowed,
    query: &[f32],
) -> Vec<(u64, f32)> {
    let mut best = BTreeMap::new();
    for (place, vector) in vectors.iter().enumerate() {
        if allowed.allows(u32::MAX, key(place)) {
            let score = cosine(query, vector);
            let kept = best.entry(key(place)).or_insert(score);
            *kept = kept.max(score);
        }
    }
    let mut best: Vec<_> = best.into_iter().collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1));
    best
}

/// Keys that a divisor divides.
struct Multiples {
    of: u64,
    count: usize,
}

impl Allowed for Multiples {
    fn allows(&self, _slot: u32, key: u64) -> bool {
        key.is_multiple_of(self.of)
    }

    fn count_max(&self) -> usize {
        self.count
    }
}

/// Looks at all codes and ranks all rows.
const EXACT: Effort = Effort { breadth: f32::MAX, ranked: usize::MAX / 2 };

fn find<B: AsRef<[u8]>>(
    segment: &Segment<B>,
    query: &[f32],
    count: usize,
    effort: Effort,
    allowed: &dyn Allowed,
) -> Vec<Hit> {
    segment.search(query, count, effort, allowed, &mut Scratch::default()).unwrap()
}

/// The hits are those of brute force, up to the rounding of rows.
fn check(hits: &[Hit], truth: &[(u64, f32)], count: usize) {
    assert_eq!(hits.len(), count.min(truth.len()));
    let cosines: BTreeMap<u64, f32> = truth.iter().copied().collect();
    for (hit, (_, right)) in hits.iter().zip(truth) {
        assert!((hit.score - cosines[&hit.key]).abs() < 0.01, "{hit:?} is not that near");
        assert!((hit.score - right).abs() < 0.01, "{hit:?} stands where {right} should");
    }
    let keys: BTreeSet<u64> = hits.iter().map(|hit| hit.key).collect();
    assert_eq!(keys.len(), hits.len(), "a key came twice");
}

#[test]
fn a_candidates_place_is_by_score_and_then_by_slot() {
    let scores = [f32::NAN, f32::INFINITY, 1.5, 1.0, f32::MIN_POSITIVE, 0.0, -0.0, -1.0, -2.5];
    let slots = |score| [0, 7, u32::MAX].map(|slot| scan::Candidate { score, slot });
    let places: Vec<u64> =
        scores.into_iter().flat_map(slots).map(|candidate| candidate.place()).collect();
    assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
}

#[test]
fn a_small_segment_finds_what_brute_force_finds() {
    for dimensions in [1, 3, 64, 100, 512] {
        let vectors = vectors(300, dimensions, 5);
        let segment = segment(&vectors, |place| place as u64);
        for query in &self::vectors(10, dimensions, 6) {
            let truth = brute_force(&vectors, |place| place as u64, &Everything, query);
            check(&find(&segment, query, 10, Effort::default(), &Everything), &truth, 10);
        }
    }
}

#[test]
fn a_clustered_segment_with_full_effort_finds_what_brute_force_finds() {
    let vectors = vectors(CLUSTERED, 96, 5);
    let segment = clustered(&vectors, |place| place as u64);
    for query in &self::vectors(10, 96, 6) {
        let truth = brute_force(&vectors, |place| place as u64, &Everything, query);
        check(&find(&segment, query, 10, EXACT, &Everything), &truth, 10);
    }
}

#[test]
fn a_clustered_segment_finds_nearly_all_with_a_part_of_the_effort() {
    let vectors = vectors(CLUSTERED + 40, 96, 5);
    let (queries, vectors) = vectors.split_at(40);
    let segment = clustered(vectors, |place| place as u64);
    let effort = Effort { breadth: 900.0, ranked: 100 };
    let mut found = 0;
    for query in queries {
        let truth = brute_force(vectors, |place| place as u64, &Everything, query);
        let truth: BTreeSet<u64> = truth.iter().take(10).map(|(key, _)| *key).collect();
        let hits = find(&segment, query, 10, effort, &Everything);
        found += hits.iter().filter(|hit| truth.contains(&hit.key)).count();
    }
    assert!(found >= 360, "{found} of 400");
}

#[test]
fn a_vector_is_in_a_cluster_whose_centroid_is_near() {
    let vectors = vectors(3 * CLUSTERED, 64, 5);
    let builder = builder(&vectors, |place| place as u64);
    let clusters = clusters::make(&builder, MANY, 1);
    assert_eq!(clusters.of.len(), vectors.len());
    assert!((MANY..MANY + 20).contains(&clusters.lengths.len()));
    let mut vector = [0.0; 64];
    let (mut nearest, mut distances, mut least) = (0, 0.0, 0.0);
    for (place, cluster) in clusters.of.iter().enumerate() {
        builder.restore(place, &mut vector);
        let all = distances_to(&clusters, &vector);
        let shortest = all.iter().copied().fold(f32::MAX, f32::min);
        let own = all[*cluster as usize];
        nearest += usize::from(own <= shortest);
        distances += own;
        least += shortest;
    }
    assert!(nearest > vectors.len() * 3 / 4, "{nearest} have the nearest");
    assert!(distances < 1.02 * least, "{distances} where {least} would do");
}

/// The distances of the centroids to a vector.
fn distances_to(clusters: &clusters::Clusters, vector: &[f32]) -> Vec<f32> {
    let directions = clusters.directions.chunks_exact(vector.len()).zip(&clusters.lengths);
    let distance = |(direction, length): (&[i8], &f32)| {
        let scale = length * rows::inverse_length(direction);
        let pairs = direction.iter().zip(vector);
        pairs.map(|(code, number)| (f32::from(*code) * scale - number).powi(2)).sum::<f32>().sqrt()
    };
    directions.map(distance).collect()
}

#[test]
fn sketches_find_the_clusters_that_are_nearest() {
    let vectors = vectors(3 * CLUSTERED + 20, 256, 5);
    let (queries, vectors) = vectors.split_at(20);
    let segment = Segment::open(bytes(vectors, |place| place as u64, MANY)).unwrap();
    let mut found = 0;
    for query in queries {
        let all = segment.ordered_clusters(query, usize::MAX);
        let some = segment.ordered_clusters(query, 200);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.len() >= MANY && some.len() < MANY / 2, "{} of {}", some.len(), all.len());
        // Those that were picked stand in the same order.
        let picked: Vec<_> = all.iter().filter(|number| some.contains(number)).collect();
        assert!(picked.iter().copied().eq(&some));
        found += all.iter().take(10).filter(|number| some.contains(number)).count();
    }
    assert!(found >= 190, "{found} of 200");
}

#[test]
fn a_search_among_many_clusters_goes_on_until_it_has_seen_all() {
    let vectors = vectors(CLUSTERED, 64, 5);
    let key = |place: usize| place as u64;
    let segment = Segment::open(bytes(&vectors, key, MANY)).unwrap();
    let little = Effort { breadth: 20.0, ranked: 1 };
    for of in [50, 333, 999] {
        // It does not know how few it allows, so codes are estimated and not rows read.
        let allowed = Multiples { of, count: usize::MAX };
        for query in &self::vectors(5, 64, 6) {
            let truth = brute_force(&vectors, key, &allowed, query);
            for count in [truth.len(), truth.len() + 1] {
                check(&find(&segment, query, count, little, &allowed), &truth, count);
            }
        }
    }
}

#[test]
fn estimates_are_right_on_average() {
    let vectors = vectors(CLUSTERED, 128, 5);
    let segment = clustered(&vectors, |place| place as u64);
    let query = &self::vectors(1, 128, 6)[0];
    let (estimates, scores) = segment.estimates_and_scores(query);
    let errors = || estimates.iter().zip(&scores).map(|(estimate, score)| estimate - score);
    let mean = errors().sum::<f32>() / CLUSTERED as f32;
    let spread = (errors().map(|error| error * error).sum::<f32>() / CLUSTERED as f32).sqrt();
    assert_eq!(estimates.len(), CLUSTERED);
    assert!(mean.abs() < 0.005, "mean error {mean}");
    assert!((0.001..0.08).contains(&spread), "spread of errors {spread}");
}

#[test]
fn several_vectors_of_a_key_come_once() {
    let vectors = vectors(CLUSTERED, 64, 5);
    let key = |place: usize| place as u64 / 100;
    for segment in [segment(&vectors, key), clustered(&vectors, key)] {
        for query in &self::vectors(5, 64, 6) {
            let truth = brute_force(&vectors, key, &Everything, query);
            check(&find(&segment, query, 7, EXACT, &Everything), &truth, 7);
        }
    }
}

#[test]
fn a_search_goes_on_until_it_has_enough_keys() {
    let vectors = vectors(CLUSTERED, 64, 5);
    let segment = clustered(&vectors, |place| place as u64 % 8);
    let little = Effort { breadth: 0.0, ranked: 1 };
    for query in &self::vectors(5, 64, 6) {
        assert_eq!(find(&segment, query, 8, little, &Everything).len(), 8);
        assert_eq!(find(&segment, query, 100, little, &Everything).len(), 8);
    }
}

#[test]
fn a_filter_is_obeyed_and_a_narrow_one_is_exact() {
    let vectors = vectors(CLUSTERED, 64, 5);
    let key = |place: usize| place as u64;
    let segment = clustered(&vectors, key);
    for of in [2, 20, 100, 999, 10_000] {
        // A filter that does not know how few it allows must be obeyed as well.
        for count in [CLUSTERED.div_ceil(of as usize), usize::MAX] {
            let allowed = Multiples { of, count };
            for query in &self::vectors(5, 64, 6) {
                let truth = brute_force(&vectors, key, &allowed, query);
                let hits = find(&segment, query, 10, Effort::default(), &allowed);
                assert!(hits.iter().all(|hit| hit.key.is_multiple_of(of)));
                assert_eq!(hits.len(), truth.len().min(10));
                if of >= 50 {
                    check(&hits, &truth, 10);
                }
            }
        }
    }
}

#[test]
fn nothing_allowed_or_nothing_wanted_finds_nothing() {
    let vectors = vectors(100, 64, 5);
    let segment = segment(&vectors, |place| place as u64 + 1);
    let none = Multiples { of: 1_000, count: 100 };
    assert_eq!(find(&segment, &vectors[0], 10, Effort::default(), &none), []);
    assert_eq!(find(&segment, &vectors[0], 0, Effort::default(), &Everything), []);
    let mut bytes = Vec::new();
    SegmentBuilder::new(64).unwrap().finish(1, &mut bytes).unwrap();
    let empty = Segment::open(bytes).unwrap();
    assert!(empty.is_empty());
    assert_eq!(find(&empty, &vectors[0], 10, Effort::default(), &Everything), []);
}

#[test]
fn a_vector_that_went_in_and_out_makes_the_same_row() {
    for dimensions in [3, 100, 512] {
        let vectors = vectors(50, dimensions, 5);
        let first = segment(&vectors, |place| place as u64);
        let restored: Vec<_> = (0..50).map(|slot| first.vector(slot).unwrap()).collect();
        for (vector, restored) in vectors.iter().zip(&restored) {
            assert!(cosine(vector, restored) > 0.9998);
        }
        let second = segment(&restored, |place| place as u64);
        assert!((0..50).all(|slot| first.row(slot) == second.row(slot)));
        assert_eq!(first.vector(50), None);
    }
}

#[test]
fn merging_keeps_what_lives_exactly() {
    let vectors = vectors(CLUSTERED, 64, 5);
    let (left, right) = vectors.split_at(CLUSTERED / 2);
    let parts = [
        clustered(left, |place| place as u64),
        segment(right, |place| (CLUSTERED / 2 + place) as u64),
    ];
    let merged = merge(&parts, 64, |_, _, key| !key.is_multiple_of(3)).unwrap();
    let mut bytes = Vec::new();
    merged.finish_with(CLUSTERS, 1, &mut bytes).unwrap();
    let merged = Segment::open(bytes).unwrap();
    let rows = |segment: &Segment<Vec<u8>>| -> BTreeMap<u64, Vec<u8>> {
        (0..).zip(segment.keys()).map(|(slot, key)| (key, segment.row(slot).to_vec())).collect()
    };
    let mut expected = rows(&parts[0]);
    expected.extend(rows(&parts[1]));
    expected.retain(|key, _| !key.is_multiple_of(3));
    assert_eq!(rows(&merged), expected);
}

#[test]
fn segments_of_other_dimensions_are_not_merged() {
    let parts = [segment(&vectors(5, 64, 5), |place| place as u64)];
    let error = merge(&parts, 65, |_, _, _| true).err();
    assert_eq!(error, Some(SegmentError::Dimensions { found: 64, expected: 65 }));
}

#[test]
fn the_same_vectors_and_seed_give_the_same_bytes() {
    let vectors = vectors(CLUSTERED, 64, 5);
    let make = || bytes(&vectors, |place| place as u64, CLUSTERS);
    assert_eq!(make(), make());
}

#[test]
fn the_default_makes_clusters_only_where_they_pay() {
    let count = |vectors: usize| builder::cluster_count(vectors);
    assert_eq!(count(10_000), 0);
    assert!((1_000..2_000).contains(&count(100_000)));
    assert!((10_000..20_000).contains(&count(1_000_000)));
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    assert!(SegmentBuilder::new(0).is_err());
    assert!(SegmentBuilder::new(DIMENSIONS_MAX + 1).is_err());
    let mut builder = SegmentBuilder::new(2).unwrap();
    let wrong = SegmentError::Dimensions { found: 1, expected: 2 };
    assert_eq!(builder.push(1, &[1.0]), Err(wrong));
    assert_eq!(builder.push(1, &[1.0, f32::NAN]), Err(SegmentError::NotFinite));
    builder.push(1, &[0.0, 0.0]).unwrap();
    let mut bytes = Vec::new();
    builder.finish(1, &mut bytes).unwrap();
    let segment = Segment::open(bytes).unwrap();
    assert_eq!(find(&segment, &[1.0, 0.0], 5, Effort::default(), &Everything)[0].score, 0.0);
    let search = |query: &[f32]| {
        segment.search(query, 1, Effort::default(), &Everything, &mut Scratch::default())
    };
    assert_eq!(search(&[1.0]), Err(SegmentError::Dimensions { found: 1, expected: 2 }));
    assert_eq!(search(&[f32::INFINITY, 0.0]), Err(SegmentError::NotFinite));
}

#[test]
fn very_long_and_very_short_vectors_count_by_direction() {
    let mut builder = SegmentBuilder::new(3).unwrap();
    builder.push(1, &[1e37, 1e37, 0.0]).unwrap();
    builder.push(2, &[1e-40, 0.0, 0.0]).unwrap();
    builder.push(3, &[0.0, 0.0, -1e30]).unwrap();
    let mut bytes = Vec::new();
    builder.finish(1, &mut bytes).unwrap();
    let segment = Segment::open(bytes).unwrap();
    for query in [[1e30, 0.0, 0.0], [1e-30, 0.0, 0.0]] {
        let hits = find(&segment, &query, 3, Effort::default(), &Everything);
        let keys: Vec<u64> = hits.iter().map(|hit| hit.key).collect();
        assert_eq!(keys, [2, 1, 3], "{hits:?}");
    }
}

#[test]
fn turning_keeps_lengths_and_can_be_undone() {
    for dimensions in [1, 2, 3, 4, 64, 100, 512, 576] {
        let rotation = Rotation::new(dimensions);
        let before = &vectors(1, dimensions, 5)[0];
        let length = |vector: &[f32]| vector.iter().map(|number| number * number).sum::<f32>();
        let mut vector = before.clone();
        rotation.turn(&mut vector);
        assert!(dimensions < 64 || cosine(before, &vector).abs() < 0.5);
        assert!((length(before) / length(&vector) - 1.0).abs() < 1e-4);
        rotation.turn_back(&mut vector);
        assert!(before.iter().zip(&vector).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}

#[test]
fn every_kernel_adds_up_the_same() {
    let mut random = Random::new(7);
    for width in [64, 192, 512, DIMENSIONS_MAX] {
        let bytes = width / codes::GROUP * codes::GROUP_BYTES;
        let groups: Vec<u8> = (0..bytes).map(|_| random.next() as u8).collect();
        let small: Vec<u8> = (0..bytes).map(|_| random.next() as u8 % 32).collect();
        // The largest entries everywhere show whether any sum is too narrow.
        for entries in [small, vec![31; bytes]] {
            let sums = scan::sums_by_each_kernel(&entries, &groups);
            assert!(sums.iter().all(|sum| *sum == sums[0]), "{width}");
            assert!(entries[0] < 31 || sums[0][0] as usize == 31 * width / codes::GROUP);
        }
    }
}

#[test]
fn bytes_of_another_version_are_told_apart_from_damaged_ones() {
    let mut bytes = bytes(&vectors(3, 64, 5), |place| place as u64, 0);
    assert!(matches!(Segment::open(&bytes[..40]), Err(SegmentError::Damaged(_))));
    assert!(matches!(Segment::open(&bytes[..bytes.len() - 1]), Err(SegmentError::Damaged(_))));
    for other in [1, 3] {
        bytes[8] = other;
        let version = SegmentError::Version { found: other.into(), known: 2 };
        assert_eq!(Segment::open(&bytes).err(), Some(version));
    }
    assert!(matches!(Segment::open(b"something else"), Err(SegmentError::Damaged(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changed_bytes_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        near_the_front in any::<bool>(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let vectors = vectors(200, 64, 5);
        let mut bytes = bytes(&vectors, |place| place as u64, 4);
        let reach = if near_the_front { 600 } else { bytes.len() };
        for (place, byte) in changes {
            bytes[place.index(reach)] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(segment) = Segment::open(bytes) {
            for effort in [Effort::default(), Effort { breadth: 350.0, ranked: 10 }] {
                find(&segment, &vectors[0], 10, effort, &Everything);
            }
            prop_assert_eq!(segment.keys().count(), segment.len());
            prop_assert!(segment.vector(0).is_some());
            prop_assert!(merge(&[segment], 64, |_, _, _| true).is_ok());
        }
    }

    #[test]
    fn a_filtered_search_finds_what_brute_force_finds(
        seed in any::<u64>(),
        count in 1_usize..30,
        dimensions in 2_usize..130,
        of in 1_u64..20,
        shared in 1_u64..6,
    ) {
        let vectors = vectors(150, dimensions, seed);
        let key = |place: usize| place as u64 / shared;
        let query = &self::vectors(1, dimensions, seed ^ 1)[0];
        let allowed = Multiples { of, count: usize::MAX };
        let truth = brute_force(&vectors, key, &allowed, query);
        for segment in [segment(&vectors, key), Segment::open(bytes(&vectors, key, 5)).unwrap()] {
            check(&find(&segment, query, count, EXACT, &allowed), &truth, count);
        }
    }
}
