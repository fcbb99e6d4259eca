//! Which kind of character a character is, as far as o200k's rules ask: by Unicode 16, as the original counts.

use std::collections::HashMap;

/// Runs of characters of one kind, from U+0000 on, made by `cargo xtask convert-tokens`. The standard library knows
/// neither marks nor titlecase letters, and another version of Unicode.
static RUNS: &[u8] = include_bytes!("../../assets/unicode-16-classes.bin");

/// Bits of a run's number that say its class.
const CLASS_BITS: u32 = 3;

/// One for each code point there can be.
const CODE_POINTS: usize = 0x11_0000;

/// A kind of character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Class {
    /// Signs, blanks, what is not assigned.
    Other,
    /// `Lu` and `Lt`.
    Upper,
    /// `Ll`.
    Lower,
    /// `Lm` and `Lo`: letters of scripts without case, as Hangul.
    Letter,
    /// `M`.
    Mark,
    /// `N`.
    Number,
}

impl Class {
    fn new(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Other),
            1 => Some(Self::Upper),
            2 => Some(Self::Lower),
            3 => Some(Self::Letter),
            4 => Some(Self::Mark),
            5 => Some(Self::Number),
            _ => None,
        }
    }
}

/// Characters in a block: most blocks are like another, all of one class, so that few of them are kept.
const BLOCK: usize = 256;

/// The class of every character, ready to be looked up.
#[derive(Debug)]
pub(super) struct Classes {
    /// By the first of so many characters, which block tells their classes.
    blocks: Vec<u16>,
    classes: Vec<[Class; BLOCK]>,
}

impl Classes {
    /// `None` if the asset is damaged.
    pub(super) fn load() -> Option<Self> {
        let mut classes = Self { blocks: Vec::new(), classes: Vec::new() };
        let mut known = HashMap::new();
        let (mut block, mut filled) = ([Class::Other; BLOCK], 0);
        let (mut number, mut shift) = (0_u32, 0);
        for byte in RUNS {
            number |= u32::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 != 0 {
                continue;
            }
            let class = Class::new(number & ((1 << CLASS_BITS) - 1))?;
            for _ in 0..number >> CLASS_BITS {
                *block.get_mut(filled)? = class;
                filled += 1;
                if filled == BLOCK {
                    classes.add(block, &mut known)?;
                    filled = 0;
                }
            }
            (number, shift) = (0, 0);
        }
        (classes.blocks.len() == CODE_POINTS / BLOCK && filled == 0).then_some(classes)
    }

    /// Adds the next block; `None` if there are too many.
    fn add(
        &mut self,
        block: [Class; BLOCK],
        known: &mut HashMap<[Class; BLOCK], u16>,
    ) -> Option<()> {
        let next = u16::try_from(self.classes.len()).ok()?;
        let place = *known.entry(block).or_insert(next);
        if place == next {
            self.classes.push(block);
        }
        self.blocks.push(place);
        (self.blocks.len() <= CODE_POINTS / BLOCK).then_some(())
    }

    #[inline]
    pub(super) fn of(&self, character: char) -> Class {
        let (block, place) = (character as usize / BLOCK, character as usize % BLOCK);
        let block = self.blocks.get(block).and_then(|block| self.classes.get(usize::from(*block)));
        block.and_then(|block| block.get(place)).copied().unwrap_or(Class::Other)
    }
}
