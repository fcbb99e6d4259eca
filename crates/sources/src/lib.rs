//! The way out: the one guard through which a stranger's address is reached, and the providers that are searched through it.

pub mod addresses;
pub mod cache;
pub mod catalogues;
pub mod guard;
pub mod pages;
pub mod posts;
pub mod robots;
pub mod search;

#[cfg(test)]
mod loopback;
