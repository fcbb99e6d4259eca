//! What Saem decides, apart from doing it: retrieval, limits, the words of the product and the ports it speaks through.

pub mod analysis;
pub mod citation;
pub mod context;
pub mod enclosure;
pub mod filter;
pub mod fusion;
pub mod identity;
pub mod knowledge;
pub mod language;
pub mod ledger;
pub mod memory;
pub mod menu;
pub mod model;
pub mod names;
pub mod offline;
pub mod path_rule;
pub mod ports;
pub mod price;
pub mod recent;
pub mod reply;
pub mod research;
pub mod retrieval;
#[cfg(test)]
mod samples;
pub mod sentences;
pub mod shortlist;
pub mod text;
pub mod tools;
pub mod turn;
mod values;
pub mod visits;
