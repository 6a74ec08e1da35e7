//! Layer 1: frames given meaning.
//!
//! Every message that a tmux client can send or receive, typed in both directions
//! ([`ClientMessage`], [`ServerMessage`]), the message types themselves ([`MessageType`], unknown
//! ones kept), the bits that a client may say of itself ([`ClientFlags`]) and command lists packed
//! as the server reads them ([`CommandList`]).
//!
//! This layer knows nothing of sockets or time, and a value of it is not a promise that sending
//! it is safe: what may be sent when is the business of [`exchange`](crate::exchange).
//!
//! # Wire
//!
//! `protocol-notes/02-messages.md`

mod client_message;
mod command;
mod flags;
mod kind;
mod reader;
mod server_message;

pub use client_message::ClientMessage;
pub use command::{Command, CommandError, CommandList, MAX_ARGUMENTS, MAX_PACKED};
pub use flags::ClientFlags;
pub use kind::MessageType;
pub use reader::{MessageError, Reader};
pub use server_message::ServerMessage;

/// Most data bytes that one `READ` or `WRITE` message carries: a frame's payload less the stream.
pub const MAX_STREAM_DATA: usize = crate::imsg::MAX_PAYLOAD - 4;

/// The stream that a command's output arrives on.
pub const STDOUT: i32 = 1;
/// The stream that a command's errors arrive on.
pub const STDERR: i32 = 2;
