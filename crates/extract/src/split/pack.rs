//! Fills chunks with units, up to the bounds.

use std::ops::Range;

use crate::split::units::{Unit, UnitKind};
use crate::split::{SplitLimits, cut, tokens};

/// What becomes a chunk: a range, and text from before it that it cannot do without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    pub(super) prefix: Option<Prefix>,
    /// A bound of what the chunk costs, the prefix included.
    pub(super) tokens: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) range: Range<usize>,
    pub(super) join: &'static str,
    pub(super) tokens: usize,
}

pub(super) fn pack(text: &str, units: &[Unit], limits: &SplitLimits) -> Vec<Span> {
    let mut packing = Packing { text, limits, spans: Vec::new(), open: false, leads_on: false };
    for unit in units {
        let stands_alone = match unit.kind {
            UnitKind::Pair { .. } | UnitKind::Record => true,
            UnitKind::Prose | UnitKind::List | UnitKind::Table { .. } | UnitKind::Code => false,
        };
        packing.open &= !stands_alone;
        if unit.tokens <= limits.tokens_max {
            packing.add(Span { range: unit.range.clone(), prefix: None, tokens: unit.tokens });
        } else {
            let parts = cut::parts(text, unit, limits);
            packing.spans.extend(parts);
        }
        packing.open = !stands_alone;
        packing.leads_on = unit.leads_on;
    }
    packing.spans
}

struct Packing<'a> {
    text: &'a str,
    limits: &'a SplitLimits,
    spans: Vec<Span>,
    /// Whether the last span takes more.
    open: bool,
    leads_on: bool,
}

impl Packing<'_> {
    fn add(&mut self, span: Span) {
        let limits = self.limits;
        if let Some(last) = self.spans.last_mut().filter(|_| self.open) {
            let gap = tokens(self.text, last.range.end..span.range.start);
            let joined = last.tokens + gap + span.tokens;
            let belong_together = self.leads_on
                || last.tokens < limits.tokens_small
                || span.tokens < limits.tokens_small;
            let bound = if belong_together { limits.tokens_max } else { limits.tokens_target };
            if joined <= bound {
                last.range.end = span.range.end;
                last.tokens = joined;
                return;
            }
        }
        self.spans.push(span);
    }
}
