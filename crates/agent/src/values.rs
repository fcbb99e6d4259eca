//! Amounts, dates and shares as they stand in a sentence, without what the sentence put around them.

use crate::language::is_hangul;

/// What may stand after a number and says what it counts.
pub(crate) const UNITS: [&str; 22] = [
    "달러",
    "퍼센트",
    "시간",
    "개월",
    "억",
    "만",
    "천",
    "원",
    "년",
    "월",
    "일",
    "주",
    "시",
    "분",
    "초",
    "개",
    "명",
    "건",
    "대",
    "회",
    "번",
    "차",
];

/// `$10,000` of `($10,000),` and `700만 원` of `700만 원을`: another sentence has other signs and particles around it.
pub(crate) fn bare(words: &str) -> &str {
    let words =
        words.trim_matches(|letter: char| !letter.is_alphanumeric() && !"$₩€%".contains(letter));
    let Some(last_digit) = words.rfind(|letter: char| letter.is_ascii_digit()) else {
        return words;
    };
    let mut end = last_digit + 1;
    while let Some(rest) = words.get(end..) {
        let next = rest.chars().next();
        if next.is_some_and(|letter| !is_hangul(letter)) {
            end += next.map_or(0, char::len_utf8);
            continue;
        }
        match UNITS.iter().find(|unit| rest.starts_with(**unit)) {
            Some(unit) => end += unit.len(),
            None => break,
        }
    }
    words.get(..end).unwrap_or(words)
}

#[cfg(test)]
mod tests {
    use super::bare;

    #[test]
    fn what_a_sentence_puts_around_a_value_goes() {
        for (given, expected) in [
            ("($10,000),", "$10,000"),
            ("700만 원이에요.", "700만 원"),
            ("11월의", "11월"),
            ("\"41%\"", "41%"),
            ("NB-4031에서", "NB-4031"),
            ("m5.2xlarge", "m5.2xlarge"),
            ("예산은", "예산은"),
            ("", ""),
        ] {
            assert_eq!(bare(given), expected, "{given}");
        }
    }
}
