//! What a client says first.

use bytes::{Bytes, BytesMut};

use super::FDLESS;
use crate::imsg::MAX_PAYLOAD;
use crate::protocol::{ClientFlags, ClientMessage};

/// What a client tells the server about itself.
///
/// Everything has a harmless default, so that whatever is left out is still said: a server up to
/// 3.5a dies of a client that never names its terminal.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// Process id; the server shows it as `client_pid` and in the client's name.
    pub pid: u32,
    /// Terminal type (`TERM`); may be empty.
    pub terminal: Vec<u8>,
    /// Path of the terminal that the client runs in; empty for none. tmux takes the pane on that
    /// terminal as the default target.
    pub tty: Vec<u8>,
    /// Working directory: where commands without `-c` start what they start. Empty: `/`.
    pub directory: Vec<u8>,
    /// `NAME=value`, one each. Without `=` or longer than a frame: left out, as tmux's own client
    /// does.
    pub environment: Vec<Vec<u8>>,
}

/// Why a [`Client`] cannot be told to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdentifyError {
    /// A text holds a NUL byte.
    Nul {
        /// Which one.
        what: &'static str,
    },
    /// A text does not fit into a frame.
    TooLong {
        /// Which one.
        what: &'static str,
        /// Its length in bytes.
        length: usize,
    },
}

impl std::fmt::Display for IdentifyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nul { what } => write!(f, "the {what} holds a NUL byte"),
            Self::TooLong { what, length } => {
                write!(f, "the {what} is {length} bytes long and tmux takes {}", MAX_PAYLOAD - 1)
            }
        }
    }
}

impl std::error::Error for IdentifyError {}

/// A complete identify burst for a client that runs commands and attaches to nothing.
///
/// There is no way to make one that leaves a needed message out, sets a control flag, offers a
/// descriptor or has a message of a wrong size.
///
/// # Wire
///
/// `protocol-notes/03-identify.md`: notes 3.1 (what must be there) and 3.2 (the order).
#[derive(Clone, Debug)]
pub struct Identify {
    burst: Bytes,
}

impl Identify {
    /// Identify for `client`. UTF-8 is always claimed: without it tmux replaces every byte outside
    /// printable ASCII.
    ///
    /// # Errors
    ///
    /// [`IdentifyError`] when a text holds a NUL byte or does not fit into a frame.
    pub fn new(client: &Client) -> Result<Self, IdentifyError> {
        let directory = if client.directory.is_empty() { b"/" } else { &client.directory[..] };
        for (what, text) in [
            ("terminal type", &client.terminal[..]),
            ("terminal path", &client.tty),
            ("working directory", directory),
        ] {
            if memchr::memchr(0, text).is_some() {
                return Err(IdentifyError::Nul { what });
            }
            if text.len() >= MAX_PAYLOAD {
                return Err(IdentifyError::TooLong { what, length: text.len() });
            }
        }
        let [long_flags, flags] = ClientMessage::flags(ClientFlags::UTF8);
        let fixed = [
            long_flags,
            flags,
            ClientMessage::IdentifyTerm(&client.terminal),
            ClientMessage::IdentifyTtyName(&client.tty),
            ClientMessage::IdentifyCwd(directory),
            ClientMessage::IdentifyClientPid(client.pid.cast_signed()),
        ];
        let variables = client
            .environment
            .iter()
            .filter(|variable| {
                variable.len() < MAX_PAYLOAD
                    && memchr::memchr(b'=', variable).is_some()
                    && memchr::memchr(0, variable).is_none()
            })
            .map(|variable| ClientMessage::IdentifyEnviron(variable));
        let mut burst = BytesMut::with_capacity(256);
        for message in fixed.into_iter().chain(variables).chain([ClientMessage::IdentifyDone]) {
            if let Err(error) = message.encode(FDLESS, &mut burst) {
                // Every text was measured above.
                let crate::imsg::FrameError::PayloadTooLong { length } = error else { continue };
                return Err(IdentifyError::TooLong { what: "client description", length });
            }
        }
        Ok(Self { burst: burst.freeze() })
    }

    /// The frames, whole, in order.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.burst
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imsg::Decoder;
    use crate::protocol::MessageType;

    fn kinds(identify: &Identify) -> Vec<MessageType> {
        let mut decoder = Decoder::new(FDLESS);
        let mut input = identify.as_bytes();
        let mut kinds = Vec::new();
        while let Some(frame) = decoder.decode(&mut input).unwrap() {
            assert!(!frame.header.has_fd);
            ClientMessage::decode(&frame).unwrap();
            kinds.push(MessageType(frame.header.kind));
        }
        assert!(!decoder.is_mid_frame());
        kinds
    }

    #[test]
    fn the_least_that_can_be_said_names_terminal_type_and_path_and_ends_with_done() {
        let identify = Identify::new(&Client::default()).unwrap();
        let expected = [
            MessageType::IDENTIFY_LONGFLAGS,
            MessageType::IDENTIFY_FLAGS,
            MessageType::IDENTIFY_TERM,
            MessageType::IDENTIFY_TTYNAME,
            MessageType::IDENTIFY_CWD,
            MessageType::IDENTIFY_CLIENTPID,
            MessageType::IDENTIFY_DONE,
        ];
        assert_eq!(kinds(&identify), expected);
    }

    #[test]
    fn variables_that_tmux_would_not_take_are_left_out() {
        let longest = [b"A=".to_vec(), vec![b'x'; MAX_PAYLOAD - 3]].concat();
        let too_long = [longest.clone(), b"x".to_vec()].concat();
        let environment =
            vec![b"A=b".to_vec(), b"no equals sign".to_vec(), b"N=\0".to_vec(), longest, too_long];
        let identify = Identify::new(&Client { environment, ..Client::default() }).unwrap();
        let kinds = kinds(&identify);
        let variables = kinds.iter().filter(|&&kind| kind == MessageType::IDENTIFY_ENVIRON);
        assert_eq!(variables.count(), 2);
        assert_eq!(kinds.last(), Some(&MessageType::IDENTIFY_DONE));
    }

    #[test]
    fn texts_that_would_make_a_wrong_frame_are_refused() {
        let long = vec![b'x'; MAX_PAYLOAD];
        let client = Client { directory: long, ..Client::default() };
        let error = IdentifyError::TooLong { what: "working directory", length: MAX_PAYLOAD };
        assert_eq!(Identify::new(&client).err(), Some(error));
        let client = Client { tty: b"a\0b".to_vec(), ..Client::default() };
        let error = IdentifyError::Nul { what: "terminal path" };
        assert_eq!(Identify::new(&client).err(), Some(error));
    }
}
