//! Layer 3: finding the server's socket, connecting, moving bytes.
//!
//! The only place with system calls on sockets. It knows the rules by which tmux places its
//! socket, and nothing of what the bytes mean.
//!
//! # Wire
//!
//! `protocol-notes/05-socket.md`

mod caller;
mod connection;
mod endpoint;

pub(crate) use caller::Caller;
pub(crate) use connection::Connection;
pub use connection::{ConnectError, SocketFile};
pub use endpoint::{Endpoint, EndpointError, MAX_PATH, Provenance, SocketChoice};
