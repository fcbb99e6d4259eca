//! Finds centroids (k-means on a sample) and says which vector belongs to which.

use super::rotation::Random;
use super::{dense, rows};

/// Vectors of the sample for each centroid: more do not make better centroids.
const SAMPLE_PER_CLUSTER: usize = 40;

/// Rounds of k-means; later ones hardly move a centroid.
const ROUNDS: usize = 8;

/// Vectors restored at a time while centroids are assigned, to bound memory.
const BATCH: usize = 256;

/// Vectors that can be asked for one by one.
pub(super) trait Vectors {
    fn len(&self) -> usize;
    fn width(&self) -> usize;
    /// Writes the (rotated) vector at `place`.
    fn restore(&self, place: usize, vector: &mut [f32]);
}

/// Centroids, and for each vector the number of its own.
#[derive(Default)]
pub(super) struct Clusters {
    /// Directions at 8 bits a number, row after row, like those of vectors.
    pub(super) directions: Vec<i8>,
    /// How long each centroid is.
    pub(super) lengths: Vec<f32>,
    pub(super) of: Vec<u32>,
}

/// Makes `count` clusters; some may stay empty.
pub(super) fn make(vectors: &impl Vectors, count: usize, seed: u64) -> Clusters {
    let width = vectors.width();
    let sample = sample(vectors, count * SAMPLE_PER_CLUSTER, seed);
    let mut centroids: Vec<f32> = sample.iter().copied().take(count * width).collect();
    let mut nearest = Vec::new();
    for _ in 0..ROUNDS {
        let half_squares = half_squares(&centroids, width);
        dense::nearest(&sample, width, &centroids, &half_squares, &mut nearest);
        move_centroids(&mut centroids, &sample, width, &nearest);
    }
    let mut clusters = Clusters::default();
    for centroid in centroids.chunks_exact_mut(width.max(1)) {
        let start = clusters.directions.len();
        rows::quantise(centroid, &mut clusters.directions);
        let direction = clusters.directions.get(start..).unwrap_or_default();
        let length = length(centroid);
        clusters.lengths.push(length);
        // What is stored is what vectors are compared with from here on.
        let scale = length * rows::inverse_length(direction);
        rows::restore(direction.iter().copied(), scale, centroid);
    }
    clusters.of = assign(vectors, &centroids);
    clusters
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|number| number * number).sum::<f32>().sqrt()
}

/// Restored vectors drawn at random without repetition.
fn sample(vectors: &impl Vectors, count: usize, seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    let mut places: Vec<usize> = (0..vectors.len()).collect();
    let count = count.min(places.len());
    for place in 0..count {
        let other = place + random.below(places.len() - place);
        places.swap(place, other);
    }
    let mut sample = vec![0.0; count * vectors.width()];
    for (row, place) in sample.chunks_exact_mut(vectors.width().max(1)).zip(places) {
        vectors.restore(place, row);
    }
    sample
}

fn half_squares(centroids: &[f32], width: usize) -> Vec<f32> {
    centroids.chunks_exact(width.max(1)).map(|row| length(row).powi(2) / 2.0).collect()
}

/// Moves each centroid to the mean of its vectors; one without any stays where it is.
fn move_centroids(centroids: &mut [f32], sample: &[f32], width: usize, nearest: &[u32]) {
    let width = width.max(1);
    let mut counts = vec![0_u32; centroids.len() / width];
    let mut sums = vec![0.0_f32; centroids.len()];
    for (row, &cluster) in sample.chunks_exact(width).zip(nearest) {
        let start = cluster as usize * width;
        if let Some(sum) = sums.get_mut(start..start + width) {
            for (sum, number) in sum.iter_mut().zip(row) {
                *sum += number;
            }
        }
        if let Some(count) = counts.get_mut(cluster as usize) {
            *count += 1;
        }
    }
    let rows = centroids.chunks_exact_mut(width).zip(sums.chunks_exact(width));
    for ((centroid, sum), &count) in rows.zip(&counts).filter(|(_, count)| **count > 0) {
        for (number, sum) in centroid.iter_mut().zip(sum) {
            *number = sum / count as f32;
        }
    }
}

fn assign(vectors: &impl Vectors, centroids: &[f32]) -> Vec<u32> {
    let width = vectors.width().max(1);
    let half_squares = half_squares(centroids, width);
    let mut of = Vec::with_capacity(vectors.len());
    let mut rows = vec![0.0; BATCH * width];
    let mut nearest = Vec::new();
    for start in (0..vectors.len()).step_by(BATCH) {
        let count = BATCH.min(vectors.len() - start);
        for (place, row) in (start..start + count).zip(rows.chunks_exact_mut(width)) {
            vectors.restore(place, row);
        }
        let rows = rows.get(..count * width).unwrap_or_default();
        dense::nearest(rows, width, centroids, &half_squares, &mut nearest);
        of.extend_from_slice(&nearest);
    }
    of
}
