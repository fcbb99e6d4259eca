//! Finds the centroids of a sample of vectors (k-means).

use super::dense;

/// Rounds; later ones hardly move a centroid.
const ROUNDS: usize = 8;

/// Vectors of a sample for each centroid: more do not make better centroids.
pub(super) const SAMPLE_PER_CENTROID: usize = 40;

/// Finds `count` centroids of vectors that come in random order, fewer if there are fewer vectors.
pub(super) fn centroids(sample: &[f32], width: usize, count: usize) -> Vec<f32> {
    let width = width.max(1);
    let mut centroids: Vec<f32> = sample.iter().copied().take(count * width).collect();
    let mut nearest = Vec::new();
    for _ in 0..ROUNDS {
        let half_squares = half_squares(&centroids, width);
        dense::nearest(sample, width, &centroids, &half_squares, &mut nearest);
        let mut means = Means::new(half_squares.len(), width);
        for (row, [near]) in sample.chunks_exact(width).zip(&nearest) {
            means.add(near.centroid, row);
        }
        means.write(&mut centroids);
    }
    centroids
}

pub(super) fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|number| number * number).sum::<f32>().sqrt()
}

/// Half of each centroid's squared length.
pub(super) fn half_squares(centroids: &[f32], width: usize) -> Vec<f32> {
    centroids.chunks_exact(width.max(1)).map(|row| length(row).powi(2) / 2.0).collect()
}

/// The means of the vectors of each centroid, while they are added up.
pub(super) struct Means {
    width: usize,
    counts: Vec<u32>,
    sums: Vec<f32>,
}

impl Means {
    pub(super) fn new(count: usize, width: usize) -> Self {
        Self { width, counts: vec![0; count], sums: vec![0.0; count * width] }
    }

    pub(super) fn add(&mut self, centroid: u32, vector: &[f32]) {
        let start = centroid as usize * self.width;
        if let Some(sum) = self.sums.get_mut(start..start + self.width) {
            for (sum, number) in sum.iter_mut().zip(vector) {
                *sum += number;
            }
        }
        if let Some(count) = self.counts.get_mut(centroid as usize) {
            *count += 1;
        }
    }

    /// Moves each centroid to its mean; one without vectors stays where it is.
    pub(super) fn write(&self, centroids: &mut [f32]) {
        let width = self.width.max(1);
        let rows = centroids.chunks_exact_mut(width).zip(self.sums.chunks_exact(width));
        for ((centroid, sum), &count) in rows.zip(&self.counts).filter(|(_, count)| **count > 0) {
            for (number, sum) in centroid.iter_mut().zip(sum) {
                *number = sum / count as f32;
            }
        }
    }
}
