//! Cuts Korean particles and endings off a word by rule, without a dictionary.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::letters::ends_in_consonant;

/// What is left of a word without its particles and endings; the word itself when nothing fits.
///
/// Wrong cuts (`고양이` loses its 이) do no harm as long as they are the same in text and question.
pub(crate) fn stem(word: &[char]) -> &[char] {
    let mut stem = word;
    for _ in 0..CUTS_MAX {
        match cut(stem) {
            Some(shorter) => stem = shorter,
            None => break,
        }
    }
    stem
}

/// Whether the word only asks or connects: left out of a query that has better words.
pub(crate) fn is_function_word(stem: &[char]) -> bool {
    let Some(first) = stem.first() else { return false };
    FUNCTION_BY_FIRST.get(first).is_some_and(|words| words.iter().any(|word| **word == *stem))
}

/// Whether letters that follow a Latin word or a number are only a particle: the 는 of `AWS는`.
pub(crate) fn is_particle(word: &[char]) -> bool {
    suffixes_of(word).iter().any(|(text, _)| **text == *word)
}

/// 학교 + 들 + 에게 + 까지 + 는 is as far as it goes in practice.
const CUTS_MAX: usize = 4;

/// What the syllable before a suffix must end in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Any,
    Consonant,
    Vowel,
    /// A vowel or ㄹ, as 로 wants it.
    Open,
}

struct Suffix {
    text: &'static str,
    after: After,
    /// Syllables that must remain.
    left_min: usize,
}

const fn suffix(text: &'static str, after: After, left_min: usize) -> Suffix {
    Suffix { text, after, left_min }
}

/// A suffix with its syllables.
type SpeltSuffix = (Box<[char]>, &'static Suffix);

/// Suffixes by their last syllable: nearly all are out by it.
static SUFFIXES_BY_LAST: LazyLock<HashMap<char, Vec<SpeltSuffix>>> = LazyLock::new(|| {
    let mut by_last: HashMap<_, Vec<_>> = HashMap::new();
    for suffix in SUFFIXES {
        let syllables: Box<[char]> = suffix.text.chars().collect();
        if let Some(last) = syllables.last().copied() {
            by_last.entry(last).or_default().push((syllables, suffix));
        }
    }
    by_last
});

/// Words that ask or connect, by their first syllable.
static FUNCTION_BY_FIRST: LazyLock<HashMap<char, Vec<Box<[char]>>>> = LazyLock::new(|| {
    let mut by_first: HashMap<_, Vec<_>> = HashMap::new();
    for word in FUNCTION_STEMS {
        let syllables: Box<[char]> = word.chars().collect();
        if let Some(first) = syllables.first().copied() {
            by_first.entry(first).or_default().push(syllables);
        }
    }
    by_first
});

/// The suffixes that end as the word does.
fn suffixes_of(word: &[char]) -> &'static [SpeltSuffix] {
    word.last().and_then(|last| SUFFIXES_BY_LAST.get(last)).map(Vec::as_slice).unwrap_or_default()
}

fn cut(word: &[char]) -> Option<&[char]> {
    let suffixes = suffixes_of(word).iter();
    let cuts = suffixes.filter_map(|(syllables, suffix)| remainder(word, syllables, suffix));
    cuts.min_by_key(|left| left.len())
}

fn remainder<'word>(
    word: &'word [char],
    syllables: &[char],
    suffix: &Suffix,
) -> Option<&'word [char]> {
    let left = word.strip_suffix(syllables)?;
    let last = *left.last()?;
    let fits = match suffix.after {
        After::Any => true,
        After::Consonant => ends_in_consonant(last),
        After::Vowel => !ends_in_consonant(last),
        After::Open => !ends_in_consonant(last) || ends_in_rieul(last),
    };
    (fits && left.len() >= suffix.left_min).then_some(left)
}

fn ends_in_rieul(syllable: char) -> bool {
    // ㄹ is the eighth final consonant.
    ends_in_consonant(syllable) && (u32::from(syllable) - 0xac00) % 28 == 8
}

const SUFFIXES: &[Suffix] = &[
    // Particles that leave even a single syllable, the sound before them being checked.
    suffix("을", After::Consonant, 1),
    suffix("를", After::Vowel, 1),
    suffix("은", After::Consonant, 1),
    suffix("는", After::Vowel, 1),
    suffix("에서", After::Any, 1),
    suffix("에게", After::Any, 1),
    suffix("으로", After::Consonant, 1),
    suffix("까지", After::Any, 1),
    suffix("부터", After::Any, 1),
    suffix("처럼", After::Any, 1),
    suffix("보다", After::Any, 2),
    suffix("마다", After::Any, 1),
    suffix("에는", After::Any, 1),
    suffix("에도", After::Any, 1),
    suffix("이란", After::Consonant, 1),
    suffix("이라는", After::Consonant, 1),
    suffix("라는", After::Vowel, 2),
    suffix("으로써", After::Consonant, 1),
    suffix("으로서", After::Consonant, 1),
    suffix("로써", After::Open, 2),
    suffix("로서", After::Open, 2),
    suffix("에서의", After::Any, 1),
    suffix("에게서", After::Any, 1),
    suffix("한테", After::Any, 1),
    suffix("께서", After::Any, 1),
    suffix("밖에", After::Any, 2),
    suffix("조차", After::Any, 2),
    suffix("이나", After::Consonant, 2),
    suffix("이랑", After::Consonant, 2),
    suffix("랑", After::Vowel, 2),
    // Particles that are as often the end of a noun.
    suffix("이", After::Consonant, 2),
    suffix("가", After::Vowel, 2),
    suffix("의", After::Any, 2),
    suffix("에", After::Any, 2),
    suffix("도", After::Any, 2),
    suffix("만", After::Any, 2),
    suffix("와", After::Vowel, 2),
    suffix("과", After::Consonant, 2),
    suffix("로", After::Open, 2),
    suffix("나", After::Vowel, 2),
    suffix("들", After::Any, 2),
    // The copula and its questions.
    suffix("이다", After::Consonant, 2),
    suffix("이며", After::Consonant, 2),
    suffix("이고", After::Consonant, 2),
    suffix("인", After::Any, 2),
    suffix("인가", After::Any, 1),
    suffix("인가요", After::Any, 1),
    suffix("인지", After::Any, 2),
    suffix("이었다", After::Consonant, 2),
    suffix("였다", After::Vowel, 2),
    suffix("입니다", After::Any, 1),
    suffix("입니까", After::Any, 1),
    suffix("이에요", After::Consonant, 1),
    suffix("예요", After::Vowel, 1),
    suffix("인데", After::Any, 2),
    // 하다 and 되다 after a noun.
    suffix("하다", After::Any, 2),
    suffix("한", After::Any, 2),
    suffix("할", After::Any, 2),
    suffix("함", After::Any, 2),
    suffix("해", After::Any, 2),
    suffix("하는", After::Any, 1),
    suffix("하고", After::Any, 2),
    suffix("하며", After::Any, 2),
    suffix("하면", After::Any, 2),
    suffix("하여", After::Any, 2),
    suffix("하지", After::Any, 2),
    suffix("하게", After::Any, 2),
    suffix("하기", After::Any, 2),
    suffix("하려면", After::Any, 2),
    suffix("해서", After::Any, 2),
    suffix("해요", After::Any, 2),
    suffix("했다", After::Any, 2),
    suffix("했던", After::Any, 2),
    suffix("했는데", After::Any, 2),
    suffix("했나요", After::Any, 2),
    suffix("했습니다", After::Any, 2),
    suffix("하였다", After::Any, 2),
    suffix("하였던", After::Any, 2),
    suffix("하였고", After::Any, 2),
    suffix("하였으며", After::Any, 2),
    suffix("했고", After::Any, 2),
    suffix("했으며", After::Any, 2),
    suffix("합니다", After::Any, 2),
    suffix("합니까", After::Any, 2),
    suffix("하나요", After::Any, 2),
    suffix("하세요", After::Any, 2),
    suffix("된", After::Any, 2),
    suffix("될", After::Any, 2),
    suffix("됨", After::Any, 2),
    suffix("돼", After::Any, 2),
    suffix("되다", After::Any, 2),
    suffix("되는", After::Any, 2),
    suffix("되고", After::Any, 2),
    suffix("되며", After::Any, 2),
    suffix("되면", After::Any, 2),
    suffix("되어", After::Any, 2),
    suffix("되지", After::Any, 2),
    suffix("되었다", After::Any, 2),
    suffix("되었고", After::Any, 2),
    suffix("되었던", After::Any, 2),
    suffix("되었으며", After::Any, 2),
    suffix("됐다", After::Any, 2),
    suffix("됩니다", After::Any, 2),
    suffix("됩니까", After::Any, 2),
    suffix("되나요", After::Any, 2),
    suffix("돼요", After::Any, 2),
    suffix("시킨", After::Any, 2),
    suffix("시키는", After::Any, 2),
    suffix("시켰다", After::Any, 2),
    suffix("받은", After::Any, 2),
    suffix("받는", After::Any, 2),
    suffix("적인", After::Any, 2),
    suffix("적으로", After::Any, 2),
    // Polite and asking ends of verbs.
    suffix("나요", After::Any, 2),
    suffix("는가", After::Any, 2),
    suffix("는지", After::Any, 2),
    suffix("은가", After::Any, 2),
    suffix("던가", After::Any, 2),
    suffix("습니다", After::Any, 1),
    suffix("습니까", After::Any, 1),
    suffix("네요", After::Any, 2),
    suffix("어요", After::Any, 2),
    suffix("아요", After::Any, 2),
    suffix("세요", After::Any, 2),
    suffix("었다", After::Any, 2),
    suffix("았다", After::Any, 2),
    suffix("었던", After::Any, 2),
    suffix("았던", After::Any, 2),
];

/// Stems, as [`stem`] leaves them.
const FUNCTION_STEMS: &[&str] = &[
    "무엇",
    "무엇이",
    "무엇인",
    "뭐",
    "뭔",
    "뭔가요",
    "뭐예요",
    "누구",
    "누가",
    "언제",
    "어디",
    "어느",
    "어떤",
    "어떻",
    "어떻게",
    "어찌",
    "왜",
    "몇",
    "얼마",
    "얼마나",
    "무슨",
    "것",
    "거",
    "수",
    "때",
    "등",
    "및",
    "그",
    "이",
    "저",
    "그리고",
    "그런데",
    "하지만",
    "또는",
    "또한",
    "있",
    "있는",
    "있다",
    "있나요",
    "있었",
    "있던",
    "있을",
    "없",
    "없는",
    "없나요",
    "하",
    "하는",
    "하나요",
    "한",
    "할",
    "해",
    "했",
    "했던",
    "하였",
    "되",
    "되는",
    "되나요",
    "된",
    "될",
    "됐",
    "된다",
    "한다",
    "대해",
    "대한",
    "대하",
    "위해",
    "위한",
    "위하",
    "통해",
    "통한",
    "따라",
    "따른",
    "따르",
    "관해",
    "관한",
    "의해",
    "의한",
    "좀",
    "주",
    "주세요",
    "알려",
    "알려줘",
    "알려주",
    "궁금",
    "싶",
    "가요",
    "인가",
    "인가요",
    "건가요",
    "이유",
];
