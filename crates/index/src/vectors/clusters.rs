//! Sorts vectors into many small clusters, in two levels.
//!
//! Comparing every vector with every centroid would take as long as all the rest of building many
//! times over. So the vectors are first sorted into cells, a hundred or two for ten thousand
//! clusters. Each cell gets its share of the centroids, found among its own vectors, and a vector
//! is compared with the centroids of the few cells nearest to it.

use std::ops::Range;

use super::dense::{self, Near};
use super::kmeans::{self, Means, SAMPLE_PER_CENTROID};
use super::rotation::Random;
use super::rows::{self, ROWS_FETCHED};

/// Fewer clusters than this are made in one cell: comparing with all of them is cheap.
const CELLS_FROM: usize = 64;

/// Cells in which a vector looks for its centroid. Near a cell's border it often lies in another:
/// with fewer cells a search finds less.
const NEAR_CELLS: usize = 8;

/// Vectors restored at a time while they are compared with centroids, to bound memory.
const BATCH: usize = 256;

/// Vectors that can be asked for one by one.
pub(super) trait Vectors {
    fn len(&self) -> usize;
    fn width(&self) -> usize;
    /// Has memory bring the vector at `place` near, beside others.
    fn fetch(&self, place: usize);
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

/// Makes about `count` clusters; some may stay empty. Those of a cell follow each other.
pub(super) fn make(vectors: &impl Vectors, count: usize, seed: u64) -> Clusters {
    let mut random = Random::new(seed);
    let cells = cells(vectors, count, &mut random);
    let mut best = vec![Near::NONE; vectors.len()];
    let (mut members, mut first) = (0, 0);
    for mut cell in cells {
        let before = members;
        members += cell.members.len();
        let share = share(count, before..members, vectors.len());
        let sample = sample(vectors, &mut cell.members, share * SAMPLE_PER_CENTROID, &mut random);
        let centroids = kmeans::centroids(&sample, vectors.width(), share);
        each_nearest(vectors, cell.visitors.into_iter(), &centroids, |place, [near]| {
            let best = best.get_mut(place as usize);
            if let Some(best) = best.filter(|best| near.score > best.score) {
                *best = Near { centroid: first + near.centroid, ..near };
            }
        });
        first += (centroids.len() / vectors.width().max(1)) as u32;
    }
    let of = best.iter().map(|near| near.centroid).collect();
    settle(vectors, of, first as usize)
}

/// Puts each centroid in the middle of its vectors: it was found among some of them, and others
/// came from cells around.
fn settle(vectors: &impl Vectors, of: Vec<u32>, count: usize) -> Clusters {
    let width = vectors.width().max(1);
    let mut means = Means::new(count, width);
    let mut vector = vec![0.0; width];
    for (place, cluster) in of.iter().enumerate() {
        vectors.restore(place, &mut vector);
        means.add(*cluster, &vector);
    }
    let (mut directions, mut lengths) = (Vec::with_capacity(count * width), Vec::new());
    let mut centroids = vec![0.0; count * width];
    means.write(&mut centroids);
    for centroid in centroids.chunks_exact(width) {
        rows::quantise(centroid, &mut directions);
        lengths.push(kmeans::length(centroid));
    }
    Clusters { directions, lengths, of }
}

/// A region of space, with the places of vectors.
#[derive(Clone, Default)]
struct Cell {
    /// Those that lie in it.
    members: Vec<u32>,
    /// Those that have it among their nearest cells.
    visitors: Vec<u32>,
}

/// Makes the cells, so many that a vector meets fewer cells than centroids in them: with more
/// cells, more of the vectors miss their nearest centroid.
fn cells(vectors: &impl Vectors, clusters: usize, random: &mut Random) -> Vec<Cell> {
    let count = if clusters < CELLS_FROM { 1 } else { (2 * clusters).isqrt() };
    let mut places: Vec<u32> = (0..vectors.len() as u32).collect();
    let sample = sample(vectors, &mut places, count * SAMPLE_PER_CENTROID, random);
    let centroids = kmeans::centroids(&sample, vectors.width(), count);
    let mut cells = vec![Cell::default(); count];
    let places = 0..vectors.len() as u32;
    each_nearest(vectors, places, &centroids, |place, nearest: [Near; NEAR_CELLS]| {
        let real = nearest.iter().filter(|near| near.score > Near::NONE.score);
        for (rank, near) in real.enumerate() {
            let Some(cell) = cells.get_mut(near.centroid as usize) else { continue };
            cell.visitors.push(place);
            if rank == 0 {
                cell.members.push(place);
            }
        }
    });
    cells
}

/// How many of `count` centroids belong to these of `all` vectors: in proportion, but at least one
/// where there is a vector.
fn share(count: usize, vectors: Range<usize>, all: usize) -> usize {
    let until = |vectors: usize| (count as u128 * vectors as u128 / all.max(1) as u128) as usize;
    let share = until(vectors.end) - until(vectors.start);
    if vectors.is_empty() { 0 } else { share.max(1) }
}

/// Restored vectors drawn at random from `places` without repetition.
fn sample(
    vectors: &impl Vectors,
    places: &mut [u32],
    count: usize,
    random: &mut Random,
) -> Vec<f32> {
    let count = count.min(places.len());
    for place in 0..count {
        let other = place + random.below(places.len() - place);
        places.swap(place, other);
    }
    let mut sample = vec![0.0; count * vectors.width()];
    for (row, place) in sample.chunks_exact_mut(vectors.width().max(1)).zip(places) {
        vectors.restore(*place as usize, row);
    }
    sample
}

/// Hands over the nearest centroids of the vectors at `places`.
fn each_nearest<const FEW: usize>(
    vectors: &impl Vectors,
    places: impl Iterator<Item = u32>,
    centroids: &[f32],
    mut found: impl FnMut(u32, [Near; FEW]),
) {
    let width = vectors.width().max(1);
    let half_squares = kmeans::half_squares(centroids, width);
    let mut places = places.peekable();
    let mut batch = Vec::with_capacity(BATCH);
    let mut rows = vec![0.0; BATCH * width];
    let mut nearest = Vec::new();
    while places.peek().is_some() {
        batch.clear();
        batch.extend(places.by_ref().take(BATCH));
        let together = batch.chunks(ROWS_FETCHED).zip(rows.chunks_mut(width * ROWS_FETCHED));
        for (places, rows) in together {
            for place in places {
                vectors.fetch(*place as usize);
            }
            for (place, row) in places.iter().zip(rows.chunks_exact_mut(width)) {
                vectors.restore(*place as usize, row);
            }
        }
        let rows = rows.get(..batch.len() * width).unwrap_or_default();
        dense::nearest(rows, width, centroids, &half_squares, &mut nearest);
        for (place, nearest) in batch.iter().zip(&nearest) {
            found(*place, *nearest);
        }
    }
}
