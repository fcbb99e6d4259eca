//! Plays runs from scripts and checks every way that they can go.

mod flows;
mod permitting;
mod properties;
mod standing;
mod steering;
mod world;
