//! Groups the blocks of a section into units that should not be torn apart.

use std::ops::Range;

use crate::document::{Block, BlockKind, slice};
use crate::split::tokens;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) kind: UnitKind,
    pub(super) range: Range<usize>,
    pub(super) tokens: usize,
    /// Where blocks inside the unit begin: the best places to cut it.
    pub(super) starts: Vec<usize>,
    /// Whether the unit announces the one after it ("Follow these steps:").
    pub(super) leads_on: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitKind {
    Prose,
    /// The items of one list, with what stands inside them.
    List,
    Table {
        header_end: usize,
    },
    /// Cut at lines when too long.
    Code,
    Pair {
        answer_start: usize,
    },
    Record,
}

pub(super) fn group(text: &str, blocks: &[Block]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::with_capacity(blocks.len());
    let mut list_is_ordered = None;
    for block in blocks {
        let range = block.start..block.end;
        let joins_list = match (block.kind, list_is_ordered) {
            (BlockKind::ListItem { ordered, depth }, Some(list)) => depth > 1 || ordered == list,
            (BlockKind::Pair { .. } | BlockKind::Record | BlockKind::Heading { .. }, _) => false,
            (_, Some(_)) => is_indented(text, block.start),
            (_, None) => false,
        };
        if joins_list && let Some(list) = units.last_mut() {
            list.tokens += tokens(text, list.range.end..range.start) + tokens(text, range.clone());
            list.range.end = range.end;
            list.starts.push(range.start);
            continue;
        }
        let kind = kind_of(block);
        list_is_ordered = match block.kind {
            BlockKind::ListItem { ordered, .. } => Some(ordered),
            _ => None,
        };
        let tokens = tokens(text, range.clone());
        let leads_on = slice(text, range.clone()).ends_with([':', '：']);
        units.push(Unit { kind, range, tokens, starts: Vec::new(), leads_on });
    }
    units
}

fn kind_of(block: &Block) -> UnitKind {
    match block.kind {
        BlockKind::Heading { .. } | BlockKind::Paragraph | BlockKind::Quote => UnitKind::Prose,
        BlockKind::ListItem { .. } => UnitKind::List,
        BlockKind::Table { header_end } => UnitKind::Table { header_end },
        BlockKind::Code => UnitKind::Code,
        BlockKind::Pair { answer_start } => UnitKind::Pair { answer_start },
        BlockKind::Record => UnitKind::Record,
    }
}

/// Blocks inside a list's item stand indented below its marker.
fn is_indented(text: &str, start: usize) -> bool {
    let before = slice(text, 0..start).as_bytes();
    let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    blanks >= 2
}
