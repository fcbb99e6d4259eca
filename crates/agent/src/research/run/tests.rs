//! Plays runs from scripts and checks every way that they can go.

mod flows;
mod permitting;
mod properties;
mod steering;
mod world;
