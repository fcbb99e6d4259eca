//! The A2A client: other agents found by their cards, spoken to in the version and binding that they offer.
//!
//! A card is a claim of whoever serves it. What the owner has written down may be anywhere and gets the owner's
//! credentials; what a card or a catalogue names elsewhere is a stranger's address, and gets none.

mod calls;
mod cards;
mod directory;
pub(crate) mod error;
mod events;
mod grpc;
mod outside;
mod peer;
mod registry;
mod settings;
mod signatures;
pub(crate) mod skills;
#[cfg(test)]
mod tests;

pub use self::cards::{Card, Signature};
pub use self::directory::{Condition, PeerParts, Peers};
pub use self::error::PeerError;
pub use self::outside::{Body, Opened, Outside, OutsideError, Reach, Trailers};
pub use self::peer::{Agent, Order};
pub use self::registry::Found;
pub use self::settings::{AgentSettings, PeerRules, Source};
