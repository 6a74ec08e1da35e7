//! Command lists and their reply as a value.

use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

use super::{FDLESS, Identify};
use crate::imsg::{Decoder, FrameError, PEER_ID, encode};
use crate::protocol::{
    ClientMessage, CommandError, CommandList, MAX_STREAM_DATA, MessageError, MessageType, STDERR,
    STDOUT, ServerMessage,
};

/// Most bytes that several command lists may take together with identify: what the kernel hands
/// over in one piece, so that the server has taken in the last list before it runs the first.
const MAX_GROUPS_BURST: usize = 32_768;
/// Most streams beside stdout and stderr that may be open at one time.
const MAX_STREAMS: usize = 64;
/// Standard input is asked for only while less than this waits to be sent.
const STDIN_LOW_WATER: usize = 4 * MAX_STREAM_DATA;

/// Most bytes that may wait to be sent: a server that asks and never reads is not followed further.
const MAX_OUTGOING: usize = 8 << 20;

/// What requests to open something are answered with; the numbers are the same on every system.
mod errno {
    /// No such stream is offered.
    pub(super) const EBADF: i32 = 9;
    /// Files are not opened on request.
    pub(super) const EACCES: i32 = 13;
    /// The stream is in use.
    pub(super) const EBUSY: i32 = 16;
}

/// Why an exchange cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The stream is not one of frames.
    Frame(FrameError),
    /// A frame does not hold what its type says.
    Message(MessageError),
    /// The server speaks another version of the protocol.
    Version {
        /// The server's protocol version; ours is 8.
        server: u32,
    },
    /// The server ended the client and said why.
    Refused {
        /// The server's words.
        text: Box<str>,
    },
    /// The reply is longer than the limit.
    ReplyTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// A message that does not belong into this conversation.
    Unexpected {
        /// Its type.
        kind: MessageType,
    },
    /// The stream ended before the reply did.
    Ended {
        /// It ended in the middle of a frame.
        mid_frame: bool,
    },
}

impl std::fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Frame(error) => error.fmt(f),
            Self::Message(error) => error.fmt(f),
            Self::Version { server } => write!(
                f,
                "the server speaks protocol version {server} and this client {PEER_ID}: it is a \
                 tmux that cannot be talked to"
            ),
            Self::Refused { text } => write!(f, "the server refused: {text}"),
            Self::ReplyTooLong { limit } => write!(
                f,
                "the reply is longer than the limit of {limit} bytes; ask for less or raise the \
                 limit"
            ),
            Self::Unexpected { kind } => write!(f, "the server sent {kind} out of turn"),
            Self::Ended { mid_frame: false } => {
                f.write_str("the server closed the connection before its reply was whole")
            }
            Self::Ended { mid_frame: true } => {
                f.write_str("the server closed the connection in the middle of a frame")
            }
        }
    }
}

impl std::error::Error for ExchangeError {}

impl From<FrameError> for ExchangeError {
    fn from(error: FrameError) -> Self {
        Self::Frame(error)
    }
}

impl From<MessageError> for ExchangeError {
    fn from(error: MessageError) -> Self {
        Self::Message(error)
    }
}

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The commands finished with this status; 0 is success.
    Exit {
        /// The exit status.
        status: i32,
    },
    /// The server went down; whether the commands succeeded is unknown.
    Shutdown,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What the commands printed, in the order of arrival.
    pub stdout: Bytes,
    /// What the commands complained of.
    pub stderr: Bytes,
    /// How it ended.
    pub end: End,
}

/// What the exchange may still read from standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stdin {
    /// None was offered.
    #[default]
    Absent,
    /// Offered and not yet asked for.
    Offered,
    /// Being read for this stream.
    Reading { stream: i32 },
    /// Read to its end.
    Ended,
}

/// One conversation: identify, command lists, reply.
///
/// Send what [`outgoing`](Self::outgoing) holds, feed what arrives to
/// [`receive`](Self::receive), and close the connection when that gives a [`Reply`] or an error.
/// While [`wants_stdin`](Self::wants_stdin) holds, give it data.
///
/// A file is never opened on the server's request: that is answered with "permission denied".
///
/// # Wire
///
/// `protocol-notes/04-commands.md`
#[derive(Debug)]
pub struct CommandExchange {
    decoder: Decoder,
    conversation: Conversation,
}

#[derive(Debug, Default)]
struct Conversation {
    outgoing: BytesMut,
    stdin: Stdin,
    stdout: BytesMut,
    stderr: BytesMut,
    reply_limit: usize,
    /// Nobody waits for the reply.
    discards: bool,
    /// Streams other than 1 that the server writes standard output to.
    streams: SmallVec<[i32; 4]>,
}

impl CommandExchange {
    /// A conversation that runs `groups`, each one command list, in order. A list stops at its
    /// first error and the next list runs all the same.
    ///
    /// `stdin` offers standard input; `reply_limit` bounds stdout and stderr together, in bytes.
    ///
    /// # Errors
    ///
    /// [`CommandError`] when a list cannot be sent, or all together cannot be sent in one piece.
    pub fn new(
        identify: &Identify,
        groups: &[CommandList],
        stdin: bool,
        reply_limit: usize,
    ) -> Result<Self, CommandError> {
        if groups.is_empty() {
            return Err(CommandError::Empty);
        }
        let identify = identify.as_bytes();
        let length: usize = groups.iter().map(|group| group.packed_len() + 20).sum();
        if groups.len() > 1 && identify.len() + length > MAX_GROUPS_BURST {
            let length = identify.len() + length;
            return Err(CommandError::BurstTooLong { length, limit: MAX_GROUPS_BURST });
        }
        let mut outgoing = BytesMut::with_capacity(identify.len() + length);
        outgoing.extend_from_slice(identify);
        for group in groups {
            group.check(&CommandList::new())?;
            // Not as a message: that would take a copy of the list. It was measured just now.
            let sent = encode(FDLESS, MessageType::COMMAND.0, false, &mut outgoing, |to| {
                group.encode(to);
            });
            debug_assert_eq!(sent, Ok(()));
        }
        Ok(Self {
            decoder: Decoder::new(FDLESS),
            conversation: Conversation {
                outgoing,
                stdin: if stdin { Stdin::Offered } else { Stdin::Absent },
                stdout: BytesMut::new(),
                stderr: BytesMut::new(),
                reply_limit,
                discards: false,
                streams: SmallVec::new(),
            },
        })
    }

    /// What is to be sent; take bytes off its front as they are sent.
    pub fn outgoing(&mut self) -> &mut BytesMut {
        &mut self.conversation.outgoing
    }

    /// Takes in bytes from the server, in any pieces. `Some` is the end.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`]; the connection is then of no more use.
    pub fn receive(&mut self, mut input: &[u8]) -> Result<Option<Reply>, ExchangeError> {
        while let Some(frame) = self.decoder.decode(&mut input)? {
            let message = ServerMessage::decode(&frame)?;
            let peer_version = frame.header.peer_id & 0xff;
            if message == ServerMessage::Version || peer_version != PEER_ID {
                return Err(ExchangeError::Version { server: peer_version });
            }
            let end = self.conversation.receive(&message)?;
            if self.conversation.outgoing.len() > MAX_OUTGOING {
                return Err(ExchangeError::Unexpected { kind: message.kind() });
            }
            if let Some(end) = end {
                return Ok(Some(self.conversation.reply(end)));
            }
        }
        Ok(None)
    }

    /// The stream ended, which before a reply is an error.
    #[must_use]
    pub fn ended(&self) -> ExchangeError {
        ExchangeError::Ended { mid_frame: self.decoder.is_mid_frame() }
    }

    /// Whether the server asks for standard input and there is room to send it.
    #[must_use]
    pub fn wants_stdin(&self) -> bool {
        matches!(self.conversation.stdin, Stdin::Reading { .. })
            && self.conversation.outgoing.len() < STDIN_LOW_WATER
    }

    /// Gives data of standard input. Without effect when none is asked for.
    pub fn stdin(&mut self, data: &[u8]) {
        if let Stdin::Reading { stream } = self.conversation.stdin {
            for data in data.chunks(MAX_STREAM_DATA) {
                send(&mut self.conversation.outgoing, &ClientMessage::Read { stream, data });
            }
        }
    }

    /// Standard input ended: `errno` is 0, or why it could not be read.
    pub fn stdin_ended(&mut self, errno: i32) {
        let conversation = &mut self.conversation;
        if let Stdin::Reading { stream } = conversation.stdin {
            send(&mut conversation.outgoing, &ClientMessage::ReadDone { stream, errno });
        }
        conversation.stdin = Stdin::Ended;
    }

    /// Hands over the rest of a conversation whose reply nobody waits for any more: it is taken in
    /// and not kept, and no more input is given, so that the server can come to its end.
    #[must_use]
    pub fn take_rest(&mut self) -> Self {
        let decoder = std::mem::replace(&mut self.decoder, Decoder::new(FDLESS));
        let conversation = Conversation {
            discards: true,
            stdout: BytesMut::new(),
            stderr: BytesMut::new(),
            ..std::mem::take(&mut self.conversation)
        };
        let mut rest = Self { decoder, conversation };
        rest.stdin_ended(0);
        rest
    }

    /// Whether anything of the reply has arrived.
    #[must_use]
    pub fn has_output(&self) -> bool {
        !(self.conversation.stdout.is_empty() && self.conversation.stderr.is_empty())
    }
}

impl Conversation {
    fn receive(&mut self, message: &ServerMessage<'_>) -> Result<Option<End>, ExchangeError> {
        match *message {
            ServerMessage::Write { stream, data } => self.write(stream, data)?,
            ServerMessage::WriteOpen { stream, fd, path, .. } => {
                self.write_open(stream, fd, path)?;
            }
            ServerMessage::WriteClose { stream } => self.streams.retain(|open| *open != stream),
            ServerMessage::ReadOpen { stream, fd, path } => self.read_open(stream, fd, path),
            ServerMessage::ReadCancel { stream } => {
                if self.stdin == (Stdin::Reading { stream }) {
                    self.stdin = Stdin::Ended;
                    send(&mut self.outgoing, &ClientMessage::ReadDone { stream, errno: 0 });
                }
            }
            ServerMessage::Exit { text: Some(text), .. } if !text.is_empty() => {
                let text = String::from_utf8_lossy(text).into();
                return Err(ExchangeError::Refused { text });
            }
            ServerMessage::Exit { status, .. } => {
                return Ok(Some(End::Exit { status: status.unwrap_or_default() }));
            }
            ServerMessage::Shutdown => return Ok(Some(End::Shutdown)),
            ServerMessage::Detach { .. }
            | ServerMessage::DetachKill { .. }
            | ServerMessage::Exec { .. }
            | ServerMessage::Lock { .. }
            | ServerMessage::Suspend
            | ServerMessage::Shell { .. } => {
                return Err(ExchangeError::Unexpected { kind: message.kind() });
            }
            // `Version` ended the conversation before it came here.
            ServerMessage::Version
            | ServerMessage::Exited
            | ServerMessage::Ready
            | ServerMessage::Flags { .. }
            | ServerMessage::Unknown { .. } => {}
        }
        Ok(None)
    }

    fn write(&mut self, stream: i32, data: &[u8]) -> Result<(), ExchangeError> {
        if self.discards {
            return Ok(());
        }
        if self.stdout.len() + self.stderr.len() + data.len() > self.reply_limit {
            return Err(ExchangeError::ReplyTooLong { limit: self.reply_limit });
        }
        match stream {
            STDERR => self.stderr.extend_from_slice(data),
            STDOUT => self.stdout.extend_from_slice(data),
            other if self.streams.contains(&other) => self.stdout.extend_from_slice(data),
            _ => return Err(ExchangeError::Unexpected { kind: MessageType::WRITE }),
        }
        Ok(())
    }

    fn write_open(
        &mut self,
        stream: i32,
        fd: i32,
        path: Option<&[u8]>,
    ) -> Result<(), ExchangeError> {
        let errno = match (stream, fd, path) {
            (STDOUT, 1, None) | (STDERR, 2, None) => 0,
            (_, 1, Some(b"-")) => {
                if self.streams.len() >= MAX_STREAMS {
                    return Err(ExchangeError::Unexpected { kind: MessageType::WRITE_OPEN });
                }
                self.streams.push(stream);
                0
            }
            _ => errno::EACCES,
        };
        send(&mut self.outgoing, &ClientMessage::WriteReady { stream, errno });
        Ok(())
    }

    fn read_open(&mut self, stream: i32, fd: i32, path: &[u8]) {
        let errno = match (self.stdin, fd, path) {
            (Stdin::Offered, 0, b"-") => {
                self.stdin = Stdin::Reading { stream };
                return;
            }
            (Stdin::Ended, 0, b"-") => 0,
            (Stdin::Absent, 0, b"-") => errno::EBADF,
            (Stdin::Reading { .. }, 0, b"-") => errno::EBUSY,
            _ => errno::EACCES,
        };
        send(&mut self.outgoing, &ClientMessage::ReadDone { stream, errno });
    }

    fn reply(&mut self, end: End) -> Reply {
        Reply {
            stdout: std::mem::take(&mut self.stdout).freeze(),
            stderr: std::mem::take(&mut self.stderr).freeze(),
            end,
        }
    }
}

/// Queues a message whose size was checked when it was made.
fn send(outgoing: &mut BytesMut, message: &ClientMessage<'_>) {
    let sent = message.encode(FDLESS, outgoing);
    debug_assert_eq!(sent, Ok(()));
}
