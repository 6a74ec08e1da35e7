//! `muxwire mcp` as a client sees it: the built program over real pipes, against real servers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod changes;
mod client;
mod ending;
mod failing;
mod hard;
mod large;
mod pages;
mod private;
mod querying;
mod reading;
mod references;
mod resources;
mod starting;
#[path = "../support/mod.rs"]
mod support;
