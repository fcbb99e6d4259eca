//! The way out: the one guard through which a stranger's address is reached.

pub mod addresses;
pub mod catalogues;
pub mod guard;
pub mod pages;

#[cfg(test)]
mod loopback;
