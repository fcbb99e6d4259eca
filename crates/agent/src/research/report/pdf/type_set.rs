//! Which font a letter is set in, how it is written there, and how wide it is.

/// The first code of Helvetica that has a width: the blank.
pub(super) const FIRST_CODE: usize = 32;

/// The widths of Helvetica from the blank on, in thousandths of its size, in the order of Windows' Western letters.
pub(super) const WIDTHS: [u16; 224] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278,
    278, // blank to /
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
    350, // p to 127
    556, 350, 222, 556, 333, 1000, 556, 556, 333, 1000, 667, 333, 1000, 350, 611, 350, // 128
    350, 222, 222, 333, 333, 350, 556, 1000, 333, 1000, 500, 333, 944, 350, 500, 667, // 144
    278, 333, 556, 556, 556, 556, 260, 556, 333, 737, 370, 556, 584, 333, 737, 333, // 160
    400, 584, 333, 333, 333, 556, 537, 278, 333, 333, 365, 556, 834, 834, 834, 611, // 176
    667, 667, 667, 667, 667, 667, 1000, 722, 667, 667, 667, 667, 278, 278, 278,
    278, // À to Ï
    722, 722, 778, 778, 778, 778, 778, 584, 778, 722, 722, 722, 722, 667, 667,
    611, // Ð to ß
    556, 556, 556, 556, 556, 556, 889, 500, 556, 556, 556, 556, 278, 278, 278,
    278, // à to ï
    556, 556, 556, 556, 556, 556, 556, 584, 611, 556, 556, 556, 556, 500, 556,
    500, // ð to ÿ
];

/// Letters that Windows put where Latin-1 has none, and their codes.
const WINDOWS: [(char, u8); 17] = [
    ('€', 0x80),
    ('‚', 0x82),
    ('„', 0x84),
    ('…', 0x85),
    ('†', 0x86),
    ('‡', 0x87),
    ('‰', 0x89),
    ('‹', 0x8B),
    ('‘', 0x91),
    ('’', 0x92),
    ('“', 0x93),
    ('”', 0x94),
    ('•', 0x95),
    ('–', 0x96),
    ('—', 0x97),
    ('™', 0x99),
    ('›', 0x9B),
];

/// A letter of the Korean font is as wide as the font is high.
const WIDE: f32 = 1.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Font {
    Latin,
    Wide,
}

/// The code of a letter in Helvetica, if it is there.
fn code(letter: char) -> Option<u8> {
    match u32::from(letter) {
        32..=126 | 161..=255 => u8::try_from(u32::from(letter)).ok(),
        _ => WINDOWS.iter().find(|(known, _)| *known == letter).map(|(_, code)| *code),
    }
}

pub(super) fn font(letter: char) -> Font {
    if code(letter).is_some() { Font::Latin } else { Font::Wide }
}

/// How wide a letter is, in parts of the size.
pub(super) fn width(letter: char) -> f32 {
    let listed = code(letter).and_then(|code| WIDTHS.get(usize::from(code) - FIRST_CODE));
    listed.map_or(WIDE, |width| f32::from(*width) / 1000.0)
}

/// A run of letters of one font as a page's content writes it.
pub(super) fn written(text: &str, font: Font) -> String {
    let codes: String = match font {
        Font::Latin => text.chars().filter_map(code).map(|code| format!("{code:02X}")).collect(),
        Font::Wide => text.encode_utf16().map(|unit| format!("{unit:04X}")).collect(),
    };
    format!("<{codes}>")
}
