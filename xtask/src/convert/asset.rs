//! Writes the asset: what the encoder reads at its start, in the order in which it reads it.

use std::error::Error;

use super::choice::Ranked;
use super::forms::thin_out;
use super::package::{Array, Package};
use super::prefix_code::{self, Code, ZERO_SYMBOL};
use super::sentencepiece::Model;

const MAGIC: &[u8; 8] = b"SAEM-USE";
const VERSION: u32 = 1;
/// Names the vectors that come of this asset: change it whenever they change.
const IDENTITY: &str = "use-m3-ko-en/1";
/// Most bytes of the asset: it is part of every binary.
const ASSET_BYTES_MAX: usize = 15_000_000;
/// A coarse row keeps every third level, and is much shorter in its code.
const COARSE_STEP: i16 = 3;
/// Most that a coarse row may lose, as a share of its square: beyond, it stays as it is.
const COARSE_LOSS_MAX: f32 = 0.5;

/// The original spreads its rows over so many blocks: row `n` is in block `n % 17`.
const BLOCKS: usize = 17;
const EMBEDDING: usize = 512;
/// Numbers of the pieces for an unknown character, a text's start and its end.
const MARKS: [usize; 3] = [0, 1, 2];
/// The convolutions' widths, as the arrays' names have them.
const WIDTHS: [usize; 3] = [2, 3, 5];

/// The embedding table, its values as differences from their block's zero.
pub(crate) struct Embeddings {
    blocks: Vec<Block>,
    /// By piece.
    rows: Vec<Vec<u8>>,
}

struct Block {
    lowest: f32,
    step: f32,
    zero: u8,
}

impl Embeddings {
    pub(crate) fn read(package: &mut Package) -> Result<Self, Box<dyn Error>> {
        let lowest = package.floats("lo")?.values;
        let step = package.floats("scale")?.values;
        let mut blocks = Vec::new();
        let mut tables = Vec::new();
        for (index, (lowest, step)) in lowest.into_iter().zip(step).enumerate() {
            let zero = (-lowest / step).round() as u8;
            let table = package.bytes(&format!("q{}", index + 1))?;
            tables.push(table.values.into_iter().map(|level| symbol(level, zero)).collect());
            blocks.push(Block { lowest, step, zero });
        }
        let tables: Vec<Vec<u8>> = tables;
        if tables.len() != BLOCKS {
            return Err("the table does not have 17 blocks".into());
        }
        let in_block = tables.first().map_or(0, Vec::len) / EMBEDDING;
        let row = |piece: usize| {
            let table = tables.get(piece % BLOCKS)?;
            let from = piece / BLOCKS * EMBEDDING;
            table.get(from..from + EMBEDDING).map(<[u8]>::to_vec)
        };
        let rows = (0..in_block * BLOCKS).filter_map(row).collect();
        Ok(Self { blocks, rows })
    }

    /// Makes the rows of these pieces coarse.
    fn coarsen(&mut self, pieces: &[usize]) {
        for piece in pieces {
            let Some(row) = self.rows.get_mut(*piece) else { continue };
            let difference = |symbol: &u8| i16::from(*symbol) - i16::from(ZERO_SYMBOL);
            let rounded = |symbol: &u8| {
                let difference = f32::from(difference(symbol));
                (difference / f32::from(COARSE_STEP)).round() as i16 * COARSE_STEP
            };
            let square = |number: i16| f32::from(number).powi(2);
            let total: f32 = row.iter().map(|symbol| square(difference(symbol))).sum();
            let loss: f32 =
                row.iter().map(|symbol| square(difference(symbol) - rounded(symbol))).sum();
            if loss <= COARSE_LOSS_MAX * total {
                for symbol in row {
                    *symbol = (rounded(symbol) + i16::from(ZERO_SYMBOL)) as u8;
                }
            }
        }
    }
}

/// Writes the asset with as many pieces as there is room for.
pub(crate) fn write(
    model: &Model,
    ranked: &Ranked,
    embeddings: &mut Embeddings,
    package: &mut Package,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut body = Vec::new();
    push_text(&mut body, IDENTITY)?;
    push_forms(&mut body, model)?;
    let mut weights = Vec::new();
    push_weights(&mut weights, package)?;

    let room = ASSET_BYTES_MAX.checked_sub(body.len() + weights.len() + HEADROOM_BYTES);
    embeddings.coarsen(&ranked.coarse);
    let codes = prefix_code::fit(&embeddings.rows);
    let pieces = choose(model, ranked, embeddings, &codes, room.ok_or("no room for pieces")?)?;
    push_pieces(&mut body, model, &pieces)?;
    push_rows(&mut body, embeddings, &codes, &pieces)?;
    body.extend(weights);

    let mut asset = MAGIC.to_vec();
    asset.extend(VERSION.to_le_bytes());
    asset.extend(checksum(&body).to_le_bytes());
    asset.extend(body);
    Ok(asset)
}

/// Room left for what is small and of fixed size: header, codes, blocks.
const HEADROOM_BYTES: usize = 8_000;

/// The chosen pieces in the order of their texts.
fn choose(
    model: &Model,
    ranked: &Ranked,
    embeddings: &Embeddings,
    codes: &[Code],
    room: usize,
) -> Result<Vec<usize>, Box<dyn Error>> {
    let text = |number: &usize| model.pieces.get(*number).map_or("", |piece| piece.text.as_str());
    let mut pieces = Vec::new();
    let mut used = 0;
    for (number, must) in ranked
        .always
        .iter()
        .map(|number| (number, true))
        .chain(ranked.if_room.iter().map(|number| (number, false)))
    {
        let row = embeddings.rows.get(*number).ok_or("a piece without a row")?;
        let code = codes.get(prefix_code::shortest(codes, row)).ok_or("no codes")?;
        // Score, lengths and place; of its text, about half is shared with the one before.
        used += code.encode(row).len() + text(number).len().div_ceil(2) + 10;
        if used > room {
            if must {
                return Err("the pieces that must stay do not fit".into());
            }
            break;
        }
        pieces.push(*number);
    }
    pieces.sort_by_key(text);
    Ok(pieces)
}

fn push_forms(body: &mut Vec<u8>, model: &Model) -> Result<(), Box<dyn Error>> {
    let forms = thin_out(&model.forms)?;
    body.extend(u32::try_from(forms.len())?.to_le_bytes());
    let mut before = "";
    for (form, replacement) in &forms {
        push_key(body, before.as_bytes(), form.as_bytes())?;
        push_text(body, replacement)?;
        before = form;
    }
    Ok(())
}

fn push_pieces(body: &mut Vec<u8>, model: &Model, pieces: &[usize]) -> Result<(), Box<dyn Error>> {
    body.extend(u32::try_from(pieces.len())?.to_le_bytes());
    body.extend(model.unknown_score().to_le_bytes());
    let mut before = "";
    for number in pieces {
        let piece = model.pieces.get(*number).ok_or("no such piece")?;
        push_key(body, before.as_bytes(), piece.text.as_bytes())?;
        body.extend(piece.score.to_le_bytes());
        before = &piece.text;
    }
    Ok(())
}

fn push_rows(
    body: &mut Vec<u8>,
    embeddings: &Embeddings,
    codes: &[Code],
    pieces: &[usize],
) -> Result<(), Box<dyn Error>> {
    body.push(u8::try_from(embeddings.blocks.len())?);
    for Block { lowest, step, zero } in &embeddings.blocks {
        body.extend(lowest.to_le_bytes());
        body.extend(step.to_le_bytes());
        body.push(*zero);
    }
    body.push(u8::try_from(codes.len())?);
    for code in codes {
        body.extend(code.lengths);
    }
    let mut encoded = Vec::new();
    for piece in MARKS.iter().chain(pieces) {
        let row = embeddings.rows.get(*piece).ok_or("a piece without a row")?;
        let number = prefix_code::shortest(codes, row);
        let bytes = codes.get(number).ok_or("no such code")?.encode(row);
        body.push(u8::try_from(piece % BLOCKS)?);
        body.push(u8::try_from(number)?);
        body.extend(u16::try_from(bytes.len())?.to_le_bytes());
        encoded.extend(bytes);
    }
    body.extend(encoded);
    Ok(())
}

/// The weights, in the order in which the encoder reads them.
fn push_weights(body: &mut Vec<u8>, package: &mut Package) -> Result<(), Box<dyn Error>> {
    for width in WIDTHS {
        push_matrix(body, &package.floats(&format!("w1_{width}"))?)?;
        push_vector(body, &package.floats(&format!("b1_{width}"))?)?;
        push_matrix(body, &package.floats(&format!("w2_{width}"))?)?;
        push_vector(body, &package.floats(&format!("b2_{width}"))?)?;
    }
    for width in WIDTHS {
        push_matrix(body, &package.floats(&format!("proj{width}"))?)?;
        push_vector(body, &package.floats(&format!("proj_b{width}"))?)?;
        push_vector(body, &package.floats(&format!("ln_g{width}"))?)?;
        push_vector(body, &package.floats(&format!("ln_b{width}"))?)?;
    }
    push_vector(body, &package.floats("ln_g")?)?;
    push_vector(body, &package.floats("ln_b")?)?;
    push_matrix(body, &package.floats("cnn_W")?)?;
    push_vector(body, &package.floats("cnn_b")?)?;
    for name in ["d0", "d1", "p1", "d2", "d3", "p3"] {
        push_matrix(body, &package.floats(name)?)?;
    }
    Ok(())
}

/// Writes a matrix in a code of its own. The original was quantised to at most 256 levels that lie
/// evenly, so that nothing is lost; a matrix that is not so is refused.
fn push_matrix(body: &mut Vec<u8>, matrix: &Array<f32>) -> Result<(), Box<dyn Error>> {
    let [rows, columns] = matrix.shape.as_slice() else { return Err("not a matrix".into()) };
    let mut levels = matrix.values.clone();
    levels.sort_by(f32::total_cmp);
    let (lowest, highest) = (levels.first().copied(), levels.last().copied());
    let (lowest, highest) = lowest.zip(highest).ok_or("an empty matrix")?;
    let gaps = levels.iter().zip(levels.iter().skip(1)).map(|(low, high)| high - low);
    let least_gap = gaps.filter(|gap| *gap > (highest - lowest) * 1e-4).fold(f32::MAX, f32::min);
    let count = ((highest - lowest) / least_gap).round();
    let step = (highest - lowest) / count.max(1.0);
    body.extend(u32::try_from(*rows)?.to_le_bytes());
    body.extend(u32::try_from(*columns)?.to_le_bytes());
    body.extend(lowest.to_le_bytes());
    body.extend(step.to_le_bytes());
    let mut symbols = Vec::with_capacity(matrix.values.len());
    for value in &matrix.values {
        let level = ((value - lowest) / step).round();
        if !(0.0..=255.0).contains(&level) || (lowest + step * level - value).abs() > step * 0.01 {
            return Err("a matrix was not quantised evenly".into());
        }
        symbols.push(level as u8);
    }
    let code = Code::of(&symbols);
    body.extend(code.lengths);
    let encoded = code.encode(&symbols);
    body.extend(u32::try_from(encoded.len())?.to_le_bytes());
    body.extend(encoded);
    Ok(())
}

fn push_vector(body: &mut Vec<u8>, vector: &Array<f32>) -> Result<(), Box<dyn Error>> {
    body.extend(u32::try_from(vector.values.len())?.to_le_bytes());
    body.extend(vector.values.iter().flat_map(|value| value.to_le_bytes()));
    Ok(())
}

fn push_text(body: &mut Vec<u8>, text: &str) -> Result<(), Box<dyn Error>> {
    body.push(u8::try_from(text.len())?);
    body.extend(text.as_bytes());
    Ok(())
}

/// Writes a key of a sorted list: how many bytes it shares with the one before, and the others.
fn push_key(body: &mut Vec<u8>, before: &[u8], key: &[u8]) -> Result<(), Box<dyn Error>> {
    let shared = before.iter().zip(key).take_while(|(left, right)| left == right).count();
    let own = key.get(shared..).unwrap_or_default();
    body.push(u8::try_from(shared)?);
    body.push(u8::try_from(own.len())?);
    body.extend(own);
    Ok(())
}

fn symbol(level: u8, zero: u8) -> u8 {
    level.wrapping_add(ZERO_SYMBOL).wrapping_sub(zero)
}

/// The same checksum as the encoder's.
fn checksum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut lanes = [1_u64, 2, 3, 4];
    let (blocks, tail) = bytes.as_chunks::<32>();
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR).rotate_left(29);
        }
    }
    let mut sum = bytes.len() as u64;
    for word in lanes.into_iter().chain(tail.iter().copied().map(u64::from)) {
        sum = (sum ^ word).wrapping_mul(FACTOR).rotate_left(29);
    }
    sum
}
