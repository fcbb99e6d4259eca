//! Turns the terms of chunks about: which chunks has each term?

/// The terms of chunks, as numbers: those of one chunk after those of the other.
#[derive(Default)]
pub(crate) struct TermLists {
    numbers: Vec<u32>,
    /// Where the terms of each chunk end.
    ends: Vec<usize>,
}

impl TermLists {
    /// Adds terms of the next chunk.
    pub(crate) fn extend(&mut self, numbers: &[u32]) {
        self.numbers.extend_from_slice(numbers);
    }

    pub(crate) fn push(&mut self, number: u32) {
        self.numbers.push(number);
    }

    /// Ends the chunk; says how many terms it has.
    pub(crate) fn end(&mut self) -> usize {
        let start = self.ends.last().copied().unwrap_or_default();
        self.ends.push(self.numbers.len());
        self.numbers.len() - start
    }

    /// How many terms there are, each as often as it comes.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The chunks of each term. They are counted first, and then put where they belong: no chunk is compared with another.
    pub(crate) fn inverted(&self) -> Inverted {
        let numbers_end = self.numbers.iter().max().map_or(0, |number| *number as usize + 1);
        // What begins with a number is first counted two places further on, so that each number's own place is
        // free to say how far it is filled, and in the end where it begins.
        let mut starts = vec![0_usize; numbers_end + 2];
        for number in &self.numbers {
            if let Some(count) = starts.get_mut(*number as usize + 2) {
                *count += 1;
            }
        }
        let mut before = 0;
        for start in &mut starts {
            before += *start;
            *start = before;
        }
        let mut chunks = vec![0_u32; self.numbers.len()];
        let mut from = 0;
        for (chunk, end) in (0..).zip(&self.ends) {
            for number in self.numbers.get(from..*end).unwrap_or_default() {
                let Some(next) = starts.get_mut(*number as usize + 1) else { continue };
                if let Some(place) = chunks.get_mut(*next) {
                    *place = chunk;
                }
                *next += 1;
            }
            from = *end;
        }
        Inverted { starts, chunks }
    }
}

/// The chunks of each term.
pub(crate) struct Inverted {
    /// Where the chunks of each number begin, and then where the last ones end.
    starts: Vec<usize>,
    chunks: Vec<u32>,
}

impl Inverted {
    /// The numbers that any chunk has.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        (0..)
            .zip(self.starts.windows(2))
            .filter(|(_, ends)| ends.first() < ends.last())
            .map(|of| of.0)
    }

    /// The chunks of a term in ascending order, each as often as it has the term.
    pub(crate) fn chunks(&self, number: u32) -> &[u32] {
        let start = self.starts.get(number as usize).copied().unwrap_or_default();
        let end = self.starts.get(number as usize + 1).copied().unwrap_or_default();
        self.chunks.get(start..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_term_has_its_chunks_in_order(
            chunks in prop::collection::vec(prop::collection::vec(0_u32..9, 0..12), 0..20)
        ) {
            let mut lists = TermLists::default();
            let mut expected: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for (chunk, terms) in (0..).zip(&chunks) {
                lists.extend(terms);
                lists.end();
                terms.iter().for_each(|term| expected.entry(*term).or_default().push(chunk));
            }
            let inverted = lists.inverted();
            let found = inverted.numbers().map(|term| (term, inverted.chunks(term).to_vec()));
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
