//! Deep research: four agents that plan, search, judge and write, and the messages that they do it with.

pub mod call;
pub mod callee;
pub mod citation;
pub mod journal;
pub mod message;
mod offline;
pub mod order;
pub mod recalled;
pub mod report;
pub mod run;
pub mod source;
pub mod thought;
