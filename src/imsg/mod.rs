//! Layer 0: a byte stream cut into frames and back.
//!
//! imsg is OpenBSD's inter-process message format. A frame is a 16-byte [`Header`] in the
//! machine's own byte order and a payload of at most [`MAX_PAYLOAD`] bytes; frames stand back to
//! back without padding. The header has two [`Dialect`]s, which differ only in where the mark for
//! an attached file descriptor sits.
//!
//! This layer knows nothing of tmux, sockets or time.
//!
//! # Wire
//!
//! `protocol-notes/01-frames.md`

mod decoder;
mod header;

pub use decoder::Decoder;
pub use header::{
    Dialect, FrameError, HEADER_LEN, Header, MAX_FRAME, MAX_PAYLOAD, PEER_ID, encode,
};

/// One whole frame: its header and its payload, borrowed from the bytes it arrived in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The decoded header.
    pub header: Header,
    /// The bytes after the header, at most [`MAX_PAYLOAD`].
    pub payload: &'a [u8],
}
