//! Filters as queries: every tag value is one term of one field, written so that the order of terms is the order
//! of values.

use std::collections::BTreeSet;
use std::ops::Bound;

use agent::filter::{Condition, Filter, TAG_BYTES_MAX, TagValue, Test};
use agent::text::clip;
use tantivy::query::{
    AllQuery, BooleanQuery, ConstScoreQuery, InvertedIndexRangeQuery, Occur, Query, TermQuery,
    TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{SegmentReader, Term};

/// Between a tag's name and its value; no name holds it.
const AFTER_NAME: char = '\u{1}';

/// The first character of a value says its kind, so that kinds never mix in a range.
const FLAG: char = 'b';
const NUMBER: char = 'n';
const TEXT: char = 't';

/// Stands for a blank: indexes that were made when terms were handed over with this sign between them have it so.
const UNIT_SEPARATOR: char = '\u{1f}';

/// Gives the terms under which a chunk with these tags is found.
pub(crate) fn terms<'a>(
    tags: impl Iterator<Item = (&'a String, &'a Vec<TagValue>)>,
    mut give: impl FnMut(&str),
) {
    let mut term = String::new();
    for (name, values) in tags {
        for value in values {
            term.clear();
            write_term(&mut term, name, value);
            give(&term);
        }
    }
}

/// The query that exactly the chunks passing `filter` answer.
pub(crate) fn query(field: Field, filter: &Filter) -> Box<dyn Query> {
    if filter.conditions.is_empty() {
        return Box::new(AllQuery);
    }
    let mut parts: Vec<(Occur, Box<dyn Query>)> = vec![(Occur::Must, Box::new(AllQuery))];
    parts.extend(filter.conditions.iter().map(|condition| part(field, condition)));
    Box::new(ConstScoreQuery::new(Box::new(BooleanQuery::new(parts)), 0.0))
}

fn part(field: Field, condition: &Condition) -> (Occur, Box<dyn Query>) {
    let name = condition.tag.as_str();
    let exact = |value: &TagValue| Term::from_field_text(field, &term(name, value));
    match &condition.test {
        Test::AnyOf(values) => (Occur::Must, Box::new(TermSetQuery::new(values.iter().map(exact)))),
        Test::Not(value) => {
            let query = TermQuery::new(exact(value), IndexRecordOption::Basic);
            (Occur::MustNot, Box::new(query))
        }
        Test::Between { from, to } => {
            let kind = from.as_ref().or(to.as_ref()).map_or(TEXT, kind);
            let end = |value: &Option<TagValue>, open: String| match value {
                Some(value) => exact(value),
                None => Term::from_field_text(field, &open),
            };
            let lowest = format!("{name}{AFTER_NAME}{kind}");
            let highest = format!("{name}{AFTER_NAME}{kind}\u{10ffff}");
            let query = InvertedIndexRangeQuery::new(
                Bound::Included(end(from, lowest)),
                Bound::Included(end(to, highest)),
            );
            (Occur::Must, Box::new(query))
        }
    }
}

/// The names of all tags in a segment: one look for each name, not for each value.
pub(crate) fn names(
    reader: &SegmentReader,
    field: Field,
    found: &mut BTreeSet<String>,
) -> tantivy::Result<()> {
    let index = reader.inverted_index(field)?;
    let dictionary = index.terms();
    let mut after = String::new();
    loop {
        let mut terms = dictionary.range().ge(after.as_bytes()).into_stream()?;
        let Some((term, _)) = terms.next() else { return Ok(()) };
        let text = String::from_utf8_lossy(term);
        let Some((name, _)) = text.split_once(AFTER_NAME) else { return Ok(()) };
        found.insert(name.to_owned());
        after = format!("{name}\u{2}");
    }
}

fn term(name: &str, value: &TagValue) -> String {
    let mut term = String::new();
    write_term(&mut term, name, value);
    term
}

fn write_term(term: &mut String, name: &str, value: &TagValue) {
    term.push_str(clip(name, TAG_BYTES_MAX));
    term.push(AFTER_NAME);
    term.push(kind(value));
    match value {
        TagValue::Flag(flag) => term.push(if *flag { '1' } else { '0' }),
        TagValue::Number(number) => term.push_str(&format!("{:016x}", ordered(*number))),
        TagValue::Text(text) => {
            let letters = clip(text, TAG_BYTES_MAX).chars();
            term.extend(letters.map(|letter| if letter == UNIT_SEPARATOR { ' ' } else { letter }));
        }
    }
}

fn kind(value: &TagValue) -> char {
    match value {
        TagValue::Flag(_) => FLAG,
        TagValue::Number(_) => NUMBER,
        TagValue::Text(_) => TEXT,
    }
}

/// A number as bits whose order is the number's: the sign flips what follows it.
fn ordered(number: f64) -> u64 {
    // Zero has two signs and one meaning.
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_terms_is_the_order_of_numbers() {
        let numbers = [f64::MIN, -10.5, -1.0, -0.0, 0.5, 3.0, 20.0, 1e300];
        let terms: Vec<String> =
            numbers.iter().map(|number| term("x", &TagValue::Number(*number))).collect();
        assert!(terms.is_sorted() && terms.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(ordered(0.0), ordered(-0.0));
    }
}
