//! Figures of merit over many questions, at a depth of ten.

use super::DEPTH;

/// Sums, from which the means follow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) count: usize,
    ndcg: f64,
    recall: f64,
    hits: f64,
    reciprocal: f64,
}

impl Figures {
    /// Takes in one question: the ranks, from 1, at which something right stood, and how much there was to find.
    pub(crate) fn add(&mut self, ranks: &[usize], relevant: usize) {
        let gain = |rank: usize| 1.0 / ((rank + 1) as f64).log2();
        let best: f64 = (1..=relevant.min(DEPTH)).map(gain).sum();
        let won: f64 = ranks.iter().copied().map(gain).sum();
        self.count += 1;
        if relevant == 0 {
            return;
        }
        self.ndcg += won / best;
        self.recall += ranks.len() as f64 / relevant as f64;
        self.hits += f64::from(u8::from(!ranks.is_empty()));
        self.reciprocal += ranks.iter().min().map_or(0.0, |rank| 1.0 / *rank as f64);
    }

    pub(crate) fn ndcg(&self) -> f64 {
        self.mean(self.ndcg)
    }

    /// The share of all right places that were found.
    pub(crate) fn recall(&self) -> f64 {
        self.mean(self.recall)
    }

    /// The share of questions for which at least one right place was found.
    pub(crate) fn hit(&self) -> f64 {
        self.mean(self.hits)
    }

    pub(crate) fn mrr(&self) -> f64 {
        self.mean(self.reciprocal)
    }

    fn mean(&self, sum: f64) -> f64 {
        sum / self.count.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_the_textbook() {
        let mut figures = Figures::default();
        figures.add(&[1], 1);
        assert_eq!((figures.ndcg(), figures.recall(), figures.mrr()), (1.0, 1.0, 1.0));
        figures.add(&[], 1);
        assert_eq!((figures.ndcg(), figures.hit(), figures.mrr()), (0.5, 0.5, 0.5));
        let mut two = Figures::default();
        two.add(&[2], 2);
        let expected = (1.0 / 3f64.log2()) / (1.0 + 1.0 / 3f64.log2());
        assert!((two.ndcg() - expected).abs() < 1e-12);
        assert_eq!((two.recall(), two.hit(), two.mrr()), (0.5, 1.0, 0.5));
    }
}
