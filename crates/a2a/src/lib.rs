//! The A2A protocol as plain data: no clock, no network, no runtime.
