//! Layer 2: whole conversations without I/O.
//!
//! [`Identify`] is what a client says first, complete by construction. [`CommandExchange`] is one
//! or several command lists and their reply as a value: it says which bytes to send, eats the
//! bytes that arrive and ends with a [`Reply`]. [`Proof`] is what every command list ends with, so
//! that a reply is one round trip, is known to be whole and names the server that gave it.
//!
//! This layer knows nothing of sockets or time. A driver over any stream that reaches a tmux
//! server is a loop of ten lines; [`client`](crate::client) has one over a Unix socket.
//!
//! # Wire
//!
//! `protocol-notes/03-identify.md` and `protocol-notes/04-commands.md`

mod command;
mod identify;
mod proof;

pub use command::{CommandExchange, End, ExchangeError, Reply};
pub use identify::{Client, Identify, IdentifyError};
pub use proof::{Nonce, Proof, ServerStamp, TextEncoding};

use crate::imsg::Dialect;

/// The dialect of an exchange without descriptors: on little-endian machines its frames are the
/// same for every server.
pub(crate) const FDLESS: Dialect = Dialect::Modern;
