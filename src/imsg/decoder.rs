//! Cuts a byte stream into frames, however the stream arrives.

use bytes::BytesMut;

use super::{Dialect, Frame, FrameError, HEADER_LEN, Header};

/// Cuts a byte stream into frames.
///
/// Frames that lie whole in the input are borrowed from it. Only a frame that the input ends in
/// the middle of is copied, so at most one frame ([`MAX_FRAME`](super::MAX_FRAME) bytes) is ever
/// held, and its length is checked before anything is reserved for it.
///
/// ```
/// use muxwire::imsg::{Decoder, Dialect, encode};
///
/// let mut stream = bytes::BytesMut::new();
/// encode(Dialect::Modern, 203, false, &mut stream, |payload| payload.extend_from_slice(b"\0\0\0\0"))?;
///
/// let mut decoder = Decoder::new(Dialect::Modern);
/// let (mut first, mut rest) = stream.split_at(5);
/// assert_eq!(decoder.decode(&mut first)?, None); // not whole yet
/// let frame = decoder.decode(&mut rest)?.expect("whole now");
/// assert_eq!((frame.header.kind, frame.payload), (203, &[0u8; 4][..]));
/// # Ok::<(), muxwire::imsg::FrameError>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    dialect: Dialect,
    /// The frame that the input so far ends in the middle of; after it was handed out whole,
    /// `spent` is true until the next call.
    held: BytesMut,
    spent: bool,
}

impl Decoder {
    /// A decoder at the start of a stream.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, held: BytesMut::new(), spent: false }
    }

    /// Takes the next whole frame off the front of `input`.
    ///
    /// `None` means that `input` was used up and more is needed; nothing of it is lost.
    ///
    /// # Errors
    ///
    /// [`FrameError::Length`] for a length out of range. The stream is then unusable: there is no
    /// way to find the next frame.
    pub fn decode<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Frame<'a>>, FrameError> {
        if self.spent {
            self.held.clear();
            self.spent = false;
        }
        if self.held.is_empty() {
            let Some(header_bytes) = input.first_chunk::<HEADER_LEN>() else {
                self.hold(input, HEADER_LEN);
                return Ok(None);
            };
            let header = Header::decode(self.dialect, header_bytes)?;
            let length = HEADER_LEN + header.payload_len;
            if let Some((frame, rest)) = input.split_at_checked(length) {
                *input = rest;
                let payload = frame.get(HEADER_LEN..).unwrap_or_default();
                return Ok(Some(Frame { header, payload }));
            }
            self.hold(input, length);
            return Ok(None);
        }
        self.hold(input, HEADER_LEN);
        let Some(header_bytes) = self.held.first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let header = Header::decode(self.dialect, header_bytes)?;
        let length = HEADER_LEN + header.payload_len;
        self.hold(input, length);
        if self.held.len() < length {
            return Ok(None);
        }
        self.spent = true;
        let payload = self.held.get(HEADER_LEN..).unwrap_or_default();
        Ok(Some(Frame { header, payload }))
    }

    /// Whether the stream so far ends in the middle of a frame.
    #[must_use]
    pub fn is_mid_frame(&self) -> bool {
        !self.spent && !self.held.is_empty()
    }

    /// How many bytes are held of a frame that is not whole yet.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn held_len(&self) -> usize {
        self.held.len()
    }

    /// Moves bytes of `input` into `held` until that holds `length` bytes or `input` is used up.
    fn hold(&mut self, input: &mut &[u8], length: usize) {
        let missing = length.saturating_sub(self.held.len());
        let (taken, rest) = input.split_at(missing.min(input.len()));
        if !taken.is_empty() {
            self.held.reserve(missing);
            self.held.extend_from_slice(taken);
        }
        *input = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MAX_FRAME, MAX_PAYLOAD, encode};
    use super::*;

    fn stream(payloads: &[&[u8]]) -> BytesMut {
        let mut out = BytesMut::new();
        for (kind, payload) in (300..).zip(payloads) {
            encode(Dialect::Modern, kind, false, &mut out, |to| to.extend_from_slice(payload))
                .unwrap();
        }
        out
    }

    fn frames(pieces: &[&[u8]]) -> Vec<(u32, Vec<u8>)> {
        let mut decoder = Decoder::new(Dialect::Modern);
        let mut found = Vec::new();
        for mut piece in pieces.iter().copied() {
            while let Some(frame) = decoder.decode(&mut piece).unwrap() {
                found.push((frame.header.kind, frame.payload.to_vec()));
            }
            assert!(decoder.held.len() <= MAX_FRAME);
        }
        assert!(!decoder.is_mid_frame());
        found
    }

    #[test]
    fn every_split_of_a_stream_gives_the_same_frames() {
        let bytes = stream(&[b"", b"one", b"", b"a longer payload"]);
        let whole = frames(&[&bytes]);
        assert_eq!(whole.len(), 4);
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(frames(&pieces), whole, "cut at {first} and {second}");
            }
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(frames(&single), whole);
    }

    #[test]
    fn the_largest_frame_passes_in_one_piece_and_in_many() {
        let bytes = stream(&[&[7; MAX_PAYLOAD], b"next"]);
        let whole = frames(&[&bytes]);
        assert_eq!(whole[0].1.len(), MAX_PAYLOAD);
        for size in [1, 15, 16, 17, 4096, MAX_FRAME - 1] {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            assert_eq!(frames(&pieces), whole, "pieces of {size}");
        }
    }

    #[test]
    fn every_prefix_of_a_frame_waits_and_a_bad_length_is_refused_before_its_payload() {
        let bytes = stream(&[b"payload"]);
        for end in 0..bytes.len() {
            let mut decoder = Decoder::new(Dialect::Modern);
            assert_eq!(decoder.decode(&mut &bytes[..end]).unwrap(), None);
            assert_eq!(decoder.is_mid_frame(), end > 0);
        }
        for length in [0u32, 15, 16_385, 65_536] {
            let mut bad = bytes.clone();
            bad[4..8].copy_from_slice(&length.to_ne_bytes());
            let mut decoder = Decoder::new(Dialect::Modern);
            assert_eq!(decoder.decode(&mut &bad[..15]).unwrap(), None);
            let error = decoder.decode(&mut &bad[15..16]);
            assert_eq!(error, Err(FrameError::Length { length }));
        }
    }
}
