//! muxwire talks to a tmux server over its own socket, in tmux's own protocol, without running the
//! tmux binary: a library for programs that talk to tmux in a tight loop, and the core of the
//! `muxwire` command line and MCP server. Reading a pane is one socket round trip, about 0.1 ms,
//! where spawning `tmux` costs 2 to 5 ms.
//!
//! ```no_run
//! # async fn example() -> Result<(), muxwire::Error> {
//! let tmux = muxwire::Tmux::builder().build()?; // the server of $TMUX, else the default one
//! let snapshot = tmux.snapshot().await?; // sessions, windows, panes, clients, of one instant
//! for pane in &snapshot.panes {
//!     let screen = tmux.capture(pane.id, &Default::default()).await?;
//!     println!("{} runs {}: {:?}", pane.id, pane.current_command, screen.lines.last());
//! }
//! let output = tmux.run(["rename-window", "-t", "@1", "build"]).await?; // any command
//! assert_eq!(output.status, 0, "{}", output.complaint());
//! # Ok(())
//! # }
//! ```
//!
//! # The way of the data
//!
//! Bytes from the socket rise through these layers; a command goes down the same way. A module
//! imports only from layers below its own.
//!
//! | layer | module | what it is | knows nothing of |
//! |---|---|---|---|
//! | 0 | [`imsg`] | a byte stream cut into frames and back | tmux |
//! | 1 | [`protocol`] | frames given meaning: messages, packed command lists | sockets, time |
//! | 2 | [`exchange`] | whole conversations without I/O: identify, command lists and their reply | sockets, time |
//! | 3 | [`transport`] | finding the socket, connecting, moving bytes | commands' meaning |
//! | 4 | [`client`] | [`Tmux`], the handle that users hold | MCP |
//! | 5 | [`model`] | ids, rows, sessions, windows, panes, [`Snapshot`](model::Snapshot) | MCP |
//! | 6 | [`query`] | criteria over a [`Snapshot`](model::Snapshot), from JSON or built in Rust | tmux, MCP |
//! | 6 | [`capture`] | what panes show, what was written since, what is found in them | MCP |
//! | 8 | `mcp` | the MCP server (feature `mcp`) | argv, wire |
//! | 9 | `cli` | the command line (feature `cli`) | |
//!
//! ```text
//!   cli ── mcp
//!     │     │      snapshot()     capture()        run(), run_all()
//!     └──┬──┘          │              │                  │
//!        ▼             ▼              ▼                  ▼
//!      client ◄───── model ◄────── capture            client
//!        │ command list + proof            ▲ Output
//!        ▼                                 │
//!     exchange   identify ─ COMMAND ─►  WRITE ─ EXIT  (values, no I/O)
//!        │ bytes                           ▲ frames
//!        ▼                                 │
//!     transport  one write ───────────► reads         (one connection)
//! ```
//!
//! # Promises
//!
//! * **The user's server is never hurt.** What is sent is what tmux's own client could send;
//!   identify cannot be built incomplete, and every frame's size is right by construction.
//! * **No answer is made up.** Every command list ends with a [proof](exchange::Proof), so that a
//!   reply is known to be whole and the server that gave it is known; every [`Error`] says how far
//!   the call had come ([`Delivery`]).
//! * **Bounded.** Every call has a deadline (5 s unless told), every reply a cap (64 MiB unless
//!   told). A future that is dropped closes its connection, at once or, where a command may have
//!   started something, when the server is done with it.
//!
//! # Limits
//!
//! tmux 3.1 and later, on Linux. On big-endian machines only tmux 3.6 and later: earlier releases
//! lay out the frame header differently there. Commands that read or write files by name are
//! refused by this client (tmux's own opens them); standard input and output take their place.

#[cfg(all(test, feature = "mcp"))]
extern crate self as muxwire; // what tests/support calls it

pub mod capture;
#[cfg(feature = "cli")]
pub mod cli;
pub mod client;
pub mod exchange;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
#[allow(
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a body of a fuzz target fails by panicking"
)]
pub mod fuzz;
pub mod imsg;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod model;
pub mod protocol;
pub mod query;
pub mod transport;

pub use client::{
    Delivery, Error, ErrorKind, Output, Request, Server, ServerIdentity, StartOptions, Started,
    Stdin, Tmux, TmuxBuilder,
};
pub use protocol::{Command, CommandList};
