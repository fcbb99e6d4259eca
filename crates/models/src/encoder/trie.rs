//! A byte trie over a sorted list of keys: which keys begin at a place in a text.

/// Marks a node at which no key ends.
const NO_VALUE: u32 = u32::MAX;

/// The trie, its nodes numbered breadth first, so that the children of a node stand side by side.
#[derive(Debug)]
pub(super) struct Trie {
    /// By first byte, where the walk goes; 0 where no key begins so.
    roots: Vec<u32>,
    /// By node, the byte that leads to it.
    labels: Vec<u8>,
    /// By node, where its children begin; those of the next node begin where they end.
    children: Vec<u32>,
    /// By node, the position of the key that ends there.
    values: Vec<u32>,
}

impl Trie {
    /// Builds the trie; a key's value is its position. `None` if the keys are not sorted, not
    /// distinct, or one is empty.
    pub(super) fn new<K: AsRef<[u8]>>(keys: &[K]) -> Option<Self> {
        let sorted = keys.is_sorted_by(|left, right| left.as_ref() < right.as_ref());
        let empty = keys.first().is_some_and(|key| key.as_ref().is_empty());
        if !sorted || empty || u32::try_from(keys.len()).is_err() {
            return None;
        }
        let mut trie =
            Self { roots: vec![0; 256], labels: vec![0], children: Vec::new(), values: Vec::new() };
        // Each node of the present depth with the keys that pass through it.
        let mut level = vec![(0, keys)];
        let mut depth = 0;
        while !level.is_empty() {
            let mut next = Vec::with_capacity(level.len());
            for (first_position, keys) in level {
                trie.add_node(first_position, keys, depth, &mut next)?;
            }
            level = next;
            depth += 1;
        }
        trie.children.push(u32::try_from(trie.labels.len()).ok()?);
        for (byte, root) in (0..=u8::MAX).zip(0..256) {
            let node = trie.search(0, byte).unwrap_or(0);
            *trie.roots.get_mut(root)? = node;
        }
        Some(trie)
    }

    /// The keys that `bytes` begins with, shortest first: length and position in the list.
    #[inline]
    pub(super) fn prefixes<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = (usize, u32)> {
        let mut node = 0;
        let steps = bytes.iter().enumerate().map_while(move |(index, byte)| {
            node = if index == 0 { self.root(*byte) } else { self.search(node, *byte) }?;
            Some((index + 1, self.values.get(node as usize).copied().unwrap_or(NO_VALUE)))
        });
        steps.filter(|(_, value)| *value != NO_VALUE)
    }

    /// Adds the next node in breadth-first order and lists its children in `next`.
    fn add_node<'k, K: AsRef<[u8]>>(
        &mut self,
        first_position: u32,
        mut keys: &'k [K],
        depth: usize,
        next: &mut Vec<(u32, &'k [K])>,
    ) -> Option<()> {
        self.children.push(u32::try_from(self.labels.len()).ok()?);
        let mut position = first_position;
        let ends_here = keys.first().filter(|key| key.as_ref().len() == depth);
        self.values.push(if ends_here.is_some() { position } else { NO_VALUE });
        if ends_here.is_some() {
            keys = keys.get(1..)?;
            position += 1;
        }
        while let Some(label) = keys.first().and_then(|key| key.as_ref().get(depth)).copied() {
            let same = keys.partition_point(|key| key.as_ref().get(depth) == Some(&label));
            let (group, rest) = keys.split_at_checked(same)?;
            self.labels.push(label);
            next.push((position, group));
            position += u32::try_from(same).ok()?;
            keys = rest;
        }
        Some(())
    }

    #[inline]
    fn root(&self, byte: u8) -> Option<u32> {
        self.roots.get(usize::from(byte)).copied().filter(|node| *node != 0)
    }

    #[inline]
    fn search(&self, node: u32, byte: u8) -> Option<u32> {
        let from = *self.children.get(node as usize)?;
        let until = *self.children.get(node as usize + 1)?;
        let labels = self.labels.get(from as usize..until as usize)?;
        let found = labels.binary_search(&byte).ok()?;
        Some(from + u32::try_from(found).ok()?)
    }
}
