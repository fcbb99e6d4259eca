//! Cuts a unit that is too long: at blocks, else lines, sentences, words, characters.

use std::ops::Range;

use agent::sentences::sentences;

use crate::document::{slice, trimmed};
use crate::split::pack::{Prefix, Span};
use crate::split::units::{Unit, UnitKind};
use crate::split::{SplitLimits, tokens};

/// Characters that surely fit a bound: the dearest takes four tokens.
const TOKENS_PER_CHARACTER_MAX: usize = 4;

/// A table's header or a question may take this part of a chunk; a longer one is not repeated.
const PREFIX_SHARE: usize = 2;

pub(super) fn parts(text: &str, unit: &Unit, limits: &SplitLimits) -> Vec<Span> {
    let range = unit.range.clone();
    match unit.kind {
        UnitKind::Prose => fill(atoms(text, range, Grain::Sentence, limits), None, limits, text),
        UnitKind::Code => fill(atoms(text, range, Grain::Line, limits), None, limits, text),
        UnitKind::List => fill(list_atoms(text, unit, limits), None, limits, text),
        UnitKind::Table { header_end } => {
            let header = range.start..header_end;
            with_prefix(text, range, header_end, header, ("", Grain::Line), limits)
        }
        UnitKind::Pair { answer_start } => {
            let question = trimmed(text, range.start..answer_start);
            with_prefix(text, range, answer_start, question, ("\n\n", Grain::Sentence), limits)
        }
        UnitKind::Record => {
            let first_line = slice(text, range.clone()).find('\n').unwrap_or(range.len());
            let body_start = (range.start + first_line + 1).min(range.end);
            let name = range.start..range.start + first_line;
            with_prefix(text, range, body_start, name, ("\n", Grain::Line), limits)
        }
    }
}

/// Cuts what stands after `body_start`, and repeats the prefix before every part but the first.
fn with_prefix(
    text: &str,
    range: Range<usize>,
    body_start: usize,
    prefix: Range<usize>,
    (join, grain): (&'static str, Grain),
    limits: &SplitLimits,
) -> Vec<Span> {
    let prefix_tokens = tokens(text, prefix.clone()) + tokens(join, 0..join.len());
    let lead_tokens = tokens(text, range.start..body_start);
    let room = limits.tokens_max.saturating_sub(prefix_tokens.max(lead_tokens));
    if prefix.is_empty() || room < limits.tokens_max / PREFIX_SHARE || body_start >= range.end {
        return fill(atoms(text, range, grain, limits), None, limits, text);
    }
    let inner =
        SplitLimits { tokens_max: room, tokens_target: limits.tokens_target.min(room), ..*limits };
    let body = atoms(text, body_start..range.end, grain, &inner);
    let prefix = Prefix { range: prefix, join, tokens: prefix_tokens };
    let mut spans = fill(body, Some(&prefix), limits, text);
    if let Some(first) = spans.first_mut() {
        first.range.start = range.start;
        first.tokens = first.tokens - prefix_tokens + lead_tokens;
        first.prefix = None;
    }
    spans
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grain {
    Line,
    Sentence,
    Word,
    Character,
}

/// A range that is not cut, and what it costs.
type Atom = (Range<usize>, usize);

/// Items of a list that fit stay whole, each with what stands inside it.
fn list_atoms(text: &str, unit: &Unit, limits: &SplitLimits) -> Vec<Atom> {
    let mut bounds = vec![unit.range.start];
    bounds.extend(&unit.starts);
    bounds.push(unit.range.end);
    let mut found = Vec::new();
    for (start, end) in bounds.iter().zip(bounds.iter().skip(1)) {
        push_atom(text, *start..*end, Grain::Line, limits, &mut found);
    }
    found
}

/// Neighbouring ranges that together are `range`, none dearer than the bound.
fn atoms(text: &str, range: Range<usize>, grain: Grain, limits: &SplitLimits) -> Vec<Atom> {
    let mut found = Vec::new();
    push_atoms(text, range, grain, limits, &mut found);
    found
}

fn push_atoms(
    text: &str,
    range: Range<usize>,
    grain: Grain,
    limits: &SplitLimits,
    found: &mut Vec<Atom>,
) {
    let finer = match grain {
        Grain::Line => Grain::Sentence,
        Grain::Sentence => Grain::Word,
        Grain::Word | Grain::Character => Grain::Character,
    };
    let inner = slice(text, range.clone());
    let mut at = range.start;
    let mut push = |length: usize| {
        push_atom(text, at..at + length, finer, limits, found);
        at += length;
    };
    match grain {
        Grain::Line => inner.split_inclusive('\n').for_each(|line| push(line.len())),
        Grain::Sentence => sentences(inner).for_each(|sentence| push(sentence.len())),
        Grain::Word => words(inner).for_each(push),
        Grain::Character => push_characters(text, range, limits, found),
    }
}

fn push_atom(
    text: &str,
    range: Range<usize>,
    finer: Grain,
    limits: &SplitLimits,
    found: &mut Vec<Atom>,
) {
    let cost = tokens(text, range.clone());
    if cost <= limits.tokens_max {
        found.push((range, cost));
    } else {
        push_atoms(text, range, finer, limits, found);
    }
}

/// Lengths of the words of a text, each with the blanks after it.
fn words(text: &str) -> impl Iterator<Item = usize> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let tail = rest.get(word..).unwrap_or_default();
        let length = word + (tail.len() - tail.trim_start().len());
        rest = rest.get(length..).unwrap_or_default();
        (length > 0).then_some(length)
    })
}

fn push_characters(text: &str, range: Range<usize>, limits: &SplitLimits, found: &mut Vec<Atom>) {
    let step = (limits.tokens_max / TOKENS_PER_CHARACTER_MAX).max(1);
    let mut start = range.start;
    let bounds = slice(text, range.clone()).char_indices().map(|(at, _)| range.start + at);
    for end in bounds.skip(step).step_by(step).chain([range.end]) {
        found.push((start..end, tokens(text, start..end)));
        start = end;
    }
}

/// Joins neighbouring atoms into spans that fit, the last one not too small.
fn fill(atoms: Vec<Atom>, prefix: Option<&Prefix>, limits: &SplitLimits, text: &str) -> Vec<Span> {
    let prefix_tokens = prefix.map_or(0, |prefix| prefix.tokens);
    let mut filled: Vec<Atom> = Vec::new();
    let mut blank_cost = 0;
    for (range, cost) in atoms {
        if slice(text, range.clone()).trim_start().is_empty() {
            blank_cost += cost;
            continue;
        }
        match filled.last_mut() {
            Some((last, sum))
                if prefix_tokens + *sum + blank_cost + cost <= limits.tokens_target =>
            {
                last.end = range.end;
                *sum += blank_cost + cost;
            }
            _ => filled.push((range, cost)),
        }
        blank_cost = 0;
    }
    merge_small_end(&mut filled, prefix_tokens, limits, text);
    let span = |(range, cost): Atom| {
        // Blanks at the beginning indent a line of code, and are part of what was counted.
        let end = range.start + slice(text, range.clone()).trim_end().len();
        Span { range: range.start..end, prefix: prefix.cloned(), tokens: prefix_tokens + cost }
    };
    filled.into_iter().map(span).collect()
}

fn merge_small_end(filled: &mut Vec<Atom>, prefix_tokens: usize, limits: &SplitLimits, text: &str) {
    let [.., (before, before_cost), (last, last_cost)] = filled.as_mut_slice() else { return };
    let joined = *before_cost + tokens(text, before.end..last.start) + *last_cost;
    if *last_cost < limits.tokens_small && prefix_tokens + joined <= limits.tokens_max {
        before.end = last.end;
        *before_cost = joined;
        filled.pop();
    }
}
