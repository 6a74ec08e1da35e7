//! Reading messages.

use bytes::{BufMut, BytesMut};

use super::Input;
use crate::imsg::{Decoder, Dialect, Frame, HEADER_LEN, Header, MAX_PAYLOAD};
use crate::protocol::{ClientMessage, MessageType, ServerMessage};

/// Hands the one frame in `bytes` to `check`.
fn with_frame(bytes: &[u8], check: impl FnOnce(&Frame<'_>)) {
    let mut rest = bytes;
    let mut decoder = Decoder::new(Dialect::Modern);
    let Ok(Some(frame)) = decoder.decode(&mut rest) else { panic!("not a frame: {bytes:?}") };
    check(&frame);
    assert!(rest.is_empty(), "more than a frame");
}

/// Input: a byte that chooses a type (or the four bytes of one after it), then a payload.
///
/// Whatever is a message, read as a server's or as a client's, is the same message when it was
/// written and read again, and its payload is the same bytes but for what nobody reads.
pub fn message_decode(data: &[u8]) {
    let mut input = Input(data);
    let kind = match MessageType::ALL.get(usize::from(input.byte())) {
        Some(kind) => *kind,
        None => MessageType([(); 4].iter().fold(0, |kind, ()| kind << 8 | u32::from(input.byte()))),
    };
    let payload = input.bytes(MAX_PAYLOAD);
    let frame = Frame { header: Header::new(kind.0, payload.len()), payload };

    if let Ok(message) = ServerMessage::decode(&frame) {
        assert_eq!(message.kind(), kind);
        let mut bytes = BytesMut::new();
        assert_eq!(message.encode(Dialect::Modern, &mut bytes), Ok(()));
        with_frame(&bytes, |frame| assert_eq!(ServerMessage::decode(frame), Ok(message)));
        if message != ServerMessage::Shutdown {
            assert_eq!(&bytes[HEADER_LEN..], payload);
        }
    }
    if let Ok(message) = ClientMessage::decode(&frame) {
        assert_eq!(message.kind(), kind);
        for dialect in [Dialect::Legacy, Dialect::Modern] {
            let mut bytes = BytesMut::new();
            bytes.put_slice(b"before");
            assert_eq!(message.encode(dialect, &mut bytes), Ok(()));
            assert_eq!(&bytes[..6], b"before");
            assert_eq!(&bytes[6 + HEADER_LEN..], payload);
        }
        let mut bytes = BytesMut::new();
        assert_eq!(message.encode(Dialect::Modern, &mut bytes), Ok(()));
        with_frame(&bytes, |frame| assert_eq!(ClientMessage::decode(frame), Ok(message)));
    }
}
