//! Which kind of character a character is, as far as o200k's rules ask: by Unicode 16, as the original counts.

/// Runs of characters of one kind, from U+0000 on, made by `cargo xtask convert-tokens`. The standard library knows
/// neither marks nor titlecase letters, and another version of Unicode.
static RUNS: &[u8] = include_bytes!("../../assets/unicode-16-classes.bin");

/// Bits of a run's number that say its class.
const CLASS_BITS: u32 = 3;

/// One for each code point there can be.
const CODE_POINTS: usize = 0x11_0000;

/// A kind of character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// The class of every character, ready to be looked up.
#[derive(Debug)]
pub(super) struct Classes {
    by_code_point: Vec<Class>,
}

impl Classes {
    /// `None` if the asset is damaged.
    pub(super) fn load() -> Option<Self> {
        let mut by_code_point = Vec::with_capacity(CODE_POINTS);
        let (mut number, mut shift) = (0_u32, 0);
        for byte in RUNS {
            number |= u32::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                let class = Class::new(number & ((1 << CLASS_BITS) - 1))?;
                let length = usize::try_from(number >> CLASS_BITS).ok()?;
                by_code_point.resize(by_code_point.len() + length, class);
                (number, shift) = (0, 0);
            }
        }
        (by_code_point.len() == CODE_POINTS).then_some(Self { by_code_point })
    }

    #[inline]
    pub(super) fn of(&self, character: char) -> Class {
        self.by_code_point.get(character as usize).copied().unwrap_or(Class::Other)
    }
}
