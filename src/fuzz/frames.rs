//! Cutting a stream into frames.

use super::{Input, cut};
use crate::imsg::{Decoder, Dialect, FrameError, HEADER_LEN, Header, MAX_FRAME};

/// What a stream was read as.
#[derive(Debug, PartialEq)]
struct Outcome {
    frames: Vec<(Header, Vec<u8>)>,
    error: Option<FrameError>,
    mid_frame: bool,
}

fn read(dialect: Dialect, pieces: &[&[u8]]) -> Outcome {
    let mut decoder = Decoder::new(dialect);
    let mut outcome = Outcome { frames: Vec::new(), error: None, mid_frame: false };
    for mut piece in pieces.iter().copied() {
        loop {
            match decoder.decode(&mut piece) {
                Ok(Some(frame)) => outcome.frames.push((frame.header, frame.payload.to_vec())),
                Ok(None) => break,
                Err(error) => {
                    outcome.error = Some(error);
                    return outcome;
                }
            }
        }
        assert!(piece.is_empty(), "input is left over");
        assert!(decoder.held_len() <= MAX_FRAME, "{} bytes are held", decoder.held_len());
    }
    outcome.mid_frame = decoder.is_mid_frame();
    outcome
}

/// Input: lengths of pieces, then a stream, read in both dialects.
///
/// A stream gives the same frames in one piece and in many; no more than one frame is ever held;
/// the frames written again are the stream up to where it stops being frames.
pub fn frame_decode(data: &[u8]) {
    let mut input = Input(data);
    let lengths = input.cuts();
    let stream = input.rest();
    for dialect in [Dialect::Legacy, Dialect::Modern] {
        let outcome = read(dialect, &[stream]);
        assert_eq!(read(dialect, &cut(stream, &lengths)), outcome);

        let mut expected = Input(stream);
        for (header, payload) in &outcome.frames {
            let mut bytes = expected.bytes(HEADER_LEN).to_vec();
            if dialect == Dialect::Legacy {
                // Of the flags only the mark for a descriptor means something.
                let flags = u16::from_ne_bytes([bytes[6], bytes[7]]) & 1;
                bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
            }
            assert_eq!(header.encode(dialect).map(Vec::from), Ok(bytes));
            assert_eq!(header.payload_len, payload.len());
            assert_eq!(expected.bytes(payload.len()), payload);
        }
        let rest = expected.rest();
        match outcome.error {
            Some(FrameError::Length { length }) => {
                assert!(rest.len() >= HEADER_LEN);
                assert!(!(16..=16_384).contains(&length), "a length of {length} is refused");
            }
            Some(error) => panic!("reading fails with {error}"),
            None => assert_eq!(outcome.mid_frame, !rest.is_empty()),
        }
    }
}
