//! What a client says to a server.

use bytes::{BufMut, BytesMut};

use super::server_message::put_text;
use super::{ClientFlags, CommandList, MessageError, MessageType, Reader};
use crate::imsg::{Dialect, Frame, FrameError, encode};

/// A message from a client.
///
/// Texts are without their NUL; one that holds a NUL would be two, so
/// [`exchange`](crate::exchange) refuses it before a message is made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientMessage<'a> {
    /// The protocol versions differ.
    Version,
    /// Flags, low 32 bits: all that 3.1 reads.
    IdentifyFlags(u32),
    /// Flags, 64 bits (3.2 and later).
    IdentifyLongFlags(u64),
    /// Terminal type.
    IdentifyTerm(&'a [u8]),
    /// Path of the client's terminal, empty for none.
    IdentifyTtyName(&'a [u8]),
    /// Working directory.
    IdentifyCwd(&'a [u8]),
    /// Process id.
    IdentifyClientPid(i32),
    /// One `NAME=value`.
    IdentifyEnviron(&'a [u8]),
    /// Features of the terminal.
    IdentifyFeatures(i32),
    /// One `name=value` capability of the terminal.
    IdentifyTerminfo(&'a [u8]),
    /// Standard input; the descriptor goes with the frame.
    IdentifyStdin,
    /// Standard output; the descriptor goes with the frame.
    IdentifyStdout,
    /// Identify is complete.
    IdentifyDone,
    /// A command list.
    Command(CommandList),
    /// The client is about to go.
    Exiting,
    /// The terminal's size changed. Kills the server when the client passed no terminal.
    Resize,
    /// The default shell is asked for.
    Shell,
    /// The terminal was unlocked.
    Unlock,
    /// The client goes on after being suspended.
    Wakeup,
    /// Data that was read.
    Read {
        /// The stream.
        stream: i32,
        /// At most [`MAX_STREAM_DATA`](super::MAX_STREAM_DATA) bytes.
        data: &'a [u8],
    },
    /// Reading ended.
    ReadDone {
        /// The stream.
        stream: i32,
        /// 0 at the end of the data, else why it could not be read.
        errno: i32,
    },
    /// A stream can be written.
    WriteReady {
        /// The stream.
        stream: i32,
        /// 0 when it can be written, else why not.
        errno: i32,
    },
    /// A message of another type.
    Unknown {
        /// The type.
        kind: MessageType,
        /// The payload.
        payload: &'a [u8],
    },
}

impl<'a> ClientMessage<'a> {
    /// Reads the message in `frame`, as a server would. For peers in tests.
    ///
    /// # Errors
    ///
    /// [`MessageError`] when the payload is not one of its type.
    pub fn decode(frame: &Frame<'a>) -> Result<Self, MessageError> {
        let kind = MessageType(frame.header.kind);
        let mut reader = Reader::new(kind, frame.payload);
        let message = match kind {
            MessageType::VERSION => Self::Version,
            MessageType::IDENTIFY_FLAGS => Self::IdentifyFlags(reader.i32()?.cast_unsigned()),
            MessageType::IDENTIFY_LONGFLAGS => Self::IdentifyLongFlags(reader.u64()?),
            MessageType::IDENTIFY_TERM => Self::IdentifyTerm(reader.text()?),
            MessageType::IDENTIFY_TTYNAME => Self::IdentifyTtyName(reader.text()?),
            MessageType::IDENTIFY_CWD => Self::IdentifyCwd(reader.text()?),
            MessageType::IDENTIFY_CLIENTPID => Self::IdentifyClientPid(reader.i32()?),
            MessageType::IDENTIFY_ENVIRON => Self::IdentifyEnviron(reader.text()?),
            MessageType::IDENTIFY_FEATURES => Self::IdentifyFeatures(reader.i32()?),
            MessageType::IDENTIFY_TERMINFO => Self::IdentifyTerminfo(reader.text()?),
            MessageType::IDENTIFY_STDIN => Self::IdentifyStdin,
            MessageType::IDENTIFY_STDOUT => Self::IdentifyStdout,
            MessageType::IDENTIFY_DONE => Self::IdentifyDone,
            MessageType::COMMAND => Self::Command(CommandList::decode(&mut reader)?),
            MessageType::EXITING => Self::Exiting,
            MessageType::RESIZE => Self::Resize,
            MessageType::SHELL => Self::Shell,
            MessageType::UNLOCK => Self::Unlock,
            MessageType::WAKEUP => Self::Wakeup,
            MessageType::READ => Self::Read { stream: reader.i32()?, data: reader.rest() },
            MessageType::READ_DONE => {
                Self::ReadDone { stream: reader.i32()?, errno: reader.i32()? }
            }
            MessageType::WRITE_READY => {
                Self::WriteReady { stream: reader.i32()?, errno: reader.i32()? }
            }
            _ => Self::Unknown { kind, payload: reader.rest() },
        };
        reader.end()?;
        Ok(message)
    }

    /// The message's type.
    #[must_use]
    pub fn kind(&self) -> MessageType {
        match self {
            Self::Version => MessageType::VERSION,
            Self::IdentifyFlags(_) => MessageType::IDENTIFY_FLAGS,
            Self::IdentifyLongFlags(_) => MessageType::IDENTIFY_LONGFLAGS,
            Self::IdentifyTerm(_) => MessageType::IDENTIFY_TERM,
            Self::IdentifyTtyName(_) => MessageType::IDENTIFY_TTYNAME,
            Self::IdentifyCwd(_) => MessageType::IDENTIFY_CWD,
            Self::IdentifyClientPid(_) => MessageType::IDENTIFY_CLIENTPID,
            Self::IdentifyEnviron(_) => MessageType::IDENTIFY_ENVIRON,
            Self::IdentifyFeatures(_) => MessageType::IDENTIFY_FEATURES,
            Self::IdentifyTerminfo(_) => MessageType::IDENTIFY_TERMINFO,
            Self::IdentifyStdin => MessageType::IDENTIFY_STDIN,
            Self::IdentifyStdout => MessageType::IDENTIFY_STDOUT,
            Self::IdentifyDone => MessageType::IDENTIFY_DONE,
            Self::Command(_) => MessageType::COMMAND,
            Self::Exiting => MessageType::EXITING,
            Self::Resize => MessageType::RESIZE,
            Self::Shell => MessageType::SHELL,
            Self::Unlock => MessageType::UNLOCK,
            Self::Wakeup => MessageType::WAKEUP,
            Self::Read { .. } => MessageType::READ,
            Self::ReadDone { .. } => MessageType::READ_DONE,
            Self::WriteReady { .. } => MessageType::WRITE_READY,
            Self::Unknown { kind, .. } => *kind,
        }
    }

    /// The messages that carry `flags`: both widths, since 3.1 knows only the narrow one.
    #[must_use]
    pub fn flags(flags: ClientFlags) -> [Self; 2] {
        [Self::IdentifyLongFlags(flags.bits()), Self::IdentifyFlags(flags.low_bits())]
    }

    /// Appends the message's frame to `out`; `dialect` matters only to the two descriptors.
    ///
    /// # Errors
    ///
    /// [`FrameError::PayloadTooLong`].
    pub fn encode(&self, dialect: Dialect, out: &mut BytesMut) -> Result<(), FrameError> {
        let has_fd = matches!(self, Self::IdentifyStdin | Self::IdentifyStdout);
        encode(dialect, self.kind().0, has_fd, out, |to| match self {
            Self::Version
            | Self::IdentifyStdin
            | Self::IdentifyStdout
            | Self::IdentifyDone
            | Self::Exiting
            | Self::Resize
            | Self::Shell
            | Self::Unlock
            | Self::Wakeup => {}
            Self::IdentifyFlags(bits) => to.put_u32_ne(*bits),
            Self::IdentifyLongFlags(bits) => to.put_u64_ne(*bits),
            Self::IdentifyTerm(text)
            | Self::IdentifyTtyName(text)
            | Self::IdentifyCwd(text)
            | Self::IdentifyEnviron(text)
            | Self::IdentifyTerminfo(text) => put_text(to, text),
            Self::IdentifyClientPid(number) | Self::IdentifyFeatures(number) => {
                to.put_i32_ne(*number);
            }
            Self::Command(list) => list.encode(to),
            Self::Read { stream, data } => {
                to.put_i32_ne(*stream);
                to.put_slice(data);
            }
            Self::ReadDone { stream, errno } | Self::WriteReady { stream, errno } => {
                to.put_i32_ne(*stream);
                to.put_i32_ne(*errno);
            }
            Self::Unknown { payload, .. } => to.put_slice(payload),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::*;
    use crate::imsg::Decoder;

    fn one_of_each() -> Vec<ClientMessage<'static>> {
        use ClientMessage as M;
        let list = CommandList::from(Command::new("display-message").arg("-p").arg("a;"));
        vec![
            M::Version,
            M::IdentifyFlags(0x1_0000),
            M::IdentifyLongFlags(0x1_0000),
            M::IdentifyTerm(b"screen"),
            M::IdentifyTtyName(b""),
            M::IdentifyCwd(b"/"),
            M::IdentifyClientPid(42),
            M::IdentifyEnviron(b"A=b"),
            M::IdentifyFeatures(0),
            M::IdentifyTerminfo(b"am=1"),
            M::IdentifyStdin,
            M::IdentifyStdout,
            M::IdentifyDone,
            M::Command(list),
            M::Exiting,
            M::Resize,
            M::Shell,
            M::Unlock,
            M::Wakeup,
            M::Read { stream: 3, data: b"a\0b" },
            M::ReadDone { stream: 3, errno: 13 },
            M::WriteReady { stream: 1, errno: 0 },
            M::Unknown { kind: MessageType(4711), payload: b"x" },
        ]
    }

    #[test]
    fn every_message_round_trips_in_both_dialects() {
        for dialect in [Dialect::Legacy, Dialect::Modern] {
            for message in one_of_each() {
                let mut bytes = BytesMut::new();
                message.encode(dialect, &mut bytes).unwrap();
                let mut decoder = Decoder::new(dialect);
                let frame = decoder.decode(&mut &bytes[..]).unwrap().unwrap();
                let fd =
                    matches!(message, ClientMessage::IdentifyStdin | ClientMessage::IdentifyStdout);
                assert_eq!(frame.header.has_fd, fd);
                assert_eq!(ClientMessage::decode(&frame), Ok(message));
            }
        }
    }

    #[test]
    fn every_truncation_is_an_error_where_the_message_has_one_length() {
        for message in one_of_each() {
            let mut bytes = BytesMut::new();
            message.encode(Dialect::Modern, &mut bytes).unwrap();
            let payload = &bytes[16..];
            for end in 0..payload.len() {
                let mut cut = BytesMut::new();
                encode(Dialect::Modern, message.kind().0, false, &mut cut, |to| {
                    to.put_slice(&payload[..end]);
                })
                .unwrap();
                let mut decoder = Decoder::new(Dialect::Modern);
                let frame = decoder.decode(&mut &cut[..]).unwrap().unwrap();
                let open_ended = match message {
                    ClientMessage::Read { .. } => end >= 4,
                    ClientMessage::Unknown { .. } => true,
                    _ => false,
                };
                assert_eq!(ClientMessage::decode(&frame).is_ok(), open_ended, "{message:?} {end}");
            }
        }
    }
}
