//! Saem among agents: what it does for others that speak A2A.

pub mod serving;
