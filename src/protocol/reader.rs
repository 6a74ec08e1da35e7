//! A reader over a payload that cannot read past its end.

use byteorder::{ByteOrder, NativeEndian};

use super::MessageType;

/// Why a payload is not a message of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// The payload ends before the message does.
    TooShort {
        /// Type of the message.
        kind: MessageType,
        /// Length of the payload in bytes.
        length: usize,
    },
    /// Bytes are left over after the message.
    Trailing {
        /// Type of the message.
        kind: MessageType,
        /// How many bytes are left over.
        count: usize,
    },
    /// A text does not end in NUL, or has a NUL within.
    Text {
        /// Type of the message.
        kind: MessageType,
    },
    /// The argument count does not agree with the packed arguments.
    ArgumentCount {
        /// The count that the message gives.
        count: i32,
    },
}

impl std::fmt::Display for MessageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooShort { kind, length } => {
                write!(f, "{kind} message of {length} bytes is too short")
            }
            Self::Trailing { kind, count } => {
                write!(f, "{kind} message has {count} bytes too many")
            }
            Self::Text { kind } => {
                write!(f, "{kind} message holds a text that does not end in NUL")
            }
            Self::ArgumentCount { count } => {
                write!(f, "COMMAND message does not hold the {count} arguments that it announces")
            }
        }
    }
}

impl std::error::Error for MessageError {}

/// Reads a payload from front to back; every reading either stays inside it or is an error.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    kind: MessageType,
    length: usize,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the start of the payload of a message of `kind`.
    #[must_use]
    pub fn new(kind: MessageType, payload: &'a [u8]) -> Self {
        Self { kind, length: payload.len(), rest: payload }
    }

    /// The bytes not yet read; the reader is then at its end.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Whether everything was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// A 32-bit signed integer, native order.
    ///
    /// # Errors
    ///
    /// [`MessageError::TooShort`].
    pub fn i32(&mut self) -> Result<i32, MessageError> {
        self.take::<4>().map(|bytes| NativeEndian::read_i32(bytes))
    }

    /// A 64-bit unsigned integer, native order.
    ///
    /// # Errors
    ///
    /// [`MessageError::TooShort`].
    pub fn u64(&mut self) -> Result<u64, MessageError> {
        self.take::<8>().map(|bytes| NativeEndian::read_u64(bytes))
    }

    /// A text up to its NUL, without it.
    ///
    /// # Errors
    ///
    /// [`MessageError::Text`] when no NUL follows.
    pub fn text(&mut self) -> Result<&'a [u8], MessageError> {
        let end = memchr::memchr(0, self.rest).ok_or(MessageError::Text { kind: self.kind })?;
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        Ok(text)
    }

    /// The message ends here.
    ///
    /// # Errors
    ///
    /// [`MessageError::Trailing`] when bytes are left.
    pub fn end(&self) -> Result<(), MessageError> {
        match self.rest.len() {
            0 => Ok(()),
            count => Err(MessageError::Trailing { kind: self.kind, count }),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], MessageError> {
        let too_short = MessageError::TooShort { kind: self.kind, length: self.length };
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(too_short)?;
        self.rest = rest;
        Ok(taken)
    }
}
