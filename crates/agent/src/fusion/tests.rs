//! Tests of merging the two lists: which side is believed, and in which order passages come out.

use super::*;

fn keyword(coverage: f32, hits: &[(u32, f32)]) -> KeywordFound<u32> {
    let hits = hits.iter().map(|(id, score)| KeywordHit { id: *id, score: *score }).collect();
    KeywordFound { hits, coverage }
}

fn vector(hits: &[(u32, f32)]) -> Vec<VectorHit<u32>> {
    hits.iter()
        .map(|(id, cosine)| VectorHit { id: *id, cosine: *cosine, language: PassageLanguage::Same })
        .collect()
}

fn ids(fused: &[Fused<u32>]) -> Vec<u32> {
    fused.iter().map(|passage| passage.id).collect()
}

const WORDS: &[(u32, f32)] = &[(1, 20.0), (2, 12.0), (3, 6.0)];
const NEAR: &[(u32, f32)] = &[(4, 0.7), (3, 0.6), (2, 0.3), (5, 0.2)];

#[test]
fn nothing_found_gives_nothing() {
    assert_eq!(fuse(&keyword(0.0, &[]), &vector(&[])), []);
}

#[test]
fn one_side_alone_keeps_its_order() {
    assert_eq!(ids(&fuse(&keyword(0.6, WORDS), &[])), [1, 2, 3]);
    assert_eq!(ids(&fuse(&keyword(0.0, &[]), &vector(NEAR))), [4, 3, 2, 5]);
}

#[test]
fn a_passage_knows_its_place_in_both_lists() {
    let fused = fuse(&keyword(0.6, WORDS), &vector(NEAR));
    let place = |id: u32| {
        let passage = fused.iter().find(|passage| passage.id == id).unwrap();
        (passage.keyword_rank, passage.vector_rank)
    };
    assert_eq!(place(1), (Some(1), None));
    assert_eq!(place(3), (Some(3), Some(2)));
    assert_eq!(place(4), (None, Some(1)));
}

#[test]
fn words_lead_when_they_meet_the_question() {
    assert_eq!(ids(&fuse(&keyword(0.6, WORDS), &vector(NEAR))).first(), Some(&1));
}

#[test]
fn meaning_gains_as_words_meet_less() {
    let gap = |coverage: f32| {
        let fused = fuse(&keyword(coverage, WORDS), &vector(NEAR));
        let score = |id: u32| fused.iter().find(|passage| passage.id == id).unwrap().score;
        score(4) - score(1)
    };
    let gaps: Vec<f32> = [0.9, 0.3, 0.2, 0.1, 0.0].into_iter().map(gap).collect();
    assert!(gaps.is_sorted(), "{gaps:?}");
    assert!(gaps.first() < gaps.last());
}

#[test]
fn a_near_passage_in_another_language_is_among_the_first() {
    let words: Vec<(u32, f32)> = (1..=20).map(|id| (id, 21.0 - id as f32)).collect();
    let mut near = vector(&[(100, 0.7), (101, 0.2), (102, 0.1)]);
    let rank = |near: &[VectorHit<u32>]| {
        ids(&fuse(&keyword(0.5, &words), near)).iter().position(|id| *id == 100).unwrap()
    };
    let same = rank(&near);
    near[0].language = PassageLanguage::Other;
    let other = rank(&near);
    assert!(other < 5 && same > 10, "{other} {same}");
}

#[test]
fn the_order_of_the_lists_does_not_matter() {
    let expected = fuse(&keyword(0.2, WORDS), &vector(NEAR));
    for turn in 0..NEAR.len() {
        let (mut words, mut near) = (WORDS.to_vec(), NEAR.to_vec());
        words.rotate_left(turn % WORDS.len());
        near.rotate_left(turn);
        near.reverse();
        assert_eq!(fuse(&keyword(0.2, &words), &vector(&near)), expected);
    }
}

#[test]
fn equal_scores_come_in_the_order_of_their_ids() {
    let fused = fuse(&keyword(0.5, &[(3, 1.0), (1, 1.0), (2, 1.0)]), &[]);
    assert_eq!(ids(&fused), [1, 2, 3]);
}

#[test]
fn a_better_score_never_lowers_a_passage() {
    let rank = |fused: &[Fused<u32>], id| ids(fused).iter().position(|found| *found == id);
    for coverage in [0.0, 0.2, 0.8] {
        let mut last = usize::MAX;
        for step in 0..=20 {
            let mut words = WORDS.to_vec();
            words[2].1 = step as f32;
            let now = rank(&fuse(&keyword(coverage, &words), &vector(NEAR)), 3).unwrap();
            assert!(now <= last, "keyword {coverage} {step}");
            last = now;
        }
        let mut last = usize::MAX;
        for step in 0..=20 {
            let mut near = NEAR.to_vec();
            near[2].1 = 0.2 + 0.03 * step as f32;
            let now = rank(&fuse(&keyword(coverage, WORDS), &vector(&near)), 2).unwrap();
            assert!(now <= last, "vector {coverage} {step}");
            last = now;
        }
    }
}

#[test]
fn scores_stay_between_nothing_and_one() {
    for coverage in [-1.0, 0.0, 0.5, 7.0, f32::NAN] {
        let strange = &[(1, f32::NAN), (2, f32::INFINITY), (3, -4.0), (4, 0.0), (5, 3.0)];
        let fused = fuse(&keyword(coverage, strange), &vector(strange));
        assert!(fused.iter().all(|passage| (0.0..=1.0).contains(&passage.score)), "{fused:?}");
        assert_eq!(ids(&fused).first(), Some(&5));
    }
}

#[test]
fn a_single_neighbour_is_near() {
    let fused = fuse(&keyword(0.0, &[]), &vector(&[(1, 0.4)]));
    assert_eq!(fused.first().map(|passage| passage.score), Some(1.0));
}

#[test]
fn what_the_order_of_adding_changes_is_no_difference() {
    let score = |second: f32| fuse(&keyword(0.6, &[(1, 20.0), (2, second)]), &[])[1].score;
    let next = f32::from_bits(12.345_679_f32.to_bits() + 1);
    assert_eq!(score(12.345_679), score(next));
    assert_ne!(score(12.345_679), score(12.35));
}
