//! The 16-byte frame header in both dialects.

use byteorder::{ByteOrder, NativeEndian};
use bytes::{BufMut, BytesMut};

/// Length of a frame header in bytes.
pub const HEADER_LEN: usize = 16;
/// Greatest length of a frame in bytes, header included.
pub const MAX_FRAME: usize = 16_384;
/// Greatest length of a payload in bytes.
pub const MAX_PAYLOAD: usize = MAX_FRAME - HEADER_LEN;
/// What tmux puts into the header's peer id: its protocol version.
pub const PEER_ID: u32 = 8;

/// What both sides put into the header's process id: nobody reads it.
const NO_PID: u32 = u32::MAX;
/// The mark for an attached descriptor in [`Dialect::Legacy`]: bit 0 of the 16-bit flags.
const LEGACY_FD: u16 = 1;
/// The mark for an attached descriptor in [`Dialect::Modern`]: bit 31 of the 32-bit length.
const MODERN_FD: u32 = 1 << 31;

/// Where a header keeps its length and the mark for an attached descriptor.
///
/// On little-endian machines both dialects give the same bytes for a frame without a descriptor.
///
/// # Wire
///
/// `protocol-notes/01-frames.md`, note 1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// tmux up to 3.5a: a 16-bit length, then 16 bits of flags.
    Legacy,
    /// tmux 3.6 and later: a 32-bit length whose highest bit marks a descriptor.
    Modern,
}

/// Why bytes are not a frame, or cannot become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// The header's length is under [`HEADER_LEN`] or over [`MAX_FRAME`].
    Length {
        /// The length the header gives, in bytes.
        length: u32,
    },
    /// The payload is longer than [`MAX_PAYLOAD`].
    PayloadTooLong {
        /// The payload's length in bytes.
        length: usize,
    },
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Length { length } => {
                write!(f, "frame length {length} is outside {HEADER_LEN} to {MAX_FRAME} bytes")
            }
            Self::PayloadTooLong { length } => write!(
                f,
                "payload of {length} bytes does not fit into a frame ({MAX_PAYLOAD} bytes)"
            ),
        }
    }
}

impl std::error::Error for FrameError {}

/// A decoded frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The message type.
    pub kind: u32,
    /// Length of the payload in bytes, at most [`MAX_PAYLOAD`].
    pub payload_len: usize,
    /// A file descriptor belongs to this frame.
    pub has_fd: bool,
    /// The sender's peer id; its low 8 bits are the protocol version.
    pub peer_id: u32,
    /// The sender's process id; tmux sends all ones and reads nothing.
    pub pid: u32,
}

impl Header {
    /// The header of a message of `kind` with `payload_len` bytes, as tmux itself would write it.
    #[must_use]
    pub fn new(kind: u32, payload_len: usize) -> Self {
        Self { kind, payload_len, has_fd: false, peer_id: PEER_ID, pid: NO_PID }
    }

    /// Reads a header.
    ///
    /// # Errors
    ///
    /// [`FrameError::Length`] when the length is out of range.
    pub fn decode(dialect: Dialect, bytes: &[u8; HEADER_LEN]) -> Result<Self, FrameError> {
        let (kind, rest) = bytes.split_at(4);
        let (length_field, rest) = rest.split_at(4);
        let (peer_id, pid) = rest.split_at(4);
        let (length, has_fd) = match dialect {
            Dialect::Legacy => {
                let (length, flags) = length_field.split_at(2);
                let flags = NativeEndian::read_u16(flags);
                (u32::from(NativeEndian::read_u16(length)), flags & LEGACY_FD != 0)
            }
            Dialect::Modern => {
                let field = NativeEndian::read_u32(length_field);
                (field & !MODERN_FD, field & MODERN_FD != 0)
            }
        };
        let payload_len = usize::try_from(length)
            .ok()
            .filter(|&length| length <= MAX_FRAME)
            .and_then(|length| length.checked_sub(HEADER_LEN))
            .ok_or(FrameError::Length { length })?;
        Ok(Self {
            kind: NativeEndian::read_u32(kind),
            payload_len,
            has_fd,
            peer_id: NativeEndian::read_u32(peer_id),
            pid: NativeEndian::read_u32(pid),
        })
    }

    /// Writes the header's 16 bytes.
    ///
    /// # Errors
    ///
    /// [`FrameError::PayloadTooLong`] when `payload_len` is over [`MAX_PAYLOAD`].
    pub fn encode(&self, dialect: Dialect) -> Result<[u8; HEADER_LEN], FrameError> {
        let too_long = FrameError::PayloadTooLong { length: self.payload_len };
        if self.payload_len > MAX_PAYLOAD {
            return Err(too_long);
        }
        let length = u16::try_from(HEADER_LEN + self.payload_len).map_err(|_| too_long)?;
        let mut bytes = [0; HEADER_LEN];
        let (kind, rest) = bytes.split_at_mut(4);
        let (length_field, rest) = rest.split_at_mut(4);
        let (peer_id, pid) = rest.split_at_mut(4);
        NativeEndian::write_u32(kind, self.kind);
        match dialect {
            Dialect::Legacy => {
                let (low, flags) = length_field.split_at_mut(2);
                NativeEndian::write_u16(low, length);
                NativeEndian::write_u16(flags, if self.has_fd { LEGACY_FD } else { 0 });
            }
            Dialect::Modern => {
                let mark = if self.has_fd { MODERN_FD } else { 0 };
                NativeEndian::write_u32(length_field, u32::from(length) | mark);
            }
        }
        NativeEndian::write_u32(peer_id, self.peer_id);
        NativeEndian::write_u32(pid, self.pid);
        Ok(bytes)
    }
}

/// Appends one frame of `kind` to `out`; `write` appends the payload.
///
/// The length in the header is what `write` appended, so a frame's size is right by construction.
///
/// # Errors
///
/// [`FrameError::PayloadTooLong`]; `out` is then as it was before.
pub fn encode(
    dialect: Dialect,
    kind: u32,
    has_fd: bool,
    out: &mut BytesMut,
    write: impl FnOnce(&mut BytesMut),
) -> Result<(), FrameError> {
    let start = out.len();
    out.put_bytes(0, HEADER_LEN);
    write(out);
    let payload_len = out.len().saturating_sub(start + HEADER_LEN);
    match (Header { has_fd, ..Header::new(kind, payload_len) }).encode(dialect) {
        Ok(header) => {
            if let Some(place) = out.get_mut(start..start + HEADER_LEN) {
                place.copy_from_slice(&header);
            }
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Dialect; 2] = [Dialect::Legacy, Dialect::Modern];

    #[test]
    fn a_header_without_a_descriptor_is_the_same_in_both_dialects_on_little_endian() {
        let header = Header::new(200, 42);
        let [legacy, modern] = BOTH.map(|dialect| header.encode(dialect).unwrap());
        if cfg!(target_endian = "little") {
            assert_eq!(legacy, modern);
            assert_eq!(legacy, *b"\xc8\0\0\0\x3a\0\0\0\x08\0\0\0\xff\xff\xff\xff");
        }
    }

    #[test]
    fn the_descriptor_mark_sits_where_each_dialect_keeps_it() {
        let header = Header { has_fd: true, ..Header::new(104, 0) };
        let legacy = header.encode(Dialect::Legacy).unwrap();
        let modern = header.encode(Dialect::Modern).unwrap();
        if cfg!(target_endian = "little") {
            assert_eq!(legacy[4..8], [16, 0, 1, 0]);
            assert_eq!(modern[4..8], [16, 0, 0, 0x80]);
        }
        for (dialect, bytes) in [(Dialect::Legacy, legacy), (Dialect::Modern, modern)] {
            assert_eq!(Header::decode(dialect, &bytes).unwrap(), header);
        }
    }

    #[test]
    fn every_payload_length_round_trips_and_every_other_length_is_refused() {
        for dialect in BOTH {
            for payload_len in 0..=MAX_PAYLOAD {
                let header = Header::new(1, payload_len);
                let bytes = header.encode(dialect).unwrap();
                assert_eq!(Header::decode(dialect, &bytes).unwrap(), header);
            }
            for payload_len in [MAX_PAYLOAD + 1, 65_535, 65_536, usize::MAX] {
                let error = FrameError::PayloadTooLong { length: payload_len };
                assert_eq!(Header::new(1, payload_len).encode(dialect), Err(error));
            }
        }
        let mut bytes = Header::new(1, 0).encode(Dialect::Modern).unwrap();
        for length in (0..16).chain(16_385..=65_535).chain([65_536 + 16, 0x7fff_ffff]) {
            NativeEndian::write_u32(&mut bytes[4..8], length);
            let found = Header::decode(Dialect::Modern, &bytes);
            assert_eq!(found, Err(FrameError::Length { length }));
        }
    }

    #[test]
    fn a_payload_that_does_not_fit_leaves_the_output_as_it_was() {
        let mut out = BytesMut::from(&b"before"[..]);
        let error = encode(Dialect::Modern, 1, false, &mut out, |payload| {
            payload.put_bytes(7, MAX_PAYLOAD + 1);
        });
        assert_eq!(error, Err(FrameError::PayloadTooLong { length: MAX_PAYLOAD + 1 }));
        assert_eq!(out, b"before"[..]);
    }
}
