//! What a server says to a client.

use bytes::{BufMut, BytesMut};

use super::{MessageError, MessageType, Reader};
use crate::imsg::{Dialect, Frame, FrameError, encode};

/// A message from the server, borrowed from its frame.
///
/// Texts are without their NUL and may hold any other byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerMessage<'a> {
    /// The protocol versions differ; the server's is the header's peer id. The connection ends.
    Version,
    /// The client was detached from the session of this name.
    Detach {
        /// The session's name.
        session: &'a [u8],
    },
    /// As [`Detach`](Self::Detach), and the client's parent is to be hung up.
    DetachKill {
        /// The session's name.
        session: &'a [u8],
    },
    /// The commands are finished. The client must close.
    Exit {
        /// Exit status, if one was sent.
        status: Option<i32>,
        /// Why the server ends the client, if it says so: an error even at status 0.
        text: Option<&'a [u8]>,
    },
    /// The answer to [`Exiting`](super::ClientMessage::Exiting).
    Exited,
    /// Lock the terminal with this shell command.
    Lock {
        /// The shell command.
        command: &'a [u8],
    },
    /// The terminal client is attached.
    Ready,
    /// The default shell.
    Shell {
        /// Path of the shell.
        path: &'a [u8],
    },
    /// The server is going down.
    Shutdown,
    /// Suspend the terminal client.
    Suspend,
    /// Run a command in place of the client.
    Exec {
        /// The command.
        command: &'a [u8],
        /// The shell to run it with.
        shell: &'a [u8],
    },
    /// The client's flags as they are now.
    Flags {
        /// All bits, the server's own too.
        bits: u64,
    },
    /// Open something for reading and send what it holds.
    ReadOpen {
        /// The stream to answer on.
        stream: i32,
        /// 0 for standard input, −1 for the file at `path`.
        fd: i32,
        /// `-` for standard input.
        path: &'a [u8],
    },
    /// Stop reading.
    ReadCancel {
        /// The stream.
        stream: i32,
    },
    /// Open something for writing.
    WriteOpen {
        /// The stream to answer on.
        stream: i32,
        /// 1 for standard output, 2 for standard error, −1 for the file at `path`.
        fd: i32,
        /// The server's flags for `open`.
        flags: i32,
        /// Absent for the streams 1 and 2, `-` for standard output.
        path: Option<&'a [u8]>,
    },
    /// Data to write.
    Write {
        /// The stream.
        stream: i32,
        /// The data.
        data: &'a [u8],
    },
    /// Writing ended.
    WriteClose {
        /// The stream.
        stream: i32,
    },
    /// A message of a type that a client need not know.
    Unknown {
        /// The type.
        kind: MessageType,
        /// The payload.
        payload: &'a [u8],
    },
}

impl<'a> ServerMessage<'a> {
    /// Reads the message in `frame`.
    ///
    /// # Errors
    ///
    /// [`MessageError`] when the payload is not one of its type.
    pub fn decode(frame: &Frame<'a>) -> Result<Self, MessageError> {
        let kind = MessageType(frame.header.kind);
        let mut reader = Reader::new(kind, frame.payload);
        let message = match kind {
            MessageType::VERSION => Self::Version,
            MessageType::DETACH => Self::Detach { session: reader.text()? },
            MessageType::DETACHKILL => Self::DetachKill { session: reader.text()? },
            MessageType::EXIT => {
                let status = if reader.is_empty() { None } else { Some(reader.i32()?) };
                let text = if reader.is_empty() { None } else { Some(reader.text()?) };
                Self::Exit { status, text }
            }
            MessageType::EXITED => Self::Exited,
            MessageType::LOCK => Self::Lock { command: reader.text()? },
            MessageType::READY => Self::Ready,
            MessageType::SHELL => Self::Shell { path: reader.text()? },
            MessageType::SHUTDOWN => {
                reader.rest(); // a status in odd cases: nobody reads it
                Self::Shutdown
            }
            MessageType::SUSPEND => Self::Suspend,
            MessageType::EXEC => Self::Exec { command: reader.text()?, shell: reader.text()? },
            MessageType::FLAGS => Self::Flags { bits: reader.u64()? },
            MessageType::READ_OPEN => {
                Self::ReadOpen { stream: reader.i32()?, fd: reader.i32()?, path: reader.text()? }
            }
            MessageType::READ_CANCEL => Self::ReadCancel { stream: reader.i32()? },
            MessageType::WRITE_OPEN => Self::WriteOpen {
                stream: reader.i32()?,
                fd: reader.i32()?,
                flags: reader.i32()?,
                path: if reader.is_empty() { None } else { Some(reader.text()?) },
            },
            MessageType::WRITE => Self::Write { stream: reader.i32()?, data: reader.rest() },
            MessageType::WRITE_CLOSE => Self::WriteClose { stream: reader.i32()? },
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
            Self::Detach { .. } => MessageType::DETACH,
            Self::DetachKill { .. } => MessageType::DETACHKILL,
            Self::Exit { .. } => MessageType::EXIT,
            Self::Exited => MessageType::EXITED,
            Self::Lock { .. } => MessageType::LOCK,
            Self::Ready => MessageType::READY,
            Self::Shell { .. } => MessageType::SHELL,
            Self::Shutdown => MessageType::SHUTDOWN,
            Self::Suspend => MessageType::SUSPEND,
            Self::Exec { .. } => MessageType::EXEC,
            Self::Flags { .. } => MessageType::FLAGS,
            Self::ReadOpen { .. } => MessageType::READ_OPEN,
            Self::ReadCancel { .. } => MessageType::READ_CANCEL,
            Self::WriteOpen { .. } => MessageType::WRITE_OPEN,
            Self::Write { .. } => MessageType::WRITE,
            Self::WriteClose { .. } => MessageType::WRITE_CLOSE,
            Self::Unknown { kind, .. } => *kind,
        }
    }

    /// Appends the message's frame to `out`, as a server would send it. For peers in tests.
    ///
    /// # Errors
    ///
    /// [`FrameError::PayloadTooLong`].
    pub fn encode(&self, dialect: Dialect, out: &mut BytesMut) -> Result<(), FrameError> {
        encode(dialect, self.kind().0, false, out, |to| match *self {
            Self::Version | Self::Exited | Self::Ready | Self::Shutdown | Self::Suspend => {}
            Self::Detach { session: text }
            | Self::DetachKill { session: text }
            | Self::Lock { command: text }
            | Self::Shell { path: text } => put_text(to, text),
            Self::Exit { status, text } => {
                if let Some(status) = status {
                    to.put_i32_ne(status);
                    if let Some(text) = text {
                        put_text(to, text);
                    }
                }
            }
            Self::Exec { command, shell } => {
                put_text(to, command);
                put_text(to, shell);
            }
            Self::Flags { bits } => to.put_u64_ne(bits),
            Self::ReadOpen { stream, fd, path } => {
                to.put_i32_ne(stream);
                to.put_i32_ne(fd);
                put_text(to, path);
            }
            Self::WriteOpen { stream, fd, flags, path } => {
                to.put_i32_ne(stream);
                to.put_i32_ne(fd);
                to.put_i32_ne(flags);
                if let Some(path) = path {
                    put_text(to, path);
                }
            }
            Self::Write { stream, data } => {
                to.put_i32_ne(stream);
                to.put_slice(data);
            }
            Self::ReadCancel { stream } | Self::WriteClose { stream } => to.put_i32_ne(stream),
            Self::Unknown { payload, .. } => to.put_slice(payload),
        })
    }
}

/// Appends a text and its NUL.
pub(super) fn put_text(to: &mut BytesMut, text: &[u8]) {
    to.put_slice(text);
    to.put_u8(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imsg::Decoder;

    /// One message of every kind, in every shape that it has.
    pub(crate) fn one_of_each() -> Vec<ServerMessage<'static>> {
        use ServerMessage as M;
        vec![
            M::Version,
            M::Detach { session: b"main" },
            M::DetachKill { session: b"" },
            M::Exit { status: None, text: None },
            M::Exit { status: Some(-1), text: None },
            M::Exit { status: Some(0), text: Some(b"access not allowed") },
            M::Exited,
            M::Lock { command: b"lock -np" },
            M::Ready,
            M::Shell { path: b"/bin/sh" },
            M::Shutdown,
            M::Suspend,
            M::Exec { command: b"top", shell: b"/bin/sh" },
            M::Flags { bits: 0x1_0000_2000 },
            M::ReadOpen { stream: 3, fd: 0, path: b"-" },
            M::ReadCancel { stream: 3 },
            M::WriteOpen { stream: 1, fd: 1, flags: 0, path: None },
            M::WriteOpen { stream: 4, fd: -1, flags: 0x200, path: Some(b"/a b") },
            M::Write { stream: 1, data: b"a\0b" },
            M::WriteClose { stream: 4 },
            M::Unknown { kind: MessageType(4711), payload: b"\0\xff" },
        ]
    }

    fn decode_payload(kind: MessageType, payload: &[u8]) -> Result<(), MessageError> {
        let mut bytes = BytesMut::new();
        encode(Dialect::Modern, kind.0, false, &mut bytes, |to| to.put_slice(payload)).unwrap();
        let mut decoder = Decoder::new(Dialect::Modern);
        let frame = decoder.decode(&mut &bytes[..]).unwrap().unwrap();
        ServerMessage::decode(&frame).map(|_| ())
    }

    #[test]
    fn every_message_round_trips() {
        for message in one_of_each() {
            let mut bytes = BytesMut::new();
            message.encode(Dialect::Modern, &mut bytes).unwrap();
            let mut decoder = Decoder::new(Dialect::Modern);
            let frame = decoder.decode(&mut &bytes[..]).unwrap().unwrap();
            assert_eq!(ServerMessage::decode(&frame), Ok(message));
        }
    }

    #[test]
    fn every_truncation_and_every_surplus_is_an_error_or_another_legal_shape() {
        for message in one_of_each() {
            let mut bytes = BytesMut::new();
            message.encode(Dialect::Modern, &mut bytes).unwrap();
            let payload = bytes[16..].to_vec();
            for end in 0..payload.len() {
                let legal = match message {
                    ServerMessage::Exit { .. } => end == 0 || end == 4,
                    ServerMessage::WriteOpen { .. } => end == 12,
                    ServerMessage::Write { .. } => end >= 4,
                    ServerMessage::Unknown { .. } => true,
                    _ => false,
                };
                let found = decode_payload(message.kind(), &payload[..end]);
                assert_eq!(found.is_ok(), legal, "{message:?} cut to {end}: {found:?}");
            }
            let mut longer = payload.clone();
            longer.push(b'x');
            let open_ended = matches!(
                message,
                ServerMessage::Write { .. }
                    | ServerMessage::Unknown { .. }
                    | ServerMessage::Shutdown
            );
            let found = decode_payload(message.kind(), &longer);
            assert_eq!(found.is_ok(), open_ended, "{message:?} with one byte more: {found:?}");
        }
    }
}
