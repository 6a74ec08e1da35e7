//! Layer 4: the handle that users hold.
//!
//! [`Tmux`] runs command lists on one server, each in one connection and as a rule one round
//! trip. [`Error`] says what went wrong, how far the call had come ([`Delivery`]) and what a
//! caller can do about it ([`ErrorKind`]). [`Tmux::start_server`] is the only thing in this crate
//! that runs the tmux binary, and only where no server is.

mod builder;
mod drive;
mod error;
mod nonce;
mod output;
mod request;
mod start;
mod starting;
mod tmux;

pub use builder::TmuxBuilder;
pub use drive::Stdin;
pub use error::{Delivery, Error, ErrorKind};
pub(crate) use nonce::fresh_bits;
pub use output::{Output, Server, ServerIdentity};
pub use request::Request;
pub use start::{StartOptions, Started};
pub use tmux::Tmux;
