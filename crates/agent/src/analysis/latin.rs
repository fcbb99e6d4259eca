//! Words of Latin letters and digits: plain ones, and compounds such as `m5.2xlarge` or `$12,500`.

use super::letters::Letter;
use super::{Script, Word, WordKind, bounded, english, script, span};

/// How many letters the word at the start of `letters` has, with the signs that belong to it.
pub(crate) fn length(letters: &[Letter]) -> usize {
    let mut length = 0;
    let mut last = ' ';
    for (position, letter) in letters.iter().enumerate() {
        let next = letters.get(position + 1).map_or(' ', |next| next.letter);
        let belongs = script(letter.letter) == Script::Latin || joins(last, letter.letter, next);
        if !belongs {
            break;
        }
        last = letter.letter;
        length += 1;
    }
    let after = |offset: usize| letters.get(length + offset).map_or(' ', |letter| letter.letter);
    match (after(0), after(1)) {
        ('%', _) if last.is_ascii_digit() => length + 1,
        ('#', _) if length == 1 && last.is_ascii_alphabetic() => 2,
        ('+', '+') if length == 1 && last.is_ascii_alphabetic() => 3,
        _ => length,
    }
}

/// The word made of `run`, which [`length`] has measured.
pub(crate) fn word(run: &[Letter]) -> Word {
    let split = split(run);
    let has_digit = split.whole.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = split.whole.chars().any(char::is_alphabetic);
    let kind = if split.parts.len() > 1 || (has_digit && has_letter) {
        WordKind::Code
    } else if english::is_function_word(&split.whole) && !is_abbreviation(run) {
        WordKind::Function
    } else {
        WordKind::Ordinary
    };
    let stem =
        if kind == WordKind::Code { split.whole.clone() } else { english::stem(&split.whole) };
    let mut parts = if split.parts.len() > 1 { split.parts } else { Vec::new() };
    parts.extend(number_and_unit(&split.whole));
    let (from, to) = span(run);
    Word {
        kind,
        stem: bounded(stem),
        parts: terms(parts),
        humps: terms(humps(run)),
        grams: Vec::new(),
        from,
        to,
    }
}

/// `IT` and `US` are no pronouns.
fn is_abbreviation(run: &[Letter]) -> bool {
    run.len() > 1 && run.iter().all(|letter| letter.is_capital)
}

/// The digits at the end of a word, for the counter that follows them.
pub(crate) fn trailing_number(word: &str) -> Option<&str> {
    let name = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    word.strip_prefix(name).filter(|number| !number.is_empty())
}

/// Whether a sign between two letters keeps them in one word.
fn joins(last: char, sign: char, next: char) -> bool {
    let between_letters = script(last) == Script::Latin && script(next) == Script::Latin;
    match sign {
        ',' => last.is_ascii_digit() && next.is_ascii_digit(),
        '-' | '_' | '.' | '/' | ':' | '\'' | '@' | '&' | '+' => between_letters,
        _ => false,
    }
}

struct Split {
    /// Without hyphens, so that `e-mail` is `email`; signs between digits stay, `1.2` is not 12.
    whole: String,
    parts: Vec<String>,
}

fn split(run: &[Letter]) -> Split {
    let mut whole = String::new();
    let mut parts = vec![String::new()];
    let mut last = ' ';
    for (position, Letter { letter, .. }) in run.iter().copied().enumerate() {
        let next = run.get(position + 1).map_or(' ', |next| next.letter);
        let is_between_digits = last.is_ascii_digit() && next.is_ascii_digit();
        match letter {
            // The thousands' comma, and the apostrophe of `don't`; a possessive ends the word.
            ',' => {}
            '\'' if next == 's' && position + 2 == run.len() => break,
            '\'' => {}
            '%' | '#' => {
                parts = vec![whole.clone(), String::new()];
                whole.push(letter);
            }
            '+' if next == '+' || last == '+' => {
                parts = vec![whole.trim_end_matches('+').to_owned(), String::new()];
                whole.push(letter);
            }
            _ if script(letter) == Script::Latin => {
                whole.push(letter);
                if let Some(part) = parts.last_mut() {
                    part.push(letter);
                }
            }
            _ => {
                if is_between_digits {
                    whole.push(letter);
                }
                parts.push(String::new());
            }
        }
        last = letter;
    }
    Split { whole, parts }
}

/// `10gb` as `10` and `gb`: the other text may have a space there.
fn number_and_unit(word: &str) -> Vec<String> {
    let unit = word.trim_start_matches(|letter: char| letter.is_ascii_digit());
    match word.strip_suffix(unit) {
        Some(number)
            if !number.is_empty() && !unit.is_empty() && unit.chars().all(char::is_alphabetic) =>
        {
            vec![number.to_owned(), unit.to_owned()]
        }
        _ => Vec::new(),
    }
}

/// The words of a name in camel case; none when the word has no hump.
fn humps(run: &[Letter]) -> Vec<String> {
    let mut humps = vec![String::new()];
    let mut after_small = false;
    for letter in run {
        if letter.is_capital && after_small {
            humps.push(String::new());
        }
        after_small = letter.letter.is_alphabetic() && !letter.is_capital;
        if letter.letter.is_alphanumeric()
            && let Some(hump) = humps.last_mut()
        {
            hump.push(letter.letter);
        }
    }
    if humps.len() > 1 { humps } else { Vec::new() }
}

/// Stems of those worth keeping: a lone letter matches everywhere.
fn terms(parts: Vec<String>) -> Vec<String> {
    let is_lone =
        |part: &String| part.len() == 1 && !part.bytes().all(|byte| byte.is_ascii_digit());
    parts
        .into_iter()
        .filter(|part| !part.is_empty() && !is_lone(part))
        .map(|part| bounded(english::stem(&part)))
        .filter(|part| !part.is_empty())
        .collect()
}
