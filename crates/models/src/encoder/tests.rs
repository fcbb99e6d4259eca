//! Compares the encoder with the original, and tries what a stranger's bytes and texts may do.

use std::sync::{Arc, LazyLock};

use pulp::Arch;

use super::asset::{Reader, checksum};
use super::bytes::Bytes;
use super::cache::{Cache, Load};
use super::{BUILT_IN, Encoder, EncoderError, PIECES_MAX};

/// Texts and the pieces the original cuts them into, separated by a tab and by spaces.
const TEXTS: &str = include_str!("golden/texts.tsv");
/// The original's vector of each text, in signed bytes, scaled to use their range.
const VECTORS: &[u8] = include_bytes!("golden/vectors.i8");

/// Where the checksum is, and where what it covers begins.
const CHECKSUM_AT: usize = 12;
const BODY_AT: usize = 20;

static ENCODER: LazyLock<Encoder> = LazyLock::new(|| Encoder::built_in().unwrap());

fn golden() -> Vec<(&'static str, Vec<&'static str>)> {
    let line = |line: &'static str| {
        let (text, pieces) = line.split_once('\t').unwrap();
        (text, pieces.split(' ').collect())
    };
    TEXTS.lines().map(line).collect()
}

fn cosine(left: &[f32], right: &[f32]) -> f32 {
    let product = |left: &[f32], right: &[f32]| -> f32 {
        left.iter().zip(right).map(|(left, right)| left * right).sum()
    };
    product(left, right) / (product(left, left) * product(right, right)).sqrt()
}

fn encode(text: &str) -> Vec<f32> {
    ENCODER.encode(&[text]).remove(0)
}

/// The built-in asset with some bytes changed; the checksum is made to fit.
fn forged(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut body = BUILT_IN[BODY_AT..].to_vec();
    change(&mut body);
    let mut asset = BUILT_IN[..CHECKSUM_AT].to_vec();
    asset.extend(checksum(&body).to_le_bytes());
    asset.extend(body);
    asset
}

#[test]
fn vectors_are_those_of_the_original() {
    let texts: Vec<&str> = golden().iter().map(|(text, _)| *text).collect();
    let vectors = ENCODER.encode(&texts);
    assert_eq!(VECTORS.len(), texts.len() * ENCODER.dimensions());
    for ((text, vector), original) in texts.iter().zip(&vectors).zip(VECTORS.chunks(512)) {
        let original: Vec<f32> = original.iter().map(|byte| f32::from(*byte as i8)).collect();
        let cosine = cosine(vector, &original);
        assert!(cosine >= 0.99, "{cosine} for {text}");
    }
}

#[test]
fn pieces_are_those_of_the_original() {
    for (text, pieces) in golden() {
        let found = ENCODER.tokenizer.encode(text, PIECES_MAX);
        let found: Vec<&str> =
            found.iter().map(|piece| ENCODER.tokenizer.piece_text(*piece)).collect();
        assert_eq!(found, pieces, "{text}");
        assert_eq!(ENCODER.count_pieces(text), pieces.len() - 2);
    }
}

#[test]
fn a_vector_has_length_one() {
    for text in ["샘", "a well", "", "\u{1F600}", "\0\u{7}\u{200B}"] {
        let vector = encode(text);
        assert_eq!(vector.len(), 512);
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        assert!((length - 1.0).abs() < 1e-5, "{length} for {text:?}");
    }
}

#[test]
fn the_same_text_has_the_same_bits_in_any_company() {
    let texts: Vec<&str> = golden().iter().map(|(text, _)| *text).collect();
    let together = ENCODER.encode(&texts);
    let backwards: Vec<&str> = texts.iter().rev().copied().collect();
    let backwards = ENCODER.encode(&backwards);
    let fresh = Encoder::from_bytes(BUILT_IN).unwrap();
    for ((text, vector), other) in texts.iter().zip(&together).zip(backwards.iter().rev()) {
        assert_eq!(vector, other, "{text}");
        assert_eq!(*vector, fresh.encode(&[text])[0], "{text}");
    }
}

#[test]
fn a_full_cache_changes_nothing() {
    let encoder = Encoder::built_in().unwrap();
    let rare: Vec<String> = (3..12_000)
        .map(|piece| encoder.tokenizer.piece_text(piece).to_owned())
        .collect::<Vec<_>>()
        .chunks(60)
        .map(|pieces| pieces.join(" "))
        .collect();
    let rare: Vec<&str> = rare.iter().map(String::as_str).collect();
    let before = encoder.encode(&rare);
    assert_eq!(encoder.encode(&rare), before);
    let texts: Vec<&str> = golden().iter().map(|(text, _)| *text).collect();
    assert_eq!(encoder.encode(&texts), ENCODER.encode(&texts));
}

#[test]
fn the_cache_is_bounded_and_keeps_what_is_asked_for_often() {
    type Large = [u8; 1 << 20];
    let mut cache = Cache::<Large>::new(200);
    let often: Vec<u32> = (0..10).collect();
    let value = Arc::new([0; 1 << 20]);
    for piece in 0..200 {
        cache.find(&often);
        cache.find(&[piece]);
        cache.keep(&often, &vec![Arc::clone(&value); 10], Load::Documents);
        cache.keep(&[piece], &[Arc::clone(&value)], Load::Documents);
    }
    assert!(cache.find(&often).iter().all(Option::is_some));
    let all: Vec<u32> = (0..200).collect();
    let kept = cache.find(&all).into_iter().flatten().count();
    assert_eq!(kept, 32);
    let mut cache = Cache::<Large>::new(200);
    cache.keep(&all, &vec![Arc::clone(&value); 200], Load::Question);
    assert_eq!(cache.find(&all).into_iter().flatten().count(), 4, "questions fill an eighth");
}

#[test]
fn every_processor_computes_the_same_but_for_rounding() {
    let mut processors = vec![Arch::Scalar];
    #[cfg(target_arch = "x86_64")]
    processors.extend(pulp::x86::V3::try_new().map(Arch::V3));
    let texts: Vec<&str> = golden().iter().map(|(text, _)| *text).collect();
    let expected = ENCODER.encode(&texts);
    for arch in processors {
        let encoder =
            Encoder::read(arch, Reader::open(BUILT_IN).unwrap(), Bytes::of_program).unwrap();
        for (vector, expected) in encoder.encode(&texts).iter().zip(&expected) {
            assert!(cosine(vector, expected) > 0.9999, "{arch:?}");
        }
    }
}

#[test]
fn threads_share_an_encoder_and_agree() {
    let texts: Vec<&str> = golden().iter().map(|(text, _)| *text).collect();
    let encoder = Encoder::built_in().unwrap();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| encoder.encode(&texts))).collect();
        let expected = ENCODER.encode(&texts);
        for thread in threads {
            assert_eq!(thread.join().unwrap(), expected);
        }
    });
}

#[test]
fn a_question_is_nearer_to_its_answer_in_the_other_language_than_to_something_else() {
    let question = encode("환불은 며칠 안에 처리되나요?");
    let same = cosine(&question, &encode("How many days does a refund take?"));
    let other = cosine(&question, &encode("The village lies at the foot of a mountain."));
    assert!(same > other + 0.2, "{same} and {other}");
}

#[test]
fn no_texts_have_no_vectors() {
    assert!(ENCODER.encode(&[]).is_empty());
}

#[test]
fn nothing_but_space_is_encoded_like_an_empty_text() {
    assert_eq!(encode(" \t\n\u{3000}"), encode(""));
    assert_eq!(ENCODER.count_pieces(" \n"), 0);
}

#[test]
fn of_a_long_text_the_beginning_counts() {
    let sentence = "긴 문서에서는 앞부분만 읽는다. Only the beginning of a long text is read. ";
    let long = sentence.repeat(1_000_000 / sentence.len());
    let beginning: String = long.chars().take(4_000).collect();
    assert_eq!(encode(&long), encode(&beginning));
    assert!(ENCODER.count_pieces(&long) > 100_000);
    assert_eq!(ENCODER.tokenizer.encode(&long, PIECES_MAX).len(), PIECES_MAX);
}

#[test]
fn a_megabyte_without_a_space_is_encoded() {
    for character in ["a", "가", "\u{1F600}", "\u{301}"] {
        let text = character.repeat(1_000_000 / character.len());
        assert_eq!(encode(&text).len(), 512);
        assert!(ENCODER.count_pieces(&text) > 0);
    }
}

#[test]
fn a_syllable_may_be_written_letter_by_letter() {
    let whole = ENCODER.tokenizer.encode("한글 각", PIECES_MAX);
    for spelt in [
        "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF} \u{1100}\u{1161}\u{11A8}",
        "\u{314E}\u{314F}\u{11AB}\u{3131}\u{3161}\u{11AF} \u{3260}\u{FFC2}\u{11A8}",
    ] {
        assert_eq!(ENCODER.tokenizer.encode(spelt, PIECES_MAX), whole);
    }
    // A vowel without a beginning, and a beginning without a vowel, stay letters.
    for letters in ["ㅏㅏ", "ㅋㅋㅋ", "\u{1161}\u{11AB}"] {
        assert!(ENCODER.count_pieces(letters) > 0);
        assert_ne!(ENCODER.tokenizer.encode(letters, PIECES_MAX), whole);
    }
}

#[test]
fn texts_in_other_scripts_have_vectors_of_their_own() {
    let texts =
        ["今日は天気がいいです。", "Привет, как дела?", "สวัสดีครับ", "مرحبا بالعالم", "你好,世界"];
    let vectors = ENCODER.encode(&texts);
    for (index, left) in vectors.iter().enumerate() {
        for right in &vectors[index + 1..] {
            assert!(cosine(left, right) < 0.99);
        }
    }
}

#[test]
fn a_mark_written_in_a_text_is_only_text() {
    for mark in ["<s>", "</s>", "<unk>"] {
        let pieces = ENCODER.tokenizer.encode(mark, PIECES_MAX);
        assert!(pieces[1..pieces.len() - 1].iter().all(|piece| *piece > 2), "{pieces:?}");
    }
}

#[test]
fn the_identity_is_that_of_the_asset() {
    assert_eq!(ENCODER.identity(), "use-m3-ko-en/1");
}

#[test]
fn other_bytes_are_not_an_asset() {
    for bytes in [&b""[..], b"SAEM", b"\x7FELF and something else entirely"] {
        assert_eq!(Encoder::from_bytes(bytes).unwrap_err(), EncoderError::NotAnAsset);
    }
}

#[test]
fn another_layout_is_refused_by_its_number() {
    let mut asset = BUILT_IN[..64].to_vec();
    asset[8] = 9;
    let error = Encoder::from_bytes(&asset).unwrap_err();
    assert_eq!(error, EncoderError::OtherVersion { found: 9, known: 1 });
}

#[test]
fn a_changed_or_cut_asset_is_damaged() {
    let damaged = |asset: &[u8]| {
        let error = Encoder::from_bytes(asset).unwrap_err();
        assert!(matches!(error, EncoderError::Damaged(_)), "{error}");
    };
    for at in (CHECKSUM_AT..BUILT_IN.len()).step_by(BUILT_IN.len() / 12) {
        let mut asset = BUILT_IN.to_vec();
        asset[at] ^= 0x10;
        damaged(&asset);
        damaged(&BUILT_IN[..at]);
    }
}

#[test]
fn damage_that_the_checksum_does_not_show_does_no_harm() {
    // A forger's asset may be read, and then has vectors of no use, or is refused.
    for step in 0..40 {
        let asset = forged(|body| {
            let at = if step < 20 { step * 3 } else { body.len() / 41 * step };
            body[at] = body[at].wrapping_add(0x81);
        });
        if let Ok(encoder) = Encoder::from_bytes(&asset) {
            assert_eq!(encoder.encode(&["샘 and wells"])[0].len(), 512);
        }
    }
    for cut in [1, 100, 10_000, 14_000_000] {
        let asset = forged(|body| body.truncate(body.len() - cut));
        assert!(Encoder::from_bytes(&asset).is_err());
    }
    let asset = forged(|body| body.push(0));
    assert_eq!(Encoder::from_bytes(&asset).unwrap_err(), EncoderError::Damaged("it is too long"));
}
