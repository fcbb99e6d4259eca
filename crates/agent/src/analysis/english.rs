//! Cuts English words to their stem, after Porter's algorithm of 1980 with the usual repairs.

/// The stem of a lower-case word; anything that is not plain ASCII letters stays as it is.
pub(crate) fn stem(word: &str) -> String {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = word.to_owned();
    plural(&mut stem);
    past_and_gerund(&mut stem);
    final_y(&mut stem);
    replace_first(&mut stem, DOUBLE_SUFFIXES, 0);
    replace_first(&mut stem, SINGLE_SUFFIXES, 0);
    drop_residue(&mut stem);
    final_e(&mut stem);
    stem
}

/// Whether the word carries no content of its own: left out of a query that has better words.
pub(crate) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.binary_search(&word).is_ok()
}

const DOUBLE_SUFFIXES: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("isation", "ize"),
    ("ization", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
    ("fulli", "ful"),
    ("lessli", "less"),
];

const SINGLE_SUFFIXES: &[(&str, &str)] = &[
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("alise", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

const RESIDUE: &[&str] = &[
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ise", "al", "er", "ic", "ou",
];

fn plural(word: &mut String) {
    if word.ends_with("sses") || (word.ends_with("ies") && word.len() > 4) {
        word.truncate(word.len() - 2);
    } else if word.ends_with("ies") {
        word.truncate(word.len() - 1);
    } else if word.len() > 3
        && word.ends_with('s')
        && !word.ends_with("ss")
        && !word.ends_with("us")
    {
        // A word of three letters is as often a name: AWS, iOS, GPS.
        word.truncate(word.len() - 1);
    }
}

fn past_and_gerund(word: &mut String) {
    if word.ends_with("eed") {
        if measure(before(word, "eed")) > 0 {
            word.truncate(word.len() - 1);
        }
        return;
    }
    let Some(stem) = ["ed", "ing"]
        .iter()
        .find_map(|end| word.strip_suffix(end))
        .filter(|stem| has_vowel(stem))
        .map(str::to_owned)
    else {
        return;
    };
    *word = stem;
    if ["at", "bl", "iz"].iter().any(|end| word.ends_with(end)) {
        word.push('e');
    } else if ends_doubled(word) && !word.ends_with(['l', 's', 'z']) {
        word.pop();
    } else if measure(word) == 1 && ends_short(word) {
        word.push('e');
    }
}

fn final_y(word: &mut String) {
    if word.ends_with('y') && has_vowel(before(word, "y")) && word.len() > 2 {
        word.pop();
        word.push('i');
    }
}

/// Replaces the longest suffix of the table when enough of a word is left before it.
fn replace_first(word: &mut String, table: &[(&str, &str)], measure_over: usize) {
    let longest = table
        .iter()
        .filter(|(suffix, _)| word.ends_with(suffix))
        .max_by_key(|(suffix, _)| suffix.len());
    if let Some((suffix, instead)) = longest
        && measure(before(word, suffix)) > measure_over
    {
        word.truncate(word.len() - suffix.len());
        word.push_str(instead);
    }
}

fn drop_residue(word: &mut String) {
    let longest = RESIDUE.iter().filter(|end| word.ends_with(**end)).max_by_key(|end| end.len());
    if let Some(suffix) = longest {
        if measure(before(word, suffix)) > 1 {
            word.truncate(word.len() - suffix.len());
        }
    } else if (word.ends_with("sion") || word.ends_with("tion")) && measure(before(word, "ion")) > 1
    {
        word.truncate(word.len() - 3);
    }
}

fn final_e(word: &mut String) {
    if word.ends_with('e') {
        let stem = before(word, "e");
        let measure = measure(stem);
        if measure > 1 || (measure == 1 && !ends_short(stem)) {
            word.pop();
        }
    }
    if word.ends_with("ll") && measure(word) > 1 {
        word.pop();
    }
}

fn before<'word>(word: &'word str, suffix: &str) -> &'word str {
    word.strip_suffix(suffix).unwrap_or(word)
}

/// For each letter whether it is a vowel; `y` is one after a consonant.
fn vowels(word: &str) -> impl Iterator<Item = bool> {
    let mut was_vowel = true;
    word.bytes().map(move |letter| {
        was_vowel = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => true,
            b'y' => !was_vowel,
            _ => false,
        };
        was_vowel
    })
}

fn has_vowel(word: &str) -> bool {
    vowels(word).any(|is_vowel| is_vowel)
}

/// Porter's measure: how often a vowel is followed by a consonant.
fn measure(word: &str) -> usize {
    let mut was_vowel = false;
    let mut count = 0;
    for is_vowel in vowels(word) {
        count += usize::from(was_vowel && !is_vowel);
        was_vowel = is_vowel;
    }
    count
}

fn ends_doubled(word: &str) -> bool {
    let mut letters = word.bytes().rev();
    let (last, earlier) = (letters.next(), letters.next());
    last.is_some() && last == earlier && vowels(word).last() == Some(false)
}

/// Consonant, vowel, consonant, the last none of w, x and y: `hop`, not `snow`.
fn ends_short(word: &str) -> bool {
    let kinds: Vec<bool> = vowels(word).collect();
    let is_closed = kinds.ends_with(&[false, true, false]);
    is_closed && !word.ends_with(['w', 'x', 'y'])
}

/// Sorted, for the binary search.
const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "been", "before", "being", "both", "but", "by", "can", "could", "did", "do", "does", "doing",
    "for", "from", "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his",
    "how", "i", "if", "in", "into", "is", "it", "its", "just", "me", "mine", "my", "no", "not",
    "of", "off", "on", "or", "our", "ours", "out", "over", "please", "shall", "she", "should",
    "so", "some", "such", "than", "that", "the", "their", "theirs", "them", "then", "there",
    "these", "they", "this", "those", "to", "too", "under", "up", "us", "was", "we", "were",
    "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your", "yours",
];
