//! The way out: the one guard through which a stranger's address is reached.

pub mod addresses;
pub mod guard;
pub mod pages;
pub mod posts;

#[cfg(test)]
mod loopback;
